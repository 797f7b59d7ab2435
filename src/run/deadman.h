/* SPDX-License-Identifier: MIT */
/*
 * Two kernel timers on the lease clock, moved forward by every renewal, so that
 * neither costs a wake-up while renewals flow.
 *
 * The alarm makes a descriptor readable: time to look at the lease. The deadman
 * is the kernel's own promise that this process does not outlive its lease: its
 * signal is SIGKILL to ourselves. It works on a stopped, swapped-out or starved
 * process; the guard then kills the command.
 */
#ifndef RUN_DEADMAN_H
#define RUN_DEADMAN_H

#include <time.h>

#include "base/clock.h"
#include "base/fail.h"

struct deadman {
	timer_t timer;
	int made;
	int alarm; /* poll it for POLLIN */
};

#define DEADMAN_NONE ((struct deadman){.made = 0, .alarm = -1})

/* Refuses to run without them (RLIMIT_SIGPENDING). */
int deadman_make(struct deadman *d, struct fail *why);

/* Any thread may call these; NEVER disarms. */
void deadman_set(struct deadman *d, struct instant dead);
void alarm_set(struct deadman *d, struct instant look);

#endif
