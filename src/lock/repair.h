/* SPDX-License-Identifier: MIT */
/*
 * On several nodes: where the lock is gone from one of them, the holder sets it
 * again, so that a bare majority does not stay bare.
 *
 * A node says that nobody has it, and its counter. When after that q others
 *were renewed, nobody else can have had a quorum with that node; if its counter
 *is the same still, nobody was granted there since, and the lock is ours there
 *. A node that may have forgotten a lease
 * since its start refuses.
 */
#ifndef LOCK_REPAIR_H
#define LOCK_REPAIR_H

#include "lock/lease.h"

/* A node that is not ours was asked to renew, and said no. */
void repair_note(struct lease_node *n, const struct answer *a,
		 struct instant at);
/* Node i renewed what it was asked then. */
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at);
/* It may be set again there: see `repairs` in lease.h. */
bool repair_may(const struct lease *l, const struct lease_node *n);

#endif
