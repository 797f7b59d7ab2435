/* SPDX-License-Identifier: MIT */
/* What an acquire was answered. Read vote.h first. */
#include "lock/core/vote.h"

#include "lock/core/minority.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"

#define OUTER_LOOK_MS 20

/* The node may be asked again. */
void vote_again(struct lease *l, struct lease_node *n, struct instant at)
{
	if (minority_waits(n))
		return;
	if (l->state == LEASE_WAITING)
		l->next_round =
			sooner(l->next_round, later(at, l->pause_until));
	else if (l->state == LEASE_HELD && l->in_use)
		lease_want(n, VERB_CONFIRM, timing_renew(at, l->conf.ttl_ms));
}

/* Data were lost: an unaware holder may have renewed until this answer. */
static void wait_out(struct lease *l, struct lease_node *n, struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (n->holder_ttl_ms > ttl)
		ttl = n->holder_ttl_ms;
	n->embargo = after(at, ttl);
}

/* A node that was restarted may have forgotten a lease as long as that. What
 * was granted by the shorter guard does not count: it is asked for again. */
static void guard_for(struct lease *l, const struct answer *a,
		      struct instant at)
{
	int64_t ttl = a->holder_ttl_ms;

	if (l->conf.guard_ms == 0 || ttl <= l->conf.guard_ms)
		return;
	l->conf.guard_ms = ttl;
	for (int i = 0; i < l->conf.nodes && l->state == LEASE_ASKING; i++)
		if (l->node[i].vote == VOTE_YES)
			rounds_ask(l, i, at);
}

/* A waiter's memory: a counter that is behind what it saw proves a loss. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	if (a->counter < n->counter || a->lost)
		wait_out(l, n, at);
	guard_for(l, a, at);
	n->counter = a->counter;
	/* a foreign holder has at most what is left */
	if (a->said == SAID_BUSY &&
	    (a->foreign ? a->pttl_ms : a->holder_ttl_ms) > 0)
		n->holder_ttl_ms = a->foreign ? a->pttl_ms : a->holder_ttl_ms;
	n->busy = *a;
	if (a->said != SAID_BUSY && a->said != SAID_GUARDED)
		n->busy.pttl_ms = -1;
}

/* Two names of one server would count twice. */
static bool is_twin(struct lease *l, struct lease_node *n,
		    const struct answer *a, struct instant at)
{
	int me = (int)(n - l->node);

	n->server = a->server;
	for (int i = 0; i < l->conf.nodes; i++)
		if (i != me && a->server != 0 &&
		    l->node[i].server == a->server) {
			l->twin[0] = i < me ? i : me;
			l->twin[1] = i < me ? me : i;
			n->mine = false;
			n->want = VERB_NONE;
			if (l->in_use)
				return true;
			l->refusal = FAIL_CONFIG;
			lease_finish(l, END_REFUSED, at);
			return true;
		}
	return false;
}

/* The outer one's hold is no part of ours, nor ours of that: a counter that was
 * told with it is nobody's fence. */
static void decline(const struct lease *l, struct lease_node *n,
		    const struct ask *asked, struct instant at)
{
	if (n->mine || l->state == LEASE_CLAIMING)
		return;
	n->joins |= asked->joins;
	n->mine = true;
	minority_give_back(n, at);
}

/* What comes too late to count: given back behind this, or about to be; or to
 * the other of two questions, whether we join the outer one. */
static bool is_stale(const struct lease *l, const struct lease_node *n,
		     const struct ask *asked)
{
	if (l->conf.nodes > 1 &&
	    (minority_waits(n) || !before(n->gave_back, asked->sent)))
		return true;
	return l->state == LEASE_LOST || l->state == LEASE_OVER ||
	       (l->state == LEASE_HELD && asked->joins != l->joined);
}

static void note_grant(struct lease *l, struct lease_node *n,
		       const struct ask *asked, const struct answer *a)
{
	n->joins = asked->joins;
	if (l->state != LEASE_CLAIMING)
		l->joined = asked->joins;
	l->joining = l->joined;
	if (l->joined)
		l->fence = l->conf.outer.fence;
	/* an earlier grant, come late, is not the one that stands */
	if (!n->mine || !before(asked->sent, n->credited_at)) {
		n->slot = a->slot;
		n->group = a->group;
	}
	lease_credit(l, n, asked, a);
	/* who joins is in line still, if it was */
	n->queued &= asked->joins;
}

/* A quorum was quicker. */
static void join_late(struct lease *l, struct lease_node *n, struct instant at)
{
	if (l->state == LEASE_HELD && n->slot != l->slot)
		minority_give_back(n, at);
	else if (l->state == LEASE_HELD && l->in_use && n->want == VERB_NONE &&
		 !lease_spent(l))
		lease_want(n, VERB_CONFIRM,
			   timing_renew(n->credited_at, l->conf.ttl_ms));
	else if (l->state == LEASE_CLAIMING && l->replicating &&
		 n->vote == VOTE_OPEN)
		lease_want(n, VERB_REPLICATE, at);
}

/*
 * A loss is told to whom it concerns: to the one that says which counter it
 * saw. A question from before that (a copy of it, on a slow way) is answered as
 * a newcomer's would be. Such an answer proves nothing, and must not stand for
 * what we remember: the node is asked again.
 */
static bool is_unaware(const struct lease *l, const struct lease_node *n,
		       const struct ask *asked)
{
	return (l->state == LEASE_ASKING || l->state == LEASE_WAITING) &&
	       !n->mine && asked->verb == VERB_ACQUIRE &&
	       asked->seen < n->counter;
}

/* It was asked before we knew of a longer lease. */
static bool is_unguarded(const struct lease *l, const struct ask *asked)
{
	return (l->state == LEASE_ASKING || l->state == LEASE_WAITING) &&
	       asked->guard_ms < l->conf.guard_ms;
}

static void ask_aware(struct lease *l, struct lease_node *n, struct instant at)
{
	if (l->state == LEASE_WAITING)
		rounds_ask_again(l, (int)(n - l->node), at);
	else if (n->vote == VOTE_OPEN)
		lease_want(n, VERB_ACQUIRE, at);
}

static void granted(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	if (l->state == LEASE_RELEASING) {
		/* it may have run after our release */
		lease_want(n, VERB_RELEASE, at);
		return;
	}
	lease_note_stop(l, asked, a);
	if (is_stale(l, n, asked))
		return;
	if (a->lost || a->counter < n->counter)
		wait_out(l, n, at);
	if (is_unaware(l, n, asked) || is_unguarded(l, asked)) {
		n->unsure = true;
		ask_aware(l, n, at);
		return;
	}
	if (l->conf.nodes > 1 && asked->joins != l->joining) {
		decline(l, n, asked, at);
		return;
	}
	if (is_twin(l, n, a, at))
		return;
	/* what runs is renewed, and an old question proves nothing of it */
	if (l->in_use && n->mine)
		return;
	l->outer_by = LONG_AGO;
	note_grant(l, n, asked, a);
	/* late, and ours all the same: it counts from its own question */
	if (l->state == LEASE_WAITING) {
		rounds_ask_again(l, (int)(n - l->node), at);
		l->joining = l->joined;
	}
	if (l->state != LEASE_ASKING) {
		join_late(l, n, at);
		return;
	}
	n->vote = VOTE_YES;
	n->want = VERB_NONE;
	/* too soon after a loss: keep what it gave, for nobody else may have
	 * it, but do not start yet */
	if (before(at, n->embargo)) {
		n->vote = VOTE_NO;
		n->busy = (struct answer){.said = SAID_BUSY,
					  .pttl_ms = l->conf.ttl_ms / 6,
					  .place = -1};
	}
	rounds_check(l, at);
}

/* By this round; or, of several nodes, it was quicker than this one. */
static bool is_awaited(const struct lease *l, const struct lease_node *n,
		       const struct ask *asked)
{
	if (l->conf.nodes == 1)
		return l->state == LEASE_ASKING && n->vote == VOTE_OPEN;
	if (asked->joins != l->joining || minority_waits(n))
		return false;
	return n->vote == VOTE_OPEN
		       ? l->state == LEASE_ASKING || l->state == LEASE_WAITING
		       : n->vote >= VOTE_BACK && l->state == LEASE_WAITING;
}

/* It heals its lock with its next renewal, or is dead by the end of its lease,
 * which began before we asked. */
static bool outer_may_live(struct lease *l, struct instant at)
{
	if (l->outer_by.ms == LONG_AGO.ms)
		l->outer_by = after(at, l->conf.outer.ttl_ms);
	return before(at, l->outer_by);
}

/* Asked again in a moment, whatever else we would wait for. */
static void await_outer(struct lease *l, struct lease_node *n,
			struct instant at)
{
	if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
		return;
	n->want = VERB_NONE;
	n->vote = VOTE_NO;
	n->busy = (struct answer){
		.said = SAID_BUSY, .pttl_ms = OUTER_LOOK_MS, .place = -1};
	rounds_check(l, at);
}

/* An answer after which there is nothing to wait for. */
static const enum lease_end ending_of[SAID_NO + 1] = {
	[SAID_SUPERSEDED] = END_SUPERSEDED,
	[SAID_DONE] = END_DONE,
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
	if (a->said == SAID_VANISHED && outer_may_live(l, at)) {
		await_outer(l, n, at);
		return;
	}
	/* whoever started us does not hold it, or not any more */
	if (asked->joins && l->conf.nodes == 1 &&
	    (a->said == SAID_NO || a->said == SAID_VANISHED)) {
		if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
			return;
		lease_want(n, VERB_ACQUIRE, at);
		l->joining = l->joined = false;
		return;
	}
	/* also when the answer comes late: we are in line, and must leave it */
	n->queued |= a->place >= 0;
	if (a->ticket > n->ticket)
		n->ticket = a->ticket;
	if (!is_awaited(l, n, asked))
		return;
	if (is_unaware(l, n, asked)) {
		ask_aware(l, n, at);
		return;
	}
	n->mine = false;
	n->want = VERB_NONE;
	n->vote = VOTE_NO;
	if (end != END_NONE) {
		/* a lock handed over meanwhile is to be passed on */
		n->queued &= end == END_DONE;
		n->unsure |= n->queued;
		lease_finish(l, end, at);
		return;
	}
	if (a->said == SAID_FULL)
		n->queued = false;
	if (a->said == SAID_NO || a->said == SAID_FULL)
		n->busy = *a;
	else
		remember(l, n, a, at);
	if (l->state == LEASE_WAITING) {
		rounds_listen(l, n, at);
		return;
	}
	if (n->woken && a->said == SAID_BUSY)
		rounds_ask(l, asked->node, at);
	rounds_check(l, at);
}
