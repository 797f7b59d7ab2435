/* SPDX-License-Identifier: MIT */
/* What a run was granted. Here, because the guard knows no Redis and the client
 * no processes, and both know this. */
#ifndef BASE_GRANTS_H
#define BASE_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"

#define LOCKS_MAX 16 /* of one run */

/* One entry per lock, in the order of the clients. */
struct grants {
	int n; /* 0: the command runs without a lock */
	struct granted {
		char token[TOKEN_SIZE];
		bool joined; /* we joined the outer hold */
		bool reads;  /* held as a reader */
		int slot;
		int64_t fence;
	} lock[LOCKS_MAX];
};

#endif
