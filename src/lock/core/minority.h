/* SPDX-License-Identifier: MIT */
/*
 * Part of acquiring: fewer than a quorum of several nodes have granted. The
 * minority is kept for KEEP_MS, because the other nodes' grants may be on their
 * way, and for longer if we gave one back before. It is given back after
 * that, or as soon as it is another waiter's turn; then we stand in every line
 * as far back as in the one that has us furthest back. See lease.h.
 */
#ifndef LOCK_CORE_MINORITY_H
#define LOCK_CORE_MINORITY_H

#include "lock/core/state.h"

/* Gives this node's grant back. The release goes behind any acquire that may
 * still run. */
void minority_give_back(const struct lease *l, struct lease_node *n,
			struct instant at);
/* The same on all nodes, then a pause. It doubles each time and has jitter, so
 * that two clients do not collide for ever. */
void minority_give_back_all(struct lease *l, struct instant at);

/* Whether we have a minority that is still worth keeping. */
bool minority_keeps(struct lease *l, struct instant at);
/* To keep a minority: gives back all but one slot, and asks for that one on all
 * nodes. */
void minority_narrow(struct lease *l, struct instant at);
/* Whether other clients were granted nodes a moment ago: perhaps nobody
 * has a quorum yet. */
bool minority_is_split(const struct lease *l);
/* When to see what became of the others' grants. */
struct instant minority_look(const struct lease *l, struct instant at);

/* While another client has a quorum, we do not take the nodes that it lacks.
 * Returns true when it no longer has its quorum. */
bool minority_stand_off(struct lease *l);

#endif
