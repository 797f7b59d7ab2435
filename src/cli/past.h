/* SPDX-License-Identifier: MIT */
/* A hold of the past, in words. */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "cli/look.h"
#include "lock/history.h"

/* *h is all zero at first. Those that ended within so many ms; 0: whenever. -1:
 * fewer than a quorum answered; what they have is in *h all the same. */
int past_read(struct look *l, const char *key, size_t len, int64_t within_ms,
	      struct history *h, struct fail *why);

/* "ran", "failed (exit 3)", "forced by joe on web2"; returns buf. */
#define ENDING_SIZE (STORY_BY + 100)
const char *past_ending(const struct past *p, char buf[ENDING_SIZE]);

#endif
