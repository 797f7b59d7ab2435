/* SPDX-License-Identifier: MIT */
/*
 * The part of Redis 7 that the scripts of src/lua use, in memory: the real
 * scripts run in an embedded Lua 5.1. `sim --differ` checks that it answers as
 * a server does.
 *
 * A list in the answer of a script becomes the words of it between "(" and ")",
 * nil in it "(nil)"; one of more than 24 words becomes "(30 words)".
 *
 * As in Redis, a script may not write globals or read undefined ones. A command
 * that is unknown here is an error.
 */
#ifndef SIM_REDIS_H
#define SIM_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/words.h"

struct redis;

/* NULL: no memory. */
struct redis *redis_open(void);
void redis_close(struct redis *r);

/* Microseconds since 1970; a key is gone once its last millisecond is over. */
void redis_clock(struct redis *r, int64_t us);

/* It is another process, by that id, since then, and empty. */
void redis_start(struct redis *r, const char *run_id, int64_t us);

/* Of memory: refuses what Redis marks "denyoom", unless the script has written
 * something. */
void redis_full(struct redis *r, bool full);

/* Whether it has streams (XADD and XREVRANGE as history.lua uses them). At
 * first it has none, so that all is in the state: where two are compared. */
void redis_streams(struct redis *r, bool streams);

/* Every such command with such a word ("*": any) fails with this error from now
 * on, as for a user without the right to it, or on an older server. "": it
 * runs, even in a script that said that it would not write. NULL: none. */
void redis_refuse(struct redis *r, const char *command, const char *word,
		  const char *error);

/* The slot of all keys is on the move, or no longer: then each key is on one of
 * two nodes, the old one as yet. A script runs on the one that has all its KEYS
 * ("ASK"), else nowhere ("TRYAGAIN"); what it says beyond that fails there, or
 * finds nothing, as in a Cluster. */
void redis_move(struct redis *r, bool moving);
/* The i-th key goes to the new node. */
void redis_carry(struct redis *r, int i);
/* A key that a script made there, though the old node has it: the move would
 * stop at it. NULL: there is none. */
const char *redis_twice(const struct redis *r);

/* Any command, EVAL among them. The words live until the next call. False: an
 * error, in the first word. */
bool redis_run(struct redis *r, const struct words *request,
	       struct words *reply);

/* What INFO says: "refused": an error; NULL: as usual. Borrowed. */
void redis_inform(struct redis *r, const char *server, const char *replication);

/* How many commands the last script has run. */
int redis_calls(const struct redis *r);

/* A change to every script that has the text `from`, but for blanks and ends of
 * lines. A list of them ends with a NULL; it is borrowed. */
struct redis_edit {
	const char *from, *to;
};
void redis_edit(struct redis *r, const struct redis_edit *edits);

/* Who asks any of them for the script `text` gets the other one. Borrowed. */
void redis_instead(const char *text, const char *other);

/* The text with the edits made, to be freed. Adds to found[i] how often edit i
 * was. */
char *redis_edited(const struct redis_edit *edits, const char *text, size_t len,
		   size_t *out_len, int *found);

/* Whether both texts are compiled to the same code, line by line. */
bool redis_same_code(struct redis *r, const char *a, const char *b);

/* ---- what a test looks at, and does by hand ---- */

void redis_flush(struct redis *r);
/* Notes what it has now, and goes back to that: it loses what came since. */
void redis_save(struct redis *r);
void redis_set_back(struct redis *r);
void redis_del(struct redis *r, const char *key);
/* NULL: missing, or not a string. */
const char *redis_get(struct redis *r, const char *key);
/* NULL: missing, or not a hash. */
const char *redis_field(struct redis *r, const char *key, const char *name);
/* In ms since 1970; -1: never; 0: there is no such key. */
int64_t redis_ends(struct redis *r, const char *key);
/* The i-th member; NULL: there are not so many. */
const char *redis_member(struct redis *r, const char *key, int i,
			 double *score);
/* Takes the first of a list. */
bool redis_take(struct redis *r, const char *key);
/* Whether both have the same keys, with the same ends and the same in them; the
 * fields of a hash in any order. */
bool redis_alike(struct redis *a, struct redis *b);
/* The i-th field of a hash; NULL: there are not so many. */
const char *redis_field_name(struct redis *r, const char *key, int i);
/* The i-th key; NULL: there are not so many. */
const char *redis_key(struct redis *r, int i);

#endif
