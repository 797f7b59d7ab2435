/* SPDX-License-Identifier: MIT */
/* Who holds a lock, who waits for it, and what looks wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/show/block.h"
#include "cli/query.h"
#include "cli/render.h"
#include "lock/wire/record.h"
#include "run/describe.h"

/* One key, and what is known of it. */
struct inspection {
	const struct query *query;
	const char *key;
	char shown[256];
	struct snapshot seen;
	enum view_state state;
	const char *token; /* whose hold is asked about; NULL: nobody's */
	enum { MINE_YES, MINE_NO, MINE_UNKNOWN } mine;
};

static void json_waiters(struct json *j, const struct view *v)
{
	json_number(j, "in_line", v->in_line);
	json_list(j, "waiters");
	for (int i = 0; i < listed_waiters(v); i++) {
		const struct view_waiter *w = &v->waiter[i];

		json_item(j);
		json_number(j, "place", i + 1);
		json_time(j, "since", w->since_ms);
		json_about_flat(j, w->about);
		json_bool(j, "shared", w->reads);
		json_number(j, "slots", w->slots);
		json_text(j, "priority", w->high ? "high" : "normal");
		json_number(j, "silent_ms", w->silent_ms);
		json_close(j);
	}
	json_end(j);
}

static void json_nodes(struct json *j, const struct inspection *in)
{
	const struct view *v = &in->seen.view;

	json_list(j, "nodes");
	for (int i = 0; i < in->query->servers.n; i++) {
		const struct view_holder *h = NULL;

		for (int k = 0; !h && k < v->holders; k++)
			if (v->holder[k].nodes & 1U << i)
				h = &v->holder[k];
		json_item(j);
		json_text(j, "name", in->query->servers.endpoint[i].name);
		json_text(j, "state",
			  h                                ? "held"
			  : v->answers & 1U << i           ? "free"
			  : query_is_replica(in->query, i) ? "replica"
							   : "down");
		if (h) {
			json_text(j, "token", h->token);
			json_left(j, "ttl_left_ms", h->left_at[i]);
		}
		if (query_is_replica(in->query, i))
			json_bool(j, "replica", true);
		if (in->seen.why[i].kind != FAIL_NONE)
			json_text(j, "error", in->seen.why[i].text);
		json_close(j);
	}
	json_end(j);
}

static void json_problem(void *arg, const char *text)
{
	json_word(arg, text);
}

/* `number`: the name of its number; NULL: it is that of a label. */
static void json_mark(struct json *j, const struct view *v, const char *name,
		      const char *number, const struct view_mark *mark)
{
	if (v->answers == 0 || mark->number < 0)
		return;
	json_open(j, name);
	if (number)
		json_number(j, number, mark->number);
	else
		json_bytes(j, "name", v->label_text, strlen(v->label_text));
	json_time(j, "since", mark->since_ms);
	json_about_flat(j, mark->about);
	if (mark->end.outcome[0] != '\0')
		json_text(j, "outcome", mark->end.outcome);
	if (mark->end.status >= 0)
		json_number(j, "exit", mark->end.status);
	if (mark->end.signal > 0)
		json_number(j, "signal", mark->end.signal);
	json_close(j);
}

/* `broken`: why too few servers answered, so that nobody knows who holds it; or
 * NULL. */
static void json_all(const struct inspection *in, const struct fail *broken)
{
	const struct view *v = &in->seen.view;
	struct json j = {.f = stdout};

	json_text(&j, "schema", "redlock.inspect/1");
	json_bytes(&j, "key", in->key, strlen(in->key));
	json_text(&j, "state", broken ? "unknown" : view_state_name(in->state));
	if (broken)
		json_text(&j, "error", broken->text);
	json_text(&j, "scope",
		  query_is_host_only(in->query) ? "host" : "shared");
	if (in->token && in->mine == MINE_UNKNOWN)
		json_null(&j, "mine");
	else if (in->token)
		json_bool(&j, "mine", in->mine == MINE_YES);
	json_number(&j, "counter", v->counter);
	if (view_fence(v) >= 0)
		json_number(&j, "fence", view_fence(v));
	json_mark(&j, v, "once", "left_ms", &v->once);
	json_mark(&j, v, "label", NULL, &v->label);
	json_mark(&j, v, "revision", "number", &v->revision);
	if (v->holders > 0)
		json_hold(&j, &v->holder[0]);
	json_number(&j, "holders", v->in_all);
	json_list(&j, "others");
	for (int i = 1; i < listed_holders(v); i++) {
		json_item(&j);
		json_hold(&j, &v->holder[i]);
		if (v->holder[i].fence > 0)
			json_number(&j, "fence", v->holder[i].fence);
		json_close(&j);
	}
	json_end(&j);
	json_waiters(&j, v);
	json_nodes(&j, in);
	json_list(&j, "problems");
	find_problems(in->query, &in->seen, json_problem, &j);
	json_end(&j);
	json_close(&j);
	(void)putchar('\n');
}

/* ---- is it mine? ---- */

/* The token that was typed, or that of the run around us, if it is of this
 * key. */
static const char *token_of(const struct opts *o)
{
	const char *key = getenv("REDLOCK_KEY");
	const char *token = getenv("REDLOCK_TOKEN");

	if (o->token || o->max_age_ms > 0)
		return o->token;
	if (o->keys > 1 || !token || token[0] == '\0' ||
	    (key && strcmp(key, o->key[0]) != 0))
		return NULL;
	return token;
}

/* A client that shares a hold has the token of the family. */
static bool has_token(const struct view_holder *h, const char *token)
{
	return h->how < HOLD_RESTS &&
	       (strcmp(h->token, token) == 0 ||
		(h->value_len == strlen(token) &&
		 memcmp(h->value, token, h->value_len) == 0));
}

/* Without an entry it may still be ours: a silent server may have it, and after
 * a loss of data its redlock registers it again. */
static void find_mine(struct inspection *in)
{
	const struct view *v = &in->seen.view;
	const char *key = getenv("REDLOCK_KEY");
	const char *fence = getenv("REDLOCK_FENCE");
	int n = in->query->servers.n, q = lease_quorum(n), has, silent;
	int64_t seen = 0;
	unsigned int nodes = 0, foreign = 0;

	if (fence && key && strcmp(key, in->key) == 0)
		seen = parse_number(fence, 0, INT64_MAX / 2);
	for (int i = 0; i < v->holders; i++)
		if (v->holder[i].how == HOLD_FOREIGN)
			foreign |= v->holder[i].nodes;
	for (int i = 0; i < v->holders; i++)
		if (has_token(&v->holder[i], in->token))
			nodes |= v->holder[i].nodes &
				 (v->holder[i].slot == 0 ? ~foreign : ~0U);
	has = __builtin_popcount(nodes);
	silent = n - __builtin_popcount(v->answers);
	if (has >= q && !query_replica(in->query))
		in->mine = MINE_YES;
	else if (query_replica(in->query) || has + silent >= q ||
		 v->shut_ms > 0 || v->counter < seen)
		in->mine = MINE_UNKNOWN;
	else
		in->mine = MINE_NO;
}

static int answer_mine(const struct inspection *in, const struct opts *o)
{
	static const char *const words[] = {[MINE_YES] = "yes",
					    [MINE_NO] = "no",
					    [MINE_UNKNOWN] = "not known"};

	if (!o->json)
		(void)printf("  mine      %s\n", words[in->mine]);
	if (in->mine != MINE_UNKNOWN)
		return in->mine == MINE_YES ? STATUS_OK : STATUS_FREE;
	log_error("unknown",
		  "whether it is held with this token is not known: %s",
		  query_replica(in->query) ? "the server is a replica"
		  : in->seen.view.answers == (1U << in->query->servers.n) - 1
			  ? "the server has lost data, and may hear of it again"
			  : "not all servers answered");
	return status_of_kind(FAIL_UNAVAILABLE);
}

/* ---- for monitoring ---- */

static void first_problem(void *arg, const char *text)
{
	char *first = arg;

	if (first[0] == '\0')
		(void)snprintf(first, 400, "%s", text);
}

/* One line, and the statuses of Nagios' plugins. */
static int check_age(struct inspection *in, int64_t most_ms)
{
	const struct view *v = &in->seen.view;
	char who[860] = "free", problem[400] = "", limit[32];
	struct sight s;
	int64_t since;

	find_problems(in->query, &in->seen, first_problem, problem);
	snapshot_oldest_first(&in->seen, in->query->servers.n);
	since = v->holders > 0 ? v->holder[0].since_ms : 0;
	view_sight(v, &s);
	if (v->holders > 0)
		(void)describe_holder(&s, 0, who, sizeof(who));
	if (since > 0 && v->now_ms - since > most_ms) {
		(void)printf("CRITICAL: %s: %s; longer than %s%s%s\n",
			     in->shown, who,
			     format_limit(most_ms, limit, sizeof(limit)),
			     problem[0] ? "; " : "", problem);
		return STATUS_CRITICAL;
	}
	if (problem[0] == '\0' && v->holders > 0 && since <= 0)
		(void)snprintf(problem, sizeof(problem),
			       "since when is not known");
	(void)printf("%s: %s: %s%s%s\n", problem[0] ? "WARNING" : "OK",
		     in->shown, who, problem[0] ? "; " : "", problem);
	return problem[0] ? STATUS_FREE : STATUS_OK;
}

static int inspect_one(struct query *query, const char *key,
		       const struct opts *o, bool last)
{
	static struct inspection in;
	struct fail why;
	int status;

	in = (struct inspection){.query = query,
				 .key = key,
				 .token = token_of(o),
				 .mine = MINE_UNKNOWN};
	(void)format_bytes(key, strlen(key), in.shown, sizeof(in.shown));
	log_key(in.shown, key, strlen(key));
	if (query_lock(query, key, strlen(key),
		       &(struct view_most){.holders = LISTED_MOST,
					   .waiters = LISTED_MOST,
					   .whose = in.token},
		       &in.seen, &why) < 0) {
		status = report_failure(&why);
		if (o->json)
			json_all(&in, &why);
		snapshot_close(&in.seen);
		return o->max_age_ms > 0 ? check_unknown(in.shown, why.text)
					 : status;
	}
	in.state = view_state(&in.seen.view, query->servers.n);
	if (in.token)
		find_mine(&in);
	status = in.state == VIEW_FREE ? STATUS_FREE : STATUS_OK;
	if (o->max_age_ms > 0)
		status = check_age(&in, o->max_age_ms);
	else if (o->json)
		json_all(&in, NULL);
	else
		block_print(query, in.shown, &in.seen, stdout);
	if (in.token && o->max_age_ms == 0)
		status = answer_mine(&in, o);
	if (o->max_age_ms == 0 && !o->json && !last)
		(void)putchar('\n');
	snapshot_close(&in.seen);
	return status;
}

/* The worst status of several keys. */
static int inspect(const struct opts *o)
{
	static struct query query;
	struct fail why;
	const char *text = NULL;
	int status = STATUS_OK, its;

	if (o->token && o->max_age_ms > 0)
		text = "--max-age and --token cannot be combined";
	else if (o->max_age_ms > 0 && o->json)
		text = "--max-age and --json cannot be combined";
	else if (o->token && o->keys > 1)
		text = "--token is of one key";
	if (text) {
		log_error("usage", "%s", text);
		return o->max_age_ms > 0 ? check_unknown("", text)
					 : STATUS_USAGE;
	}
	if (query_open(&query, o, &why) < 0) {
		status = report_failure(&why);
		if (o->max_age_ms > 0)
			status = check_unknown("", why.text);
	} else {
		query_once(&query);
		for (int i = 0; i < o->keys; i++) {
			its = inspect_one(&query, o->key[i], o,
					  i + 1 == o->keys);

			if (o->max_age_ms > 0)
				status = check_worse(its, status);
			else
				status = its > status ? its : status;
		}
	}
	query_close(&query);
	its = render_end(status);
	return o->max_age_ms > 0 && its > STATUS_UNKNOWN ? STATUS_UNKNOWN : its;
}

const struct command cmd_inspect = {
	.name = "inspect",
	.usage = "[OPTIONS] KEY...",
	.summary = "Shows who holds a lock, who waits, and any problems",
	.example = {"redlock inspect deploy",
		    "redlock inspect deploy nightly --json"},
	.by = BY_INSPECT,
	.operands = OPERANDS_KEYS,
	.run = inspect,
};
