/* SPDX-License-Identifier: MIT */
/*
 * Signals as something to read: all that would end or stop a program, SIGCONT,
 * SIGWINCH and SIGURG, except those that a fault of our own raises. They are
 * blocked here from signals_open() on. A signal that redlock was started to
 * ignore stays ignored, here and in the command. One that was blocked stays
 * pending, as in any program, and goes to the command when there is one. Only
 * SIGCHLD is reset here (otherwise waitpid() cannot work), and restored for the
 * command.
 */
#ifndef PROC_SIGNALS_H
#define PROC_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/fail.h"

struct signals {
	int fd;            /* readable when a signal has come; open until we
			      exit */
	sigset_t before;   /* the mask we were started with */
	bool chld_ignored; /* SIGCHLD was SIG_IGN when we started */
};

struct arrival {
	unsigned char sig;
	bool from_terminal; /* the kernel sent it, to the whole group */
	bool from_timer;    /* a timer of ours sent it */
	bool by_kill;       /* kill(2) sent it, to us or to our group */
	int pid;            /* the process that sent it; or 0 */
};

int signals_open(struct signals *s, struct fail *why);

/* The command starts: read those as well that were blocked before. */
void signals_for_command(const struct signals *s);

/* A write that RLIMIT_FSIZE forbids fails with EFBIG, and does not end us. */
void signals_outlive_fsize(void);

/* Takes the next arrival; false: there is none. Never waits. Signals may arrive
 * without end: take SIGNALS_TURN, then do the rest of the work. The lowest
 * numbers come first, so those that end a program do not have to wait. */
#define SIGNALS_TURN 32
bool signals_next(const struct signals *s, struct arrival *out);

/* Whether it would end a program that does not catch it: not so for signals of
 * job control, SIGWINCH and SIGURG. */
bool signal_ends(int sig);

/* Whether it was blocked when we started, so that it has no effect on us. Not
 * so for SIGCONT, which continues a process that blocks it, too. */
bool signal_waits(const struct signals *s, int sig);

/* Whether it means "end", and so goes to the command and all its descendants.
 * Only the command knows what any other signal means. */
bool signal_is_for_all(int sig);

/* The number of "INT", "SIGINT", "int" or "2", as timeout(1) takes it; -1:
 * there is no such signal. */
int signal_number(const char *name);
/* "SIGINT"; "signal 40" of one without a name. Returns buf. */
#define SIGNAL_TEXT 16
const char *signal_text(int sig, char buf[SIGNAL_TEXT]);

/* Stops this process as Ctrl-Z does: if no shell with job control could
 * continue us, the kernel does not stop us. Returns when we continue. */
void signals_stop(void);

/* Between fork and exec: restores everything as redlock was started with it.
 * Async-signal-safe. */
void signals_restore(const struct signals *s);

/* Our core would contain the password. signals_restore() gives the command the
 * old limit back. */
void signals_leave_no_core(void);

/* Ends this process with `sig`, as a shell expects of a program that was
 * interrupted, without a core dump. Returns if sig is ignored. */
void signals_die(int sig);

#endif
