/* SPDX-License-Identifier: MIT */
/*
 * Finds the server to connect to: asks several servers at once and believes the
 * first that knows. The Sentinels of a group say where its master is now. If a
 * node of a Cluster is silent, any other node that answers is asked. And if a
 * Cluster sends us to a node that the URL does not name, a node that it does
 * name must know it (CLUSTER NODES, CLUSTER SLOTS), because a server that we
 * connect to gets the password. A step at a time; nothing here waits.
 */
#ifndef NET_SCOUT_H
#define NET_SCOUT_H

#include "net/peer.h"

struct scout;

/* Makes an endpoint of one of the servers to ask, such as one Sentinel of the
 * group. */
void scout_member(const struct endpoint *group, int i, struct endpoint *out);

/* Starts to ask, for a connection of the peer. The peer's endpoint is borrowed
 * until scout_close(). NULL: see *why. A place that the peer doubts is believed
 * only if half of the servers name it: a Sentinel may be out of date. */
struct scout *scout_start(const struct peer *p, struct fail *why);
void scout_close(struct scout *s); /* s may be NULL */

/* For poll(2), with POLLIN. Call scout_step() then, and once at the start. */
int scout_fd(const struct scout *s);

enum scout_got {
	SCOUT_SEEKING,
	SCOUT_FOUND, /* *found is the place */
	SCOUT_LOST   /* nobody answers or knows the node (FAIL_UNAVAILABLE), all
			who answer refuse us (FAIL_REFUSED), or do not know the
			group (FAIL_CONFIG) */
};
enum scout_got scout_step(struct scout *s, struct place *found,
			  struct fail *why);

/* Lists its descriptors; returns their number. They stay the scout's. */
#define SCOUT_FDS_MAX (SENIORS_MAX + 1)
int scout_sockets(const struct scout *s, int fds[SCOUT_FDS_MAX]);

#endif
