/* SPDX-License-Identifier: MIT */
/*
 * Part of the lease: what one node is to be asked next.
 */
#ifndef LOCK_CORE_NODE_H
#define LOCK_CORE_NODE_H

#include "lock/core/state.h"

/* Asks it, from then on, until it has answered. */
void node_want(struct lease_node *n, enum verb verb, struct instant at);

/*
 * Releases what it granted, or may have granted. If an acquire is unanswered, a
 * release follows it on the same connection: a frozen server runs both when it
 * wakes. At the end of the lease, a release need not wait for a renewal that
 * cannot heal. For one that can, we wait until it is answered or its connection
 * is given up, and send no release behind it. If it runs late, after a loss of
 * data, the renewal heals the lock; a release would then free that lock, and
 * waiters that saw it would take the new counter for an ordinary hand-over. If
 * we leave it alone, the healed lock stays for T, which is longer than a holder
 * that does not know of the loss can live.
 */
void node_want_release(struct lease_node *n, struct instant at);

/* Notes that a question whose answer does not count may have run, or may still
 * run: the node is owed a release. (Not after a repair: see R54 in
 * docs/protocol.md.) */
void node_may_have(struct lease_node *n, const struct ask *asked);

/* Forgets a listen under way: see lease_hangs_up(). */
void node_stop_listening(struct lease_node *n);

/* Whether a release is to be sent first. */
bool node_is_releasing(const struct lease_node *n);

/* Whether the answer does not count: a later question was answered, or gives
 * the node back. */
bool node_is_late(const struct lease_node *n, const struct ask *asked);

#endif
