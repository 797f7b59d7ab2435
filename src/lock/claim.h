/* SPDX-License-Identifier: MIT */
/*
 * From a quorum of grants to a hold, a part of acquiring: one slot, one fence,
 * and as many replicas as are asked for.
 *
 * The fence is a number that q nodes have given to us and to nobody else: by
 * granting it, or by raising their counter to it under our token. Where a
 * quorum granted the same, that is it; else the largest is stored.
 */
#ifndef LOCK_CLAIM_H
#define LOCK_CLAIM_H

#include "lock/lease.h"

/* A quorum has granted. */
void claim_begin(struct lease *l, struct instant at);
/* What was granted to us, on a quorum, has a fence: on to the replicas, or
 * held. */
void claim_agreed(struct lease *l, struct instant at);
/* A quorum is ours still, but the counters have moved: with a larger one.
 * False: it is not, or that was tried too often. */
bool claim_again(struct lease *l, struct instant at);

/* Answers while claiming. */
void claim_answer(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a,
		  struct instant at);
void claim_replicated(struct lease *l, struct lease_node *n,
		      const struct answer *a, struct instant at);

#endif
