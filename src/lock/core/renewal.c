/* SPDX-License-Identifier: MIT */
/* Renewing, and losing. */
#include "lock/core/renewal.h"

#include "lock/core/node.h"
#include "lock/core/queue.h"
#include "lock/core/repair.h"
#include "lock/core/timing.h"

#define IN_VAIN_MS 500   /* a minority is given back within */
#define QUICK_MS 3600000 /* renew often for this long after a clock step */

/* The first copy of the question may have got the grant, though only the second
 * was answered. */
static struct instant first_asked(const struct lease_node *n,
				  const struct ask *asked)
{
	struct instant first = asked->sent;

	for (int c = 0; c < CHANNELS; c++)
		if (n->link.chan[c].ask.verb == asked->verb)
			first = sooner(first, n->link.chan[c].ask.sent);
	return first;
}

void renewal_credit(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a)
{
	struct lease_grant *g = &n->grant;
	bool ours = node_is_ours(n);

	g->credited_at = asked->sent;
	if (!ours)
		g->ours_since = first_asked(n, asked);
	if (a->at_ms > 0 && a->at_ms + l->conf.ttl_ms > g->until_ms)
		g->until_ms = a->at_ms + l->conf.ttl_ms;
	if (a->counter > 0)
		g->counter = a->counter;
	if (asked->verb == VERB_ACQUIRE &&
	    (!ours || a->granted.fence > g->fence))
		g->fence = a->granted.fence;
	else if (a->confirm.raised)
		g->fence = asked->fence;
	g->state = GRANT_OURS;
	n->repair.absent = false;
	/* After a loss of data, the same token may be granted again, with other
	 * holders in between: only the last grant counts. With several nodes
	 * the fence was agreed upon, and stays. A renewal does not tell the
	 * fence: if several clients hold, the counter may be another's by
	 * then. */
	if (l->conf.nodes == 1 && g->fence > l->fence &&
	    l->nest != NEST_JOINED && !l->in_use && asked->verb == VERB_ACQUIRE)
		l->fence = g->fence;
}

/* If a lease ends sooner than we asked for, the server's clock was set forward.
 * The next step may be larger, so renew more often for an hour. */
static void watch_clock(struct lease *l, struct lease_node *n,
			const struct answer *a, struct instant at)
{
	int64_t elapsed = between(n->grant.credited_at, at);

	if (a->confirm.pttl_ms < 0 ||
	    a->confirm.pttl_ms >= l->conf.ttl_ms - elapsed - elapsed / 5 - 5)
		return;
	l->stepped++;
	n->grant.quick = after(at, QUICK_MS);
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

	n->grant.state = GRANT_LOST;
	n->grant.counter = 0;
	for (int i = 0; i < l->conf.nodes; i++)
		mine += node_is_ours(&l->node[i]);
	if (mine >= lease_quorum(l->conf.nodes))
		return;
	l->state = LEASE_LOST;
	stop_renewing(l);
}

/* The word of any node is enough. The time counts from its own question. */
void renewal_note_stop(struct lease *l, const struct ask *asked,
		       const struct answer *a)
{
	if (!a->stops || l->state == LEASE_RELEASING)
		return;
	l->stop_by = sooner(l->stop_by, timing_kill(asked->sent, a->stop_ms));
	l->stop_dead =
		sooner(l->stop_dead, timing_dead(asked->sent, a->stop_ms));
}

/* When to ask a node where the lock is not ours: a period after `s`. If another
 * has it there, it has it in vain, and gives it back soon. And if we stood in
 * line there, the last holder's release may still be on its way and hand it to
 * us, for GRANT_MS: ask soon, and once more. */
static struct instant absent_due(const struct lease *l,
				 const struct lease_node *n, bool taken,
				 struct instant s)
{
	struct instant due = timing_renew(s, l->conf.ttl_ms);
	struct instant from = later(s, l->held_from);

	if (taken)
		due = sooner(due, after(s, IN_VAIN_MS));
	return n->line.ticket > 0 && before(from, after(l->held_from, GRANT_MS))
		       ? sooner(due, after(from, GRANT_MS / 2))
		       : due;
}

void renewal_answer(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	bool mine = a->said != SAID_NO;
	struct lease_grant *g = &n->grant;
	int64_t part;

	/* an answer to an earlier claim says nothing about this hold */
	if (asked->fence != l->fence)
		return;
	if (!mine) {
		n->next = absent_due(l, n, a->confirm.pttl_ms != 0, at);
		if (node_is_ours(n))
			lose(l, n);
		repair_note(l, n, a, at);
		return;
	}
	if (a->said == SAID_HEALED) /* else it is a new grant there */
		l->healed += node_is_ours(n);
	else if (node_is_ours(n))
		watch_clock(l, n, a, at);
	renewal_credit(l, n, asked, a);
	g->slot = asked->slot;
	g->group = asked->confirm.reads ? a->group : asked->confirm.group;
	g->joins = l->nest == NEST_JOINED;
	g->renewed++;
	if (a->said == SAID_YES)
		repair_show(l, asked->node, asked->sent, at);
	if (lease_spent(l)) {
		stop_renewing(l);
		return;
	}
	part = between(g->credited_at,
		       timing_renew(g->credited_at, l->conf.ttl_ms));
	if (before(at, g->quick))
		part /= 4;
	n->next = after(g->credited_at, part - lease_jitter(l, part / 10));
}

/* A server that restarts without its last second may forget that we claimed the
 * lock that it handed to us. It would give the lock to the next waiter when the
 * grant ends, so a client that stood in line renews sooner: at once, if it
 * starts its command later than that. */
static struct instant first_due(const struct lease *l,
				const struct lease_node *n)
{
	struct instant due;

	if (!node_is_ours(n))
		return absent_due(l, n, false, l->began);
	due = timing_renew(n->grant.credited_at, l->conf.ttl_ms);
	return n->line.ticket > 0
		       ? sooner(due, after(n->grant.ours_since, GRANT_MS / 2))
		       : due;
}

void renewal_begin(struct lease *l)
{
	for (int i = 0; i < l->conf.nodes && !lease_spent(l); i++) {
		struct lease_node *n = &l->node[i];

		if (!node_is_releasing(n))
			node_want(n, VERB_CONFIRM, first_due(l, n));
	}
}
