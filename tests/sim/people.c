/* SPDX-License-Identifier: MIT */
/* Clients that only ask. Read people.h first. */
#include "people.h"

#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "lock/wire/answer.h"
#include "net/errors.h"
#include "server.h"

struct person people[PEOPLE];
const char *key;
int owner;
bool all_good;
const struct lease_conf one = {.slots = 1};

void person_is(struct person *p, struct lease_conf conf)
{
	static const struct holder nobody = {{"host", "1", "user", "sh"}};

	keys_close(&p->keys);
	conf.nodes = 1;
	conf.ttl_ms = T;
	conf.max_waiters = -1;
	*p = (struct person){.conf = conf};
	(void)snprintf(p->token, sizeof(p->token), "tok-%d", (int)(p - people));
	script_identity(&conf, &nobody, p->identity);
	if (keys_init(&p->keys, key, strlen(key), p->token) < 0)
		bail("no memory");
}

static struct ask question(const struct person *p, enum verb verb)
{
	return (struct ask){
		.verb = verb,
		.fence = p->fence,
		.seen = p->counter,
		.acquire = {.ticket = p->ticket, .only = p->only},
		.listen_ms = 1000,
		.joins = p->conf.outer.token[0] != '\0',
		.slot = p->slot,
		.since = p->number - (p->number > 0 && verb != VERB_RELEASE),
		.guard_ms = p->conf.guard_ms,
		.confirm = {.group = p->group, .joined = p->a.confirm.joined},
		.release = {.queued = verb == VERB_RELEASE && !p->unaware,
			    .ran = p->fence > 0,
			    .joined = p->a.confirm.joined,
			    .withheld = p->withheld,
			    .least_ms = p->conf.min_hold_ms}};
}

static void remember(struct person *p)
{
	if (p->a.counter > p->counter)
		p->counter = p->a.counter;
	if (p->a.busy.ticket > 0)
		p->ticket = p->a.busy.ticket;
	if (p->a.said != SAID_GRANTED)
		return;
	p->fence = p->a.counter;
	p->slot = p->a.granted.slot;
	p->group = p->a.group;
}

static int asks(struct person *p, enum verb verb)
{
	struct ask ask = question(p, verb);
	struct lease_conf conf = p->conf;
	struct script_scratch scratch;
	struct words request, reply;
	struct sight sight;
	struct fail why;
	struct error_told told;

	if (p->number > 0)
		conf.nodes = 3;
	script_request(&ask, &conf, &p->keys, p->token, p->identity,
		       REQUEST_CLUSTER, &scratch, &request);
	if (!cluster_ask(owner, &request, &reply)) {
		(void)snprintf(p->error, sizeof(p->error), "%.*s",
			       (int)reply.len[0], reply.at[0]);
		error_explain(&told, p->error, ERROR_FROM_SERVER);
		return told.kind == FAIL_UNAVAILABLE ? SAID_LATER : SAID_NEVER;
	}
	if (answer_read(verb, &reply, &p->a, &sight, &why) < 0)
		bail("%s: %s", p->token, why.text);
	remember(p);
	return (int)p->a.said;
}

static const char *said(int what)
{
	return what == SAID_LATER   ? "to be asked again"
	       : what == SAID_NEVER ? "refused"
				    : said_names[what];
}

void person_asks(struct person *p, enum verb verb, int expected,
		 const char *what)
{
	int got = asks(p, verb);

	if (got == expected)
		return;
	all_good = false;
	printf("# key '%s', %s: %s: %s, not %s%s%s\n", key, what, p->token,
	       said(got), said(expected), got < 0 ? ": " : "",
	       got < 0 ? p->error : "");
}
void people_check(bool good, const char *what)
{
	if (good)
		return;
	all_good = false;
	printf("# key '%s': not so: %s\n", key, what);
}
void people_begin(const char *name, struct lease_conf conf)
{
	key = name;
	cluster_flush();
	owner = cluster_owner(key, strlen(key));
	person_is(A, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(A, RELEASE, YES);
	for (int i = 0; i < PEOPLE; i++)
		person_is(&people[i], conf);
}

struct lease_conf person_inside(const struct person *p)
{
	struct lease_conf conf = {.slots = 1,
				  .outer = {.slot = p->slot,
					    .group = p->group,
					    .fence = p->fence,
					    .here = true}};

	(void)snprintf(conf.outer.token, sizeof(conf.outer.token), "%s",
		       p->token);
	conf.shared = p->group > 0;
	return conf;
}

void people_end(void)
{
	for (int i = 0; i < PEOPLE; i++)
		keys_close(&people[i].keys);
}
