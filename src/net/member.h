/* SPDX-License-Identifier: MIT */
/*
 * What servers tell of others: which is the master of a group, and which are
 * the nodes of a Cluster. Anybody may have made the reply.
 */
#ifndef NET_MEMBER_H
#define NET_MEMBER_H

#include "base/reply.h"
#include "base/words.h"
#include "net/place.h"

/* SENTINEL get-master-addr-by-name: two words. -1: it is no host and port. */
int member_master(struct place *p, const struct words *reply);

/* CLUSTER SLOTS: it names `wanted`. No host there: that of the node that says
 * so, `here`. */
bool member_in_slots(const struct reply *r, const char *here,
		     const struct place *wanted);

/* CLUSTER NODES: likewise, by address or name, and also one that has no slot
 * yet, to which keys are on the move. */
bool member_in_nodes(const struct reply *r, const struct place *wanted);

#endif
