/* SPDX-License-Identifier: MIT */
/* Requests that run scripts. Read request.h first. */
#include "lock/wire/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BEFORE 4 /* EVAL, the script, "2" and two keys: the first is word 0 */

int request_place(int argument)
{
	return BEFORE + argument;
}

static void add_keys(struct keys *keys, int slot, struct words *out)
{
	words_add_text(out, "2");
	if (slot > 0) {
		keys_slot(keys, slot);
		words_add(out, keys->slot_lock, keys->slot_lock_len);
	} else {
		words_add(out, keys->lock, keys->lock_len);
	}
	words_add(out, keys->part[PART_STATE], keys->part_len[PART_STATE]);
}

void request_begin(const char *lua, size_t len, struct keys *keys, int slot,
		   int arguments, struct words *out)
{
	assert(arguments <= ARGUMENTS_MOST);
	*out = (struct words){0};
	words_add_text(out, "EVAL");
	words_add(out, lua, len);
	add_keys(keys, slot, out);
	for (int i = 0; i < arguments; i++)
		words_add(out, NULL, 0);
}

void request_bytes(struct words *w, int argument, const char *bytes, size_t len)
{
	assert(argument > 0 && request_place(argument) < w->n);
	w->at[request_place(argument)] = bytes;
	w->len[request_place(argument)] = len;
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

void request_end(int db, struct script_scratch *scratch, struct words *out)
{
	for (int i = 0; i < out->n; i++)
		assert(out->at[i]);
	(void)snprintf(scratch->db, sizeof(scratch->db), "%d", db);
	words_add_text(out, scratch->db);
}
