/* SPDX-License-Identifier: MIT */
/*
 * Questions to many servers at once, for those who look and do not hold: each
 * server is asked over one connection, in the order of the questions, and what
 * it says is taken as it comes. Who is silent for the time-out has failed, and
 * so have all questions that are still to be asked of it.
 *
 * A server of the list is one target. A Cluster is one as well, whose questions
 * follow their key (MOVED, ASK); survey_spread() makes a target of each of its
 * primaries.
 */
#ifndef RUN_SURVEY_H
#define RUN_SURVEY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/reply.h"
#include "base/words.h"
#include "lock/script.h"
#include "net/endpoint.h"

struct target; /* a server, and its connection */
struct got;    /* an answer, below */

struct survey {
	const struct endpoint *ep; /* borrowed */
	int nodes;                 /* of the list */
	int64_t timeout_ms;
	struct target **target;
	int targets;
	void *primaries;        /* tsearch(3): those of Clusters */
	struct question *taken; /* the last answer's */
};

/* Nothing is asked yet; the targets are the servers of the list, in its order.
 * Close it in the end, whatever failed. */
int survey_open(struct survey *s, const struct endpoint *eps, int n,
		int64_t timeout_ms, struct fail *why);
void survey_close(struct survey *s);

/* Adds the primaries of each Cluster as targets: asks for them, and waits.
 * A target's survey_covers() then says whether it is one whose keys are to be
 * listed: a primary, or a server that is no Cluster. Call it when nothing is
 * asked. -1: a Cluster does not say. */
int survey_spread(struct survey *s, struct fail *why);
bool survey_covers(const struct survey *s, int target);

/* The same for one server of the list, without the waiting: asks, and takes the
 * answer. A primary that is none any more covers nothing from then on. ask: -1:
 * no memory. take: -1: *why says what is wrong with the answer, and it covers
 * nothing. */
bool survey_spreads(const struct survey *s, int node);
int survey_spread_ask(struct survey *s, int node, int64_t tag);
int survey_spread_take(struct survey *s, const struct got *got,
		       struct fail *why);

/* The target that has this slot's keys, as far as is known; of what is no
 * Cluster, or where nothing is known, the server itself. A primary sends nobody
 * elsewhere: its MOVED is the answer, and the server of the list is to be asked
 * then. */
int survey_home(const struct survey *s, int node, uint16_t slot);

/* The server of the list to which it belongs, and its name for messages. */
int survey_node(const struct survey *s, int target);
const char *survey_name(const struct survey *s, int target);

/* For how many seconds the certificate of one with TLS holds. false: there is
 * none, or no connection now. */
bool survey_expiry(const struct survey *s, int target, int64_t *left_s);

/* Asks. `tag` comes back with the answer. -1: no memory. */
int survey_ask(struct survey *s, int target, const struct words *question,
	       int64_t tag);
/* Likewise a script: the request has EVAL and its text in front. It goes by its
 * hash, and whole to a server that does not know it. */
int survey_call(struct survey *s, int target, const struct words *request,
		const char *sha, int64_t tag);

struct got {
	int target, node;
	int64_t tag;
	const struct reply *reply; /* NULL: there was none, see why; until the
				      next survey_next() */
	struct fail why;           /* also of an error reply; else FAIL_NONE */
	bool overlong;             /* there was one that is too long to read */
	struct instant sent, came; /* of the answer */
};

/* The next answer, or failure, that is here. */
bool survey_next(struct survey *s, struct got *out);
/* Waits for it. false: nothing is awaited. */
bool survey_get(struct survey *s, struct got *out);

/* For those who wait for more than answers: one poll(2), until survey_next()
 * may have something, an extra descriptor is ready (see its revents; at most
 * 4), or `limit`. */
void survey_poll(struct survey *s, struct pollfd *extra, int n_extra,
		 struct instant limit);
bool survey_awaits(const struct survey *s);

#endif
