/* SPDX-License-Identifier: MIT */
/* Answers to an acquire. Read vote.h first. */
#include "lock/core/vote.h"

#include "lock/core/ending.h"
#include "lock/core/minority.h"
#include "lock/core/node.h"
#include "lock/core/renewal.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"

#define OUTER_LOOK_MS 20

/* A node that restarted may have forgotten a lease of this length. Grants made
 * under a shorter guard do not count, and are asked for again. */
static void guard_for(struct lease *l, const struct answer *a,
		      struct instant at)
{
	int64_t ttl = a->busy.holder_ttl_ms;

	if (l->guard_ms == 0 || ttl <= l->guard_ms)
		return;
	l->guard_ms = ttl;
	for (int i = 0; i < l->conf.nodes && l->state == LEASE_ASKING; i++)
		if (l->node[i].vote == VOTE_YES)
			rounds_ask(l, i, at);
}

/* What a waiter remembers. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	/* a foreign lock lasts no longer than what is left of it */
	int64_t ttl = a->busy.foreign ? a->busy.pttl_ms : a->busy.holder_ttl_ms;

	guard_for(l, a, at);
	n->grant.counter = a->counter;
	if (a->said == SAID_BUSY && ttl > 0)
		n->holder_ttl_ms = ttl;
	n->last = *a;
	if (a->said != SAID_BUSY && a->said != SAID_GUARDED &&
	    a->said != SAID_LOSS)
		n->last.busy.pttl_ms = -1;
}

/* One server under two names would count twice. */
static bool is_twin(struct lease *l, struct lease_node *n,
		    const struct answer *a, struct instant at)
{
	int me = (int)(n - l->node);

	n->server = a->granted.server;
	for (int i = 0; i < l->conf.nodes; i++)
		if (i != me && a->granted.server != 0 &&
		    l->node[i].server == a->granted.server) {
			l->twin[0] = i < me ? i : me;
			l->twin[1] = i < me ? me : i;
			n->grant.state = GRANT_NONE;
			n->want = VERB_NONE;
			if (l->in_use)
				return true;
			l->refusal = FAIL_CONFIG;
			ending_begin(l, END_REFUSED, 0, at);
			return true;
		}
	return false;
}

/* A quorum has granted it; the hold has not begun. */
static bool is_claiming(const struct lease *l)
{
	return l->state == LEASE_CLAIMING || l->state == LEASE_REPLICATING;
}

/* The outer hold and a hold of our own do not mix: the counter that came with
 * the other one is no fence of ours. Gives the grant back. */
static void decline(const struct lease *l, struct lease_node *n,
		    const struct ask *asked, struct instant at)
{
	if (node_is_ours(n) || is_claiming(l)) {
		node_may_have(n, asked);
		return;
	}
	n->grant.joins |= asked->joins;
	n->grant.state = GRANT_OURS;
	minority_give_back(l, n, at);
}

/* A grant that is too late to count: the hold is lost, or we have since decided
 * otherwise about joining the outer hold. */
static bool is_stale(const struct lease *l, const struct ask *asked)
{
	return l->state == LEASE_LOST || l->state == LEASE_OVER ||
	       (l->state == LEASE_HELD &&
		asked->joins != (l->nest == NEST_JOINED));
}

static void note_grant(struct lease *l, struct lease_node *n,
		       const struct ask *asked, const struct answer *a)
{
	n->grant.joins = asked->joins;
	if (!is_claiming(l))
		l->nest = asked->joins ? NEST_JOINED : NEST_NONE;
	else if (l->nest == NEST_ASKED)
		l->nest = NEST_NONE;
	if (l->nest == NEST_JOINED)
		l->fence = l->conf.outer.fence;
	n->grant.slot = a->granted.slot;
	n->grant.group = a->group;
	renewal_credit(l, n, asked, a);
	/* a grant takes us out of the line; joining does not */
	n->line.queued &= asked->joins;
}

/* A grant that came after the others had made a quorum. */
static void join_late(struct lease *l, struct lease_node *n, struct instant at)
{
	if (l->state == LEASE_HELD && n->grant.slot != l->slot)
		minority_give_back(l, n, at);
	else if (l->state == LEASE_HELD && l->in_use && n->want == VERB_NONE &&
		 !lease_spent(l))
		node_want(n, VERB_CONFIRM,
			  timing_renew(n->grant.credited_at, l->conf.ttl_ms));
	else if (l->state == LEASE_REPLICATING && n->vote == VOTE_OPEN)
		node_want(n, VERB_REPLICATE, at);
}

/* The question was sent before we knew of a longer lease. */
static bool is_unguarded(const struct lease *l, const struct ask *asked)
{
	return (l->state == LEASE_ASKING || l->state == LEASE_WAITING) &&
	       asked->guard_ms < l->guard_ms;
}

static void ask_again(struct lease *l, struct lease_node *n, struct instant at)
{
	if (l->state == LEASE_WAITING)
		rounds_ask_alone(l, (int)(n - l->node), at);
	else if (n->vote == VOTE_OPEN)
		node_want(n, VERB_ACQUIRE, at);
}

/* The server may have run this question last: then it is ours, and only the
 * next question shows that. */
static void granted_late(struct lease *l, struct lease_node *n,
			 const struct ask *asked, struct instant at)
{
	if (node_is_ours(n))
		return;
	node_may_have(n, asked);
	if (n->vote == VOTE_NO &&
	    (l->state == LEASE_ASKING || l->state == LEASE_WAITING))
		rounds_ask_alone(l, (int)(n - l->node), at);
}

/* As if another client had the lock for so long. */
static struct answer busy_for(int64_t ms)
{
	return (struct answer){.said = SAID_BUSY, .busy = {.pttl_ms = ms}};
}

static void granted(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	if (l->state == LEASE_RELEASING) {
		/* the acquire may have run after our release */
		node_want(n, VERB_RELEASE, at);
		return;
	}
	/* the outer hold may be asked to stop: that does not concern us once we
	 * ask for a hold of our own */
	if (l->conf.nodes == 1 || asked->joins == lease_joins(l))
		renewal_note_stop(l, asked, a);
	if (is_stale(l, asked)) {
		node_may_have(n, asked);
		return;
	}
	if (is_twin(l, n, a, at))
		return;
	if (node_is_late(n, asked)) {
		granted_late(l, n, asked, at);
		return;
	}
	if (is_unguarded(l, asked)) {
		n->grant.unsure = true;
		ask_again(l, n, at);
		return;
	}
	if (l->conf.nodes > 1 && asked->joins != lease_joins(l)) {
		decline(l, n, asked, at);
		return;
	}
	/* renewals keep what runs; an old acquire proves nothing about it */
	if (l->in_use && node_is_ours(n))
		return;
	note_grant(l, n, asked, a);
	/* late, but still ours: the lease counts from its own question */
	if (l->state == LEASE_WAITING) {
		enum nest nest = l->nest;

		rounds_ask_alone(l, (int)(n - l->node), at);
		l->nest = nest;
	}
	if (l->state != LEASE_ASKING) {
		join_late(l, n, at);
		return;
	}
	n->vote = VOTE_YES;
	n->want = VERB_NONE;
	if (lease_votes(l, VOTE_YES) >= lease_quorum(l->conf.nodes))
		l->outer_by = LONG_AGO;
	rounds_check(l, at);
}

/* This round waits for the answer. With several nodes, an answer also counts if
 * it comes when the round is over. */
static bool is_awaited(const struct lease *l, const struct lease_node *n,
		       const struct ask *asked)
{
	if (l->conf.nodes == 1)
		return l->state == LEASE_ASKING && n->vote == VOTE_OPEN;
	if (asked->joins != lease_joins(l))
		return false;
	return n->vote == VOTE_OPEN
		       ? l->state == LEASE_ASKING || l->state == LEASE_WAITING
		       : n->vote == VOTE_DOWN && l->state == LEASE_WAITING;
}

/* The outer holder heals its lock with its next renewal, or is dead when its
 * lease ends. That lease began before we asked. */
static bool outer_may_live(struct lease *l, struct instant at)
{
	if (l->outer_by.ms == LONG_AGO.ms)
		l->outer_by = after(at, l->conf.outer.ttl_ms);
	return before(at, l->outer_by);
}

/* Asks again in a moment, whatever else we wait for. */
static void await_outer(struct lease *l, struct lease_node *n,
			struct instant at)
{
	if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
		return;
	n->want = VERB_NONE;
	n->vote = VOTE_NO;
	n->last = busy_for(OUTER_LOOK_MS);
	n->last.said = SAID_VANISHED;
	rounds_check(l, at);
}

/* Answers that end the waiting. */
static const enum lease_end ending_of[SAID_NO + 1] = {
	[SAID_SUPERSEDED] = END_SUPERSEDED,
	[SAID_DONE] = END_DONE,
	[SAID_OLDER] = END_OLDER,
	[SAID_INSIDE] = END_INSIDE,
};

void vote_answer(struct lease *l, struct lease_node *n, const struct ask *asked,
		 const struct answer *a, struct instant at)
{
	enum lease_end end = ending_of[a->said];

	if (a->said == SAID_GRANTED) {
		granted(l, n, asked, a, at);
		return;
	}
	/* a late answer counts here too: we are in line, and must leave it */
	n->line.queued |= a->busy.place > 0;
	if (a->busy.ticket > n->line.ticket)
		n->line.ticket = a->busy.ticket;
	if (node_is_late(n, asked))
		return;
	/* to a question from before we decided to ask for ourselves */
	if (a->said == SAID_VANISHED && l->conf.nodes > 1 && !lease_joins(l))
		return;
	if (a->said == SAID_VANISHED && outer_may_live(l, at)) {
		await_outer(l, n, at);
		return;
	}
	/* the run around us does not hold the lock, or no longer */
	if (asked->joins && l->conf.nodes == 1 &&
	    (a->said == SAID_NO || a->said == SAID_VANISHED)) {
		if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
			return;
		node_want(n, VERB_ACQUIRE, at);
		l->nest = NEST_NONE;
		l->stop_by = l->stop_dead = NEVER;
		return;
	}
	if (!is_awaited(l, n, asked))
		return;
	n->grant.state = GRANT_NONE;
	n->want = VERB_NONE;
	n->vote = VOTE_NO;
	if (end != END_NONE) {
		/* if the lock was handed to us meanwhile, pass it on */
		n->line.queued &= end == END_DONE || end == END_OLDER;
		n->grant.unsure |= n->line.queued;
		l->done_until = after(asked->sent, a->busy.pttl_ms);
		l->newest = a->busy.revision;
		ending_begin(l, end, 0, at);
		return;
	}
	if (a->said == SAID_FULL)
		n->line.queued = false;
	if (a->said == SAID_NO || a->said == SAID_FULL)
		n->last = *a;
	else
		remember(l, n, a, at);
	if (l->state == LEASE_WAITING) {
		rounds_listen(l, n, at);
		return;
	}
	if (n->line.woken && a->said == SAID_BUSY)
		rounds_ask(l, asked->node, at);
	rounds_check(l, at);
}
