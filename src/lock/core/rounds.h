/* SPDX-License-Identifier: MIT */
/*
 * Acquiring, a part of the lease: one round after another, until a quorum has
 * granted and agreed on a fence, or the time is up. Between two rounds we stand
 * in line and listen for the hand-over. With several nodes, we ask only the
 * node that woke us.
 *
 * Its parts: vote.h (a node's answer), minority.h (fewer than a quorum),
 * claim.h (a quorum). The functions at the end are in lease.c and serve all of
 * them.
 *
 * Larger than most: its parts call each other through it.
 */
#ifndef LOCK_CORE_ROUNDS_H
#define LOCK_CORE_ROUNDS_H

#include "lock/core/lease.h"

void rounds_begin(struct lease *l, struct instant at);
/* Held, but nothing runs yet: asks each node for another grant. */
void rounds_refresh(struct lease *l, struct instant at);
/* Asks node i, in this round. rounds_ask_again(): node i woke us; ask it
 * alone. */
void rounds_ask(struct lease *l, int i, struct instant at);
void rounds_ask_again(struct lease *l, int i, struct instant at);
/* After each vote: finds out whether we have a quorum or can have none. */
void rounds_check(struct lease *l, struct instant at);
/* This round has no quorum: waits for the next one, or gives up. */
void rounds_fail(struct lease *l, struct instant at);

/* Listens to a node where we are in line, until the next round. */
void rounds_listen(struct lease *l, struct lease_node *n, struct instant at);
/* A listen ended: with an answer, or with a failure. */
void rounds_heard(struct lease *l, const struct ask *asked, bool woken,
		  struct instant at);
void rounds_unheard(struct lease *l, const struct ask *asked, bool cut_off,
		    struct instant at);

void rounds_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		   struct instant at);
void rounds_tick(struct lease *l, struct instant at);
struct instant rounds_wake(const struct lease *l);

#define LONG_AGO ((struct instant){INT64_MIN / 2})

int64_t lease_jitter(struct lease *l, int64_t range); /* 0..range-1 */
void lease_want(struct lease_node *n, enum verb verb, struct instant at);
void lease_want_release(struct lease_node *n, struct instant at);
/* Forgets a listen under way: its channel needs a fresh connection. */
void lease_stop_listening(struct lease_node *n);
void lease_finish(struct lease *l, enum lease_end end, struct instant at);

#endif
