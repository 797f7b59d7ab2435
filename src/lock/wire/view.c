/* SPDX-License-Identifier: MIT */
/* What the nodes say about a lock. */
#include "lock/wire/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lock/wire/lua.inc"
#include "lock/wire/record.h"

/* ---- the request ---- */

const char *view_sha(void)
{
	return SHA_INSPECT;
}

void view_request(struct keys *keys, const struct view_most *most, int db,
		  struct script_scratch *scratch, struct words *out)
{
	request_begin(LUA_INSPECT, sizeof(LUA_INSPECT) - 1, keys, 0,
		      INSPECT_ARGS, db, scratch, out);
	request_text(out, INSPECT_TOKEN, "");
	request_number(out, INSPECT_WAITERS, most->waiters, scratch);
	request_number(out, INSPECT_HOLDERS, most->holders, scratch);
	request_end(out);
}

/* ---- lists that grow ---- */

/* Returns NULL when out of memory. */
static void *grow(void *list, int used, int *room, size_t size)
{
	void *more;

	if (used < *room)
		return list;
	more = realloc(list, (size_t)(*room * 2 + 4) * size);
	if (more)
		*room = *room * 2 + 4;
	return more;
}

static char *copy_of(const char *bytes, size_t n)
{
	char *copy = malloc(n + 1);

	if (copy) {
		memcpy(copy, bytes, n);
		copy[n] = '\0';
	}
	return copy;
}

/* ---- holders ---- */

/* A time left; -1: it never ends, or there is none. */
static int64_t signed_number(const struct reply *r)
{
	return r->len > 0 && r->bytes[0] == '-' ? -1 : reply_ms(r, 0);
}

/* Finds the same client on another node. The value that readers share differs
 * from node to node, so it is not compared. */
static struct view_holder *known_holder(const struct view *v,
					const struct view_holder *its)
{
	for (int i = 0; i < v->holders; i++) {
		struct view_holder *h = &v->holder[i];

		if (h->how == its->how && strcmp(h->token, its->token) == 0 &&
		    strcmp(h->type, its->type) == 0)
			return h;
	}
	return NULL;
}

/* Copies what *its points to. */
static int add_holder(struct view *v, const struct view_holder *its, int node)
{
	struct view_holder *h = known_holder(v, its), *more;
	char *value;

	if (h) {
		if (its->since_ms > 0 &&
		    (h->since_ms == 0 || its->since_ms < h->since_ms))
			h->since_ms = its->since_ms;
		if (its->renewed > h->renewed)
			h->renewed = its->renewed;
		if (its->fence > h->fence)
			h->fence = its->fence;
	} else {
		more = grow(v->holder, v->holders, &v->room_holders,
			    sizeof(*more));
		if (!more)
			return -1;
		v->holder = more;
		value = copy_of(its->value, its->value_len);
		if (!value)
			return -1;
		h = &v->holder[v->holders++];
		*h = *its;
		h->value = value;
	}
	h->nodes |= 1U << node;
	h->left_at[node] = its->left_ms;
	v->held_on |= 1U << node;
	return 0;
}

static void use_record(struct view_holder *h, const struct record *r)
{
	memcpy(h->about, r->about, sizeof(h->about));
	h->ttl_ms = r->ttl_ms;
	h->since_ms = r->since_ms;
	h->renewed = r->renewed;
	if (r->fence > 0) /* who shares the lock has no other one */
		h->fence = r->fence;
}

/* Adds a client that shares the lock of this slot. `rest TOKEN ...`: it has
 * ended. Returns 1 if it was added, 0 if it is not a client, -1 when out of
 * memory. */
static int add_sharer(struct view *v, const struct view_holder *slot,
		      const struct reply *pair, int node)
{
	const struct reply *member = reply_item(pair, 0);
	struct view_holder h = *slot;
	const char *bytes = member->bytes;
	size_t n = member->len;
	bool rests = n > 5 && memcmp(bytes, "rest ", 5) == 0;
	struct record r;

	if (rests)
		bytes += 5, n -= 5;
	record_read_member(&r, bytes, n);
	/* "kept", "left" and "?" are no clients: see share.lua */
	if (!r.token || !memchr(bytes, '\n', n))
		return 0;
	use_record(&h, &r);
	h.how = rests                     ? HOLD_RESTS
		: slot->how == HOLD_READS ? HOLD_READS
					  : HOLD_INSIDE;
	(void)format_bytes(r.token, r.token_len, h.token, sizeof(h.token));
	h.left_ms = reply_ms(reply_item(pair, 1), v->now_ms) - v->now_ms;
	if (h.left_ms < 0)
		return 0; /* expired, but not removed yet */
	return add_holder(v, &h, node) < 0 ? -1 : 1;
}

/* --min-hold keeps the lock under the name "TOKEN rest": see release.lua. */
static enum hold how_held(const struct reply *value, const struct record *r)
{
	const char *end = value->bytes + value->len;

	if (r->token == NULL)
		return HOLD_FOREIGN;
	if (value->len > 7 && memcmp(value->bytes, "shared:", 7) == 0)
		return HOLD_READS;
	if (value->len > 5 && memcmp(end - 5, " rest", 5) == 0)
		return HOLD_RESTS;
	return HOLD_ALONE;
}

/* Returns how many clients hold the slot on this node, or -1 when out of
 * memory. Of those that share it, no more than `most` are added. */
static int add_slot(struct view *v, const struct reply *of, int node, int most)
{
	const struct reply *type = reply_item(of, 1),
			   *value = reply_item(of, 2);
	const struct reply *words = reply_item(of, 4);
	const struct reply *sharers = reply_item(of, 5);
	struct view_holder h = {
		.slot = (int)at_most(reply_number(reply_item(of, 0), 0),
				     SLOTS_MAX),
		.value = (char *)value->bytes,
		.value_len = value->len,
		.left_ms = signed_number(reply_item(of, 3))};
	bool left = reply_number(reply_item(of, 6), 0) == 1;
	struct record r;
	int others = 0;

	record_read(&r, words->bytes, words->len);
	h.how = how_held(value, &r);
	(void)format_bytes(type->bytes, type->len, h.type, sizeof(h.type));
	(void)format_bytes(value->bytes, value->len, h.token, sizeof(h.token));
	use_record(&h, &r);
	for (size_t i = 0; i < sharers->items && others < most; i++) {
		int rc = add_sharer(v, &h, reply_item(sharers, i), node);

		if (rc < 0)
			return -1;
		others += rc;
	}
	/* (readers without a member: data were lost, but somebody reads) */
	if (others == 0 || (h.how != HOLD_READS && !left))
		return add_holder(v, &h, node) < 0 ? -1 : others + 1;
	return others;
}

/* Holders beyond VIEW_MOST are only counted. */
static int add_slots(struct view *v, const struct reply *held, int64_t more,
		     int node)
{
	int64_t here = 0;

	for (size_t i = 0; i < held->items; i++) {
		int rc;

		if (here >= VIEW_MOST) {
			more += (int64_t)(held->items - i);
			break;
		}
		rc = add_slot(v, reply_item(held, i), node,
			      VIEW_MOST - (int)here);
		if (rc < 0)
			return -1;
		here += rc;
	}
	if (more > 0)
		v->more_on |= 1U << node;
	if (here + more > v->in_all)
		v->in_all = here + more;
	return 0;
}

/* ---- waiters ---- */

static int add_waiter(struct view *v, const struct reply *of, int node)
{
	const struct reply *member = reply_item(of, 0);
	int64_t ticket = reply_number(reply_item(of, 1), 0);
	int64_t life = reply_number(reply_item(of, 2), ticket);
	struct view_waiter *w, *more;
	struct record r;
	char token[sizeof(w->token)];

	record_read_member(&r, member->bytes, member->len);
	(void)format_bytes(r.token, r.token_len, token, sizeof(token));
	life = v->now_ms - (life > ticket ? life : ticket) / 1000;
	for (int i = 0; i < v->waiters; i++) {
		w = &v->waiter[i];
		if (strcmp(w->token, token) != 0)
			continue;
		w->nodes |= 1U << node;
		if (life < w->silent_ms)
			w->silent_ms = life;
		return 0;
	}
	more = grow(v->waiter, v->waiters, &v->room_waiters, sizeof(*more));
	if (!more)
		return -1;
	v->waiter = more;
	w = &v->waiter[v->waiters++];
	*w = (struct view_waiter){.nodes = 1U << node,
				  .ticket = ticket,
				  .silent_ms = life > 0 ? life : 0,
				  .slots = r.slots,
				  .reads = r.reads,
				  .supersedes = r.supersedes};
	memcpy(w->token, token, sizeof(token));
	memcpy(w->about, r.about, sizeof(w->about));
	return 0;
}

/* ---- all ---- */

/* See inspect.lua. */
#define SLOT "[sssxs[[ss]*]s]"
#define WAITER "[sss]"
#define SHAPE "[sss[" SLOT "*][" WAITER "*]sss]"

int view_add(struct view *v, const struct reply *r, int node, struct fail *why)
{
	const struct reply *word = reply_item(r, 0), *held = reply_item(r, 3);
	const struct reply *counter = reply_item(r, 1);
	const struct reply *line = reply_item(r, 4);
	int64_t in_line = at_most(reply_number(reply_item(r, 5), 0), INT_MAX);
	int64_t once = signed_number(reply_item(r, 6));
	int64_t more = at_most(reply_number(reply_item(r, 7), 0), INT_MAX);
	int rc;

	if (!reply_is(r, SHAPE) || word->len != 4 ||
	    memcmp(word->bytes, "view", 4) != 0)
		return fail(why, FAIL_UNAVAILABLE,
			    "unexpected reply from redlock's script");
	if (v->answers == 0)
		v->once_ms = -1;
	v->now_ms = reply_ms(reply_item(r, 2), 0);
	v->bad_counter |= counter->len == 3;
	v->counter_at[node] = reply_number(counter, 0);
	if (reply_number(counter, 0) > v->counter)
		v->counter = reply_number(counter, 0);
	if (in_line > v->in_line)
		v->in_line = in_line;
	if (once > v->once_ms)
		v->once_ms = once;
	rc = add_slots(v, held, more, node);
	for (size_t i = 0; rc == 0 && i < line->items && i < VIEW_MOST; i++)
		rc = add_waiter(v, reply_item(line, i), node);
	if (rc < 0)
		return fail(why, FAIL_INTERNAL, "out of memory");
	v->answers |= 1U << node;
	return 0;
}

static int count(unsigned int nodes)
{
	return __builtin_popcount(nodes);
}

static int by_ticket(const void *a, const void *b)
{
	const struct view_waiter *x = a, *y = b;

	return (x->ticket > y->ticket) - (x->ticket < y->ticket);
}

static int by_nodes(const void *a, const void *b)
{
	const struct view_holder *x = a, *y = b;
	int more = count(y->nodes) - count(x->nodes);

	if (more != 0)
		return more;
	if (x->slot != y->slot)
		return x->slot - y->slot;
	if ((x->how == HOLD_INSIDE) != (y->how == HOLD_INSIDE))
		return x->how == HOLD_INSIDE ? 1 : -1;
	return (x->since_ms > y->since_ms) - (x->since_ms < y->since_ms);
}

/* The longest first; "never" is the longest. */
static int by_left(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	x = x < 0 ? INT64_MAX : x;
	y = y < 0 ? INT64_MAX : y;
	return (x < y) - (x > y);
}

void view_finish(struct view *v, int nodes)
{
	for (int i = 0; i < v->holders; i++) {
		struct view_holder *h = &v->holder[i];
		int64_t left[NODES_MAX] = {0};
		int n = 0, q = lease_quorum(nodes);

		for (int k = 0; k < nodes; k++)
			if (h->nodes & 1U << k)
				left[n++] = h->left_at[k];
		qsort(left, (size_t)n, sizeof(left[0]), by_left);
		h->left_ms = left[n >= q ? q - 1 : 0];
	}
	if (v->holders > 1)
		qsort(v->holder, (size_t)v->holders, sizeof(v->holder[0]),
		      by_nodes);
	if (v->waiters > 1)
		qsort(v->waiter, (size_t)v->waiters, sizeof(v->waiter[0]),
		      by_ticket);
	if (v->in_all < v->holders)
		v->in_all = v->holders;
}

void view_close(struct view *v)
{
	for (int i = 0; i < v->holders; i++)
		free(v->holder[i].value);
	free(v->holder);
	free(v->waiter);
	*v = (struct view){0};
}

/* A node that did not list all its holders may have this one as well. */
int view_nodes_of(const struct view *v, const struct view_holder *h)
{
	return count(h->nodes | v->more_on);
}

/* Those who share a lock, or have one of several slots, need not be the same on
 * all nodes. It is held if one of them has a quorum, or may have one. */
enum view_state view_state(const struct view *v, int nodes)
{
	int q = lease_quorum(nodes);

	if (v->holders == 0)
		return VIEW_FREE;
	for (int i = 0; i < v->holders; i++)
		if (view_nodes_of(v, &v->holder[i]) >= q)
			return VIEW_HELD;
	return VIEW_MINORITY;
}

const char *view_state_name(enum view_state state)
{
	static const char *const names[] = {[VIEW_FREE] = "free",
					    [VIEW_HELD] = "held",
					    [VIEW_MINORITY] = "minority"};

	return names[state];
}

const char *view_hold_name(enum hold how)
{
	static const char *const names[] = {[HOLD_ALONE] = "holder",
					    [HOLD_READS] = "reader",
					    [HOLD_INSIDE] = "inside",
					    [HOLD_RESTS] = "resting",
					    [HOLD_FOREIGN] = "foreign"};

	return names[how];
}

bool view_is_free(const struct view *v, int nodes)
{
	int silent = nodes - count(v->answers), q = lease_quorum(nodes);

	for (int i = 0; i < v->holders; i++)
		if (view_nodes_of(v, &v->holder[i]) + silent >= q)
			return false;
	return count(v->more_on) + silent < q;
}

bool view_has_slots(const struct view *v)
{
	for (int i = 0; i < v->holders; i++)
		if (v->holder[i].slot > 0)
			return true;
	return false;
}

int64_t view_own_fence(const struct view *v, const struct view_holder *h)
{
	return view_has_slots(v) ? h->fence : 0;
}

void view_sight(const struct view *v, struct sight *out)
{
	const struct view_holder *h = v->holder;

	*out = (struct sight){.seen = v->holders > 0};
	if (v->holders == 0)
		return;
	out->foreign = h->how == HOLD_FOREIGN;
	out->since = h->since_ms / 1000;
	out->pttl_ms = h->left_ms;
	memcpy(out->token, h->token, sizeof(out->token));
	memcpy(out->about, h->about, sizeof(out->about));
	if (strcmp(h->type, "string") != 0)
		memcpy(out->type, h->type, sizeof(out->type));
	if (h->how == HOLD_READS && v->more_on)
		out->readers = (int)at_most(v->in_all, INT_MAX);
	else
		for (int i = 0; h->how == HOLD_READS && i < v->holders; i++)
			out->readers += v->holder[i].how == HOLD_READS;
}

const struct view_holder *view_find(const struct view *v, const char *token)
{
	for (int i = 0; i < v->holders; i++)
		if (strcmp(v->holder[i].token, token) == 0)
			return &v->holder[i];
	return NULL;
}
