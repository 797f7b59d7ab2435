/* SPDX-License-Identifier: MIT */
/* Questions as EVAL requests, replies as answers. */
#include "lock/script.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lock/lua.inc"

static const char *const about_names[ABOUT_COUNT] = {
	[ABOUT_HOST] = "host",     [ABOUT_PID] = "pid",
	[ABOUT_USER] = "user",     [ABOUT_COMMAND] = "command",
	[ABOUT_REASON] = "reason", [ABOUT_CI] = "ci_url",
};

static const struct {
	const char *lua;
	size_t len;
} scripts[] = {
	[VERB_ACQUIRE] = {LUA_COUNTER LUA_ACQUIRE,
			  sizeof(LUA_COUNTER LUA_ACQUIRE) - 1},
	[VERB_CONFIRM] = {LUA_COUNTER LUA_CONFIRM,
			  sizeof(LUA_COUNTER LUA_CONFIRM) - 1},
	[VERB_RELEASE] = {LUA_COUNTER LUA_RELEASE,
			  sizeof(LUA_COUNTER LUA_RELEASE) - 1},
};

static void add_number(struct words *w, int64_t value, char *buf)
{
	(void)snprintf(buf, 24, "%" PRId64, value);
	words_add_text(w, buf);
}

void script_request(const struct ask *ask, const struct lease_conf *conf,
		    const struct keys *keys, const char *token,
		    const struct holder *who, int db,
		    struct script_scratch *scratch, struct words *out)
{
	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add(out, scripts[ask->verb].lua, scripts[ask->verb].len);
	(void)snprintf(scratch->nkeys, sizeof(scratch->nkeys), "%d",
		       1 + PART_COUNT);
	words_add_text(out, scratch->nkeys);
	words_add(out, keys->lock, keys->lock_len);
	for (int i = 0; i < PART_COUNT; i++)
		words_add(out, keys->part[i], keys->part_len[i]);
	words_add_text(out, token);
	if (ask->verb == VERB_RELEASE) {
		add_number(out, ask->fence, scratch->number[0]);
	} else {
		add_number(out, conf->ttl_ms, scratch->number[0]);
		add_number(out,
			   ask->verb == VERB_ACQUIRE ? ask->seen : ask->fence,
			   scratch->number[1]);
		if (ask->verb == VERB_ACQUIRE)
			words_add_text(out, conf->nodes == 1 ? "1" : "0");
		else
			add_number(out, ask->seen, scratch->number[2]);
		for (int i = 0; i < ABOUT_COUNT; i++) {
			words_add_text(out, about_names[i]);
			words_add_text(out, who->about[i] ? who->about[i] : "");
		}
	}
	(void)snprintf(scratch->db, sizeof(scratch->db), "%d", db);
	words_add_text(out, scratch->db);
}

static bool word_is(const struct words *w, int i, const char *text)
{
	return i < w->n && w->len[i] == strlen(text) &&
	       memcmp(w->at[i], text, w->len[i]) == 0;
}

/* A missing or odd number counts as -1. */
static int64_t word_number(const struct words *w, int i)
{
	char text[24];

	if (i >= w->n || w->len[i] >= sizeof(text))
		return -1;
	memcpy(text, w->at[i], w->len[i]);
	text[w->len[i]] = '\0';
	if (strlen(text) != w->len[i])
		return -1;
	return parse_number(text, 0, INT64_MAX / 2);
}

static void word_text(const struct words *w, int i, char *buf, size_t size)
{
	(void)format_bytes(w->at[i], w->len[i], buf, size);
}

/* busy COUNTER PTTL VALUE [field value]...: the record counts only when its
 * token is the lock's value. */
static void read_holder(const struct words *w, struct answer *out,
			struct sight *s)
{
	int64_t ttl = 0, since = 0;

	word_text(w, 3, s->token, sizeof(s->token));
	s->foreign = true;
	for (int i = 4; i + 1 < w->n; i += 2) {
		if (word_is(w, i, "token") && w->len[i + 1] == w->len[3] &&
		    memcmp(w->at[i + 1], w->at[3], w->len[3]) == 0)
			s->foreign = false;
		if (word_is(w, i, "ttl"))
			ttl = word_number(w, i + 1);
		if (word_is(w, i, "since"))
			since = word_number(w, i + 1);
		for (int k = 0; k < ABOUT_COUNT; k++)
			if (word_is(w, i, about_names[k]))
				word_text(w, i + 1, s->about[k],
					  sizeof(s->about[k]));
	}
	if (s->foreign)
		return;
	s->since = since > 0 ? since / 1000 : 0;
	out->holder_ttl_ms = ttl > 0 ? ttl : 0;
}

static int read_sight(const struct words *w, struct answer *out,
		      struct sight *s, struct fail *why)
{
	bool other_type = word_is(w, 0, "type");

	memset(s, 0, sizeof(*s));
	s->seen = true;
	s->pttl_ms = out->pttl_ms = word_number(w, 2);
	if (!other_type) {
		read_holder(w, out, s);
		return 0;
	}
	s->foreign = true;
	word_text(w, 3, s->type, sizeof(s->type));
	if (s->pttl_ms < 0)
		return fail(why, FAIL_CONFIG,
			    "the key holds a %s without expiry, not a lock; "
			    "choose another key",
			    s->type);
	return 0;
}

int script_answer(const struct words *reply, struct answer *out,
		  struct sight *sight, struct fail *why)
{
	static const struct {
		const char *word;
		enum said said;
		int words;
	} forms[] = {
		{"granted", SAID_GRANTED, 2}, {"busy", SAID_BUSY, 4},
		{"type", SAID_BUSY, 4},       {"loss", SAID_LOSS, 2},
		{"yes", SAID_YES, 2},         {"healed", SAID_HEALED, 2},
		{"no", SAID_NO, 2},
	};

	if (word_is(reply, 0, "fence"))
		return fail(why, FAIL_CONFIG,
			    "the lock's fence counter is no number; "
			    "delete it to begin again");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!word_is(reply, 0, forms[i].word) ||
		    reply->n < forms[i].words)
			continue;
		*out = (struct answer){.said = forms[i].said,
				       .counter = word_number(reply, 1),
				       .pttl_ms = word_number(reply, 2)};
		if (out->counter < 0)
			break;
		if (out->said == SAID_BUSY)
			return read_sight(reply, out, sight, why);
		return 0;
	}
	return fail(why, FAIL_UNAVAILABLE, "not an answer of our script");
}

enum fail_kind script_error(const char *text, const char **advice)
{
	static const char give[] = "; the server wants a password: see "
				   "--password-file and REDISCLI_AUTH";
	static const struct {
		const char *prefix;
		enum fail_kind kind;
		const char *advice;
	} classes[] = {
		{"NOAUTH", FAIL_REFUSED, give},
		/* Redis 7 reads nothing long from a stranger */
		{"ERR Protocol error: unauthenticated", FAIL_REFUSED, give},
		{"WRONGPASS", FAIL_REFUSED, ""},
		{"DENIED", FAIL_REFUSED, ""}, /* protected mode */
		{"NOPERM", FAIL_REFUSED, ""},
		{"ERR The user executing the script", FAIL_REFUSED, ""},
		{"ERR invalid password", FAIL_REFUSED, ""},
		{"ERR AUTH", FAIL_REFUSED, ""},
		{"ERR Client sent AUTH", FAIL_REFUSED, ""},
		{"ERR unknown command", FAIL_CONFIG, ""},
		{"ERR DB index", FAIL_CONFIG, ""},
		{"ERR SELECT is not allowed", FAIL_CONFIG, ""},
		{"ERR invalid DB index", FAIL_CONFIG, ""},
		{"CROSSSLOT", FAIL_CONFIG, ""},
		{"WRONGTYPE", FAIL_CONFIG, ""},
		/* all else is worth another try: LOADING BUSY READONLY OOM
		 * MASTERDOWN MISCONF NOREPLICAS CLUSTERDOWN TRYAGAIN MOVED,
		 * "ERR max number of clients reached" */
	};

	*advice = "";
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strncmp(text, classes[i].prefix,
			    strlen(classes[i].prefix)) == 0) {
			*advice = classes[i].advice;
			return classes[i].kind;
		}
	/* Redis 6 wraps the text of an error inside a script */
	if (strncmp(text, "ERR Error running script", 24) == 0 &&
	    strstr(text, "The user executing the script"))
		return FAIL_REFUSED;
	return FAIL_UNAVAILABLE;
}
