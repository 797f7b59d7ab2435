/* SPDX-License-Identifier: MIT */
/* Requests that run scripts. Read request.h first. */
#include "lock/wire/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lock/wire/lua.inc"

/* EVAL, the script, the number of keys, the keys */
#define BEFORE 3

static int keys_of(const struct words *w)
{
	return w->at[BEFORE - 1][0] - '0';
}

/* Where an argument is among the words. */
static int place_of(const struct words *w, int argument)
{
	return BEFORE + keys_of(w) + argument - 1;
}

static void add_parts(const struct keys *keys, int from, int to,
		      struct words *out)
{
	for (int i = from; i <= to; i++)
		words_add(out, keys->part[i], keys->part_len[i]);
}

static void begin(const char *lua, size_t len, const struct keys *keys,
		  bool moving, int arguments, int db,
		  const struct request_head *head,
		  struct script_scratch *scratch, struct words *out)
{
	assert(arguments <= ARGUMENTS_MOST);
	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add(out, lua, len);
	words_add_text(out, moving ? "2" : "5");
	words_add(out, keys->lock, keys->lock_len);
	add_parts(keys, PART_STATE, moving ? PART_STATE : PART_LOG, out);
	for (int i = 0; i < arguments; i++)
		words_add(out, NULL, 0);
	request_text(out, ACQUIRE_TOKEN, head->token);
	request_number(out, ACQUIRE_NUMBER, head->number, scratch);
	request_number(out, ACQUIRE_SEEN, head->seen, scratch);
	request_number(out, ACQUIRE_LONGEST, head->longest_ms, scratch);
	request_flag(out, ACQUIRE_ALONE, head->alone);
	request_text(out, ACQUIRE_STANDS, head->stands);
	request_number(out, arguments, db == REQUEST_CLUSTER ? 0 : db, scratch);
	if (moving)
		add_parts(keys, PART_QUEUE, PART_LOG, out);
}

void request_begin(const char *lua, size_t len, const struct keys *keys,
		   int arguments, int db, const struct request_head *head,
		   struct script_scratch *scratch, struct words *out)
{
	begin(lua, len, keys, false, arguments, db, head, scratch, out);
}

void request_begin_moving(const char *lua, size_t len, const struct keys *keys,
			  int arguments, int db,
			  const struct request_head *head,
			  struct script_scratch *scratch, struct words *out)
{
	begin(lua, len, keys, db == REQUEST_CLUSTER, arguments, db, head,
	      scratch, out);
}

void request_bytes(struct words *w, int argument, const char *bytes, size_t len)
{
	int place = place_of(w, argument);

	assert(argument > 0 && place < w->n);
	w->at[place] = bytes;
	w->len[place] = len;
}

void request_text(struct words *w, int argument, const char *text)
{
	request_bytes(w, argument, text, strlen(text));
}

void request_flag(struct words *w, int argument, bool value)
{
	request_text(w, argument, value ? "1" : "0");
}

void request_number(struct words *w, int argument, int64_t value,
		    struct script_scratch *scratch)
{
	char *text;

	assert(argument > 0 && argument <= ARGUMENTS_MOST);
	text = scratch->number[argument - 1];
	(void)snprintf(text, sizeof(scratch->number[0]), "%" PRId64, value);
	request_text(w, argument, text);
}

void request_end(const struct words *w)
{
	for (int i = 0; i < w->n; i++)
		assert(w->at[i]);
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
