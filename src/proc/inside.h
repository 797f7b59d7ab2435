/* SPDX-License-Identifier: MIT */
/* The guard process, from the fork on, and what redlock tells it. For guard.c
 * alone. */
#ifndef PROC_INSIDE_H
#define PROC_INSIDE_H

#include "proc/guard.h"

/* What redlock tells the guard. When redlock dies, which is not the same as
 * "kill", nobody but the guard can release the lock. Once the command has been
 * started, the kernel kills it at any message: only the last two may come. */
enum { MESSAGE_NOTE, MESSAGE_GO, MESSAGE_KILL, MESSAGE_DONE };
struct message {
	int64_t what; /* wide, so that no padding goes over the wire */
	struct instant start_by;
};
/* A note, and the go, are followed by what is held or asked for. It all fits
 * into one atomic write to a pipe. */
struct long_message {
	struct message m;
	struct grants given;
};

/* What is between the two, seen from the guard. The descriptors are open until
 * it exits; what it forks closes its copies, or they vanish at exec. */
struct wire {
	int life, report;
	int alarm; /* goes off at the deadline */
	pid_t tool;
	struct guard_shared *shared;
};

/* Runs in the fork, with every signal blocked. Returns when the guard may exit.
 */
void guard_main(const struct order *o, const struct wire *w);

#endif
