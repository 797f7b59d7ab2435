/* SPDX-License-Identifier: MIT */
/*
 * Signals as bytes in a pipe: all that would end or stop a program, SIGCONT and
 * SIGWINCH, but for those of a fault of our own. What redlock was told to
 * ignore stays ignored, here and in the command; SIGCHLD alone is reset here
 * (or waitpid() cannot work) and given back to the command.
 */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/fail.h"

struct signals {
	int fd;            /* readable when a signal has come */
	sigset_t before;   /* the mask we were started with */
	bool chld_ignored; /* SIGCHLD was SIG_IGN when we started */
	bool cont_ignored; /* SIGCONT likewise */
	sigset_t ignored;  /* of those that we would catch */
};

struct arrival {
	unsigned char sig;
	bool from_terminal; /* the kernel sent it, to the whole group */
	bool from_timer;    /* a timer of ours did */
	int pid;            /* a process: that one; or 0 */
};

int signals_open(struct signals *s, struct fail *why);

/* The next arrival; false: none. Never waits. */
bool signals_next(const struct signals *s, struct arrival *out);

/* It would end a program, unless it is caught: not one of job control, nor of
 * the window's size. */
bool signal_ends(int sig);

/* It says "end", and so is meant for the command and all that it has started;
 * what any other signal means, the command alone knows. */
bool signal_is_for_all(int sig);

/* Stops this process as a terminal's Ctrl-Z does: if there is no shell with job
 * control that could make us go on, the kernel does not stop us. Returns when
 * we go on. */
void signals_stop(void);

/* Between fork and exec: everything as redlock itself was started with.
 * Async-signal-safe. */
void signals_restore(const struct signals *s);

/* Ends this process by `sig`, as a shell expects of a program that was
 * interrupted; no core is dumped in our name. Returns if sig is ignored. */
void signals_die(int sig);

#endif
