/* SPDX-License-Identifier: MIT */
/*
 * Which server to go to: several are asked at once, and the first that knows is
 * believed. The Sentinels of a group say where its master is now; of a Cluster
 * whose node is silent, any other that answers will know. And where a Cluster
 * sends us to a node that the URL does not name, one that it names must know
 * that node (CLUSTER NODES, CLUSTER SLOTS): who gets a connection gets the
 * password. A step at a time; nothing here waits.
 */
#ifndef NET_SCOUT_H
#define NET_SCOUT_H

#include "net/peer.h"

struct scout;

/* One of those that are asked, as a server by itself: a Sentinel of the group,
 * say. */
void scout_member(const struct endpoint *group, int i, struct endpoint *out);

/* For a connection of the peer; its endpoint is borrowed for as long. NULL:
 * *why says why. The place that the peer doubts is believed only when half of
 * them say so: a Sentinel may be behind. */
struct scout *scout_start(const struct peer *p, struct fail *why);
void scout_close(struct scout *s); /* NULL does no harm */

/* For poll(2): POLLIN. Then, and once right after the start, scout_step(). */
int scout_fd(const struct scout *s);

enum scout_got {
	SCOUT_SEEKING,
	SCOUT_FOUND, /* *found is where */
	SCOUT_LOST   /* nobody answers, or none knows the node
			(FAIL_UNAVAILABLE), all that do refuse us
			(FAIL_REFUSED), or do not know the group (FAIL_CONFIG) */
};
enum scout_got scout_step(struct scout *s, struct place *found,
			  struct fail *why);

/* Every descriptor it has; returns how many. */
#define SCOUT_FDS_MAX (SENIORS_MAX + 1)
int scout_sockets(const struct scout *s, int fds[SCOUT_FDS_MAX]);

#endif
