/* SPDX-License-Identifier: MIT */
/*
 * Somebody else's lock: ask its holder to stop, or take it away. See
 * src/lua/force.lua; for those who look (run/survey.h), not for the lease.
 */
#ifndef LOCK_FORCE_H
#define LOCK_FORCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "base/words.h"
#include "lock/keys.h"
#include "lock/script.h"

enum force_step {
	FORCE_ASK,
	FORCE_TAKE,
	FORCE_FOREIGN /* take what is no lock of ours */
};

/* In place of a token: all who read. */
#define FORCE_CROWD "shared:*"

struct force {
	enum force_step step;
	int slot;
	const char *who; /* the holder's token; what is foreign: its value, or
			    its type */
	size_t who_len;
	int64_t grace_ms;  /* ask: to be gone within */
	const char *by;    /* who asks: script_about() */
	int64_t seen;      /* the counter, when it was seen to hold; 0: it was
			      not, or it is no lock of ours */
	const char *story; /* take: how the history ends: "by ...\n", or "" */
	bool alone;        /* on one node */
};

void force_request(const struct force *f, struct keys *keys, int db,
		   struct script_scratch *scratch, struct words *out);
const char *force_sha(void);

enum forced {
	FORCED_YES,     /* asked, or taken */
	FORCED_NO,      /* it does not hold the lock */
	FORCED_FOREIGN, /* no lock of ours: nothing was done */
};

struct force_answer {
	enum forced said;
	int64_t ms;    /* ask: so much time is left. Take: the next one has it
			  for so long, 0: nobody waits */
	int64_t asked; /* ask: so many clients */
};

/* -1: it is no answer of the script. */
int force_read(enum force_step step, const struct reply *r,
	       struct force_answer *out, struct fail *why);

#endif
