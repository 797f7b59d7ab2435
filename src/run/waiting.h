/* SPDX-License-Identifier: MIT */
/*
 * What a person sees of a wait. On a terminal: one live line. Elsewhere: a line
 * when it begins, one when the holder or our place changes (at most one in
 * 30 s), one when the server falls silent or answers again, one after 5 minutes
 * without any, and one on a grant that took its time.
 */
#ifndef RUN_WAITING_H
#define RUN_WAITING_H

#include "run/describe.h"
#include "run/locks.h"

#define TELL_MS 100          /* do not report shorter waits */
#define TELL_SILENCE_MS 1000 /* nor a server that is back at once */
#define TELL_CHANGE_MS 30000 /* a long line would fill the log */
#define TELL_ALIVE_MS                                                          \
	300000 /* CI systems kill a job that is silent for 10m                 \
		*/
#define DRAW_MS 1000

enum told { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct waiting {
	const struct locks *locks;
	struct instant began;
	struct instant silent; /* since when the server is silent; or NEVER */
	struct instant drawn;  /* when the live line was last drawn */
	enum told told;
	/* the latest line, and what it said */
	struct instant said;
	int said_place;
	char said_token[140];
};

void waiting_init(struct waiting *w, const struct locks *l, struct instant at);

/* Call it after each event. */
void waiting_tell(struct waiting *w);

/* When waiting_tell() is to be called without an event. */
struct instant waiting_next(const struct waiting *w);

/* Draws the live line again: the terminal was resized, or we were stopped. */
void waiting_redraw(struct waiting *w);

/* Removes the live line: for good, or before redlock stops. */
void waiting_hide(void);

/* The wait is over; `ours`: we have the lock. */
void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours);

#endif
