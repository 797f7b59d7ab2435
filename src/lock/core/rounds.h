/* SPDX-License-Identifier: MIT */
/*
 * Acquiring, a part of the lease: one round after another, until a quorum has
 * granted and agreed on a fence, or the time is up. Between two rounds we stand
 * in line and listen for the hand-over. With several nodes, we ask only the
 * node that woke us.
 *
 * It uses minority.h (fewer than a quorum) and claim.h (a quorum). vote.h tells
 * it what the nodes answer.
 */
#ifndef LOCK_CORE_ROUNDS_H
#define LOCK_CORE_ROUNDS_H

#include "lock/core/state.h"

/* Asks all nodes. */
void rounds_begin(struct lease *l, struct instant at);
/* Held, but nothing runs yet: asks each node for another grant. */
void rounds_refresh(struct lease *l, struct instant at);
/* Asks node i, in this round. rounds_ask_alone(): it has news (it woke us, or
 * granted late); ask it alone. */
void rounds_ask(struct lease *l, int i, struct instant at);
void rounds_ask_alone(struct lease *l, int i, struct instant at);
/* After each vote: finds out whether we have a quorum or can have none. */
void rounds_check(struct lease *l, struct instant at);

/* Listens to a node where we are in line, unless we do already. */
void rounds_listen(struct lease *l, struct lease_node *n, struct instant at);
/* A listen ended: with an answer, or with a failure. */
void rounds_heard(struct lease *l, const struct ask *asked, bool woken,
		  struct instant at);
void rounds_unheard(struct lease *l, const struct ask *asked, bool cut_off,
		    struct instant at);

/* A node could not be asked, or refused. */
void rounds_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		   struct instant at);
void rounds_tick(struct lease *l, struct instant at);
struct instant rounds_wake(const struct lease *l);

#endif
