/* SPDX-License-Identifier: MIT */
/*
 * What servers say about others: which is the master of a group, and which are
 * the nodes of a Cluster. Do not trust the reply: anybody may have made it.
 */
#ifndef NET_MEMBER_H
#define NET_MEMBER_H

#include "base/reply.h"
#include "base/words.h"
#include "net/place.h"

/* SENTINEL get-master-addr-by-name: two words. -1: not a host and port. */
int member_master(struct place *p, const struct words *reply);

/* SENTINEL SENTINELS: how many others there are; the first MEMBER_SENTINELS of
 * them by their ids, and where they are (without a host if that is unknown).
 * -1: the reply has another shape. */
#define MEMBER_SENTINELS 16
int member_sentinels(const struct reply *r, uint64_t id[MEMBER_SENTINELS],
		     struct place at[MEMBER_SENTINELS]);

/* CLUSTER SLOTS: whether it names `wanted`. An entry without a host means the
 * node that answers, `here`. */
bool member_in_slots(const struct reply *r, const char *here,
		     const struct place *wanted);

/* CLUSTER NODES: whether it names `wanted`, by address or by name. This
 * includes a node that has no slot yet, to which keys are moving. */
bool member_in_nodes(const struct reply *r, const struct place *wanted);

#endif
