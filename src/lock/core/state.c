/* SPDX-License-Identifier: MIT */
/* The states of a lease, and what can be read of it. */
#include <assert.h>

#include "lock/core/inside.h"

/*
 * The states, and what usually leads from one to the next:
 *
 *   ASKING       a quorum granted, with one counter   HELD, or REPLICATING
 *                a quorum granted, counters differ    CLAIMING
 *                a quorum is out of reach             WAITING
 *                they granted different slots         WAITING
 *                too few have the outer hold          ASKING
 *                too late, refused, superseded, done  RELEASING
 *   CLAIMING     a quorum stored the fence            HELD, or REPLICATING
 *                the counters moved meanwhile         CLAIMING, or WAITING
 *                too few answers in time              WAITING
 *                too late, refused                    RELEASING
 *   REPLICATING  enough replicas have it              HELD
 *                too few                              RELEASING
 *                no answer in time                    WAITING
 *   WAITING      woken, granted late, or time to ask  ASKING
 *                too late, refused, superseded, done  RELEASING
 *   HELD         lease_hurry() before lease_use()     ASKING
 *                fewer than a quorum is ours          LOST
 *   LOST         lease_again()                        WAITING
 *   RELEASING    a quorum has released, or time is up OVER
 *   OVER         lease_go_on()                        RELEASING
 *   any of the first six: lease_end()                 RELEASING
 */
#define TO(state) (1U << LEASE_##state)
static const unsigned int follow[] = {
	[LEASE_ASKING] = TO(ASKING) | TO(CLAIMING) | TO(REPLICATING) |
			 TO(HELD) | TO(WAITING) | TO(RELEASING),
	[LEASE_CLAIMING] = TO(CLAIMING) | TO(REPLICATING) | TO(HELD) |
			   TO(WAITING) | TO(RELEASING),
	[LEASE_REPLICATING] =
		TO(HELD) | TO(WAITING) | TO(ASKING) | TO(RELEASING),
	[LEASE_WAITING] = TO(ASKING) | TO(RELEASING),
	[LEASE_HELD] = TO(ASKING) | TO(LOST) | TO(RELEASING),
	[LEASE_LOST] = TO(WAITING) | TO(RELEASING),
	[LEASE_RELEASING] = TO(OVER),
	[LEASE_OVER] = TO(RELEASING),
};

void lease_enter(struct lease *l, enum lease_state state)
{
	assert(follow[l->state] & 1U << state);
	l->state = state;
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

/* ---- what can be read ---- */

int lease_slots(const struct lease_conf *conf)
{
	return conf->slots > 0 ? conf->slots : 1;
}

int lease_quorum(int nodes)
{
	return nodes / 2 + 1;
}

int quorum_of(const struct lease *l)
{
	return lease_quorum(l->conf.nodes);
}

bool node_is_ours(const struct lease_node *n)
{
	return n->grant.state == GRANT_OURS;
}

bool lease_is_acquiring(const struct lease *l)
{
	return l->state == LEASE_ASKING || l->state == LEASE_CLAIMING ||
	       l->state == LEASE_REPLICATING;
}

bool lease_joins(const struct lease *l)
{
	return l->nest != NEST_NONE;
}

int lease_votes(const struct lease *l, enum vote vote)
{
	int sum = 0;

	for_each_node(l, n)
		sum += n->vote == vote;
	return sum;
}

bool lease_heard(const struct lease *l, int node)
{
	enum vote vote = l->node[node].vote;

	return vote != VOTE_OPEN && vote != VOTE_DOWN;
}

bool lease_answered(const struct lease *l)
{
	int silent = lease_votes(l, VOTE_OPEN) + lease_votes(l, VOTE_DOWN);

	return l->conf.nodes - silent >= quorum_of(l);
}

bool lease_reached(const struct lease *l)
{
	int sum = 0;

	for_each_node(l, n)
		sum += n->link.answered;
	return l->conf.reached || sum >= quorum_of(l);
}

int64_t lease_limit_ms(const struct lease *l)
{
	return l->conf.wait_ms == INT64_MAX && !lease_reached(l)
		       ? UNREACHED_MS
		       : l->conf.wait_ms;
}

struct instant lease_limit(const struct lease *l)
{
	return after(l->began, lease_limit_ms(l));
}

int lease_place(const struct lease *l)
{
	int place = 0;

	for_each_node(l, n) {
		if (n->vote == VOTE_NO && n->last.busy.place > place)
			place = n->last.busy.place;
	}
	return l->conf.wait_ms > 0 ? place : 0;
}

bool lease_spent(const struct lease *l)
{
	int64_t most = 0;

	for_each_node(l, n)
		if (n->grant.renewed > most)
			most = n->grant.renewed;
	return l->in_use && l->conf.max_leases > 0 &&
	       most + 1 >= l->conf.max_leases;
}

struct instant lease_credited_at(const struct lease *l)
{
	struct instant newest = LONG_AGO;

	for_each_node(l, n) {
		struct instant s = n->grant.credited_at;
		int since = 0;

		for_each_node(l, o)
			since += node_is_ours(o) &&
				 !before(o->grant.credited_at, s);
		if (since >= quorum_of(l))
			newest = later(newest, s);
	}
	return newest;
}

bool lease_reads(const struct lease *l)
{
	return l->nest == NEST_JOINED ? l->conf.outer.reads : l->conf.shared;
}
