/* SPDX-License-Identifier: MIT */
/*
 * What each node is asked: the verb that it is wanted for (lease_node.want),
 * whether it may repair its lock, when and on which channel the question goes
 * out, and what it says besides its verb.
 */
#include "lock/core/inside.h"

/* ---- what a node is wanted for ---- */

void node_want(struct lease_node *n, enum verb verb, struct instant at)
{
	n->want = verb;
	n->next = at;
}

void node_rest(struct lease_node *n)
{
	n->want = VERB_NONE;
}

/* Notes what a question may leave on the node. Returns whether that is
 * anything. A renewal finds what is ours already, unless it joins readers. */
static bool note_traces(struct lease_node *n, const struct ask *asked)
{
	if (asked->verb == VERB_CONFIRM)
		return asked->confirm.reads;
	if (asked->verb != VERB_ACQUIRE)
		return false;
	n->line.queued |= asked->acquire.ticket >= 0;
	n->grant.joins |= asked->joins && !node_is_ours(n);
	return true;
}

void node_may_have(struct lease_node *n, const struct ask *asked)
{
	n->grant.unsure |= note_traces(n, asked);
}

void node_stop_listening(struct lease_node *n)
{
	for (int c = 0; c < CHANNELS; c++) {
		if (n->link.chan[c].ask.verb != VERB_LISTEN)
			continue;
		n->link.chan[c].ask.verb = VERB_NONE;
		n->link.chan[c].blocked = true;
	}
}

/*
 * If an acquire is unanswered, the release follows it on the same connection: a
 * frozen server runs both when it wakes. At the end of the lease, a release
 * need not wait for a renewal that cannot heal. For one that can, we wait until
 * it is answered or its connection is given up, and send no release behind it.
 * If it runs late, after a loss of data, the renewal heals the lock; a release
 * would then free that lock, and waiters that saw it would take the new counter
 * for an ordinary hand-over. If we leave it alone, the healed lock stays for T,
 * which is longer than a holder that does not know of the loss can live.
 */
void node_want_release(struct lease_node *n, struct instant at)
{
	bool owed = node_is_ours(n) || n->grant.unsure || n->line.queued ||
		    n->want == VERB_RELEASE;

	node_stop_listening(n);
	for (int c = 0; c < CHANNELS; c++) {
		struct lease_chan *ch = &n->link.chan[c];

		owed |= note_traces(n, &ch->ask);
		if (ch->ask.verb != VERB_ACQUIRE)
			continue;
		ch->release = true;
		ch->ask.verb = VERB_NONE;
	}
	node_want(n, owed ? VERB_RELEASE : VERB_NONE, at);
}

bool node_is_asked(const struct lease_node *n, enum verb verb)
{
	return n->link.chan[0].ask.verb == verb ||
	       n->link.chan[1].ask.verb == verb;
}

bool node_is_releasing(const struct lease_node *n)
{
	return n->want == VERB_RELEASE || n->link.chan[0].release ||
	       n->link.chan[1].release;
}

bool node_is_late(const struct lease_node *n, const struct ask *asked)
{
	return asked->seq < n->settled;
}

/*
 * ---- repairs ----
 *
 * Several nodes: if the lock is gone from one of them, the holder sets it again
 * there, so that a bare majority does not stay bare.
 *
 * A node answers a renewal with "nobody has the lock", and its counter. Once a
 * quorum of nodes has confirmed renewals that were sent after that answer,
 * nobody else can have had a quorum with the first node. If the counter of that
 * node is still the same, it has granted the lock to nobody since, and the
 * holder may take the lock there. (The script looks whether somebody was
 * granted the slot since: moves of the counter for other slots do not matter.)
 *
 * A node that has restarted and may have forgotten a lease refuses. A reader
 * joins the readers on such a node, if there are any. A nested run takes the
 * lock there under the token of the run around it.
 */

/* Each client that tries the lock meanwhile moves the counter of the node, so
 * that a repair that waited for the next renewals might never come through: the
 * others are asked at once. (In the same millisecond it would not show that
 * they were asked later.) */
static void ask_others(struct lease *l, struct instant at)
{
	for_each_node(l, n) {
		if (node_is_ours(n) && n->want == VERB_CONFIRM)
			n->next = sooner(n->next, after(at, 1));
	}
}

void repair_note(struct lease *l, struct lease_node *n, const struct answer *a,
		 struct instant at)
{
	bool gone = a->confirm.pttl_ms == 0;

	if (!gone || !n->repair.absent || n->repair.counter != a->counter) {
		n->repair.since = at;
		n->repair.shown = 0;
		if (gone)
			ask_others(l, at);
	}
	n->repair.absent = gone;
	n->repair.counter = a->counter;
}

/* Whether the lock may be set again on this node: see `repairs` in ask.h. */
static bool repair_may(const struct lease *l, const struct lease_node *n)
{
	return n->repair.absent &&
	       __builtin_popcount(n->repair.shown) >= quorum_of(l);
}

/* Node i is ours. That counts for each node that had lost the lock, as it told
 * us before we asked node i. */
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at)
{
	for_each_node(l, n) {
		if (!n->repair.absent || !before(n->repair.since, asked) ||
		    repair_may(l, n))
			continue;
		n->repair.shown |= 1U << i;
		if (repair_may(l, n) && n->want == VERB_CONFIRM)
			n->next = sooner(n->next, at);
	}
}

/* ---- when, and on which channel ---- */

/* How long an unanswered question may keep its connection. An acquire whose
 * connection we give up may still run later, and its grant then lasts for T. So
 * give it up only when the connection is certainly dead. */
static int64_t given_up(const struct lease *l, enum verb verb, int64_t patience)
{
	int64_t least = timing_retry(l->conf.ttl_ms);

	if (verb == VERB_ACQUIRE)
		return timing_mute(l->conf.node_timeout_ms);
	return 2 * patience < least ? least : 2 * patience;
}

/* Finds a channel that has nothing else to do. Returns false if there is
 * none. */
static bool idle_chan(const struct lease_link *link, int *chan)
{
	if (link->chan[link->good].ask.verb != VERB_NONE)
		*chan = !link->good;
	return link->chan[*chan].ask.verb == VERB_NONE;
}

/* A release need not wait for renewals that cannot set the lock again, however
 * late they run: see node_want_release(). It goes on the idle channel, or
 * behind the later one: if both are busy, or if they may join readers. */
static bool passes_renewals(const struct lease *l,
			    const struct lease_link *link, int *chan)
{
	const struct ask *last = NULL;
	bool joins = lease_reads(l);

	for (int i = 0; i < CHANNELS; i++) {
		const struct ask *ask = &link->chan[i].ask;

		if (ask->verb != VERB_CONFIRM)
			continue;
		if (ask->confirm.repairs ||
		    (ask->seen > 0 && ask->confirm.until_ms > 0))
			return false;
		joins |= ask->confirm.reads;
		if (!last || last->seq < ask->seq)
			last = ask;
	}
	if (!last)
		return false;
	*chan = last->chan;
	if (!joins && link->chan[!last->chan].ask.verb == VERB_NONE)
		*chan = !last->chan;
	return true;
}

/* A listen, or a release of this node's grant, delays no question. */
static bool is_no_obstacle(const struct lease *l, const struct ask *ask)
{
	return ask->verb == VERB_LISTEN ||
	       (ask->verb == VERB_RELEASE && l->state != LEASE_RELEASING);
}

/* After a while an unanswered question is repeated on the other connection. If
 * both are silent, a new connection replaces the older one. A channel on which
 * we listen is silent by nature, and is left alone. */
struct instant question_due(const struct lease *l, const struct lease_node *n,
			    int *chan, bool *fresh)
{
	const struct lease_link *link = &n->link;
	const struct lease_chan *a = &link->chan[link->good],
				*b = &link->chan[!link->good];
	int64_t patience = timing_hedge(link->srtt_ms);
	const struct ask *old;
	struct instant newer;

	*fresh = false;
	*chan = link->good;
	if (n->want == VERB_NONE)
		return NEVER;
	for (int i = 0; i < CHANNELS; i++)
		if (link->chan[i].release) {
			*chan = i;
			return LONG_AGO;
		}
	if (n->want == VERB_LISTEN)
		return idle_chan(link, chan) ? n->next : NEVER;
	if (n->want == VERB_RELEASE && l->state == LEASE_RELEASING &&
	    !node_is_asked(n, VERB_RELEASE) && passes_renewals(l, link, chan))
		return n->next;
	/* on another connection, WAIT would ask about other writes */
	if (n->want == VERB_REPLICATE)
		return a->ask.verb == VERB_NONE ? n->next : NEVER;
	if (n->want == VERB_ACQUIRE)
		patience = l->conf.may_move && !link->answered
				   ? l->conf.node_timeout_ms / 4
				   : l->conf.node_timeout_ms;
	else if (patience > l->conf.ttl_ms / 6)
		patience = l->conf.ttl_ms / 6;
	if (a->ask.verb == VERB_NONE && b->ask.verb == VERB_NONE)
		return n->next;
	if (a->ask.verb == VERB_NONE || b->ask.verb == VERB_NONE) {
		*chan = a->ask.verb == VERB_NONE ? link->good : !link->good;
		if (is_no_obstacle(l, &link->chan[!*chan].ask))
			return n->next;
		return later(n->next,
			     after(link->chan[!*chan].ask.sent, patience));
	}
	*chan = before(b->ask.sent, a->ask.sent) ? !link->good : link->good;
	if (link->chan[*chan].ask.verb == VERB_LISTEN)
		*chan = !*chan;
	*fresh = true;
	newer = link->chan[!*chan].ask.sent;
	old = &link->chan[*chan].ask;
	return later(n->next,
		     later(after(newer, patience),
			   after(old->sent, given_up(l, old->verb, patience))));
}

/* With several nodes the client chooses the ticket, so that all nodes have the
 * same one. */
static void fill_acquire(const struct lease *l, const struct lease_node *n,
			 struct ask *out)
{
	out->seen = n->grant.counter;
	out->acquire.looks = n->theirs;
	out->acquire.only = l->only;
	out->acquire.replaces = l->replaces;
	out->acquire.newcomer =
		l->conf.wait_ms > 0 && l->conf.nodes > 1 && n->line.ticket == 0;
	out->acquire.ticket = l->conf.wait_ms <= 0    ? -1
			      : out->acquire.newcomer ? l->conf.ticket
						      : n->line.ticket;
	/* data may have been lost since the outer hold began */
	if (out->joins && out->seen == 0 && l->conf.nodes == 1 &&
	    l->conf.outer.here)
		out->seen = l->conf.outer.fence;
}

/* On a node where the lock is not ours we may repair it or, as a reader or a
 * nested run, join those who are there. Nothing is healed before the claim. */
static void fill_confirm(const struct lease *l, const struct lease_node *n,
			 struct ask *out)
{
	bool held = l->state == LEASE_HELD;

	out->seen = node_is_ours(n)    ? n->grant.counter
		    : repair_may(l, n) ? n->repair.counter
				       : 0;
	/* until a grant has told where we joined the outer hold, its own */
	out->slot = node_is_ours(n) && (!out->joins || l->nest == NEST_JOINED)
			    ? n->grant.slot
		    : out->joins ? l->conf.outer.slot
				 : l->slot;
	out->confirm.reads = !node_is_ours(n) && held &&
			     (lease_reads(l) || l->nest == NEST_JOINED);
	out->confirm.repairs = held && repair_may(l, n);
	out->confirm.until_ms = held ? n->grant.until_ms : 0;
}

static void fill_release(const struct lease *l, const struct lease_node *n,
			 struct ask *out)
{
	bool ends = l->state == LEASE_RELEASING;
	int64_t once_ms = 0;

	if (node_is_ours(n))
		out->seen = n->grant.counter;
	out->joins |= n->grant.joins;
	out->release.withheld = n->theirs;
	out->release.queued = n->line.queued && ends;
	out->release.ran = l->was_held && ends;
	if (l->was_held && l->how & HOW_RAN)
		out->release.least_ms = l->conf.min_hold_ms;
	out->release.mends = (l->end == END_DONE || l->end == END_OLDER) &&
			     l->conf.nodes > 1;
	if (out->release.mends) {
		once_ms = between(out->sent, l->done_until);
		out->release.revision = l->end == END_OLDER ? l->newest + 1 : 0;
		out->release.labels = l->done_label;
	} else if (l->how & HOW_DONE) {
		/* the mark counts from the begin of the work */
		if (l->conf.once_ms > 0)
			once_ms = l->conf.once_ms -
				  between(l->held_from, out->sent);
		out->release.revision = l->conf.revision;
		out->release.labels = l->conf.label != NULL;
	}
	out->release.once_ms = once_ms > 0 ? once_ms : 0;
}

/* It may be asked again at once, however late the release arrives. */
static void given_back(const struct lease *l, struct lease_node *n,
		       struct instant at)
{
	if (n->link.chan[0].release || n->link.chan[1].release)
		return;
	node_rest(n);
	if (l->state == LEASE_HELD && l->in_use && !lease_spent(l))
		node_want(n, VERB_CONFIRM, timing_renew(at, l->conf.ttl_ms));
}

void question_make(struct lease *l, struct lease_node *n, int chan, bool fresh,
		   struct instant at, struct ask *out)
{
	*out = (struct ask){.verb = n->want,
			    .node = (int)(n - l->node),
			    .chan = chan,
			    .fresh = fresh || n->link.chan[chan].blocked,
			    .seq = ++l->seq,
			    .sent = at,
			    .fence = l->fence,
			    .guard_ms = l->guard_ms,
			    .longest_ms = l->longest_ms,
			    .joins = lease_joins(l)};
	switch (out->verb) {
	case VERB_ACQUIRE:
		fill_acquire(l, n, out);
		break;
	case VERB_CONFIRM:
		fill_confirm(l, n, out);
		break;
	case VERB_RELEASE:
		fill_release(l, n, out);
		break;
	case VERB_LISTEN:
		out->listen_ms = LISTEN_MS;
		node_rest(n); /* asked once */
		break;
	case VERB_REPLICATE:
		out->listen_ms = l->conf.node_timeout_ms;
		break;
	case VERB_NONE:
		break;
	}
	if (out->verb == VERB_ACQUIRE)
		n->link.acquired = at;
	if (out->verb == VERB_ACQUIRE || out->verb == VERB_CONFIRM)
		n->asked = out->seq;
	n->link.chan[chan].release = false;
	if (out->verb == VERB_RELEASE && l->state != LEASE_RELEASING)
		given_back(l, n, at);
	n->link.chan[chan].blocked = false;
	n->link.chan[chan].ask = *out;
}
