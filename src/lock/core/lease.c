/* SPDX-License-Identifier: MIT */
/* The lease state machine. Read lease.h first. */
#include "lock/core/lease.h"

#include <assert.h>
#include <string.h>

#include "lock/core/claim.h"
#include "lock/core/ending.h"
#include "lock/core/node.h"
#include "lock/core/question.h"
#include "lock/core/renewal.h"
#include "lock/core/rounds.h"
#include "lock/core/timing.h"
#include "lock/core/vote.h"

#define INHERIT_MOST_MS 10000 /* nobody waits for this release */
/* larger than the numbers of the holder */
#define INHERIT_FROM (UINT64_C(1) << 50)

/* ---- answers ---- */

static void release_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked)
{
	/* we have asked for it again since */
	if (asked->seq < n->asked)
		return;
	if (n->want == VERB_RELEASE)
		n->want = VERB_NONE;
	n->grant.state = GRANT_NONE;
	n->grant.joins = false;
	n->grant.unsure = false;
	n->line.queued &= l->state != LEASE_RELEASING;
}

static void confirm_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked, const struct answer *a,
			   struct instant at)
{
	renewal_note_stop(l, asked, a);
	l->unlocked |= a->confirm.unlocked;
	if (node_is_late(n, asked))
		return;
	if (l->state == LEASE_HELD)
		renewal_answer(l, n, asked, a, at);
	else if (l->state == LEASE_LOST)
		node_may_have(n, asked);
	else if (claim_answer(l, n, asked, a))
		rounds_check(l, at);
}

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->link.chan[asked->chan];
	int64_t rtt = between(asked->sent, at);

	if (ch->ask.seq == asked->seq) {
		ch->ask.verb = VERB_NONE;
		ch->blocked = false;
	}
	if (asked->verb != VERB_LISTEN && asked->verb != VERB_REPLICATE)
		n->link.srtt_ms = n->link.answered
					  ? (7 * n->link.srtt_ms + rtt) / 8
					  : rtt;
	n->link.answered = true;
	if (a->longest_ms > l->longest_ms)
		l->longest_ms = a->longest_ms;
	n->link.good = asked->chan;
	if ((asked->verb == VERB_ACQUIRE || asked->verb == VERB_CONFIRM) &&
	    !node_is_late(n, asked))
		n->settled = asked->seq;
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
		if (claim_replicated(l, n, asked, a, at))
			rounds_check(l, at);
		break;
	case VERB_RELEASE:
		release_answer(l, n, asked);
		l->passed_on |= a->said == SAID_YES && a->handed_ms > 0;
		break;
	case VERB_NONE:
		assert(!"an unexpected answer");
	}
}

void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	struct lease_chan *ch = &n->link.chan[asked->chan];

	if (ran)
		node_may_have(n, asked);
	if (ch->ask.seq != asked->seq)
		return;
	/* we have stopped listening */
	if (asked->verb == VERB_LISTEN && ch->ask.verb == VERB_NONE)
		return;
	ch->ask.verb = VERB_NONE;
	n->next = after(at, timing_retry(l->conf.ttl_ms));
	if (l->state == LEASE_RELEASING)
		ending_failed(n, kind, at);
	else if (asked->verb == VERB_RELEASE && asked->seq > n->asked)
		n->want = VERB_RELEASE;
	if (asked->verb == VERB_LISTEN) {
		if (l->state == LEASE_WAITING)
			rounds_unheard(l, asked,
				       kind == FAIL_UNAVAILABLE && ran, at);
	} else if (asked->verb != VERB_RELEASE &&
		   (lease_is_acquiring(l) || l->state == LEASE_WAITING)) {
		rounds_failed(l, n, kind, at);
	}
}

/* ---- questions ---- */

bool lease_next(struct lease *l, struct instant at, struct ask *out)
{
	rounds_tick(l, at);
	ending_tick(l, at);
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
		t = ending_wake(l);
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
	l->guard_ms = kept.guard_ms;
	l->longest_ms = kept.ttl_ms > kept.outer.ttl_ms ? kept.ttl_ms
							: kept.outer.ttl_ms;
	/* larger than those of any process that used the token before us */
	l->seq = (uint64_t)at.ms * 1000;
	l->began = at;
	l->give_up = after(at, kept.wait_ms);
	l->random = kept.seed | 1;
	l->keep_until = NEVER;
	l->stop_by = l->stop_dead = NEVER;
	l->outer_by = LONG_AGO;
	for (int i = 0; i < kept.nodes; i++) {
		l->node[i].grant.quick = LONG_AGO;
		l->node[i].line.no_blpop_until = LONG_AGO;
	}
	rounds_begin(l, at);
}

void lease_end(struct lease *l, unsigned int how, struct instant at)
{
	ending_begin(l, END_RELEASED, how, at);
}

void lease_release(struct lease *l, struct instant at)
{
	lease_end(l, 0, at);
}

bool lease_hangs_up(struct lease *l, int node, int chan)
{
	struct lease_chan *ch = &l->node[node].link.chan[chan];
	bool was = ch->blocked;

	ch->blocked = false;
	return was;
}

void lease_unsent(struct lease *l, int node, int chan)
{
	struct lease_node *n = &l->node[node];

	n->link.chan[chan].release = false;
	if (!n->link.answered && !n->grant.unsure && !node_is_ours(n) &&
	    !n->link.chan[0].release && !n->link.chan[1].release)
		n->want = VERB_NONE;
}

void lease_again(struct lease *l, struct instant at)
{
	assert(l->state == LEASE_LOST);
	l->state = LEASE_WAITING;
	if (l->nest == NEST_JOINED)
		l->nest = NEST_ASKED;
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

void lease_use(struct lease *l)
{
	l->in_use = true;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].grant.renewed = 0;
	if (l->state == LEASE_HELD)
		renewal_begin(l);
}

void lease_inherit(struct lease *l, const struct lease_conf *conf, bool ran,
		   struct instant at)
{
	unsigned int how = 0;

	lease_init(l, conf, at);
	l->seq = INHERIT_FROM;
	l->was_held = ran;
	for (int i = 0; i < l->conf.nodes; i++) {
		l->node[i].grant.unsure = true;
		/* the holder may have got into line since we last knew */
		l->node[i].line.queued = true;
	}
	l->held_from = at;
	if (ran)
		how = conf->once_any ? HOW_RAN | HOW_DONE : HOW_RAN;
	lease_end(l, how, at);
	l->release_by =
		later(l->release_by, sooner(after(at, conf->ttl_ms),
					    after(at, INHERIT_MOST_MS)));
}
