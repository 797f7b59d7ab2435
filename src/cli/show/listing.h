/* SPDX-License-Identifier: MIT */
/* Which locks of a scan are shown, in which order, and how. */
#ifndef CLI_SHOW_LISTING_H
#define CLI_SHOW_LISTING_H

#include <stdio.h>

#include "base/json.h"
#include "cli/show/scan.h"

enum column {
	COLUMN_KEY,
	COLUMN_HELD,
	COLUMN_LEFT,
	COLUMN_WAITERS,
	COLUMNS_SORTED
};

struct choice {
	bool held, waiting; /* only held, only waited for; both: only both */
	bool past;          /* free ones, too, if they have a history */
	const char *text;   /* only rows that show this text; "": all */
	enum column by; /* left: the soonest to end first; held, waiters: the
			   largest first */
	bool reverse;
};

/* Borrows from the scan: valid until its next step. */
struct listing {
	const struct lock_seen **row;
	int rows;
	int64_t waiters; /* sum over all rows */
};

/* -1: out of memory. Call listing_close() in the end. */
int listing_make(struct listing *l, const struct scan *c,
		 const struct choice *choice);
void listing_close(struct listing *l);

/* Prints a table for people; prints nothing if there are no rows. -1: out of
 * memory. */
int listing_print(const struct listing *l, FILE *out);
/* Writes the members of a document that describe the servers, and `locks`. */
void listing_json(const struct listing *l, const struct scan *c,
		  struct json *j);

/* One word: "held", "reading", ... */
const char *listing_state(const struct lock_seen *l);
/* "web1", or "web1 +2" with two other holders; "" if nobody holds it. */
const char *listing_host(const struct lock_seen *l, char *buf, size_t size);
/* "4m12s", "2d03h": as precise as people need. Unknown: "" */
const char *listing_time(int64_t ms, char *buf, size_t size);

#endif
