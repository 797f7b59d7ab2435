/* SPDX-License-Identifier: MIT */
/*
 * Kernel timers on the lease clock. Every renewal moves them forward, so none
 * of them causes a wake-up while renewals succeed.
 *
 * The alarm makes a descriptor readable: time to look at the lease. The waker
 * sends SIGCONT to this process when the command is to be killed: if somebody
 * stopped us, we continue, and kill. The deadman makes the kernel guarantee
 * that this process does not outlive its lease: it sends us SIGKILL. That also
 * works on a stopped, swapped-out or starved process; the guard then kills the
 * command. It does not work on a process that hangs in the kernel, for example
 * in a write to a disk that does not answer. So the guard also knows the
 * deadline (`shared`) and enforces it itself. It looks there when an alarm of
 * its own goes off; a deadline that comes nearer moves that alarm.
 */
#ifndef PROC_DEADMAN_H
#define PROC_DEADMAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/fail.h"

struct deadman {
	timer_t timer, waker;
	int made;                /* number of timers made */
	int alarm;               /* poll it for POLLIN; stays open until we
				    exit */
	_Atomic int64_t *shared; /* the deadline as the guard sees it */
	int guards;              /* its alarm */
	_Atomic int64_t wake_ms, bound_ms; /* the sooner one sets the waker */
	_Atomic bool rests;
};

#define DEADMAN_NONE ((struct deadman){.made = 0, .alarm = -1})

/* Returns -1 if a timer cannot be made (RLIMIT_SIGPENDING): redlock does not
 * run without them. `shared` and the guard's alarm are borrowed. */
int deadman_make(struct deadman *d, _Atomic int64_t *shared, int guards,
		 struct fail *why);

/* Any thread may call this. `wake`: when the command is to be killed, a little
 * before `dead`. NEVER disarms. */
void deadman_set(struct deadman *d, struct instant wake, struct instant dead);

/* Has the waker continue us at `bound` as well: there are others than the
 * lease. NEVER: there is none. Any thread may call this. */
void deadman_bound(struct deadman *d, struct instant bound);

/* Once the guard is told to kill, our own death serves no purpose, and we want
 * to live to say what happened. If the guard is dead, only we can kill. `rest`
 * spares us, not the tree. */
void deadman_rest(struct deadman *d, bool rest);

/* Makes a timer that makes a descriptor readable. Returns the descriptor, which
 * the caller closes, or -1 with errno set. */
int alarm_make(void);
/* `look`: when it becomes readable; NEVER disarms. alarm -1: does nothing. */
void alarm_set(int alarm, struct instant look);

#endif
