/* SPDX-License-Identifier: MIT */
/* Which locks of a census are shown, in which order, and how. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include <stdio.h>

#include "base/json.h"
#include "cli/census.h"

enum column {
	COLUMN_KEY,
	COLUMN_HELD,
	COLUMN_LEFT,
	COLUMN_WAITERS,
	COLUMNS_SORTED
};

struct choice {
	bool held, waiting; /* only those that are; both: that are both */
	const char *text;   /* only what shows this somewhere; "": any */
	enum column by; /* left: the soonest to end comes first; held, waiters:
			   the most */
	bool reverse;
};

/* Borrows from the census: for as long as that makes no step. */
struct listing {
	const struct lock_seen **row;
	int rows;
	int64_t waiters; /* of all that are shown */
};

/* -1: no memory. Close it in the end. */
int listing_make(struct listing *l, const struct census *c,
		 const struct choice *choice);
void listing_close(struct listing *l);

/* A table for people; of nothing, nothing. -1: no memory. */
int listing_print(const struct listing *l, FILE *out);
/* The members that tell of the servers, and `locks`, of a document. */
void listing_json(const struct listing *l, const struct census *c,
		  struct json *j);

/* Looks at all locks, and shows them as `list` does. -1: a server failed on the
 * way, and what only that one knows is missing. */
int listing_once(struct look *look, const struct opts *o, struct fail *why);

/* In a word: "held", "reading", ... */
const char *listing_state(const struct lock_seen *l);
/* "web1", "web1 +2": and so many others; "" of nobody. */
const char *listing_host(const struct lock_seen *l, char *buf, size_t size);
/* "4m12s", "2d03h": no more precise than people want it. Unknown: "" */
const char *listing_time(int64_t ms, char *buf, size_t size);

#endif
