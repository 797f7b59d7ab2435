/* SPDX-License-Identifier: MIT */
/* Asks for past holds, and puts them into words. */
#include "cli/history/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *hold_ending(const struct history_hold *p, char buf[ENDING_SIZE])
{
	char how[40] = "";

	if (p->signal > 0)
		(void)snprintf(how, sizeof(how), " (signal %" PRId64 ")",
			       p->signal);
	else if (p->status > 0)
		(void)snprintf(how, sizeof(how), " (exit %" PRId64 ")",
			       p->status);
	(void)snprintf(buf, ENDING_SIZE, "%s%s%s%s",
		       p->outcome[0] != '\0' ? p->outcome : "unknown", how,
		       p->by[0] != '\0' ? " by " : "", p->by);
	return buf;
}

bool hold_is_judged(const struct history_hold *p)
{
	return strcmp(p->outcome, "released") != 0 &&
	       strcmp(p->outcome, "ended") != 0;
}

/* A server that has refused our password before is not asked: it may count. */
static int read_past(struct query *query, const char *key, size_t len,
		     struct history *h, struct fail node_why[NODES_MAX],
		     struct fail *why)
{
	char master[MASTER_SHOWN];
	struct got got;

	for (int i = 0; i < query->servers.n; i++)
		if (!fanout_refused(&query->fanout, i) &&
		    query_ask_history(query, i, key, len) < 0)
			return fail_memory(why);
	while (fanout_get(&query->fanout, &got)) {
		struct fail *its = &node_why[got.node];

		*its = got.why;
		if (its->kind != FAIL_NONE)
			continue;
		(void)history_master(got.reply, master);
		*its = query_heard(query, got.node, master);
		if (its->kind == FAIL_NONE)
			(void)history_add(h, got.reply, got.node, its);
	}
	return 0;
}

int history_read(struct query *query, const char *key, size_t len,
		 int64_t within_ms, struct history *h, struct fail *why)
{
	struct fail node_why[NODES_MAX] = {{0}};

	if (read_past(query, key, len, h, node_why, why) < 0)
		return -1;
	history_finish(h, within_ms);
	return query_enough(query, h->answers, node_why, why);
}

/* Most that are shown. */
#define OPEN_MAX 50

/* Nested runs have no entry of their own; a lock that is kept for --min-hold
 * has one already; of another program's hold nothing is known. */
static bool is_open(const struct view *v, const struct view_holder *p,
		    int nodes)
{
	return (p->how == HOLD_ALONE || p->how == HOLD_READS) &&
	       p->since_ms > 0 && view_quorum(v, p, nodes);
}

static int add_open(struct history *h, const struct view *v,
		    const struct view_holder *p, struct fail *why)
{
	struct history_hold its = {.slot = -1,
				   .status = -1,
				   .signal = -1,
				   .since_ms = p->since_ms,
				   .fence = p->fence,
				   .waited_ms = -1,
				   .ended_ms = v->now_ms,
				   .open = true};

	if (its.ended_ms < its.since_ms)
		its.ended_ms = its.since_ms;
	its.held_ms = its.ended_ms - its.since_ms;
	if (p->slot > 0 || p->slot_name[0] != '\0')
		its.slot = p->slot;
	memcpy(its.slot_name, p->slot_name, sizeof(its.slot_name));
	(void)snprintf(its.token, sizeof(its.token), "%.63s", p->token);
	(void)snprintf(its.outcome, sizeof(its.outcome), "held");
	memcpy(its.about, p->about, sizeof(its.about));
	return history_add_open(h, &its, why);
}

/* Asks for the holder first: a hold that ends meanwhile has an entry. */
int history_read_open(struct query *query, const char *key, size_t len,
		      int64_t within_ms, struct history *h,
		      struct fail *unknown, struct fail *why)
{
	const struct view_most most = {.holders = OPEN_MAX};
	struct fail node_why[NODES_MAX] = {{0}};
	struct snapshot seen;
	int rc;

	*unknown = (struct fail){0};
	(void)query_lock(query, key, len, &most, &seen, unknown);
	memcpy(node_why, seen.why, sizeof(node_why));
	rc = read_past(query, key, len, h, node_why, why);
	for (int i = 0; rc == 0 && i < seen.view.holders; i++)
		if (is_open(&seen.view, &seen.view.holder[i], query->servers.n))
			rc = add_open(h, &seen.view, &seen.view.holder[i], why);
	snapshot_close(&seen);
	if (rc < 0)
		return -1;
	history_finish(h, within_ms);
	return query_enough(query, h->answers, node_why, why);
}
