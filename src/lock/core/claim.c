/* SPDX-License-Identifier: MIT */
/* From a quorum to a hold. Read claim.h first. */
#include "lock/core/claim.h"

#include "lock/core/ending.h"
#include "lock/core/minority.h"
#include "lock/core/node.h"
#include "lock/core/renewal.h"

#define CLAIMS_MOST 5 /* other clients may move the counters each time */

static void begin_hold(struct lease *l, struct instant at)
{
	l->state = LEASE_HELD;
	l->was_held = true;
	l->keep_until = NEVER;
	l->split_ms = 0;
	l->only = 0;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		node_stop_listening(n);
		n->theirs = false;
		/* granted another slot, or a hold of our own beside the outer
		 * one */
		if (node_is_ours(n) &&
		    (n->grant.slot != l->slot ||
		     n->grant.joins != (l->nest == NEST_JOINED)))
			minority_give_back(l, n, at);
		else if (!node_is_releasing(n))
			n->want = VERB_NONE;
	}
	l->held_from = lease_credited_at(l);
	if (l->in_use)
		renewal_begin(l);
}

/* The fence is agreed. Only now ask for replicas. */
void claim_agreed(struct lease *l, struct instant at)
{
	if (l->conf.replicas == 0 || l->state == LEASE_REPLICATING) {
		begin_hold(l, at);
		return;
	}
	l->state = LEASE_REPLICATING;
	/* WAIT answers when its own time-out is over */
	l->round_by = after(at, 2 * l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		/* an open vote may still become a grant: see vote.c */
		if (node_is_releasing(n) || n->vote == VOTE_OPEN)
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		node_want(n, yes ? VERB_REPLICATE : VERB_NONE, at);
	}
}

/* Each slot is a lock of its own: a quorum must have granted the same one. */
static bool one_slot(struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].grant.slot == l->node[i].grant.slot;
		if (l->node[i].vote == VOTE_YES &&
		    same >= lease_quorum(l->conf.nodes)) {
			l->slot = l->node[i].grant.slot;
			return true;
		}
	}
	return false;
}

/* The largest counter becomes the fence once a quorum has stored it under our
 * token: see claim_answer(). */
static void store(struct lease *l, int64_t most, struct instant at)
{
	l->fence = most;
	l->state = LEASE_CLAIMING;
	l->round_by = after(at, l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		if (node_is_releasing(n))
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		node_want(n, yes ? VERB_CONFIRM : VERB_NONE, at);
	}
}

/* A quorum granted. If q nodes granted the same value, it is the fence. */
bool claim_begin(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int64_t most = 0;

	if (!one_slot(l))
		return false;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_YES &&
		    l->node[i].grant.slot != l->slot)
			l->node[i].vote = VOTE_DOWN;
	if (l->nest == NEST_JOINED) {
		claim_agreed(l, at);
		return true;
	}
	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		if (l->node[i].vote != VOTE_YES)
			continue;
		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].grant.fence ==
					l->node[i].grant.fence;
		if (same >= q) {
			l->fence = l->node[i].grant.fence;
			claim_agreed(l, at);
			return true;
		}
		if (l->node[i].grant.counter > most)
			most = l->node[i].grant.counter;
	}
	store(l, most, at);
	return true;
}

static bool has_slot(const struct lease *l, const struct lease_node *n)
{
	return node_is_ours(n) && n->grant.slot == l->slot;
}

/* We still have a quorum, but its counters have moved: try a larger fence. */
bool claim_again(struct lease *l, struct instant at)
{
	int64_t most = l->fence;
	int mine = 0;

	if (l->state != LEASE_CLAIMING || ++l->claims > CLAIMS_MOST)
		return false;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		mine += has_slot(l, n);
		if (has_slot(l, n) && n->grant.counter > most)
			most = n->grant.counter;
	}
	if (mine < lease_quorum(l->conf.nodes))
		return false;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].vote =
			has_slot(l, &l->node[i]) ? VOTE_YES : VOTE_DOWN;
	store(l, most + 1, at);
	return true;
}

bool claim_answer(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a)
{
	bool mine = a->said != SAID_NO, ours;

	/* An answer to an earlier claim, or the second of two answers. The
	 * first one has told us the counter, so the second would look as if the
	 * node had granted the lock with it. */
	if (l->state != LEASE_CLAIMING || asked->fence != l->fence ||
	    n->vote != VOTE_OPEN)
		return false;
	/* If the counter is larger than the fence, either the lock was granted
	 * to us anew, and perhaps to others before, or other holders move the
	 * counter as well. So it must equal the fence, and either we raised it
	 * or it was granted to us like that. */
	ours = a->counter == l->fence &&
	       (a->confirm.raised || n->grant.fence == l->fence);
	if (mine)
		renewal_credit(l, n, asked, a);
	else
		n->grant.state = GRANT_NONE;
	n->vote = mine && ours ? VOTE_YES : VOTE_NO;
	n->last = (struct answer){.said = SAID_NO, .busy = {.pttl_ms = -1}};
	n->want = VERB_NONE;
	return true;
}

/* If there are too few replicas, waiting does not help. */
bool claim_replicated(struct lease *l, struct lease_node *n,
		      const struct ask *asked, const struct answer *a,
		      struct instant at)
{
	if (l->state != LEASE_REPLICATING || n->vote != VOTE_OPEN ||
	    node_is_late(n, asked) || before(asked->sent, n->link.acquired))
		return false;
	n->want = VERB_NONE;
	n->vote = a->counter < l->conf.replicas ? VOTE_NO : VOTE_YES;
	if (lease_votes(l, VOTE_YES) + lease_votes(l, VOTE_OPEN) <
	    lease_quorum(l->conf.nodes)) {
		l->refusal = FAIL_UNAVAILABLE;
		ending_begin(l, END_REFUSED, 0, at);
		return false;
	}
	return true;
}
