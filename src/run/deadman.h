/* SPDX-License-Identifier: MIT */
/*
 * Kernel timers on the lease clock, moved forward by every renewal, so that
 * none of them costs a wake-up while renewals flow.
 *
 * The alarm makes a descriptor readable: time to look at the lease. The waker
 * sends SIGCONT to this process when the command is to be killed: if somebody
 * stopped us, we go on, and kill. The deadman is the kernel's own promise that
 * this process does not outlive its lease: its signal is SIGKILL to ourselves.
 * It works on a stopped, swapped-out or starved process; the guard then kills
 * the command. It does not work on a process that hangs in the kernel, as in a
 * write to a disk that does not answer: so the guard knows the deadline as well
 * (`shared`), and keeps it by itself.
 */
#ifndef RUN_DEADMAN_H
#define RUN_DEADMAN_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/fail.h"

struct deadman {
	timer_t timer, waker;
	int made;
	int alarm;               /* poll it for POLLIN */
	_Atomic int64_t *shared; /* the deadline, as the guard sees it */
};

#define DEADMAN_NONE ((struct deadman){.made = 0, .alarm = -1})

/* Refuses to run without them (RLIMIT_SIGPENDING). `shared` stays the
 * caller's. */
int deadman_make(struct deadman *d, _Atomic int64_t *shared, struct fail *why);

/* Any thread may call these; NEVER disarms. `wake` is when the command is to be
 * killed, a little before `dead`. */
void deadman_set(struct deadman *d, struct instant wake, struct instant dead);

/* A timer that makes a descriptor readable; -1: errno. */
int alarm_make(void);
void alarm_set(int alarm, struct instant look);

#endif
