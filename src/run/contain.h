/* SPDX-License-Identifier: MIT */
/*
 * --contain: the command as the child of an init of ours, in a PID namespace of
 * its own. When its init dies, the kernel kills all that is in a namespace,
 * and no fork gets away; and the init dies with the guard, whatever kills that.
 *
 *   guard <-- line -- init    how the command fares
 *
 * Who may not make such a namespace makes a user namespace around it, in which
 * user and group are what they are outside. The mounts are a copy, because
 * /proc is to show the new namespace; where the kernel allows no new /proc
 * (parts of the old one are hidden, as in most containers) the old one stays.
 *
 * The init reaps. Signals from outside of the namespace go through it to the
 * command; those from within are lost on it, as they are on the guard.
 */
#ifndef RUN_CONTAIN_H
#define RUN_CONTAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"

struct contained {
	pid_t init;    /* a child of ours */
	pid_t command; /* as it is seen from here */
	int line;      /* becomes readable: contain_hear() */
};

/* Tries it. *old_proc: /proc will show the processes of this machine. */
int contain_check(bool *old_proc, struct fail *why);

struct birth {
	/* turns a process, whose parent is `parent`, into the command, or
	 * returns with errno */
	void (*become)(const void *what, pid_t parent);
	const void *what;
	pid_t tool;    /* redlock: for the title */
	int shut[3];   /* descriptors that the init must not keep */
	int error;     /* out */
	bool no_start; /* out: and it was not the command's fault */
};

/* All signals must be blocked. -1: see b->error. */
int contain_start(struct contained *c, struct birth *b);

/* What became of the command, as waitpid() says it: it stopped, goes on, or
 * ended, and *left processes behind. False: nothing yet, or never again. */
bool contain_hear(const struct contained *c, int *status, bool *left);

#endif
