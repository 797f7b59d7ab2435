/* SPDX-License-Identifier: MIT */
/*
 * A request that runs a script of src/lua: its text, its KEYS, and its
 * arguments by their names. src/lua/arguments has the names; lua.inc has them
 * for C, as ACQUIRE_SEEN and so on. The last one is the database.
 *
 * The words borrow all that they are made of: texts, keys and scratch.
 */
#ifndef LOCK_WIRE_REQUEST_H
#define LOCK_WIRE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"
#include "lock/wire/keys.h"

#define ARGUMENTS_MOST 18

/* In the place of a database: a node of a Cluster. See src/lua/keys.lua. */
#define REQUEST_CLUSTER (-1)

/* Holds numbers as text. */
struct script_scratch {
	char number[ARGUMENTS_MOST][24];
	char value[40]; /* the value of the lock */
};

/* Starts the request, with room for that many arguments. Each but the last must
 * be set, in any order, before request_end(). `db`: a database, or
 * REQUEST_CLUSTER. */
void request_begin(const char *lua, size_t len, struct keys *keys, int slot,
		   int arguments, int db, struct script_scratch *scratch,
		   struct words *out);

void request_text(struct words *w, int argument, const char *text);
void request_bytes(struct words *w, int argument, const char *bytes,
		   size_t len);
void request_flag(struct words *w, int argument, bool value);
void request_number(struct words *w, int argument, int64_t value,
		    struct script_scratch *scratch);

/* Checks that every argument was set. */
void request_end(const struct words *w);

#endif
