/* SPDX-License-Identifier: MIT */
/*
 * Kernel timers on the lease clock. Every renewal moves them forward, so none
 * of them causes a wake-up while renewals succeed.
 *
 * The alarm makes a descriptor readable: time to look at the lease. The waker
 * sends SIGCONT to this process when the command is to be killed, and again and
 * again from then on: if somebody stopped us, we continue, and kill. The
 * deadman makes the kernel guarantee
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

/* Continues this process. A SIGSTOP takes away a SIGCONT that was not delivered
 * yet, and the kernel sets a timer again only when its signal is delivered: one
 * timer would not survive a process that is stopped again and again. So there
 * can be more of them, which go off later and later. */
#define WAKERS 8
struct waker {
	timer_t timer[WAKERS];
	int made;
};

/* Makes them up to this number. Returns -1 with errno set if there is none. */
int waker_make(struct waker *w, int number);
/* From when on they wake; NEVER disarms. SIGCONT must be caught, or blocked and
 * taken: since Linux 6.13 a timer whose signal is ignored goes off only once.
 */
void waker_set(struct waker *w, struct instant from);

struct deadman {
	timer_t timer;
	struct waker waker;
	bool made;
	int alarm;               /* poll it for POLLIN; stays open until we
				    exit */
	_Atomic int64_t *shared; /* the deadline as the guard sees it */
	int guards;              /* its alarm */
	int64_t after_ms;        /* our own death comes so much later */
	_Atomic int64_t wake_ms, bound_ms; /* the sooner one sets the waker */
	_Atomic bool rests;
};

#define DEADMAN_NONE ((struct deadman){.made = false, .alarm = -1})

/* Why a timer that signals could not be made, from errno. */
int deadman_fail(struct fail *why);

/* Returns -1 if a timer cannot be made (RLIMIT_SIGPENDING): redlock does not
 * run without them. `shared` and the guard's alarm are borrowed. The kernel
 * kills us `after_ms` behind the deadline: by then the guard has killed, and if
 * we were only late, we live to say what happened. */
int deadman_make(struct deadman *d, _Atomic int64_t *shared, int guards,
		 int64_t after_ms, struct fail *why);

/* Any thread may call this. `wake`: when the command is to be killed, a little
 * before `dead`. NEVER disarms. */
void deadman_set(struct deadman *d, struct instant wake, struct instant dead);

/* From now on the waker need not continue us before this. */
void deadman_woken(struct deadman *d, struct instant wake);

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
