/* SPDX-License-Identifier: MIT */
/*
 * The locks that are held or waited for, on all servers. SCAN on every primary
 * finds the keys that may be locks; each of them is then looked at, some at a
 * time. For `list`, which does this once, and `top`, which goes on.
 *
 * Nothing here waits: scan_step() takes the answers that are there and asks
 * what is next. Call fanout_poll() between its calls.
 */
#ifndef CLI_SHOW_SCAN_H
#define CLI_SHOW_SCAN_H

#include "cli/query.h"
#include "cli/show/lockset.h"

/* A server of the list; a Cluster counts as one. */
struct node_seen {
	bool down; /* it, or a part of it, did not answer */
	struct instant since;
	struct fail why;
	/* in this round, or in this scan */
	bool failed, missed;
};

struct scan {
	struct query *query;  /* borrowed */
	const char *pattern;  /* borrowed; NULL: any key */
	bool past;            /* find locks that have only a history, too */
	struct lockset known; /* some may be free by now */
	struct node_seen node[NODES_MAX];
	struct spot *spot; /* one for each target */
	int spots;
	struct flight *flight; /* keys that we ask about ... */
	int flying, next;      /* ... those from `next` on not yet */
	int scans, pings;      /* unanswered */
	struct instant scan_began, round_began;
	int64_t scan_took_ms, round_took_ms; /* of the last that ended */
	int hidden; /* locks that an ACL hides from us ... */
	struct fail hidden_why;
	int unseen;         /* ... in the last round that ended */
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
/* The first server that is down; NULL: none is. */
const struct node_seen *scan_down(const struct scan *c);

#endif
