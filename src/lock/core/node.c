/* SPDX-License-Identifier: MIT */
/* Orders to one node. Read node.h first. */
#include "lock/core/node.h"

void node_want(struct lease_node *n, enum verb verb, struct instant at)
{
	n->want = verb;
	n->next = at;
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

bool node_is_releasing(const struct lease_node *n)
{
	return n->want == VERB_RELEASE || n->link.chan[0].release ||
	       n->link.chan[1].release;
}

bool node_is_late(const struct lease_node *n, const struct ask *asked)
{
	return asked->seq < n->settled;
}
