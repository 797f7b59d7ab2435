/* SPDX-License-Identifier: MIT */
/*
 * While the command runs: signals go through, the lease is kept or the command
 * ended, and its end is taken from the guard.
 */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "run/deadman.h"
#include "run/guard.h"
#include "run/locks.h"
#include "run/signals.h"
#include "run/supervise.h"
#include "run/terminal.h"
#include "run/watchdog.h"

struct watch {
	struct locks *locks;
	const struct supervise_conf *conf;
	const struct signals *signals;
	struct ending *end;
	struct guard *guard;
	struct deadman *deadman;
	struct watchdog *dog;
	struct instant hand_over;      /* to the watchdog thread */
	struct instant interrupted[2]; /* the last two Ctrl-C, latest first */
	struct terminal terminal;
	struct instant limit;   /* the next step of --max-hold */
	struct instant stop_by; /* dead by then, as somebody asks */
	struct instant undead;  /* when to say that the tree does not die */
	struct instant stopped; /* when to see whether the command still is */
	int unborn;        /* a signal for a command that is not born yet */
	bool asked_to_end; /* by us: TERM was sent */
	bool killed;       /* the guard was told to */
	bool ended;        /* the command was; its status is known */
	bool refused;      /* it was said that a signal is not permitted */
	bool abandoned;    /* lost, and what lives on is not ours to kill */
	bool done;
};

/* The watchdog is initialised and published. Until the command, and whatever
 * of its processes the lock is to cover, has ended. */
void watch_run(struct watch *w);

#endif
