/* SPDX-License-Identifier: MIT */
/* What the nodes say about a lock. */
#include "lock/wire/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "lock/core/timing.h"
#include "lock/wire/lua.inc"
#include "lock/wire/record.h"

void view_request(struct request *r, const struct keys *keys,
		  const struct view_most *most, int db)
{
	const struct request_head head = {.token = "", .identity = ""};

	request_begin(r, SCRIPT_INSPECT, keys, db, &head);
	request_number(r, INSPECT_WAITERS, most->waiters);
	request_number(r, INSPECT_HOLDERS, most->holders);
	request_text(r, INSPECT_WHOSE, most->whose ? most->whose : "");
	request_end(r);
}

/* ---- holders ---- */

/* A time left; -1: it never ends, or there is none. */
static int64_t signed_number(const struct reply *r)
{
	return r->len > 0 && r->bytes[0] == '-' ? -1 : reply_ms(r, 0);
}

/* From one time to a later one; 0: it is not later, as when clocks differ. */
static int64_t span_ms(int64_t from, int64_t to)
{
	return to > from ? at_most(to - from, AGES_MS) : 0;
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
	struct view_holder *h = known_holder(v, its);
	char *value;

	if (h) {
		if (its->since_ms > 0 &&
		    (h->since_ms == 0 || its->since_ms < h->since_ms))
			h->since_ms = its->since_ms;
		if (its->fence > h->fence)
			h->fence = its->fence;
	} else {
		if (!grow(&v->holder, v->holders, &v->room_holders,
			  sizeof(*v->holder)))
			return -1;
		value = malloc(its->value_len + 1);
		if (!value)
			return -1;
		memcpy(value, its->value, its->value_len);
		value[its->value_len] = '\0';
		h = &v->holder[v->holders++];
		*h = *its;
		h->value = value;
	}
	h->nodes |= 1U << node;
	h->left_at[node] = its->left_ms;
	v->held_on |= 1U << node;
	return 0;
}

/* What is in a slot of this node: see src/lua/inspect.lua. */
static const struct reply *family_of(const struct reply *slots, int64_t slot)
{
	for (size_t i = 0; i < slots->items; i++) {
		const struct reply *s = reply_item(slots, i);

		if (reply_number(reply_item(s, 0), -1) == slot)
			return reply_item(s, 1);
	}
	return NULL;
}

static bool same_bytes(const struct reply *a, const struct reply *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static enum hold how_held(const struct reply *token, const struct reply *family,
			  const struct reply *flag)
{
	if (flag->len > 0 && flag->bytes[0] == 'r')
		return HOLD_RESTS;
	if (family->len > 7 && memcmp(family->bytes, "shared:", 7) == 0)
		return HOLD_READS;
	return same_bytes(token, family) ? HOLD_ALONE : HOLD_INSIDE;
}

static int add_entry(struct view *v, const struct reply *of,
		     const struct reply *slots, int node)
{
	const struct reply *token = reply_item(of, 0);
	const struct reply *identity = reply_item(of, 7);
	int64_t slot = reply_number(reply_item(of, 1), 0);
	const struct reply *family = family_of(slots, slot);
	struct view_holder h = {.slot = (int)at_most(slot, SLOTS_MAX),
				.type = "string"};
	struct record r;

	if (!family) /* a grant that has ended */
		return 0;
	(void)record_read_identity(&r, identity->bytes, identity->len);
	memcpy(h.about, r.about, sizeof(h.about));
	h.how = how_held(token, family, reply_item(of, 6));
	h.value = (char *)family->bytes;
	h.value_len = family->len;
	h.left_ms = span_ms(v->now_ms, reply_ms(reply_item(of, 2), 0));
	/* a nested run has the fence of the run around it */
	if (h.how != HOLD_INSIDE)
		h.fence = reply_number(reply_item(of, 3), 0);
	h.since_ms = reply_ms(reply_item(of, 4), 0);
	h.ttl_ms = reply_ms(reply_item(of, 5), 0);
	(void)format_bytes(token->bytes, token->len, h.token, sizeof(h.token));
	(void)format_bytes(reply_item(of, 8)->bytes, reply_item(of, 8)->len,
			   h.slot_name, sizeof(h.slot_name));
	return add_holder(v, &h, node);
}

/* The key, if another program has written it. */
static int add_foreign(struct view *v, const struct reply *lock,
		       const struct reply *slots, int node)
{
	const struct reply *type = reply_item(lock, 0),
			   *value = reply_item(lock, 1);
	const struct reply *family = family_of(slots, 0);
	struct view_holder h = {.how = HOLD_FOREIGN,
				.value = (char *)value->bytes,
				.value_len = value->len,
				.left_ms = signed_number(reply_item(lock, 2))};

	if (strcmp(type->bytes, "none") == 0 ||
	    (family && same_bytes(family, value)))
		return 0;
	(void)format_bytes(type->bytes, type->len, h.type, sizeof(h.type));
	(void)format_bytes(value->bytes, value->len, h.token, sizeof(h.token));
	return add_holder(v, &h, node);
}

/* Holders beyond VIEW_MOST are only counted. */
static int add_holders(struct view *v, const struct reply *r, int node)
{
	const struct reply *slots = reply_item(r, 6), *list = reply_item(r, 7);
	int64_t more = at_most(reply_number(reply_item(r, 10), 0), INT_MAX);
	int64_t here = 0;

	for (size_t i = 0; i < list->items; i++, here++) {
		if (here >= VIEW_MOST) {
			more += (int64_t)(list->items - i);
			break;
		}
		if (add_entry(v, reply_item(list, i), slots, node) < 0)
			return -1;
	}
	if (add_foreign(v, reply_item(r, 5), slots, node) < 0)
		return -1;
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
	struct view_waiter *w;
	struct record r;
	char token[sizeof(w->token)];

	if (!record_read_member(&r, member->bytes, member->len))
		v->damaged |= DAMAGED_LINE;
	(void)format_bytes(r.token, r.token_len, token, sizeof(token));
	life = span_ms((life > ticket ? life : ticket) / 1000, v->now_ms);
	for (int i = 0; i < v->waiters; i++) {
		w = &v->waiter[i];
		if (strcmp(w->token, token) != 0)
			continue;
		w->nodes |= 1U << node;
		if (life < w->silent_ms)
			w->silent_ms = life;
		return 0;
	}
	if (!grow(&v->waiter, v->waiters, &v->room_waiters, sizeof(*v->waiter)))
		return -1;
	w = &v->waiter[v->waiters++];
	*w = (struct view_waiter){.nodes = 1U << node,
				  .ticket = ticket,
				  .since_ms = ticket / 1000 +
					      (r.high ? LEAD_US / 1000 : 0),
				  .silent_ms = life,
				  .slots = r.slots,
				  .reads = r.reads,
				  .supersedes = r.supersedes,
				  .high = r.high};
	memcpy(w->token, token, sizeof(token));
	memcpy(w->about, r.about, sizeof(w->about));
	return 0;
}

/* ---- all ---- */

/* See src/lua/inspect.lua. */
#define SLOT "[ssssss]"
#define HOLDER "[sssssssss]"
#define WAITER "[sss]"
#define SHAPE "[sssss[sss][" SLOT "*][" HOLDER "*][" WAITER "*]sssssss]"

/* Of several nodes, the largest counts. */
static void add_mark(struct view_mark *largest, int64_t number,
		     const struct reply *mark)
{
	struct record by;

	if (number <= largest->number)
		return;
	record_read(&by, mark->bytes, mark->len);
	largest->number = number;
	largest->since_ms = by.since_ms;
	largest->end = by.end;
	memcpy(largest->about, by.about, sizeof(by.about));
}

/* Of several nodes, the last success counts. */
static void add_label(struct view *v, const struct reply *mark)
{
	const char *end = memchr(mark->bytes, '\n', mark->len);
	size_t n = end ? (size_t)(end - mark->bytes) : 0;
	struct reply rest = {.bytes = mark->bytes + n, .len = mark->len - n};
	int64_t before = v->label.number;
	struct record by;

	if (n == 0 || n > LABEL_MAX)
		return;
	rest.bytes++, rest.len--;
	record_read(&by, rest.bytes, rest.len);
	add_mark(&v->label, by.since_ms, &rest);
	if (v->label.number == before)
		return;
	memcpy(v->label_text, mark->bytes, n);
	v->label_text[n] = '\0';
}

const char *view_master(const struct reply *r, char buf[MASTER_SHOWN])
{
	const struct reply *master =
		reply_item(r, reply_is(r, SHAPE) ? 14 : -1);

	return format_bytes(master->bytes, master->len, buf, MASTER_SHOWN);
}

int view_add(struct view *v, const struct reply *r, int node, struct fail *why)
{
	const struct reply *word = reply_item(r, 0), *line = reply_item(r, 8);
	int64_t counter = reply_number(reply_item(r, 1), -1);
	int64_t shut = signed_number(reply_item(r, 3));
	int64_t in_line = at_most(reply_number(reply_item(r, 9), 0), INT_MAX);
	int rc;

	if (!reply_is(r, SHAPE) || strcmp(word->bytes, "view") != 0)
		return request_misread(word->bytes, word->len, why);
	if (v->answers == 0)
		v->once.number = v->revision.number = v->label.number = -1;
	v->now_ms = reply_ms(reply_item(r, 2), 0);
	if (counter < 0)
		v->damaged |= reply_item(r, 1)->bytes[0] == 't'
				      ? DAMAGED_STATE
				      : DAMAGED_COUNTER;
	v->counter_at[node] = counter < 0 ? 0 : counter;
	if (counter > v->counter)
		v->counter = counter;
	if (in_line > v->in_line)
		v->in_line = in_line;
	add_mark(&v->once, signed_number(reply_item(r, 4)), reply_item(r, 13));
	add_mark(&v->revision, signed_number(reply_item(r, 11)),
		 reply_item(r, 12));
	add_label(v, reply_item(r, 15));
	if (shut > v->shut_ms)
		v->shut_ms = shut;
	if (shut <= 0)
		v->open |= 1U << node;
	rc = add_holders(v, r, node);
	for (size_t i = 0; rc == 0 && i < line->items && i < VIEW_MOST; i++)
		rc = add_waiter(v, reply_item(line, i), node);
	if (rc < 0)
		return fail_memory(why);
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

/* A nested run without names of its own is in a slot that has one. */
static void lend_slot_name(const struct view *v, struct view_holder *h)
{
	for (int i = 0; i < v->holders && h->slot_name[0] == '\0'; i++)
		if (v->holder[i].slot == h->slot && h->how == HOLD_INSIDE)
			memcpy(h->slot_name, v->holder[i].slot_name,
			       sizeof(h->slot_name));
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
		lend_slot_name(v, h);
	}
	if (v->holders > 1)
		qsort(v->holder, (size_t)v->holders, sizeof(v->holder[0]),
		      by_nodes);
	if (v->waiters > 1)
		qsort(v->waiter, (size_t)v->waiters, sizeof(v->waiter[0]),
		      by_ticket);
	if (v->in_all < v->holders)
		v->in_all = v->holders;
	if (count(v->open) >= lease_quorum(nodes))
		v->shut_ms = 0;
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

bool view_quorum(const struct view *v, const struct view_holder *h, int nodes)
{
	return view_nodes_of(v, h) >= lease_quorum(nodes);
}

/* Those who share a lock, or have one of several slots, need not be the same on
 * all nodes. It is held if one of them has a quorum, or may have one. */
enum view_state view_state(const struct view *v, int nodes)
{
	if (v->holders == 0)
		return VIEW_FREE;
	for (int i = 0; i < v->holders; i++)
		if (view_quorum(v, &v->holder[i], nodes))
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

int64_t view_fence(const struct view *v)
{
	const struct view_holder *h = v->holder;

	if (v->holders == 0)
		return v->counter;
	return h->fence > 0 ? h->fence : -1;
}

void view_sight(const struct view *v, struct sight *out)
{
	const struct view_holder *h = v->holder;

	*out = (struct sight){.seen = v->holders > 0};
	if (v->holders == 0)
		return;
	out->foreign = h->how == HOLD_FOREIGN;
	out->kept = h->how == HOLD_RESTS;
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

unsigned int view_endless(const struct view *v)
{
	unsigned int nodes = 0;

	for (int i = 0; i < v->holders; i++)
		for (int k = 0; k < NODES_MAX; k++)
			if (v->holder[i].nodes & 1U << k &&
			    v->holder[i].left_at[k] < 0)
				nodes |= 1U << k;
	return nodes;
}

const struct view_holder *view_find(const struct view *v, const char *token)
{
	for (int i = 0; i < v->holders; i++)
		if (strcmp(v->holder[i].token, token) == 0)
			return &v->holder[i];
	return NULL;
}
