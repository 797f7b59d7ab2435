/* SPDX-License-Identifier: MIT */
/*
 * Questions to many servers at once, for the verbs that look and do not hold.
 * Each server has one connection and is asked in the order of the questions;
 * answers are taken as they come. A server that is silent for the time-out has
 * failed, and so have all questions still to be asked of it.
 *
 * Each server of the list is a target. So is a Cluster; its questions follow
 * their keys (MOVED, ASK). primaries_find() makes each of its primaries a
 * target.
 */
#ifndef CLIENT_FANOUT_H
#define CLIENT_FANOUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/reply.h"
#include "base/words.h"
#include "net/endpoint.h"
#include "net/errors.h"

struct target; /* a server, and its connection */
struct got;    /* an answer, below */

struct fanout {
	const struct endpoint *ep; /* borrowed */
	int nodes;                 /* number of servers in the list */
	int64_t timeout_ms;
	/* of all questions: see fanout_limit(); NEVER: none */
	struct instant until;
	int64_t limit_ms;
	struct target **target; /* owned */
	int targets;
	void *primaries;        /* tsearch(3): the Clusters' primaries */
	struct question *taken; /* of the last answer */
};

/* Asks nothing yet. The targets are the servers of the list, in its order.
 * `eps` is borrowed. Call fanout_close() in the end, even after -1. */
int fanout_open(struct fanout *s, const struct endpoint *eps, int n,
		int64_t timeout_ms, struct fail *why);
void fanout_close(struct fanout *s);

/* One deadline for all questions from now on, `ms` from now; INT64_MAX: none.
 * A server that fails is not tried again; those that had failed before are. */
void fanout_limit(struct fanout *s, int64_t ms);

/* Whether it has failed, and is not tried again. */
bool fanout_is_down(const struct fanout *s, int target);

/* Adds a target that belongs to this server of the list. NULL: out of memory.
 */
struct target *fanout_add(struct fanout *s, int node);

/* The server of the list to which a target belongs, and its name for
 * messages. */
int fanout_node(const struct fanout *s, int target);
const char *fanout_name(const struct fanout *s, int target);

/* Closes its connection, for that reason: what is asked next goes to where its
 * address leads by then. Nothing may be open there. */
void fanout_leave(struct fanout *s, int target, const char *why);

/* Whether its server has refused our password since it was last asked. */
bool fanout_refused(const struct fanout *s, int target);

/* For how many more seconds the server's TLS certificate is valid. false: it
 * has none, or is not connected. */
bool fanout_expiry(const struct fanout *s, int target, int64_t *left_s);

/* Asks. `tag` comes back with the answer. -1: out of memory. */
int fanout_ask(struct fanout *s, int target, const struct words *question,
	       int64_t tag);
/* Runs a script. The request begins with EVAL and the text; it is sent with the
 * hash, and whole to a server that does not know the hash. */
int fanout_call(struct fanout *s, int target, const struct words *request,
		const char *sha, int64_t tag);

struct got {
	int target, node;
	int64_t tag;
	const struct words *asked; /* the question; valid as the reply is */
	const struct reply *reply; /* NULL: none, see why. Valid until the next
				      fanout_next() */
	struct fail why;           /* set for an error reply, too; else
				      FAIL_NONE */
	struct error_told told;    /* the parts of `why` if the server said it;
				      else neither meaning nor cure */
	bool overlong;             /* there was a reply, too long to read */
	bool ran;     /* an earlier attempt, or this failure, may have run it */
	bool hung_up; /* the connection was closed at this question; others may
			 be answered */
	struct instant sent, came; /* of the question, of the answer */
};

/* Takes the next answer or failure. false: none is here. */
bool fanout_next(struct fanout *s, struct got *out);
/* The same, but waits. false: no answer is outstanding. */
bool fanout_get(struct fanout *s, struct got *out);

/* For callers that wait for more than answers: one poll(2), which ends when
 * fanout_next() may have something, an extra descriptor is ready (at most 4;
 * see its revents), or at `limit`. */
void fanout_poll(struct fanout *s, struct pollfd *extra, int n_extra,
		 struct instant limit);

/* ---- primaries.c ----
 *
 * The primaries of a Cluster as targets, for verbs that ask about all keys, or
 * about many. */

/* Asks each Cluster for its primaries, waits, and adds them as targets. After
 * that, primaries_cover() says whether a target's keys are to be listed: it is
 * a primary, or a server outside any Cluster. Call it while nothing is being
 * asked. -1: a Cluster did not tell. */
int primaries_find(struct fanout *s, struct fail *why);
bool primaries_cover(const struct fanout *s, int target);

/* The same for one server of the list, without waiting: one call asks, one
 * takes the answer. A server that is no longer a primary covers nothing from
 * then on. primaries_ask(): -1: out of memory. primaries_take(): -1:
 * *why says what is wrong with the answer, and the server covers nothing. */
bool primaries_wanted(const struct fanout *s, int node);
int primaries_ask(struct fanout *s, int node, int64_t tag);
int primaries_take(struct fanout *s, const struct got *got, struct fail *why);

/* The target that has this slot's keys, as far as known; else, and outside a
 * Cluster, the server of the list itself. A primary does not follow a MOVED:
 * the caller gets it as the answer, and must ask the server of the list. */
int primaries_home(const struct fanout *s, int node, uint16_t slot);

#endif
