/* SPDX-License-Identifier: MIT */
/*
 * Part of the lease: a holder renews it on each node, until too few nodes say
 * that it is still ours.
 */
#ifndef LOCK_CORE_RENEWAL_H
#define LOCK_CORE_RENEWAL_H

#include "lock/core/state.h"

/* In use: starts renewing on each node. */
void renewal_begin(struct lease *l);

/* A node answered a renewal. If it was ours and says no, and fewer than a
 * quorum is left, the lease is lost. */
void renewal_answer(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at);

/* The node said yes: it is ours, from when the question was sent. */
void renewal_credit(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a);

/* The node may have said that we are to stop (force-release). */
void renewal_note_stop(struct lease *l, const struct ask *asked,
		       const struct answer *a);

#endif
