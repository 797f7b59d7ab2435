/* SPDX-License-Identifier: MIT */
/*
 * REDLOCK_HELD: what the redlocks above us hold, so that one that is started by
 * a command under the lock joins the hold and does not wait for itself. Words,
 * each TOKEN:FENCE:SLOT:GROUP:TTL:KEY:URL, the innermost first; TTL is
 * the longest lease of the hold, in ms; KEY and URL are
 * hashes (FNV-1a, 64 bits), for a key may be too long for an environment.
 *
 * It is a hint and proves nothing: the server is asked whether the lock holds
 * that token, on that server, now (src/lua/join.lua).
 */
#ifndef CLI_HELD_H
#define CLI_HELD_H

#include <stddef.h>

#include "run/guard.h"

#define HELD_WORD_MAX 160

/* The word of this key, on this server rather than on another; if there is
 * none, *out is empty. */
void held_find(const char *words, const char *key, const char *url,
	       struct lease_outer *out);

/* Under which token a lock is held: one's own, or, when an exclusive hold was
 * joined, that of the outer one. */
const char *held_token(const struct granted *g,
		       const struct lease_outer *outer);

/* Writes the word of a lock that was granted for ttl_ms. Returns its length. */
size_t held_word(const struct granted *g, const struct lease_outer *outer,
		 int64_t ttl_ms, const char *key, const char *url,
		 char word[HELD_WORD_MAX]);

#endif
