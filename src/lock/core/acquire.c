/* SPDX-License-Identifier: MIT */
/*
 * Acquiring: one round after another, until a quorum has granted and agreed on
 * a fence, or the time is up. Between two rounds we stand in line and listen
 * for the hand-over. With several nodes, we ask only the node that woke us.
 */
#include "lock/core/inside.h"

#define LOOK_APART_MS 20    /* waiters do not all ask at once */
#define BACKOFF_LEAST_MS 10 /* between rounds without an answer */
#define BACKOFF_MOST_MS 500
#define LISTEN_LEAST_MS 20 /* a shorter listen is not worth it */
#define CUT_OFF_MOST 2
#define REPLACE_MS 250 /* by then, runs inside the holder have ended */
#define BROKEN_MS 100  /* waiters come back within this, not all at once */
#define CLAIMS_MOST 5  /* other clients may move the counters each time */
#define OUTER_LOOK_MS 20

/* ---- a round ---- */

/* Asks a node, as part of this round. */
static void ask(struct lease_node *n, struct instant at)
{
	n->line.woken = false;
	n->vote = VOTE_OPEN;
	node_want(n, VERB_ACQUIRE, at);
}

/* How long the last look may take: an answered node needs a round trip. */
static int64_t last_look(const struct lease *l)
{
	int64_t ms = 0;

	for_each_node(l, n) {
		int64_t look = n->link.answered ? timing_hedge(n->link.srtt_ms)
						: LAST_LOOK_MS;

		ms = look > ms ? look : ms;
	}
	return l->conf.wait_ms > 0 ? at_most(ms, LAST_LOOK_MS) : ms;
}

/* This round, or a part of it, may take `ms`, but not longer than we may wait.
 * With -n, the first look has its full time, and so has what comes of it. */
static void end_round(struct lease *l, struct instant at, int64_t ms)
{
	bool only = l->conf.wait_ms <= 0 &&
		    (l->state != LEASE_ASKING || !before(l->began, at));
	struct instant last = later(lease_limit(l), after(at, last_look(l)));

	l->round_by = after(at, ms);
	l->short_round = !only && before(last, l->round_by);
	if (l->short_round)
		l->round_by = last;
}

static void begin_asking(struct lease *l, struct instant at)
{
	lease_enter(l, LEASE_ASKING);
	l->claims = 0;
	end_round(l, at, l->conf.node_timeout_ms);
}

void acquire_begin(struct lease *l, struct instant at)
{
	begin_asking(l, at);
	l->whole = true;
	/* the outer hold may have been lost and healed: try again to join it,
	 * but not while we keep a minority of our own */
	if (l->nest != NEST_JOINED)
		l->nest = l->conf.outer.token[0] != '\0' &&
					  l->keep_until.ms == NEVER.ms
				  ? NEST_ASKED
				  : NEST_NONE;
	if (l->backoff_ms == 0)
		l->backoff_ms = BACKOFF_LEAST_MS;
	for_each_node(l, n) {
		if (node_is_releasing(n))
			n->vote = VOTE_DOWN;
		else
			ask(n, at);
	}
}

/*
 * Before anything runs, only an acquire refreshes the lease. A yes to a confirm
 * proves that the lock is ours, but not that it has been ours since we got the
 * fence: our lease may have ended, another client may have run, and an old
 * question of ours may have got the lock again.
 */
void acquire_refresh(struct lease *l, struct instant at)
{
	bool joined = l->nest == NEST_JOINED;
	int only = l->conf.nodes > 1 && lease_slots(&l->conf) > 1 ? l->slot + 1
								  : 0;

	acquire_begin(l, at);
	l->nest = joined ? NEST_JOINED : NEST_NONE;
	l->only = only;
	if (l->conf.wait_ms > 0)
		return;
	l->round_by = after(at, l->conf.node_timeout_ms);
	l->short_round = false;
}

/* This node has news (it woke us, or granted late). The others have said
 * nothing new. */
static void ask_alone(struct lease *l, struct lease_node *n, struct instant at)
{
	if (l->conf.nodes == 1) {
		acquire_begin(l, at);
		return;
	}
	if (l->state == LEASE_WAITING) {
		begin_asking(l, at);
		l->whole = false;
	}
	if (!node_is_releasing(n))
		ask(n, at);
}

/* How long until the next look. */
static int64_t pause_of(struct lease *l, struct instant at)
{
	int64_t less = lease_jitter(l, LOOK_APART_MS), ms = HEARTBEAT_MS;

	for_each_node(l, n) {
		struct busy busy = n->last.busy;

		if (n->vote != VOTE_NO)
			continue;
		busy.foreign |= before(at, n->line.no_blpop_until);
		ms = at_most(queue_delay(&busy, less), ms);
	}
	if (l->conf.replaces && !l->replaces) {
		l->replaces = true;
		ms = at_most(ms, REPLACE_MS);
	}
	return ms;
}

/* Whether we listen to this node. A listen without a word for too long is
 * forgotten, so that it is sent again. */
static bool listens(struct lease_node *n, struct instant at)
{
	for (int c = 0; c < CHANNELS; c++) {
		const struct ask *a = &n->link.chan[c].ask;

		if (a->verb == VERB_LISTEN &&
		    before(at, after(a->sent, LISTEN_MS + HEARTBEAT_MS)))
			return true;
	}
	node_stop_listening(n);
	return false;
}

/* Listens to a node where we are in line, unless we do already. (Behind another
 * program's lock nobody wakes the first in line.) */
static void listen_to(struct lease *l, struct lease_node *n, struct instant at)
{
	int place = l->conf.wait_ms > 0 && n->vote == VOTE_NO
			    ? n->last.busy.place
			    : 0;

	if (node_is_releasing(n))
		return;
	if (place > 0 && !before(at, n->line.no_blpop_until) &&
	    !(place == 1 && n->last.busy.foreign) &&
	    between(at, l->next_round) >= LISTEN_LEAST_MS && !listens(n, at))
		node_want(n, VERB_LISTEN, at);
	else
		node_rest(n);
}

/* ---- from a quorum to a hold ---- */

static void begin_hold(struct lease *l, struct instant at)
{
	lease_enter(l, LEASE_HELD);
	l->was_held = true;
	l->keep_until = NEVER;
	l->split_ms = 0;
	l->only = 0;
	for_each_node(l, n) {
		node_stop_listening(n);
		n->theirs = false;
		/* granted another slot, or a hold of our own beside the outer
		 * one */
		if (node_is_ours(n) &&
		    (n->grant.slot != l->slot ||
		     n->grant.joins != (l->nest == NEST_JOINED)))
			minority_give_back(l, n, at);
		else if (!node_is_releasing(n))
			node_rest(n);
	}
	l->held_from = lease_credited_at(l);
	if (l->in_use)
		hold_begin(l);
}

static bool has_slot(const struct lease *l, const struct lease_node *n)
{
	return node_is_ours(n) && n->grant.slot == l->slot;
}

/* Asks those who said yes once more: to store the fence, or for replicas. (If
 * we joined the outer hold, one may have it in another slot than the others.)
 */
static void ask_granters(struct lease *l, enum verb verb, struct instant at)
{
	for_each_node(l, n) {
		bool yes = n->vote == VOTE_YES && has_slot(l, n);

		/* an open vote may still become a grant: see join_late() */
		if (node_is_releasing(n) ||
		    (n->vote == VOTE_OPEN && verb == VERB_REPLICATE))
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		node_want(n, yes ? verb : VERB_NONE, at);
	}
}

/* The fence is agreed. Only now ask for replicas. */
static void agree(struct lease *l, struct instant at)
{
	if (l->conf.replicas == 0 || l->state == LEASE_REPLICATING) {
		begin_hold(l, at);
		return;
	}
	lease_enter(l, LEASE_REPLICATING);
	/* WAIT answers when its own time-out is over */
	end_round(l, at, 2 * l->conf.node_timeout_ms);
	ask_granters(l, VERB_REPLICATE, at);
}

/* Each slot is a lock of its own: a quorum must have granted the same one. */
static bool one_slot(struct lease *l)
{
	for_each_node(l, n) {
		int same = 0;

		for_each_node(l, o)
			same += o->vote == VOTE_YES &&
				o->grant.slot == n->grant.slot;
		if (n->vote == VOTE_YES && same >= quorum_of(l)) {
			l->slot = n->grant.slot;
			return true;
		}
	}
	return false;
}

/* The largest counter becomes the fence once a quorum has stored it under our
 * token: see acquire_claimed(). */
static void store(struct lease *l, int64_t most, struct instant at)
{
	l->fence = most;
	lease_enter(l, LEASE_CLAIMING);
	end_round(l, at, l->conf.node_timeout_ms);
	ask_granters(l, VERB_CONFIRM, at);
}

/* A quorum granted. If q nodes granted the same value, it is the fence. */
static bool claim(struct lease *l, struct instant at)
{
	int64_t most = 0;

	if (!one_slot(l))
		return false;
	if (l->nest == NEST_JOINED) {
		agree(l, at);
		return true;
	}
	for_each_node(l, n) {
		int same = 0;

		if (n->vote != VOTE_YES)
			continue;
		for_each_node(l, o)
			same += o->vote == VOTE_YES &&
				o->grant.fence == n->grant.fence;
		if (same >= quorum_of(l)) {
			l->fence = n->grant.fence;
			agree(l, at);
			return true;
		}
		if (n->grant.counter > most)
			most = n->grant.counter;
	}
	store(l, most, at);
	return true;
}

/* We still have a quorum, but its counters have moved: try a larger fence. */
static bool claim_again(struct lease *l, struct instant at)
{
	int64_t most = l->fence;
	int mine = 0;

	if (l->state != LEASE_CLAIMING || ++l->claims > CLAIMS_MOST)
		return false;
	for_each_node(l, n) {
		mine += has_slot(l, n);
		if (has_slot(l, n) && n->grant.counter > most)
			most = n->grant.counter;
	}
	if (mine < quorum_of(l))
		return false;
	for_each_node(l, n)
		n->vote = has_slot(l, n) ? VOTE_YES : VOTE_DOWN;
	store(l, most + 1, at);
	return true;
}

/* ---- the end of a round ---- */

/* Our label is done, according to a node, and no majority denies it. A mark of
 * --once-per or --revision stays true, so one node that has it is enough. The
 * label changes: a node that was away has that of an earlier run, and it takes
 * a majority to tell this from marks that were lost. */
static bool label_is_done(const struct lease *l)
{
	int done = 0, denied = lease_votes(l, VOTE_YES);

	for_each_node(l, n) {
		if (n->vote != VOTE_NO)
			continue;
		done += n->last.said == SAID_DONE;
		denied +=
			n->last.said == SAID_BUSY || n->last.said == SAID_FULL;
	}
	return l->state == LEASE_ASKING && done > 0 && denied < quorum_of(l);
}

/* Reasons to give up: waiting would not change them. */
static enum lease_end hopeless(struct lease *l)
{
	int refused = 0;

	if (label_is_done(l)) {
		l->done_label = true;
		return END_DONE;
	}
	for_each_node(l, n) {
		refused += n->vote == VOTE_DOWN && n->refused;
		if (n->vote == VOTE_NO && n->last.said == SAID_FULL)
			return END_FULL;
	}
	if (refused <= l->conf.nodes - quorum_of(l))
		return END_NONE;
	l->refusal = FAIL_REFUSED;
	return END_REFUSED;
}

/* Where the outer hold has vanished, its holder sets it again: see
 * outer_may_live(). But if too many nodes deny that it holds the lock, it has
 * no quorum. */
static bool outer_may_return(const struct lease *l, struct instant at)
{
	int vanished = 0, no = 0;

	for_each_node(l, n) {
		if (n->vote != VOTE_NO)
			continue;
		if (n->last.said == SAID_VANISHED)
			vanished++;
		else
			no++;
	}
	return vanished > 0 && before(at, l->outer_by) &&
	       no <= l->conf.nodes - quorum_of(l);
}

/* Too few nodes have the outer hold: it does not exist, or no longer. */
static bool joins_in_vain(struct lease *l, struct instant at)
{
	if (!lease_joins(l) || l->conf.nodes == 1 ||
	    lease_votes(l, VOTE_NO) == 0 || outer_may_return(l, at))
		return false;
	for_each_node(l, n)
		if (node_is_ours(n))
			minority_give_back(l, n, at);
	l->only = 0;
	l->keep_until = NEVER;
	/* that request to stop was meant for the outer hold */
	l->stop_by = l->stop_dead = NEVER;
	acquire_begin(l, at);
	l->nest = NEST_NONE;
	return true;
}

static void fail_round(struct lease *l, struct instant at)
{
	bool busy = lease_answered(l), woken = false, keep, freed;
	struct instant limit = lease_limit(l);
	enum lease_end end = hopeless(l);

	if (joins_in_vain(l, at))
		return;
	if (end != END_NONE) {
		ending_begin(l, end, 0, at);
		return;
	}
	freed = minority_stand_off(l);
	keep = minority_keeps(l, at);
	if (!before(at, limit) && !(keep && minority_is_split(l))) {
		/* a look that was too short proves nothing */
		busy |= l->short_round && l->was_answered;
		ending_begin(l, busy ? END_BUSY : END_UNAVAILABLE, 0, at);
		return;
	}
	for_each_node(l, n)
		woken |= n->line.woken;
	l->was_answered = busy;
	lease_enter(l, LEASE_WAITING);
	if (busy) {
		l->backoff_ms = BACKOFF_LEAST_MS;
		l->next_round =
			woken || freed ? at : after(at, pause_of(l, at));
	} else {
		l->next_round = after(
			at, l->backoff_ms / 2 + lease_jitter(l, l->backoff_ms));
		l->backoff_ms = at_most(l->backoff_ms * 2, BACKOFF_MOST_MS);
	}
	l->next_round =
		sooner(l->next_round, keep ? minority_look(l, at) : limit);
	if (keep)
		minority_narrow(l, at);
	else
		minority_give_back_all(l, at);
	/* the slot that was given back, or another, may be free soon */
	if (before(at, l->pause_until))
		l->next_round = sooner(l->next_round, l->pause_until);
	for_each_node(l, n) {
		/* one that we give back, or that is silent, will not wake us */
		if (n->vote == VOTE_BACK || n->vote == VOTE_DOWN)
			node_stop_listening(n);
		listen_to(l, n, at);
	}
}

/* A quorum is out of reach, and we know whether others hold the lock, and, if
 * the outer hold has vanished from a node, whether it exists on the others. */
static bool is_decided(const struct lease *l, struct instant at)
{
	int q = quorum_of(l), open = lease_votes(l, VOTE_OPEN);
	int yes = lease_votes(l, VOTE_YES),
	    said = yes + lease_votes(l, VOTE_NO);

	if (open > 0 && lease_joins(l) && outer_may_return(l, at))
		return false;
	return yes + open < q && (said >= q || said + open < q);
}

static void count_votes(struct lease *l, struct instant at)
{
	int q = quorum_of(l);
	int yes = lease_votes(l, VOTE_YES);

	if (yes >= q && l->state == LEASE_ASKING) {
		if (claim(l, at))
			return;
		fail_round(l, at);
	} else if (yes >= q) {
		agree(l, at);
	} else if (is_decided(l, at) && !claim_again(l, at)) {
		fail_round(l, at);
	}
}

/* ---- votes: the answers to an acquire ---- */

/* A node that restarted may have forgotten a lease of this length. Grants made
 * under a shorter guard do not count, and are asked for again. */
static void guard_for(struct lease *l, const struct answer *a,
		      struct instant at)
{
	int64_t ttl = a->busy.holder_ttl_ms;

	if (l->guard_ms == 0 || ttl <= l->guard_ms)
		return;
	l->guard_ms = ttl;
	for_each_node(l, n)
		if (l->state == LEASE_ASKING && n->vote == VOTE_YES)
			ask(n, at);
}

/* What a waiter remembers. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	guard_for(l, a, at);
	n->grant.counter = a->counter;
	n->last = *a;
	if (a->said != SAID_BUSY && a->said != SAID_GUARDED &&
	    a->said != SAID_LOSS)
		n->last.busy.pttl_ms = -1;
}

/* The other node that is the same server; NULL: none is known. */
static struct lease_node *twin_of(struct lease *l, const struct lease_node *n)
{
	for_each_node(l, o)
		if (o != n && n->server != 0 && o->server == n->server)
			return o;
	return NULL;
}

/* A quorum has granted it; the hold has not begun. */
static bool is_claiming(const struct lease *l)
{
	return l->state == LEASE_CLAIMING || l->state == LEASE_REPLICATING;
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
	if (l->nest == NEST_JOINED)
		l->fence = l->conf.outer.fence;
	n->grant.slot = a->granted.slot;
	hold_credit(l, n, asked, a);
	/* a grant takes us out of the line; joining does not */
	n->line.queued &= asked->joins;
}

/* A grant that came after the others had made a quorum. */
static void join_late(struct lease *l, struct lease_node *n, struct instant at)
{
	if (n->grant.slot != l->slot)
		minority_give_back(l, n, at);
	else if (l->state == LEASE_HELD && l->in_use && n->want == VERB_NONE &&
		 !lease_spent(l))
		node_want(n, VERB_CONFIRM,
			  timing_renew(n->grant.credited_at, l->conf.ttl_ms));
	else if (l->state == LEASE_REPLICATING && n->vote == VOTE_OPEN)
		node_want(n, VERB_REPLICATE, at);
}

/* What a grant is worth: the first of these that applies. */
enum worth {
	TOO_LATE,  /* we are releasing */
	STALE,     /* see is_stale() */
	TWIN,      /* one server under two names would count twice */
	OVERTAKEN, /* see node_is_late() */
	UNGUARDED, /* it was asked for before we knew of a longer lease */
	MIXED,     /* the outer hold and a hold of our own do not mix: the
		      counter that came with the other one is not our fence */
	MOOT,      /* renewals keep what runs; an old acquire proves nothing
		      about it */
	COUNTS
};

static bool is_looking(const struct lease *l)
{
	return l->state == LEASE_ASKING || l->state == LEASE_WAITING;
}

static bool is_mixed(const struct lease *l, const struct ask *asked)
{
	return l->conf.nodes > 1 && asked->joins != lease_joins(l);
}

static enum worth worth_of(struct lease *l, const struct lease_node *n,
			   const struct ask *asked)
{
	if (l->state == LEASE_RELEASING)
		return TOO_LATE;
	if (is_stale(l, asked))
		return STALE;
	if (twin_of(l, n))
		return TWIN;
	if (node_is_late(n, asked))
		return OVERTAKEN;
	if (is_looking(l) && asked->guard_ms < l->guard_ms)
		return UNGUARDED;
	if (is_mixed(l, asked))
		return MIXED;
	return l->in_use && node_is_ours(n) ? MOOT : COUNTS;
}

static void refuse_twin(struct lease *l, struct lease_node *n,
			struct instant at)
{
	struct lease_node *o = twin_of(l, n);

	l->twin[0] = (int)((o < n ? o : n) - l->node);
	l->twin[1] = (int)((o < n ? n : o) - l->node);
	n->grant.state = GRANT_NONE;
	node_rest(n);
	if (l->in_use)
		return;
	l->refusal = FAIL_CONFIG;
	ending_begin(l, END_REFUSED, 0, at);
}

static void count_grant(struct lease *l, struct lease_node *n,
			const struct ask *asked, const struct answer *a,
			struct instant at)
{
	note_grant(l, n, asked, a);
	/* late, but still ours: the lease counts from its own question */
	if (l->state == LEASE_WAITING) {
		enum nest nest = l->nest;

		ask_alone(l, n, at);
		l->nest = nest;
	}
	if (l->state != LEASE_ASKING) {
		join_late(l, n, at);
		return;
	}
	n->vote = VOTE_YES;
	node_rest(n);
	if (lease_votes(l, VOTE_YES) >= quorum_of(l))
		l->outer_by = LONG_AGO;
	count_votes(l, at);
}

static void granted(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	/* the outer hold may be asked to stop: that does not concern us once we
	 * ask for a hold of our own */
	if (l->state != LEASE_RELEASING && !is_mixed(l, asked))
		hold_note_stop(l, asked, a);
	n->server = a->granted.server;
	switch (worth_of(l, n, asked)) {
	case TOO_LATE: /* the acquire may have run after our release */
		node_want(n, VERB_RELEASE, at);
		return;
	case STALE:
		node_may_have(n, asked);
		return;
	case TWIN:
		refuse_twin(l, n, at);
		return;
	case OVERTAKEN:
		if (node_is_ours(n))
			return;
		/* the server may have run this question last: then it is ours,
		 * and only the next question shows that */
		node_may_have(n, asked);
		if (n->vote == VOTE_NO && is_looking(l))
			ask_alone(l, n, at);
		return;
	case UNGUARDED:
		n->grant.unsure = true;
		if (l->state == LEASE_WAITING)
			ask_alone(l, n, at);
		else if (n->vote == VOTE_OPEN)
			node_want(n, VERB_ACQUIRE, at);
		return;
	case MIXED:
		node_may_have(n, asked);
		if (!node_is_ours(n) && !is_claiming(l))
			minority_give_back(l, n, at);
		return;
	case MOOT:
		return;
	case COUNTS:
		count_grant(l, n, asked, a, at);
		return;
	}
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

/* Asks again in a moment, whatever else we wait for, as if another client had
 * the lock until then. */
static void await_outer(struct lease *l, struct lease_node *n,
			struct instant at)
{
	if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
		return;
	node_rest(n);
	n->vote = VOTE_NO;
	n->last = (struct answer){.said = SAID_VANISHED,
				  .busy.pttl_ms = OUTER_LOOK_MS};
	count_votes(l, at);
}

/* Answers that end the waiting. */
static const enum lease_end ending_of[SAID_NO + 1] = {
	[SAID_SUPERSEDED] = END_SUPERSEDED,
	[SAID_DONE] = END_DONE,
	[SAID_OLDER] = END_OLDER,
	[SAID_INSIDE] = END_INSIDE,
};

void acquire_voted(struct lease *l, struct lease_node *n,
		   const struct ask *asked, const struct answer *a,
		   struct instant at)
{
	enum lease_end end = ending_of[a->said];
	bool label =
		a->said == SAID_DONE && a->busy.pttl_ms < 0 && l->conf.label;

	if (a->said == SAID_GRANTED) {
		granted(l, n, asked, a, at);
		return;
	}
	/* a late answer counts here too: we are in line, and must leave it */
	n->line.queued |= a->busy.place > 0;
	if (n->line.ticket == 0)
		n->line.ahead_us = a->busy.ticket - at.ms * 1000;
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
	node_rest(n);
	n->vote = VOTE_NO;
	if (end != END_NONE && !(label && l->conf.nodes > 1)) {
		/* if the lock was handed to us meanwhile, pass it on */
		n->line.queued &= end == END_DONE || end == END_OLDER;
		n->grant.unsure |= n->line.queued;
		l->done_until = after(asked->sent, a->busy.pttl_ms);
		l->done_label = label;
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
		listen_to(l, n, at);
		return;
	}
	if (n->line.woken && a->said == SAID_BUSY)
		ask(n, at);
	count_votes(l, at);
}

/* ---- other answers ---- */

void acquire_claimed(struct lease *l, struct lease_node *n,
		     const struct ask *asked, const struct answer *a,
		     struct instant at)
{
	bool mine = a->said != SAID_NO, ours;

	/* An answer to an earlier claim, or the second of two answers. The
	 * first one has told us the counter, so the second would look as if the
	 * node had granted the lock with it. */
	if (l->state != LEASE_CLAIMING || asked->fence != l->fence ||
	    n->vote != VOTE_OPEN)
		return;
	/* If the counter is larger than the fence, either the lock was granted
	 * to us anew, and perhaps to others before, or other holders move the
	 * counter as well. So it must equal the fence, and either we raised it
	 * or it was granted to us like that. */
	ours = a->counter == l->fence &&
	       (a->confirm.raised || n->grant.fence == l->fence);
	if (mine)
		hold_credit(l, n, asked, a);
	else
		n->grant.state = GRANT_NONE;
	n->vote = mine && ours ? VOTE_YES : VOTE_NO;
	n->last = (struct answer){.said = SAID_NO, .busy = {.pttl_ms = -1}};
	node_rest(n);
	count_votes(l, at);
}

/* If there are too few replicas, waiting does not help. */
void acquire_replicated(struct lease *l, struct lease_node *n,
			const struct ask *asked, const struct answer *a,
			struct instant at)
{
	if (l->state != LEASE_REPLICATING || n->vote != VOTE_OPEN ||
	    node_is_late(n, asked) || before(asked->sent, n->link.acquired))
		return;
	node_rest(n);
	n->vote = a->counter < l->conf.replicas ? VOTE_NO : VOTE_YES;
	if (lease_votes(l, VOTE_YES) + lease_votes(l, VOTE_OPEN) <
	    quorum_of(l)) {
		l->refusal = FAIL_UNAVAILABLE;
		ending_begin(l, END_REFUSED, 0, at);
		return;
	}
	count_votes(l, at);
}

void acquire_heard(struct lease *l, struct lease_node *n,
		   const struct ask *asked, bool woken, struct instant at)
{
	n->line.woken |= woken;
	if (woken && (l->state == LEASE_WAITING ||
		      (l->state == LEASE_ASKING && n->vote == VOTE_NO)))
		ask_alone(l, n, at);
	/* if a server does not let us wait, try again in the next round */
	else if (l->state == LEASE_WAITING &&
		 between(asked->sent, at) >= LISTEN_MS / 2)
		listen_to(l, n, at);
}

/* If the listen was cut off, come back soon, but not all waiters at once. If it
 * was refused, or cut off as soon as it began (a proxy that does not know
 * BLPOP), poll instead, as for another program's lock. */
void acquire_unheard(struct lease *l, struct lease_node *n,
		     const struct ask *asked, bool cut_off, struct instant at)
{
	int64_t jitter = lease_jitter(l, BROKEN_MS);

	if (between(asked->sent, at) >= OUTSIDE_MS)
		n->line.cut_off = 0;
	if (!cut_off || ++n->line.cut_off > CUT_OFF_MOST) {
		n->line.no_blpop_until = after(at, LISTEN_MS);
		jitter = OUTSIDE_MS - jitter;
	}
	l->next_round = sooner(l->next_round, after(at, jitter));
}

void acquire_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		    struct instant at)
{
	/* one of several nodes may be set up wrongly: it counts as down,
	 * because the others can still be a quorum */
	n->refused = kind == FAIL_REFUSED;
	if (kind != FAIL_UNAVAILABLE &&
	    (l->conf.nodes == 1 || kind != FAIL_REFUSED)) {
		l->refusal = kind;
		ending_begin(l, END_REFUSED, 0, at);
		return;
	}
	/* it was asked twice: the other answer may come */
	if (l->state == LEASE_ASKING && node_is_asked(n, VERB_ACQUIRE))
		return;
	if (n->vote != VOTE_OPEN)
		return;
	n->vote = VOTE_DOWN;
	if (l->state == LEASE_WAITING)
		return;
	node_rest(n);
	count_votes(l, at);
}

/* ---- time ---- */

void acquire_tick(struct lease *l, struct instant at)
{
	if (l->state == LEASE_WAITING && !before(at, l->next_round))
		acquire_begin(l, at);
	if (!lease_is_acquiring(l) || before(at, l->round_by))
		return;
	for_each_node(l, n)
		if (n->vote == VOTE_OPEN)
			n->vote = VOTE_DOWN;
	count_votes(l, at);
}

struct instant acquire_wake(const struct lease *l)
{
	if (l->state == LEASE_WAITING)
		return l->next_round;
	/* later it is too old to start on: lease_hurry() */
	if (l->state == LEASE_HELD && !l->in_use)
		return timing_start(lease_credited_at(l), l->conf.ttl_ms);
	if (lease_is_acquiring(l))
		return l->round_by;
	return NEVER;
}
