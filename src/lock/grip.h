/* SPDX-License-Identifier: MIT */
/*
 * A hold of which nothing but the token is known: give it back, or renew it.
 * For those who look (run/survey.h), not for the lease: see src/lua/unlock.lua
 * and extend.lua.
 */
#ifndef LOCK_GRIP_H
#define LOCK_GRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "base/words.h"
#include "lock/keys.h"
#include "lock/script.h"

struct grip {
	bool extend; /* else it is given back */
	const char *token;
	int64_t ttl_ms; /* extend: so long from now; 0: as it was */
	bool alone;     /* on one node */
	bool tell;      /* give back: the history, too */
};

void grip_request(const struct grip *g, struct keys *keys, int db,
		  struct script_scratch *scratch, struct words *out);
const char *grip_sha(const struct grip *g);

/* Whether it was its token's. -1: it is no answer of the script. */
int grip_read(const struct reply *r, bool *was, struct fail *why);

#endif
