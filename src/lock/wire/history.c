/* SPDX-License-Identifier: MIT */
/* Entries of the history. */
#include "lock/wire/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "lock/wire/record.h"

/* ---- writing ---- */

void history_ending_text(const struct history_entry *s,
			 char text[HISTORY_ENDING_SIZE])
{
	char how[24] = "";

	if (s->signal > 0)
		(void)snprintf(how, sizeof(how), "signal %d\n", s->signal);
	else if (s->status >= 0)
		(void)snprintf(how, sizeof(how), "exit %d\n", s->status);
	(void)snprintf(text, HISTORY_ENDING_SIZE, "outcome %.20s\n%s",
		       s->outcome, how);
}

void history_entry_text(const struct history_entry *s, int64_t fence, int slot,
			const char *names, char text[HISTORY_ENTRY_SIZE])
{
	char where[24 + SLOT_NAME_SHOWN] = "", how[HISTORY_ENDING_SIZE],
			by[HISTORY_BY_MAX + 8] = "";
	size_t used = 0, len;

	const char *name = slot_name(names, slot, &len);

	if (slot >= 0)
		used = (size_t)snprintf(where, sizeof(where), "slot %d\n",
					slot);
	if (name && slot >= 0 && !memchr(name, '\n', len))
		(void)snprintf(where + used, sizeof(where) - used,
			       "slot_name %.*s\n", (int)len, name);
	history_ending_text(s, how);
	if (s->by)
		(void)snprintf(by, sizeof(by), "by %.*s\n", HISTORY_BY_MAX,
			       s->by);
	(void)snprintf(text, HISTORY_ENTRY_SIZE,
		       "fence %" PRId64 "\n%swaited_ms %" PRId64
		       "\nheld_ms %" PRId64 "\n%s%s",
		       fence, where, s->waited_ms, s->held_ms, how, by);
}

/* ---- reading ---- */

void history_request(struct request *r, const struct keys *keys, int db)
{
	const struct request_head head = {.token = "", .identity = ""};

	request_begin(r, SCRIPT_HISTORY, keys, db, &head);
	request_end(r);
}

/* Other programs may have written it: only the next 3000 years are a time. */
#define LATEST_MS 100000000000000

static int64_t a_time(int64_t ms)
{
	return ms > 0 && ms < LATEST_MS ? ms : 0;
}

static void take_field(struct history_hold *p, const struct reply *name,
		       const struct reply *value)
{
	const struct {
		const char *name;
		int64_t *number;
		char *text;
		size_t size;
	} fields[] = {
		{"token", NULL, p->token, sizeof(p->token)},
		{"by", NULL, p->by, sizeof(p->by)},
		{"outcome", NULL, p->outcome, sizeof(p->outcome)},
		{"slot_name", NULL, p->slot_name, sizeof(p->slot_name)},
		{"fence", &p->fence, NULL, 0},
		{"slot", &p->slot, NULL, 0},
		{"since", &p->since_ms, NULL, 0},
		{"waited_ms", &p->waited_ms, NULL, 0},
		{"held_ms", &p->held_ms, NULL, 0},
		{"exit", &p->status, NULL, 0},
		{"signal", &p->signal, NULL, 0},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(name->bytes, fields[i].name) != 0)
			continue;
		if (fields[i].number)
			*fields[i].number = reply_number(value, -1);
		else
			(void)format_bytes(value->bytes, value->len,
					   fields[i].text, fields[i].size);
	}
	for (int i = 0; i < ABOUT_COUNT; i++)
		if (strcmp(name->bytes, about_name((enum about)i)) == 0)
			about_take((enum about)i, value->bytes, value->len,
				   p->about[i]);
}

/* Reads {AT, {NAME, VALUE, ...}}. Returns false if the entry has no token. */
static bool read_entry(struct history_hold *p, const struct reply *r)
{
	const struct reply *fields = reply_item(r, 1);

	*p = (struct history_hold){.slot = -1, .status = -1, .signal = -1};
	for (size_t i = 0; i + 1 < fields->items; i += 2)
		take_field(p, reply_item(fields, i), reply_item(fields, i + 1));
	p->fence = p->fence > 0 ? p->fence : 0;
	p->held_ms = a_time(p->held_ms);
	p->since_ms = a_time(p->since_ms);
	if (p->since_ms == 0)
		p->since_ms =
			a_time(reply_number(reply_item(r, 0), 0) - p->held_ms);
	p->waited_ms = a_time(p->waited_ms);
	if (p->waited_ms > p->since_ms)
		p->waited_ms = p->since_ms;
	p->ended_ms = p->since_ms + p->held_ms;
	return p->token[0] != '\0';
}

/* Another node tells of the same hold. A node that was frozen saw it start
 * later. If the hold was ended by force, one node may know who did it, and
 * another how the command itself ended. If one took the holder for dead,
 * another may know how the hold really ended. */
static void merge(struct history_hold *known, const struct history_hold *its)
{
	bool died = strcmp(known->outcome, "expired") == 0;

	if (strcmp(its->outcome, "expired") == 0)
		return;
	if (died) {
		*known = *its;
		return;
	}
	if (its->since_ms < known->since_ms)
		known->since_ms = its->since_ms;
	if (known->status < 0 && known->signal < 0) {
		known->status = its->status;
		known->signal = its->signal;
	}
	if (its->by[0] != '\0' && known->by[0] == '\0') {
		memcpy(known->by, its->by, sizeof(known->by));
		memcpy(known->outcome, its->outcome, sizeof(known->outcome));
	}
	known->ended_ms = known->since_ms + known->held_ms;
}

static struct history_hold *hold_of(const struct history *h, const char *token)
{
	for (int i = 0; i < h->holds; i++)
		if (strcmp(h->hold[i].token, token) == 0)
			return &h->hold[i];
	return NULL;
}

static int add(struct history *h, const struct history_hold *its,
	       struct fail *why)
{
	if (!grow(&h->hold, h->holds, &h->room, sizeof(*h->hold)))
		return fail_memory(why);
	h->hold[h->holds++] = *its;
	return 0;
}

#define SHAPE "[sss[s[s*]]*]" /* see src/lua/latest.lua */

const char *history_master(const struct reply *r, char buf[MASTER_SHOWN])
{
	const struct reply *master = reply_item(r, reply_is(r, SHAPE) ? 2 : -1);

	return format_bytes(master->bytes, master->len, buf, MASTER_SHOWN);
}

int history_add(struct history *h, const struct reply *r, int node,
		struct fail *why)
{
	size_t n = r->items < 3 + HISTORY_MAX ? r->items : 3 + HISTORY_MAX;

	if (!reply_is(r, SHAPE) ||
	    strcmp(reply_item(r, 0)->bytes, "history") != 0)
		return request_misread(reply_item(r, 0)->bytes,
				       reply_item(r, 0)->len, why);
	for (size_t i = 3; i < n; i++) {
		struct history_hold its, *same;

		if (!read_entry(&its, reply_item(r, i)))
			continue;
		same = hold_of(h, its.token);
		if (same)
			merge(same, &its);
		else if (add(h, &its, why) < 0)
			return -1;
	}
	h->answers |= 1U << node;
	if (reply_number(reply_item(r, 1), 0) > h->now_ms)
		h->now_ms = reply_number(reply_item(r, 1), 0);
	return 0;
}

static int in_time(const void *a, const void *b)
{
	const struct history_hold *x = a, *y = b;

	if (x->since_ms != y->since_ms)
		return x->since_ms < y->since_ms ? -1 : 1;
	return x->fence < y->fence ? -1 : x->fence > y->fence;
}

int history_add_open(struct history *h, const struct history_hold *its,
		     struct fail *why)
{
	return hold_of(h, its->token) ? 0 : add(h, its, why);
}

void history_finish(struct history *h, int64_t within_ms)
{
	int left = 0, kept = 0, over;

	for (int i = 0; i < h->holds; i++)
		if (within_ms == 0 || h->hold[i].open ||
		    h->hold[i].ended_ms >= h->now_ms - within_ms)
			h->hold[left++] = h->hold[i];
	h->holds = left;
	if (left == 0)
		return;
	qsort(h->hold, (size_t)left, sizeof(*h->hold), in_time);
	over = left - HISTORY_MAX;
	for (int i = 0; i < left; i++)
		if (h->hold[i].open || over-- <= 0)
			h->hold[kept++] = h->hold[i];
	h->holds = kept;
}

void history_close(struct history *h)
{
	free(h->hold);
	*h = (struct history){0};
}
