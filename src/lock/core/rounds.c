/* SPDX-License-Identifier: MIT */
/* Acquiring. Read lease.h and rounds.h first. */
#include "lock/core/rounds.h"

#include "lock/core/claim.h"
#include "lock/core/ending.h"
#include "lock/core/minority.h"
#include "lock/core/node.h"
#include "lock/core/queue.h"
#include "lock/core/timing.h"

#define LOOK_APART_MS 20    /* waiters do not all ask at once */
#define BACKOFF_LEAST_MS 10 /* between rounds without an answer */
#define BACKOFF_MOST_MS 500
#define UNREACHED_MS 5000  /* give up if nobody ever answered */
#define LISTEN_LEAST_MS 20 /* a shorter listen is not worth it */
#define CUT_OFF_MOST 2
#define REPLACE_MS 250 /* by then, who runs inside the holder has ended */
#define BROKEN_MS 100  /* waiters come back within this, not all at once */

/* Until when to try for a lock that we do not get. */
static struct instant limit_of(const struct lease *l)
{
	return lease_reached(l)
		       ? l->give_up
		       : sooner(l->give_up, after(l->began, UNREACHED_MS));
}

void rounds_ask(struct lease *l, int i, struct instant at)
{
	struct lease_node *n = &l->node[i];

	n->line.woken = false;
	n->vote = VOTE_OPEN;
	node_want(n, VERB_ACQUIRE, at);
}

/*
 * Before anything runs, only an acquire refreshes the lease. A yes to a confirm
 * proves that the lock is ours, but not that it has been ours since we got the
 * fence: our lease may have ended, another client may have run, and an old
 * question of ours may have got the lock again.
 */
void rounds_refresh(struct lease *l, struct instant at)
{
	bool joined = l->nest == NEST_JOINED;
	int only = l->conf.nodes > 1 && lease_slots(&l->conf) > 1 ? l->slot + 1
								  : 0;

	rounds_begin(l, at);
	l->nest = joined ? NEST_JOINED : NEST_NONE;
	l->only = only;
	l->round_by = after(at, l->conf.node_timeout_ms);
	l->short_round = false;
}

static void ask_from(struct lease *l, struct instant at)
{
	l->state = LEASE_ASKING;
	l->claims = 0;
	l->round_by = after(at, l->conf.node_timeout_ms);
	l->short_round = false;
}

void rounds_begin(struct lease *l, struct instant at)
{
	int64_t look = 0;

	ask_from(l, at);
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
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		if (node_is_releasing(n))
			n->vote = VOTE_DOWN;
		else
			rounds_ask(l, i, at);
		if (timing_hedge(n->link.srtt_ms) > look)
			look = timing_hedge(n->link.srtt_ms);
	}
	/* the first look has its full time, also with -n; the last one is
	 * short */
	if (before(l->began, at))
		l->round_by = sooner(l->round_by,
				     after(later(limit_of(l), at), look));
	l->short_round =
		before(l->round_by, after(at, l->conf.node_timeout_ms));
}

/* This node woke us. The others have said nothing new. */
void rounds_ask_alone(struct lease *l, int i, struct instant at)
{
	if (l->conf.nodes == 1) {
		rounds_begin(l, at);
		return;
	}
	if (l->state == LEASE_WAITING) {
		ask_from(l, at);
		l->whole = false;
	}
	if (!node_is_releasing(&l->node[i]))
		rounds_ask(l, i, at);
}

/* How long until the next look. */
static int64_t pause_of(struct lease *l, struct instant at)
{
	int64_t less = lease_jitter(l, LOOK_APART_MS), ms = HEARTBEAT_MS;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];
		struct busy busy = n->last.busy;
		int64_t look = ms;

		busy.foreign |= before(at, n->line.no_blpop_until);
		if (n->vote == VOTE_NO)
			look = queue_delay(&busy, less);
		if (look < ms)
			ms = look;
	}
	if (l->conf.replaces && !l->replaces) {
		l->replaces = true;
		ms = ms < REPLACE_MS ? ms : REPLACE_MS;
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
void rounds_listen(struct lease *l, struct lease_node *n, struct instant at)
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
		n->want = VERB_NONE;
}

static void give_up(struct lease *l, bool busy, struct instant at)
{
	/* a look that was too short proves nothing */
	busy |= l->short_round && l->was_answered;
	ending_begin(l, busy ? END_BUSY : END_UNAVAILABLE, 0, at);
}

/* ---- the end of a round ---- */

/* Reasons to stop that waiting will not change. */
static enum lease_end hopeless(struct lease *l)
{
	int refused = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		refused += n->vote == VOTE_DOWN && n->refused;
		if (n->vote == VOTE_NO && n->last.said == SAID_FULL)
			return END_FULL;
	}
	if (refused <= l->conf.nodes - lease_quorum(l->conf.nodes))
		return END_NONE;
	l->refusal = FAIL_REFUSED;
	return END_REFUSED;
}

/* Where the outer hold has vanished, its holder sets it again: see vote.c. But
 * if too many nodes deny that it holds the lock, it has no quorum. */
static bool outer_may_return(const struct lease *l, struct instant at)
{
	int vanished = 0, no = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->vote != VOTE_NO)
			continue;
		if (n->last.said == SAID_VANISHED)
			vanished++;
		else
			no++;
	}
	return vanished > 0 && before(at, l->outer_by) &&
	       no <= l->conf.nodes - lease_quorum(l->conf.nodes);
}

/* Too few nodes have the outer hold: it does not exist, or no longer. */
static bool joins_in_vain(struct lease *l, struct instant at)
{
	if (!lease_joins(l) || l->conf.nodes == 1 ||
	    lease_votes(l, VOTE_NO) == 0 || outer_may_return(l, at))
		return false;
	for (int i = 0; i < l->conf.nodes; i++)
		if (node_is_ours(&l->node[i]))
			minority_give_back(l, &l->node[i], at);
	l->only = 0;
	l->keep_until = NEVER;
	/* the word was for the outer hold, which is not ours */
	l->stop_by = l->stop_dead = NEVER;
	rounds_begin(l, at);
	l->nest = NEST_NONE;
	return true;
}

static void rounds_fail(struct lease *l, struct instant at)
{
	bool busy = lease_answered(l), woken = false, keep, freed;
	struct instant limit = limit_of(l);
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
		give_up(l, busy, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		woken |= l->node[i].line.woken;
	l->was_answered = busy;
	l->state = LEASE_WAITING;
	if (busy) {
		l->backoff_ms = BACKOFF_LEAST_MS;
		l->next_round =
			woken || freed ? at : after(at, pause_of(l, at));
	} else {
		l->next_round = after(
			at, l->backoff_ms / 2 + lease_jitter(l, l->backoff_ms));
		l->backoff_ms = l->backoff_ms * 2 < BACKOFF_MOST_MS
					? l->backoff_ms * 2
					: BACKOFF_MOST_MS;
	}
	l->next_round =
		sooner(l->next_round, keep ? minority_look(l, at) : limit);
	if (keep)
		minority_narrow(l, at);
	else
		minority_give_back_all(l, at);
	/* what was given back may be had again soon, or another slot */
	if (before(at, l->pause_until))
		l->next_round = sooner(l->next_round, l->pause_until);
	for (int i = 0; i < l->conf.nodes; i++) {
		/* one that we give back, or that is silent, will not wake us */
		if (l->node[i].vote == VOTE_BACK ||
		    l->node[i].vote == VOTE_DOWN)
			node_stop_listening(&l->node[i]);
		rounds_listen(l, &l->node[i], at);
	}
}

/* A quorum is out of reach, and we know whether others hold the lock. */
static bool is_decided(const struct lease *l)
{
	int q = lease_quorum(l->conf.nodes), open = lease_votes(l, VOTE_OPEN);
	int yes = lease_votes(l, VOTE_YES),
	    said = yes + lease_votes(l, VOTE_NO);

	return yes + open < q && (said >= q || said + open < q);
}

void rounds_check(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int yes = lease_votes(l, VOTE_YES);

	if (yes >= q && l->state == LEASE_ASKING) {
		if (claim_begin(l, at))
			return;
		rounds_fail(l, at);
	} else if (yes >= q) {
		claim_agreed(l, at);
	} else if (is_decided(l) && !claim_again(l, at)) {
		rounds_fail(l, at);
	}
}

/* ---- answers ---- */

void rounds_heard(struct lease *l, const struct ask *asked, bool woken,
		  struct instant at)
{
	struct lease_node *n = &l->node[asked->node];

	n->line.woken |= woken;
	if (woken && (l->state == LEASE_WAITING ||
		      (l->state == LEASE_ASKING && n->vote == VOTE_NO)))
		rounds_ask_alone(l, asked->node, at);
	/* if a server does not let us wait, try again in the next round */
	else if (l->state == LEASE_WAITING &&
		 between(asked->sent, at) >= LISTEN_MS / 2)
		rounds_listen(l, n, at);
}

/* If the listen was cut off, come back soon, but not all waiters at once. If it
 * was refused, or cut off as soon as it began (a proxy that does not know
 * BLPOP), poll instead, as for another program's lock. */
void rounds_unheard(struct lease *l, const struct ask *asked, bool cut_off,
		    struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	int64_t jitter = lease_jitter(l, BROKEN_MS);

	if (between(asked->sent, at) >= OUTSIDE_MS)
		n->line.cut_off = 0;
	if (!cut_off || ++n->line.cut_off > CUT_OFF_MOST) {
		n->line.no_blpop_until = after(at, LISTEN_MS);
		jitter = OUTSIDE_MS - jitter;
	}
	l->next_round = sooner(l->next_round, after(at, jitter));
}

void rounds_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
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
	n->want = VERB_NONE;
	rounds_check(l, at);
}

/* ---- time ---- */

void rounds_tick(struct lease *l, struct instant at)
{
	if (l->state == LEASE_WAITING && !before(at, l->next_round))
		rounds_begin(l, at);
	if (!lease_is_acquiring(l) || before(at, l->round_by))
		return;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_OPEN)
			l->node[i].vote = VOTE_DOWN;
	rounds_check(l, at);
}

struct instant rounds_wake(const struct lease *l)
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
