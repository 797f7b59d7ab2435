/* SPDX-License-Identifier: MIT */
/*
 * The history of a lock: one entry per hold, in a stream beside the key. The
 * release writes it (src/lua/history.lua). This header serves both the writer
 * and the readers. No lock depends on the history.
 */
#ifndef LOCK_WIRE_HISTORY_H
#define LOCK_WIRE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"
#include "lock/wire/request.h"

/* ---- writing ---- */

/* What became of a hold. */
struct history_entry {
	const char *outcome; /* "ran", "failed", "lost", "max-hold", "forced";
				by hand: "released", "ended" */
	int status;          /* of the command; -1: unknown, or a signal */
	int signal;          /* the signal that ended it; 0: none */
	int64_t waited_ms, held_ms;
	const char *by; /* "forced": who did it; NULL: unknown. Borrowed */
};

/* How it ended: "outcome failed\nexit 4\n". */
#define HISTORY_ENDING_SIZE 56
void history_ending_text(const struct history_entry *s,
			 char text[HISTORY_ENDING_SIZE]);
/* The entry as the release sends it. slot -1: the lock has no slots. `names`:
 * of all slots, "a,b"; or NULL. */
#define HISTORY_BY_MAX 250
#define HISTORY_ENTRY_SIZE (192 + HISTORY_BY_MAX + SLOT_NAME_SHOWN)
void history_entry_text(const struct history_entry *s, int64_t fence, int slot,
			const char *names, char text[HISTORY_ENTRY_SIZE]);

/* ---- reading ---- */

#define HISTORY_MAX 100 /* most holds kept per key */

/* One entry, or a present holder. All text is safe for a terminal. */
struct history_hold {
	char token[64];
	char about[ABOUT_COUNT][ABOUT_MAX];
	char by[HISTORY_BY_MAX]; /* who took the lock by force, or "" */
	char outcome[24];
	char slot_name[SLOT_NAME_SHOWN]; /* "": it has none */
	int64_t fence;                   /* 0: unknown */
	int64_t slot, status, signal;    /* -1: unknown, or none */
	int64_t since_ms;                /* by the server's clock */
	int64_t waited_ms;               /* open: -1, unknown */
	int64_t held_ms;
	int64_t ended_ms; /* since_ms + held_ms */
	bool open;        /* it goes on: `held_ms` is so far */
};

struct history {
	struct history_hold *hold; /* owned; the oldest first */
	int holds, room;
	int64_t now_ms;       /* the clock of one server */
	unsigned int answers; /* nodes that answered: bits */
};

/* Makes the request; see request.h. */
void history_request(struct request *r, const struct keys *keys, int db);

/* The master of a node that is a replica, in its answer; "": it is none. */
const char *history_master(const struct reply *r, char buf[MASTER_SHOWN]);
/* Adds a node's answer. *h must be all zero at first. The same hold told by
 * several nodes becomes one entry. -1: the reply is not an answer of the
 * script, and adds nothing; or memory is short, and its last holds are missing.
 */
int history_add(struct history *h, const struct reply *r, int node,
		struct fail *why);
/* Adds a present holder, unless it has an entry; -1: no memory. */
int history_add_open(struct history *h, const struct history_hold *its,
		     struct fail *why);
/* Call it after the last answer. Sorts, and keeps the latest holds of those
 * that ended in the last within_ms (0: of all), and the open ones. */
void history_finish(struct history *h, int64_t within_ms);
void history_close(struct history *h);

#endif
