/* SPDX-License-Identifier: MIT */
/* Checks and sorts the list of servers. */
#include "cli/servers.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/optrows.h"
#include "cli/mask.h"
#include "net/address.h"
#include "local/local.h"

#define TIMEOUT_MS 1000
#define TIMEOUT_SEVERAL_MS 250 /* the others compensate for a slow one */

/* ---- the list ---- */

/* A name says where the server is: the hosts, always with the first, or the
 * path; and the Sentinels' name for it. A server that is named differently each
 * time is found by its run_id, once it has granted the lock: see
 * lock/core/acquire.c. */
static int refuse_equal(const struct servers *s, const struct opts *o,
			struct fail *why)
{
	char a[160], b[160];

	for (int k = 1; k < s->n; k++)
		for (int i = 0; i < k; i++) {
			if (strcmp(s->endpoint[i].name, s->endpoint[k].name) !=
			    0)
				continue;
			(void)fail(why, FAIL_USAGE,
				   "'%.130s' and '%.130s' are the same server "
				   "and count once",
				   endpoint_masked(o->url[i], a),
				   endpoint_masked(o->url[k], b));
			return opt_blame(o, &o->url_from[k], why);
		}
	return 0;
}

static int refuse_local(const struct servers *s, const struct opts *o,
			struct fail *why)
{
	for (int i = 0; s->n > 1 && i < s->n; i++)
		if (s->endpoint[i].kind == ENDPOINT_LOCAL) {
			(void)fail(
				why, FAIL_USAGE,
				"local: cannot be one of several servers: it "
				"differs on each machine and for each user");
			return opt_blame(o, &o->url_from[i], why);
		}
	return 0;
}

/* TLS settings in a file are for all servers; options are for these. */
static int refuse_tls(const struct servers *s, const struct opts *o,
		      struct fail *why)
{
	for (int i = 0; i < s->n; i++)
		if (server_has_tls(&s->endpoint[i]))
			return 0;
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].in == IN_TLS &&
		    o->given[i].source == FROM_TYPED)
			return fail(why, FAIL_USAGE,
				    "--%s: %.150s does not use TLS; with TLS, "
				    "a URL begins with rediss://",
				    opt_rows[i].name, s->endpoint[0].name);
	return 0;
}

static int parse(struct servers *s, const struct opts *o, struct fail *why)
{
	s->asked_for = o->urls > 0;
	s->n = s->asked_for ? o->urls : 1;
	if (o->more_urls) {
		(void)fail(why, FAIL_USAGE, "too many servers: at most %d",
			   NODES_MAX);
		return opt_blame(o, opt_given(o, &o->url), why);
	}
	/* room for all, and as much: calloc(3) would clear a block of a few
	 * pages by touching them; so large a one is new from the kernel */
	free(s->endpoint);
	s->endpoint =
		calloc(NODES_MAX, sizeof(s->endpoint[0]) + ENDPOINT_URL_MAX);
	if (!s->endpoint) {
		(void)fail_memory(why);
		return -1;
	}
	s->url = (char *)&s->endpoint[NODES_MAX];
	for (int i = 0; i < s->n; i++)
		if (server_parse(&s->endpoint[i], o, i, why) < 0)
			return -1;
	if (refuse_local(s, o, why) < 0 || refuse_equal(s, o, why) < 0)
		return -1;
	return refuse_tls(s, o, why);
}

/* ---- what is said of them ---- */

static void tell(const struct servers *s, const struct opts *o)
{
	/* (it may be there for another program) */
	if (s->asked_for && o->url_from[0].source == FROM_REDIS_URL)
		log_notice("redis-url",
			   "no -u and no REDLOCK_URL: using REDIS_URL: %s%s",
			   s->endpoint[0].name, s->n > 1 ? ", ..." : "");
	if (!s->asked_for)
		log_notice("default-url",
			   "no -u and no REDLOCK_URL: using %s; if each "
			   "machine has its own server, each has its own lock",
			   DEFAULT_URL);
	if (s->n % 2 == 0)
		log_notice("even",
			   "%d servers survive no more failures than %d; use "
			   "an odd number",
			   s->n, s->n - 1);
	for (int i = 0; i < s->n; i++) {
		const struct endpoint *ep = &s->endpoint[i];

		if (server_has_tls(ep) && ep->tls_conf.verify == TLS_NONE)
			log_notice("unverified",
				   "tls-verify=none: any server that answers "
				   "for %s is trusted and gets the password",
				   ep->name);
	}
}

/* ---- all ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct endpoint *)a)->name,
		      ((const struct endpoint *)b)->name);
}

static void join(struct servers *s)
{
	char *end = s->url;

	for (int i = 0; i < s->n; i++) {
		if (i > 0)
			*end++ = ' ';
		end += server_url(&s->endpoint[i], end);
	}
}

int servers_find(struct servers *s, const struct opts *o, struct fail *why)
{
	static char typed[PASSWORD_MAX]; /* not on the stack: see base/page.h */
	int rc = parse(s, o, why);

	for (int i = 0; rc == 0 && i < s->n; i++)
		rc = server_merge(&s->endpoint[i], o, i, typed, why);
	explicit_bzero(typed, strlen(typed));
	if (rc < 0)
		return -1;
	if (s->n > 1)
		qsort(s->endpoint, (size_t)s->n, sizeof(s->endpoint[0]),
		      by_name);
	join(s);
	s->began = now();
	s->limit = o->wait_ms > 0 ? after(s->began, o->wait_ms) : NEVER;
	for (int i = 0; i < s->n; i++)
		if (server_login(&s->endpoint[i], s->limit, why) < 0)
			return -1;
	tell(s, o);
	if (s->endpoint[0].kind != ENDPOINT_LOCAL)
		return 0;
	return local_path(&s->endpoint[0], why);
}

bool servers_may_move(const struct servers *s)
{
	for (int i = 0; i < s->n; i++) {
		const struct endpoint *ep = &s->endpoint[i];
		struct address any;

		if (ep->kind == ENDPOINT_CLUSTER)
			return true;
		/* a name may have several addresses */
		for (int k = 0; k < ep->places; k++)
			if (!address_fixed(&any, ep, &ep->at[k]))
				return true;
	}
	return false;
}

int64_t servers_timeout(const struct servers *s, int64_t ttl_ms)
{
	int64_t most = 0;

	for (int i = 0; i < s->n; i++)
		if (s->endpoint[i].timeout_ms > most)
			most = s->endpoint[i].timeout_ms;
	if (most > 0)
		return most;
	if (s->n == 1)
		return TIMEOUT_MS;
	return ttl_ms / 10 < TIMEOUT_SEVERAL_MS ? ttl_ms / 10
						: TIMEOUT_SEVERAL_MS;
}

/* A guard shorter than the lease would not protect it. */
int64_t servers_guard(const struct servers *s, const struct opts *o)
{
	if (o->guard_ms == GUARD_AUTO)
		return s->n > 1 ? o->ttl_ms : 0;
	if (o->guard_ms > 0 && o->guard_ms < o->ttl_ms)
		return o->ttl_ms;
	return o->guard_ms;
}
