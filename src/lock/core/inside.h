/* SPDX-License-Identifier: MIT */
/* What the parts of the lease promise to each other, and to nobody else. */
#ifndef LOCK_CORE_INSIDE_H
#define LOCK_CORE_INSIDE_H

#include "base/units.h"
#include "lock/core/lease.h"
#include "lock/core/timing.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): it declares n */
#define for_each_node(l, n)                                                    \
	for (__auto_type n = (l)->node; n < (l)->node + (l)->conf.nodes; n++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- state.c ---- */

/* How many of its nodes are a majority. */
int quorum_of(const struct lease *l);

/* The only way from one state to another. */
void lease_enter(struct lease *l, enum lease_state state);
/* Asking, claiming or replicating. */
bool lease_is_acquiring(const struct lease *l);
/* A random number, 0..range-1. */
int64_t lease_jitter(struct lease *l, int64_t range);

/* ---- acquire.c ---- */

/* Asks all nodes. */
void acquire_begin(struct lease *l, struct instant at);
/* Held, but nothing runs yet: asks each node for another grant. */
void acquire_refresh(struct lease *l, struct instant at);

/* The answers to an acquire, and to the confirms and the questions for replicas
 * that may follow it. */
void acquire_voted(struct lease *l, struct lease_node *n,
		   const struct ask *asked, const struct answer *a,
		   struct instant at);
void acquire_claimed(struct lease *l, struct lease_node *n,
		     const struct ask *asked, const struct answer *a,
		     struct instant at);
void acquire_replicated(struct lease *l, struct lease_node *n,
			const struct ask *asked, const struct answer *a,
			struct instant at);
/* A listen ended: with an answer, or with a failure. */
void acquire_heard(struct lease *l, struct lease_node *n,
		   const struct ask *asked, bool woken, struct instant at);
void acquire_unheard(struct lease *l, struct lease_node *n,
		     const struct ask *asked, bool cut_off, struct instant at);
/* A node could not be asked, or refused. */
void acquire_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		    struct instant at);
void acquire_tick(struct lease *l, struct instant at);
struct instant acquire_wake(const struct lease *l);

/* ---- minority.c ---- */

/* Releases this node's grant. The release goes behind any acquire that may
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
/* Whether other clients were granted nodes a moment ago: perhaps nobody has a
 * quorum yet. */
bool minority_is_split(const struct lease *l);
/* When to see what became of the others' grants. */
struct instant minority_look(const struct lease *l, struct instant at);
/* While another client has a quorum, we do not take the nodes that it lacks.
 * Returns true when it no longer has its quorum. */
bool minority_stand_off(struct lease *l);

/* ---- hold.c ---- */

/* In use: starts renewing on each node. */
void hold_begin(struct lease *l);
/* The node said yes: it is ours, from when the question was sent. */
void hold_credit(struct lease *l, struct lease_node *n, const struct ask *asked,
		 const struct answer *a);
/* A node answered a renewal. If it was ours and says no, and fewer than a
 * quorum is left, the lease is lost. */
void hold_renewed(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a,
		  struct instant at);
/* The node may have said that we are to stop (force-release). */
void hold_note_stop(struct lease *l, const struct ask *asked,
		    const struct answer *a);

/* Stops waiting, or releases the lock. `how`: HOW_RAN and other bits. If the
 * lease is ending already, only `end` may change. */
void ending_begin(struct lease *l, enum lease_end end, unsigned int how,
		  struct instant at);
void ending_answer(struct lease *l, struct lease_node *n,
		   const struct ask *asked);
/* A node cannot be reached, or refuses. */
void ending_failed(const struct lease *l, struct lease_node *n,
		   enum fail_kind kind, struct instant at);
#define RELEASE_MS 1000 /* the holder waits for its release */
void ending_tick(struct lease *l, struct instant at);
struct instant ending_wake(const struct lease *l);

/* ---- question.c ---- */

/* Asks it, from then on, until it has answered; or nothing any more. */
void node_want(struct lease_node *n, enum verb verb, struct instant at);
void node_rest(struct lease_node *n);
/* Releases what it granted, or may have granted. */
void node_want_release(struct lease_node *n, struct instant at);
/* Notes that a question whose answer does not count may have run, or may still
 * run: the node is owed a release. */
void node_may_have(struct lease_node *n, const struct ask *asked);
/* Forgets a listen under way: see lease_hangs_up(). */
void node_stop_listening(struct lease_node *n);
/* Whether such a question is under way to it. */
bool node_is_asked(const struct lease_node *n, enum verb verb);
/* Whether a release is to be sent first. */
bool node_is_releasing(const struct lease_node *n);
/* Whether the answer does not count: a later question was answered, or
 * releases this node's grant. */
bool node_is_late(const struct lease_node *n, const struct ask *asked);

/* A node answered a renewal with no: if nobody has the lock there, that starts
 * a repair. Node i confirmed a renewal that was sent at `asked`. */
void repair_note(struct lease *l, struct lease_node *n, const struct answer *a,
		 struct instant at);
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at);

/* Chooses the channel for the wanted question, and returns when to send it. */
struct instant question_due(const struct lease *l, const struct lease_node *n,
			    int *chan, bool *fresh);
/* Makes that question, and notes that it is under way. */
void question_make(struct lease *l, struct lease_node *n, int chan, bool fresh,
		   struct instant at, struct ask *out);

#endif
