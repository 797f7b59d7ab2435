/* SPDX-License-Identifier: MIT */
/* Requests that run scripts. Read request.h first. */
#include "lock/wire/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lock/wire/lua.inc"

#define SCRIPT(name, moves)                                                    \
	[SCRIPT_##name] = {LUA_##name, sizeof(LUA_##name) - 1, SHA_##name,     \
			   name##_ARGS, moves}
static const struct {
	const char *lua;
	size_t len;
	const char *sha;
	int arguments;
	bool moves; /* in a Cluster it runs as long as the lock and the state
		       are on the node */
} scripts[] = {
	SCRIPT(ACQUIRE, false), SCRIPT(RENEW, true),   SCRIPT(RELEASE, false),
	SCRIPT(FORCE, false),   SCRIPT(INSPECT, true), SCRIPT(HISTORY, false),
};

/* EVAL, the script, the number of keys, the keys */
#define BEFORE 3
#define PLAIN_TTL_MS 1000000000 /* eleven days; a state lives for thirty */

static void add_parts(const struct keys *keys, int from, int to,
		      struct words *out)
{
	for (int i = from; i <= to; i++)
		words_add(out, keys->part[i], keys->part_len[i]);
}

void request_begin(struct request *r, enum script_name script,
		   const struct keys *keys, int db,
		   const struct request_head *head)
{
	bool moving = scripts[script].moves && db == REQUEST_CLUSTER;
	int arguments = scripts[script].arguments;
	struct words *w = &r->words;

	assert(arguments <= ARGUMENTS_MOST);
	*w = (struct words){0};
	r->sha = scripts[script].sha;
	words_add_text(w, "EVAL");
	words_add(w, scripts[script].lua, scripts[script].len);
	words_add_text(w, moving ? "2" : "5");
	words_add(w, keys->lock, keys->lock_len);
	add_parts(keys, PART_STATE, moving ? PART_STATE : PART_LOG, w);
	for (int i = 0; i < arguments; i++)
		words_add(w, NULL, 0);
	request_text(r, ACQUIRE_TOKEN, head->token);
	request_number(r, ACQUIRE_NUMBER, head->number);
	request_number(r, ACQUIRE_SEEN, head->seen);
	request_number(r, ACQUIRE_LONGEST, head->longest_ms);
	request_flag(r, ACQUIRE_ALONE, head->alone);
	request_text(r, ACQUIRE_IDENTITY, head->identity);
	request_number(r, arguments, db == REQUEST_CLUSTER ? 0 : db);
	if (moving)
		add_parts(keys, PART_QUEUE, PART_LOG, w);
}

void request_bytes(struct request *r, int argument, const char *bytes,
		   size_t len)
{
	int keys = r->words.at[BEFORE - 1][0] - '0';
	int place = BEFORE + keys + argument - 1;

	assert(argument > 0 && place < r->words.n);
	r->words.at[place] = bytes;
	r->words.len[place] = len;
}

void request_text(struct request *r, int argument, const char *text)
{
	request_bytes(r, argument, text, strlen(text));
}

void request_flag(struct request *r, int argument, bool value)
{
	request_text(r, argument, value ? "1" : "0");
}

void request_number(struct request *r, int argument, int64_t value)
{
	char *text;

	assert(argument > 0 && argument <= ARGUMENTS_MOST);
	text = r->number[argument - 1];
	(void)snprintf(text, sizeof(r->number[0]), "%" PRId64, value);
	request_text(r, argument, text);
}

void request_end(const struct request *r)
{
	for (int i = 0; i < r->words.n; i++)
		assert(r->words.at[i]);
}

void request_teach(struct request *r, enum script_name script,
		   const struct keys *keys)
{
	r->words = (struct words){0};
	r->sha = NULL;
	words_add_text(&r->words, "EVAL");
	words_add(&r->words, scripts[script].lua, scripts[script].len);
	words_add_text(&r->words, "1"); /* proxies choose the server by a key */
	words_add(&r->words, keys->lock, keys->lock_len);
}

int request_misread(const char *word, size_t len, struct fail *why)
{
	if (len == 5 && memcmp(word, "newer", 5) == 0)
		return fail(why, FAIL_CONFIG,
			    "the lock was written by a newer redlock; use that "
			    "one everywhere");
	return fail(why, FAIL_UNAVAILABLE,
		    "unexpected reply from redlock's script");
}

/* ---- the questions of the lease ---- */

/* What plain-acquire.lua and its like decide: a lock as flock(1) has it, on one
 * server. The state lives longer than such a lease. */
static bool is_plain(const struct lease_conf *conf)
{
	return conf->nodes == 1 && conf->slots <= 1 && !conf->shared &&
	       conf->ttl_ms < PLAIN_TTL_MS;
}

static void fill_acquire(struct request *r, const struct ask *ask,
			 const struct lease_conf *conf)
{
	const struct lease_outer *outer = &conf->outer;
	/* with several nodes, or a restart guard, we must know which server
	 * answered */
	bool looks = conf->nodes > 1 || conf->guard_ms > 0;
	bool plain = is_plain(conf) && !conf->supersede && !looks &&
		     !ask->joins && conf->once_ms == 0 && conf->revision == 0 &&
		     !conf->label && !ask->acquire.looks &&
		     !ask->acquire.newcomer && ask->acquire.only == 0;

	request_flag(r, ACQUIRE_PLAIN, plain);
	request_number(r, ACQUIRE_TTL, conf->ttl_ms);
	request_number(r, ACQUIRE_TICKET, ask->acquire.ticket);
	request_number(r, ACQUIRE_MOST, conf->max_waiters);
	request_text(r, ACQUIRE_OUTER, ask->joins ? outer->token : "");
	request_number(r, ACQUIRE_OUTERSLOT, outer->slot);
	request_number(r, ACQUIRE_OUTERFENCE, outer->here ? outer->fence : 0);
	request_flag(r, ACQUIRE_ONCE, conf->once_ms > 0);
	request_number(r, ACQUIRE_REVISION, conf->revision - 1);
	request_flag(r, ACQUIRE_NEWCOMER, ask->acquire.newcomer);
	request_number(r, ACQUIRE_ONLY, ask->acquire.only - 1);
	request_number(r, ACQUIRE_GUARD, looks ? ask->guard_ms : -1);
	request_flag(r, ACQUIRE_LOOK, ask->acquire.looks);
	request_number(r, ACQUIRE_REPLACE,
		       ask->acquire.replaces ? conf->replace_ms : -1);
	request_text(r, ACQUIRE_LABEL, conf->label ? conf->label : "");
}

static void fill_renew(struct request *r, const struct ask *ask,
		       const struct lease_conf *conf, const char *token)
{
	const char *family = token;

	/* a reader in a run that writes is in the family of that run */
	if (ask->joins && !conf->outer.reads)
		family = conf->outer.token;
	else if (ask->joins || conf->shared)
		family = "shared:";
	request_flag(r, RENEW_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->confirm.repairs &&
			     ask->slot == 0);
	request_number(r, RENEW_TTL, conf->ttl_ms);
	request_text(r, RENEW_FAMILY, family);
	request_number(r, RENEW_SLOT, ask->slot);
	request_number(r, RENEW_RAISE, ask->fence);
	request_number(r, RENEW_ENDS, ask->confirm.until_ms);
	request_text(r, RENEW_REPAIR,
		     ask->confirm.repairs ? "1"
		     : ask->confirm.reads ? "2"
					  : "0");
	request_number(r, RENEW_GUARD, ask->guard_ms);
}

static void fill_release(struct request *r, const struct ask *ask,
			 const struct lease_conf *conf)
{
	request_flag(r, RELEASE_PLAIN,
		     is_plain(conf) && !ask->joins && !ask->release.queued &&
			     ask->release.least_ms == 0 &&
			     ask->release.once_ms == 0 &&
			     ask->release.revision == 0 &&
			     !ask->release.labels);
	request_number(r, RELEASE_RAISE, ask->fence);
	request_number(r, RELEASE_LEAST, ask->release.least_ms);
	request_flag(r, RELEASE_RAN, ask->release.ran);
	request_number(r, RELEASE_ONCE, ask->release.once_ms);
	request_number(r, RELEASE_REVISION, ask->release.revision - 1);
	request_flag(r, RELEASE_WITHHELD, ask->release.withheld);
	request_flag(r, RELEASE_UNLOCK, false);
	request_text(r, RELEASE_LABEL, ask->release.labels ? conf->label : "");
	request_text(r, RELEASE_MARK, ""); /* see request_tell() */
	request_text(r, RELEASE_ENTRY, "");
	request_text(r, RELEASE_ENDING, "");
}

/* These are no scripts, because a script cannot wait. */
static void fill_wait(struct request *r, const struct ask *ask,
		      const struct lease_conf *conf, const struct keys *keys)
{
	bool listens = ask->verb == VERB_LISTEN;
	/* BLPOP, in whole seconds: Redis 5 and some proxies accept no others */
	int64_t limit =
		listens ? (ask->listen_ms + 999) / 1000 : ask->listen_ms;

	r->words = (struct words){0};
	r->sha = NULL;
	(void)snprintf(r->number[0], sizeof(r->number[0]), "%d",
		       conf->replicas);
	(void)snprintf(r->number[1], sizeof(r->number[1]), "%" PRId64, limit);
	words_add_text(&r->words, listens ? "BLPOP" : "WAIT");
	if (listens)
		words_add(&r->words, keys->part[PART_GRANT],
			  keys->part_len[PART_GRANT]);
	else
		words_add_text(&r->words, r->number[0]);
	words_add_text(&r->words, r->number[1]);
}

void request_ask(struct request *r, const struct ask *ask,
		 const struct lease_conf *conf, const struct keys *keys,
		 const char *token, const char *identity, int db)
{
	const struct request_head head = {.token = token,
					  .identity = identity,
					  .number = (int64_t)ask->seq,
					  .seen = ask->seen,
					  .longest_ms = ask->longest_ms,
					  .alone = conf->nodes == 1};

	switch (ask->verb) {
	case VERB_ACQUIRE:
		request_begin(r, SCRIPT_ACQUIRE, keys, db, &head);
		fill_acquire(r, ask, conf);
		break;
	case VERB_CONFIRM:
		request_begin(r, SCRIPT_RENEW, keys, db, &head);
		fill_renew(r, ask, conf, token);
		break;
	case VERB_RELEASE:
		request_begin(r, SCRIPT_RELEASE, keys, db, &head);
		fill_release(r, ask, conf);
		break;
	case VERB_LISTEN:
	case VERB_REPLICATE:
		fill_wait(r, ask, conf, keys);
		break;
	case VERB_NONE:
		assert(!"no question");
	}
	request_end(r);
}

void request_tell(struct request *r, const struct ask *ask,
		  const struct release_words *t)
{
	if (ask->verb != VERB_RELEASE)
		return;
	request_text(r, RELEASE_ENTRY, t->entry);
	if (ask->release.mends && t->mark)
		request_text(r, RELEASE_MARK, t->mark);
	else if (ask->release.once_ms > 0 || ask->release.revision > 0 ||
		 ask->release.labels)
		request_text(r, RELEASE_ENDING, t->ending);
}
