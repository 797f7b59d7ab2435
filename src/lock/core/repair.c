/* SPDX-License-Identifier: MIT */
/* A node where the lock is gone. Read repair.h first. */
#include "lock/core/repair.h"

/* The sooner the others are asked, the fewer come in between. (In the same
 * millisecond it would not show that they were asked later.) */
static void ask_others(struct lease *l, struct instant at)
{
	for (int k = 0; k < l->conf.nodes; k++) {
		struct lease_node *n = &l->node[k];

		if (node_is_ours(n) && n->want == VERB_CONFIRM)
			n->next = sooner(n->next, after(at, 1));
	}
}

/* The node answered no. Notes whether nobody has the lock there, and since
 * when. */
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

static int bits(unsigned int x)
{
	int n = 0;

	for (; x; x &= x - 1)
		n++;
	return n;
}

bool repair_may(const struct lease *l, const struct lease_node *n)
{
	return !node_is_ours(n) && n->repair.absent &&
	       bits(n->repair.shown) >= lease_quorum(l->conf.nodes);
}

/* Node i is ours. That counts for each node that had lost the lock, as it told
 * us before we asked node i. */
void repair_show(struct lease *l, int i, struct instant asked,
		 struct instant at)
{
	for (int k = 0; k < l->conf.nodes; k++) {
		struct lease_node *n = &l->node[k];

		if (!n->repair.absent || !before(n->repair.since, asked) ||
		    repair_may(l, n))
			continue;
		n->repair.shown |= 1U << i;
		if (repair_may(l, n) && n->want == VERB_CONFIRM)
			n->next = sooner(n->next, at);
	}
}
