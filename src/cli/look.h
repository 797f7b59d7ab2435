/* SPDX-License-Identifier: MIT */
/*
 * How the verbs that look see the servers: opened once, then asked for one key
 * after the other, or for many at a time.
 */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "cli/opts.h"
#include "cli/servers.h"
#include "lock/view.h"
#include "run/survey.h"

struct look {
	struct servers servers;
	struct survey survey;
};

/* Nothing is asked yet. Close it in the end, whatever failed. */
int look_open(struct look *l, const struct opts *o, struct fail *why);
void look_close(struct look *l);

/* What a lock looks like now. */
struct sighting {
	struct view view;
	struct fail why[NODES_MAX]; /* of a node that says nothing */
};

/* Asks all servers and waits. 0: a quorum answered. -1: *why says what is wrong
 * with the others. Close it in the end, whatever failed. */
int look_at(struct look *l, const char *key, size_t len,
	    const struct view_most *most, struct sighting *out,
	    struct fail *why);
void look_away(struct sighting *s);

/* For many keys at a time: asks one target, and takes what it says. */
int look_ask(struct look *l, int target, const char *key, size_t len,
	     const struct view_most *most, int64_t tag);
/* Adds it; a failure goes to s->why. */
void look_take(struct sighting *s, const struct got *got);
/* A quorum answered: these nodes, as bits; else -1, and *why says what is wrong
 * with the others. */
int look_enough(const struct look *l, unsigned int answers,
		const struct fail node_why[NODES_MAX], struct fail *why);
/* Likewise, after the last one. */
int look_done(struct look *l, struct sighting *s, struct fail *why);

/* What to do where SCAN is refused, or "". */
const char *look_cure(const struct fail *why);

/* Locks of this machine alone. */
bool look_is_host_only(const struct look *l);

#endif
