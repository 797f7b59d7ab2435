/* SPDX-License-Identifier: MIT */
/*
 * What the verbs (client/fanout.h) ask about a hold that is not this process's:
 * redlock unlock and extend know its token; force-release (src/lua/force.lua)
 * asks its holder to stop, or takes the lock away.
 */
#ifndef LOCK_WIRE_ADMIN_H
#define LOCK_WIRE_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"

/* ---- a hold of which only the token is known ---- */

struct token_op {
	bool extend;       /* false: release it */
	const char *token; /* borrowed */
	int64_t ttl_ms;    /* extend: the new length, from now; 0: as before */
	bool alone;        /* there is one node */
	bool tell;         /* release: write the history entry */
};

void token_op_request(struct request *r, const struct token_op *op,
		      const struct keys *keys, int db);

/* *was: whether the token held the lock. Returns -1 if the reply is not an
 * answer of the script. */
int token_op_read(const struct reply *r, bool *was, struct fail *why);

/* ---- by force ---- */

enum force_step {
	FORCE_ASK,
	FORCE_TAKE,
	FORCE_FOREIGN, /* take a lock that another program made */
	FORCE_MARKS,   /* forget what work was done */
	FORCE_OPEN     /* nobody is there: whom a server may have forgotten is
			  waited for no longer */
};

/* Instead of a token: all readers. */
#define FORCE_CROWD "shared:*"

struct force {
	enum force_step step;
	int slot;
	const char *who; /* the family that is in the slot; for a foreign lock
			    its value, or its type. Borrowed */
	size_t who_len;
	const char *member; /* the token of one of several in that family, who
			       alone is meant; or "" */
	int64_t grace_ms;   /* ask: the time it has to stop */
	const char *by;     /* the client that asks: record_about() */
	int64_t ttl_ms;     /* its T; 0: unknown */
	int64_t seen;       /* the counter when it was seen to hold the lock;
			       0: it was not, or the lock is foreign */
	const char *entry;  /* take: the end of its history entry: "by ...\n",
			       or "" */
	bool alone;         /* there is one node */
};

void force_request(struct request *r, const struct force *f,
		   const struct keys *keys, int db);

enum forced {
	FORCED_YES,     /* asked, or taken */
	FORCED_NO,      /* this client does not hold the lock */
	FORCED_FOREIGN, /* not a lock of ours: nothing was done */
};

struct force_answer {
	enum forced said;
	int64_t ms;    /* ask: the time that is left to stop. Take: how long the
			  lock is granted to the next waiter; 0: nobody waits */
	int64_t asked; /* ask: the number of clients that were asked */
};

/* Returns -1 if the reply is not an answer of the script. */
int force_read(enum force_step step, const struct reply *r,
	       struct force_answer *out, struct fail *why);

#endif
