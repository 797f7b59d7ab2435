/* SPDX-License-Identifier: MIT */
/* Shows a scan. */
#include "cli/show/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/render.h"

#define BAR 10 /* columns */

/* ---- which, and in which order ---- */

static bool has_text(const struct lock_seen *l, const char *text)
{
	if (text[0] == '\0' || strcasestr(l->shown, text))
		return true;
	if (l->holders > 0 && strcasestr(l->holder.slot_name, text))
		return true;
	for (int i = 0; l->holders > 0 && i < ABOUT_SHOWN; i++)
		if (strcasestr(l->holder.about[i], text))
			return true;
	return false;
}

static bool is_chosen(const struct lock_seen *l, const struct choice *choice)
{
	bool shows = lockset_in_use(l) || (choice->past && l->known && l->past);

	return shows && (!choice->held || l->state == VIEW_HELD) &&
	       (!choice->waiting || l->in_line > 0) &&
	       (!choice->text || has_text(l, choice->text));
}

/* The largest comes first; of leases, the one that ends first. */
static int64_t rank(const struct lock_seen *l, enum column by)
{
	if (by == COLUMN_WAITING)
		return l->in_line;
	if (l->holders == 0)
		return INT64_MIN;
	if (by == COLUMN_HELD)
		return l->held_ms;
	return l->holder.left_ms < 0 ? INT64_MIN + 1 : -l->holder.left_ms;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct lock_seen *x = *(const struct lock_seen *const *)a;
	const struct lock_seen *y = *(const struct lock_seen *const *)b;
	const struct choice *choice = arg;
	int order = 0;

	if (choice->by != COLUMN_KEY) {
		int64_t m = rank(x, choice->by), n = rank(y, choice->by);

		order = (n > m) - (n < m);
	}
	if (order == 0 && choice->by != COLUMN_KEY)
		return lockset_by_key(x, y);
	if (order == 0)
		order = lockset_by_key(x, y);
	return choice->reverse ? -order : order;
}

int listing_make(struct listing *l, const struct scan *c,
		 const struct choice *choice)
{
	struct choice copy = *choice;

	*l = (struct listing){0};
	l->row = malloc((size_t)(c->known.locks + 1) *
			sizeof(struct lock_seen *));
	if (!l->row)
		return -1;
	for (int i = 0; i < c->known.locks; i++) {
		if (!is_chosen(c->known.lock[i], choice))
			continue;
		l->row[l->rows++] = c->known.lock[i];
		l->waiters += c->known.lock[i]->in_line;
	}
	qsort_r(l->row, (size_t)l->rows, sizeof(struct lock_seen *), compare,
		&copy);
	return 0;
}

void listing_close(struct listing *l)
{
	free(l->row);
	*l = (struct listing){0};
}

/* ---- for people ---- */

static const char *state_text(const struct lock_seen *l)
{
	static const char *const held[] = {[HOLD_ALONE] = "held",
					   [HOLD_READS] = "reading",
					   [HOLD_INSIDE] = "held",
					   [HOLD_RESTS] = "resting",
					   [HOLD_FOREIGN] = "foreign"};

	return l->state == VIEW_HELD ? held[l->holder.how]
				     : view_state_name(l->state);
}

/* "web1", or "web1 (gpu0) +2" with a slot that has a name, and two other
 * holders; "" if nobody holds it. */
static const char *host_text(const struct lock_seen *l, char *buf, size_t size)
{
	const char *host = l->holder.about[ABOUT_HOST];
	const char *slot = l->holders > 0 ? l->holder.slot_name : "";
	char more[32] = "";

	if (l->holders == 0)
		host = "";
	else if (host[0] == '\0')
		host = "?";
	if (l->holders > 1)
		(void)snprintf(more, sizeof(more), " +%" PRId64,
			       l->holders - 1);
	(void)snprintf(buf, size, "%s%s%s%s%s", host, slot[0] ? " (" : "", slot,
		       slot[0] ? ")" : "", more);
	return buf;
}

/* "4m12s", "2d03h": as precise as people need. */
static void add_time(struct table *t, int64_t ms)
{
	char text[32];

	table_cell(t, "%s",
		   ms < 0 ? "" : format_seconds(ms, text, sizeof(text)));
}

static int64_t age_of(const struct lock_seen *l, struct instant at)
{
	return before(l->at, at) ? between(l->at, at) : 0;
}

int64_t listing_left(const struct lock_seen *l, struct instant at)
{
	int64_t left = l->holder.left_ms, age = age_of(l, at);

	return left < 0 ? -1 : left > age ? left - age : 0;
}

static void add_bar(struct table *t, int64_t left, int64_t ttl,
		    const char *const bar[2])
{
	/* more than its length: its expiry was set by hand */
	int full = left < ttl ? (int)((left * BAR + ttl - 1) / ttl) : BAR;

	table_cell(t, "%.*s%.*s", (int)columns_fit(bar[0], full), bar[0],
		   (int)columns_fit(bar[1], BAR - full), bar[1]);
}

static void add_row(struct table *t, const struct lock_seen *l,
		    struct instant at, const char *const bar[2])
{
	const struct view_holder *h = &l->holder;
	char text[ABOUT_MAX + SLOT_NAME_SHOWN + 40];
	bool held = l->holders > 0;
	int64_t left = held ? listing_left(l, at) : -1;

	table_cell(t, "%s", l->shown);
	table_cell(t, "%s", state_text(l));
	table_cell(t, "%s", host_text(l, text, sizeof(text)));
	table_cell(t, "%s", h->about[ABOUT_PID]);
	table_cell(t, "%s", h->about[ABOUT_USER]);
	table_cell(t, "%s", h->about[ABOUT_COMMAND]);
	add_time(t, held && l->held_ms >= 0 ? l->held_ms + age_of(l, at) : -1);
	if (held && left < 0)
		table_cell(t, "never");
	else
		add_time(t, left);
	table_cell(t, "%" PRId64, l->in_line);
	if (bar && left >= 0 && h->ttl_ms > 0 && h->how != HOLD_RESTS)
		add_bar(t, left, h->ttl_ms, bar);
	else if (bar)
		table_cell(t, "%s", "");
}

void listing_table(const struct listing *l, int first, int n, struct instant at,
		   const char *const bar[2], struct table *t)
{
	static const char *const names[COLUMNS] = {
		"KEY",     "STATE", "HOLDER", "PID",     "USER",
		"COMMAND", "HELD",  "LEFT",   "WAITING", "LEASE"};
	static const unsigned char resort[] = {COLUMN_USER,    COLUMN_PID,
					       COLUMN_LEASE,   COLUMN_COMMAND,
					       COLUMN_WAITING, COLUMN_LEFT};
	const int columns = bar ? COLUMNS : COLUMN_LEASE;

	table_begin(t, columns);
	for (size_t i = 0, k = 0; i < sizeof(resort); i++)
		if (resort[i] < columns)
			t->resort[k++] = resort[i];
	for (int i = 0; i < columns; i++)
		table_cell(t, "%s", names[i]);
	for (int i = first; i < first + n && i < l->rows; i++)
		add_row(t, l->row[i], at, bar);
}

int listing_print(const struct listing *l, FILE *out)
{
	struct table t;

	if (l->rows == 0)
		return 0;
	listing_table(l, 0, l->rows, now(), NULL, &t);
	return table_print(&t, "", out);
}

/* ---- for programs ---- */

static void json_nodes(const struct scan *c, struct json *j)
{
	json_list(j, "nodes");
	for (int i = 0; i < c->query->servers.n; i++) {
		json_item(j);
		json_text(j, "name", c->query->servers.endpoint[i].name);
		json_text(j, "state", scan_is_up(c, i) ? "up" : "down");
		if (query_is_replica(c->query, i))
			json_bool(j, "replica", true);
		if (c->node[i].down)
			json_text(j, "error", c->node[i].why.text);
		json_close(j);
	}
	json_end(j);
}

static void json_lock(const struct lock_seen *l, struct json *j)
{
	json_item(j);
	json_bytes(j, "key", l->key, l->len);
	json_text(j, "state", view_state_name(l->state));
	if (l->fence >= 0)
		json_number(j, "fence", l->fence);
	if (l->holders > 0)
		json_hold(j, &l->holder);
	json_number(j, "holders", l->holders);
	json_number(j, "in_line", l->in_line);
	json_close(j);
}

void listing_json(const struct listing *l, const struct scan *c, struct json *j)
{
	struct fail why;

	json_bool(j, "complete",
		  scan_verdict(c, &why) == 0 && !c->known.overfull &&
			  !query_replica(c->query));
	json_text(j, "scope", query_is_host_only(c->query) ? "host" : "shared");
	json_nodes(c, j);
	json_list(j, "locks");
	for (int i = 0; i < l->rows; i++)
		json_lock(l->row[i], j);
	json_end(j);
}
