/* SPDX-License-Identifier: MIT */
/* Questions as EVAL requests. */
#include "lock/wire/script.h"

#include <inttypes.h>
#include <stdio.h>

#include "lock/wire/lua.inc"

#define PLAIN_TTL_MS 1000000000 /* eleven days; a state lives for thirty */

#define SCRIPT(name, args)                                                     \
	{                                                                      \
		LUA_##name, sizeof(LUA_##name) - 1, SHA_##name, args##_ARGS    \
	}
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
  join = SCRIPT(JOIN, JOIN);

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

/* Anything that is asked after a release has a larger number. On one node
 * nothing is, and nothing need be compared. */
static int64_t number_of(const struct ask *ask, const struct lease_conf *conf)
{
	if (conf->nodes == 1 || ask->since == 0)
		return 0;
	return (int64_t)ask->since + (ask->verb != VERB_RELEASE);
}

static void fill_acquire(const struct ask *ask, const struct lease_conf *conf,
			 const char *identity, struct script_scratch *scratch,
			 struct words *w)
{
	bool plain = is_plain(conf) && !conf->supersede && !looks(conf) &&
		     conf->once_ms == 0 && !ask->acquire.embargo &&
		     !ask->acquire.newcomer && ask->acquire.only == 0;

	request_flag(w, ACQUIRE_PLAIN, plain);
	request_number(w, ACQUIRE_TTL, conf->ttl_ms, scratch);
	request_number(w, ACQUIRE_SEEN, ask->seen, scratch);
	request_flag(w, ACQUIRE_ALONE, conf->nodes == 1);
	request_number(w, ACQUIRE_TICKET, ask->acquire.ticket, scratch);
	request_number(w, ACQUIRE_MOST, conf->max_waiters, scratch);
	request_text(w, ACQUIRE_STANDS, identity);
	request_flag(w, ACQUIRE_ONCE, conf->once_ms > 0);
	request_flag(w, ACQUIRE_EMBARGO, ask->acquire.embargo);
	request_flag(w, ACQUIRE_NEWCOMER, ask->acquire.newcomer);
	request_number(w, ACQUIRE_GUARD, looks(conf) ? ask->guard_ms : -1,
		       scratch);
	request_number(w, ACQUIRE_ONLY, ask->acquire.only - 1, scratch);
	request_number(w, ACQUIRE_NUMBER, number_of(ask, conf), scratch);
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
	request_number(w, JOIN_NUMBER, number_of(ask, conf), scratch);
}

static void fill_confirm(const struct ask *ask, const struct lease_conf *conf,
			 const char *token, const char *identity,
			 struct script_scratch *scratch, struct words *w)
{
	const char *value = ask->joins ? conf->outer.token : token;

	if (ask->confirm.group > 0 || ask->confirm.reads) {
		(void)snprintf(scratch->value, sizeof(scratch->value),
			       "shared:%" PRId64, ask->confirm.group);
		value = scratch->value;
	}
	request_flag(w, CONFIRM_PLAIN,
		     value == token && ask->slot == 0 && !ask->confirm.joined &&
			     conf->ttl_ms < PLAIN_TTL_MS);
	request_number(w, CONFIRM_TTL, conf->ttl_ms, scratch);
	request_number(w, CONFIRM_FENCE, ask->fence, scratch);
	request_number(w, CONFIRM_SEEN, ask->seen, scratch);
	request_text(w, CONFIRM_STANDS, identity);
	request_text(w, CONFIRM_VALUE, value);
	request_flag(w, CONFIRM_JOINED, ask->confirm.joined);
	request_number(w, CONFIRM_LONGEST, ask->longest_ms, scratch);
	request_number(w, CONFIRM_ENDS, ask->confirm.until_ms, scratch);
	request_number(w, CONFIRM_GUARD,
		       ask->confirm.repairs ? ask->guard_ms : -1, scratch);
	request_flag(w, CONFIRM_ALONE, conf->nodes == 1);
	request_number(w, CONFIRM_NUMBER, number_of(ask, conf), scratch);
}

static void fill_release(const struct ask *ask, const struct lease_conf *conf,
			 const char *identity, struct script_scratch *scratch,
			 struct words *w)
{
	request_flag(w, RELEASE_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->release.queued &&
			     !ask->release.joined &&
			     ask->release.least_ms == 0 &&
			     ask->release.once_ms == 0);
	request_number(w, RELEASE_FENCE,
		       ask->seen > ask->fence ? ask->seen : ask->fence,
		       scratch);
	request_flag(w, RELEASE_ALONE, conf->nodes == 1);
	request_text(w, RELEASE_STANDS, identity);
	request_flag(w, RELEASE_QUEUED, ask->release.queued);
	request_flag(w, RELEASE_RAN, ask->release.ran);
	request_text(w, RELEASE_OUTER, ask->joins ? conf->outer.token : "");
	request_flag(w, RELEASE_JOINED, ask->release.joined);
	request_number(w, RELEASE_LONGEST, ask->longest_ms, scratch);
	request_number(w, RELEASE_LEAST, ask->release.least_ms, scratch);
	request_number(w, RELEASE_HELD, ask->release.held_ms, scratch);
	request_number(w, RELEASE_ONCE, ask->release.once_ms, scratch);
	request_text(w, RELEASE_MARK, ""); /* see script_mend() */
	request_flag(w, RELEASE_WITHHELD, ask->release.withheld);
	request_number(w, RELEASE_NUMBER, number_of(ask, conf), scratch);
	request_text(w, RELEASE_ENTRY, ""); /* see history_tell() */
}

static const struct script *script_of(const struct ask *ask)
{
	return ask->verb == VERB_ACQUIRE && ask->joins ? &join
						       : &scripts[ask->verb];
}

void script_mend(const struct ask *ask, const char *mark, struct words *request)
{
	if (ask->verb == VERB_RELEASE && ask->release.mends)
		request_text(request, RELEASE_MARK, mark);
}

void script_teach_release(const struct keys *keys, struct words *out)
{
	const struct script *script = &scripts[VERB_RELEASE];

	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add(out, script->lua, script->len);
	words_add_text(out, "1"); /* proxies choose the server by a key */
	words_add(out, keys->lock, keys->lock_len);
}

const char *script_sha(const struct ask *ask)
{
	if (ask->verb == VERB_LISTEN || ask->verb == VERB_REPLICATE)
		return NULL;
	return script_of(ask)->sha;
}

void script_request(const struct ask *ask, const struct lease_conf *conf,
		    struct keys *keys, const char *token, const char *identity,
		    int db, struct script_scratch *scratch, struct words *out)
{
	bool joins = ask->verb == VERB_ACQUIRE && ask->joins;
	const struct script *script = script_of(ask);

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
