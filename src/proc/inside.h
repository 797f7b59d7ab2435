/* SPDX-License-Identifier: MIT */
/* The guard process, from the fork on, and what redlock tells it. For guard.c
 * alone. */
#ifndef PROC_INSIDE_H
#define PROC_INSIDE_H

#include "proc/deadman.h"
#include "proc/guard.h"

/* What comes through `orders`, until the go: what is asked for, or held. It
 * fits into one atomic write to a pipe. */
struct order_message {
	int64_t go; /* wide, so that no padding goes over the wire */
	struct instant start_by;
	struct grants given;
};

/* What is between the two, seen from the guard. The descriptors are open until
 * it exits; what it forks closes its copies, or they vanish at exec. */
struct wire {
	int orders; /* closed after the go */
	int life, report;
	int alarm; /* goes off at the deadline */
	pid_t tool;
	struct guard_shared *shared;
	struct waker *waker;   /* goes off from the deadline on */
	char *const *by_shell; /* argv to execute a script without #! */
};

/* Runs in the fork, with every signal blocked. Returns when the guard may exit.
 */
void guard_main(const struct order *o, const struct wire *w);

#endif
