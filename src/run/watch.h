/* SPDX-License-Identifier: MIT */
/*
 * While the command runs: keeps the lease or ends the
 * command, and takes the command's end from the guard.
 */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "proc/deadman.h"
#include "proc/guard.h"
#include "run/hold.h"
#include "client/locks.h"
#include "run/relay.h"
#include "proc/terminal.h"
#include "run/watchdog.h"

struct watch {
	struct locks *locks;
	const struct hold_conf *conf;
	struct ending *end;
	struct guard *guard;
	struct deadman *deadman;
	struct watchdog *dog;
	struct instant hand_over; /* when the watchdog thread takes over */
	struct terminal terminal;
	struct relay relay;
	struct instant limit;   /* the next step of --max-hold */
	struct instant stop_by; /* force-release: dead by then */
	struct instant undead;  /* when to say that the tree does not die */
	struct instant parted; /* the command was asked to end, and ended: until
				  then we wait for the rest of the tree, which
				  was asked as well */
	struct instant mute;   /* when to see whether the guard kills */
	int beat;              /* its count when we last looked */
	bool asked_to_end;     /* we sent TERM */
	bool killed;           /* we told the guard to kill */
	bool ended;            /* the command ended; its status is known */
	bool abandoned; /* lost, and what still runs is not ours to kill */
	bool done;
};

/* The watchdog must be initialised and published. Returns when the command, and
 * all of its processes that the lock is to cover, have ended. */
void watch_run(struct watch *w);

#endif
