/* SPDX-License-Identifier: MIT */
/* The table of what the scripts answer. Read rules.h first. */
#include "rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/wire/keys.h"
#include "lock/wire/lua.inc"
#include "lock/wire/request.h"
#include "redis.h"
#include "server.h"
#include "world.h"

#define KEY "job"
#define STATE KEY ":redlock:{" KEY "}:state"
#define LINE_MAX_BYTES 2048
#define WORDS_MOST 60
#define NAMES_MOST 60

/* Each argument with its value unless a case says another. NULL: by the
 * token. */
struct argument {
	int place;
	const char *name, *value;
};
static const struct argument acquire_arguments[] = {
	{ACQUIRE_PLAIN, "plain", "0"},
	{ACQUIRE_TTL, "ttl", "30000"},
	{ACQUIRE_TICKET, "ticket", "0"},
	{ACQUIRE_MOST, "most", "-1"},
	{ACQUIRE_OUTER, "outer", ""},
	{ACQUIRE_OUTERSLOT, "outerslot", "0"},
	{ACQUIRE_OUTERFENCE, "outerfence", "0"},
	{ACQUIRE_ONCE, "once", "0"},
	{ACQUIRE_REVISION, "revision", "-1"},
	{ACQUIRE_NEWCOMER, "newcomer", "0"},
	{ACQUIRE_ONLY, "only", "-1"},
	{ACQUIRE_GUARD, "guard", "-1"},
	{ACQUIRE_LOOK, "look", "0"},
	{ACQUIRE_REPLACE, "replace", "-1"},
	{ACQUIRE_LABEL, "label", ""},
	{0, NULL, NULL}};
static const struct argument renew_arguments[] = {
	{RENEW_PLAIN, "plain", "0"},
	{RENEW_TTL, "ttl", "30000"},
	{RENEW_FAMILY, "family", NULL},
	{RENEW_SLOT, "slot", "0"},
	{RENEW_RAISE, "raise", "0"},
	{RENEW_ENDS, "ends", "0"},
	{RENEW_REPAIR, "repair", "0"},
	{RENEW_GUARD, "guard", "0"},
	{0, NULL, NULL}};
static const struct argument release_arguments[] = {
	{RELEASE_PLAIN, "plain", "0"},
	{RELEASE_RAISE, "raise", "0"},
	{RELEASE_LEAST, "least", "0"},
	{RELEASE_RAN, "ran", "0"},
	{RELEASE_ONCE, "once", "0"},
	{RELEASE_REVISION, "revision", "-1"},
	{RELEASE_MARK, "mark", ""},
	{RELEASE_WITHHELD, "withheld", "0"},
	{RELEASE_ENTRY, "entry", ""},
	{RELEASE_ENDING, "ending", ""},
	{RELEASE_UNLOCK, "unlock", "0"},
	{RELEASE_LABEL, "label", ""},
	{0, NULL, NULL}};
static const struct argument force_arguments[] = {
	{FORCE_STEP, "step", "take"},  {FORCE_SLOT, "slot", "0"},
	{FORCE_FAMILY, "family", "?"}, {FORCE_MEMBER, "member", ""},
	{FORCE_GRACE, "grace", "0"},   {FORCE_BY, "by", "host boss\n"},
	{FORCE_ENTRY, "entry", ""},    {0, NULL, NULL}};
static const struct argument inspect_arguments[] = {
	{INSPECT_WAITERS, "waiters", "9"},
	{INSPECT_HOLDERS, "holders", "9"},
	{INSPECT_WHOSE, "whose", ""},
	{0, NULL, NULL}};
static const struct argument history_arguments[] = {{0, NULL, NULL}};
static const struct {
	const char *name;
	enum script_name script;
	const struct argument *arguments;
} verbs[] = {{"acquire", SCRIPT_ACQUIRE, acquire_arguments},
	     {"renew", SCRIPT_RENEW, renew_arguments},
	     {"release", SCRIPT_RELEASE, release_arguments},
	     {"force", SCRIPT_FORCE, force_arguments},
	     {"inspect", SCRIPT_INSPECT, inspect_arguments},
	     {"history", SCRIPT_HISTORY, history_arguments}};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))
/* Those without keys. */
static const struct {
	const char *name, *text;
} bare[] = {{"idle", LUA_IDLE},
	    {"rights", LUA_RIGHTS},
	    {"rights-write", LUA_RIGHTS_WRITE}};
#define BARE (sizeof(bare) / sizeof(bare[0]))

static struct {
	struct redis *redis;
	int64_t us;
	const char *path;
	int line, number; /* of requests */
	int time;         /* of a line that comes several times */
	bool bad;
	char name[256], server[256], replication[256];
	struct words answer;
	bool fine, unheard; /* an error that no line has asked for */
	char room[2000000]; /* for what expand() says */
	size_t used;
	int names;
	struct {
		char name[24], value[256];
	} known[NAMES_MOST];
} c;

static void __attribute__((format(printf, 1, 2))) wrong(const char *fmt, ...)
{
	va_list ap;

	c.bad = true;
	printf("# %s:%d: ", c.path, c.line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* ---- words ---- */

/* In place. */
static int split(char *line, char **word)
{
	char *in = line, *out = line;
	int n = 0;

	for (;;) {
		bool quoted = false;

		in += strspn(in, " \t\n");
		if (!*in || n == WORDS_MOST)
			return n;
		word[n++] = out;
		for (; *in && (quoted || !strchr(" \t\n", *in)); in++) {
			if (*in == '"')
				quoted = !quoted;
			else if (in[0] == '\\' && in[1] == 'n')
				*out++ = '\n', in++;
			else
				*out++ = *in;
		}
		if (*in)
			in++;
		*out++ = '\0';
	}
}

static const char *value_of(const char *name, size_t len)
{
	static char now[24];

	if ((len == 3 && memcmp(name, "now", 3) == 0) ||
	    (len == 2 && memcmp(name, "us", 2) == 0)) {
		(void)snprintf(now, sizeof(now), "%" PRId64,
			       len == 2 ? c.us : c.us / 1000);
		return now;
	}
	if (len == 1 && name[0] == 'i') {
		(void)snprintf(now, sizeof(now), "%d", c.time);
		return now;
	}
	for (int i = 0; i < c.names; i++)
		if (strlen(c.known[i].name) == len &&
		    memcmp(c.known[i].name, name, len) == 0)
			return c.known[i].value;
	return NULL;
}

/* The text with each $name in its place; NULL: one is not known. It stays until
 * the next line. */
static const char *expand(const char *text)
{
	char *out = c.room + c.used;
	size_t n = 0, room = sizeof(c.room) - c.used;

	while (*text) {
		size_t len = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz");
		size_t many = 0;
		const char *value;
		char *end;

		if (*text == '$' && text[1] >= '0' && text[1] <= '9') {
			many = (size_t)strtoull(text + 1, &end, 10);
			text = end;
		}
		if (n + many + 300 > room)
			bail("%s:%d: too long", c.path, c.line);
		if (many > 0) {
			memset(out + n, *text++, many);
			n += many;
			continue;
		}
		if (*text != '$' || len == 0) {
			out[n++] = *text++;
			continue;
		}
		value = value_of(text + 1, len);
		if (!value)
			return NULL;
		text += 1 + len;
		if ((*text == '+' || *text == '-') && text[1] >= '0' &&
		    text[1] <= '9') {
			long long more = strtoll(text, &end, 10);

			n += (size_t)snprintf(out + n, room - n, "%lld",
					      strtoll(value, NULL, 10) + more);
			text = end;
		} else {
			n += (size_t)snprintf(out + n, room - n, "%s", value);
		}
	}
	out[n] = '\0';
	c.used += n + 1;
	return out;
}

/* A "*" in it stands for any bytes but blanks and ends of lines. */
static bool matches(const char *want, const char *got, const char *end)
{
	for (; *want && *want != '*'; want++, got++)
		if (got == end || *got != *want)
			return false;
	if (!*want)
		return got == end;
	for (;; got++) {
		if (matches(want + 1, got, end))
			return true;
		if (got == end || *got == ' ' || *got == '\n')
			return false;
	}
}

static void expect(const char *what, const char *got, size_t len,
		   const char *want)
{
	const char *text;

	if (strcmp(want, "*") == 0)
		return;
	text = expand(want);
	if (!text) {
		if (c.names == NAMES_MOST || want[0] != '$' ||
		    len >= sizeof(c.known[0].value))
			bail("%s:%d: %s", c.path, c.line, want);
		(void)snprintf(c.known[c.names].name, sizeof(c.known[0].name),
			       "%s", want + 1);
		(void)snprintf(c.known[c.names++].value,
			       sizeof(c.known[0].value), "%.*s", (int)len, got);
		return;
	}
	if (!matches(text, got, got + len))
		wrong("%s is '%.*s', not '%s'", what, (int)len, got, text);
}

/* ---- lines ---- */

static void ask(size_t verb, int n, char **word)
{
	const char *value[WORDS_MOST];
	static struct request request;
	static struct keys keys;
	static char identity[sizeof(c.room)];
	const struct argument *all = verbs[verb].arguments;
	const char *token = expand(word[1]), *ttl = "30000", *slots = "1";
	const char *flags = "-", *about = "host h\n", *given = NULL;
	struct request_head head = {.token = token, .alone = true};
	bool longest = false;
	int db = 0;

	keys_close(&keys);
	if (keys_init(&keys, KEY, strlen(KEY), token) < 0)
		abort();
	head.number = ++c.number;
	for (int i = 2; i < n; i++) {
		char *is = strchr(word[i], '=');

		if (!is || !(value[i] = expand(is + 1)))
			bail("%s:%d: %s", c.path, c.line, word[i]);
		*is = '\0';
		if (strcmp(word[i], "number") == 0)
			head.number = strtoll(value[i], NULL, 10);
		else if (strcmp(word[i], "seen") == 0)
			head.seen = strtoll(value[i], NULL, 10);
		else if (strcmp(word[i], "longest") == 0) {
			head.longest_ms = strtoll(value[i], NULL, 10);
			longest = true;
		} else if (strcmp(word[i], "alone") == 0)
			head.alone = value[i][0] == '1';
		else if (strcmp(word[i], "identity") == 0)
			given = value[i];
		else if (strcmp(word[i], "slots") == 0)
			slots = value[i];
		else if (strcmp(word[i], "flags") == 0)
			flags = value[i];
		else if (strcmp(word[i], "about") == 0)
			about = value[i];
		else if (strcmp(word[i], "ttl") == 0)
			ttl = value[i];
		else if (strcmp(word[i], "db") == 0)
			db = (int)strtol(value[i], NULL, 10);
	}
	if (!longest)
		head.longest_ms = strtoll(ttl, NULL, 10);
	(void)snprintf(identity, sizeof(identity), "%s %s %s\n%s", ttl, slots,
		       flags, about);
	head.identity = given ? given : identity;
	request_begin(&request, verbs[verb].script, &keys, db, &head);
	for (int k = 0; all[k].name; k++)
		request_text(&request, all[k].place,
			     all[k].value ? all[k].value : token);
	for (int i = 2; i < n; i++)
		for (int k = 0; all[k].name; k++)
			if (strcmp(word[i], all[k].name) == 0)
				request_text(&request, all[k].place, value[i]);
	request_end(&request);
	redis_clock(c.redis, c.us);
	c.fine = redis_run(c.redis, &request.words, &c.answer);
	c.unheard = !c.fine;
	c.us += 1000;
}

static void ask_bare(const char *script, const char *argument)
{
	struct words request = {0};

	words_add_text(&request, "EVAL");
	words_add_text(&request, script);
	words_add_text(&request, "0");
	words_add_text(&request, argument);
	redis_clock(c.redis, c.us);
	c.fine = redis_run(c.redis, &request, &c.answer);
}

static void by_hand(int n, char **word)
{
	struct words request = {0};

	for (int i = 1; i < n; i++) {
		const char *text = expand(word[i]);

		if (!text)
			bail("%s:%d: %s", c.path, c.line, word[i]);
		words_add_text(&request, text);
	}
	redis_clock(c.redis, c.us);
	c.fine = redis_run(c.redis, &request, &c.answer);
	if (!c.fine)
		wrong("%s: %s", word[1], c.answer.at[0]);
}

static void check_answer(int n, char **word, bool whole)
{
	if (!c.fine)
		wrong("it fails: %.*s", (int)c.answer.len[0], c.answer.at[0]);
	for (int i = 1; c.fine && i < n; i++) {
		char what[32];

		(void)snprintf(what, sizeof(what), "word %d", i);
		if (i > c.answer.n)
			wrong("%s is missing: %s", what, word[i]);
		else
			expect(what, c.answer.at[i - 1], c.answer.len[i - 1],
			       word[i]);
	}
	if (whole && c.answer.n != n - 1)
		wrong("%d words, not %d", c.answer.n, n - 1);
}

static void check_text(const char *what, const char *got, const char *want)
{
	if (!got || !want) {
		if (got || want)
			wrong("%s is '%s', not '%s'", what, got ? got : "",
			      want ? want : "");
		return;
	}
	expect(what, got, strlen(got), want);
}

static void obey(char *line)
{
	char *word[WORDS_MOST], *rest;
	int n;

	c.used = 0;
	if (strncmp(line, "times ", 6) == 0) {
		n = (int)strtol(line + 6, &rest, 10);
		for (c.time = 1; c.time <= n; c.time++) {
			char again[LINE_MAX_BYTES];

			(void)snprintf(again, sizeof(again), "%s", rest + 1);
			obey(again);
		}
		return;
	}
	n = split(line, word);
	if (c.unheard && n > 0 && strcmp(word[0], "fails") != 0)
		wrong("before this it failed: %s", c.answer.at[0]);
	c.unheard = false;
	for (size_t i = 0; i < VERBS; i++)
		if (n > 1 && strcmp(word[0], verbs[i].name) == 0) {
			ask(i, n, word);
			return;
		}
	for (size_t i = 0; i < BARE; i++)
		if (strcmp(word[0], bare[i].name) == 0) {
			ask_bare(bare[i].text, n > 1 ? word[1] : "");
			return;
		}
	redis_clock(c.redis, c.us);
	if (strcmp(word[0], ">") == 0)
		check_answer(n, word, false);
	else if (strcmp(word[0], "says") == 0)
		check_answer(n, word, true);
	else if (strcmp(word[0], "fails") == 0 && n > 1) {
		if (c.fine || !strstr(c.answer.at[0], word[1]))
			wrong("it does not fail with %s", word[1]);
	} else if (strcmp(word[0], "info") == 0 && n > 2) {
		(void)snprintf(c.server, sizeof(c.server), "%s", word[1]);
		(void)snprintf(c.replication, sizeof(c.replication), "%s",
			       word[2]);
		redis_inform(c.redis, c.server, c.replication);
	} else if (strcmp(word[0], "refuse") == 0 && n > 3)
		redis_refuse(c.redis, word[1], word[2], word[3]);
	else if (strcmp(word[0], "allow") == 0)
		redis_refuse(c.redis, NULL, NULL, NULL);
	else if (strcmp(word[0], "full") == 0 && n > 1)
		redis_full(c.redis, strcmp(word[1], "on") == 0);
	else if (strcmp(word[0], "do") == 0 && n > 1)
		by_hand(n, word);
	else if (word[0][0] == '+' || word[0][0] == '-')
		c.us += strtoll(word[0], NULL, 10) * 1000;
	else if (strcmp(word[0], "state") == 0 && n > 1)
		check_text(word[1],
			   redis_field(c.redis, STATE, expand(word[1])),
			   n > 2 ? word[2] : NULL);
	else if (strcmp(word[0], "key") == 0)
		check_text("the lock", redis_get(c.redis, KEY),
			   n > 1 ? word[1] : NULL);
	else if (strcmp(word[0], "calls") == 0 && n > 1) {
		if (redis_calls(c.redis) != atoi(word[1]))
			wrong("%d calls, not %s", redis_calls(c.redis),
			      word[1]);
	} else
		bail("%s:%d: what is %s?", c.path, c.line, word[0]);
}

static int end_case(int cases)
{
	if (c.name[0])
		printf("%s %d - %s\n", c.bad ? "not ok" : "ok", ++cases,
		       c.name);
	return cases;
}

int rules_check(const char *path)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "r");
	int cases = 0, failed = 0;

	c.redis = redis_open();
	if (!f || !c.redis)
		bail("cannot read %s", path);
	redis_streams(c.redis, true);
	c.path = path;
	while (fgets(line, sizeof(line), f)) {
		c.line++;
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "-- ", 3) == 0) {
			failed += c.bad;
			cases = end_case(cases);
			(void)snprintf(c.name, sizeof(c.name), "%.255s",
				       line + 3);
			c.bad = false;
			c.names = c.number = 0;
			c.us = EPOCH_US;
			redis_clock(c.redis, c.us);
			redis_start(c.redis,
				    "0000000000000000000000000000000000000001",
				    c.us - 1000000000);
			redis_full(c.redis, false);
			redis_refuse(c.redis, NULL, NULL, NULL);
			redis_inform(c.redis, NULL, NULL);
		} else if (line[0] != '#' && line[strspn(line, " \t")]) {
			obey(line);
		}
	}
	failed += c.bad;
	cases = end_case(cases);
	printf("1..%d\n", cases);
	redis_close(c.redis);
	(void)fclose(f);
	return failed > 0 || cases == 0;
}
