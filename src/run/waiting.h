/* SPDX-License-Identifier: MIT */
/*
 * What a person sees of a wait: the lines of run/pace.h, and one on a grant
 * that took its time.
 */
#ifndef RUN_WAITING_H
#define RUN_WAITING_H

#include "client/locks.h"
#include "run/pace.h"

struct waiting {
	const struct locks *locks;
	struct pace pace;
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
