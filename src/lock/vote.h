/* SPDX-License-Identifier: MIT */
/*
 * A node's vote, a part of acquiring: what it has answered to an acquire, and
 * what a waiter remembers of that.
 */
#ifndef LOCK_VOTE_H
#define LOCK_VOTE_H

#include "lock/lease.h"

void vote_answer(struct lease *l, struct lease_node *n, const struct ask *asked,
		 const struct answer *a, struct instant at);

/* A release that was sent while we go on is answered: it may be asked again,
 * unless another one is under way. */
void vote_again(struct lease *l, struct lease_node *n, struct instant at);

#endif
