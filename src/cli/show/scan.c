/* SPDX-License-Identifier: MIT */
/* The locks that are held or waited for. */
#include "cli/show/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/units.h"
#include "client/fanout.h"

/* Keys to ask about at a time: more are not faster, because a fanout has only a
 * few open questions on each connection. */
#define LOOKS_MAX 64
/* One is shown, but several servers may each know others. */
#define HOLDERS 20

enum tag { TAG_SPREAD = -1, TAG_SCAN = -2, TAG_PING = -3 };

/* A target. */
struct scan_target {
	bool failed;        /* is asked nothing more in this round */
	struct pages pages; /* the SCAN that is under way */
};

/* A lock that is asked about. */
struct look {
	struct lock_seen *lock; /* NULL: free for another */
	struct snapshot seen;
	int owed; /* answers */
};

void scan_open(struct scan *c, struct query *query, const char *pattern)
{
	*c = (struct scan){.query = query, .pattern = pattern};
}

void scan_close(struct scan *c)
{
	for (int i = 0; c->look && i < LOOKS_MAX; i++)
		snapshot_close(&c->look[i].seen);
	lockset_close(&c->known);
	free(c->target);
	free(c->look);
	*c = (struct scan){0};
}

bool scan_is_finding(const struct scan *c)
{
	return c->scans > 0;
}

bool scan_is_asking(const struct scan *c)
{
	return c->asking || c->looks > 0 || c->next < c->known.locks;
}

static void no_memory(struct scan *c)
{
	c->broke = true;
}

/* ---- servers ---- */

/* NULL: no memory. */
static struct scan_target *target_of(struct scan *c, int target)
{
	while (c->targets <= target) {
		int n = c->query->fanout.targets;
		struct scan_target *more =
			realloc(c->target, (size_t)n * sizeof(*more));

		if (!more) {
			no_memory(c);
			return NULL;
		}
		memset(more + c->targets, 0,
		       (size_t)(n - c->targets) * sizeof(*more));
		c->target = more;
		c->targets = n;
	}
	return &c->target[target];
}

/* `got`: the answer; NULL: what is wrong is in it. */
static void target_failed(struct scan *c, int target, const struct fail *why,
			  const struct got *got)
{
	struct node_seen *n = &c->node[fanout_node(&c->query->fanout, target)];
	struct scan_target *t = target_of(c, target);

	if (t)
		t->failed = true;
	if (!n->down)
		n->since = now();
	n->down = n->failed = n->missed = true;
	n->why = *why;
	n->silent = got && !got->reply && !got->overlong && !got->hung_up;
	n->refuses = got && (got->reply || got->hung_up);
}

bool scan_is_up(const struct scan *c, int node)
{
	return !c->node[node].down || query_is_replica(c->query, node);
}

const struct node_seen *scan_down(const struct scan *c)
{
	const struct node_seen *replica = NULL;

	for (int i = 0; i < c->query->servers.n; i++) {
		if (!scan_is_up(c, i))
			return &c->node[i];
		if (c->node[i].down)
			replica = &c->node[i];
	}
	return replica;
}

int scan_verdict(const struct scan *c, struct fail *why)
{
	struct snapshot s = {0};

	for (int i = 0; i < c->query->servers.n; i++)
		if (c->node[i].missed)
			s.why[i] = c->node[i].why;
		else
			s.view.answers |= 1U << i;
	return query_done(c->query, &s, why);
}

/* Takes a name from SCAN. */
static void take_name(struct scan *c, const char *name, size_t n)
{
	struct key_read read;
	enum key_part kind = keys_read(name, n, &read);

	if (kind == PART_NONE || (kind == PART_LOG && !c->past) ||
	    (c->pattern &&
	     !glob_match(c->pattern, strlen(c->pattern), read.key, read.len)))
		return;
	c->histories += kind == PART_LOG;
	/* (the state may have the first entry of a history) */
	if (lockset_add(&c->known, read.key, read.len,
			c->past && kind != PART_QUEUE) < 0)
		no_memory(c);
}

/* ---- the scan ---- */

static void scan_on(struct scan *c, int target)
{
	struct scan_target *t = target_of(c, target);

	if (!t || pages_ask(&t->pages, &c->query->fanout, target,
			    c->past ? KEYS_TRACES : KEYS_PRESENT, TAG_SCAN) < 0)
		no_memory(c);
	else
		c->scans++;
}

/* Whether it is a replica, and a sign of life. */
static void ask_role(struct scan *c, int target)
{
	struct words w = {0};

	words_add_text(&w, "INFO");
	words_add_text(&w, "replication");
	if (fanout_ask(&c->query->fanout, target, &w, TAG_PING) < 0)
		no_memory(c);
	else
		c->pings++;
}

static void scan_from_start(struct scan *c, int target)
{
	struct scan_target *t = target_of(c, target);

	if (!t)
		return;
	if (!c->asking)
		ask_role(c, target);
	t->pages = (struct pages){0};
	scan_on(c, target);
}

static void scan_node(struct scan *c, int node)
{
	const struct fanout *s = &c->query->fanout;

	for (int i = 0; i < s->targets; i++)
		if (fanout_node(s, i) == node && primaries_cover(s, i))
			scan_from_start(c, i);
}

void scan_find(struct scan *c)
{
	struct fanout *s = &c->query->fanout;

	if (c->scans > 0)
		return;
	c->scan_began = now();
	c->known.overfull = false;
	for (int i = 0; i < s->nodes; i++) {
		c->node[i].missed = false;
		if (!primaries_wanted(s, i))
			scan_from_start(c, i);
		else if (primaries_ask(s, i, TAG_SPREAD) < 0)
			no_memory(c);
		else
			c->scans++;
	}
}

static void take_spread(struct scan *c, const struct got *got)
{
	struct fail why;

	if (got->why.kind != FAIL_NONE)
		target_failed(c, got->target, &got->why, got);
	else if (primaries_take(&c->query->fanout, got, &why) < 0)
		target_failed(c, got->target, &why, NULL);
	else
		scan_node(c, got->node);
}

/* With long keys, fewer fit into an answer. */
static void take_scan(struct scan *c, const struct got *got)
{
	struct scan_target *t = target_of(c, got->target);
	const struct reply *names;
	const char *wrong;
	struct fail why;
	bool more;

	if (!t)
		return;
	if (got->overlong && pages_shorten(&t->pages)) {
		scan_on(c, got->target);
		return;
	}
	if (got->why.kind != FAIL_NONE) {
		target_failed(c, got->target, &got->why, got);
		return;
	}
	wrong = pages_take(&t->pages, got->reply, &names, &more);
	for (size_t i = 0; i < names->items; i++)
		take_name(c, reply_item(names, i)->bytes,
			  reply_item(names, i)->len);
	if (wrong) {
		(void)fail(&why, FAIL_UNAVAILABLE, "%s: %s",
			   fanout_name(&c->query->fanout, got->target), wrong);
		target_failed(c, got->target, &why, NULL);
	}
	if (more)
		scan_on(c, got->target);
}

/* ---- the looking ---- */

static void update(struct scan *c, struct lock_seen *l, struct snapshot *s)
{
	struct view *v = &s->view;

	l->known = true;
	l->at = now();
	l->state = view_state(v, c->query->servers.n);
	l->holders = v->in_all;
	l->fence = view_fence(v);
	l->in_line = v->in_line;
	l->held_ms = -1;
	l->damaged = v->damaged;
	l->endless = view_endless(v);
	if (v->holders == 0)
		return;
	snapshot_oldest_first(s, c->query->servers.n);
	l->holder = v->holder[0];
	l->holder.value = NULL; /* *s has them */
	if (l->holder.since_ms > 0)
		l->held_ms = v->now_ms > l->holder.since_ms
				     ? v->now_ms - l->holder.since_ms
				     : 0;
}

static void end_look(struct scan *c, struct look *f)
{
	struct fail why;

	if (query_done(c->query, &f->seen, &why) == 0) {
		update(c, f->lock, &f->seen);
	} else if (why.kind != FAIL_UNAVAILABLE || !scan_down(c)) {
		c->hidden++;
		c->hidden_why = why;
	}
	snapshot_close(&f->seen);
	f->lock = NULL;
	c->looks--;
}

static void ask_target(struct scan *c, struct look *f, int target)
{
	const struct view_most most = {.holders = HOLDERS,
				       .waiters = c->waiters};

	if (query_ask(c->query, target, f->lock->key, f->lock->len, &most,
		      f - c->look) < 0)
		no_memory(c);
	else
		f->owed++;
}

static void begin_look(struct scan *c, struct look *f, struct lock_seen *l)
{
	const struct fanout *s = &c->query->fanout;
	uint16_t slot = key_slot(l->key, l->len);

	memset(f, 0, sizeof(*f));
	f->lock = l;
	c->looks++;
	for (int i = 0; i < s->nodes; i++) {
		int target = primaries_home(s, i, slot);
		const struct scan_target *t = target_of(c, target);

		if (!t || t->failed)
			f->seen.why[i] = c->node[i].why;
		else
			ask_target(c, f, target);
	}
	if (f->owed == 0)
		end_look(c, f);
}

static void take_view(struct scan *c, const struct got *got)
{
	struct look *f = &c->look[got->tag];

	f->owed--;
	/* the slot has moved since, or is moving */
	if (got->reply && got->why.kind != FAIL_NONE &&
	    got->target != got->node) {
		ask_target(c, f, got->node);
	} else {
		snapshot_take(c->query, &f->seen, got);
		if (!got->overlong &&
		    (got->why.kind == FAIL_UNAVAILABLE || !got->reply))
			target_failed(c, got->target, &got->why, got);
	}
	if (f->owed == 0)
		end_look(c, f);
}

static void ask_more(struct scan *c)
{
	if (!c->look)
		c->look = calloc(LOOKS_MAX, sizeof(*c->look));
	if (!c->look) {
		no_memory(c);
		return;
	}
	for (int i = 0; i < LOOKS_MAX && c->next < c->known.locks; i++)
		if (!c->look[i].lock)
			begin_look(c, &c->look[i], c->known.lock[c->next++]);
}

/* ---- a round ---- */

void scan_ask(struct scan *c)
{
	const struct fanout *s = &c->query->fanout;

	if (scan_is_asking(c))
		return;
	lockset_forget_free(&c->known);
	c->round_began = now();
	c->next = 0;
	c->asking = true;
	c->hidden = 0;
	for (int i = 0; i < s->nodes; i++)
		c->node[i].failed = false;
	for (int i = 0; i < s->targets; i++) {
		struct scan_target *t = target_of(c, i);

		if (t && primaries_cover(s, i))
			ask_role(c, i);
		if (!t || c->broke)
			return;
		t->failed = false;
	}
}

/* An error is also a sign of life (an ACL may forbid INFO). */
static void take_ping(struct scan *c, const struct got *got)
{
	char master[MASTER_SHOWN];
	struct fail why =
		query_heard(c->query, got->node,
			    got->reply ? query_master(got->reply, master) : "");

	c->pings--;
	if (!got->reply)
		why = got->why;
	if (why.kind != FAIL_NONE)
		target_failed(c, got->target, &why, got);
}

static void end_round(struct scan *c)
{
	for (int i = 0; i < c->query->servers.n; i++)
		if (!c->node[i].failed)
			c->node[i].down = false;
	c->asking = false;
	c->unseen = c->hidden;
	c->round_took_ms = between(c->round_began, now());
}

static void take_answer(struct scan *c, const struct got *got)
{
	if (got->tag >= 0) {
		take_view(c, got);
	} else if (got->tag == TAG_PING) {
		take_ping(c, got);
	} else {
		if (got->tag == TAG_SCAN)
			take_scan(c, got);
		else
			take_spread(c, got);
		if (--c->scans == 0)
			c->scan_took_ms = between(c->scan_began, now());
	}
}

int scan_step(struct scan *c)
{
	struct got got;

	ask_more(c);
	while (!c->broke && fanout_next(&c->query->fanout, &got)) {
		take_answer(c, &got);
		ask_more(c);
	}
	if (c->asking && c->pings == 0 && c->looks == 0 &&
	    c->next == c->known.locks)
		end_round(c);
	return c->broke ? -1 : 0;
}
