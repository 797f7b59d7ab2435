/* SPDX-License-Identifier: MIT */
/*
 * Acquiring, when fewer than a quorum of several nodes have granted. The
 * minority is kept for KEEP_MS, because the other nodes' grants may be on their
 * way, and for longer if we gave one back before. It is given back after that,
 * or as soon as it is another waiter's turn; then, if the nodes may not have us
 * in the same order, we go to the end of their lines. See lease.h.
 */
#include "lock/core/inside.h"

#define KEEP_MS 1000 /* at most a quarter of T */
#define PAUSE_LEAST_MS 10
#define PAUSE_MOST_MS 500

static int64_t keep_ms(const struct lease *l)
{
	return at_most(l->conf.ttl_ms / 4, KEEP_MS);
}

/* The client that has this node may lack a quorum, and then gives the node
 * back. */
static bool is_recent(const struct lease *l, const struct lease_node *n)
{
	return n->vote == VOTE_NO && n->last.said == SAID_BUSY &&
	       n->last.busy.age_ms >= 0 && n->last.busy.age_ms < keep_ms(l);
}

bool minority_is_split(const struct lease *l)
{
	for_each_node(l, n)
		if (is_recent(l, n))
			return true;
	return false;
}

static bool is_taken(const struct lease_node *n)
{
	return n->vote == VOTE_NO && n->last.busy.holder != 0;
}

/* This round has shown that another client has a quorum. */
static bool other_has_quorum(const struct lease *l)
{
	for_each_node(l, n) {
		int same = 0;

		for_each_node(l, o)
			same += is_taken(n) && is_taken(o) &&
				o->last.busy.holder == n->last.busy.holder;
		if (l->whole && same >= quorum_of(l))
			return true;
	}
	return false;
}

/* A client that came before us is about to have a quorum. If it has had a node
 * for longer than a client keeps a minority, it is not. */
static bool is_outranked(const struct lease *l)
{
	for_each_node(l, n)
		if (l->whole && is_recent(l, n) &&
		    n->last.busy.holder_ticket > 0 &&
		    n->last.busy.holder_ticket < l->conf.ticket)
			return true;
	return false;
}

void minority_give_back(const struct lease *l, struct lease_node *n,
			struct instant at)
{
	node_want_release(n, at);
	n->settled = l->seq + 1;
	n->grant.state = GRANT_NONE;
	n->grant.unsure = true;
	n->vote = VOTE_BACK;
}

static bool stands_apart(const struct lease *l)
{
	for_each_node(l, n)
		if (n->line.ticket > 0 && n->line.ticket != l->conf.ticket)
			return true;
	return false;
}

/* A node that heard of us late, or whose clock is wrong, has given us another
 * ticket than the others. If the lines of two nodes had different clients in
 * front for ever, none would have both nodes. So we go to the end of all lines,
 * each by its own clock. (With --supersede the ticket stays: it tells who came
 * later.) */
static void stand_back(struct lease *l, struct instant at)
{
	if (l->conf.supersede || !stands_apart(l))
		return;
	for_each_node(l, n)
		if (n->line.ticket > 0)
			n->line.ticket = n->line.ahead_us + at.ms * 1000;
}

void minority_give_back_all(struct lease *l, struct instant at)
{
	bool any = l->only > 0;

	l->keep_until = NEVER;
	l->only = 0;
	for_each_node(l, n) {
		if (!node_is_ours(n) || l->conf.nodes == 1)
			continue;
		minority_give_back(l, n, at);
		any = true;
	}
	if (!any)
		return;
	/* who asked us to stop wanted what we have just given back */
	l->stop_by = l->stop_dead = NEVER;
	stand_back(l, at);
	if (l->split_ms == 0)
		l->split_ms = PAUSE_LEAST_MS;
	l->pause_until =
		after(at, l->split_ms / 2 + lease_jitter(l, l->split_ms));
	l->split_ms = at_most(2 * l->split_ms, PAUSE_MOST_MS);
}

/* Two clients may hand a node to each other in turn, for ever, if each keeps it
 * for as long as the other. So a client that had to give a minority back keeps
 * the next one longer, at random, up to twice. */
static int64_t longer(struct lease *l)
{
	return lease_jitter(l, at_most(l->split_ms, keep_ms(l)));
}

bool minority_keeps(struct lease *l, struct instant at)
{
	bool any = false;

	for_each_node(l, n)
		any |= node_is_ours(n);
	if (!any || l->conf.nodes == 1)
		return false;
	if (l->keep_until.ms == NEVER.ms)
		l->keep_until = after(at, keep_ms(l) + longer(l));
	return before(at, l->keep_until) && !other_has_quorum(l) &&
	       !is_outranked(l);
}

/* Each node granted its first free slot, so a slot below the highest is not
 * free on all of them. If the highest was asked for last and even a quorum
 * granted other slots since, it is the turn of the one after it. */
static int slot_to_try(const struct lease *l)
{
	int highest = 0;

	for_each_node(l, n)
		if (node_is_ours(n) && n->grant.slot > highest)
			highest = n->grant.slot;
	if (l->tried == highest + 1 && lease_votes(l, VOTE_YES) >= quorum_of(l))
		return (highest + 1) % lease_slots(&l->conf);
	return highest;
}

/* How long a node may need for its answer. One that needs more than the time of
 * a round cannot vote anyway. */
static int64_t moment_of(const struct lease *l, const struct lease_node *n)
{
	return at_most(timing_hedge(n->link.srtt_ms), l->conf.node_timeout_ms);
}

/* A client that kept one slot here and another there would stand in the way of
 * all. With one slot, the answers tell who else has it and who came first. */
void minority_narrow(struct lease *l, struct instant at)
{
	bool first = l->only == 0;

	if (lease_slots(&l->conf) == 1)
		return;
	if (first) {
		l->only = l->tried = slot_to_try(l) + 1;
		l->next_round = l->pause_until = at;
	}
	for_each_node(l, n) {
		struct instant moment;

		if (!node_is_ours(n) || n->grant.slot == l->only - 1)
			continue;
		minority_give_back(l, n, at);
		moment = after(at, moment_of(l, n));
		/* a question that overtakes the release finds the old slot */
		if (first)
			l->next_round = later(l->next_round, moment);
		/* or two clients could hand it to each other all the time */
		else
			l->pause_until = later(l->pause_until, moment);
	}
}

bool minority_stand_off(struct lease *l)
{
	bool lost = other_has_quorum(l), freed = false;

	if (!l->whole)
		return false;
	for_each_node(l, n) {
		freed |= n->theirs && !lost;
		n->theirs =
			lost && (n->theirs || node_is_ours(n)) && !is_taken(n);
	}
	return freed;
}

struct instant minority_look(const struct lease *l, struct instant at)
{
	int64_t look = 0;

	for_each_node(l, n)
		if (moment_of(l, n) > look)
			look = moment_of(l, n);
	/* a client that is not in line is never woken */
	if (l->conf.wait_ms <= 0)
		return sooner(l->keep_until, after(at, look / 5));
	return l->whole ? l->keep_until
			: sooner(l->keep_until, after(at, look));
}
