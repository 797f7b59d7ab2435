/* SPDX-License-Identifier: MIT */
/* A hold of the past, in words. */
#ifndef CLI_PAST_H
#define CLI_PAST_H

#include "lock/history.h"

/* "ran", "failed (exit 3)", "forced by joe on web2"; returns buf. */
#define ENDING_SIZE (STORY_BY + 100)
const char *past_ending(const struct past *p, char buf[ENDING_SIZE]);

#endif
