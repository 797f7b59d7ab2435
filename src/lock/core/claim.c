/* SPDX-License-Identifier: MIT */
/* From a quorum to a hold. Read claim.h first. */
#include "lock/core/claim.h"

#include "lock/core/minority.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"

#define CLAIMS_MOST 5 /* of those whose counters others move, too */

static void held(struct lease *l, struct instant at)
{
	l->state = LEASE_HELD;
	l->held = true;
	l->keep_until = NEVER;
	l->split_ms = 0;
	l->only = 0;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		lease_stop_listening(n);
		n->off = false;
		/* of another slot, or ours beside the outer one's */
		if (n->mine && (n->slot != l->slot || n->joins != l->joined))
			minority_give_back(n, at);
		else if (!minority_waits(n))
			n->want = VERB_NONE;
	}
	l->held_from = lease_credited_at(l);
	if (l->in_use)
		lease_renew(l);
}

/* With one fence. Replicas are asked for once that is settled. */
void claim_agreed(struct lease *l, struct instant at)
{
	if (l->conf.replicas == 0 || l->replicating) {
		held(l, at);
		return;
	}
	l->replicating = true;
	l->state = LEASE_CLAIMING;
	/* the server answers at the end of its own time-out */
	l->round_by = after(at, 2 * l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		/* or it may grant yet: see vote.c */
		if (minority_waits(n) || n->vote == VOTE_OPEN)
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		lease_want(n, yes ? VERB_REPLICATE : VERB_NONE, at);
	}
}

/* A slot is a lock of its own, and a quorum must be of the same. Each node gave
 * the first that was free there: a lower one is not free on all. False: it is
 * to be asked for. */
static bool one_slot(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes), highest = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].slot == l->node[i].slot;
		if (l->node[i].vote == VOTE_YES && same >= q) {
			l->slot = l->node[i].slot;
			return true;
		}
		if (l->node[i].vote == VOTE_YES && l->node[i].slot > highest)
			highest = l->node[i].slot;
	}
	if (l->only == highest + 1)
		highest = (highest + 1) % lease_slots(&l->conf);
	l->only = highest + 1;
	l->pause_until = at;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].mine && l->node[i].slot != highest)
			minority_give_back(&l->node[i], at);
	return false;
}

/* The largest counter becomes the fence when a quorum has stored it under our
 * token: see claim_answer(). */
static void store(struct lease *l, int64_t most, struct instant at)
{
	l->fence = most;
	l->state = LEASE_CLAIMING;
	l->round_by = after(at, l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		if (minority_waits(n))
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		lease_want(n, yes ? VERB_CONFIRM : VERB_NONE, at);
	}
}

/* A quorum granted. One value from q nodes is a fence at once. */
void claim_begin(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int64_t most = 0;

	if (!one_slot(l, at)) {
		rounds_fail(l, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_YES && l->node[i].slot != l->slot)
			l->node[i].vote = VOTE_DOWN;
	if (l->joined) {
		claim_agreed(l, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		if (l->node[i].vote != VOTE_YES)
			continue;
		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].counter == l->node[i].counter;
		if (same >= q) {
			l->fence = l->node[i].counter;
			claim_agreed(l, at);
			return;
		}
		if (l->node[i].counter > most)
			most = l->node[i].counter;
	}
	store(l, most, at);
}

static bool is_ours(const struct lease *l, const struct lease_node *n)
{
	return n->mine && n->slot == l->slot;
}

/* A quorum is ours still, but the counters have moved: a larger one. */
bool claim_again(struct lease *l, struct instant at)
{
	int64_t most = l->fence;
	int mine = 0;

	if (l->state != LEASE_CLAIMING || l->replicating ||
	    ++l->claims > CLAIMS_MOST)
		return false;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		mine += is_ours(l, n);
		if (is_ours(l, n) && n->counter > most)
			most = n->counter;
	}
	if (mine < lease_quorum(l->conf.nodes))
		return false;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].vote =
			is_ours(l, &l->node[i]) ? VOTE_YES : VOTE_DOWN;
	store(l, most + 1, at);
	return true;
}

void claim_answer(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a,
		  struct instant at)
{
	bool mine = a->said != SAID_NO, ours;

	/* an earlier claim's, or the second answer of two: the first has told
	 * the counter, and that would look as if it had been granted */
	if (asked->fence != l->fence || n->vote != VOTE_OPEN)
		return;
	/* More than the fence is not what we know of: it was granted to us
	 * anew, and others may have been before; or they hold as well, and move
	 * the counter, too. So it must have become the fence by us, or have
	 * been granted to us as such. */
	ours = a->counter == l->fence && (a->raised || n->counter == l->fence);
	if (mine)
		lease_credit(l, n, asked, a);
	else
		n->mine = false;
	n->vote = mine && ours ? VOTE_YES : VOTE_NO;
	n->busy = (struct answer){.pttl_ms = -1, .place = -1};
	n->want = VERB_NONE;
	rounds_check(l, at);
}

/* Too few of them are no matter of time. */
void claim_replicated(struct lease *l, struct lease_node *n,
		      const struct answer *a, struct instant at)
{
	if (l->state != LEASE_CLAIMING || !l->replicating)
		return;
	n->want = VERB_NONE;
	n->vote = a->counter < l->conf.replicas ? VOTE_NO : VOTE_YES;
	if (lease_votes(l, VOTE_YES) + lease_votes(l, VOTE_OPEN) <
	    lease_quorum(l->conf.nodes)) {
		l->refusal = FAIL_UNAVAILABLE;
		lease_finish(l, END_REFUSED, at);
		return;
	}
	rounds_check(l, at);
}
