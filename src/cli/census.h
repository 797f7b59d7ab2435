/* SPDX-License-Identifier: MIT */
/*
 * The locks that are held or waited for, on all servers. Which keys that may be
 * is found by SCAN, on every primary, and each of them is then looked at, some
 * at a time. For `list`, which does this once, and `top`, which goes on.
 *
 * Nothing here waits: census_step() takes the answers that are here, and asks
 * what is next; between its calls survey_poll().
 */
#ifndef CLI_CENSUS_H
#define CLI_CENSUS_H

#include "cli/look.h"

/* A lock, as it was when last a quorum told of it. */
struct lock_seen {
	char *key; /* its bytes */
	size_t len;
	char *shown; /* safe for a terminal */
	bool known;  /* what follows is */
	struct instant at;
	enum view_state state;
	int64_t holders;
	struct view_holder holder; /* the first of them, without the value */
	int64_t held_ms;           /* -1: unknown */
	int64_t fence, in_line;
};

/* A server of the list; a Cluster is one. */
struct node_seen {
	bool down; /* it did not answer, or a part of it did not */
	struct instant since;
	struct fail why;
	/* within this round, or this scan */
	bool failed, missed;
};

struct census {
	struct look *look;       /* borrowed */
	const char *pattern;     /* borrowed; NULL: any key */
	struct lock_seen **lock; /* in no order; some are free by now */
	int locks, room;
	size_t bytes;  /* of their keys */
	bool overfull; /* the last scan found more than are kept */
	void *names;   /* tsearch(3): all of `lock` */
	struct node_seen node[NODES_MAX];
	struct spot *spot; /* one for each target */
	int spots;
	struct flight *flight; /* keys that are asked about */
	int flying, next;      /* ... from that one on they were not yet */
	int scans, pings;      /* unanswered */
	struct instant scan_began, round_began;
	int64_t scan_took_ms, round_took_ms; /* the last ones that ended */
	int hidden; /* locks that we may not look at (an ACL) ... */
	struct fail hidden_why;
	int unseen;         /* ... in the last round that ended */
	bool asking, broke; /* no memory */
};

/* Close it in the end, whatever failed. */
void census_open(struct census *c, struct look *look, const char *pattern);
void census_close(struct census *c);

/* Looks for keys: a SCAN of everything. Those that are found are looked at. */
void census_scan(struct census *c);
/* A round: looks again at all that are known, and whether each server lives.
 * What is free by now is forgotten. */
void census_ask(struct census *c);
/* -1: no memory. */
int census_step(struct census *c);
bool census_scans(const struct census *c);
bool census_asks(const struct census *c);

/* It is of interest: somebody has it, or waits for it. */
bool census_shows(const struct lock_seen *l);

/* The last scan reached a quorum of the servers whole. Else -1, and why. */
int census_verdict(struct census *c, struct fail *why);
/* The first server that is down; NULL: none is. */
const struct node_seen *census_down(const struct census *c);

#endif
