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

#include "base/fail.h"
#include "base/words.h"
#include "lock/wire/keys.h"

#define ARGUMENTS_MOST 21
/* of an extend: see src/lua/arguments */
#define NUMBER_OTHER 0
/* Later than any request of a client: a release in its name. */
#define NUMBER_LAST INT64_C(9007199254740991)

/* In the place of a database: a node of a Cluster. */
#define REQUEST_CLUSTER (-1)

/* Holds numbers as text. */
struct script_scratch {
	char number[ARGUMENTS_MOST][24];
};

/* What every script is told first: see src/lua/arguments. */
struct request_head {
	const char *token, *stands; /* borrowed */
	int64_t number, seen, longest_ms;
	bool alone;
};

/* Starts the request, with room for that many arguments. Each but the head and
 * the last must be set, in any order, before request_end(). `db`: a database,
 * or REQUEST_CLUSTER. */
void request_begin(const char *lua, size_t len, const struct keys *keys,
		   int arguments, int db, const struct request_head *head,
		   struct script_scratch *scratch, struct words *out);
/* The same; in a Cluster it runs as long as the lock and the state are on this
 * node: see src/lua/start.lua. */
void request_begin_moving(const char *lua, size_t len, const struct keys *keys,
			  int arguments, int db,
			  const struct request_head *head,
			  struct script_scratch *scratch, struct words *out);

void request_text(struct words *w, int argument, const char *text);
void request_bytes(struct words *w, int argument, const char *bytes,
		   size_t len);
void request_flag(struct words *w, int argument, bool value);
void request_number(struct words *w, int argument, int64_t value,
		    struct script_scratch *scratch);

/* Checks that every argument was set. */
void request_end(const struct words *w);

/* Of a reply that does not have the form it must have, with its first word:
 * fills *why, and returns -1. */
int request_misread(const char *word, size_t len, struct fail *why);

#endif
