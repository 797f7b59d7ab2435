/* SPDX-License-Identifier: MIT */
/*
 * The scripts (src/lua): makes a request from a question, and an answer from a
 * reply.
 *
 * A script is 4 to 22 kB long. It is called by its hash (EVALSHA), which makes
 * a hand-over a tenth shorter. A server that does not know the hash gets the
 * whole script (EVAL) and knows it from then on.
 *
 * Larger than most: a question and its answer are described together.
 */
#ifndef LOCK_WIRE_SCRIPT_H
#define LOCK_WIRE_SCRIPT_H

#include <stdbool.h>

#include "base/fail.h"
#include "base/words.h"
#include "lock/wire/about.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"
#include "lock/core/state.h"

/* A client's entry in the line: "TTL SLOTS FLAGS\nhost ...\npid ...\n" (for the
 * flags see standing() in src/lua/share.lua). A client has one such text and
 * never changes it, because the scripts find it by its bytes. */
#define IDENTITY_SIZE (ABOUT_COUNT * (ABOUT_MAX + 8) + 48)
void script_identity(const struct lease_conf *conf, const struct holder *who,
		     char text[IDENTITY_SIZE]);

/* Only the end of it: "host ...\npid ...\n". */
void script_about(const struct holder *who, char text[IDENTITY_SIZE]);

/* `db`: see request_begin(). The request borrows its arguments: it is valid as
 * long as they are, and until `keys` names another slot. */
void script_request(const struct ask *ask, const struct lease_conf *conf,
		    struct keys *keys, const char *token, const char *identity,
		    int db, struct script_scratch *scratch, struct words *out);

/* The hash of the script that it calls; NULL: it calls none. */
const char *script_sha(const struct ask *ask, const struct lease_conf *conf);

/* The holder of the lock as a busy answer tells it, or the waiter that took our
 * place. All text is safe for a terminal. */
struct sight {
	bool seen;     /* the answer told anything */
	bool lost;     /* nobody has it, but data were lost: see ask.h */
	bool guarded;  /* nobody has it, but the server has just started */
	bool foreign;  /* no holder record: another program's lock */
	char type[16]; /* the key's type if it is not a string, else "" */
	char token[140];
	char about[ABOUT_COUNT][ABOUT_MAX];
	int readers;     /* number of readers, if it is one of them; else 0 */
	int64_t since;   /* seconds since 1970, server time; 0: unknown */
	int64_t pttl_ms; /* -1: no expiry */
};

/* Returns 0 and fills *out, and *sight if the reply tells who has the lock, who
 * took our place or who asks us to stop. Or returns -1 and fills *why, without
 * the node's name. */
int script_answer(enum verb verb, const struct words *reply, struct answer *out,
		  struct sight *sight, struct fail *why);

#endif
