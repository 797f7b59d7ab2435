/* SPDX-License-Identifier: MIT */
/* The lease state machine. Read lease.h first. */
#include "lock/core/lease.h"

#include <assert.h>
#include <string.h>

#include "lock/core/claim.h"
#include "lock/core/minority.h"
#include "lock/core/queue.h"
#include "lock/core/repair.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"
#include "lock/core/vote.h"

#define RELEASE_MS 1000
#define RELEASE_AGAIN_MS 10
#define QUICK_MS 3600000 /* renew often for this long after a clock step */

int lease_quorum(int nodes)
{
	return nodes / 2 + 1;
}

int lease_slots(const struct lease_conf *conf)
{
	return conf->slots > 0 ? conf->slots : 1;
}

int lease_votes(const struct lease *l, enum vote vote)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].vote == vote;
	return sum;
}

/* xorshift64*, which is good enough for jitter. */
int64_t lease_jitter(struct lease *l, int64_t range)
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return range <= 0
		       ? 0
		       : (int64_t)((l->random * 0x2545f4914f6cdd1dULL >> 33) %
				   (uint64_t)range);
}

void lease_want(struct lease_node *n, enum verb verb, struct instant at)
{
	n->want = verb;
	n->next = at;
}

void lease_stop_listening(struct lease_node *n)
{
	for (int c = 0; c < CHANNELS; c++) {
		if (n->chan[c].ask.verb != VERB_LISTEN)
			continue;
		n->chan[c].ask.verb = VERB_NONE;
		n->chan[c].blocked = true;
	}
}

/* If an acquire is unanswered, send a release behind it on the same connection:
 * a frozen server runs both when it wakes. A renewal gets no release behind it.
 * We drain it or give up its connection. If it runs late, after a loss of data,
 * it heals the lock; a release would then free that lock, and waiters that saw
 * it would take the new counter for an ordinary hand-over. If we leave it
 * alone, the healed lock stays for T, which is longer than a holder that does
 * not know of the loss can live. */
void lease_want_release(struct lease_node *n, struct instant at)
{
	bool owed = n->mine || n->unsure || n->queued;

	lease_stop_listening(n);
	for (int c = 0; c < CHANNELS; c++) {
		struct lease_chan *ch = &n->chan[c];

		if (ch->ask.verb != VERB_ACQUIRE)
			continue;
		n->queued |= ch->ask.ticket >= 0;
		ch->release = true;
		ch->ask.verb = VERB_NONE;
		owed = true;
	}
	lease_want(n, owed ? VERB_RELEASE : VERB_NONE, at);
}

void lease_finish(struct lease *l, enum lease_end end, struct instant at)
{
	lease_release(l, at);
	l->end = end;
}

/* ---- answers ---- */

void lease_credit(struct lease *l, struct lease_node *n,
		  const struct ask *asked, const struct answer *a)
{
	if (!n->mine || before(n->credited_at, asked->sent))
		n->credited_at = asked->sent;
	if (a->at_ms > 0 && a->at_ms + l->conf.ttl_ms > n->until_ms)
		n->until_ms = a->at_ms + l->conf.ttl_ms;
	/* a late answer to an older question says nothing new about the
	 * counter */
	if (a->counter > 0 && (a->counter > n->counter || !n->mine ||
			       !before(asked->sent, n->credited_at)))
		n->counter = a->counter;
	n->mine = true;
	n->lost = n->absent = false;
	/* After a loss of data, the same token may be granted again, with other
	 * holders in between: only the last grant counts. With several nodes
	 * the fence was agreed upon, and stays. A renewal does not tell the
	 * fence: if several clients hold, the counter may be another's by
	 * then. */
	if (l->conf.nodes == 1 && a->counter > l->fence && !l->joined &&
	    !l->in_use && asked->verb == VERB_ACQUIRE)
		l->fence = a->counter;
}

/* If a lease ends sooner than we asked for, the server's clock was set forward.
 * The next step may be larger, so renew more often for an hour. */
static void watch_clock(struct lease *l, struct lease_node *n,
			const struct answer *a, struct instant at)
{
	int64_t elapsed = between(n->credited_at, at);

	if (a->pttl_ms < 0 ||
	    a->pttl_ms >= l->conf.ttl_ms - elapsed - elapsed / 5 - 5)
		return;
	l->stepped++;
	n->quick = after(at, QUICK_MS);
}

static void stop_renewing(struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].want == VERB_CONFIRM)
			l->node[i].want = VERB_NONE;
}

static void lose(struct lease *l, struct lease_node *n)
{
	int mine = 0;

	n->mine = false;
	n->lost = true;
	n->counter = 0;
	for (int i = 0; i < l->conf.nodes; i++)
		mine += l->node[i].mine;
	if (mine >= lease_quorum(l->conf.nodes))
		return;
	l->state = LEASE_LOST;
	stop_renewing(l);
}

/* The word of any node is enough. The time counts from its own question. */
void lease_note_stop(struct lease *l, const struct ask *asked,
		     const struct answer *a)
{
	if (!a->stops || l->state == LEASE_RELEASING)
		return;
	l->stop_by = sooner(l->stop_by, timing_kill(asked->sent, a->stop_ms));
	l->stop_dead =
		sooner(l->stop_dead, timing_dead(asked->sent, a->stop_ms));
}

static void confirm_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked, const struct answer *a,
			   struct instant at)
{
	bool mine = a->said != SAID_NO;
	int64_t part;

	lease_note_stop(l, asked, a);
	l->unlocked |= a->unlocked;
	if (l->state == LEASE_CLAIMING && !l->replicating) {
		claim_answer(l, n, asked, a, at);
		return;
	}
	if (l->state != LEASE_HELD)
		return;
	/* it granted another slot, and the grant is to be given back */
	if (n->want == VERB_RELEASE)
		return;
	if (!mine) {
		n->next = timing_renew(at, l->conf.ttl_ms);
		repair_note(n, a, at);
		if (n->mine)
			lose(l, n);
		return;
	}
	if (a->said == SAID_HEALED) /* by a repair, it is had there anew */
		l->healed += !asked->repairs;
	else if (n->mine)
		watch_clock(l, n, a, at);
	lease_credit(l, n, asked, a);
	n->slot = asked->slot;
	n->group = asked->reads ? a->group : asked->group;
	n->joins = l->joined;
	n->joined = a->joined;
	n->renewed++;
	if (a->said == SAID_YES)
		repair_show(l, asked->node, asked->sent, at);
	if (lease_spent(l)) {
		stop_renewing(l);
		return;
	}
	part = between(n->credited_at,
		       timing_renew(n->credited_at, l->conf.ttl_ms));
	if (before(at, n->quick))
		part /= 4;
	n->next = after(n->credited_at, part - lease_jitter(l, part / 10));
}

static void release_answer(struct lease *l, struct lease_node *n,
			   struct instant at)
{
	if (n->want == VERB_RELEASE)
		n->want = VERB_NONE;
	n->mine = n->joins = false;
	n->unsure = false;
	if (l->state == LEASE_RELEASING || n->spoiled)
		n->queued = false;
	else
		vote_again(l, n, at);
}

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->chan[asked->chan];
	int64_t rtt = between(asked->sent, at);

	if (ch->ask.seq == asked->seq) {
		ch->ask.verb = VERB_NONE;
		ch->blocked = false;
	}
	if (asked->verb != VERB_LISTEN && asked->verb != VERB_REPLICATE)
		n->srtt_ms = n->answered ? (7 * n->srtt_ms + rtt) / 8 : rtt;
	n->answered = true;
	n->good = asked->chan;
	switch (asked->verb) {
	case VERB_ACQUIRE:
		vote_answer(l, n, asked, a, at);
		break;
	case VERB_LISTEN:
		rounds_heard(l, asked, a->said == SAID_WOKEN, at);
		break;
	case VERB_CONFIRM:
		confirm_answer(l, n, asked, a, at);
		break;
	case VERB_REPLICATE:
		claim_replicated(l, n, a, at);
		break;
	case VERB_RELEASE:
		release_answer(l, n, at);
		l->passed_on |= a->said == SAID_YES && a->pttl_ms > 0;
		break;
	case VERB_NONE:
		assert(!"an unexpected answer");
	}
}

void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->chan[asked->chan];

	if (ran && asked->verb == VERB_ACQUIRE) {
		n->unsure = true;
		n->queued |= asked->ticket >= 0;
	}
	if (ch->ask.seq != asked->seq)
		return;
	/* we have stopped listening */
	if (asked->verb == VERB_LISTEN && ch->ask.verb == VERB_NONE)
		return;
	ch->ask.verb = VERB_NONE;
	n->next = after(at, timing_retry(l->conf.ttl_ms));
	if (asked->verb == VERB_RELEASE && ran)
		n->spoiled = n->queued = true;
	if (l->state == LEASE_RELEASING) {
		n->next = after(at, RELEASE_AGAIN_MS);
		if (kind != FAIL_UNAVAILABLE) {
			n->want = VERB_NONE;
			n->kept = true;
		}
	}
	if (asked->verb == VERB_LISTEN) {
		if (l->state == LEASE_WAITING)
			rounds_unheard(l, asked,
				       kind == FAIL_UNAVAILABLE && ran, at);
	} else if (asked->verb != VERB_RELEASE &&
		   (l->state == LEASE_ASKING || l->state == LEASE_CLAIMING ||
		    l->state == LEASE_WAITING)) {
		rounds_failed(l, n, kind, at);
	}
}

/* ---- questions ---- */

/* How long an unanswered question may keep its connection. If we give up the
 * connection of an acquire, the acquire may run late, and its grant stay until
 * T. So do that only if the connection is surely dead. */
static int64_t given_up(const struct lease *l, enum verb verb, int64_t patience)
{
	int64_t least = timing_retry(l->conf.ttl_ms);

	if (verb == VERB_ACQUIRE)
		return 5 * l->conf.node_timeout_ms;
	return 2 * patience < least ? least : 2 * patience;
}

/* Finds a channel that has nothing else to do. Returns false if there is
 * none. */
static bool idle_chan(const struct lease_node *n, int *chan)
{
	if (n->chan[n->good].ask.verb != VERB_NONE)
		*chan = !n->good;
	return n->chan[*chan].ask.verb == VERB_NONE;
}

/* Chooses the channel for the wanted question, and returns when to send it.
 * After a while an unanswered question is repeated on the other connection. If
 * both are silent, a new connection replaces the older one. A channel on which
 * we listen is silent by nature, and is left alone. */
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
	if (n->want == VERB_LISTEN)
		return idle_chan(n, chan) ? n->next : NEVER;
	/* a release is under way; one is enough unless we are releasing */
	if (n->want == VERB_RELEASE && l->state != LEASE_RELEASING &&
	    (a->ask.verb == VERB_RELEASE || b->ask.verb == VERB_RELEASE))
		return NEVER;
	/* on another connection, WAIT would ask about other writes */
	if (n->want == VERB_REPLICATE)
		return a->ask.verb == VERB_NONE ? n->next : NEVER;
	if (n->want == VERB_ACQUIRE)
		patience = l->conf.manifold && !n->answered
				   ? l->conf.node_timeout_ms / 4
				   : l->conf.node_timeout_ms;
	else if (patience > l->conf.ttl_ms / 6)
		patience = l->conf.ttl_ms / 6;
	if (a->ask.verb == VERB_NONE && b->ask.verb == VERB_NONE)
		return n->next;
	if (a->ask.verb == VERB_NONE || b->ask.verb == VERB_NONE) {
		*chan = a->ask.verb == VERB_NONE ? n->good : !n->good;
		if (n->chan[!*chan].ask.verb == VERB_LISTEN)
			return n->next;
		return later(n->next,
			     after(n->chan[!*chan].ask.sent, patience));
	}
	*chan = before(b->ask.sent, a->ask.sent) ? !n->good : n->good;
	if (n->chan[*chan].ask.verb == VERB_LISTEN)
		*chan = !*chan;
	*fresh = true;
	newer = n->chan[!*chan].ask.sent;
	old = &n->chan[*chan].ask;
	return later(n->next,
		     later(after(newer, patience),
			   after(old->sent, given_up(l, old->verb, patience))));
}

static int64_t seen_for(const struct lease *l, const struct lease_node *n)
{
	if (n->want == VERB_ACQUIRE)
		return n->counter;
	if (n->want != VERB_CONFIRM)
		return 0;
	return n->mine ? n->counter : repair_may(l, n) ? n->had : 0;
}

/* With several nodes the client chooses the ticket, so that all nodes have the
 * same one. */
static void fill_in_place(const struct lease *l, const struct lease_node *n,
			  struct ask *out)
{
	out->only = l->only;
	if (l->conf.wait_ms <= 0)
		return;
	out->newcomer = l->conf.nodes > 1 && n->ticket == 0;
	out->ticket = out->newcomer ? l->conf.ticket : n->ticket;
}

/* The round stays at ROUNDS_MAX; from then on a late release counts again. */
static int round_of(struct lease_node *n, enum verb verb)
{
	if (verb == VERB_RELEASE)
		n->gave = true;
	if (verb == VERB_ACQUIRE && n->gave) {
		n->gave = false;
		n->round += n->round < ROUNDS_MAX;
	}
	return n->round;
}

/* Fills in what a question says besides its verb. */
static void fill_in(const struct lease *l, struct lease_node *n,
		    struct ask *out)
{
	bool ends = out->verb == VERB_RELEASE;

	out->ticket = -1;
	out->round = round_of(n, out->verb);
	out->guard_ms = l->conf.guard_ms;
	out->embargo = out->verb == VERB_ACQUIRE &&
		       (n->off || before(out->sent, n->embargo));
	out->withheld = ends && n->off;
	out->slot = out->verb == VERB_CONFIRM && !n->mine ? l->slot : n->slot;
	/* if we are not among the readers on this node, we join them */
	out->group = out->verb == VERB_CONFIRM && !n->mine ? 0 : n->group;
	out->reads = out->verb == VERB_CONFIRM && !n->mine &&
		     l->state == LEASE_HELD && lease_group(l) > 0;
	out->joined = n->joined;
	out->joins = l->joining || l->joined || (ends && n->joins);
	if (out->joins && (!l->joined || !n->mine || out->verb == VERB_ACQUIRE))
		out->slot = l->conf.outer.slot;
	out->until_ms = -1; /* before the claim there is nothing to heal */
	if (out->verb == VERB_CONFIRM && l->state == LEASE_HELD) {
		out->repairs = repair_may(l, n);
		out->until_ms = n->until_ms;
	}
	if (ends && l->held) {
		out->held_ms = between(l->held_from, out->sent);
		out->least_ms = l->how & LEASE_RAN ? l->conf.min_hold_ms : 0;
		out->once_ms = l->how & LEASE_DONE ? l->conf.once_ms : 0;
	}
	if (out->verb == VERB_ACQUIRE)
		fill_in_place(l, n, out);
	if (out->verb == VERB_LISTEN) {
		out->listen_ms = LISTEN_MS;
		n->want = VERB_NONE; /* asked once */
	}
	if (out->verb == VERB_REPLICATE)
		out->listen_ms = l->conf.node_timeout_ms;
	out->queued = ends && n->queued &&
		      (l->state == LEASE_RELEASING || n->spoiled);
	out->held = ends && l->held;
}

/* A quorum has released. Returns until when to wait for nodes that are about to
 * answer. Without a release their locks would stay until the leases end. So
 * would the grant of a node that is just running our acquire: it cannot answer
 * a client that is gone, and then does not read the release behind it. */
static struct instant late_by(const struct lease *l)
{
	struct instant until = l->freed_at;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->want != VERB_RELEASE ||
		    (n->chan[0].ask.verb != VERB_RELEASE &&
		     n->chan[1].ask.verb != VERB_RELEASE))
			continue;
		until = later(until,
			      after(n->answered ? l->freed_at : n->acquired,
				    timing_hedge(n->srtt_ms)));
	}
	return until;
}

/* The number of nodes whose release has not been sent yet. */
static int unsent(const struct lease *l)
{
	int n = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		n += l->node[i].want != VERB_NONE &&
		     l->node[i].chan[0].ask.verb != VERB_RELEASE &&
		     l->node[i].chan[1].ask.verb != VERB_RELEASE;
	return n;
}

static void tick(struct lease *l, struct instant at)
{
	int over = 0, done = 0;

	rounds_tick(l, at);
	if (l->state != LEASE_RELEASING)
		return;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		over += n->want == VERB_NONE;
		done += n->want == VERB_NONE && !n->kept;
	}
	if (!l->freed && done >= lease_quorum(l->conf.nodes)) {
		l->freed = true;
		l->freed_at = at;
	}
	if ((l->freed && unsent(l) == 0 && !before(at, late_by(l))) ||
	    over == l->conf.nodes || !before(at, l->release_by))
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
				    .fresh = fresh || n->chan[chan].blocked,
				    .seq = ++l->seq,
				    .sent = at,
				    .fence = l->fence,
				    .seen = seen_for(l, n)};
		fill_in(l, n, out);
		if (out->verb == VERB_ACQUIRE)
			n->acquired = at;
		n->chan[chan].release = false;
		n->chan[chan].blocked = false;
		n->chan[chan].ask = *out;
		return true;
	}
	return false;
}

struct instant lease_wake(const struct lease *l)
{
	struct instant t = rounds_wake(l);

	if (l->state == LEASE_OVER)
		return NEVER;
	if (l->state == LEASE_RELEASING)
		t = l->freed && unsent(l) == 0
			    ? sooner(late_by(l), l->release_by)
			    : l->release_by;
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
	l->random = kept.seed | 1;
	l->keep_until = NEVER;
	l->stop_by = l->stop_dead = NEVER;
	l->outer_by = LONG_AGO;
	for (int i = 0; i < kept.nodes; i++) {
		l->node[i].embargo = LONG_AGO;
		l->node[i].quick = LONG_AGO;
		l->node[i].no_blpop_until = LONG_AGO;
		l->node[i].gave_back = LONG_AGO;
	}
	rounds_begin(l, at);
}

void lease_release(struct lease *l, struct instant at)
{
	lease_end(l, 0, at);
}

void lease_end(struct lease *l, unsigned int how, struct instant at)
{
	bool tells = l->state == LEASE_LOST && how & LEASE_TOLD;

	if (l->state == LEASE_RELEASING || l->state == LEASE_OVER)
		return;
	l->state = LEASE_RELEASING;
	l->end = END_RELEASED;
	l->how = how;
	l->release_by = after(at, RELEASE_MS);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		lease_want_release(n, at);
		if (tells && n->lost)
			lease_want(n, VERB_RELEASE, at);
	}
	tick(l, at);
}

void lease_unsent(struct lease *l, int node, int chan)
{
	struct lease_node *n = &l->node[node];

	n->chan[chan].release = false;
	if (!n->answered && !n->unsure && !n->mine && !n->chan[0].release &&
	    !n->chan[1].release)
		n->want = VERB_NONE;
}

void lease_again(struct lease *l, struct instant at)
{
	assert(l->state == LEASE_LOST);
	l->state = LEASE_WAITING;
	l->joined = false;
	l->stop_by = l->stop_dead = NEVER;
	l->next_round = at;
}

void lease_hurry(struct lease *l, int node, struct instant at)
{
	if (l->state != LEASE_HELD)
		return;
	if (!l->in_use) {
		rounds_refresh(l, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].want == VERB_CONFIRM && (node < 0 || node == i))
			l->node[i].next = sooner(l->node[i].next, at);
}

bool lease_spent(const struct lease *l)
{
	int64_t most = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].renewed > most)
			most = l->node[i].renewed;
	return l->in_use && l->conf.max_leases > 0 &&
	       most + 1 >= l->conf.max_leases;
}

int64_t lease_group(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].mine && l->node[i].group > 0)
			return l->node[i].group;
	return 0;
}

/* Renews each node when it is due. */
void lease_renew(struct lease *l)
{
	for (int i = 0; i < l->conf.nodes && !lease_spent(l); i++) {
		struct lease_node *n = &l->node[i];

		if (!minority_waits(n))
			lease_want(n, VERB_CONFIRM,
				   timing_renew(n->mine ? n->credited_at
							: l->began,
						l->conf.ttl_ms));
	}
}

void lease_use(struct lease *l)
{
	l->in_use = true;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].renewed = 0;
	if (l->state == LEASE_HELD)
		lease_renew(l);
}

struct instant lease_credited_at(const struct lease *l)
{
	struct instant newest[NODES_MAX] = {{0}};
	int q = lease_quorum(l->conf.nodes), n = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int at = n;

		if (!l->node[i].mine)
			continue;
		for (; at > 0 && before(newest[at - 1], l->node[i].credited_at);
		     at--)
			newest[at] = newest[at - 1];
		newest[at] = l->node[i].credited_at;
		n++;
	}
	return n >= q ? newest[q - 1] : LONG_AGO;
}

void lease_inherit(struct lease *l, const struct lease_conf *conf, bool held,
		   struct instant at)
{
	lease_init(l, conf, at);
	l->held = held;
	for (int i = 0; i < l->conf.nodes; i++) {
		l->node[i].unsure = true;
		l->node[i].round = ROUNDS_MAX;
		/* the holder may have got into line since we last knew */
		l->node[i].queued = true;
	}
	l->held_from = at;
	lease_end(l, held ? LEASE_RAN : 0, at);
}
