/* SPDX-License-Identifier: MIT */
/* The lease state machine. Read lease.h first. */
#include "lock/core/lease.h"

#include <assert.h>
#include <string.h>

#include "lock/core/claim.h"
#include "lock/core/minority.h"
#include "lock/core/question.h"
#include "lock/core/renewal.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"
#include "lock/core/vote.h"

#define RELEASE_MS 1000
#define HEIR_MS 10000 /* nobody waits for an heir */
#define RELEASE_AGAIN_MS 10

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
	bool owed =
		n->mine || n->unsure || n->queued || n->want == VERB_RELEASE;

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
		renewal_answer(l, n, asked, a, at);
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

		if (before(at, question_due(l, n, &chan, &fresh)))
			continue;
		question_make(l, i, chan, fresh, at, out);
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

		t = sooner(t, question_due(l, &l->node[i], &chan, &fresh));
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

void lease_use(struct lease *l)
{
	l->in_use = true;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].renewed = 0;
	if (l->state == LEASE_HELD)
		renewal_begin(l);
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

void lease_inherit(struct lease *l, const struct lease_conf *conf, bool ran,
		   struct instant at)
{
	lease_init(l, conf, at);
	l->was_held = ran;
	for (int i = 0; i < l->conf.nodes; i++) {
		l->node[i].unsure = true;
		l->node[i].round = ROUNDS_MAX;
		/* the holder may have got into line since we last knew */
		l->node[i].queued = true;
	}
	l->held_from = at;
	lease_end(l, ran ? LEASE_RAN : 0, at);
	if (conf->ttl_ms > RELEASE_MS)
		l->release_by =
			sooner(after(at, conf->ttl_ms), after(at, HEIR_MS));
}
