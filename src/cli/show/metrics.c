/* SPDX-License-Identifier: MIT */
/* Metrics: all samples of one name stand together. */
#include "cli/show/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/history/history.h"

/* Counts from the history of a lock. */
struct tally {
	bool known;
	bool none;      /* it is free, and has no history */
	double success; /* seconds since 1970; 0: none */
	int64_t lost, forced;
};

enum metric { IS_HELD, HELD_FOR, WAITERS, SUCCESS, LOST, FORCED, METRICS };

static const char *const names[METRICS][2] = {
	[IS_HELD] = {"redlock_held", "1 if the lock is held."},
	[HELD_FOR] = {"redlock_held_seconds",
		      "How long it has been held, by the oldest holder."},
	[WAITERS] = {"redlock_waiters", "Clients that wait for the lock."},
	[SUCCESS] = {"redlock_last_success_timestamp_seconds",
		     "When the latest successful run in the history ended."},
	[LOST] = {"redlock_history_lost",
		  "Holds in the history that were lost."},
	[FORCED] = {"redlock_history_forced",
		    "Holds in the history that force-release ended."},
};

/* -1: it has none */
static double value_of(enum metric m, const struct lock_seen *l,
		       const struct tally *t)
{
	switch (m) {
	case IS_HELD:
		return l->state == VIEW_HELD;
	case HELD_FOR:
		return l->holders > 0 && l->held_ms >= 0
			       ? (double)l->held_ms / 1000
			       : -1;
	case WAITERS:
		return (double)l->in_line;
	case SUCCESS:
		return t->success > 0 ? t->success : -1;
	case LOST:
		return t->known ? (double)t->lost : -1;
	case FORCED:
		return t->known ? (double)t->forced : -1;
	case METRICS:
		break;
	}
	return -1;
}

static void put_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

/* All of it: of two long keys that begin alike, each has its series. */
static void put_key(const struct lock_seen *l, FILE *out)
{
	size_t size = 4 * l->len + 1;
	char *text = malloc(size);

	if (text)
		put_label(out, format_bytes(l->key, l->len, text, size));
	free(text);
}

static void head(FILE *out, const char *name, const char *help)
{
	(void)fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void servers(const struct scan *c, bool complete, FILE *out)
{
	head(out, "redlock_complete", "1 if nothing is missing here.");
	(void)fprintf(out, "redlock_complete %d\n",
		      complete && !query_replica(c->query));
	head(out, "redlock_server_up", "1 if the server answered.");
	for (int i = 0; i < c->query->servers.n; i++) {
		(void)fputs("redlock_server_up{server=\"", out);
		put_label(out, c->query->servers.endpoint[i].name);
		(void)fprintf(out, "\"} %d\n",
			      scan_is_up(c, i) &&
				      !fanout_is_down(&c->query->fanout, i));
	}
	head(out, "redlock_server_replica",
	     "1 if the server is a replica, which may be behind its master.");
	for (int i = 0; i < c->query->servers.n; i++) {
		(void)fputs("redlock_server_replica{server=\"", out);
		put_label(out, c->query->servers.endpoint[i].name);
		(void)fprintf(out, "\"} %d\n", query_is_replica(c->query, i));
	}
}

/* A lock without a readable history has no samples. If the servers could not be
 * asked, it goes to *missing. */
static void count(struct query *query, const struct lock_seen *l,
		  struct tally *t, struct fail *missing)
{
	struct history h = {0};
	struct fail why;

	t->known = history_read(query, l->key, l->len, 0, &h, &why) == 0;
	if (!t->known && why.kind != FAIL_REFUSED && missing->kind == FAIL_NONE)
		*missing = why;
	t->none = t->known && h.holds == 0 && !lockset_in_use(l);
	for (int i = 0; i < h.holds; i++) {
		const struct history_hold *p = &h.hold[i];
		double ended = (double)p->ended_ms / 1000;

		if (strcmp(p->outcome, "ran") == 0 && ended > t->success)
			t->success = ended;
		t->lost += strcmp(p->outcome, "lost") == 0;
		t->forced += strcmp(p->outcome, "forced") == 0;
	}
	history_close(&h);
}

int metrics_print(const struct listing *l, const struct scan *c,
		  struct fail *missing, FILE *out)
{
	struct tally *t = calloc((size_t)l->rows + 1, sizeof(*t));

	if (!t)
		return -1;
	for (int i = 0; i < l->rows; i++)
		count(c->query, l->row[i], &t[i], missing);
	servers(c, missing->kind == FAIL_NONE, out);
	for (enum metric m = IS_HELD; m < METRICS; m++) {
		head(out, names[m][0], names[m][1]);
		for (int i = 0; i < l->rows; i++) {
			double value = value_of(m, l->row[i], &t[i]);

			if (value < 0 || t[i].none)
				continue;
			(void)fprintf(out, "%s{key=\"", names[m][0]);
			put_key(l->row[i], out);
			(void)fprintf(out, "\"} %.15g\n", value);
		}
	}
	free(t);
	return 0;
}
