/* SPDX-License-Identifier: MIT */
/* Releasing. Read ending.h first. */
#include "lock/core/ending.h"

#include "lock/core/node.h"
#include "lock/core/timing.h"

#define RELEASE_MS 1000
#define RELEASE_AGAIN_MS 10

/* A quorum has released. Returns until when to wait for nodes that are about to
 * answer. Without a release their locks would stay until the leases end. So
 * would the grant of a node that is just running our acquire: it cannot answer
 * a client that is gone, and then does not read the release behind it. */
static struct instant late_by(const struct lease *l)
{
	struct instant until = l->freed_at;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->want != VERB_RELEASE || !node_is_asked(n, VERB_RELEASE))
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
	int n = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		n += l->node[i].want != VERB_NONE &&
		     !node_is_asked(&l->node[i], VERB_RELEASE);
	return n;
}

void ending_tick(struct lease *l, struct instant at)
{
	int over = 0, done = 0;

	if (l->state != LEASE_RELEASING)
		return;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		over += n->want == VERB_NONE;
		done += n->want == VERB_NONE && n->grant.state != GRANT_KEPT;
	}
	if (!l->freed && done >= lease_quorum(l->conf.nodes)) {
		l->freed = true;
		l->freed_at = at;
	}
	if ((l->freed && unsent(l) == 0 && !before(at, late_by(l))) ||
	    over == l->conf.nodes || !before(at, l->release_by))
		l->state = LEASE_OVER;
}

struct instant ending_wake(const struct lease *l)
{
	return l->freed && unsent(l) == 0 ? sooner(late_by(l), l->release_by)
					  : l->release_by;
}

void ending_failed(struct lease_node *n, enum fail_kind kind, struct instant at)
{
	n->next = after(at, RELEASE_AGAIN_MS);
	if (kind == FAIL_UNAVAILABLE)
		return;
	n->want = VERB_NONE;
	n->grant.state = GRANT_KEPT;
}

void ending_begin(struct lease *l, enum lease_end end, unsigned int how,
		  struct instant at)
{
	bool tells = l->state == LEASE_LOST && how & (HOW_TOLD | HOW_DONE);

	if (end != END_RELEASED || l->end == END_NONE)
		l->end = end;
	if (l->state == LEASE_RELEASING || l->state == LEASE_OVER)
		return;
	l->state = LEASE_RELEASING;
	l->how = how;
	l->release_by = after(at, RELEASE_MS);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		node_want_release(n, at);
		if (tells && n->grant.state == GRANT_LOST)
			node_want(n, VERB_RELEASE, at);
	}
	ending_tick(l, at);
}
