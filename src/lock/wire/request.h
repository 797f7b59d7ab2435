/* SPDX-License-Identifier: MIT */
/*
 * A request that runs a script of src/lua: its text, its KEYS, and its
 * arguments by their names. src/lua/arguments has the names; lua.inc has them
 * for C, as ACQUIRE_SEEN and so on. The last one is the database. answer.h
 * reads what a script answers.
 *
 * A script is 4 to 26 kB long. It is called by its hash (EVALSHA), which makes
 * a hand-over a tenth shorter. A server that does not know the hash gets the
 * whole script (EVAL) and knows it from then on.
 */
#ifndef LOCK_WIRE_REQUEST_H
#define LOCK_WIRE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/words.h"
#include "lock/core/lease.h"
#include "lock/wire/keys.h"

#define ARGUMENTS_MOST 22
/* of an extend: see src/lua/arguments */
#define NUMBER_OTHER 0
/* Later than any request of a client: a release in its name. */
#define NUMBER_LAST INT64_C(9007199254740991)

/* In the place of a database: a node of a Cluster. */
#define REQUEST_CLUSTER (-1)

enum script_name {
	SCRIPT_ACQUIRE,
	SCRIPT_RENEW,
	SCRIPT_RELEASE,
	SCRIPT_FORCE,
	SCRIPT_INSPECT,
	SCRIPT_HISTORY
};

/* The words borrow texts, keys and `number`: a copy borrows from the first. */
struct request {
	struct words words; /* with the whole script */
	const char *sha;    /* by which it can be called; NULL: no script */
	char number[ARGUMENTS_MOST][24];
};

/* The first arguments of every script: see src/lua/arguments. */
struct request_head {
	const char *token, *identity; /* borrowed */
	int64_t number, seen, longest_ms;
	bool alone;
};

/* Starts the request. Each argument but the head and the last must be set, in
 * any order, before request_end(). `db`: a database, or REQUEST_CLUSTER. There,
 * a script that must run while the slot moves declares the lock and the state
 * alone: see src/lua/start.lua. */
void request_begin(struct request *r, enum script_name script,
		   const struct keys *keys, int db,
		   const struct request_head *head);
void request_text(struct request *r, int argument, const char *text);
void request_bytes(struct request *r, int argument, const char *bytes,
		   size_t len);
void request_flag(struct request *r, int argument, bool value);
void request_number(struct request *r, int argument, int64_t value);
/* Checks that every argument was set. */
void request_end(const struct request *r);

/* The request for a question of the lease: a call of a script, BLPOP or WAIT.
 * `identity`: record_identity(). `db`: see request_begin(). The request borrows
 * its arguments: it is valid as long as they are. */
void request_ask(struct request *r, const struct ask *ask,
		 const struct lease_conf *conf, const struct keys *keys,
		 const char *token, const char *identity, int db);

/* What a release tells. */
struct release_words {
	const char *entry;  /* history_entry_text(); "": there was no hold, or
			       it is not to be recorded */
	const char *ending; /* history_ending_text(), for a mark; or "" */
	const char *mark;   /* of another client, if that is to be mended; NULL:
			       not known */
};

/* Adds that to a release. Any other question stays as it is. */
void request_tell(struct request *r, const struct ask *ask,
		  const struct release_words *t);

/* Makes a request that tells the server a script. It has no arguments, fails at
 * its first line, and is known from then on. SCRIPT LOAD would do the same, but
 * some users may not call it, and a proxy that does not know it (twemproxy)
 * closes the connection. */
void request_teach(struct request *r, enum script_name script,
		   const struct keys *keys);

/* Of a reply that does not have the form it must have, with its first word:
 * fills *why, and returns -1. */
int request_misread(const char *word, size_t len, struct fail *why);

#endif
