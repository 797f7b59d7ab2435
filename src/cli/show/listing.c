/* SPDX-License-Identifier: MIT */
/* Shows a scan. */
#include "cli/show/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/render.h"

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
	if (by == COLUMN_WAITERS)
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

const char *listing_state(const struct lock_seen *l)
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

const char *listing_time(int64_t ms, char *buf, size_t size)
{
	if (ms < 0)
		buf[0] = '\0';
	else
		(void)format_seconds(ms, buf, size);
	return buf;
}

static void add_row(struct table *t, const struct lock_seen *l)
{
	const struct view_holder *h = &l->holder;
	char text[ABOUT_MAX + SLOT_NAME_SHOWN + 40];
	bool held = l->holders > 0;

	table_cell(t, "%s", l->shown);
	table_cell(t, "%s", listing_state(l));
	table_cell(t, "%s", host_text(l, text, sizeof(text)));
	table_cell(t, "%s", h->about[ABOUT_PID]);
	table_cell(t, "%s", h->about[ABOUT_USER]);
	table_cell(t, "%s", h->about[ABOUT_COMMAND]);
	table_cell(t, "%s",
		   listing_time(held ? l->held_ms : -1, text, sizeof(text)));
	table_cell(t, "%s",
		   held && h->left_ms < 0 ? "never"
					  : listing_time(held ? h->left_ms : -1,
							 text, sizeof(text)));
	table_cell(t, "%" PRId64, l->in_line);
}

int listing_print(const struct listing *l, FILE *out)
{
	static const char *const names[] = {"KEY",  "STATE", "HOLDER",
					    "PID",  "USER",  "COMMAND",
					    "HELD", "LEFT",  "WAITING"};
	enum { PID = 3, USER, COMMAND, HELD, LEFT, WAITING };
	static const unsigned char resort[] = {COMMAND, USER, PID, WAITING,
					       LEFT};
	const int columns = sizeof(names) / sizeof(names[0]);
	struct table t;

	if (l->rows == 0)
		return 0;
	table_begin(&t, columns);
	memcpy(t.resort, resort, sizeof(resort));
	for (int i = 0; i < columns; i++)
		table_cell(&t, "%s", names[i]);
	for (int i = 0; i < l->rows; i++)
		add_row(&t, l->row[i]);
	return table_print(&t, "", out);
}

/* ---- for programs ---- */

static void json_nodes(const struct scan *c, struct json *j)
{
	json_list(j, "nodes");
	for (int i = 0; i < c->query->servers.n; i++) {
		json_item(j);
		json_text(j, "name", c->query->servers.endpoint[i].name);
		json_text(j, "state", c->node[i].down ? "down" : "up");
		if (c->query->replica[i].kind != FAIL_NONE)
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
