/* SPDX-License-Identifier: MIT */
/* What a lease knows. Read state.h first. */
#include "lock/core/state.h"

int lease_slots(const struct lease_conf *conf)
{
	return conf->slots > 0 ? conf->slots : 1;
}

int lease_quorum(int nodes)
{
	return nodes / 2 + 1;
}

bool node_is_ours(const struct lease_node *n)
{
	return n->grant.state == GRANT_OURS;
}

bool node_is_asked(const struct lease_node *n, enum verb verb)
{
	return n->link.chan[0].ask.verb == verb ||
	       n->link.chan[1].ask.verb == verb;
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

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].vote == vote;
	return sum;
}

bool lease_heard(const struct lease *l, int node)
{
	enum vote vote = l->node[node].vote;

	return vote != VOTE_OPEN && vote != VOTE_DOWN;
}

bool lease_answered(const struct lease *l)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += lease_heard(l, i);
	return sum >= lease_quorum(l->conf.nodes);
}

bool lease_reached(const struct lease *l)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].link.answered;
	return l->conf.reached || sum >= lease_quorum(l->conf.nodes);
}

int lease_place(const struct lease *l)
{
	int place = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->vote == VOTE_NO && n->last.busy.place > place)
			place = n->last.busy.place;
	}
	return l->conf.wait_ms > 0 ? place : 0;
}

bool lease_spent(const struct lease *l)
{
	int64_t most = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].grant.renewed > most)
			most = l->node[i].grant.renewed;
	return l->in_use && l->conf.max_leases > 0 &&
	       most + 1 >= l->conf.max_leases;
}

struct instant lease_credited_at(const struct lease *l)
{
	struct instant newest[NODES_MAX] = {{0}};
	int q = lease_quorum(l->conf.nodes), n = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int at = n;

		if (!node_is_ours(&l->node[i]))
			continue;
		for (; at > 0 &&
		       before(newest[at - 1], l->node[i].grant.credited_at);
		     at--)
			newest[at] = newest[at - 1];
		newest[at] = l->node[i].grant.credited_at;
		n++;
	}
	return n >= q ? newest[q - 1] : LONG_AGO;
}

int64_t lease_group(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++)
		if (node_is_ours(&l->node[i]) && l->node[i].grant.group > 0)
			return l->node[i].grant.group;
	return 0;
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
