/* SPDX-License-Identifier: MIT */
/* Whether the Sentinels of a group are fit for use. */
#include "cli/doctor/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lock/core/timing.h"
#include "net/member.h"

/* What the Sentinels of one group say. */
struct sentinel_group {
	struct exam *e;
	const struct endpoint *group, *member;
	int answers, silent; /* how many answered, and how many did not */
	struct fail why;
	char objection[300]; /* no failover can be agreed on */
	char master[PLACES_MAX][FACT_MAX];
	int64_t known; /* Sentinels, as they know each other */
	int64_t down_after_ms, timeout_ms; /* the longest of any */
};

/* The time from "the master is down" to the first renewal at the new one: a
 * vote, and up to a second (fixed in Redis) until the promoted server is asked
 * for its role. */
#define FAILOVER_MS 2500

enum asked { ASKED_MASTER, ASKED_QUORUM, ASKED_STATE, ASKED_COUNT };

static void ask_sentinel(struct fanout *s, int target, const char *group)
{
	static const char *const words[ASKED_COUNT] = {
		[ASKED_MASTER] = "get-master-addr-by-name",
		[ASKED_QUORUM] = "ckquorum",
		[ASKED_STATE] = "master"};

	for (int i = 0; i < ASKED_COUNT; i++) {
		struct words w = {0};

		words_add_text(&w, "SENTINEL");
		words_add_text(&w, words[i]);
		words_add_text(&w, group);
		(void)fanout_ask(s, target, &w, i);
	}
}

/* A list of names and values. */
static int64_t number_in(const struct reply *r, const char *name)
{
	for (size_t i = 0; i + 1 < r->items; i += 2)
		if (strcmp(reply_item(r, i)->bytes, name) == 0)
			return reply_number(reply_item(r, i + 1), UNKNOWN);
	return UNKNOWN;
}

static void raise_to(int64_t *most, int64_t ms)
{
	if (ms > *most)
		*most = at_most(ms, AGES_MS);
}

static void take_view(struct sentinel_group *c, const struct got *got)
{
	const struct reply *r = got->reply;
	char *master = c->master[got->target], host[FACT_MAX - 8];

	if (got->tag == ASKED_MASTER && got->why.kind != FAIL_NONE) {
		c->why = got->why;
		c->silent++;
	} else if (got->tag == ASKED_MASTER && r->items != 2) {
		(void)fail(&c->why, FAIL_CONFIG, "%s does not know the name",
			   c->member[got->target].name);
		c->silent++;
	} else if (got->tag == ASKED_MASTER) {
		c->answers++;
		(void)snprintf(master, FACT_MAX, "%s:%.6s",
			       format_bytes(reply_item(r, 0)->bytes,
					    reply_item(r, 0)->len, host,
					    sizeof(host)),
			       reply_item(r, 1)->bytes);
	} else if (got->tag == ASKED_QUORUM && r && r->kind == REPLY_ERROR &&
		   strncmp(r->bytes, "NOQUORUM", 8) == 0) {
		(void)format_bytes(r->bytes, r->len, c->objection,
				   sizeof(c->objection));
	} else if (got->tag == ASKED_STATE && got->why.kind == FAIL_NONE) {
		int64_t others = number_in(r, "num-other-sentinels");

		if (others >= 0 && others + 1 > c->known)
			c->known = others + 1;
		raise_to(&c->down_after_ms,
			 number_in(r, "down-after-milliseconds"));
		raise_to(&c->timeout_ms, number_in(r, "failover-timeout"));
	}
}

static void judge_number(const struct sentinel_group *c)
{
	const char *name = c->group->name;
	int n = c->group->places;

	if (c->silent > 0)
		found(c->e, 2 * c->answers <= n ? WRONG : NOTE, name,
		      "sentinel",
		      "%d of %d Sentinels answer: %.200s -> start them, or "
		      "leave them out of the URL",
		      c->answers, n, c->why.text);
	else
		found(c->e, FINE, name, "sentinel", "%d of %d Sentinels answer",
		      c->answers, n);
	if (c->known > n)
		found(c->e, NOTE, name, "sentinel",
		      "there are %" PRId64 ", but the URL names %d -> name "
		      "them all",
		      c->known, n);
}

static void judge_masters(const struct sentinel_group *c)
{
	const char *first = NULL;

	for (int i = 0; i < c->group->places; i++) {
		const char *at = c->master[i];

		if (at[0] == '\0')
			continue;
		first = first ? first : at;
		if (strcmp(at, first) == 0)
			continue;
		found(c->e, WRONG, c->group->name, "sentinel",
		      "they disagree on which server is the master: %s or %s "
		      "-> wait until the failover is over",
		      first, at);
		return;
	}
}

/* Whether a hold outlasts a failover. */
static void judge_lease(const struct sentinel_group *c)
{
	int64_t ttl_ms = c->e->o->ttl_ms;
	int64_t outage_ms = c->down_after_ms + FAILOVER_MS;
	int64_t enough_ms = (timing_ttl_for(outage_ms) + 999) / 1000 * 1000;
	char ttl[32], lasts[32], outage[32], down[32], again[32], enough[32];

	if (c->down_after_ms == 0 || timing_outage(ttl_ms) >= outage_ms)
		return;
	found(c->e, NOTE, c->group->name, "sentinel",
	      "a lease of %s survives an outage of %s, but a failover takes up "
	      "to %s (down-after-milliseconds: %s); if it fails, the next "
	      "attempt comes %s later (twice the failover-timeout) -> -t %s",
	      format_duration(ttl_ms, ttl, sizeof(ttl)),
	      format_duration(timing_outage(ttl_ms), lasts, sizeof(lasts)),
	      format_duration(outage_ms, outage, sizeof(outage)),
	      format_duration(c->down_after_ms, down, sizeof(down)),
	      format_duration(2 * c->timeout_ms, again, sizeof(again)),
	      format_duration(enough_ms, enough, sizeof(enough)));
}

static void judge(const struct sentinel_group *c)
{
	judge_number(c);
	judge_masters(c);
	judge_lease(c);
	if (c->objection[0] != '\0')
		found(c->e, WRONG, c->group->name, "sentinel",
		      "%s -> without a quorum there is no failover: start more "
		      "Sentinels, or lower the quorum",
		      c->objection);
	found(c->e, NOTE, c->group->name, "sentinel",
	      "best effort: around a failover, two masters may grant the same "
	      "lock; only the fence protects -> --wait-replicas 1, "
	      "min-replicas-to-write, or several independent servers");
}

static void check_group(struct exam *e, int node)
{
	const struct endpoint *group = &e->servers->endpoint[node];
	struct endpoint *member =
		calloc((size_t)group->places, sizeof(*member));
	struct sentinel_group c = {.e = e, .group = group, .member = member};
	struct fanout s;
	struct fail why;
	struct got got;

	if (!member) {
		e->incomplete = true;
		return;
	}
	for (int i = 0; i < c.group->places; i++)
		member_endpoint(c.group, &c.group->at[i], &member[i]);
	if (fanout_open(&s, member, c.group->places,
			servers_timeout(e->servers, e->o->ttl_ms), &why) == 0) {
		for (int i = 0; i < c.group->places; i++)
			ask_sentinel(&s, i, c.group->group);
		while (fanout_get(&s, &got))
			take_view(&c, &got);
		judge(&c);
	}
	fanout_close(&s);
	free(member);
}

void check_sentinels(struct exam *e)
{
	for (int i = 0; i < e->servers->n; i++)
		if (e->servers->endpoint[i].kind == ENDPOINT_SENTINEL)
			check_group(e, i);
}
