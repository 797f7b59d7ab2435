/* SPDX-License-Identifier: MIT */
/*
 * Part of the lease: the end. The lock is released on all nodes that have it or
 * may have it, and we leave their lines. At `release_by`, at the latest, the
 * lease is over.
 */
#ifndef LOCK_CORE_ENDING_H
#define LOCK_CORE_ENDING_H

#include "lock/core/state.h"

/* Stops waiting, or releases the lock. `how`: HOW_RAN and other bits. If the
 * lease is ending already, only `end` may change. */
void ending_begin(struct lease *l, enum lease_end end, unsigned int how,
		  struct instant at);

/* A node cannot be reached, or refuses. */
void ending_failed(struct lease_node *n, enum fail_kind kind,
		   struct instant at);

void ending_tick(struct lease *l, struct instant at);
struct instant ending_wake(const struct lease *l);

#endif
