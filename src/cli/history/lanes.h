/* SPDX-License-Identifier: MIT */
/* The row and lane of a picture in which each hold is drawn. */
#ifndef CLI_HISTORY_LANES_H
#define CLI_HISTORY_LANES_H

#include "lock/wire/history.h"

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

/* The host, or "(anonymous)". */
const char *hold_host(const struct history_hold *p);
/* When the wait for this hold began. */
int64_t hold_came_ms(const struct history_hold *p);

#endif
