/* SPDX-License-Identifier: MIT */
/* What looks wrong with a lock, in words, for `inspect`. */
#ifndef CLI_SHOW_PROBLEMS_H
#define CLI_SHOW_PROBLEMS_H

#include "cli/query.h"

/* Considered silent: two heartbeats (queue.h) without a sign of life. */
#define SILENT_MS 10000

#define LISTED_MOST 200 /* holders, and waiters */
/* The number of them that are asked for, shown and judged. */
int listed_holders(const struct view *v);
int listed_waiters(const struct view *v);

/* Calls tell() for each finding. */
void find_problems(const struct query *l, const struct snapshot *s,
		   void (*tell)(void *arg, const char *text), void *arg);

#endif
