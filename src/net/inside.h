/* SPDX-License-Identifier: MIT */
/* What the files of net/ share among themselves. */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/conn.h"

/* ---- dial.c ----
 *
 * Getting connected: asks which server it is, if others must say so, looks the
 * name up, and tries one address after another; for a Cluster, then one node
 * after another as well. A step at a time; nothing here waits.
 */

enum dial_got {
	DIAL_BUSY,  /* dial_step(), once poll(2) shows POLLIN */
	DIAL_READY, /* the address is known: dial_open(), once there is
		       something to send */
	DIAL_OPEN,  /* the stream connects; dial_next() if it fails */
	DIAL_LOST   /* see why. The stream is closed. dial_close() is due in
		       this case, too */
};

/* The peer counts as silent from now on: the caller counts it back. */
enum dial_got dial_start(struct dial *d);
/* These two open the stream, which must be closed (STREAM_NONE). It stays the
 * caller's. */
enum dial_got dial_step(struct dial *d, struct stream *s);
enum dial_got dial_open(struct dial *d, struct stream *s);
/* Closes it: the current address is no good. Opens it for the next one. */
enum dial_got dial_next(struct dial *d, struct stream *s);
void dial_close(struct dial *d);

/* After DIAL_BUSY: lists what it waits for, the first for poll(2); returns the
 * number. They stay the dial's. */
int dial_sockets(const struct dial *d, int fds[MEMBER_FDS_MAX]);

/* ---- search.c ----
 *
 * Finds the server to connect to, for a connection that must ask others which
 * one it is: asks several servers at once and believes the first that knows.
 * The Sentinels of a group say where its master is now. If a node of a Cluster
 * is silent, any other node that answers is asked. And if a Cluster sends us to
 * a node that the URL does not name, a node that it does name must know it
 * (CLUSTER NODES, CLUSTER SLOTS), because a server that we connect to gets the
 * password.
 *
 * A name may lead to several servers (a headless service), of which the first
 * is frozen: each time that the question is asked again, without an answer, it
 * goes to the next address of each name. A step at a time; nothing here waits.
 */

struct search; /* under way */

/* The peer's endpoint is borrowed until search_close(). NULL: see *why. A place
 * that the peer doubts is believed only if half of the servers name it: a
 * Sentinel may be out of date. */
struct search *search_start(const struct peer *p, struct fail *why);
void search_close(struct search *s);

enum search_got {
	SEARCH_GOING,
	SEARCH_FOUND, /* *found is the place */
	SEARCH_LOST   /* nobody answers or knows the node (FAIL_UNAVAILABLE),
			 all who answer refuse us (FAIL_REFUSED), or do not know
			 the group (FAIL_CONFIG) */
};
/* Call it once at the start, and then when poll(2) shows POLLIN. */
enum search_got search_step(struct search *s, struct place *found,
			    struct fail *why);

/* Lists its descriptors, the first for poll(2); returns their number. They stay
 * the search's. */
int search_sockets(const struct search *s, int fds[MEMBER_FDS_MAX]);

#endif
