/* SPDX-License-Identifier: MIT */
/*
 * Part of acquiring: from a quorum of grants to a hold, with one slot, one
 * fence and as many replicas as requested.
 *
 * The fence is a number that a quorum has given to us and to nobody else, by
 * granting it or by raising the counter to it under our token. If a quorum
 * granted the same number, that is the fence; otherwise the largest one is
 * stored.
 */
#ifndef LOCK_CORE_CLAIM_H
#define LOCK_CORE_CLAIM_H

#include "lock/core/state.h"

/* A quorum has granted. Returns false if they granted different slots: see
 * minority_narrow(). */
bool claim_begin(struct lease *l, struct instant at);
/* A quorum agrees on the fence, or, called again, has its replicas. Asks for
 * replicas if need be, else the lease is held. */
void claim_agreed(struct lease *l, struct instant at);
/* We still have a quorum, but its counters have moved: claim again with a
 * larger fence. False: we have no quorum, or have tried too often. */
bool claim_again(struct lease *l, struct instant at);

/* Answers while claiming. Return whether the node has voted: then the votes are
 * to be counted. */
bool claim_answer(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a);
bool claim_replicated(struct lease *l, struct lease_node *n,
		      const struct ask *asked, const struct answer *a,
		      struct instant at);

#endif
