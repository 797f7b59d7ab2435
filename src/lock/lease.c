/* SPDX-License-Identifier: MIT */
/* The lease state machine. Read lease.h first. */
#include "lock/lease.h"

#include <assert.h>
#include <string.h>

#include "lock/timing.h"

#define POLL_MS 100         /* between looks at a held lock */
#define BACKOFF_LEAST_MS 10 /* between rounds that nobody answered */
#define BACKOFF_MOST_MS 500
#define UNREACHED_MS 5000 /* then nobody ever answered: give up */
#define LAST_LOOK_MS 50
#define RELEASE_MS 1000
#define QUICK_MS 3600000 /* renew often for so long after a clock step */

/* As a memory it exceeds every counter, so a free lock is not taken. */
#define SEEN_TOO_MUCH 9007199254740000

#define LONG_AGO ((struct instant){INT64_MIN / 2})

int lease_quorum(int nodes)
{
	return nodes / 2 + 1;
}

/* xorshift64*: jitter needs no better. Returns 0..range-1. */
static int64_t jitter(struct lease *l, int64_t range)
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return range <= 0
		       ? 0
		       : (int64_t)((l->random * 0x2545f4914f6cdd1dULL >> 33) %
				   (uint64_t)range);
}

static void want(struct lease_node *n, enum verb verb, struct instant at)
{
	n->want = verb;
	n->next = at;
}

/* Every connection on which an acquire is unanswered gets a release behind it:
 * a frozen server runs both when it wakes. A renewal is drained instead, or its
 * connection given up: run late, after a loss of data, it heals, and a release
 * behind it would free the healed lock under the eyes of waiters, whose memory
 * then takes the new counter for an ordinary hand-over. Left alone the healed
 * lock stays for T, which outlives any unaware holder. */
static void want_release(struct lease_node *n, struct instant at)
{
	bool owed = n->mine || n->unsure;

	for (int c = 0; c < CHANNELS; c++) {
		struct lease_chan *ch = &n->chan[c];

		if (ch->ask.verb != VERB_ACQUIRE)
			continue;
		ch->release = true;
		ch->ask.verb = VERB_NONE;
		owed = true;
	}
	want(n, owed ? VERB_RELEASE : VERB_NONE, at);
}

static int votes(const struct lease *l, enum vote vote)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].vote == vote;
	return sum;
}

/* ---- rounds of acquiring ---- */

/* When a lock that is not to be had is given up. */
static struct instant limit_of(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].answered)
			return l->give_up;
	return sooner(l->give_up, after(l->began, UNREACHED_MS));
}

static void round_begin(struct lease *l, struct instant at)
{
	l->state = LEASE_ASKING;
	l->round_by = after(at, l->conf.node_timeout_ms);
	/* the first one has its time, also for -n; the last look is a short one
	 */
	if (before(l->began, at))
		l->round_by =
			sooner(l->round_by, after(limit_of(l), LAST_LOOK_MS));
	for (int i = 0; i < l->conf.nodes; i++) {
		l->node[i].vote = VOTE_OPEN;
		want(&l->node[i], VERB_ACQUIRE, at);
	}
}

static void finish(struct lease *l, enum lease_end end, struct instant at)
{
	lease_release(l, at);
	l->end = end;
}

/* How long until another look: the lease's end, or soon if it is longer. */
static int64_t poll_delay(struct lease *l)
{
	int64_t ms = POLL_MS - jitter(l, POLL_MS / 5);

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->vote == VOTE_NO && n->pttl_ms >= 0 &&
		    n->pttl_ms + 5 < ms)
			ms = n->pttl_ms + 5;
	}
	return ms;
}

static void round_fail(struct lease *l, struct instant at)
{
	bool busy = votes(l, VOTE_NO) > 0;
	struct instant limit = limit_of(l);

	if (!before(at, limit)) {
		finish(l, busy ? END_BUSY : END_UNAVAILABLE, at);
		return;
	}
	if (busy) {
		l->backoff_ms = BACKOFF_LEAST_MS;
		l->next_round = after(at, poll_delay(l));
	} else {
		l->next_round =
			after(at, l->backoff_ms / 2 + jitter(l, l->backoff_ms));
		l->backoff_ms = l->backoff_ms * 2 < BACKOFF_MOST_MS
					? l->backoff_ms * 2
					: BACKOFF_MOST_MS;
	}
	l->next_round = sooner(l->next_round, limit);
	l->state = LEASE_WAITING;
	for (int i = 0; i < l->conf.nodes; i++) {
		/* alone, a node's unknown grant is simply asked for again */
		if (l->conf.nodes > 1)
			want_release(&l->node[i], at);
		else
			l->node[i].want = VERB_NONE;
	}
}

static void held(struct lease *l)
{
	l->state = LEASE_HELD;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		want(n, VERB_CONFIRM,
		     timing_renew(n->mine ? n->stamp : l->began,
				  l->conf.ttl_ms));
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
			l->fence = l->node[i].counter;
			held(l);
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

		want(n, n->vote == VOTE_YES ? VERB_CONFIRM : VERB_NONE, at);
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
		held(l);
	else if (yes + votes(l, VOTE_OPEN) < q)
		round_fail(l, at);
}

/* ---- answers ---- */

static void credit(struct lease *l, struct lease_node *n,
		   const struct ask *asked, const struct answer *a)
{
	if (!n->mine || before(n->stamp, asked->sent))
		n->stamp = asked->sent;
	n->mine = true;
	if (a->counter > 0)
		n->counter = a->counter;
	/* The same token may have been granted again after a loss of data, and
	 * others in between: what counts is the grant that stands. On several
	 * nodes the fence was agreed upon, and stays. */
	if (l->conf.nodes == 1 && a->counter > l->fence)
		l->fence = a->counter;
}

/* A waiter's memory: a counter that is behind what it saw proves that data were
 * lost, and then an unaware holder may have renewed until this answer. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (a->counter < n->counter) {
		if (n->holder_ttl_ms > ttl)
			ttl = n->holder_ttl_ms;
		n->embargo = after(at, ttl);
	}
	n->counter = a->counter;
	if (a->said == SAID_BUSY && a->holder_ttl_ms > 0)
		n->holder_ttl_ms = a->holder_ttl_ms;
}

static void acquire_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked, const struct answer *a,
			   struct instant at)
{
	if (a->said == SAID_GRANTED) {
		if (l->state == LEASE_RELEASING) {
			/* it may have run after our release */
			want(n, VERB_RELEASE, at);
			return;
		}
		if (l->state == LEASE_LOST || l->state == LEASE_OVER)
			return;
		credit(l, n, asked, a);
		if (l->state != LEASE_ASKING)
			return;
		n->vote = VOTE_YES;
		/* a question from before the loss was seen: keep what it
		 * took, for nobody else may have it, but do not start yet */
		if (before(at, n->embargo)) {
			n->vote = VOTE_NO;
			n->pttl_ms = -1;
		}
	} else {
		if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
			return;
		n->mine = false;
		n->vote = VOTE_NO;
		n->pttl_ms = a->said == SAID_BUSY ? a->pttl_ms : -1;
		remember(l, n, a, at);
	}
	n->want = VERB_NONE;
	round_check(l, at);
}

/* A lease that ends sooner than we asked for: the server's clock was set
 * forward. The next step may be larger, so look more often for an hour. */
static void watch_clock(struct lease *l, struct lease_node *n,
			const struct answer *a, struct instant at)
{
	int64_t elapsed = between(n->stamp, at);

	if (a->pttl_ms < 0 ||
	    a->pttl_ms >= l->conf.ttl_ms - elapsed - elapsed / 5 - 5)
		return;
	l->stepped++;
	n->quick = after(at, QUICK_MS);
}

static void lose(struct lease *l, struct lease_node *n)
{
	int mine = 0;

	n->mine = false;
	n->counter = 0;
	for (int i = 0; i < l->conf.nodes; i++)
		mine += l->node[i].mine;
	if (mine >= lease_quorum(l->conf.nodes))
		return;
	l->state = LEASE_LOST;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].want = VERB_NONE;
}

static void confirm_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked, const struct answer *a,
			   struct instant at)
{
	bool mine = a->said != SAID_NO;
	int64_t part;

	if (l->state == LEASE_CLAIMING) {
		if (mine)
			credit(l, n, asked, a);
		else
			n->mine = false;
		n->vote = mine && a->counter >= l->fence ? VOTE_YES : VOTE_NO;
		n->want = VERB_NONE;
		round_check(l, at);
		return;
	}
	if (l->state != LEASE_HELD)
		return;
	if (!mine) {
		n->next = timing_renew(at, l->conf.ttl_ms);
		if (n->mine)
			lose(l, n);
		return;
	}
	if (a->said == SAID_HEALED)
		l->healed++;
	else if (n->mine)
		watch_clock(l, n, a, at);
	credit(l, n, asked, a);
	part = between(n->stamp, timing_renew(n->stamp, l->conf.ttl_ms));
	if (before(at, n->quick))
		part /= 4;
	n->next = after(n->stamp, part - jitter(l, part / 10));
}

static void release_answer(struct lease_node *n)
{
	if (n->want == VERB_RELEASE)
		n->want = VERB_NONE;
	n->mine = false;
	n->unsure = false;
}

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->chan[asked->chan];
	int64_t rtt = between(asked->sent, at);

	if (ch->ask.seq == asked->seq)
		ch->ask.verb = VERB_NONE;
	n->srtt_ms = n->answered ? (7 * n->srtt_ms + rtt) / 8 : rtt;
	n->answered = true;
	n->good = asked->chan;
	switch (asked->verb) {
	case VERB_ACQUIRE:
		acquire_answer(l, n, asked, a, at);
		break;
	case VERB_CONFIRM:
		confirm_answer(l, n, asked, a, at);
		break;
	case VERB_RELEASE:
		release_answer(n);
		break;
	case VERB_NONE:
		assert(!"an answer to no question");
	}
}

void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->chan[asked->chan];

	n->unsure |= ran && asked->verb == VERB_ACQUIRE;
	if (ch->ask.seq != asked->seq)
		return;
	ch->ask.verb = VERB_NONE;
	n->next = after(at, timing_retry(l->conf.ttl_ms));
	if (l->state == LEASE_RELEASING) {
		n->next = after(at, BACKOFF_LEAST_MS);
		if (kind != FAIL_UNAVAILABLE)
			n->want = VERB_NONE;
	}
	if (l->state != LEASE_ASKING && l->state != LEASE_CLAIMING)
		return;
	if (kind != FAIL_UNAVAILABLE) {
		l->refusal = kind;
		finish(l, END_REFUSED, at);
		return;
	}
	if (n->vote == VOTE_OPEN) {
		n->vote = VOTE_DOWN;
		n->want = VERB_NONE;
		round_check(l, at);
	}
}

/* ---- questions ---- */

static struct instant later(struct instant a, struct instant b)
{
	return before(a, b) ? b : a;
}

/* How long an unanswered question keeps its connection. An acquire on one that
 * is given up may run late and stay until T: only one that is surely dead is
 * worth that. */
static int64_t given_up(const struct lease *l, enum verb verb, int64_t patience)
{
	int64_t least = timing_retry(l->conf.ttl_ms);

	if (verb == VERB_ACQUIRE)
		return 5 * l->conf.node_timeout_ms;
	return 2 * patience < least ? least : 2 * patience;
}

/* Which channel the wanted question goes out on, and when. An unanswered one
 * is repeated on the other connection after a while, and when both are silent
 * the older one is given up for a new one. */
static struct instant due(const struct lease *l, const struct lease_node *n,
			  int *chan, bool *fresh)
{
	const struct lease_chan *a = &n->chan[n->good], *b = &n->chan[!n->good];
	int64_t patience = timing_hedge(n->srtt_ms);
	const struct ask *old;
	struct instant newer;

	*fresh = false;
	*chan = n->good;
	if (n->want == VERB_NONE)
		return NEVER;
	for (int i = 0; i < CHANNELS; i++)
		if (n->chan[i].release) {
			*chan = i;
			return LONG_AGO;
		}
	if (n->want == VERB_ACQUIRE)
		patience = l->conf.node_timeout_ms;
	else if (patience > l->conf.ttl_ms / 6)
		patience = l->conf.ttl_ms / 6;
	if (a->ask.verb == VERB_NONE && b->ask.verb == VERB_NONE)
		return n->next;
	if (a->ask.verb == VERB_NONE || b->ask.verb == VERB_NONE) {
		*chan = a->ask.verb == VERB_NONE ? n->good : !n->good;
		return later(n->next,
			     after(n->chan[!*chan].ask.sent, patience));
	}
	*chan = before(b->ask.sent, a->ask.sent) ? !n->good : n->good;
	*fresh = true;
	newer = n->chan[!*chan].ask.sent;
	old = &n->chan[*chan].ask;
	return later(n->next,
		     later(after(newer, patience),
			   after(old->sent, given_up(l, old->verb, patience))));
}

static int64_t seen_for(const struct lease *l, const struct lease_node *n,
			struct instant at)
{
	if (n->want == VERB_ACQUIRE)
		return before(at, n->embargo) ? SEEN_TOO_MUCH : n->counter;
	if (n->want == VERB_CONFIRM && l->state == LEASE_HELD && n->mine)
		return n->counter;
	return 0;
}

static void tick(struct lease *l, struct instant at)
{
	int done = 0, unsent = 0;

	if (l->state == LEASE_WAITING && !before(at, l->next_round))
		round_begin(l, at);
	if ((l->state == LEASE_ASKING || l->state == LEASE_CLAIMING) &&
	    !before(at, l->round_by)) {
		for (int i = 0; i < l->conf.nodes; i++)
			if (l->node[i].vote == VOTE_OPEN)
				l->node[i].vote = VOTE_DOWN;
		round_check(l, at);
	}
	if (l->state != LEASE_RELEASING)
		return;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		done += n->want == VERB_NONE;
		unsent += n->want != VERB_NONE &&
			  n->chan[0].ask.verb != VERB_RELEASE &&
			  n->chan[1].ask.verb != VERB_RELEASE;
	}
	l->freed = done >= lease_quorum(l->conf.nodes);
	if ((l->freed && unsent == 0) || !before(at, l->release_by))
		l->state = LEASE_OVER;
}

bool lease_next(struct lease *l, struct instant at, struct ask *out)
{
	tick(l, at);
	for (int i = 0; i < l->conf.nodes && l->state != LEASE_OVER; i++) {
		struct lease_node *n = &l->node[i];
		bool fresh;
		int chan;

		if (before(at, due(l, n, &chan, &fresh)))
			continue;
		*out = (struct ask){.verb = n->want,
				    .node = i,
				    .chan = chan,
				    .fresh = fresh,
				    .seq = ++l->seq,
				    .sent = at,
				    .fence = l->fence,
				    .seen = seen_for(l, n, at)};
		n->chan[chan].release = false;
		n->chan[chan].ask = *out;
		return true;
	}
	return false;
}

struct instant lease_wake(const struct lease *l)
{
	struct instant t = NEVER;

	if (l->state == LEASE_OVER)
		return NEVER;
	if (l->state == LEASE_WAITING)
		t = l->next_round;
	if (l->state == LEASE_ASKING || l->state == LEASE_CLAIMING)
		t = l->round_by;
	if (l->state == LEASE_RELEASING)
		t = l->release_by;
	for (int i = 0; i < l->conf.nodes; i++) {
		bool fresh;
		int chan;

		t = sooner(t, due(l, &l->node[i], &chan, &fresh));
	}
	return t;
}

/* ---- from outside ---- */

void lease_init(struct lease *l, const struct lease_conf *conf,
		struct instant at)
{
	const struct lease_conf kept = *conf; /* it may be l's own */

	assert(conf->nodes >= 1 && conf->nodes <= NODES_MAX);
	memset(l, 0, sizeof(*l));
	l->conf = kept;
	l->began = at;
	l->give_up = after(at, kept.wait_ms);
	l->backoff_ms = BACKOFF_LEAST_MS;
	l->random = kept.seed | 1;
	for (int i = 0; i < kept.nodes; i++) {
		l->node[i].embargo = LONG_AGO;
		l->node[i].quick = LONG_AGO;
	}
	round_begin(l, at);
}

void lease_release(struct lease *l, struct instant at)
{
	if (l->state == LEASE_RELEASING || l->state == LEASE_OVER)
		return;
	l->state = LEASE_RELEASING;
	l->end = END_RELEASED;
	l->release_by = after(at, RELEASE_MS);
	for (int i = 0; i < l->conf.nodes; i++)
		want_release(&l->node[i], at);
	tick(l, at);
}

bool lease_answered(const struct lease *l)
{
	return votes(l, VOTE_NO) + votes(l, VOTE_YES) > 0;
}

void lease_again(struct lease *l, struct instant at)
{
	assert(l->state == LEASE_LOST);
	l->state = LEASE_WAITING;
	l->next_round = at;
}

void lease_hurry(struct lease *l, struct instant at)
{
	if (l->state != LEASE_HELD)
		return;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].want == VERB_CONFIRM)
			l->node[i].next = sooner(l->node[i].next, at);
}

struct instant lease_stamp(const struct lease *l)
{
	struct instant newest[NODES_MAX] = {{0}};
	int q = lease_quorum(l->conf.nodes), n = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int at = n;

		if (!l->node[i].mine)
			continue;
		for (; at > 0 && before(newest[at - 1], l->node[i].stamp); at--)
			newest[at] = newest[at - 1];
		newest[at] = l->node[i].stamp;
		n++;
	}
	return n >= q ? newest[q - 1] : LONG_AGO;
}

void lease_inherit(struct lease *l, const struct lease_conf *conf,
		   struct instant at)
{
	lease_init(l, conf, at);
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].unsure = true;
	lease_release(l, at);
}
