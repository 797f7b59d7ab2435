/* SPDX-License-Identifier: MIT */
/* Questions as EVAL requests. */
#include "lock/wire/script.h"

#include <inttypes.h>
#include <stdio.h>

#include "lock/wire/lua.inc"

#define PLAIN_TTL_MS 1000000000 /* eleven days; a state lives for thirty */

#define SCRIPT(name)                                                           \
	{                                                                      \
		LUA_##name, sizeof(LUA_##name) - 1, SHA_##name, name##_ARGS    \
	}
static const struct script {
	const char *lua;
	size_t len;
	const char *sha; /* by which EVALSHA calls it */
	int arguments;
} scripts[] = {
	[VERB_ACQUIRE] = SCRIPT(ACQUIRE),
	[VERB_CONFIRM] = SCRIPT(RENEW),
	[VERB_RELEASE] = SCRIPT(RELEASE),
};

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
	static const char *const flags[] = {"-", "s",  "r",  "sr",
					    "p", "sp", "rp", "srp"};
	size_t used = (size_t)snprintf(
		text, IDENTITY_SIZE, "%" PRId64 " %d %s\n", conf->ttl_ms,
		lease_slots(conf),
		flags[conf->supersede + 2 * conf->shared + 4 * conf->high]);

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
			 struct script_scratch *scratch, struct words *w)
{
	const struct lease_outer *outer = &conf->outer;
	bool plain = is_plain(conf) && !conf->supersede && !looks(conf) &&
		     !ask->joins && conf->once_ms == 0 && conf->revision == 0 &&
		     !ask->acquire.looks && !ask->acquire.newcomer &&
		     ask->acquire.only == 0;

	request_flag(w, ACQUIRE_PLAIN, plain);
	request_number(w, ACQUIRE_TTL, conf->ttl_ms, scratch);
	request_number(w, ACQUIRE_TICKET, ask->acquire.ticket, scratch);
	request_number(w, ACQUIRE_MOST, conf->max_waiters, scratch);
	request_text(w, ACQUIRE_OUTER, ask->joins ? outer->token : "");
	request_number(w, ACQUIRE_OUTERSLOT, outer->slot, scratch);
	request_number(w, ACQUIRE_OUTERFENCE, outer->here ? outer->fence : 0,
		       scratch);
	request_flag(w, ACQUIRE_ONCE, conf->once_ms > 0);
	request_number(w, ACQUIRE_REVISION, conf->revision - 1, scratch);
	request_flag(w, ACQUIRE_NEWCOMER, ask->acquire.newcomer);
	request_number(w, ACQUIRE_ONLY, ask->acquire.only - 1, scratch);
	request_number(w, ACQUIRE_GUARD, looks(conf) ? ask->guard_ms : -1,
		       scratch);
	request_flag(w, ACQUIRE_LOOK, ask->acquire.looks);
	request_number(w, ACQUIRE_REPLACE,
		       ask->acquire.replaces ? conf->replace_ms : -1, scratch);
}

static void fill_renew(const struct ask *ask, const struct lease_conf *conf,
		       const char *token, struct script_scratch *scratch,
		       struct words *w)
{
	const char *family = token;

	/* a reader in a run that writes is in the family of that run */
	if (ask->joins && !conf->outer.reads)
		family = conf->outer.token;
	else if (ask->joins || conf->shared)
		family = "shared:";
	request_flag(w, RENEW_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->confirm.repairs &&
			     ask->slot == 0);
	request_number(w, RENEW_TTL, conf->ttl_ms, scratch);
	request_text(w, RENEW_FAMILY, family);
	request_number(w, RENEW_SLOT, ask->slot, scratch);
	request_number(w, RENEW_RAISE, ask->fence, scratch);
	request_number(w, RENEW_ENDS,
		       ask->confirm.until_ms > 0 ? ask->confirm.until_ms : 0,
		       scratch);
	request_text(w, RENEW_REPAIR,
		     ask->confirm.repairs ? "1"
		     : ask->confirm.reads ? "2"
					  : "0");
	request_number(w, RENEW_GUARD, ask->guard_ms, scratch);
}

static void fill_release(const struct ask *ask, const struct lease_conf *conf,
			 struct script_scratch *scratch, struct words *w)
{
	request_flag(w, RELEASE_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->release.queued &&
			     ask->release.least_ms == 0 &&
			     ask->release.once_ms == 0 &&
			     ask->release.revision == 0);
	request_number(w, RELEASE_RAISE, ask->fence, scratch);
	request_number(w, RELEASE_LEAST, ask->release.least_ms, scratch);
	request_flag(w, RELEASE_RAN, ask->release.ran);
	request_number(w, RELEASE_ONCE, ask->release.once_ms, scratch);
	request_number(w, RELEASE_REVISION, ask->release.revision - 1, scratch);
	request_text(w, RELEASE_MARK, ""); /* see script_mend() */
	request_flag(w, RELEASE_WITHHELD, ask->release.withheld);
	request_text(w, RELEASE_ENTRY, ""); /* see history_tell() */
	request_flag(w, RELEASE_UNLOCK, false);
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
	return scripts[ask->verb].sha;
}

void script_request(const struct ask *ask, const struct lease_conf *conf,
		    const struct keys *keys, const char *token,
		    const char *identity, int db,
		    struct script_scratch *scratch, struct words *out)
{
	const struct script *script = &scripts[ask->verb];
	const struct request_head head = {.token = token,
					  .stands = identity,
					  .number = (int64_t)ask->seq,
					  .seen = ask->seen,
					  .longest_ms = ask->longest_ms,
					  .alone = conf->nodes == 1};

	*out = (struct words){0};
	if (ask->verb == VERB_LISTEN) {
		listen_request(ask, keys, scratch, out);
		return;
	}
	if (ask->verb == VERB_REPLICATE) {
		replicate_request(ask, conf, scratch, out);
		return;
	}
	if (ask->verb == VERB_CONFIRM)
		request_begin_moving(script->lua, script->len, keys,
				     script->arguments, db, &head, scratch,
				     out);
	else
		request_begin(script->lua, script->len, keys, script->arguments,
			      db, &head, scratch, out);
	if (ask->verb == VERB_ACQUIRE)
		fill_acquire(ask, conf, scratch, out);
	else if (ask->verb == VERB_CONFIRM)
		fill_renew(ask, conf, token, scratch, out);
	else
		fill_release(ask, conf, scratch, out);
	request_end(out);
}
