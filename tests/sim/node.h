/* SPDX-License-Identifier: MIT */
/*
 * A simulated node: what the scripts of src/lua do, without a server. That the
 * two agree is checked against a real one by tests/sim/differ.c.
 *
 * Twins are rules left out on purpose; a simulator that does not find each of
 * them proves nothing.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/core/lease.h"

#define LINE_MAX 16
#define WORDS_KEPT 64

enum twin {
	TWIN_NONE,
	TWIN_STAMP_AT_REPLY, /* validity counted from the reply */
	TWIN_NO_POLL,        /* a waiter listens, and asks no more */
	TWIN_RELEASE_ANY,    /* release without compare */
	TWIN_HEAL_ANY,       /* heal without the counter test */
	TWIN_RELEASE_STILL,  /* release leaves the counter as it is */
	TWIN_GRANT_FOREVER,  /* the lock is handed over without expiry */
	TWIN_CANCEL_KEEPS,   /* who leaves the line keeps a grant */
	TWIN_DEL_AFTER,      /* the release deletes what it handed over */
	TWIN_LOSS_UNTOLD,    /* a grant does not tell of a lost counter */
	TWIN_BACK_IS_LOST,   /* an older counter ends a hold */
	TWIN_OLD_GRANT,      /* a command starts on a grant that was renewed */
	/* and, where there are several nodes: */
	TWIN_NO_GUARD,    /* a node votes as soon as it is up */
	TWIN_SHORT_GUARD, /* ... or after T, though others have longer leases */
	TWIN_ROLLED_BACK, /* a counter that was set back goes on by 1 */
	TWIN_NUMBER,      /* a late release counts */
	TWIN_COUNT
};

#define SIGNS_KEPT 8
struct waiter {
	int64_t token, ticket, ttl, sign; /* last sign of life, us */
	int64_t came;                     /* what it says itself */
	bool marked;                      /* --supersede */
};

/* A word in a grant list. */
struct word {
	int64_t token; /* 0: none */
	int64_t expires_ms;
	enum word_kind { WORD_HANDED, WORD_SUPERSEDED, WORD_UNLOCKED } kind;
	int64_t order;
};

struct node {
	int64_t token; /* 0: no lock */
	int64_t expires_ms;
	int64_t counter; /* -1: missing */
	int64_t born;    /* what a lost one started again from */
	int64_t moved;   /* its value after the last grant or release */
	uint64_t writer; /* the server on which it is safe */
	bool distrusted; /* in this script it was not */
	/* the holder record; 0: none of the lock's */
	int64_t record, holder_ttl;
	int64_t numbered; /* who asked the question with this number */
	uint64_t number;
	int64_t given;  /* of the record: the counter as it was granted */
	int64_t lost;   /* what a missing counter was born as; 0: none was */
	int64_t newest; /* ticket of the newest marked waiter */
	/* of the record */
	int64_t holder_ticket, since_us;
	int64_t up_us;  /* server time at its last start */
	int64_t lag_us; /* so far its count of seconds up is behind */
	int64_t boots;  /* so often */
	int waiters;
	struct waiter line[LINE_MAX]; /* by ticket */
	/* signs of life that stayed when their waiters left */
	struct {
		int64_t token, us;
	} sign[SIGNS_KEPT];
	struct word words[WORDS_KEPT];
	bool asked; /* its record says: look for a word */
	int64_t said;
	bool full; /* memory: nothing more is stored */
	enum twin twin;
};

/* All data are gone. */
void node_flush(struct node *n);
/* It is another process, since `us`, and knows what it knew then. */
void node_restart(struct node *n, const struct node *then, int64_t us);

/* Runs a question at server time `us` (microseconds since 1970). Listening is
 * answered with QUIET where a real node would block. */
struct answer node_run(struct node *n, const struct ask *ask, int64_t token,
		       const struct lease_conf *conf, int64_t us);

/* The lock is there at `us`. */
bool node_locked(struct node *n, int64_t us);

/* Takes a word for this token, if there is one. */
bool node_heard(struct node *n, int64_t token, int64_t us);

/* Where a token stands, or -1. */
int node_place(const struct node *n, int64_t token);

#endif
