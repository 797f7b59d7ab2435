/* SPDX-License-Identifier: MIT */
/* What the files of net/ share among themselves. */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/conn.h"

/* ---- dial.c ----
 *
 * Getting connected: looks the name up, and tries one address after another;
 * for a Cluster, then one node after another as well. A step at a time; nothing
 * here waits.
 */

enum dial_got {
	DIAL_UNKNOWN, /* dial_found(), once others have said which server it
			 is */
	DIAL_BUSY,    /* dial_step(), once poll(2) shows POLLIN */
	DIAL_READY,   /* the address is known: dial_open(), once there is
			 something to send */
	DIAL_OPEN,    /* the stream connects; dial_next() if it fails */
	DIAL_LOST     /* see why. The stream is closed. dial_close() is due in
			 this case, too */
};

/* The peer counts as silent from now on: the caller counts it back. */
enum dial_got dial_start(struct dial *d);
enum dial_got dial_found(struct dial *d, const struct place *at);
/* These two open the stream, which must be closed (STREAM_NONE). It stays the
 * caller's. */
enum dial_got dial_step(struct dial *d, struct stream *s);
enum dial_got dial_open(struct dial *d, struct stream *s);
/* Closes it: the current address is no good. Opens it for the next one. */
enum dial_got dial_next(struct dial *d, struct stream *s);
void dial_close(struct dial *d);

#endif
