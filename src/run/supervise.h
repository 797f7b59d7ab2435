/* SPDX-License-Identifier: MIT */
/*
 * From "ask for the lock" to "the tree is dead and the lock is released": joins
 * the locks, the guard, the watchdog and the signals.
 */
#ifndef RUN_SUPERVISE_H
#define RUN_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "client/locks.h"
#include "proc/guard.h"
#include "proc/keeper.h"
#include "proc/signals.h"

/* What to do with processes that the command leaves when it ends by itself. */
enum orphans { ORPHANS_LEAVE, ORPHANS_WAIT, ORPHANS_KILL };

struct ending;
struct history_entry;

struct hold_conf {
	int signal;            /* what asks the command to end: "TERM" here */
	int64_t grace_ms;      /* TERM to KILL, after a loss */
	int64_t kill_after_ms; /* TERM to KILL, at the end of max_hold_ms */
	int64_t max_hold_ms;   /* 0: no limit */
	enum orphans orphans;
	bool run_anyway; /* no server: run without a lock */
	/* What runs is ours (order.instead): a person or a script has the lock,
	 * and there is no command to kill. */
	bool by_hand;
	const struct keeper *kept; /* hold as long as this process lives; or
				      NULL. Borrowed */
	bool leave; /* status 0: leave the lease to whom it was given */
	/* Fills in what is told of a hold that has ended. Called in redlock,
	 * with `teller`. */
	void (*entry)(void *, const struct ending *, struct history_entry *out);
	void *teller;
};

enum outcome {
	OUTCOME_RAN,         /* status: wait status of the command */
	OUTCOME_BUSY,        /* still held by others when our wait ended */
	OUTCOME_FULL,        /* max_waiters were waiting already */
	OUTCOME_SUPERSEDED,  /* by a newer waiter: see the client's sight */
	OUTCOME_ALREADY,     /* done before, --once-per: see the sight */
	OUTCOME_OLDER,       /* a newer --revision was: see the sight */
	OUTCOME_INSIDE,      /* the outer hold reads what we would write */
	OUTCOME_OWN,         /* held by ourselves, or by a run around us */
	OUTCOME_UNAVAILABLE, /* `why` is set and names the node */
	OUTCOME_REFUSED,     /* the same; why.kind decides */
	OUTCOME_GAVE_UP,     /* a signal ended the wait */
	OUTCOME_LOST,        /* the lease ended before the command did */
	OUTCOME_UNLOCKED,    /* held by hand, and given back by `unlock` */
	OUTCOME_FORCED,      /* the command was ended by force-release */
	OUTCOME_MAX_HOLD,    /* the command was ended by --max-hold */
	OUTCOME_CANNOT_EXEC, /* status: errno */
	OUTCOME_FAILED       /* `why` is set */
};

struct ending {
	enum outcome outcome;
	int status;
	bool ended;    /* the command ended: `status` is its wait status */
	int sig;       /* the last signal we got; 0: none */
	sigset_t sigs; /* all signals we got */
	bool without_lock;
	bool taken; /* lost: the servers say that others may hold it */
	struct grants given;
	int64_t waited_ms, held_ms;
	char by[300]; /* forced: who asked us to stop; else "" */
	struct fail why;
};

/* The leases must be initialised and not yet asked for. Fills in the order's
 * `shut`. Tells a waiting person on stderr what there is to know; the caller
 * reports the ending. */
void supervise(struct locks *l, const struct hold_conf *conf,
	       struct order *order, const struct signals *signals,
	       struct ending *end);

#endif
