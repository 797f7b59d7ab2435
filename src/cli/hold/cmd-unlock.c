/* SPDX-License-Identifier: MIT */
/*
 * unlock and extend: by the token that lock printed. While too few servers
 * answer, they are asked again, for as long as an acquire would be tried: a
 * restart must not leave the lock behind, or fail what goes on under it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/query.h"
#include "cli/render.h"
#include "lock/wire/admin.h"
#include "net/errors.h"
#include "run/describe.h"
#include "client/client.h"
#include "client/session.h"

struct token_use {
	const struct opts *o;
	struct query query;
	struct token_op op;
	int64_t limit_ms, pause_ms;
	struct instant end;
	struct pace pace;
	struct token_node {
		bool answered, was;
		bool unsure; /* an attempt without an answer may have run */
		struct fail why;
	} node[NODES_MAX];
	int yes, no;
	struct fail why; /* too few have answered */
};

#define PAUSE_LEAST_MS 20 /* between attempts; it doubles each time */
#define PAUSE_MOST_MS 500
#define NO_PLACE (-1) /* we are in no line */

/* One of our tokens is 36 of these; send nothing else. */
static bool is_token(const char *text)
{
	return strlen(text) == TOKEN_SIZE - 1 &&
	       strspn(text, "0123456789abcdef-") == TOKEN_SIZE - 1;
}

static int ask_all(struct token_use *a, struct fail *why)
{
	const struct servers *s = &a->query.servers;
	const char *key = a->o->key[0];
	struct request request;
	struct keys keys;
	int rc = 0;

	if (keys_init(&keys, key, strlen(key), a->op.token) < 0)
		return fail_memory(why);
	for (int i = 0; i < s->n && rc == 0; i++) {
		if (a->node[i].answered)
			continue;
		token_op_request(&request, &a->op, &keys,
				 session_db(&s->endpoint[i]));
		rc = fanout_call(&a->query.fanout, i, &request.words,
				 request.sha, i);
	}
	keys_close(&keys);
	return rc < 0 ? fail_memory(why) : 0;
}

/* A replica may say no because it is behind. (Sentinel and a Cluster lead us to
 * a master.) It says so instead: the script answers where it may write. */
static bool is_replica(const struct token_use *a, const struct got *got)
{
	enum endpoint_kind kind = a->query.servers.endpoint[got->node].kind;

	return kind != ENDPOINT_SENTINEL && kind != ENDPOINT_CLUSTER &&
	       error_readonly(got->told.words);
}

/* If an earlier attempt may have released it, a "no" only says that the lock is
 * not ours now. */
static void take(struct token_use *a, const struct got *got)
{
	struct token_node *n = &a->node[got->node];
	bool replica = is_replica(a, got);

	(void)query_heard(&a->query, got->node,
			  replica ? "another server" : "");
	if (replica)
		fanout_leave(&a->query.fanout, got->target, got->why.text);
	n->unsure |= got->ran;
	n->why = got->why;
	n->answered = n->why.kind == FAIL_NONE &&
		      token_op_read(got->reply, &n->was, &n->why) == 0;
	n->was |= n->answered && n->unsure && !a->op.extend;
}

/* Whether too few have answered. */
static bool count(struct token_use *a)
{
	struct fail why[NODES_MAX];
	unsigned int answers = 0;

	a->yes = a->no = 0;
	for (int i = 0; i < a->query.servers.n; i++) {
		struct token_node *n = &a->node[i];

		if (query_is_replica(&a->query, i)) {
			n->answered = false;
			n->why = a->query.replica[i];
		}
		answers |= (unsigned int)n->answered << i;
		a->yes += n->answered && n->was;
		a->no += n->answered && !n->was;
		why[i] = n->why;
	}
	if (a->query.servers.n > 1)
		query_say_replicas(&a->query);
	return query_enough(&a->query, answers, why, &a->why) < 0;
}

/* Says once that the servers are silent, and then now and again. */
static void tell(struct token_use *a)
{
	char how[120];

	if (pace_due(&a->pace, false, a->why.text, NO_PLACE) != TOLD_SILENCE)
		return;
	(void)pace_opening(&a->pace, TOLD_SILENCE, a->limit_ms, how,
			   sizeof(how));
	log_notice("silence", "%s: %s", how, a->why.text);
	pace_told(&a->pace, TOLD_SILENCE, a->why.text, NO_PLACE);
}

static void pause_until(struct token_use *a, struct instant until)
{
	while (before(now(), until)) {
		fanout_poll(&a->query.fanout, NULL, 0,
			    sooner(until, pace_next(&a->pace, false,
						    a->why.text, NO_PLACE)));
		tell(a);
	}
}

/* After a pause, unless it is no use. */
static bool is_tried_again(struct token_use *a)
{
	if (a->why.kind != FAIL_UNAVAILABLE || !before(now(), a->end))
		return false;
	tell(a);
	pause_until(a, sooner(a->end, after(now(), a->pause_ms)));
	a->pause_ms = at_most(2 * a->pause_ms, PAUSE_MOST_MS);
	return true;
}

/* 1: too few have answered. -1: out of memory. */
static int ask_until_known(struct token_use *a, struct fail *why)
{
	struct got got;

	for (;;) {
		query_try(&a->query, a->limit_ms);
		if (ask_all(a, why) < 0)
			return -1;
		while (fanout_get(&a->query.fanout, &got))
			take(a, &got);
		if (!count(a))
			return 0;
		/* an extension counts from when a quorum has it */
		for (int i = 0; i < a->query.servers.n && a->op.extend; i++)
			a->node[i].answered = false;
		if (!is_tried_again(a))
			return 1;
	}
}

/* A replica has been one for as long as we asked. */
static int unknown(struct token_use *a)
{
	for (int i = 0; i < a->query.servers.n; i++)
		if (query_is_replica(&a->query, i) &&
		    a->why.kind == FAIL_UNAVAILABLE)
			a->why.kind = FAIL_CONFIG;
	return a->why.kind == FAIL_UNAVAILABLE || a->why.kind == FAIL_CONFIG
		       ? query_gave_up(&a->query, a->o, &a->why)
		       : report_failure(&a->why);
}

/* Who has it. -1: too few have answered. */
static int look(struct token_use *a, struct snapshot *seen)
{
	const char *key = a->o->key[0];

	query_try(&a->query, a->limit_ms);
	if (query_lock(&a->query, key, strlen(key),
		       &(struct view_most){.holders = 1}, seen, &a->why) < 0)
		return -1;
	if (!query_replica(&a->query))
		return 0;
	a->why = *query_replica(&a->query);
	return -1;
}

/* Not ours: say whose it is. */
static int not_held(struct token_use *a)
{
	static struct snapshot seen;
	const char *done = a->op.extend ? "extended" : "released";
	struct sight who;
	char text[860];

	while (look(a, &seen) < 0) {
		snapshot_close(&seen);
		if (!is_tried_again(a))
			return unknown(a);
	}
	query_say_replicas(&a->query);
	view_sight(&seen.view, &who);
	if (seen.view.holders == 0)
		log_error("not-held", "not %s: nobody holds it", done);
	else
		log_error("not-held", "not %s: it is %s", done,
			  describe_holder(&who, 0, text, sizeof(text)));
	snapshot_close(&seen);
	return STATUS_BUSY;
}

static int judge(struct token_use *a)
{
	int n = a->query.servers.n;

	if (a->yes >= lease_quorum(n))
		return STATUS_OK;
	if (a->yes == 0)
		return not_held(a);
	log_error("not-held", "%sit was held on only %d of %d servers%s",
		  a->op.extend ? "not extended: " : "", a->yes, n,
		  a->op.extend ? "" : ", and was released there");
	return STATUS_BUSY;
}

static int ask_servers(struct token_use *a)
{
	struct fail why;
	int rc;

	if (query_open(&a->query, a->o, &why) < 0)
		return report_failure(&why);
	a->end = after(a->query.servers.began, a->limit_ms);
	a->pause_ms = PAUSE_LEAST_MS;
	pace_begin(&a->pace, a->query.servers.began);
	a->pace.silent = a->pace.began;
	if (!is_token(a->op.token))
		return not_held(a);
	a->op.alone = a->query.servers.n == 1;
	rc = ask_until_known(a, &why);
	if (rc < 0)
		return report_failure(&why);
	return rc > 0 ? unknown(a) : judge(a);
}

static int by_token(const struct opts *o, bool extend)
{
	static struct token_use a;
	const char *key = o->key[0], *token = o->token;
	char shown[256];
	int status;

	(void)format_bytes(key, strlen(key), shown, sizeof(shown));
	log_key(shown, key, strlen(key));
	if (!token)
		token = getenv("REDLOCK_TOKEN");
	if (!token || token[0] == '\0') {
		log_error("failed",
			  "no token: give --token or set REDLOCK_TOKEN; "
			  "'redlock lock' prints it");
		return STATUS_USAGE;
	}
	a.o = o;
	a.op = (struct token_op){
		.extend = extend, .token = token, .tell = !o->no_history};
	a.limit_ms = query_limit(o, false);
	/* by then the lease is over */
	if (extend && opt_typed(o, &o->ttl_ms)) {
		a.op.ttl_ms = o->ttl_ms;
		a.limit_ms = at_most(a.limit_ms, o->ttl_ms);
	}
	status = ask_servers(&a);
	query_close(&a.query);
	return render_end(status);
}

static int unlock(const struct opts *o)
{
	return by_token(o, false);
}

static int extend(const struct opts *o)
{
	return by_token(o, true);
}

const struct command cmd_unlock = {
	.name = "unlock",
	.usage = "[OPTIONS] KEY",
	.summary = "Releases a lock, given its token",
	.example = {"redlock unlock deploy --token \"$token\"",
		    "redlock unlock deploy  (with $REDLOCK_TOKEN)"},
	.by = BY_UNLOCK,
	.operands = OPERANDS_KEY,
	.run = unlock,
};

const struct command cmd_extend = {
	.name = "extend",
	.usage = "[OPTIONS] KEY",
	.summary = "Renews the lease of a lock, given its token",
	.example = {"redlock extend deploy -t 10m --token \"$token\"",
		    "redlock extend deploy -t 10m  (with $REDLOCK_TOKEN)"},
	.by = BY_EXTEND,
	.operands = OPERANDS_KEY,
	.run = extend,
};
