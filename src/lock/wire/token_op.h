/* SPDX-License-Identifier: MIT */
/*
 * Releases or extends a hold of which only the token is known. For the verbs
 * (client/fanout.h), not for the lease.
 */
#ifndef LOCK_WIRE_TOKEN_OP_H
#define LOCK_WIRE_TOKEN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "base/words.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"

struct token_op {
	bool extend;       /* false: release it */
	const char *token; /* borrowed */
	int64_t ttl_ms;    /* extend: the new length, from now; 0: as before */
	bool alone;        /* there is one node */
	bool tell;         /* release: write the history entry */
};

void token_op_request(const struct token_op *g, const struct keys *keys, int db,
		      struct script_scratch *scratch, struct words *out);
const char *token_op_sha(const struct token_op *g);

/* *was: whether the token held the lock. Returns -1 if the reply is not an
 * answer of the script. */
int token_op_read(const struct reply *r, bool *was, struct fail *why);

#endif
