/* SPDX-License-Identifier: MIT */
/*
 * REDLOCK_HELD: what the redlocks above us hold. A redlock that is started by a
 * command under the lock joins that hold and does not wait for itself. The
 * value consists of words, the innermost hold first, each
 * TOKEN:FENCE:SLOT:GROUP:TTL:KEY:URL. TTL is the longest lease of the hold, in
 * ms; 0: nobody renews it (`lock` without a keeper). KEY and URL are hashes
 * (FNV-1a, 64 bits), because a key may be too long for an environment.
 *
 * It is a hint and proves nothing: the server is asked whether the lock holds
 * that token, on that server, now (src/lua/join.lua).
 */
#ifndef CLI_HOLD_HELD_H
#define CLI_HOLD_HELD_H

#include <stddef.h>

#include "base/grants.h"
#include "lock/core/state.h"

#define HELD_WORD_MAX 160

/* Finds the word for this key, preferably on this server. If there is none,
 * *out is empty. */
void held_find(const char *words, const char *key, const char *url,
	       struct lease_outer *out);

/* The token under which a lock is held: our own, or the outer one if we joined
 * an exclusive hold. */
const char *held_token(const struct granted *g,
		       const struct lease_outer *outer);

/* Writes the word for a lock granted for ttl_ms. Returns its length. */
size_t held_word(const struct granted *g, const struct lease_outer *outer,
		 int64_t ttl_ms, const char *key, const char *url,
		 char word[HELD_WORD_MAX]);

#endif
