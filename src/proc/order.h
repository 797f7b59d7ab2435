/* SPDX-License-Identifier: MIT */
/* What the guard is to run, under which locks. */
#ifndef PROC_ORDER_H
#define PROC_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/grants.h"
#include "proc/signals.h"

/* Entries of the environment that name a process, and the room of each. */
#define OWN_PIDS 3
#define OWN_PID_SIZE 32

/*
 * What to run, and how. All pointers are borrowed until guard_close(): the
 * guard is a fork and sees them as they were at guard_start().
 *
 *   redlock                      guard                     command
 *
 *   guard_start() --- fork ---->
 *   guard_note()  -------------> noted()
 *        (for each attempt)
 *   guard_go()    -------------> noted()
 *                                given()
 *                                (start_by has passed: nothing runs)
 *                                     ------- vfork ------> argv, envp
 *                                or   ------- fork -------> instead()
 *   dies          -------------> kills the tree
 *                                release()
 *
 * If redlock dies before the go, release() follows at once. If redlock ends
 * in order, release() is not called.
 */
struct order {
	char *const *argv; /* of the command; ends with NULL */
	char **envp;       /* its environment */
	/* "NAME=": entries of envp to which the command's pid is added; NULL
	 * behind the last */
	char *own_pid[OWN_PIDS + 1];
	bool contain; /* see contain.h */
	/* In the command's process, in place of argv: a copy of the guard
	 * without life, report and alarm. It ends with the status returned.
	 * NULL: execute argv. */
	int (*instead)(void *arg);
	/* What the command gets back before it starts: signals_restore(). */
	const struct signals *signals;
	/* Descriptors of redlock that the guard closes when it starts: the
	 * sockets, and that of signals. Redlock's own stay open and
	 * redlock's to close. All other descriptors must be close-on-exec
	 * unless the command is to have them. */
	const int *shut;
	int n_shut;
	const char *if_killed; /* for the message when redlock was killed: what
				became of the command */
	/* In the guard, before the command starts. Neither may allocate. The
	 * guard and the command see what they change, redlock does not.
	 * noted(): the tokens under which locks are asked for, so that
	 * release() can release them. given(): completes envp with what was
	 * granted. */
	void (*noted)(void *, const struct grants *);
	void (*given)(void *, const struct grants *);
	/* In the guard, after redlock died and the tree is dead: releases the
	 * locks. May allocate and wait. `ran`: the go had come, so a command
	 * may have run. */
	void (*release)(void *, bool ran);
	void *arg; /* the first argument of all four */
};

#endif
