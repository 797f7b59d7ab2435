/* SPDX-License-Identifier: MIT */
/*
 * Finds the server to connect to, for a connection that must ask others which
 * one it is (CONN_UNKNOWN): asks several servers at once and believes the first
 * that knows. The Sentinels of a group say where its master is now. If a node
 * of a Cluster is silent, any other node that answers is asked. And if a
 * Cluster sends us to a node that the URL does not name, a node that it does
 * name must know it (CLUSTER NODES, CLUSTER SLOTS), because a server that we
 * connect to gets the password.
 *
 * A name may lead to several servers (a headless service), of which the first
 * is frozen: each time that the question is asked again, without an answer, it
 * goes to the next address of each name. A step at a time; nothing here waits.
 */
#ifndef NET_SEARCH_H
#define NET_SEARCH_H

#include "net/peer.h"

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
