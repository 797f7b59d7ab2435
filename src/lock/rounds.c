/* SPDX-License-Identifier: MIT */
/* Acquiring. Read lease.h first. */
#include "lock/rounds.h"

#include "lock/queue.h"
#include "lock/timing.h"

#define POLL_MS 100         /* several nodes: between looks at a held lock */
#define BACKOFF_LEAST_MS 10 /* between rounds that nobody answered */
#define BACKOFF_MOST_MS 500
#define UNREACHED_MS 5000  /* then nobody ever answered: give up */
#define LISTEN_LEAST_MS 20 /* not worth a question */
#define CUT_OFF_MOST 2
#define BROKEN_MS 100 /* who listens comes back within, not all at once */

bool rounds_queue(const struct lease *l)
{
	return l->conf.nodes == 1 && l->conf.wait_ms > 0;
}

static int votes(const struct lease *l, enum vote vote)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].vote == vote;
	return sum;
}

bool lease_answered(const struct lease *l)
{
	return votes(l, VOTE_NO) + votes(l, VOTE_YES) > 0;
}

bool lease_reached(const struct lease *l)
{
	if (l->conf.reached)
		return true;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].answered)
			return true;
	return false;
}

int lease_place(const struct lease *l)
{
	return rounds_queue(l) && l->node[0].vote == VOTE_NO
		       ? l->node[0].busy.place
		       : -1;
}

/* When a lock that is not to be had is given up. */
static struct instant limit_of(const struct lease *l)
{
	return lease_reached(l)
		       ? l->give_up
		       : sooner(l->give_up, after(l->began, UNREACHED_MS));
}

void rounds_begin(struct lease *l, struct instant at)
{
	int64_t look = 0;

	l->state = LEASE_ASKING;
	l->replicating = false;
	l->round_by = after(at, l->conf.node_timeout_ms);
	l->woken = false;
	/* what was not so may be so again: its hold was lost, and healed */
	l->joining = l->conf.outer.token[0] != '\0' && !l->joined;
	if (l->backoff_ms == 0)
		l->backoff_ms = BACKOFF_LEAST_MS;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		n->vote = VOTE_OPEN;
		lease_want(n, VERB_ACQUIRE, at);
		if (timing_hedge(n->srtt_ms) > look)
			look = timing_hedge(n->srtt_ms);
	}
	/* the first one has its time, also for -n; the last look is a short one
	 */
	if (before(l->began, at))
		l->round_by = sooner(l->round_by,
				     after(later(limit_of(l), at), look));
	l->last_look = before(l->round_by, after(at, l->conf.node_timeout_ms));
}

/* How long until another look. Where data were lost, often: the holder may heal
 * its lock, and they may be lost again, and only who saw the lock in between
 * knows that it has to wait anew. */
static int64_t pause_of(struct lease *l, struct instant at)
{
	int64_t less = lease_jitter(l, POLL_MS / 5);
	int64_t ms = rounds_queue(l) ? HEARTBEAT_MS : POLL_MS - less;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];
		struct answer busy = n->busy;
		int64_t look, rest = between(at, n->embargo);

		busy.foreign |= before(at, l->deaf_until);
		look = n->vote == VOTE_NO ? queue_delay(&busy, less) : ms;
		if (rest > 0 && look > POLL_MS - less)
			look = POLL_MS - less;
		if (rest > 0 && look > rest)
			look = rest;
		if (look < ms)
			ms = look;
	}
	return ms;
}

/* A word should have come long ago, or be asked for again. */
static bool listens(struct lease_node *n, struct instant at)
{
	for (int c = 0; c < CHANNELS; c++) {
		const struct ask *a = &n->chan[c].ask;

		if (a->verb == VERB_LISTEN &&
		    before(at, after(a->sent, LISTEN_MS + HEARTBEAT_MS)))
			return true;
	}
	lease_deaf(n);
	return false;
}

/* Until the next round, a lone node is listened to. (The first in line behind
 * another program's lock is woken by nobody.) */
static void listen(struct lease *l, struct instant at)
{
	struct lease_node *n = &l->node[0];
	int place = lease_place(l);

	if (place >= 0 && !before(at, l->deaf_until) &&
	    !(place == 0 && n->busy.foreign) &&
	    between(at, l->next_round) >= LISTEN_LEAST_MS && !listens(n, at))
		lease_want(n, VERB_LISTEN, at);
	else
		n->want = VERB_NONE;
}

static void give_up(struct lease *l, bool busy, struct instant at)
{
	/* too short a look proves nothing */
	busy |= l->last_look && l->was_busy;
	lease_finish(l, busy ? END_BUSY : END_UNAVAILABLE, at);
}

static void round_fail(struct lease *l, struct instant at)
{
	bool busy = votes(l, VOTE_NO) > 0;
	struct instant limit = limit_of(l);

	if (!before(at, limit)) {
		give_up(l, busy, at);
		return;
	}
	l->was_busy = busy;
	if (busy) {
		l->backoff_ms = BACKOFF_LEAST_MS;
		l->next_round = l->woken ? at : after(at, pause_of(l, at));
	} else {
		l->next_round = after(
			at, l->backoff_ms / 2 + lease_jitter(l, l->backoff_ms));
		l->backoff_ms = l->backoff_ms * 2 < BACKOFF_MOST_MS
					? l->backoff_ms * 2
					: BACKOFF_MOST_MS;
		/* a server that does not answer is not heard either */
		lease_deaf(&l->node[0]);
	}
	l->next_round = sooner(l->next_round, limit);
	l->state = LEASE_WAITING;
	/* alone, a node's unknown grant is simply asked for again */
	for (int i = 0; i < l->conf.nodes && l->conf.nodes > 1; i++)
		lease_want_release(&l->node[i], at);
	if (l->conf.nodes == 1)
		listen(l, at);
}

static void held(struct lease *l)
{
	l->state = LEASE_HELD;
	l->held = true;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		lease_deaf(n);
		lease_want(n, VERB_CONFIRM,
			   timing_renew(n->mine ? n->stamp : l->began,
					l->conf.ttl_ms));
	}
	l->held_from = lease_stamp(l);
}

/* With one fence. Replicas are asked for once that is settled. */
static void agreed(struct lease *l, struct instant at)
{
	if (l->conf.replicas == 0 || l->replicating) {
		held(l);
		return;
	}
	l->replicating = true;
	l->state = LEASE_CLAIMING;
	/* the server answers at the end of its own time-out */
	l->round_by = after(at, 2 * l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		n->vote = n->mine ? VOTE_OPEN : VOTE_DOWN;
		lease_want(n, n->mine ? VERB_REPLICATE : VERB_NONE, at);
	}
}

/* A quorum granted. One value from q nodes is a fence at once; else the
 * largest becomes one when q nodes have stored it under our token. */
static void claim(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int64_t most = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		if (l->node[i].vote != VOTE_YES)
			continue;
		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].counter == l->node[i].counter;
		if (same >= q) {
			if (!l->joined)
				l->fence = l->node[i].counter;
			agreed(l, at);
			return;
		}
		if (l->node[i].counter > most)
			most = l->node[i].counter;
	}
	l->fence = most;
	l->state = LEASE_CLAIMING;
	l->round_by = after(at, l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		lease_want(n, n->vote == VOTE_YES ? VERB_CONFIRM : VERB_NONE,
			   at);
		n->vote = n->vote == VOTE_YES ? VOTE_OPEN : VOTE_DOWN;
	}
}

static void round_check(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int yes = votes(l, VOTE_YES);

	if (yes >= q && l->state == LEASE_ASKING)
		claim(l, at);
	else if (yes >= q)
		agreed(l, at);
	else if (yes + votes(l, VOTE_OPEN) < q)
		round_fail(l, at);
}

/* ---- answers ---- */

/* Data were lost: an unaware holder may have renewed until this answer. */
static void wait_out(struct lease *l, struct lease_node *n, struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (n->holder_ttl_ms > ttl)
		ttl = n->holder_ttl_ms;
	n->embargo = after(at, ttl);
}

/* A waiter's memory: a counter that is behind what it saw proves a loss. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	if (a->counter < n->counter || a->lost)
		wait_out(l, n, at);
	n->counter = a->counter;
	/* a foreign holder has at most what is left */
	if (a->said == SAID_BUSY &&
	    (a->foreign ? a->pttl_ms : a->holder_ttl_ms) > 0)
		n->holder_ttl_ms = a->foreign ? a->pttl_ms : a->holder_ttl_ms;
	n->busy = *a;
	if (a->said != SAID_BUSY)
		n->busy.pttl_ms = -1;
}

static void granted(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (l->state == LEASE_RELEASING) {
		/* it may have run after our release */
		lease_want(n, VERB_RELEASE, at);
		return;
	}
	if (l->state == LEASE_LOST || l->state == LEASE_OVER)
		return;
	if (a->lost || a->counter < n->counter)
		wait_out(l, n, at);
	/* the other question of this round, come late */
	if (l->state == LEASE_HELD && asked->joins != l->joined)
		return;
	l->joining = l->joined = asked->joins;
	if (l->joined)
		l->fence = l->conf.outer.fence;
	/* an earlier grant, come late, is not the one that stands */
	if (!n->mine || !before(asked->sent, n->stamp)) {
		n->slot = a->slot;
		n->group = a->group;
	}
	lease_credit(l, n, asked, a);
	n->queued = false;
	/* late, and ours all the same: it counts from its own question */
	if (l->state == LEASE_WAITING && l->conf.nodes == 1)
		rounds_begin(l, at);
	l->joining = l->joined;
	if (l->state != LEASE_ASKING)
		return;
	n->vote = VOTE_YES;
	n->want = VERB_NONE;
	/* too soon after a loss: keep what it gave, for nobody else may have
	 * it, but do not start yet */
	if (before(at, n->embargo)) {
		n->vote = VOTE_NO;
		n->busy = (struct answer){
			.said = SAID_BUSY, .pttl_ms = ttl / 6, .place = -1};
	}
	round_check(l, at);
}

/* An answer after which there is nothing to wait for. */
static const enum lease_end ending_of[SAID_NO + 1] = {
	[SAID_FULL] = END_FULL,
	[SAID_SUPERSEDED] = END_SUPERSEDED,
	[SAID_DONE] = END_DONE,
	[SAID_INSIDE] = END_INSIDE,
};

void rounds_answer(struct lease *l, struct lease_node *n,
		   const struct ask *asked, const struct answer *a,
		   struct instant at)
{
	enum lease_end end = ending_of[a->said];

	if (a->said == SAID_GRANTED) {
		granted(l, n, asked, a, at);
		return;
	}
	/* whoever started us does not hold it, or not any more */
	if (asked->joins && a->said == SAID_NO) {
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
	if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
		return;
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
	remember(l, n, a, at);
	round_check(l, at);
}

void rounds_claimed(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	bool mine = a->said != SAID_NO;

	if (mine)
		lease_credit(l, n, asked, a);
	else
		n->mine = false;
	n->vote = mine && a->counter >= l->fence ? VOTE_YES : VOTE_NO;
	n->busy = (struct answer){.pttl_ms = -1, .place = -1};
	n->want = VERB_NONE;
	round_check(l, at);
}

/* Too few of them are no matter of time. */
void rounds_replicated(struct lease *l, struct lease_node *n,
		       const struct answer *a, struct instant at)
{
	if (l->state != LEASE_CLAIMING || !l->replicating)
		return;
	n->want = VERB_NONE;
	if (a->counter < l->conf.replicas) {
		l->refusal = FAIL_UNAVAILABLE;
		lease_finish(l, END_REFUSED, at);
		return;
	}
	n->vote = VOTE_YES;
	round_check(l, at);
}

void rounds_heard(struct lease *l, const struct ask *asked, bool woken,
		  struct instant at)
{
	l->woken |= woken;
	if (l->state == LEASE_WAITING && woken)
		rounds_begin(l, at);
	/* a server that will not wait is not asked to before the next round */
	else if (l->state == LEASE_WAITING &&
		 between(asked->sent, at) >= LISTEN_MS / 2)
		listen(l, at);
}

/* Cut off: back at once, but not all at once. Refused, or cut off as soon as it
 * began (a proxy that knows no BLPOP): then we look, as outsiders do. */
void rounds_unheard(struct lease *l, const struct ask *asked, bool cut_off,
		    struct instant at)
{
	int64_t jitter = lease_jitter(l, BROKEN_MS);

	if (between(asked->sent, at) >= OUTSIDE_MS)
		l->cut_off = 0;
	if (!cut_off || ++l->cut_off > CUT_OFF_MOST) {
		l->deaf_until = after(at, LISTEN_MS);
		jitter = OUTSIDE_MS - jitter;
	}
	l->next_round = sooner(l->next_round, after(at, jitter));
}

void rounds_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		   struct instant at)
{
	if (kind != FAIL_UNAVAILABLE) {
		l->refusal = kind;
		lease_finish(l, END_REFUSED, at);
		return;
	}
	/* asked twice: the other answer may come */
	for (int c = 0; c < CHANNELS && l->state == LEASE_ASKING; c++)
		if (n->chan[c].ask.verb == VERB_ACQUIRE)
			return;
	if (n->vote == VOTE_OPEN) {
		n->vote = VOTE_DOWN;
		n->want = VERB_NONE;
		round_check(l, at);
	}
}

/* ---- time ---- */

void rounds_tick(struct lease *l, struct instant at)
{
	if (l->state == LEASE_WAITING && !before(at, l->next_round))
		rounds_begin(l, at);
	if ((l->state != LEASE_ASKING && l->state != LEASE_CLAIMING) ||
	    before(at, l->round_by))
		return;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_OPEN)
			l->node[i].vote = VOTE_DOWN;
	round_check(l, at);
}

struct instant rounds_wake(const struct lease *l)
{
	if (l->state == LEASE_WAITING)
		return l->next_round;
	if (l->state == LEASE_ASKING || l->state == LEASE_CLAIMING)
		return l->round_by;
	return NEVER;
}
