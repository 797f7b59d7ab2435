/* SPDX-License-Identifier: MIT */
/* Questions of the verbs that only look. */
#include "cli/query.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "lock/core/timing.h"
#include "lock/wire/history.h"
#include "client/client.h"
#include "client/session.h"

int query_open(struct query *query, const struct opts *o, struct fail *why)
{
	if (servers_find(&query->servers, o, why) < 0)
		return -1;
	return fanout_open(&query->fanout, query->servers.endpoint,
			   query->servers.n,
			   servers_timeout(&query->servers, o->ttl_ms), why);
}

/* A SCAN of a server with many millions of keys takes as long. */
#define ONCE_MS 60000
#define ONCE_TIMEOUTS 60

void query_once(struct query *query)
{
	int64_t ms = ONCE_TIMEOUTS * query->fanout.timeout_ms;

	fanout_limit(&query->fanout, ms > ONCE_MS ? ms : ONCE_MS);
}

int64_t query_limit(const struct opts *o, bool answered)
{
	return o->wait_ms == INT64_MAX && !answered ? UNREACHED_MS : o->wait_ms;
}

void query_try(struct query *query, int64_t limit_ms)
{
	int64_t left = between(now(), after(query->servers.began, limit_ms));

	if (limit_ms == INT64_MAX)
		fanout_limit(&query->fanout, limit_ms);
	else if (limit_ms > 0)
		fanout_limit(&query->fanout,
			     left > LAST_LOOK_MS ? left : LAST_LOOK_MS);
}

int query_gave_up(const struct query *query, const struct opts *o,
		  const struct fail *why)
{
	int64_t ms = between(query->servers.began, now());
	char took[32];

	if (o->wait_ms <= 0)
		return report_failure(why);
	log_error("failed", "gave up after %s: %s",
		  format_duration(ms, took, sizeof(took)), why->text);
	return status_of_kind(why->kind);
}

void query_close(struct query *query)
{
	fanout_close(&query->fanout);
}

bool query_is_host_only(const struct query *query)
{
	return query->servers.endpoint[0].kind == ENDPOINT_LOCAL;
}

/* `most`: of its view; NULL: its history. */
static int ask_about(struct query *query, int target, const char *key,
		     size_t len, const struct view_most *most, int64_t tag)
{
	const struct endpoint *ep =
		&query->servers.endpoint[fanout_node(&query->fanout, target)];
	struct request request;
	struct keys keys;
	int rc;

	if (keys_init(&keys, key, len, "") < 0)
		return -1;
	if (most)
		view_request(&request, &keys, most, session_db(ep));
	else
		history_request(&request, &keys, session_db(ep));
	rc = fanout_call(&query->fanout, target, &request.words, request.sha,
			 tag);
	keys_close(&keys);
	return rc;
}

int query_ask(struct query *query, int target, const char *key, size_t len,
	      const struct view_most *most, int64_t tag)
{
	return ask_about(query, target, key, len, most, tag);
}

int query_ask_history(struct query *query, int node, const char *key,
		      size_t len)
{
	return ask_about(query, node, key, len, NULL, node);
}

struct fail query_heard(struct query *query, int node, const char *master)
{
	struct fail *replica = &query->replica[node];
	bool several = query->servers.n > 1;

	*replica = (struct fail){.kind = FAIL_NONE};
	if (master[0] == '\0')
		return *replica;
	(void)fail(replica, FAIL_UNAVAILABLE, "%s: a replica of %s%s",
		   query->servers.endpoint[node].name, master,
		   several ? ", which does not vote"
			   : ", which may not know of the latest changes: "
			     "name the master");
	return several ? *replica : (struct fail){.kind = FAIL_NONE};
}

static void copy_value(const char *info, const char *name, char *buf,
		       size_t size)
{
	const char *at = strstr(info, name);

	at = at ? at + strlen(name) : "?";
	(void)format_bytes(at, strcspn(at, "\r\n"), buf, size);
}

const char *query_master(const struct reply *info, char buf[MASTER_SHOWN])
{
	char host[MASTER_SHOWN - 10], port[8];

	buf[0] = '\0';
	if (info->kind != REPLY_TEXT || !strstr(info->bytes, "role:slave"))
		return buf;
	copy_value(info->bytes, "master_host:", host, sizeof(host));
	copy_value(info->bytes, "master_port:", port, sizeof(port));
	(void)snprintf(buf, MASTER_SHOWN, "%s:%s", host, port);
	return buf;
}

bool query_is_replica(const struct query *query, int node)
{
	return query->replica[node].kind != FAIL_NONE;
}

const struct fail *query_replica(const struct query *query)
{
	return query->servers.n == 1 && query_is_replica(query, 0)
		       ? &query->replica[0]
		       : NULL;
}

void query_say_replicas(struct query *query)
{
	for (int i = 0; i < query->servers.n; i++) {
		if (!query_is_replica(query, i) ||
		    query->said_replicas & 1U << i)
			continue;
		query->said_replicas |= 1U << i;
		log_error("replica", "%s", query->replica[i].text);
	}
}

void snapshot_take(struct query *query, struct snapshot *s,
		   const struct got *got)
{
	struct fail *why = &s->why[got->node];
	char buf[MASTER_SHOWN];
	const char *master =
		got->why.kind == FAIL_NONE ? view_master(got->reply, buf) : "";

	*why = query_heard(query, got->node, master);
	if (got->why.kind != FAIL_NONE)
		*why = got->why;
	if (why->kind == FAIL_NONE)
		(void)view_add(&s->view, got->reply, got->node, why);
}

static void say_missing(const struct query *query, int good,
			const struct fail node_why[NODES_MAX], struct fail *why)
{
	int n = query->servers.n;
	size_t used =
		(size_t)snprintf(why->text, sizeof(why->text), TOO_FEW_ANSWERED,
				 good, n, lease_quorum(n));

	why->kind = FAIL_UNAVAILABLE;
	for (int i = 0; i < n && used < sizeof(why->text); i++) {
		if (node_why[i].kind == FAIL_NONE)
			continue;
		if (why->kind == FAIL_UNAVAILABLE)
			why->kind = node_why[i].kind;
		used += (size_t)snprintf(why->text + used,
					 sizeof(why->text) - used, "; %.150s",
					 node_why[i].text);
	}
}

int query_enough(const struct query *query, unsigned int answers,
		 const struct fail node_why[NODES_MAX], struct fail *why)
{
	int n = query->servers.n, good = __builtin_popcount(answers);

	if (good >= lease_quorum(n))
		return 0;
	if (n > 1)
		say_missing(query, good, node_why, why);
	else
		*why = node_why[0];
	if (why->kind == FAIL_UNAVAILABLE && !query->servers.asked_for) {
		size_t used = strlen(why->text);

		(void)snprintf(why->text + used, sizeof(why->text) - used, "%s",
			       NAME_A_SERVER);
	}
	return -1;
}

int query_done(struct query *query, struct snapshot *s, struct fail *why)
{
	view_finish(&s->view, query->servers.n);
	return query_enough(query, s->view.answers, s->why, why);
}

int query_lock(struct query *query, const char *key, size_t len,
	       const struct view_most *most, struct snapshot *out,
	       struct fail *why)
{
	struct got got;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < query->servers.n; i++)
		if (query_ask(query, i, key, len, most, i) < 0)
			return fail_memory(why);
	while (fanout_get(&query->fanout, &got))
		snapshot_take(query, out, &got);
	return query_done(query, out, why);
}

void snapshot_close(struct snapshot *s)
{
	view_close(&s->view);
}

void snapshot_oldest_first(struct snapshot *s, int nodes)
{
	struct view *v = &s->view;
	struct view_holder first;
	int oldest = 0;

	for (int i = 1; i < v->holders; i++)
		if (v->holder[i].since_ms < v->holder[oldest].since_ms &&
		    v->holder[i].since_ms > 0 &&
		    view_quorum(v, &v->holder[i], nodes))
			oldest = i;
	if (oldest > 0) {
		first = v->holder[0];
		v->holder[0] = v->holder[oldest];
		v->holder[oldest] = first;
	}
}

/* ---- a SCAN ---- */

/* It occupies the server for 1 ms at most, and the server does nothing else
 * meanwhile. */
#define SCAN_COUNT 1000
/* A SCAN of a thousand million keys. */
#define PAGES_MAX 1000000

int pages_ask(struct pages *p, struct fanout *s, int target, const char *match,
	      int64_t tag)
{
	struct words w = {0};
	char count[12];

	(void)snprintf(count, sizeof(count), "%d",
		       p->count > 0 ? p->count : SCAN_COUNT);
	words_add_text(&w, "SCAN");
	words_add_text(&w, p->cursor[0] ? p->cursor : "0");
	words_add_text(&w, "MATCH");
	words_add_text(&w, match);
	words_add_text(&w, "COUNT");
	words_add_text(&w, count);
	return fanout_ask(s, target, &w, tag);
}

bool pages_shorten(struct pages *p)
{
	if (p->count == 1)
		return false;
	p->count = (p->count > 0 ? p->count : SCAN_COUNT) / 10;
	return true;
}

/* A SCAN that ends never repeats a cursor. Remembers the cursor whenever the
 * number of pages is a power of 2, which finds a circle after three turns. */
const char *pages_take(struct pages *p, const struct reply *r,
		       const struct reply **names, bool *more)
{
	const struct reply *cursor = reply_item(r, 0);

	*names = reply_item(r, 1);
	*more = false;
	p->count = 0;
	if (!reply_is(r, "[s[s*]]") || cursor->len == 0 ||
	    cursor->len >= sizeof(p->cursor)) {
		*names = reply_item(cursor, 0); /* none */
		return "SCAN: unexpected reply";
	}
	if (strcmp(cursor->bytes, "0") == 0)
		return NULL;
	memcpy(p->cursor, cursor->bytes, cursor->len + 1);
	if (++p->n >= PAGES_MAX || strcmp(p->cursor, p->mark) == 0)
		return "SCAN does not finish";
	if ((p->n & (p->n - 1)) == 0)
		memcpy(p->mark, p->cursor, sizeof(p->mark));
	*more = true;
	return NULL;
}
