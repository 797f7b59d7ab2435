/* SPDX-License-Identifier: MIT */
/*
 * Acquiring, a part of the lease: round after round, until a quorum has granted
 * and agreed on a fence, or the time is over. The pause between two rounds is
 * spent in line, listening for a hand-over; whoever is woken on one of several
 * nodes asks that one alone.
 *
 * Its parts: vote.h (what a node answered), minority.h (fewer than a quorum),
 * claim.h (a quorum). The helpers at the end are lease.c's, for all of them.
 */
#ifndef LOCK_ROUNDS_H
#define LOCK_ROUNDS_H

#include "lock/lease.h"

void rounds_begin(struct lease *l, struct instant at);
/* Held, and nothing runs yet: each node is asked again. */
void rounds_refresh(struct lease *l, struct instant at);
/* In this round: node i, or, woken there, that one alone. */
void rounds_ask(struct lease *l, int i, struct instant at);
void rounds_ask_again(struct lease *l, int i, struct instant at);
/* A vote has come in: a quorum, none, or too early to tell. */
void rounds_check(struct lease *l, struct instant at);
/* No quorum. */
void rounds_fail(struct lease *l, struct instant at);

/* Until the next round, a node where we are in line is listened to. */
void rounds_listen(struct lease *l, struct lease_node *n, struct instant at);
/* Listening ended. */
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
void lease_renew(struct lease *l); /* in use: each node when it is due */
void lease_want_release(struct lease_node *n, struct instant at);
void lease_deaf(struct lease_node *n); /* listens no more */
void lease_credit(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a);
void lease_note_stop(struct lease *l, const struct ask *asked,
		     const struct answer *a);
void lease_finish(struct lease *l, enum lease_end end, struct instant at);

#endif
