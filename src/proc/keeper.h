/* SPDX-License-Identifier: MIT */
/*
 * A lock that is held without a command of ours: until a signal comes (--hold),
 * or as long as a process lives that is not ours (--keep-for).
 *
 * We know that process by a descriptor (pidfd), not by its number, which may
 * soon belong to another process. So we see its end however it comes, and no
 * signal reaches the wrong process. We cannot end it. If the lock is lost we
 * tell it with the signal of --on-lost, and do not release the lock while it
 * lives.
 *
 * Once the lock is taken, the keeper has none of its caller's files open: a
 * program that reads both our outputs to their end (subprocess.run, execFile,
 * ssh) would wait for as long as the keeper lives. It speaks to the standard
 * error of the process that it is for. A pipe or socket there is opened for
 * each line: its reader may wait for its end, too.
 *
 *   caller --- line ---> keeper     a byte: the answer was taken
 *   caller <-- line --- keeper      the answer; end of file: there is none
 */
#ifndef PROC_KEEPER_H
#define PROC_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"

/* ---- user.c ----
 *
 * Whether the user of a hold by hand is still there, judged by our standard
 * input and output. A terminal that goes away sends SIGHUP. A connection (ssh,
 * docker exec, a CI step) only leaves pipes or sockets with nobody at the other
 * end.
 */

struct user {
	int in;  /* to poll for a hang-up; -1: nothing tells whether the user
		    is there. So with /dev/null, a file, a terminal, or SIGHUP
		    ignored (nohup) */
	int out; /* refers to standard output, and keeps none of its readers
		    waiting for an end of file; -1: it says nothing */
	bool out_is_pipe;
};

/* Call it while standard output is the one we were started with. The
 * descriptors stay open until we exit. */
void user_open(struct user *u);

/* Whether the user has gone: standard input has hung up, and nobody can read
 * standard output. Never waits. */
bool user_gone(const struct user *u);

/* ---- keeper.c ---- */

struct keeper {
	pid_t pid;     /* the process to watch */
	int fd;        /* its pidfd; open until we exit */
	int sig;       /* --on-lost; 0: send nothing */
	int line;      /* to the other end, in each of the two processes; hangs
			  up when that end dies */
	char will[64]; /* "sending SIGTERM to process 12", for messages */
	char whom[24]; /* "process 12" */
};

/* The number of "TERM" or "SIGTERM"; 0 for "none"; -1: not a signal that
 * --on-lost takes. */
int keeper_signal_named(const char *name);

/* -1: there is no such process, or we may not signal it, or it is the first of
 * this PID namespace, whose end would end the keeper as well; k->fd may then be
 * open. */
int keeper_open(struct keeper *k, pid_t pid, int sig, struct fail *why);

/* Forks a process that goes on with the lock: in a session of its own, in "/",
 * and of the caller's descriptors it keeps only standard error, until
 * keeper_quiet(), and k->fd. Returns 0 there, and its pid to the caller; -1: it
 * could not be made, and no descriptor is left open. */
pid_t keeper_leave(struct keeper *k, struct fail *why);

/* The answer is on its way: lets go of standard error, and speaks to that of
 * the process. Call it in each of our processes. Does not allocate. */
void keeper_quiet(const struct keeper *k);

/* In the caller: waits for the answer of that process. Returns text for the
 * caller to free; NULL: there is none, and *status is the exit status that says
 * why (the process is then reaped). */
char *keeper_answer(const struct keeper *k, pid_t keeper, int *status);
/* Confirms that the answer was taken. */
void keeper_thank(const struct keeper *k);

/* In the keeper: hands the answer over and waits for the confirmation. False:
 * nobody took it. */
bool keeper_hand(const struct keeper *k, const char *answer);

/* Sends the signal of --on-lost, if there is one. */
void keeper_tell(const struct keeper *k);

/* Waits until the process is gone, or until `until`; returns whether it is. */
bool keeper_gone(const struct keeper *k, struct instant until);

/* Runs in place of a command: waits until the process is gone. If a signal
 * would end us, it passes that signal on to the process. Returns an exit
 * status. */
int keeper_wait(const struct keeper *k);
/* Runs in place of a command: waits until a signal ends us, or until the user
 * is gone, which is as if we had been hung up: returns 128 + SIGHUP. */
int keeper_hold(const struct user *u);

#endif
