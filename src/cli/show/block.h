/* SPDX-License-Identifier: MIT */
/*
 * The block of text that you need at 3 a.m.: who holds a lock, since when, who
 * waits, and what looks wrong. For `inspect`, and before a lock is taken by
 * force.
 */
#ifndef CLI_SHOW_BLOCK_H
#define CLI_SHOW_BLOCK_H

#include <stdio.h>

#include "cli/query.h"

/* `shown`: the key, safe for a terminal. */
void block_print(const struct query *query, const char *shown,
		 const struct snapshot *s, FILE *out);

/* Considered silent: two heartbeats (queue.h) without a sign of life. */
#define SILENT_MS 10000

#define LISTED_MOST 200 /* holders, and waiters */
/* The number of them that are asked for, shown and judged. */
int listed_holders(const struct view *v);
int listed_waiters(const struct view *v);

/* Calls tell() for each finding. */
void find_problems(const struct query *query, const struct snapshot *s,
		   void (*tell)(void *arg, const char *text), void *arg);

#endif
