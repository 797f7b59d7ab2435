/* SPDX-License-Identifier: MIT */
/*
 * How the verbs that only look see the servers: opened once, then asked about
 * one key after another, or about many at a time.
 */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

#include "cli/opts.h"
#include "cli/servers.h"
#include "lock/wire/view.h"
#include "client/fanout.h"

struct query {
	struct servers servers;
	struct fanout fanout;
	/* of each server that is a replica: that it is one, and whether that
	 * was said */
	struct fail replica[NODES_MAX];
	unsigned int said_replicas;
};

/* Asks nothing yet. Call query_close() in the end, whatever failed. */
int query_open(struct query *query, const struct opts *o, struct fail *why);
void query_close(struct query *query);

/* For a verb that asks and ends: one deadline for all its questions. Once it is
 * over, or once a server has been silent for the node time-out, what is still
 * to be asked of that server fails at once. */
void query_once(struct query *query);

/* How long a verb tries and waits in all: -w. Without it, and while no server
 * has answered, 5 s. */
int64_t query_limit(const struct opts *o, bool answered);
/* What is asked now ends in time, if the verb may last so long. -w 0 is one
 * look, which has its full time. */
void query_try(struct query *query, int64_t limit_ms);
/* Reports that it was tried in vain. Returns the status to end with. */
int query_gave_up(const struct query *query, const struct opts *o,
		  const struct fail *why);

/* The present state of a lock. */
struct snapshot {
	struct view view;
	struct fail why[NODES_MAX]; /* for each node that did not answer */
};

/* Asks all servers and waits. 0: a quorum answered. -1: *why says what is wrong
 * with the others. Call snapshot_close() in the end, whatever failed. */
int query_lock(struct query *query, const char *key, size_t len,
	       const struct view_most *most, struct snapshot *out,
	       struct fail *why);
void snapshot_close(struct snapshot *s);
/* Puts the holder first that has held the lock longest, of those that a quorum
 * of `nodes` knows: with several slots, a run that hangs may be in any. */
void snapshot_oldest_first(struct snapshot *s, int nodes);

/* For many keys at a time: query_ask() asks one target, snapshot_take() adds
 * its answer. */
int query_ask(struct query *query, int target, const char *key, size_t len,
	      const struct view_most *most, int64_t tag);
/* Asks a server of the list for its history of a key. */
int query_ask_history(struct query *query, int node, const char *key,
		      size_t len);
/* If it is a failure, it goes to s->why. */
void snapshot_take(struct query *query, struct snapshot *s,
		   const struct got *got);

/*
 * A replica may answer with what was true long ago. In a list of several
 * servers it does not vote; alone, it is shown, and each verb says what it is.
 */
/* A server has answered; `master`: of a replica, or "", also without an answer.
 * Returns why its answer does not count; or FAIL_NONE. */
struct fail query_heard(struct query *query, int node, const char *master);
/* The master, from an answer to INFO. */
const char *query_master(const struct reply *info, char buf[MASTER_SHOWN]);
/* Whether it is one, according to its last answer. */
bool query_is_replica(const struct query *query, int node);
/* Says that the only server is a replica; NULL: it is none. */
const struct fail *query_replica(const struct query *query);
/* Says on standard error which servers are replicas, each once, with -q as
 * well. */
void query_say_replicas(struct query *query);
/* Whether a quorum answered. `answers`: the nodes that did, as bits. Returns 0;
 * or -1, and *why says what is wrong with the others. */
int query_enough(const struct query *query, unsigned int answers,
		 const struct fail node_why[NODES_MAX], struct fail *why);
/* The same, after the last answer. */
int query_done(struct query *query, struct snapshot *s, struct fail *why);

/* A SCAN of one target, page by page. All zero: from the start. */
struct pages {
	char cursor[24];
	char mark[24]; /* an earlier one */
	int count;     /* COUNT; 0: the usual one */
	int n;         /* pages so far */
};

/* Asks for the next page of the keys that `match`. -1: out of memory. */
int pages_ask(struct pages *p, struct fanout *s, int target, const char *match,
	      int64_t tag);
/* The answer was too long: the next question is for fewer names. false: fewer
 * than one there are not. */
bool pages_shorten(struct pages *p);
/* Takes an answer: sets *names, a list, and whether there is another page.
 * Returns what is wrong with it, or NULL. */
const char *pages_take(struct pages *p, const struct reply *r,
		       const struct reply **names, bool *more);

/* Whether the locks are those of this machine alone. */
bool query_is_host_only(const struct query *query);

#endif
