/* SPDX-License-Identifier: MIT */
/* unlock and extend: by the token that lock printed. */
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/query.h"
#include "cli/render.h"
#include "lock/wire/admin.h"
#include "run/describe.h"
#include "client/client.h"
#include "client/session.h"

struct token_use {
	const struct opts *o;
	struct query query;
	struct token_op op;
	int yes, no;
	struct fail why; /* of one that did not answer */
};

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
		return fail(why, FAIL_INTERNAL, "out of memory");
	for (int i = 0; i < s->n && rc == 0; i++) {
		token_op_request(&request, &a->op, &keys,
				 session_db(&s->endpoint[i]));
		rc = fanout_call(&a->query.fanout, i, &request.words,
				 request.sha, i);
	}
	keys_close(&keys);
	return rc < 0 ? fail(why, FAIL_INTERNAL, "out of memory") : 0;
}

static void count_all(struct token_use *a)
{
	struct got got;
	bool was;

	while (fanout_get(&a->query.fanout, &got)) {
		if (got.why.kind != FAIL_NONE) {
			a->why = got.why;
		} else if (token_op_read(got.reply, &was, &a->why) == 0) {
			a->yes += was;
			a->no += !was;
		}
	}
}

/* Not ours: say whose it is. */
static int not_held(struct token_use *a)
{
	static struct snapshot seen;
	const char *key = a->o->key[0];
	const char *done = a->op.extend ? "extended" : "released";
	struct sight who;
	struct fail why;
	char text[860];

	if (query_lock(&a->query, key, strlen(key),
		       &(struct view_most){.holders = 1}, &seen, &why) < 0) {
		snapshot_close(&seen);
		return report_failure(&why);
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
	int n = a->query.servers.n, q = lease_quorum(n);

	if (a->yes >= q)
		return STATUS_OK;
	if (a->yes + a->no < q && n == 1)
		return report_failure(&a->why);
	if (a->yes + a->no < q) {
		log_error("failed", TOO_FEW_ANSWERED "; %s", a->yes + a->no, n,
			  q, a->why.text);
		return status_of_kind(a->why.kind);
	}
	if (a->yes == 0)
		return not_held(a);
	log_error("not-held", "it was held on only %d of %d servers%s", a->yes,
		  n, a->op.extend ? "" : ", and was released there");
	return STATUS_BUSY;
}

static int ask_servers(struct token_use *a)
{
	struct fail why;

	if (query_open(&a->query, a->o, &why) < 0)
		return report_failure(&why);
	if (!is_token(a->op.token))
		return not_held(a);
	a->op.alone = a->query.servers.n == 1;
	if (ask_all(a, &why) < 0)
		return report_failure(&why);
	count_all(a);
	return judge(a);
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
	if (extend && opt_typed(o, &o->ttl_ms))
		a.op.ttl_ms = o->ttl_ms;
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
