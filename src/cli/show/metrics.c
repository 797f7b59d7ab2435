/* SPDX-License-Identifier: MIT */
/* Metrics: all samples of one name stand together. */
#include "cli/show/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/history/history.h"

/* Counts from the history of a lock. */
struct tally {
	bool known;
	bool none;      /* it is free, and has no history */
	double success; /* seconds since 1970; 0: none */
	int64_t lost, forced;
};

struct metric {
	const char *name, *help;
	/* -1: it has none */
	double (*of)(const struct lock_seen *l, const struct tally *t);
};

static double is_held(const struct lock_seen *l, const struct tally *t)
{
	(void)t;
	return l->state == VIEW_HELD;
}

static double held_for(const struct lock_seen *l, const struct tally *t)
{
	(void)t;
	return l->holders > 0 && l->held_ms >= 0 ? (double)l->held_ms / 1000
						 : -1;
}

static double waiters(const struct lock_seen *l, const struct tally *t)
{
	(void)t;
	return (double)l->in_line;
}

static double success(const struct lock_seen *l, const struct tally *t)
{
	(void)l;
	return t->success > 0 ? t->success : -1;
}

static double lost(const struct lock_seen *l, const struct tally *t)
{
	(void)l;
	return t->known ? (double)t->lost : -1;
}

static double forced(const struct lock_seen *l, const struct tally *t)
{
	(void)l;
	return t->known ? (double)t->forced : -1;
}

static const struct metric metrics[] = {
	{"redlock_held", "1 if the lock is held.", is_held},
	{"redlock_held_seconds", "How long ago the first holder acquired it.",
	 held_for},
	{"redlock_waiters", "Clients that wait for the lock.", waiters},
	{"redlock_last_success_timestamp_seconds",
	 "When the latest successful run in the history ended.", success},
	{"redlock_history_lost", "Holds in the history that were lost.", lost},
	{"redlock_history_forced",
	 "Holds in the history that force-release ended.", forced},
};

static void put_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

static void head(FILE *out, const char *name, const char *help)
{
	(void)fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void servers(const struct scan *c, bool complete, FILE *out)
{
	head(out, "redlock_complete", "1 if nothing is missing here.");
	(void)fprintf(out, "redlock_complete %d\n", complete);
	head(out, "redlock_server_up", "1 if the server answered.");
	for (int i = 0; i < c->query->servers.n; i++) {
		(void)fputs("redlock_server_up{server=\"", out);
		put_label(out, c->query->servers.endpoint[i].name);
		(void)fprintf(out, "\"} %d\n",
			      !c->node[i].down &&
				      !fanout_is_down(&c->query->fanout, i));
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
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		head(out, metrics[m].name, metrics[m].help);
		for (int i = 0; i < l->rows; i++) {
			double value = metrics[m].of(l->row[i], &t[i]);

			if (value < 0 || t[i].none)
				continue;
			(void)fprintf(out, "%s{key=\"", metrics[m].name);
			put_label(out, l->row[i]->shown);
			(void)fprintf(out, "\"} %.15g\n", value);
		}
	}
	free(t);
	return 0;
}
