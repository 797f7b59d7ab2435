/* SPDX-License-Identifier: MIT */
/*
 * A hold, and its end. The holder renews the lease on each node, until too few
 * nodes say that it is still ours. At the end, the lock is released on all
 * nodes that have it or may have it, and we leave their lines; at `release_by`,
 * at the latest, the lease is over.
 */
#include "lock/core/inside.h"

#define IN_VAIN_MS 500   /* a minority is given back within */
#define QUICK_MS 3600000 /* renew often for this long after a clock step */
#define RELEASE_AGAIN_MS 10

/* ---- renewing ---- */

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

void hold_credit(struct lease *l, struct lease_node *n, const struct ask *asked,
		 const struct answer *a)
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
	for_each_node(l, n)
		if (n->want == VERB_CONFIRM)
			node_rest(n);
}

static void lose(struct lease *l, struct lease_node *n)
{
	int mine = 0;

	n->grant.state = GRANT_LOST;
	n->grant.counter = 0;
	for_each_node(l, o)
		mine += node_is_ours(o);
	if (mine >= quorum_of(l))
		return;
	lease_enter(l, LEASE_LOST);
	stop_renewing(l);
}

/* One node's request to stop is enough; its time counts from when that node was
 * asked. */
void hold_note_stop(struct lease *l, const struct ask *asked,
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

void hold_renewed(struct lease *l, struct lease_node *n,
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
	hold_credit(l, n, asked, a);
	g->slot = asked->slot;
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

void hold_begin(struct lease *l)
{
	if (lease_spent(l))
		return;
	for_each_node(l, n) {
		if (!node_is_releasing(n))
			node_want(n, VERB_CONFIRM, first_due(l, n));
	}
}

/* ---- the end ---- */

void ending_answer(struct lease *l, struct lease_node *n,
		   const struct ask *asked)
{
	/* we have asked for it again since */
	if (asked->seq < n->asked)
		return;
	if (n->want == VERB_RELEASE)
		node_rest(n);
	n->grant.state = GRANT_NONE;
	n->grant.joins = false;
	n->grant.unsure = false;
	n->line.queued &= l->state != LEASE_RELEASING;
}

/* A quorum has released, and every release has been sent. Returns until when to
 * wait for nodes that are about to answer. Without a release their locks would
 * stay until the leases end. So would the grant of a node that is just running
 * our acquire: it cannot answer a client that is gone, and then does not read
 * the release behind it. */
static struct instant late_by(const struct lease *l)
{
	struct instant until = l->freed_at;

	for_each_node(l, n) {
		if (n->want != VERB_RELEASE)
			continue;
		until = later(until, after(n->link.answered ? l->freed_at
							    : n->link.acquired,
					   timing_hedge(n->link.srtt_ms)));
	}
	return until;
}

/* The number of nodes whose release has not been sent yet. */
static int unsent(const struct lease *l)
{
	int sum = 0;

	for_each_node(l, n)
		sum += n->want != VERB_NONE && !node_is_asked(n, VERB_RELEASE);
	return sum;
}

void ending_tick(struct lease *l, struct instant at)
{
	int over = 0, done = 0;

	if (l->state != LEASE_RELEASING)
		return;
	for_each_node(l, n) {
		over += n->want == VERB_NONE;
		done += n->want == VERB_NONE && n->grant.state != GRANT_KEPT;
	}
	if (!l->freed && done >= quorum_of(l)) {
		l->freed = true;
		l->freed_at = at;
	}
	if ((l->freed && unsent(l) == 0 && !before(at, late_by(l))) ||
	    over == l->conf.nodes || !before(at, l->release_by))
		lease_enter(l, LEASE_OVER);
}

struct instant ending_wake(const struct lease *l)
{
	return l->freed && unsent(l) == 0 ? sooner(late_by(l), l->release_by)
					  : l->release_by;
}

void ending_failed(const struct lease *l, struct lease_node *n,
		   enum fail_kind kind, struct instant at)
{
	if (!l->unhurried)
		n->next = after(at, RELEASE_AGAIN_MS);
	if (kind == FAIL_UNAVAILABLE)
		return;
	node_rest(n);
	n->grant.state = GRANT_KEPT;
}

/* We got nothing within the time that we were given: that time is over, so
 * leave the line within a moment. */
static struct instant release_end(const struct lease *l, struct instant at)
{
	struct instant until = after(at, RELEASE_MS);

	if (l->was_held || l->conf.wait_ms <= 0)
		return until;
	return sooner(until, timing_leave(lease_limit(l), at));
}

void ending_begin(struct lease *l, enum lease_end end, unsigned int how,
		  struct instant at)
{
	bool tells = l->state == LEASE_LOST && how & (HOW_TOLD | HOW_DONE);

	if (end != END_RELEASED || l->end == END_NONE)
		l->end = end;
	if (l->state == LEASE_RELEASING || l->state == LEASE_OVER)
		return;
	lease_enter(l, LEASE_RELEASING);
	l->how = how;
	l->release_by = release_end(l, at);
	for_each_node(l, n) {
		node_want_release(n, at);
		if (tells && n->grant.state == GRANT_LOST)
			node_want(n, VERB_RELEASE, at);
	}
	ending_tick(l, at);
}
