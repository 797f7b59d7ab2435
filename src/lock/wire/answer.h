/* SPDX-License-Identifier: MIT */
/*
 * Makes an answer from the reply of a script, a BLPOP or a WAIT. The comment at
 * the top of each script (src/lua) says what it returns.
 */
#ifndef LOCK_WIRE_ANSWER_H
#define LOCK_WIRE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/words.h"
#include "lock/core/ask.h"
#include "lock/wire/record.h"

/* The holder of the lock as a busy answer describes it, or the waiter that took
 * our place. All text is safe for a terminal. */
struct sight {
	bool seen;     /* the answer described somebody */
	bool lost;     /* nobody has it, but data were lost: see ask.h */
	bool guarded;  /* nobody has it, but the server has just started */
	bool vanished; /* the outer hold is gone: see SAID_VANISHED */
	bool foreign;  /* no holder record: another program's lock */
	bool kept;     /* its command has ended: --min-hold */
	bool replaces; /* it asks us to stop because it replaces us */
	struct record_end end; /* of a mark */
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
int answer_read(enum verb verb, const struct words *reply, struct answer *out,
		struct sight *sight, struct fail *why);

#endif
