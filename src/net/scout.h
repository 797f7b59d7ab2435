/* SPDX-License-Identifier: MIT */
/*
 * Finds the server to connect to: asks several servers at once and believes the
 * first that knows. The Sentinels of a group say where its master is now. If a
 * node of a Cluster is silent, any other node that answers is asked. And if a
 * Cluster sends us to a node that the URL does not name, a node that it does
 * name must know it (CLUSTER NODES, CLUSTER SLOTS), because a server that we
 * connect to gets the password.
 *
 * A name may lead to several servers (a headless service), of which the first
 * is frozen: each time that the question is asked again, without an answer, it
 * goes to the next address of each name.
 */
#ifndef NET_SCOUT_H
#define NET_SCOUT_H

#include "net/finder.h"

/* For conn_init(). */
extern const struct finder scout_finder;

/* Makes an endpoint of one of the servers to ask, such as one Sentinel of the
 * group. */
void scout_member(const struct endpoint *group, const struct place *at,
		  struct endpoint *out);

#endif
