/* SPDX-License-Identifier: MIT */
/*
 * From "ask for the lock" to "the tree is dead and the lock given back": joins
 * the locks, the guard, the watchdog and the signals.
 */
#ifndef RUN_SUPERVISE_H
#define RUN_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "run/guard.h"
#include "run/keeper.h"
#include "run/locks.h"
#include "run/signals.h"

/* What the command leaves running when it ends by itself. */
enum orphans { ORPHANS_LEAVE, ORPHANS_WAIT, ORPHANS_KILL };

struct ending;

struct supervise_conf {
	int64_t grace_ms;      /* TERM to KILL on loss */
	int64_t kill_after_ms; /* likewise at the end of max_hold_ms */
	int64_t max_hold_ms;   /* 0: none */
	enum orphans orphans;
	bool run_anyway; /* no server: run without a lock */
	/* What runs is ours (order.instead): a person or a script has the lock,
	 * for whom nothing can be killed. */
	bool by_hand;
	const struct keeper *kept; /* as long as this process lives; or NULL */
	bool leave; /* status 0: the lease is left to whom it was given */
	/* What the history is to say of a hold that has ended; NULL: nothing */
	void (*story)(void *, const struct ending *, struct story *out);
	void *teller;
};

enum outcome {
	OUTCOME_RAN,         /* status: wait status of the command */
	OUTCOME_BUSY,        /* somebody held it for as long as we waited */
	OUTCOME_FULL,        /* too many waited already */
	OUTCOME_SUPERSEDED,  /* by a newer waiter: see the drive's sight */
	OUTCOME_ALREADY,     /* it was done: --once-per; by whom: likewise */
	OUTCOME_INSIDE,      /* our own parent reads what we would write */
	OUTCOME_UNAVAILABLE, /* why is filled, and names the node */
	OUTCOME_REFUSED,     /* likewise; why.kind decides */
	OUTCOME_GAVE_UP,     /* a signal ended the waiting */
	OUTCOME_LOST,        /* the lease ended before the command */
	OUTCOME_UNLOCKED,    /* what was held by hand was given back: unlock */
	OUTCOME_FORCED,      /* the command was ended: force-release */
	OUTCOME_MAX_HOLD,    /* likewise: --max-hold */
	OUTCOME_CANNOT_EXEC, /* status: errno */
	OUTCOME_FAILED       /* why is filled */
};

struct ending {
	enum outcome outcome;
	int status;
	bool ended;    /* the command has: `status` is its wait status */
	int sig;       /* the last signal sent to us; 0: none */
	sigset_t sigs; /* all that were sent */
	bool without_lock;
	bool taken; /* lost: somebody else may have it, as the servers say */
	struct grants given;
	int64_t waited_ms, held_ms;
	char by[300]; /* forced: who asked us to stop; else "" */
	struct fail why;
};

/* The leases are initialised and not yet asked for. Says on stderr what a
 * person waiting must know; the ending is the caller's to report. */
void supervise(struct locks *l, const struct supervise_conf *conf,
	       struct order *order, const struct signals *signals,
	       struct ending *end);

#endif
