/* SPDX-License-Identifier: MIT */
/*
 * The simulator is worth as much as its node is like a real one: the same
 * random questions go to tests/sim/node.c and, as scripts, to a server, and
 * both must answer the same.
 *
 *   differ [--twin N] SOCKET [STEPS [SEED]]
 *
 * The server on SOCKET must be empty, and is so again afterwards: it is flushed
 * on the way. With --twin the simulated node has a rule left out (see node.h),
 * and the test passes when that is noticed.
 *
 * A counter may be born from the server's clock in the middle of a script. The
 * server is asked for its TIME between any two steps, so the node runs each
 * question twice: at the time before and at the time after. Its counter grows
 * with the time, so the server's must lie between the two; from there on the
 * node goes on with the server's. Leases last for minutes: none ends by itself.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/words.h"
#include "lock/core/lease.h"
#include "lock/wire/answer.h"
#include "lock/wire/keys.h"
#include "lock/wire/script.h"
#include "node.h"
#include "server.h"

#define TOKENS 6
#define MARKED 4             /* tokens from here on have --supersede */
#define FOREIGN (TOKENS + 1) /* as a token: not one of ours */
#define KEY "differ"
#define STEPS 20000
#define ENOUGH_STEPS 1000 /* in so many every answer comes up */
#define PTTL_SLACK_MS 1000
#define CRON_US 100000
#define GUARD_MS 1000000000 /* no server here is up for so long */

static const char *const verbs[] = {
	[VERB_ACQUIRE] = "acquire",
	[VERB_LISTEN] = "listen",
	[VERB_CONFIRM] = "confirm",
	[VERB_RELEASE] = "release",
};

static const char *const twins[TWIN_COUNT] = {
	[TWIN_RELEASE_ANY] = "release without compare",
	[TWIN_HEAL_ANY] = "heal without the counter test",
	[TWIN_RELEASE_STILL] = "release without moving the counter",
	[TWIN_CANCEL_KEEPS] = "who leaves the line keeps a grant",
	[TWIN_DEL_AFTER] = "the release deletes what it handed over",
	[TWIN_LOSS_UNTOLD] = "a grant does not tell of a lost counter",
};

struct trial {
	struct keys keys[TOKENS + 1];
	char token[TOKENS + 1][24], identity[TOKENS + 1][IDENTITY_SIZE];
	struct node node;
	int64_t us; /* the server's TIME after the last step */
	int64_t ttl[TOKENS + 1], came[TOKENS + 1], told[TOKENS + 1],
		ticket[TOKENS + 1];
	uint64_t random, step;
	uint64_t seen[SAID_COUNT], lost;
};

struct question {
	struct ask ask;
	int64_t token;
	struct lease_conf conf;
};

static int64_t chance(struct trial *t, int64_t range)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (int64_t)((t->random * 0x2545f4914f6cdd1dULL >> 20) %
			 (uint64_t)range);
}

/* ---- the server ---- */

/* The words of the reply live until the next call. */
static void call(const struct trial *t, const struct words *request,
		 struct words *reply)
{
	if (!server_ask(request, reply))
		bail("step %" PRIu64 ": the server says: %.*s", t->step,
		     reply->n > 0 ? (int)reply->len[0] : 0,
		     reply->n > 0 ? reply->at[0] : "");
}

/* A command, word by word, then NULL; the first number of its reply. */
static int64_t __attribute__((sentinel)) plain(struct trial *t, ...)
{
	struct words w = {0}, reply;
	const char *word;
	va_list ap;

	va_start(ap, t);
	while ((word = va_arg(ap, const char *)) != NULL)
		words_add_text(&w, word);
	va_end(ap);
	call(t, &w, &reply);
	return reply.n > 0 ? strtoll(reply.at[0], NULL, 10) : 0;
}

/* ---- what is done by hand, to both ---- */

#define STATE KEY ":redlock:{" KEY "}:state"

static void overwrite(struct trial *t)
{
	int64_t ttl = 60000 + chance(t, 600000);
	char ms[24];

	(void)snprintf(ms, sizeof(ms), "%" PRId64, ttl);
	(void)plain(t, "SET", KEY, "somebody else", "PX", ms, NULL);
	t->node.token = FOREIGN;
	t->node.expires_ms = t->us / 1000 + ttl;
	t->node.holder_ttl = 0;
}

/* As a server that comes back with yesterday's data. */
static void roll_back(struct trial *t)
{
	int64_t counter = 1 + chance(t, t->us);
	char number[24];

	(void)snprintf(number, sizeof(number), "%" PRId64, counter);
	(void)plain(t, "HSET", STATE, "fence", number, "writer", "another",
		    NULL);
	t->node.counter = counter;
	t->node.writer = 0;
}

/* As if the first in line had come long ago: has it been heard of since? */
static const char *age(struct trial *t)
{
	struct waiter *w = &t->node.line[0];
	char member[IDENTITY_SIZE + 24], score[24];

	if (t->node.waiters == 0)
		return NULL;
	w->ticket -= 20000000;
	t->ticket[w->token] = w->ticket;
	(void)snprintf(member, sizeof(member), "%s %s", t->token[w->token],
		       t->identity[w->token]);
	(void)snprintf(score, sizeof(score), "%" PRId64, w->ticket);
	(void)plain(t, "ZADD", KEY ":redlock:{" KEY "}:queue", "XX", score,
		    member, NULL);
	return "the first in line is aged";
}

/* Returns what was done, or NULL: nothing. */
static const char *meddle(struct trial *t)
{
	int64_t dice = chance(t, 100);

	if (dice < 5) {
		(void)plain(t, "DEL", KEY, NULL);
		t->node.token = 0;
		return "the lock is deleted";
	}
	if (dice < 8) {
		(void)plain(t, "DEL", STATE, NULL);
		t->node.counter = -1;
		t->node.born = t->node.moved = t->node.newest = 0;
		t->node.record = t->node.lost = t->node.given = 0;
		t->node.numbered = 0;
		t->node.writer = 0;
		return "the state is deleted";
	}
	if (dice < 10) {
		(void)plain(t, "FLUSHALL", NULL);
		node_flush(&t->node);
		return "all is flushed";
	}
	if (dice < 13) {
		overwrite(t);
		return "the lock is overwritten";
	}
	if (dice < 15) {
		roll_back(t);
		return "the counter is rolled back";
	}
	if (dice < 17)
		return age(t);
	if (dice < 21 && t->node.token != 0) {
		/* as if most of the lease were over: who renews is seen to */
		(void)plain(t, "PEXPIRE", KEY, "30000", NULL);
		t->node.expires_ms = t->us / 1000 + 30000;
		return "the lease is shortened";
	}
	return NULL;
}

/* ---- questions ---- */

/* Numbers worth asking with: none, right, just wrong, far off, remembered. */
static int64_t number_for(struct trial *t, int64_t token)
{
	int64_t c = t->node.counter;

	switch (chance(t, 8)) {
	case 0:
	case 1:
		return 0;
	case 2:
	case 3:
		return c > 0 ? c : 0;
	case 4:
		return c > 1 ? c - 1 : 1;
	case 5:
		return c > 0 ? c + 1 : 1;
	case 6:
		return (c > 0 ? c : t->us) + chance(t, 1000000);
	default:
		return t->told[token];
	}
}

static struct question invent(struct trial *t)
{
	static const enum verb verb_of[] = {VERB_ACQUIRE, VERB_ACQUIRE,
					    VERB_ACQUIRE, VERB_CONFIRM,
					    VERB_RELEASE, VERB_LISTEN};
	struct question q = {.token = 1 + chance(t, TOKENS)};

	/* whoever has it knows it: else most questions are in vain */
	if (t->node.token >= 1 && t->node.token <= TOKENS && chance(t, 3) == 0)
		q.token = t->node.token;
	q.conf = (struct lease_conf){.nodes = chance(t, 2) ? 1 : 3,
				     .ttl_ms = t->ttl[q.token],
				     .guard_ms = chance(t, 8) ? 0 : GUARD_MS,
				     .ticket = t->came[q.token],
				     .max_waiters = chance(t, 4) - 1,
				     .supersede = q.token >= MARKED};
	q.ask.verb = verb_of[chance(t, 6)];
	q.ask.guard_ms = q.conf.guard_ms;
	q.ask.seen = number_for(t, q.token);
	q.ask.fence = number_for(t, q.token);
	q.ask.acquire.ticket = chance(t, 4) == 0   ? -1
			       : chance(t, 4) == 0 ? 0
						   : t->ticket[q.token];
	q.ask.acquire.newcomer = chance(t, 3) == 0;
	if (q.ask.acquire.newcomer && q.ask.acquire.ticket > 0)
		q.ask.acquire.ticket = t->us + (chance(t, 5) - 2) * 900000;
	q.ask.confirm.until_ms =
		chance(t, 2) ? 0 : t->us / 1000 + (chance(t, 3) - 1) * 60000;
	q.ask.confirm.repairs = chance(t, 4) == 0;
	q.ask.release.queued = chance(t, 2);
	q.ask.release.ran = chance(t, 2);
	q.ask.release.withheld = chance(t, 4) == 0;
	q.ask.since = (uint64_t)chance(t, 4);
	q.ask.listen_ms = 60000;
	return q;
}

/* A real server would wait: it is asked only when there is a word. */
static bool nothing_to_hear(struct trial *t, const struct question *q)
{
	char name[120];

	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)t->keys[q->token].part_len[PART_GRANT],
		       t->keys[q->token].part[PART_GRANT]);
	return q->ask.verb == VERB_LISTEN &&
	       plain(t, "EXISTS", name, NULL) == 0;
}

static bool ask_server(struct trial *t, const struct question *q,
		       struct answer *a)
{
	struct script_scratch scratch;
	struct words w, reply;
	struct sight sight;
	struct fail why;

	if (nothing_to_hear(t, q)) {
		*a = (struct answer){.said = SAID_QUIET};
		return true;
	}
	script_request(&q->ask, &q->conf, &t->keys[q->token],
		       t->token[q->token], t->identity[q->token], 0, &scratch,
		       &w);
	call(t, &w, &reply);
	if (answer_read(q->ask.verb, &reply, a, &sight, &why) == 0)
		return true;
	printf("# not an answer: %s\n", why.text);
	return false;
}

/* Asked at `us`, while the server's uptime is what it is at `counted`. */
static struct answer ask_node(struct trial *t, const struct question *q,
			      int64_t us, int64_t counted)
{
	struct answer a;

	t->node.lag_us = us - counted;
	a = node_run(&t->node, &q->ask, q->token, &q->conf, us);
	t->node.lag_us = 0;
	return a;
}

/* ---- the comparison ---- */

/* Both grow as the time passes, but for a counter that starts again. That is as
 * far above what its holder saw as its lease is long, until the time has passed
 * what the holder saw: then it is the time, which is less. */
static bool counter_fits(int64_t counter, const struct answer *early,
			 const struct answer *late, int64_t from)
{
	if (early->counter > late->counter)
		return counter == early->counter ||
		       (counter >= from && counter <= late->counter);
	return counter >= early->counter && counter <= late->counter;
}

/* The time that the answer tells; of FULL, the number of waiters. */
static int64_t left_of(const struct answer *a)
{
	if (a->handed_ms > 0)
		return a->handed_ms;
	return a->said == SAID_YES || a->said == SAID_HEALED ||
			       a->said == SAID_NO
		       ? a->confirm.pttl_ms
		       : a->busy.pttl_ms;
}

static const char *difference(const struct question *q,
			      const struct answer *real,
			      const struct answer *early,
			      const struct answer *late, int64_t from)
{
	int64_t more = left_of(real) - left_of(early),
		less = left_of(late) - left_of(real);

	if (real->said != early->said || real->said != late->said)
		return "they say different things";
	if (!counter_fits(real->counter, early, late, from))
		return "the counters differ";
	/* as the time passes the counter, a ticket behind all others becomes
	 * the time */
	if ((real->busy.ticket < early->busy.ticket ||
	     real->busy.ticket > late->busy.ticket) &&
	    real->busy.ticket != early->busy.ticket &&
	    real->busy.ticket != late->busy.ticket)
		return "the tickets differ";
	if (real->busy.place != early->busy.place)
		return "the places in line differ";
	if (real->said == SAID_FULL && left_of(real) != left_of(early))
		return "the numbers of waiters differ";
	if (real->said == SAID_NO && q->ask.verb == VERB_CONFIRM &&
	    left_of(real) != left_of(early))
		return "one finds the lock gone";
	if (real->at_ms < early->at_ms || real->at_ms > late->at_ms)
		return "the clocks differ";
	/* by the clock, at times: a counter that was just born is above what
	 * the client saw, or a time passes the fence meanwhile */
	if (real->lost != early->lost && real->lost != late->lost)
		return "one tells of a loss";
	if (real->confirm.raised != early->confirm.raised &&
	    real->confirm.raised != late->confirm.raised)
		return "one has raised the counter";
	if (real->busy.holder_ticket != early->busy.holder_ticket)
		return "the holders' tickets differ";
	if (real->busy.age_ms < early->busy.age_ms - PTTL_SLACK_MS ||
	    real->busy.age_ms > late->busy.age_ms + PTTL_SLACK_MS)
		return "the holders' ages differ";
	if (real->said == SAID_GUARDED && (more > 2000 || less > 2000))
		return "the guards differ";
	if (real->said != SAID_BUSY &&
	    (real->said != SAID_YES || q->ask.verb != VERB_CONFIRM))
		return NULL;
	if (more > PTTL_SLACK_MS || less > PTTL_SLACK_MS)
		return "the leases left differ";
	if (real->busy.foreign != early->busy.foreign)
		return "one calls the holder foreign";
	if (real->busy.holder_ttl_ms != early->busy.holder_ttl_ms)
		return "the holders' lengths of lease differ";
	return NULL;
}

static void tell(const char *who, const struct answer *a)
{
	printf("#   %s: %s, counter %" PRId64 ", left %" PRId64
	       " ms, the holder's T %" PRId64 ", ticket %" PRId64
	       ", place %d%s%s\n",
	       who, said_names[a->said], a->counter, left_of(a),
	       a->busy.holder_ttl_ms, a->busy.ticket, a->busy.place,
	       a->busy.foreign ? ", foreign" : "", a->lost ? ", lost" : "");
}

static void adjust(const struct trial *t, int64_t *number, int64_t counter)
{
	/* a release moves what it bore by one */
	if (*number == t->node.counter || *number == t->node.counter - 1)
		*number += counter - t->node.counter;
}

static void follow(struct trial *t, const struct question *q,
		   const struct answer *real, int64_t had)
{
	int place = node_place(&t->node, q->token);

	/* born at another microsecond */
	if (t->node.counter >= 0 && q->ask.verb != VERB_LISTEN) {
		adjust(t, &t->node.lost, real->counter);
		adjust(t, &t->node.given, real->counter);
		adjust(t, &t->node.moved, real->counter);
		adjust(t, &t->node.born, real->counter);
		t->node.counter = real->counter;
	}
	if (real->busy.ticket > 0) {
		t->ticket[q->token] = real->busy.ticket;
		if (place >= 0 && t->node.newest == t->node.line[place].ticket)
			t->node.newest = real->busy.ticket;
		if (place >= 0)
			t->node.line[place].ticket = real->busy.ticket;
	}
	/* a release that hands the lock over may leave a word to its own token,
	 * which nobody asks with any more */
	if (q->ask.verb == VERB_RELEASE && real->said == SAID_YES &&
	    real->handed_ms > 0) {
		char list[120];

		(void)snprintf(list, sizeof(list), "%.*s",
			       (int)t->keys[q->token].part_len[PART_GRANT],
			       t->keys[q->token].part[PART_GRANT]);
		(void)plain(t, "DEL", list, NULL);
		while (node_heard(&t->node, q->token, t->us))
			;
	}
	/* no lease ends by itself: neither does that of who was handed one */
	if (t->node.token != had && t->node.token != q->token) {
		(void)plain(t, "PEXPIRE", KEY, "600000", NULL);
		if (t->node.token != 0)
			t->node.expires_ms = t->us / 1000 + 600000;
	}
	if (real->said != SAID_NO && q->ask.verb != VERB_LISTEN)
		t->told[q->token] = real->counter;
	t->seen[real->said]++;
	t->lost += real->lost;
}

/*
 * The server ran the script somewhere between `from` and now, and so does the
 * node: at both ends. What depends on the uptime jumps when that goes from one
 * second to the next; the script saw one of them. (Redis before 7 reads the
 * clock ten times a second.)
 */
static const char *compare(struct trial *t, const struct question *q,
			   const struct answer *real, int64_t from,
			   struct answer *early, struct answer *late)
{
	const int64_t counted[] = {from - CRON_US, from, t->us};
	const struct node before = t->node;
	const char *what = NULL;

	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		if (i > 0 && counted[i] / 1000000 == counted[i - 1] / 1000000)
			continue;
		t->node = before;
		*early = ask_node(t, q, from, counted[i]);
		t->node = before;
		*late = ask_node(t, q, t->us, counted[i]);
		what = difference(q, real, early, late, from);
		if (!what)
			return NULL;
	}
	return what;
}

/* False: they differ, and it is told how. */
static bool step(struct trial *t)
{
	const char *by_hand = meddle(t), *what = "the server's answer is odd";
	struct answer real = {0}, early, late;
	int64_t from = by_hand ? server_us() : t->us;
	struct question q = invent(t);
	struct node before = t->node;
	int64_t had = t->node.token;

	if (ask_server(t, &q, &real)) {
		t->us = server_us();
		what = compare(t, &q, &real, from, &early, &late);
		if (!what) {
			follow(t, &q, &real, had);
			return true;
		}
		tell("server", &real);
		tell("node", &early);
		if (late.counter != early.counter)
			tell("or", &late);
	}
	printf("# step %" PRIu64 ": %s\n# %s%s%s of token %" PRId64
	       ", T %" PRId64 ", fence %" PRId64 ", seen %" PRId64
	       ", ticket %" PRId64 "%s, most %" PRId64 "%s%s%s\n"
	       "# before: token %" PRId64 ", counter %" PRId64 ", %d waiters\n",
	       t->step, what, by_hand ? by_hand : "", by_hand ? "; then " : "",
	       verbs[q.ask.verb], q.token, t->ttl[q.token], q.ask.fence,
	       q.ask.seen, q.ask.acquire.ticket,
	       q.ask.acquire.newcomer ? " (new)" : "", q.conf.max_waiters,
	       q.conf.nodes == 1 ? ", one node" : ", of several nodes",
	       q.ask.confirm.repairs ? ", repairs" : "",
	       q.conf.guard_ms > 0 ? ", guarded" : "", before.token,
	       before.counter, before.waiters);
	return false;
}

static bool all_came_up(const struct trial *t)
{
	/* what plain locks are not told */
	bool all = all_said(t->seen, 1U << SAID_DONE | 1U << SAID_INSIDE |
					     1U << SAID_VANISHED);

	printf(" (lost %" PRIu64 ")\n", t->lost);
	return (all && t->lost > 0) || t->step < ENOUGH_STEPS;
}

static void introduce(struct trial *t, int i)
{
	static const struct holder nobody = {{"host", "1", "user", "sh"}};
	struct lease_conf conf = {.nodes = 3,
				  .ttl_ms = 60000 + chance(t, 600000),
				  .ticket = 1 + chance(t, 1000000),
				  .supersede = i >= MARKED};

	t->ttl[i] = conf.ttl_ms;
	t->came[i] = conf.ticket;
	(void)snprintf(t->token[i], sizeof(t->token[i]), "token-%d", i);
	script_identity(&conf, &nobody, t->identity[i]);
	if (keys_init(&t->keys[i], KEY, strlen(KEY), t->token[i]) < 0)
		bail("no memory");
}

static void start(struct trial *t, const char *path, uint64_t seed,
		  enum twin twin)
{
	*t = (struct trial){.random = seed * 0x9e3779b97f4a7c15ULL + 1};
	if (t->random == 0)
		t->random = 1;
	server_dial(path);
	node_flush(&t->node);
	t->node.twin = twin;
	for (int i = 1; i <= TOKENS; i++)
		introduce(t, i);
	t->us = server_us();
	t->node.up_us = t->us - server_uptime_us();
}

static void finish(struct trial *t)
{
	(void)plain(t, "FLUSHALL", NULL);
	server_hang_up();
	for (int i = 1; i <= TOKENS; i++)
		keys_close(&t->keys[i]);
}

static int verdict(bool good, uint64_t steps, uint64_t seed, enum twin twin)
{
	if (twin != TWIN_NONE)
		printf("%s 1 - the twin \"%s\" is caught",
		       good ? "ok" : "not ok", twins[twin]);
	else
		printf("%s 1 - the simulated node answers as the server does",
		       good ? "ok" : "not ok");
	printf(" (%" PRIu64 " steps, seed %" PRIu64 ")\n1..1\n", steps, seed);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	uint64_t steps = STEPS,
		 seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	enum twin twin = TWIN_NONE;
	struct trial t;
	bool same = true, good;
	int i = 1;

	if (argc > 2 && strcmp(argv[1], "--twin") == 0) {
		int n = atoi(argv[2]);

		if (n < 0 || n >= TWIN_COUNT || !twins[n])
			bail("twin %s is none of a node's", argv[2]);
		twin = (enum twin)n;
		i += 2;
	}
	if (i >= argc || argc > i + 3)
		bail("usage: differ [--twin N] SOCKET [STEPS [SEED]]");
	if (i + 1 < argc)
		steps = strtoull(argv[i + 1], NULL, 10);
	if (i + 2 < argc)
		seed = strtoull(argv[i + 2], NULL, 10);
	start(&t, argv[i], seed, twin);
	while (same && t.step < steps) {
		t.step++;
		same = step(&t);
	}
	good = twin == TWIN_NONE ? same && all_came_up(&t) : !same;
	finish(&t);
	return verdict(good, t.step, seed, twin);
}
