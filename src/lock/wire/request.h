/* SPDX-License-Identifier: MIT */
/*
 * A request that runs a script of src/lua: its text, its KEYS, and its
 * arguments by their names. src/lua/arguments has the names; lua.inc has them
 * for C, as ACQUIRE_SEEN and so on.
 *
 * The words borrow all that they are made of: texts, keys and scratch.
 */
#ifndef LOCK_WIRE_REQUEST_H
#define LOCK_WIRE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"
#include "lock/wire/keys.h"

#define ARGUMENTS_MOST 12

/* Holds numbers as text. */
struct script_scratch {
	char number[ARGUMENTS_MOST][24];
	char value[40]; /* the value of the lock */
	char db[12];
};

/* Starts the request, with room for that many arguments. Each must be set, in
 * any order, before request_end(). */
void request_begin(const char *lua, size_t len, struct keys *keys, int slot,
		   int arguments, struct words *out);

void request_text(struct words *w, int argument, const char *text);
void request_bytes(struct words *w, int argument, const char *bytes,
		   size_t len);
void request_flag(struct words *w, int argument, bool value);
void request_number(struct words *w, int argument, int64_t value,
		    struct script_scratch *scratch);

/* Appends the last argument of every script, the database. */
void request_end(int db, struct script_scratch *scratch, struct words *out);

/* Where an argument is among the words. */
int request_place(int argument);

#endif
