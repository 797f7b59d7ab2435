/* SPDX-License-Identifier: MIT */
/* Orders to one node. Read node.h first. */
#include "lock/core/node.h"

void node_want(struct lease_node *n, enum verb verb, struct instant at)
{
	n->want = verb;
	n->next = at;
}

/* A renewal finds what is ours already, unless it joins readers. */
void node_may_have(struct lease_node *n, const struct ask *asked)
{
	if (asked->verb == VERB_ACQUIRE) {
		n->line.queued |= asked->acquire.ticket >= 0;
		n->joins |= asked->joins && !n->mine;
	} else if (asked->verb != VERB_CONFIRM || !asked->confirm.reads) {
		return;
	}
	n->unsure = true;
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
	bool owed = n->mine || n->unsure || n->line.queued ||
		    n->want == VERB_RELEASE;

	node_stop_listening(n);
	for (int c = 0; c < CHANNELS; c++) {
		struct lease_chan *ch = &n->link.chan[c];

		owed |= ch->ask.verb == VERB_CONFIRM && ch->ask.confirm.reads;
		if (ch->ask.verb != VERB_ACQUIRE)
			continue;
		n->line.queued |= ch->ask.acquire.ticket >= 0;
		n->joins |= ch->ask.joins && !n->mine;
		ch->release = true;
		ch->ask.verb = VERB_NONE;
		owed = true;
	}
	node_want(n, owed ? VERB_RELEASE : VERB_NONE, at);
}

bool node_waits(const struct lease_node *n)
{
	bool owed = n->want == VERB_RELEASE;

	for (int c = 0; c < CHANNELS; c++)
		owed |= n->link.chan[c].release ||
			n->link.chan[c].ask.verb == VERB_RELEASE;
	return owed || n->spoiled;
}

bool node_gave_since(const struct lease *l, const struct lease_node *n,
		     struct instant sent)
{
	return l->conf.nodes > 1 &&
	       (node_waits(n) || !before(n->gave_back, sent));
}
