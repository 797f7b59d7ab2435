/* SPDX-License-Identifier: MIT */
/* The events of a lease: what comes from outside, and to whom it goes. Read
 * lease.h first; the states are in state.c. */
#include <assert.h>
#include <string.h>

#include "lock/core/inside.h"

/* larger than the numbers of the holder */
#define INHERIT_FROM (UINT64_C(1) << 50)

/* ---- answers ---- */

static void confirm_answer(struct lease *l, struct lease_node *n,
			   const struct ask *asked, const struct answer *a,
			   struct instant at)
{
	hold_note_stop(l, asked, a);
	l->unlocked |= a->confirm.unlocked;
	if (node_is_late(n, asked))
		return;
	if (l->state == LEASE_HELD)
		hold_renewed(l, n, asked, a, at);
	else if (l->state == LEASE_LOST)
		node_may_have(n, asked);
	else
		acquire_claimed(l, n, asked, a, at);
}

/* The longest T of the holders that this node knows. What it said before counts
 * no more, so that a long lease that has ended makes nobody wait; but of
 * several slots, a grant tells only its own. */
static void lease_learn(struct lease *l, struct lease_node *n,
			const struct ask *asked, const struct answer *a)
{
	bool whole = lease_slots(&l->conf) == 1 ||
		     (asked->verb == VERB_ACQUIRE && a->said != SAID_GRANTED);

	if (whole || a->longest_ms > n->longest_ms)
		n->longest_ms = a->longest_ms;
	l->longest_ms = l->conf.ttl_ms > l->conf.outer.ttl_ms
				? l->conf.ttl_ms
				: l->conf.outer.ttl_ms;
	for_each_node(l, o)
		if (o->longest_ms > l->longest_ms)
			l->longest_ms = o->longest_ms;
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
	n->link.good = asked->chan;
	if ((asked->verb == VERB_ACQUIRE || asked->verb == VERB_CONFIRM) &&
	    !node_is_late(n, asked)) {
		n->settled = asked->seq;
		lease_learn(l, n, asked, a);
	}
	switch (asked->verb) {
	case VERB_ACQUIRE:
		acquire_voted(l, n, asked, a, at);
		break;
	case VERB_LISTEN:
		acquire_heard(l, n, asked, a->said == SAID_WOKEN, at);
		break;
	case VERB_CONFIRM:
		confirm_answer(l, n, asked, a, at);
		break;
	case VERB_REPLICATE:
		acquire_replicated(l, n, asked, a, at);
		break;
	case VERB_RELEASE:
		ending_answer(l, n, asked);
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
		ending_failed(l, n, kind, at);
	else if (asked->verb == VERB_RELEASE && asked->seq > n->asked)
		node_want(n, VERB_RELEASE, n->next);
	if (asked->verb == VERB_LISTEN) {
		if (l->state == LEASE_WAITING)
			acquire_unheard(l, n, asked,
					kind == FAIL_UNAVAILABLE && ran, at);
	} else if (asked->verb != VERB_RELEASE &&
		   (lease_is_acquiring(l) || l->state == LEASE_WAITING)) {
		acquire_failed(l, n, kind, at);
	}
}

/* ---- questions ---- */

bool lease_next(struct lease *l, struct instant at, struct ask *out)
{
	acquire_tick(l, at);
	ending_tick(l, at);
	if (l->state == LEASE_OVER)
		return false;
	for_each_node(l, n) {
		bool fresh;
		int chan;

		if (before(at, question_due(l, n, &chan, &fresh)))
			continue;
		question_make(l, n, chan, fresh, at, out);
		return true;
	}
	return false;
}

struct instant lease_wake(const struct lease *l)
{
	struct instant t = acquire_wake(l);

	if (l->state == LEASE_OVER)
		return NEVER;
	if (l->state == LEASE_RELEASING)
		t = ending_wake(l);
	for_each_node(l, n) {
		bool fresh;
		int chan;

		t = sooner(t, question_due(l, n, &chan, &fresh));
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
	acquire_begin(l, at);
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

void lease_leave_by(struct lease *l, struct instant by)
{
	l->release_by = sooner(l->release_by, by);
}

void lease_unsent(struct lease *l, int node, int chan)
{
	struct lease_node *n = &l->node[node];

	n->link.chan[chan].release = false;
	if (!n->link.answered && !n->grant.unsure && !node_is_ours(n) &&
	    !n->link.chan[0].release && !n->link.chan[1].release)
		node_rest(n);
}

void lease_again(struct lease *l, struct instant at)
{
	assert(l->state == LEASE_LOST);
	lease_enter(l, LEASE_WAITING);
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
		acquire_refresh(l, at);
		return;
	}
	for_each_node(l, n)
		if (n->want == VERB_CONFIRM &&
		    (node < 0 || n == &l->node[node]))
			n->next = sooner(n->next, at);
}

void lease_use(struct lease *l)
{
	l->in_use = true;
	for_each_node(l, n)
		n->grant.renewed = 0;
	if (l->state == LEASE_HELD)
		hold_begin(l);
}

void lease_inherit(struct lease *l, const struct lease_conf *conf, bool ran,
		   struct instant at)
{
	unsigned int how = 0;

	lease_init(l, conf, at);
	l->seq = INHERIT_FROM;
	l->was_held = ran;
	for_each_node(l, n) {
		n->grant.unsure = true;
		/* the holder may have got into line since we last knew */
		n->line.queued = true;
	}
	l->held_from = at;
	if (ran)
		how = conf->once_any ? HOW_RAN | HOW_DONE : HOW_RAN;
	lease_end(l, how, at);
	l->unhurried = true;
	l->release_by = later(l->release_by, after(at, conf->ttl_ms));
}

bool lease_go_on(struct lease *l, struct instant at)
{
	struct instant by = at;

	if (l->state == LEASE_RELEASING) {
		by = l->release_by;
		lease_enter(l, LEASE_OVER);
	}
	if (l->state != LEASE_OVER || l->freed)
		return false;
	for_each_node(l, n) {
		struct instant last =
			later(n->grant.credited_at, n->link.acquired);

		for (int c = 0; c < CHANNELS; c++) {
			if (n->link.chan[c].ask.verb == VERB_CONFIRM)
				last = later(last, n->link.chan[c].ask.sent);
			n->link.chan[c] = (struct lease_chan){.release = false};
		}
		if (n->want != VERB_RELEASE)
			continue;
		node_want(n, VERB_RELEASE, at);
		by = later(by, l->was_held ? after(last, l->conf.ttl_ms)
					   : after(at, RELEASE_MS));
	}
	if (!before(at, by))
		return false;
	lease_enter(l, LEASE_RELEASING);
	l->unhurried = true;
	l->release_by = by;
	return true;
}
