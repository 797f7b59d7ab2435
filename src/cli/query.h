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
#include "run/fanout.h"

struct look {
	struct servers servers;
	struct survey survey;
};

/* Asks nothing yet. Call look_close() in the end, whatever failed. */
int look_open(struct look *l, const struct opts *o, struct fail *why);
void look_close(struct look *l);

/* The present state of a lock. */
struct sighting {
	struct view view;
	struct fail why[NODES_MAX]; /* for each node that did not answer */
};

/* Asks all servers and waits. 0: a quorum answered. -1: *why says what is wrong
 * with the others. Call look_away() in the end, whatever failed. */
int look_at(struct look *l, const char *key, size_t len,
	    const struct view_most *most, struct sighting *out,
	    struct fail *why);
void look_away(struct sighting *s);

/* For many keys at a time: look_ask() asks one target, look_take() adds its
 * answer. */
int look_ask(struct look *l, int target, const char *key, size_t len,
	     const struct view_most *most, int64_t tag);
/* If it is a failure, it goes to s->why. */
void look_take(struct sighting *s, const struct got *got);
/* Whether a quorum answered. `answers`: the nodes that did, as bits. Returns 0;
 * or -1, and *why says what is wrong with the others. */
int look_enough(const struct look *l, unsigned int answers,
		const struct fail node_why[NODES_MAX], struct fail *why);
/* The same, after the last answer. */
int look_done(struct look *l, struct sighting *s, struct fail *why);

/* What to do if SCAN is refused, or "". */
const char *look_cure(const struct fail *why);

/* Whether the locks are those of this machine alone. */
bool look_is_host_only(const struct look *l);

#endif
