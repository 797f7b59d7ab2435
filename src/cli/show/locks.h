/* SPDX-License-Identifier: MIT */
/*
 * All locks: a scan finds them (scan.c, lockset.c), a listing says which are
 * shown, in which order, and how (listing.c, metrics.c).
 */
#ifndef CLI_SHOW_LOCKS_H
#define CLI_SHOW_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/query.h"
#include "lock/wire/view.h"

/* ---- the locks that a scan has found, each once ---- */

/* A lock, as a quorum last described it. */
struct lock_seen {
	char *key; /* owned; any bytes */
	size_t len;
	char *shown; /* owned; safe for a terminal */
	bool past;   /* it has a history */
	bool known;  /* the fields below are set */
	struct instant at;
	enum view_state state;
	int64_t holders;
	struct view_holder holder; /* the oldest, without its value */
	int64_t held_ms;           /* -1: unknown */
	int64_t fence, in_line;    /* fence: see view_fence() */
	unsigned int endless;      /* nodes where it never expires: bits */
	unsigned int damaged;      /* bits of enum view_damage */
};

/* All zero: it is empty. */
struct lockset {
	struct lock_seen **lock; /* owned; unsorted */
	int locks, room;
	size_t bytes;  /* total length of the keys */
	bool overfull; /* there were more than we keep; the owner clears it */
	void *names;   /* tsearch(3): all of `lock` */
};

void lockset_close(struct lockset *s);

/* Adds a lock, unless it is there already, and sets `past`. If there are too
 * many, sets overfull instead. -1: out of memory. */
int lockset_add(struct lockset *s, const char *key, size_t len, bool past);

/* Removes those that are known to be free. */
void lockset_forget_free(struct lockset *s);

/* The order of two struct lock_seen. */
int lockset_by_key(const void *a, const void *b);

/* Whether somebody holds it or waits for it. */
bool lockset_in_use(const struct lock_seen *l);

/*
 * The locks that are held or waited for, on all servers. SCAN on every primary
 * finds the keys that may be locks; each of them is then looked at, some at a
 * time. For `list`, which does this once, and `top`, which goes on.
 *
 * Nothing here waits: scan_step() takes the answers that are there and asks
 * what is next. Call fanout_poll() between its calls.
 */

/* A server of the list; a Cluster counts as one. */
struct node_seen {
	bool down; /* it, or a part of it, did not answer */
	struct instant since;
	struct fail why;
	bool silent, refuses; /* it said nothing; it answered with an error */
	/* in this round, or in this scan */
	bool failed, missed;
};

struct scan {
	struct query *query;  /* borrowed */
	const char *pattern;  /* borrowed; NULL: any key */
	bool past;            /* find locks that have only a history, too */
	int waiters;          /* so many of each line are read as well */
	struct lockset known; /* some may be free by now */
	struct node_seen node[NODES_MAX];
	struct scan_target *target; /* one for each target */
	int targets;
	struct look *look; /* keys that we ask about ... */
	int looks, next;   /* ... those from `next` on not yet */
	int scans, pings;  /* unanswered */
	struct instant scan_began, round_began;
	int64_t scan_took_ms, round_took_ms; /* of the last that ended */
	int hidden; /* locks that an ACL hides from us ... */
	struct fail hidden_why;
	int unseen;         /* ... in the last round that ended */
	int64_t histories;  /* keys with a history that it found */
	bool asking, broke; /* broke: out of memory */
};

/* Call scan_close() in the end, whatever failed. */
void scan_open(struct scan *c, struct query *query, const char *pattern);
void scan_close(struct scan *c);

/* Starts a SCAN of everything. The keys that it finds are looked at. */
void scan_find(struct scan *c);
/* Starts a round: looks again at all known locks, and checks that each server
 * is alive. Forgets the locks that are free by now. */
void scan_ask(struct scan *c);
/* -1: out of memory. */
int scan_step(struct scan *c);
bool scan_is_finding(const struct scan *c);
bool scan_is_asking(const struct scan *c);

/* Returns 0 if the last scan completely covered a quorum of the servers; else
 * -1 with *why set. */
int scan_verdict(const struct scan *c, struct fail *why);
/* Whether it answers, if only as a replica, which does not vote. */
bool scan_is_up(const struct scan *c, int node);
/* The first server that is down, or else a replica that does not vote; NULL:
 * there is none. */
const struct node_seen *scan_down(const struct scan *c);

/* ---- which locks of a scan are shown, in which order, and how ---- */

struct table;

enum column {
	COLUMN_KEY,
	COLUMN_STATE,
	COLUMN_HOLDER,
	COLUMN_PID,
	COLUMN_USER,
	COLUMN_COMMAND,
	COLUMN_HELD,
	COLUMN_LEFT,
	COLUMN_WAITING,
	COLUMN_LEASE, /* the bar of `top` */
	COLUMNS
};

struct choice {
	bool held, waiting; /* only held, only waited for; both: only both */
	bool past;          /* free ones, too, if they have a history */
	const char *text;   /* only rows that show this text; "": all */
	enum column by;     /* key; left: the soonest to end first; held,
			       waiting: the largest first */
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

/* Makes a table of n rows, from `first` on, below their titles, as they are at
 * `at`. `bar`: with the lease as a bar: a full one, an empty one; or NULL. */
void listing_table(const struct listing *l, int first, int n, struct instant at,
		   const char *const bar[2], struct table *t);
/* Prints a table for people; prints nothing if there are no rows. -1: out of
 * memory. */
int listing_print(const struct listing *l, FILE *out);
/* Writes the members of a document that describe the servers, and `locks`. */
void listing_json(const struct listing *l, const struct scan *c,
		  struct json *j);

/* What is left of its lease; -1: it never ends. */
int64_t listing_left(const struct lock_seen *l, struct instant at);

/* Writes the text format of Prometheus, for a file that the textfile collector
 * of node_exporter reads. Also reads the history of each lock. -1: out of
 * memory. */
int metrics_print(const struct listing *l, const struct scan *c,
		  struct fail *missing, FILE *out);

/* Looks at all locks and shows them as `list` does. -1: a server failed on the
 * way, and what only that server knows is missing. */
int listing_once(struct query *query, const struct opts *o, struct fail *why);

#endif
