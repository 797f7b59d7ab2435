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
	request_text(r, ACQUIRE_STANDS, head->stands);
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
