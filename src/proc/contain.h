/* SPDX-License-Identifier: MIT */
/*
 * --contain: runs the command as the child of an init of ours, in a PID
 * namespace. When a namespace's init dies, the kernel kills all processes in
 * it, and no fork escapes. The init itself dies with the guard, however the
 * guard dies.
 *
 *   guard <-- line -- init    what happens to the command
 *
 * A user who may not make a PID namespace gets a user namespace around it, in
 * which user and group are the same as outside. The mounts are a copy, because
 * /proc must show the new namespace. Where the kernel allows no new /proc
 * (parts of the old one are hidden, as in most containers) the old one stays.
 *
 * The init reaps. It passes signals from outside the namespace on to the
 * command, or to all if contain_signal() sent them; signals from inside have no
 * effect on it, nor on the guard.
 */
#ifndef PROC_CONTAIN_H
#define PROC_CONTAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"

struct contained {
	pid_t init;    /* our child, which the caller reaps */
	pid_t command; /* its pid in our namespace */
	int line;      /* readable: call contain_hear(). Open until the guard
			  exits */
};

/* Tries it out. Returns 0 or -1. *old_proc: /proc will still show the processes
 * of this machine. */
int contain_check(bool *old_proc, struct fail *why);

struct birth {
	/* Turns its process, whose parent is `parent`, into the command.
	 * Returns only on failure, with errno set. */
	void (*become)(const void *what, pid_t parent);
	const void *what;
	/* Waits, outside, until `line` is readable. False: give up. */
	bool (*await)(const void *with, int line);
	const void *with;
	pid_t tool;    /* redlock's pid, for the title */
	int shut[3];   /* descriptors that the init closes; the guard's own stay
			  open */
	int error;     /* out: errno, or 0 */
	bool no_start; /* out: it failed before the command was involved */
};

/* All signals must be blocked. Returns 0, or -1 with b->error set; then the
 * line is closed and the init is reaped. If await() gave up, it returns 0, and
 * the init has been killed. */
int contain_start(struct contained *c, struct birth *b);

/* Has the init send the signal to every process in its namespace, by one call.
 * May be called by any process that may signal the init. */
void contain_signal(pid_t init, int sig);

/* Returns a change of the command's state as waitpid() would: it stopped,
 * continued or ended; *left: it left processes behind. False: there is nothing
 * now, or the init is gone. Never waits. */
bool contain_hear(const struct contained *c, int *status, bool *left);

#endif
