/* SPDX-License-Identifier: MIT */
/*
 * The history of a lock: an entry per hold, in a stream beside the key, written
 * by the release (src/lua/log.lua).
 */
#ifndef LOCK_HISTORY_H
#define LOCK_HISTORY_H

#include <stdint.h>

/* What became of a hold. */
struct story {
	const char *outcome; /* "ran", "failed", "lost", "max-hold",
				"forced" */
	int status;          /* of the command; -1: not known, or a signal */
	int signal;          /* that ended it; 0: none */
	int64_t waited_ms, held_ms;
	const char *by; /* "forced": who did it; NULL: nobody. Borrowed */
};

/* As the release tells it. slot -1: it is no semaphore. */
#define STORY_BY 250
#define STORY_SIZE (192 + STORY_BY)
void story_text(const struct story *s, int64_t fence, int slot,
		char text[STORY_SIZE]);

#endif
