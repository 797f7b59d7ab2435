/* SPDX-License-Identifier: MIT */
/* Questions as EVAL requests, replies as answers. */
#include "lock/wire/script.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "base/units.h"
#include "lock/wire/lua.inc"
#include "lock/wire/record.h"

/* A place in line. Messages count from one, so leave room for that. */
#define PLACE_MOST (INT_MAX - 1)

#define PLAIN_TTL_MS 1000000000 /* eleven days; a state lives for thirty */

#define NOT_OURS "unexpected reply from redlock's script"

#define SCRIPT(name, args)                                                     \
	{                                                                      \
		LUA_##name, sizeof(LUA_##name) - 1, SHA_##name, args##_ARGS    \
	}
#define SHA_LEN 40
static const struct script {
	const char *lua;
	size_t len;
	const char *sha; /* by which EVALSHA calls it */
	int arguments;
} scripts[] =
	{
		[VERB_ACQUIRE] = SCRIPT(ACQUIRE, ACQUIRE),
		[VERB_CONFIRM] = SCRIPT(CONFIRM, CONFIRM),
		[VERB_RELEASE] = SCRIPT(RELEASE, RELEASE),
},
  join = SCRIPT(JOIN, JOIN), release_each = SCRIPT(RELEASE_EACH, RELEASE);

/* One line per field: a newline in a value becomes a blank. */
static void add_about(const struct holder *who, char text[IDENTITY_SIZE],
		      size_t used)
{
	for (int i = 0; i < ABOUT_COUNT; i++) {
		const char *value = who->about[i];
		char *from = text + used;

		if (!value || value[0] == '\0')
			continue;
		used += (size_t)snprintf(from, IDENTITY_SIZE - used,
					 "%s %.*s\n", about_name((enum about)i),
					 ABOUT_MAX - 1, value);
		for (char *p = from; p < text + used - 1; p++)
			if (*p == '\n')
				*p = ' ';
	}
}

void script_about(const struct holder *who, char text[IDENTITY_SIZE])
{
	text[0] = '\0';
	add_about(who, text, 0);
}

void script_identity(const struct lease_conf *conf, const struct holder *who,
		     char text[IDENTITY_SIZE])
{
	static const char *const flags[] = {"-", "s", "r", "sr"};
	size_t used = (size_t)snprintf(
		text, IDENTITY_SIZE, "%" PRId64 " %d %s\n", conf->ttl_ms,
		lease_slots(conf), flags[conf->supersede + 2 * conf->shared]);

	if (conf->nodes > 1) /* for clients that get other nodes */
		used += (size_t)snprintf(text + used, IDENTITY_SIZE - used,
					 "ticket %" PRId64 "\n", conf->ticket);
	if (conf->unrecorded)
		used += (size_t)snprintf(text + used, IDENTITY_SIZE - used,
					 "unrecorded 1\n");
	add_about(who, text, used);
}

/* This is not a script, because a script cannot wait. */
static void listen_request(const struct ask *ask, const struct keys *keys,
			   struct script_scratch *scratch, struct words *out)
{
	/* in whole seconds: Redis 5 and some proxies accept no others */
	(void)snprintf(scratch->number[0], sizeof(scratch->number[0]),
		       "%" PRId64, (ask->listen_ms + 999) / 1000);
	words_add_text(out, "BLPOP");
	words_add(out, keys->part[PART_GRANT], keys->part_len[PART_GRANT]);
	words_add_text(out, scratch->number[0]);
}

static void replicate_request(const struct ask *ask,
			      const struct lease_conf *conf,
			      struct script_scratch *scratch, struct words *out)
{
	(void)snprintf(scratch->number[0], sizeof(scratch->number[0]), "%d",
		       conf->replicas);
	(void)snprintf(scratch->number[1], sizeof(scratch->number[1]),
		       "%" PRId64, ask->listen_ms);
	words_add_text(out, "WAIT");
	words_add_text(out, scratch->number[0]);
	words_add_text(out, scratch->number[1]);
}

/* With several nodes, or a restart guard, we must know which server
 * answered. */
static bool looks(const struct lease_conf *conf)
{
	return conf->nodes > 1 || conf->guard_ms > 0;
}

/* What plain-acquire.lua and its like decide: a lock as flock(1) has it, on one
 * server. The state lives longer than such a lease. */
static bool is_plain(const struct lease_conf *conf)
{
	return conf->nodes == 1 && conf->slots <= 1 && !conf->shared &&
	       conf->ttl_ms < PLAIN_TTL_MS;
}

static void fill_acquire(const struct ask *ask, const struct lease_conf *conf,
			 const char *identity, struct script_scratch *scratch,
			 struct words *w)
{
	bool plain = is_plain(conf) && !conf->supersede && !looks(conf) &&
		     conf->once_ms == 0 && !ask->embargo && !ask->newcomer &&
		     ask->only == 0 && ask->round == 0;

	request_flag(w, ACQUIRE_PLAIN, plain);
	request_number(w, ACQUIRE_TTL, conf->ttl_ms, scratch);
	request_number(w, ACQUIRE_SEEN, ask->seen, scratch);
	request_flag(w, ACQUIRE_ALONE, conf->nodes == 1);
	request_number(w, ACQUIRE_TICKET, ask->ticket, scratch);
	request_number(w, ACQUIRE_MOST, conf->max_waiters, scratch);
	request_text(w, ACQUIRE_STANDS, identity);
	request_flag(w, ACQUIRE_ONCE, conf->once_ms > 0);
	request_flag(w, ACQUIRE_EMBARGO, ask->embargo);
	request_flag(w, ACQUIRE_NEWCOMER, ask->newcomer);
	request_number(w, ACQUIRE_GUARD, looks(conf) ? conf->guard_ms : -1,
		       scratch);
	request_number(w, ACQUIRE_ONLY, ask->only - 1, scratch);
	request_number(w, ACQUIRE_ROUND, ask->round, scratch);
}

static void fill_join(const struct ask *ask, const struct lease_conf *conf,
		      const char *identity, struct script_scratch *scratch,
		      struct words *w)
{
	request_number(w, JOIN_TTL, conf->ttl_ms, scratch);
	request_text(w, JOIN_STANDS, identity);
	request_text(w, JOIN_OUTER, conf->outer.token);
	request_number(w, JOIN_GROUP, conf->outer.group, scratch);
	request_number(w, JOIN_FENCE, conf->outer.fence, scratch);
	request_flag(w, JOIN_HERE, conf->outer.here);
	request_flag(w, JOIN_ONCE, conf->once_ms > 0);
	request_flag(w, JOIN_ALONE, conf->nodes == 1);
	request_number(w, JOIN_ROUND, ask->round, scratch);
}

static void fill_confirm(const struct ask *ask, const struct lease_conf *conf,
			 const char *token, const char *identity,
			 struct script_scratch *scratch, struct words *w)
{
	const char *value = ask->joins ? conf->outer.token : token;

	if (ask->group > 0 || ask->reads) {
		(void)snprintf(scratch->value, sizeof(scratch->value),
			       "shared:%" PRId64, ask->group);
		value = scratch->value;
	}
	request_flag(w, CONFIRM_PLAIN,
		     value == token && ask->slot == 0 &&
			     conf->ttl_ms < PLAIN_TTL_MS);
	request_number(w, CONFIRM_TTL, conf->ttl_ms, scratch);
	request_number(w, CONFIRM_FENCE, ask->fence, scratch);
	request_number(w, CONFIRM_SEEN, ask->seen, scratch);
	request_text(w, CONFIRM_STANDS, identity);
	request_text(w, CONFIRM_VALUE, value);
	request_flag(w, CONFIRM_JOINED, ask->joined);
	request_number(w, CONFIRM_ENDS, ask->until_ms, scratch);
	request_number(w, CONFIRM_GUARD, ask->repairs ? conf->guard_ms : -1,
		       scratch);
	request_flag(w, CONFIRM_ALONE, conf->nodes == 1);
	request_number(w, CONFIRM_ROUND, ask->round, scratch);
}

static void fill_release(const struct ask *ask, const struct lease_conf *conf,
			 const char *identity, struct script_scratch *scratch,
			 struct words *w)
{
	request_flag(w, RELEASE_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->queued &&
			     ask->least_ms == 0 && ask->once_ms == 0);
	request_number(w, RELEASE_FENCE, ask->fence, scratch);
	request_flag(w, RELEASE_ALONE, conf->nodes == 1);
	request_text(w, RELEASE_STANDS, identity);
	request_flag(w, RELEASE_QUEUED, ask->queued);
	request_flag(w, RELEASE_RAN, ask->ran);
	request_text(w, RELEASE_OUTER, ask->joins ? conf->outer.token : "");
	request_number(w, RELEASE_LEAST, ask->least_ms, scratch);
	request_number(w, RELEASE_HELD, ask->held_ms, scratch);
	request_number(w, RELEASE_ONCE, ask->once_ms, scratch);
	request_flag(w, RELEASE_WITHHELD, ask->withheld);
	request_number(w, RELEASE_ROUND, ask->round, scratch);
	request_text(w, RELEASE_ENTRY, ""); /* see history_tell() */
}

static const struct script *script_of(const struct ask *ask,
				      const struct lease_conf *conf)
{
	if (ask->verb == VERB_ACQUIRE && ask->joins)
		return &join;
	if (ask->verb == VERB_RELEASE && conf->nodes > 1)
		return &release_each;
	return &scripts[ask->verb];
}

const char *script_sha(const struct ask *ask, const struct lease_conf *conf)
{
	if (ask->verb == VERB_LISTEN || ask->verb == VERB_REPLICATE)
		return NULL;
	return script_of(ask, conf)->sha;
}

void script_request(const struct ask *ask, const struct lease_conf *conf,
		    struct keys *keys, const char *token, const char *identity,
		    int db, struct script_scratch *scratch, struct words *out)
{
	bool joins = ask->verb == VERB_ACQUIRE && ask->joins;
	const struct script *script = script_of(ask, conf);

	*out = (struct words){0};
	if (ask->verb == VERB_LISTEN) {
		listen_request(ask, keys, scratch, out);
		return;
	}
	if (ask->verb == VERB_REPLICATE) {
		replicate_request(ask, conf, scratch, out);
		return;
	}
	request_begin(script->lua, script->len, keys,
		      ask->verb == VERB_ACQUIRE && !joins ? 0 : ask->slot,
		      script->arguments, db, scratch, out);
	request_text(out, ACQUIRE_TOKEN, token); /* the first one of each */
	if (joins)
		fill_join(ask, conf, identity, scratch, out);
	else if (ask->verb == VERB_ACQUIRE)
		fill_acquire(ask, conf, identity, scratch, out);
	else if (ask->verb == VERB_CONFIRM)
		fill_confirm(ask, conf, token, identity, scratch, out);
	else
		fill_release(ask, conf, identity, scratch, out);
	request_end(out);
}

static bool word_is(const struct words *w, int i, const char *text)
{
	return i < w->n && w->len[i] == strlen(text) &&
	       memcmp(w->at[i], text, w->len[i]) == 0;
}

/* A missing or malformed number counts as -1. */
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

static int64_t word_ms(const struct words *w, int i)
{
	return at_most(word_number(w, i), AGES_MS);
}

/* Returns 0 if the word is empty or missing. */
static uint64_t hash_of(const struct words *w, int i)
{
	return i < w->n && w->len[i] > 0 ? hash_bytes(w->at[i], w->len[i]) : 0;
}

/* The same for a word that may be missing. */
static int64_t word_ms_or(const struct words *w, int i, int64_t none)
{
	return i < w->n ? word_ms(w, i) : none;
}

static bool word_ends(const struct words *w, int i, const char *text)
{
	size_t n = strlen(text);

	return i < w->n && w->len[i] >= n &&
	       memcmp(w->at[i] + w->len[i] - n, text, n) == 0;
}

static void word_text(const struct words *w, int i, char *buf, size_t size)
{
	(void)format_bytes(w->at[i], w->len[i], buf, size);
}

/* The record counts only if its token is the lock's value. */
static bool read_record(const struct words *w, int at, struct words *value,
			struct answer *out, struct sight *s)
{
	struct record r;

	record_read(&r, at < w->n ? w->at[at] : "", at < w->n ? w->len[at] : 0);
	memcpy(s->about, r.about, sizeof(s->about));
	if (!r.token || r.token_len != value->len[0] ||
	    memcmp(r.token, value->at[0], r.token_len) != 0)
		return false;
	s->since = r.since_ms / 1000;
	s->readers = r.readers;
	out->holder_ttl_ms = r.ttl_ms;
	out->holder_ticket = r.ticket;
	return true;
}

static void read_busy(const struct words *w, struct answer *out,
		      struct sight *s)
{
	struct words value = {0};
	struct sight seen = {.seen = true, .pttl_ms = out->pttl_ms};

	out->holder = hash_of(w, 3);
	out->age_ms = word_ms_or(w, 8, -1);
	words_add(&value, w->at[3], w->len[3]);
	word_text(w, 3, seen.token, sizeof(seen.token));
	seen.foreign = out->foreign = !read_record(w, 4, &value, out, &seen);
	if (seen.foreign)
		memset(seen.about, 0, sizeof(seen.about));
	*s = seen;
}

static int read_type(const struct words *w, struct answer *out, struct sight *s,
		     struct fail *why)
{
	*s = (struct sight){
		.seen = true, .foreign = true, .pttl_ms = out->pttl_ms};
	out->foreign = true;
	word_text(w, 3, s->type, sizeof(s->type));
	if (s->pttl_ms < 0)
		return fail(why, FAIL_CONFIG,
			    "the key holds a %s without expiry, not a lock; "
			    "choose another key",
			    s->type);
	return 0;
}

/* Reads who asks us to stop, if the word at `at` says in how many ms. */
static void read_stop(const struct words *w, int at, struct answer *out,
		      struct sight *s)
{
	int64_t ms = word_ms_or(w, at, -1);
	struct record by;

	if (ms < 0)
		return;
	out->stops = true;
	out->stop_ms = ms;
	record_read(&by, at + 1 < w->n ? w->at[at + 1] : "",
		    at + 1 < w->n ? w->len[at + 1] : 0);
	*s = (struct sight){.seen = true, .pttl_ms = -1};
	memcpy(s->about, by.about, sizeof(s->about));
}

/* What follows the counter depends on the answer. */
static int read_rest(const struct words *w, struct answer *out, struct sight *s,
		     struct fail *why)
{
	struct words nobody = {0};

	if (out->said == SAID_BUSY || out->said == SAID_LOSS ||
	    out->said == SAID_GUARDED) {
		out->ahead = (int)at_most(word_number(w, 5), PLACE_MOST);
		out->ticket = word_number(w, 6);
		out->lost = word_is(w, 7, "1");
	}
	if (word_is(w, 0, "type"))
		return read_type(w, out, s, why);
	if (out->said == SAID_GRANTED) {
		out->lost = word_is(w, 2, "1");
		out->slot = (int)at_most(word_number(w, 3), SLOTS_MAX);
		out->group = word_number(w, 4);
		out->server = hash_of(w, 5);
		out->in_cluster = word_ends(w, 5, " cluster");
		out->is_active = word_ends(w, 5, " active");
		out->at_ms = word_ms_or(w, 6, 0);
		if (out->slot < 0 || out->slot >= SLOTS_MAX || out->group < 0)
			return fail(why, FAIL_UNAVAILABLE, NOT_OURS);
		read_stop(w, 7, out, s);
	}
	if (out->said == SAID_BUSY)
		read_busy(w, out, s);
	if (out->said == SAID_YES || out->said == SAID_HEALED) {
		out->joined = word_is(w, 3, "1");
		out->raised = word_is(w, 4, "1");
		out->at_ms = word_ms_or(w, 5, 0);
		read_stop(w, 6, out, s);
		out->group = w->n > 8 ? word_number(w, 8) : 0;
		if (out->group < 0)
			return fail(why, FAIL_UNAVAILABLE, NOT_OURS);
	}
	if (out->said == SAID_NO) {
		read_stop(w, 3, out, s);
		out->unlocked = word_is(w, 5, "1");
	}
	if (out->said == SAID_SUPERSEDED || out->said == SAID_DONE) {
		*s = (struct sight){.seen = true, .pttl_ms = out->pttl_ms};
		words_add_text(&nobody, "");
		(void)read_record(w, 4, &nobody, out, s);
	}
	return 0;
}

static int listen_answer(const struct words *reply, struct answer *out)
{
	/* the list's name and the word, or nil */
	*out = (struct answer){.said = reply->n == 2 ? SAID_WOKEN : SAID_QUIET,
			       .ahead = -1};
	return 0;
}

int script_answer(enum verb verb, const struct words *reply, struct answer *out,
		  struct sight *sight, struct fail *why)
{
	static const struct {
		const char *word;
		enum said said;
		int words;
	} forms[] = {
		{"granted", SAID_GRANTED, 5},
		{"joined", SAID_GRANTED, 5},
		{"inside", SAID_INSIDE, 2},
		{"vanished", SAID_VANISHED, 2},
		{"busy", SAID_BUSY, 8},
		{"type", SAID_BUSY, 8},
		{"loss", SAID_LOSS, 8},
		{"guarded", SAID_GUARDED, 8},
		{"full", SAID_FULL, 3},
		{"superseded", SAID_SUPERSEDED, 5},
		{"done", SAID_DONE, 5},
		{"yes", SAID_YES, 2},
		{"healed", SAID_HEALED, 2},
		{"no", SAID_NO, 2},
	};

	if (verb == VERB_LISTEN)
		return listen_answer(reply, out);
	if (verb == VERB_REPLICATE) {
		*out = (struct answer){.said = SAID_YES,
				       .counter = word_number(reply, 0)};
		return out->counter >= 0
			       ? 0
			       : fail(why, FAIL_UNAVAILABLE, NOT_OURS);
	}
	if (word_is(reply, 0, "fence"))
		return fail(why, FAIL_CONFIG,
			    "the lock's fence counter is not a number; delete "
			    "it to start again");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!word_is(reply, 0, forms[i].word) ||
		    reply->n < forms[i].words)
			continue;
		*out = (struct answer){.said = forms[i].said,
				       .counter = word_number(reply, 1),
				       .pttl_ms = word_ms(reply, 2),
				       .ahead = -1};
		if (out->counter < 0)
			break;
		return read_rest(reply, out, sight, why);
	}
	return fail(why, FAIL_UNAVAILABLE, NOT_OURS);
}
