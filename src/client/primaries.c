/* SPDX-License-Identifier: MIT */
/* Which node of a Cluster has which slots. */
#include "client/inside.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "net/member.h"

#define SLOTS 16384
#define PRIMARIES_MAX 1000 /* Redis' own advice is not to exceed it */

bool primaries_cover(const struct fanout *s, int target)
{
	const struct target *t = s->target[target];

	return !t->home && !t->gone;
}

bool primaries_wanted(const struct fanout *s, int node)
{
	return s->ep[node].kind == ENDPOINT_CLUSTER;
}

int primaries_home(const struct fanout *s, int node, uint16_t slot)
{
	const int *home = s->target[node]->home;

	return home ? home[slot % SLOTS] : node;
}

int primaries_ask(struct fanout *s, int node, int64_t tag)
{
	struct words w = {0};

	words_add_text(&w, "CLUSTER");
	words_add_text(&w, "SLOTS");
	return fanout_ask(s, node, &w, tag);
}

static int by_place(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	int order = strcmp(x->peer.place.host, y->peer.place.host);

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return order != 0 ? order
			  : strcmp(x->peer.place.port, y->peer.place.port);
}

/* NULL: unknown. */
static struct target *find_primary(const struct fanout *s, int node,
				   const struct place *at)
{
	struct target like = {.node = node, .peer.place = *at};
	void *found = tfind(&like, &s->primaries, by_place);

	return found ? *(struct target **)found : NULL;
}

static bool is_idle(const struct target *t)
{
	return t->primary && t->gone && !t->first &&
	       !session_awaits(&t->session);
}

/* Reuses the target of a node that is no longer a primary: in `top` they come
 * and go for weeks. *next: where to look for one. NULL: out of memory. */
static struct target *add_primary(struct fanout *s, int node,
				  const struct place *at, int *next)
{
	struct target *t;

	while (*next < s->targets &&
	       !(s->target[*next]->node == node && is_idle(s->target[*next])))
		++*next;
	if (*next == s->targets) {
		t = fanout_add(s, node);
		if (!t)
			return NULL;
	} else {
		t = s->target[*next];
		(void)tdelete(t, &s->primaries, by_place);
		session_close(&t->session);
	}
	++*next;
	memset(&t->peer, 0, sizeof(t->peer));
	peer_init_at(&t->peer, &s->ep[node], at);
	t->primary = true;
	t->gone = false;
	t->down.kind = FAIL_NONE;
	return tsearch(t, &s->primaries, by_place) ? t : NULL;
}

static int read_range(const struct fanout *s, int node,
		      const struct reply *range, int64_t *first, int64_t *last,
		      struct place *at)
{
	*first = reply_number(reply_item(range, 0), SLOTS);
	*last = reply_number(reply_item(range, 1), SLOTS);
	if (*first > *last || *last >= SLOTS)
		return -1;
	return member_in_range(range, 0, s->target[node]->peer.place.host, at);
}

/* -1: *why is filled, and nothing was changed. */
static int check_ranges(const struct fanout *s, const struct got *got,
			struct fail *why)
{
	int64_t slots = 0, first, last;
	struct place at;

	if (!reply_is(got->reply, "[[ss[vs]]*]"))
		return fail(why, FAIL_CONFIG,
			    "%s: CLUSTER SLOTS: not a range of slots with a "
			    "host and port",
			    fanout_name(s, got->target));
	for (size_t i = 0; i < got->reply->items; i++) {
		if (read_range(s, got->node, reply_item(got->reply, i), &first,
			       &last, &at) < 0)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: not a range of slots "
				    "with a host and port",
				    fanout_name(s, got->target));
		slots += last - first + 1;
		if (slots > SLOTS)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: more than %d slots",
				    fanout_name(s, got->target), SLOTS);
	}
	if (slots == 0)
		return fail(why, FAIL_CONFIG,
			    "%s: CLUSTER SLOTS: no node serves any slot",
			    fanout_name(s, got->target));
	return 0;
}

struct range {
	int64_t first, last;
	struct place at;
};

/* The primary of a range that check_ranges() has passed. NULL: a new one. */
static struct target *primary_of(const struct fanout *s, const struct got *got,
				 size_t i, struct range *range)
{
	(void)read_range(s, got->node, reply_item(got->reply, i), &range->first,
			 &range->last, &range->at);
	return find_primary(s, got->node, &range->at);
}

static void forget_primaries(struct fanout *s, int node)
{
	for (int i = s->nodes; i < s->targets; i++)
		if (s->target[i]->node == node)
			s->target[i]->gone = true;
}

/* Known primaries keep their connections. Returns their number. */
static int keep_known(struct fanout *s, const struct got *got)
{
	struct range range;
	int known = 0;

	forget_primaries(s, got->node);
	for (size_t i = 0; i < got->reply->items; i++) {
		struct target *t = primary_of(s, got, i, &range);

		known += t && t->gone;
		if (t)
			t->gone = false;
	}
	return known;
}

static int take_ranges(struct fanout *s, const struct got *got,
		       struct fail *why)
{
	int primaries = keep_known(s, got), next = s->nodes;
	int *home = s->target[got->node]->home;
	struct range range;

	for (size_t i = 0; i < got->reply->items; i++) {
		struct target *t = primary_of(s, got, i, &range);

		if (!t && ++primaries > PRIMARIES_MAX)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: more than %d primaries",
				    fanout_name(s, got->target), PRIMARIES_MAX);
		if (!t)
			t = add_primary(s, got->node, &range.at, &next);
		if (!t)
			return fail_memory(why);
		for (; range.first <= range.last; range.first++)
			home[range.first] = t->index;
	}
	return 0;
}

int primaries_take(struct fanout *s, const struct got *got, struct fail *why)
{
	struct target *cluster = s->target[got->node];

	if (check_ranges(s, got, why) < 0)
		return -1;
	if (!cluster->home)
		cluster->home = malloc(SLOTS * sizeof(*cluster->home));
	if (!cluster->home)
		return fail_memory(why);
	for (int i = 0; i < SLOTS; i++)
		cluster->home[i] = got->node;
	if (take_ranges(s, got, why) == 0)
		return 0;
	forget_primaries(s, got->node);
	free(cluster->home);
	cluster->home = NULL;
	return -1;
}

int primaries_find(struct fanout *s, struct fail *why)
{
	struct got got;
	int rc = 0;

	for (int i = 0; i < s->nodes; i++)
		if (primaries_wanted(s, i) && primaries_ask(s, i, 0) < 0)
			return fail_memory(why);
	while (fanout_get(s, &got)) {
		if (got.why.kind != FAIL_NONE) {
			*why = got.why;
			rc = -1;
		} else if (primaries_take(s, &got, why) < 0) {
			rc = -1;
		}
	}
	return rc;
}
