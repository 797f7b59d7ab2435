/* SPDX-License-Identifier: MIT */
/* The latest holds of a lock: a table, JSON, or a picture. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/query.h"
#include "cli/history/history.h"
#include "cli/render.h"
#include "lock/wire/record.h"

/* ---- answering ---- */

/* Leaves out a column that is empty everywhere. */
struct shown {
	bool slots, reasons;
};

static const char *or_dash(const char *text)
{
	return text[0] != '\0' ? text : "-";
}

static void add_row(struct table *t, const struct history_hold *p,
		    const struct shown *columns)
{
	const char *host = p->about[ABOUT_HOST], *user = p->about[ABOUT_USER];
	char date[48], held[32], waited[32] = "-", ending[ENDING_SIZE];

	if (p->waited_ms >= 0)
		(void)format_duration(p->waited_ms, waited, sizeof(waited));
	table_cell(t, "%s", wall_zoned(p->since_ms / 1000, date, sizeof(date)));
	/* "ann@web1" */
	table_cell(t, "%s%s%s", host[0] ? user : "",
		   host[0] && user[0] ? "@" : "", or_dash(host));
	table_cell(t, "%s", or_dash(p->about[ABOUT_PID]));
	table_cell(t, "%s", or_dash(p->about[ABOUT_COMMAND]));
	table_cell(t, "%s", waited);
	table_cell(t, "%s", format_duration(p->held_ms, held, sizeof(held)));
	if (columns->slots && p->slot_name[0] != '\0')
		table_cell(t, "%" PRId64 " (%s)", p->slot, p->slot_name);
	else if (columns->slots && p->slot >= 0)
		table_cell(t, "%" PRId64, p->slot);
	else if (columns->slots)
		table_cell(t, "-");
	if (p->fence > 0)
		table_cell(t, "%" PRId64, p->fence);
	else
		table_cell(t, "-");
	if (columns->reasons)
		table_cell(t, "%s", or_dash(p->about[ABOUT_REASON]));
	table_cell(t, "%s", hold_ending(p, ending));
}

/* A terminal of 80 columns has no room for pid, fence and reason. */
static int print_table(const struct history *h)
{
	static const char *const names[] = {"WHEN",    "WHO",    "PID",
					    "COMMAND", "WAITED", "HELD"};
	enum { PID = 2, NAMES = sizeof(names) / sizeof(names[0]) };
	struct shown columns = {0};
	struct table t;

	for (int i = 0; i < h->holds; i++) {
		columns.slots |= h->hold[i].slot >= 0;
		columns.reasons |= h->hold[i].about[ABOUT_REASON][0] != '\0';
	}
	table_begin(&t, NAMES + 2 + columns.slots + columns.reasons);
	t.wraps = true;
	t.whole = 1;
	t.spare = 1U << PID | 1U << (NAMES + columns.slots);
	if (columns.reasons)
		t.resort[0] = (unsigned char)(NAMES + columns.slots + 1);
	for (int i = 0; i < NAMES; i++)
		table_cell(&t, "%s", names[i]);
	if (columns.slots)
		table_cell(&t, "SLOT");
	table_cell(&t, "FENCE");
	if (columns.reasons)
		table_cell(&t, "REASON");
	table_cell(&t, "OUTCOME");
	for (int i = 0; i < h->holds; i++)
		add_row(&t, &h->hold[i], &columns);
	return table_print(&t, "", stdout);
}

static void json_or_null(struct json *j, const char *name, int64_t n)
{
	if (n >= 0)
		json_number(j, name, n);
	else
		json_null(j, name);
}

static void json_line(const struct history_hold *p, const char *key,
		      bool replica)
{
	struct json j = {.f = stdout};

	json_text(&j, "schema", "redlock.history/1");
	json_bytes(&j, "key", key, strlen(key));
	json_number(&j, "fence", p->fence);
	json_text(&j, "token", p->token);
	if (p->slot >= 0)
		json_number(&j, "slot", p->slot);
	if (p->slot_name[0] != '\0')
		json_text(&j, "slot_name", p->slot_name);
	json_about_flat(&j, p->about);
	json_time(&j, "since", p->since_ms);
	json_or_null(&j, "waited_ms", p->waited_ms);
	json_number(&j, "held_ms", p->held_ms);
	json_text(&j, "outcome", p->outcome);
	json_or_null(&j, "exit", p->status);
	json_or_null(&j, "signal", p->signal);
	if (p->by[0] != '\0')
		json_text(&j, "by", p->by);
	if (replica)
		json_bool(&j, "replica", true);
	json_close(&j);
	(void)putchar('\n');
}

static int answer(const struct history *h, const struct query *query,
		  const struct opts *o, const char *shown)
{
	bool replica = query_replica(query) != NULL;

	if (h->holds == 0)
		log_notice("no-history", "no history");
	if (o->svg)
		timeline_draw(h, shown, stdout);
	for (int i = 0; o->json && i < h->holds; i++)
		json_line(&h->hold[i], o->key[0], replica);
	if (o->svg || o->json || h->holds == 0 || print_table(h) == 0)
		return STATUS_OK;
	log_error("failed", "out of memory");
	return STATUS_INTERNAL;
}

/* ---- for monitoring ---- */

static bool has_succeeded(const struct history_hold *p)
{
	return strcmp(p->outcome, "ran") == 0;
}

/* The latest such hold; NULL: there is none. */
static const struct history_hold *
latest(const struct history *h, bool (*is_one)(const struct history_hold *))
{
	const struct history_hold *found = NULL;

	for (int i = 0; i < h->holds; i++)
		if (is_one(&h->hold[i]) &&
		    (!found || found->ended_ms <= h->hold[i].ended_ms))
			found = &h->hold[i];
	return found;
}

/* One line, and the statuses of Nagios' plugins. (A success that a replica does
 * not have may be on its master; one that it has is a fact.) */
static int check_success(const struct history *h, const struct query *query,
			 const char *shown, int64_t most_ms)
{
	const struct fail *replica = query_replica(query);
	const struct history_hold *good = latest(h, has_succeeded);
	const struct history_hold *last = latest(h, hold_is_judged);
	int64_t age = good ? at_most(h->now_ms, AGES_MS) - good->ended_ms : 0;
	bool old = !good || age > most_ms, worse = good != last || replica;
	char when[48], ago[32], limit[32], ending[ENDING_SIZE] = "";

	(void)printf("%s: %s: ",
		     old && replica ? "UNKNOWN"
		     : old          ? "CRITICAL"
		     : worse        ? "WARNING"
				    : "OK",
		     shown);
	(void)format_limit(most_ms, limit, sizeof(limit));
	if (good)
		(void)printf(
			"last success %s ago (%s)",
			format_seconds(age > 0 ? age : 0, ago, sizeof(ago)),
			wall_since(good->ended_ms / 1000, when, sizeof(when)));
	else
		(void)fputs("no success in the history", stdout);
	if (good && old)
		(void)printf(", more than %s", limit);
	if (last && good != last)
		(void)printf("; the last run: %s", hold_ending(last, ending));
	if (replica)
		(void)printf("; %s", replica->text);
	(void)putchar('\n');
	if (old)
		return replica ? STATUS_UNKNOWN : STATUS_CRITICAL;
	return worse ? STATUS_FREE : STATUS_OK;
}

/* ---- the verb ---- */

static int check_forms(const struct opts *o)
{
	const char *text;

	if (o->last_success_ms > 0 && (o->svg || o->json || o->since_ms > 0))
		text = "--last-success cannot be combined with --since, --svg "
		       "or --json";
	else if (o->svg && o->json)
		text = "--svg and --json cannot be combined";
	else
		return STATUS_OK;
	log_error("usage", "%s", text);
	return o->last_success_ms > 0 ? check_unknown("", text) : STATUS_USAGE;
}

/* Fewer servers than a quorum may not know everything, but it is better than
 * nothing; for a check it is not enough. */
static int show(struct query *query, const struct opts *o, const char *shown)
{
	const char *key = o->key[0];
	struct history h = {0};
	struct fail why, unknown = {0};
	int status = STATUS_OK, rc, its;

	if (o->last_success_ms > 0)
		rc = history_read(query, key, strlen(key), 0, &h, &why);
	else
		rc = history_read_open(query, key, strlen(key), o->since_ms, &h,
				       &unknown, &why);
	if (rc < 0)
		status = report_failure(&why);
	else if (unknown.kind != FAIL_NONE)
		log_notice("incomplete", "the present holder is unknown: %s",
			   unknown.text);
	if (o->last_success_ms == 0 || !query_replica(query))
		query_say_replicas(query); /* else the check does */
	if (o->last_success_ms > 0) {
		status = rc < 0 ? check_unknown(shown, why.text)
				: check_success(&h, query, shown,
						o->last_success_ms);
	} else if (h.holds > 0 || status == STATUS_OK) {
		its = answer(&h, query, o, shown);
		status = status == STATUS_OK ? its : status;
	}
	history_close(&h);
	return status;
}

static int history(const struct opts *o)
{
	static struct query query;
	static char shown[256]; /* borrowed by the log */
	bool check = o->last_success_ms > 0;
	int status = check_forms(o);
	struct fail why;

	if (status != STATUS_OK)
		return status;
	(void)format_bytes(o->key[0], strlen(o->key[0]), shown, sizeof(shown));
	log_key(shown, o->key[0], strlen(o->key[0]));
	if (query_open(&query, o, &why) < 0) {
		status = report_failure(&why);
		if (check)
			status = check_unknown(shown, why.text);
	} else {
		query_once(&query);
		status = show(&query, o, shown);
	}
	query_close(&query);
	status = render_end(status);
	return check && status > STATUS_UNKNOWN ? STATUS_UNKNOWN : status;
}

const struct command cmd_history = {
	.name = "history",
	.usage = "[OPTIONS] KEY",
	.summary = "Shows the latest holds: who, when, how long, how it ended",
	.example = {"redlock history deploy --since 7d",
		    "redlock history deploy --svg >deploy.svg"},
	.by = BY_HISTORY,
	.operands = OPERANDS_KEY,
	.run = history,
};
