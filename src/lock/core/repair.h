/* SPDX-License-Identifier: MIT */
/*
 * Several nodes: if the lock is gone from one of them, the holder sets it again
 * there, so that a bare majority does not stay bare.
 *
 * A node answers a renewal with "nobody has the lock", and its counter. Once a
 * quorum of nodes has confirmed renewals that were sent after that answer,
 * nobody else can have had a quorum with the first node. If the counter of that
 * node is still the same, it has granted the lock to nobody since, and the
 * holder may take the lock there. (Moves of the counter for other slots or
 * readers do not matter: see untouched() in src/lua/heal.lua.)
 *
 * A node that has restarted and may have forgotten a lease refuses. A reader
 * joins the readers on such a node, if there are any. A nested run takes the
 * lock there under the token of the run around it.
 */
#ifndef LOCK_CORE_REPAIR_H
#define LOCK_CORE_REPAIR_H

#include "lock/core/state.h"

/* A node answered a renewal with no. If nobody has the lock there, that starts
 * a repair: the others are asked at once. (Each client that tries the lock
 * meanwhile moves the counter of this node, so that a repair that waits for the
 * next renewals may never come through.) */
void repair_note(struct lease *l, struct lease_node *n, const struct answer *a,
		 struct instant at);
/* Node i confirmed a renewal that was sent at `asked`. */
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at);
/* Whether the lock may be set again on this node: see `repairs` in ask.h. */
bool repair_may(const struct lease *l, const struct lease_node *n);

#endif
