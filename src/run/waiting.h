/* SPDX-License-Identifier: MIT */
/*
 * What a person sees of the waiting: on a terminal one live line, elsewhere one
 * line when it begins, one when the server falls silent or answers again, and
 * one on a grant that took its time.
 */
#ifndef RUN_WAITING_H
#define RUN_WAITING_H

#include "run/locks.h"

enum told { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct waiting {
	const struct locks *locks;
	struct instant began;
	struct instant silent; /* the server is, since; or NEVER */
	struct instant drawn;  /* the live line, last */
	enum told told;
};

void waiting_init(struct waiting *w, const struct locks *l, struct instant at);

/* After each event. */
void waiting_tell(struct waiting *w);

/* When waiting_tell() is to be called without an event. */
struct instant waiting_next(const struct waiting *w);

/* Draw the live line again: the terminal was resized, or we were stopped. */
void waiting_redraw(struct waiting *w);

/* The live line vanishes: for good, or before redlock is stopped. */
void waiting_hide(void);

/* It is over; the lock is ours, or not. */
void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours);

/* "web1 (pid 12, user joe, backup.sh) for 3m, lease left 20s": who was seen.
 * `ago`: ms since then. */
const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size);
/* Without the times. */
const char *describe_name(const struct sight *s, char *buf, size_t size);
/* Who asks us to stop. */
const char *describe_asker(const struct sight *s, char *buf, size_t size);

#endif
