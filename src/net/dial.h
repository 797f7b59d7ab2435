/* SPDX-License-Identifier: MIT */
/*
 * Getting connected: asks which server it is, if others must say so, looks the
 * name up, and tries one address after another; for a Cluster, then one node
 * after another as well. A step at a time; nothing here waits.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "net/search.h"
#include "net/stream.h"

/* Set the first; the rest is zero at first. */
struct dial {
	struct peer *peer;     /* borrowed */
	struct search *search; /* NULL: the server is known */
	struct lookup *lookup;
	unsigned int moves; /* the peer's, once its place was known; it means
			       nothing while there is a search */
	int nodes;          /* number of Cluster nodes out of reach */
	bool misled;     /* lost: the Cluster sent us to a node not its own */
	struct fail why; /* lost */
};

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

#endif
