/* SPDX-License-Identifier: MIT */
/*
 * Random requests on two sides. Read compare.h first.
 *
 * A handful of clients ask for one key, as redlock would and as it would not:
 * late, with counters that nobody ever saw, for slots that are not theirs. In
 * between, time passes, data are lost, and other programs write into the keys.
 *
 * A real server has a clock of its own. So the scripts of both sides take the
 * time, and what INFO says, from keys that we set. Only the ends of keys go by
 * the server's own clock. They are moved when time passes, and none is so near
 * that it could come while both are compared.
 */
#include "compare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/core/timing.h"
#include "lock/wire/answer.h"
#include "lock/wire/admin.h"
#include "lock/wire/lua.inc"
#include "lock/wire/request.h"
#include "redis.h"
#include "server.h"
#include "twin.h"
#include "world.h"

#define KEY "job"
#define STATE KEY ":redlock:{" KEY "}:state"
#define QUEUE KEY ":redlock:{" KEY "}:queue"
#define HISTORY KEY ":redlock:{" KEY "}:log"
#define ASKERS 8
#define SLOTS 3
#define ENOUGH 20000 /* in so many steps every answer comes up */
#define PHASE 200    /* steps */
#define SOON_MS 30000
#define PTTL_SLACK_MS 1500
#define KEYS_MAX 64

static const struct redis_edit timeless[] = {
	{"call('time')", "call('mget','now-s','now-us')"},
	{"try('info','server')", "call('get','now-server')"},
	{"try('info','replication')", "call('get','now-replication')"},
	{NULL, NULL}};

/* What a script may answer. A comparison in which some answer never comes up
 * has not compared it. */
enum script { ACQUIRE, RENEW, RELEASE, FORCE, SCRIPTS };
static const char *const script_names[SCRIPTS] = {"acquire", "renew", "release",
						  "force"};
#define ANSWERS_MAX 10
static const char *const answers[SCRIPTS][ANSWERS_MAX] = {
	{"granted", "busy", "full", "superseded", "done", "inside", "no",
	 "vanished", "newer", "older"},
	{"yes", "healed", "no", "newer"},
	{"yes", "no", "newer"},
	{"yes", "foreign", "no", "newer"}};

struct asker {
	char text[24], identity[IDENTITY_SIZE];
	struct keys keys;
	struct lease_conf conf;
	int64_t ticket, counter, longest, until_ms, fence;
	uint64_t seq;
	int slot;
};

static struct trial {
	struct redis *redis, *other; /* other: NULL: a server */
	int64_t us;                  /* the time that scripts see */
	int64_t clock_us;            /* of redis.c: for the ends of keys */
	struct instant set_at;       /* when clock_us was set */
	int tokens;
	uint64_t step, full;
	bool quiet; /* tells no differences */
	bool wild;  /* now: much goes wrong, and all kinds of lock are taken */
	bool plain; /* now: only plain locks are taken */
	uint64_t seen[SCRIPTS][ANSWERS_MAX];
	struct asker asker[ASKERS];
} trial;

/* A difference, unless it is looked for. Returns false. */
static bool __attribute__((format(printf, 1, 2))) differs(const char *fmt, ...)
{
	va_list ap;

	if (trial.quiet)
		return false;
	printf("# step %" PRIu64 ": ", trial.step);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return false;
}

static bool begins(const char *text, const char *with)
{
	return text && strncmp(text, with, strlen(with)) == 0;
}

static const char *number(int64_t n)
{
	static char text[8][24];
	static int at;

	at = (at + 1) % 8;
	(void)snprintf(text[at], sizeof(text[at]), "%" PRId64, n);
	return text[at];
}

/* ---- both sides ---- */

static void show(const char *who, bool fine, const struct words *words)
{
	printf("#   %s:%s", who, fine ? "" : " error:");
	for (int i = 0; i < words->n; i++)
		printf(" '%.*s'", (int)words->len[i], words->at[i]);
	printf("\n");
}

/* What a command in a script answered, which before Redis 7 stands behind "ERR
 * Error running script (call to ...): @user_script:LINE: @user_script: LINE:
 * -". An error of Lua itself is an ERR. */
static const char *bare_error(const char *text)
{
	static const char mark[] = "@user_script:";
	const char *bare = text, *at;

	if (!begins(text, "ERR Error running script") && !begins(text, mark))
		return text;
	while ((at = strstr(bare, mark))) {
		bare = at + strlen(mark);
		bare += strspn(bare, " 0123456789:-");
	}
	return begins(bare, mark + 1) ? text : bare;
}

/* The lifetimes of a server's keys run on while we ask it; on a busy machine,
 * which may stop us, for as long as that. */
static bool alike(const struct words *a, const struct words *b, int i)
{
	char x[24] = "", y[24] = "";
	int64_t p, q;

	if (a->len[i] == b->len[i] &&
	    memcmp(a->at[i], b->at[i], a->len[i]) == 0)
		return true;
	if (trial.other || a->len[i] >= sizeof(x) || b->len[i] >= sizeof(y))
		return false;
	memcpy(x, a->at[i], a->len[i]);
	memcpy(y, b->at[i], b->len[i]);
	p = strtoll(x, NULL, 10);
	q = strtoll(y, NULL, 10);
	return p > 0 && q > 0 &&
	       llabs(p - q) < PTTL_SLACK_MS + between(trial.set_at, now());
}

/* Of an error only the first word counts. */
static bool same_reply(bool fine, const struct words *mine, bool good,
		       const struct words *its)
{
	bool same = good == fine && (!fine || mine->n == its->n);

	for (int i = 0; same && fine && i < mine->n; i++)
		same = alike(mine, its, i);
	return same &&
	       (fine || (mine->len[0] >= 4 &&
			 strncmp(mine->at[0], bare_error(its->at[0]), 4) == 0));
}

/* A state goes with its last field. The small Redis may still have `first`
 * then, which a server keeps in its stream (see same_hash()): both lose the
 * state. */
static void settle(void)
{
	const char *name = redis_field_name(trial.redis, STATE, 0);
	struct words request = {0}, out;

	if (trial.other || !name || strcmp(name, "first") != 0 ||
	    redis_field_name(trial.redis, STATE, 1))
		return;
	words_add_text(&request, "DEL");
	words_add_text(&request, STATE);
	(void)redis_run(trial.redis, &request, &out);
	(void)server_ask(&request, &out);
}

/* `request` for redis.c, `edited` for the other side. */
static bool play(const struct words *request, const struct words *edited,
		 struct words *mine, bool *fine)
{
	struct words its;
	bool good;

	settle();
	*fine = redis_run(trial.redis, request, mine);
	good = trial.other ? redis_run(trial.other, edited, &its)
			   : server_ask(edited, &its);
	if (same_reply(*fine, mine, good, &its))
		return true;
	(void)differs("they answer otherwise");
	if (trial.quiet)
		return false;
	printf("# asked:");
	for (int i = 0; i < request->n; i++)
		if (request->len[i] < 300)
			printf(" '%.*s'", (int)request->len[i], request->at[i]);
	printf("\n");
	show("one", *fine, mine);
	show("other", good, &its);
	return false;
}

/* A command, word by word, then NULL, for both. */
static bool __attribute__((sentinel)) both(const char *word, ...)
{
	struct words request = {0}, out;
	va_list ap;
	bool fine;

	va_start(ap, word);
	for (; word; word = va_arg(ap, const char *))
		words_add_text(&request, word);
	va_end(ap);
	return play(&request, &request, &out, &fine);
}

static void be_full(bool full)
{
	struct words request = {0}, out;

	redis_full(trial.redis, full);
	if (trial.other) {
		redis_full(trial.other, full);
		return;
	}
	words_add_text(&request, "CONFIG");
	words_add_text(&request, "SET");
	words_add_text(&request, "maxmemory");
	words_add_text(&request, full ? "1" : "0");
	if (!server_ask(&request, &out))
		bail("the server has no maxmemory");
}

/* ---- what both have stored ---- */

/* Of two leases in a slot that end at the same time, it may name either as the
 * last: they are read in the order of a Lua table. Both sides go on with the
 * server's. */
static bool same_slot(const char *key, const char *name, const char *mine,
		      const char *its)
{
	const char *x = mine ? strrchr(mine, ' ') : NULL;
	const char *y = strrchr(its, ' ');
	char holds[2][80];
	const char *ends[2];
	struct words request = {0}, out;

	if (!begins(name, "slot:") || !x || !y || x - mine != y - its ||
	    memcmp(mine, its, (size_t)(x - mine)) != 0)
		return false;
	(void)snprintf(holds[0], sizeof(holds[0]), "hold:%s", x + 1);
	(void)snprintf(holds[1], sizeof(holds[1]), "hold:%s", y + 1);
	for (int i = 0; i < 2; i++) {
		ends[i] = redis_field(trial.redis, key, holds[i]);
		if (!ends[i])
			return false;
	}
	if (strtoll(ends[0], NULL, 10) != strtoll(ends[1], NULL, 10))
		return false;
	words_add_text(&request, "HSET");
	words_add_text(&request, key);
	words_add_text(&request, name);
	words_add_text(&request, its);
	return redis_run(trial.redis, &request, &out);
}

/* A hash, in any order. (The process that wrote the counter is another one; and
 * the small Redis has no streams: what would be in one stays a field.) */
static bool same_hash(const char *key)
{
	struct words request = {0}, out;
	const struct reply *all;
	size_t n = 0;

	words_add_text(&request, "HGETALL");
	words_add_text(&request, key);
	if (!server_ask(&request, &out))
		return false;
	all = server_whole();
	for (size_t i = 0; i + 1 < all->items; i += 2) {
		const char *name = all->item[i].bytes;
		const char *mine = redis_field(trial.redis, key, name);

		if (strcmp(name, "first") == 0)
			continue;
		n++;
		if ((mine && strcmp(mine, all->item[i + 1].bytes) == 0) ||
		    same_slot(key, name, mine, all->item[i + 1].bytes))
			continue;
		return differs("%s is '%s' and '%s'", name, mine ? mine : "",
			       all->item[i + 1].bytes);
	}
	for (int i = 0; redis_field_name(trial.redis, key, i); i++)
		n -= strcmp(redis_field_name(trial.redis, key, i), "first") !=
		     0;
	return n == 0;
}

static bool same_key(const char *key)
{
	char name[256];
	struct words request = {0}, type;

	(void)snprintf(name, sizeof(name), "%s", key);
	if (!both("TYPE", name, NULL) || !both("PTTL", name, NULL))
		return false;
	words_add_text(&request, "TYPE");
	words_add_text(&request, name);
	(void)redis_run(trial.redis, &request, &type);
	switch (type.at[0][0]) {
	case 'h':
		return same_hash(name);
	case 'z':
		return both("ZRANGEBYSCORE", name, "-inf", "+inf", "withscores",
			    NULL);
	case 'l':
		return both("LINDEX", name, "0", NULL) &&
		       both("LINDEX", name, "-1", NULL);
	default:
		return both("GET", name, NULL);
	}
}

/* All keys but the history. */
static bool same_stored(void)
{
	struct words request = {0}, its;
	int64_t n = 0;

	if (trial.other)
		return redis_alike(trial.redis, trial.other);
	settle();
	words_add_text(&request, "DBSIZE");
	if (!server_ask(&request, &its))
		return false;
	n = strtoll(its.at[0], NULL, 10);
	request = (struct words){0};
	words_add_text(&request, "EXISTS");
	words_add_text(&request, HISTORY);
	if (!server_ask(&request, &its))
		return false;
	n -= strtoll(its.at[0], NULL, 10);
	for (int i = 0; redis_key(trial.redis, i); i++, n--)
		if (!same_key(redis_key(trial.redis, i)))
			return false;
	return n == 0;
}

/* ---- time, and what is done by hand ---- */

static bool set_time(void)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "# Server\r\nredis_mode:standalone\r\nrun_id:%040x\r\n"
		       "uptime_in_seconds:%" PRId64 "\r\n",
		       one_in(8), chance(400));
	return both("SET", "now-s", number(trial.us / 1000000), NULL) &&
	       both("SET", "now-us", number(trial.us % 1000000), NULL) &&
	       both("SET", "now-server", text, NULL) &&
	       both("SET", "now-replication", "# Replication\r\n", NULL);
}

/* Each end comes nearer; with a server, none comes by itself. */
static bool move_ends(int64_t ms)
{
	char name[KEYS_MAX][256];
	int n = 0;

	for (int i = 0; i < KEYS_MAX && redis_key(trial.redis, i); i++)
		(void)snprintf(name[n++], sizeof(name[0]), "%s",
			       redis_key(trial.redis, i));
	for (int i = 0; i < n; i++) {
		int64_t ends = redis_ends(trial.redis, name[i]);
		int64_t left = ends - trial.clock_us / 1000 - ms;

		if (ends <= 0 || (ms == 0 && left >= SOON_MS))
			continue;
		if (left > 0 && left < SOON_MS)
			left = SOON_MS + 1000 * chance(300);
		if (!both("PEXPIRE", name[i], number(left > 0 ? left : 0),
			  NULL))
			return false;
	}
	return true;
}

static bool pass_time(void)
{
	int64_t us = 1500 + chance(3000000);

	if (one_in(12))
		us += chance(300000000);
	if (one_in(200))
		us = -us;
	if (trial.us + us < EPOCH_US)
		us = 1500;
	trial.us += us;
	if (!trial.other) {
		trial.set_at = now();
		trial.clock_us = server_us();
		redis_clock(trial.redis, trial.clock_us);
		return move_ends(us > 0 ? us / 1000 : 0);
	}
	trial.clock_us = trial.us;
	redis_clock(trial.redis, trial.clock_us);
	redis_clock(trial.other, trial.clock_us);
	return true;
}

static int64_t counter_now(void)
{
	const char *c = redis_field(trial.redis, STATE, "fence");

	return c ? strtoll(c, NULL, 10) : 0;
}

static bool delete_one(void)
{
	char name[256] = "";
	int n = 0;

	while (redis_key(trial.redis, n))
		n++;
	if (n > 0)
		(void)snprintf(name, sizeof(name), "%s",
			       redis_key(trial.redis, (int)chance(n)));
	return n == 0 || both("DEL", name, NULL);
}

/* A hash is lost as a whole. So the short cut takes what is there for whole. */
static bool delete_field(void)
{
	char name[256] = "";
	int n = 0;

	if (trial.other)
		return true;
	while (redis_field_name(trial.redis, STATE, n))
		n++;
	if (n > 0)
		(void)snprintf(
			name, sizeof(name), "%s",
			redis_field_name(trial.redis, STATE, (int)chance(n)));
	/* ("first" may be missing: see same_hash()) */
	return n == 0 || strcmp(name, "first") == 0 ||
	       both("HDEL", STATE, name, NULL);
}

static bool set_back(void)
{
	if (!trial.other)
		return true;
	redis_set_back(trial.redis);
	redis_set_back(trial.other);
	return true;
}

static bool meddle(void)
{
	if (trial.other && one_in(30)) {
		redis_save(trial.redis);
		redis_save(trial.other);
	}
	if (one_in(300) && counter_now() > 1)
		return both("HSET", STATE, "fence",
			    number(counter_now() - chance(3)), NULL);
	switch (chance(trial.wild ? 200 : 2000)) {
	case 0:
	case 1:
	case 2:
		return delete_one();
	case 3:
		return both("FLUSHALL", NULL);
	case 4:
	case 5:
		return both("SET", KEY, "somebody else", "PX",
			    number(60000 + chance(600000)), NULL);
	case 6:
		return both("DEL", KEY, NULL) &&
		       both("RPUSH", KEY, "no lock", NULL);
	case 7:
		return both("SET", KEY, "for ever", NULL);
	case 8:
		return both("DEL", STATE, NULL) &&
		       both("SET", STATE, "x", NULL);
	case 9:
		return both("DEL", QUEUE, NULL) &&
		       both("SET", QUEUE, "x", NULL);
	case 10:
	case 20:
		return !redis_field(trial.redis, STATE, "v") ||
		       both("HSET", STATE, "fence",
			    one_in(2) ? "x" : number(chance(trial.us)), NULL);
	case 12:
		return !redis_field(trial.redis, STATE, "v") || !one_in(4) ||
		       both("HSET", STATE, "v", "3", NULL);
	case 11:
	case 13:
		return both("HDEL", STATE, "v", NULL);
	case 14:
	case 15:
		return both("DEL", KEY, NULL);
	case 16:
	case 17:
		return set_back();
	case 18:
	case 19:
		return delete_field();
	default:
		return true;
	}
}

/* ---- clients, and what they ask ---- */

static void introduce(struct asker *a)
{
	static const struct holder nobody = {{"host", "1", "user", "sh"}};
	static const char *const labels[] = {"v1", "v2"};
	struct lease_conf conf = {.nodes = 1,
				  .ttl_ms = 60000 + chance(600000),
				  .max_waiters = -1,
				  .slots = 1};

	if (!trial.plain && !one_in(3)) {
		conf.nodes = one_in(4) ? 3 : 1;
		conf.max_waiters = chance(5) - 1;
		conf.supersede = one_in(4);
		conf.high = !conf.supersede && one_in(4);
		conf.replace_ms = chance(20000);
		conf.shared = one_in(3);
		conf.slots = conf.shared ? 1 : 1 + (int)chance(SLOTS);
		conf.guard_ms = one_in(6) ? 100000 : 0;
		conf.once_ms = one_in(6);
		conf.revision = one_in(6) ? 1 + chance(5) : 0;
		conf.label = one_in(6) ? labels[chance(2)] : NULL;
	}
	keys_close(&a->keys);
	*a = (struct asker){.conf = conf, .longest = conf.ttl_ms};
	(void)snprintf(a->text, sizeof(a->text), "tok-%d", ++trial.tokens);
	record_identity(&conf, &nobody, a->identity);
	if (keys_init(&a->keys, KEY, strlen(KEY), a->text) < 0)
		abort();
}

/* Mostly what this client heard last. */
static int64_t counter_for(const struct asker *a)
{
	switch (chance(trial.wild ? 16 : 200)) {
	case 0:
		return 0;
	case 1:
		return counter_now() + chance(3);
	case 2:
		return counter_now() > 3 ? counter_now() - chance(3) : 1;
	case 3:
		return counter_now();
	default:
		return a->counter;
	}
}

static void choose_outer(struct lease_outer *outer)
{
	const struct asker *o = &trial.asker[chance(one_in(2) ? 3 : ASKERS)];

	memcpy(outer->token, o->text, sizeof(o->text));
	outer->slot = o->slot;
	outer->fence = o->fence;
	outer->here = one_in(2);
	outer->reads = o->conf.shared;
}

static struct ask invent(struct asker *a)
{
	/* mostly what makes sense for a holder, or for another client */
	static const enum verb verbs[] = {VERB_CONFIRM, VERB_CONFIRM,
					  VERB_RELEASE, VERB_ACQUIRE,
					  VERB_ACQUIRE, VERB_ACQUIRE};
	int first = one_in(6) || a->fence > 0 ? 0 : 3;
	bool odd = one_in(trial.plain ? 40 : 4);
	int64_t now_ms = trial.us / 1000;
	struct ask ask = {
		.verb = verbs[first + chance(one_in(8) ? 6 - first : 3)],
		.seq = one_in(12) ? (uint64_t)chance((int64_t)a->seq + 1)
				  : ++a->seq,
		.seen = counter_for(a),
		.fence = one_in(3) ? counter_for(a) : a->fence,
		.slot = odd && one_in(4) ? (int)chance(SLOTS) : a->slot,
		.guard_ms = a->conf.guard_ms,
		.longest_ms = odd && one_in(4) ? chance(600000) : a->longest,
		.acquire = {.ticket = a->ticket,
			    .newcomer = odd && one_in(4),
			    .looks = odd && one_in(8),
			    .only = odd && one_in(4) ? 1 + (int)chance(SLOTS)
						     : 0,
			    .replaces = a->conf.supersede},
		.confirm = {.repairs = odd && one_in(4),
			    .reads = odd && one_in(4),
			    .until_ms = one_in(4) ? now_ms + chance(2000) - 1000
						  : a->until_ms},
		.release = {.withheld = odd && one_in(4),
			    .queued = one_in(2),
			    .ran = one_in(2),
			    .least_ms = odd && one_in(2) ? chance(600000) : 0,
			    .once_ms = odd && one_in(8) ? chance(600000) : 0,
			    .revision = odd && one_in(8) ? chance(6) : 0,
			    .labels = odd && a->conf.label && one_in(2)}};

	if (odd && one_in(2)) {
		choose_outer(&a->conf.outer);
		ask.joins = one_in(2);
	}
	if (ask.acquire.newcomer)
		ask.acquire.ticket =
			queue_ticket(trial.us - chance(2000000), a->conf.high);
	else if (one_in(4))
		ask.acquire.ticket = one_in(2) ? 0 : -1;
	return ask;
}

static void remember(struct asker *a, const struct ask *ask,
		     const struct answer *answer)
{
	if (answer->counter > 0)
		a->counter = answer->counter;
	if (answer->busy.ticket > 0)
		a->ticket = answer->busy.ticket;
	if (answer->longest_ms > a->longest)
		a->longest = answer->longest_ms;
	if (answer->at_ms > 0)
		a->until_ms = answer->at_ms + a->conf.ttl_ms;
	if (answer->said == SAID_GRANTED) {
		a->slot = answer->granted.slot;
		a->fence = answer->granted.fence;
	}
	if (ask->verb == VERB_CONFIRM && answer->said == SAID_NO)
		a->fence = 0;
	if (ask->verb == VERB_RELEASE) {
		a->ticket = 0;
		a->fence = 0;
	}
}

/* The texts of redis.c are edited there. */
static bool put(enum script script, const struct request *request,
		struct words *out)
{
	struct request edited = *request; /* borrows the numbers */
	int found[4] = {0};
	char *text = NULL;
	bool fine, same;

	if (trial.other && script != FORCE) {
		request_text(&edited, ACQUIRE_PLAIN, "0");
	} else if (!trial.other) {
		text = redis_edited(timeless, request->words.at[1],
				    request->words.len[1], &edited.words.len[1],
				    found);
		edited.words.at[1] = text;
	}
	same = play(&request->words, &edited.words, out, &fine);
	free(text);
	if (!fine && same && !begins(out->at[0], "OOM"))
		return differs("%s fails: %s", script_names[script],
			       out->at[0]);
	trial.full += !fine;
	for (int i = 0; fine && i < ANSWERS_MAX && answers[script][i]; i++)
		trial.seen[script][i] +=
			strcmp(out->at[0], answers[script][i]) == 0;
	if (!fine)
		*out = (struct words){0};
	return same;
}

static bool ask_one(struct asker *a)
{
	static const enum script scripts[] = {[VERB_ACQUIRE] = ACQUIRE,
					      [VERB_CONFIRM] = RENEW,
					      [VERB_RELEASE] = RELEASE};
	struct ask ask = invent(a);
	struct request request;
	struct words out;
	struct answer answer;
	struct sight sight;
	struct fail why;
	bool same;

	request_ask(&request, &ask, &a->conf, &a->keys, a->text, a->identity,
		    0);
	if (ask.verb == VERB_RELEASE && one_in(2))
		request_text(&request, RELEASE_ENTRY, "outcome exit\nexit 0\n");
	same = put(scripts[ask.verb], &request, &out);
	if (same && out.n > 0 &&
	    answer_read(ask.verb, &out, &answer, &sight, &why) == 0)
		remember(a, &ask, &answer);
	/* mostly it comes once */
	return same && (!one_in(8) || put(scripts[ask.verb], &request, &out));
}

/* Of another client: extend, unlock and force-release. */
static bool ask_for(const struct asker *a)
{
	struct request request;
	struct words out;
	char field[16], family[64] = "";
	const char *text;
	int slot = one_in(4) ? (int)chance(SLOTS) : a->slot;

	(void)snprintf(field, sizeof(field), "slot:%d", slot);
	text = redis_field(trial.redis, STATE, field);
	if (one_in(6) || !text)
		text = redis_get(trial.redis, KEY);
	(void)snprintf(family, sizeof(family), "%s",
		       one_in(16) || !text ? "list" : text);
	family[strcspn(family, " ")] = '\0';
	if (one_in(3)) {
		const struct token_op op = {
			.extend = one_in(2),
			.token = a->text,
			.ttl_ms = one_in(2) ? 0 : chance(900000),
			.alone = a->conf.nodes == 1,
			.tell = one_in(2)};

		token_op_request(&request, &op, &a->keys, 0);
		return put(op.extend ? RENEW : RELEASE, &request, &out);
	}
	if (begins(family, "shared:") && one_in(2))
		(void)snprintf(family, sizeof(family), FORCE_CROWD);
	const struct force force = {.step = (enum force_step)chance(3),
				    .slot = slot,
				    .who = family,
				    .who_len = strlen(family),
				    .grace_ms = chance(60000),
				    .by = "host boss\n",
				    .ttl_ms = a->conf.ttl_ms,
				    .seen = counter_for(a),
				    .entry = one_in(2) ? "" : "by boss\n",
				    .alone = a->conf.nodes == 1};

	force_request(&request, &force, &a->keys, 0);
	return put(FORCE, &request, &out);
}

static bool begin_phase(void)
{
	trial.wild = one_in(2);
	trial.plain = one_in(2);
	for (int i = 0; i < ASKERS; i++)
		introduce(&trial.asker[i]);
	return both("FLUSHALL", NULL);
}

static bool step(void)
{
	bool full = one_in(60), same;
	struct asker *a;

	if (trial.step++ % PHASE == 0 && !begin_phase())
		return false;
	if (one_in(80))
		introduce(&trial.asker[chance(ASKERS)]);
	if (!meddle() || !pass_time() || !set_time())
		return false;
	if (full)
		be_full(true);
	/* some ask more often: what is frequent is so more often */
	a = &trial.asker[chance(1 + chance(trial.wild ? ASKERS : 3))];
	same = one_in(40) ? ask_for(a) : ask_one(a);
	if (full)
		be_full(false);
	if (same && !trial.other)
		same = move_ends(0) && (!one_in(4) || same_stored());
	else if (same)
		same = same_stored() || differs("they have other keys");
	return same;
}

/* ---- from the command line ---- */

static void begin(struct redis *redis, struct redis *other, uint64_t seed)
{
	for (int i = 0; i < ASKERS; i++)
		keys_close(&trial.asker[i].keys);
	trial = (struct trial){.redis = redis, .other = other, .us = EPOCH_US};
	w.random = seed * 0x9e3779b97f4a7c15ULL + 1;
}

static bool all_came_up(void)
{
	bool all = trial.full > 0;

	for (int s = 0; s < SCRIPTS; s++) {
		printf("# %s:", script_names[s]);
		for (int i = 0; i < ANSWERS_MAX && answers[s][i]; i++) {
			printf(" %s %" PRIu64, answers[s][i], trial.seen[s][i]);
			all = all && trial.seen[s][i] > 0;
		}
		printf("\n");
	}
	printf("# out of memory: %" PRIu64 "\n", trial.full);
	return all;
}

/* What is rare has several chances, and in a short run none. */
static bool steps_of(uint64_t steps)
{
	bool same = true, all = false;

	for (int i = 1; same && !all && i <= 5; i++) {
		for (uint64_t k = 0; same && k < steps; k++)
			same = step();
		all = all_came_up() || trial.step < ENOUGH;
	}
	return same && all;
}

static int tell_end(bool same, const char *what, uint64_t seed)
{
	printf("%s 1 - %s (%" PRIu64 " steps, seed %" PRIu64 ")\n1..1\n",
	       same ? "ok" : "not ok", what, trial.step, seed);
	return !same;
}

int compare_server(const char *socket, uint64_t steps, uint64_t seed)
{
	struct redis *redis = redis_open();
	bool same;

	if (!redis)
		abort();
	server_dial(socket);
	begin(redis, NULL, seed);
	redis_edit(redis, timeless);
	same = steps_of(steps);
	(void)both("FLUSHALL", NULL);
	server_hang_up();
	redis_close(redis);
	return tell_end(same, "the small Redis answers as the server does",
			seed);
}

/* Rules of the short cut, each left out. `seed`: one that shows it within few
 * steps. */
static const struct {
	const char *name;
	struct redis_edit edit;
	uint64_t seed;
} plain_twins[] = {
	{"a renewal by hand is not noticed",
	 {"and try('getrange',K,0,127)==token", ""},
	 7},
	{"a late release counts",
	 {"if ours and ARGV[2]-number>=0 and", "if ours and"},
	 5},
	{"a renewal does not raise the counter",
	 {"and hold and ARGV[11]<=c and slot0", "and hold and slot0"},
	 7},
	{"a renewal forgets its number",
	 {"(number-ARGV[2]>0 and number or ARGV[2])", "number"},
	 7},
	{"a hold of several is one's own",
	 {"slot0==token..' 1 '..c..' '..longest..' '..token",
	  "slot0:sub(1,#token)==token"},
	 7},
	{"waiters are passed by",
	 {"and call('exists',Q)==0 then local set", "then local set"},
	 1},
	{"waiters are not served",
	 {"and call('exists',Q)==0 then call('del',K", "then call('del',K"},
	 7},
	{"a key that is shut is granted", {"and(f[3]or'0')<ms", ""}, 7},
	{"a request to stop is overlooked", {"and not f[6]", ""}, 8},
	{"a loss of data is not noticed",
	 {"and(ARGV[3]==c or ARGV[3]=='0')", ""},
	 7},
	{"a clock that was set back is not noticed", {"and at>c", ""}, 5},
	{"a release leaves its inbox",
	 {"call('del',K,I)", "call('del',K)"},
	 11},
	{"a release forgets the history",
	 {"if ARGV[15]~='' then note(token,false",
	  "if false then note(token,false"},
	 8},
};
#define PLAIN_TWINS (sizeof(plain_twins) / sizeof(plain_twins[0]))
#define TIMELESS (sizeof(timeless) / sizeof(timeless[0]) - 1)

/* `all`: every answer must come up. */
static bool play_plain(const struct redis_edit *edits, uint64_t steps,
		       uint64_t seed, bool all)
{
	struct redis *redis = redis_open(), *other = redis_open();
	bool same = true;

	if (!redis || !other)
		abort();
	begin(redis, other, seed);
	redis_edit(redis, edits);
	redis_edit(other, timeless);
	trial.quiet = !all;
	if (all)
		same = steps_of(steps);
	while (!all && same && trial.step < steps)
		same = step();
	redis_close(redis);
	redis_close(other);
	return same;
}

int compare_plain(uint64_t steps, uint64_t seed)
{
	return tell_end(play_plain(timeless, steps, seed, true),
			"the short cut does what the rest would do", seed);
}

int compare_plain_twins(uint64_t steps)
{
	int missed = 0;

	for (size_t i = 0; i < PLAIN_TWINS; i++) {
		struct redis_edit edits[TIMELESS + 2] = {{NULL, NULL}};
		bool same;

		memcpy(edits, timeless, sizeof(timeless));
		edits[TIMELESS] = plain_twins[i].edit;
		twin_must_fit(plain_twins[i].name, edits);
		same = play_plain(edits, steps, plain_twins[i].seed, false);
		missed += same;
		printf("%s %zu - the twin \"%s\" of the short cut is caught "
		       "(step %" PRIu64 ")\n",
		       same ? "not ok" : "ok", i + 1, plain_twins[i].name,
		       trial.step);
	}
	printf("1..%zu\n", PLAIN_TWINS);
	return missed > 0;
}
