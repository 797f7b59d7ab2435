/* SPDX-License-Identifier: MIT */
/* The holds of a lock: as words, and as a picture. */
#ifndef CLI_HISTORY_HISTORY_H
#define CLI_HISTORY_HISTORY_H

#include <stdio.h>

#include "cli/query.h"
#include "lock/wire/history.h"

/* Reads the holds that ended in the last within_ms; 0: all. *h must be all zero
 * at first. -1: fewer than a quorum answered; *h has what they said. */
int history_read(struct query *query, const char *key, size_t len,
		 int64_t within_ms, struct history *h, struct fail *why);

/* The same, with the present holders. If it is not known who they are,
 * *unknown says why. */
int history_read_open(struct query *query, const char *key, size_t len,
		      int64_t within_ms, struct history *h,
		      struct fail *unknown, struct fail *why);

/* Whether this outcome says that the work was done, or that it was not. What a
 * person or script does under a lock taken by hand is not known. */
bool hold_is_judged(const struct history_hold *p);

/* "ran", "failed (exit 3)", "forced by joe on web2", "held". Returns
 * buf. */
#define ENDING_SIZE (HISTORY_BY_MAX + 100)
const char *hold_ending(const struct history_hold *p, char buf[ENDING_SIZE]);

/* The row and lane of a picture in which each hold is drawn. */

#define LANES_MAX 24 /* of a host: more are not to be told apart */

struct host {
	const char *name;
	int lanes;
	int64_t free_ms[LANES_MAX]; /* when the last bar of a lane ends */
};

/* Hosts are in the order of their first hold. */
struct lanes {
	/* set by the caller: what is written behind each bar takes the room of
	 * this long */
	int64_t behind_ms[HISTORY_MAX];
	struct host host[HISTORY_MAX];
	int hosts, rows; /* rows: the lanes of all of them */
	struct {
		int host, lane;
	} at[HISTORY_MAX]; /* of each hold */
};

/* *l must be all zero at first, but for behind_ms. No bar is shorter than
 * least_ms. */
void lanes_fill(struct lanes *l, const struct history *h, int64_t least_ms);

/*
 * The history of a lock as an SVG picture: a row for each host, a bar for each
 * hold, a thin line before it while it waited. People may see it on light or
 * dark ground or in print, or hear it: a colour, a letter above the bar and
 * words say how a hold ended. `shown`: the key, safe for a terminal.
 */
void timeline_draw(const struct history *h, const char *shown, FILE *f);

#endif
