/* SPDX-License-Identifier: MIT */
/*
 * Finds the server to connect to, for a connection that must first ask others
 * which one it is. An interface, because the search (scout.h) uses connections
 * itself. It works step by step and never waits.
 */
#ifndef NET_FINDER_H
#define NET_FINDER_H

#include "net/peer.h"

struct scout; /* one search under way */

enum finder_got {
	FINDER_GOING,
	FINDER_FOUND, /* *found is the place */
	FINDER_LOST   /* nobody answers or knows the node (FAIL_UNAVAILABLE);
			 all that answer refuse us (FAIL_REFUSED), or do not
			 know the group (FAIL_CONFIG) */
};

#define FINDER_FDS_MAX (SENIORS_MAX + 1)

struct finder {
	/* The peer's endpoint is borrowed until close(). NULL: see *why. A
	 * place that the peer doubts is believed only if half of the servers
	 * name it: a Sentinel may be out of date. */
	struct scout *(*start)(const struct peer *p, struct fail *why);
	void (*close)(struct scout *s);
	/* Call it once at the start, and then when poll(2) shows POLLIN. */
	enum finder_got (*step)(struct scout *s, struct place *found,
				struct fail *why);
	/* Lists its descriptors, the first for poll(2); returns their number.
	 * They stay the scout's. */
	int (*sockets)(const struct scout *s, int fds[FINDER_FDS_MAX]);
};

#endif
