/* SPDX-License-Identifier: MIT */
/*
 * Part of acquiring: a node's vote, which is its answer to an acquire, and what
 * a waiter remembers of it.
 */
#ifndef LOCK_CORE_VOTE_H
#define LOCK_CORE_VOTE_H

#include "lock/core/state.h"

void vote_answer(struct lease *l, struct lease_node *n, const struct ask *asked,
		 const struct answer *a, struct instant at);

#endif
