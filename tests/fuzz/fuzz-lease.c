/* SPDX-License-Identifier: MIT */
/* Any events for the lease: answers of any kind, failures, time that passes,
 * requests from outside. It asks what can be asked, never spins, counts on
 * nothing that was not granted, and ends when it must.
 *
 * The first bytes are the configuration, the others events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lock/core/lease.h"
#include "lock/core/timing.h"

const char fuzz_name[] = "lease";

#define EVENTS_MAX 600
#define ASKS_MAX (NODES_MAX * CHANNELS)

static struct lease l;
static struct instant at;
static struct ask asked[NODES_MAX][CHANNELS]; /* unanswered */
/* the newest question of which the node said that it is ours */
static struct instant credited[NODES_MAX];
static bool begun; /* something runs on it */

static const uint8_t *from, *end;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

static unsigned int byte(void)
{
	return from < end ? *from++ : 0;
}

static int64_t number(void)
{
	static const int64_t odd[] = {0,
				      1,
				      2,
				      7,
				      100,
				      1000,
				      3000,
				      9999,
				      30000,
				      86400000,
				      2147483647,
				      4294967296,
				      1000000000000000,
				      4503599627370496};
	unsigned int b = byte();

	return b < sizeof(odd) / sizeof(odd[0]) ? odd[b] : (int64_t)b * b;
}

/* ---- what must hold ---- */

static int quorum(void)
{
	return lease_quorum(l.conf.nodes);
}

/* The q-th newest of what was credited. */
static struct instant most(void)
{
	int q = quorum();

	for (int i = 0; i < l.conf.nodes; i++) {
		int newer = 0;

		for (int k = 0; k < l.conf.nodes; k++)
			newer += !before(credited[k], credited[i]);
		if (newer >= q) {
			struct instant best = credited[i];

			for (int k = 0; k < l.conf.nodes; k++) {
				newer = 0;
				for (int m = 0; m < l.conf.nodes; m++)
					newer += !before(credited[m],
							 credited[k]);
				if (newer >= q && before(best, credited[k]))
					best = credited[k];
			}
			return best;
		}
	}
	return (struct instant){0};
}

static void check(void)
{
	must(l.state >= LEASE_ASKING && l.state <= LEASE_OVER,
	     "a state is one");
	must(l.state != LEASE_OVER || l.end != END_NONE,
	     "it has an end when it is over");
	must(l.fence >= 0, "a fence is one");
	must(lease_place(&l) >= 0, "a place is one");
	if (l.state != LEASE_HELD)
		return;
	must(!before(most(), lease_credited_at(&l)),
	     "it counts from what a quorum granted, at most");
	must(!before(at, lease_credited_at(&l)), "it counts from the past");
}

static void forget(int node, int chan)
{
	asked[node][chan].verb = VERB_NONE;
}

static void drain(void)
{
	struct ask ask;
	int n = 0;

	while (lease_next(&l, at, &ask)) {
		must(++n <= 4 * ASKS_MAX, "there is an end to questions");
		must(ask.node >= 0 && ask.node < l.conf.nodes &&
			     ask.chan >= 0 && ask.chan < CHANNELS,
		     "a question is for a node");
		must(ask.verb > VERB_NONE && ask.verb <= VERB_RELEASE,
		     "a question is one");
		must(ask.sent.ms == at.ms, "a question is stamped");
		must(ask.fence >= 0 && ask.seen >= 0, "numbers are bounded");
		asked[ask.node][ask.chan] = ask;
		check();
	}
}

/* All that is to be asked now: a round may be over as soon as it has begun, and
 * the next one begin, but not again and again. */
static void ask_all(void)
{
	int rounds = 0;

	do {
		drain();
		must(++rounds < 20, "it does not spin");
		/* too old to start on: as those do who are about to */
		if (l.state == LEASE_HELD && !begun &&
		    !before(at, lease_wake(&l)))
			lease_hurry(&l, -1, at);
	} while (!before(at, lease_wake(&l)));
}

/* ---- events ---- */

static enum said said_to(enum verb verb)
{
	static const enum said acquire[] = {
		SAID_GRANTED,  SAID_GRANTED, SAID_GRANTED,    SAID_BUSY,
		SAID_BUSY,     SAID_LOSS,    SAID_GUARDED,    SAID_FULL,
		SAID_DONE,     SAID_INSIDE,  SAID_SUPERSEDED, SAID_OLDER,
		SAID_VANISHED, SAID_NO};
	static const enum said confirm[] = {SAID_YES, SAID_YES, SAID_YES,
					    SAID_HEALED, SAID_NO};

	switch (verb) {
	case VERB_ACQUIRE:
		return acquire[byte() % (sizeof(acquire) / sizeof(acquire[0]))];
	case VERB_LISTEN:
		return byte() & 1 ? SAID_WOKEN : SAID_QUIET;
	case VERB_REPLICATE:
		return SAID_YES;
	case VERB_NONE:
	case VERB_CONFIRM:
	case VERB_RELEASE:
		break;
	}
	return confirm[byte() % 5];
}

static void answer(struct ask *q)
{
	unsigned int flags = byte();
	struct answer a = {
		.said = said_to(q->verb),
		.counter = number(),
		.busy = {.pttl_ms = flags & 1 ? number() : -1,
			 .place = flags & 2 ? (int)byte() : 0,
			 .foreign = flags & 4,
			 .age_ms = -1},
		.longest_ms = flags & 8 ? number() : 0,
		.confirm = {.raised = flags & 32, .unlocked = flags & 128},
		.stops = flags & 64};
	const struct ask copy = *q;

	if (flags & 1) {
		a.busy.holder = byte();
		a.busy.holder_ticket = number();
		a.busy.holder_ttl_ms = number();
		a.busy.ticket = number();
		a.busy.age_ms = (int64_t)byte() - 1;
	}
	a.confirm.pttl_ms = a.handed_ms = a.busy.pttl_ms;
	if (flags & 64)
		a.stop_ms = number();
	if (a.said == SAID_GRANTED) {
		a.granted.fence = flags & 128 ? number() : a.counter;
		a.granted.slot = (int)byte() % lease_slots(&l.conf);
		a.granted.server = byte() % 16;
	}
	if (byte() & 1)
		a.at_ms = number();
	if (a.said == SAID_GRANTED || a.said == SAID_HEALED ||
	    (a.said == SAID_YES && q->verb == VERB_CONFIRM))
		credited[q->node] = later(credited[q->node], q->sent);
	forget(q->node, q->chan);
	lease_answer(&l, &copy, &a, at);
}

static void failed(struct ask *q)
{
	static const enum fail_kind kinds[] = {
		FAIL_UNAVAILABLE, FAIL_UNAVAILABLE, FAIL_REFUSED, FAIL_CONFIG};
	unsigned int flags = byte();
	const struct ask copy = *q;

	forget(q->node, q->chan);
	lease_failed(&l, &copy, kinds[flags % 4], flags & 4, at);
}

static void outside(unsigned int what)
{
	bool held = l.state == LEASE_HELD;

	if (what == 0 && l.state != LEASE_OVER && l.state != LEASE_RELEASING)
		lease_release(&l, at);
	else if (what == 1 && (held || l.state == LEASE_LOST))
		lease_end(&l, byte() % 8, at);
	else if (what == 2 && l.state == LEASE_LOST && !begun)
		lease_again(&l, at);
	else if (what == 3 && held)
		lease_hurry(&l, (int)byte() % (l.conf.nodes + 1) - 1, at);
	else if (what == 4 && held) {
		lease_use(&l);
		begun = true;
	}
}

static void event(void)
{
	unsigned int b = byte();
	struct ask *q = &asked[b / 8 % (unsigned int)l.conf.nodes][b >> 7];

	switch (b % 8) {
	case 0:
		at = after(at, 1 + number() % 100000);
		break;
	case 1: /* to when it wants */
		if (lease_wake(&l).ms != NEVER.ms)
			at = later(at, lease_wake(&l));
		break;
	case 2:
		if (q->verb != VERB_NONE)
			failed(q);
		break;
	case 3:
		outside(byte() % 5);
		break;
	default:
		at = after(at, b & 64 ? 1 : 0);
		if (q->verb != VERB_NONE)
			answer(q);
	}
}

/* The run around us. */
static struct lease_outer outer(const struct lease_conf *conf)
{
	return (struct lease_outer){.token = "outer",
				    .slot = (int)byte() %
					    (conf->slots > 0 ? conf->slots : 1),
				    .reads = conf->shared,
				    .fence = number(),
				    .ttl_ms = number(),
				    .here = true};
}

static void begin(void)
{
	unsigned int flags, more;
	struct lease_conf conf = {.nodes = 1 + (int)byte() % NODES_MAX};

	flags = byte();
	conf.ttl_ms = TTL_MIN_MS + number() % 60000;
	conf.node_timeout_ms = 50 + (int64_t)byte() * 4;
	conf.wait_ms = flags & 1 ? INT64_MAX : number();
	conf.max_waiters = flags & 2 ? (int64_t)byte() : -1;
	conf.shared = flags & 4;
	conf.slots = flags & 8 && !conf.shared ? 1 + (int)byte() : 0;
	conf.replicas = flags & 16 ? (int)byte() % 3 : 0;
	conf.guard_ms = flags & 32 ? conf.ttl_ms : 0;
	conf.max_leases = flags & 64 ? (int64_t)byte() % 4 : 0;
	conf.supersede = flags & 128;
	conf.ticket = 700;
	conf.seed = byte();
	more = byte();
	conf.min_hold_ms = more & 1 ? number() : 0;
	conf.once_ms = more & 2 ? number() : 0;
	conf.once_any = more & 4;
	conf.may_move = more & 8;
	conf.reached = more & 16;
	if (more & 32)
		conf.outer = outer(&conf);
	conf.replaces = more & 64;
	conf.replace_ms = conf.replaces ? number() : 0;
	conf.revision = more & 128 ? 1 + (int64_t)byte() : 0;
	conf.label = conf.seed & 1 ? "v1" : NULL;
	lease_init(&l, &conf, at);
}

/* It must end, though nobody answers. */
static void finish(void)
{
	struct instant limit;

	if (l.state != LEASE_OVER && l.state != LEASE_RELEASING)
		lease_release(&l, at);
	limit = after(at, 60000);
	for (int i = 0; l.state != LEASE_OVER; i++) {
		must(i < 10000 && before(at, limit), "it ends when told to");
		ask_all();
		if (l.state != LEASE_OVER)
			at = lease_wake(&l);
	}
	must(lease_wake(&l).ms == NEVER.ms, "what is over wants nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	from = data;
	end = data + size;
	at = (struct instant){1000000};
	begun = false;
	memset(asked, 0, sizeof(asked));
	memset(credited, 0, sizeof(credited));
	begin();
	for (int i = 0; i < EVENTS_MAX && from < end; i++) {
		ask_all();
		event();
		check();
	}
	ask_all();
	finish();
	return 0;
}
