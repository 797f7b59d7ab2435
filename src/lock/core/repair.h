/* SPDX-License-Identifier: MIT */
/*
 * Several nodes: if the lock is gone from one of them, the holder sets it again
 * there, so that a bare majority does not stay bare.
 *
 * A node answers a renewal with "nobody has the lock" and its counter. Once a
 * quorum of nodes has confirmed ours after that, nobody else can have had a
 * quorum that includes this node. If the node's counter is still the same,
 * it has granted the lock to nobody since, and we may take it there. A node
 * that may have forgotten a lease because it restarted refuses. A reader
 * joins whoever reads on such a node; a nested run takes it under the token of
 * the run around it.
 */
#ifndef LOCK_CORE_REPAIR_H
#define LOCK_CORE_REPAIR_H

#include "lock/core/lease.h"

/* A node that is not ours answered a renewal with no. */
void repair_note(struct lease_node *n, const struct answer *a,
		 struct instant at);
/* Node i confirmed a renewal that was sent at `asked`. */
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at);
/* Whether the lock may be set again on this node: see `repairs` in lease.h. */
bool repair_may(const struct lease *l, const struct lease_node *n);

#endif
