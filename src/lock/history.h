/* SPDX-License-Identifier: MIT */
/*
 * The history of a lock: an entry per hold, in a stream beside the key, written
 * by the release (src/lua/log.lua). For those who tell, and for those who read;
 * no lock depends on it.
 */
#ifndef LOCK_HISTORY_H
#define LOCK_HISTORY_H

#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "lock/keys.h"
#include "lock/script.h"

/* ---- telling ---- */

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

/* ---- reading ---- */

#define HISTORY_MAX 100 /* holds, of a key */

/* All text is safe for a terminal. */
struct past {
	char token[64];
	char about[ABOUT_COUNT][ABOUT_MAX];
	char by[STORY_BY]; /* who took it away by force, or "" */
	char outcome[24];
	int64_t fence;                /* 0: unknown */
	int64_t slot, status, signal; /* -1: unknown, or not so */
	int64_t since_ms;             /* by a server's clock */
	int64_t waited_ms, held_ms;
	int64_t ended_ms; /* since_ms + held_ms */
};

struct history {
	struct past *hold; /* the oldest first */
	int holds;
	int64_t now_ms;       /* a server's clock */
	unsigned int answers; /* these nodes said something: bits */
};

/* Makes the request; see script.h. */
void history_request(struct keys *keys, int db, struct script_scratch *scratch,
		     struct words *out);
const char *history_sha(void);

/* *h is all zero at first. Adds what a node said: what several tell of one hold
 * becomes one. -1: it is not an answer of the script, or there is no memory;
 * nothing was added. */
int history_add(struct history *h, const struct reply *r, int node,
		struct fail *why);
/* After the last one: sorts, and leaves the latest, of those that ended within
 * so many ms; 0: whenever. */
void history_finish(struct history *h, int64_t within_ms);
void history_close(struct history *h);

#endif
