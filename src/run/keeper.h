/* SPDX-License-Identifier: MIT */
/*
 * A lock that is held for nobody's command: until a signal comes (--hold), or
 * for a process that is not ours, for as long as it lives (--keep-for).
 *
 * That process is known by a descriptor, not by its number, which may be
 * another's the next moment: its end is seen however it comes, and no signal
 * reaches the wrong one. What it does we cannot end; we tell it that the lock
 * is lost, by --on-lost, and do not give the lock back while it lives.
 *
 *   caller --- line ---> keeper     a byte: the answer was taken
 *   caller <-- line --- keeper      the answer; end of file: there is none
 */
#ifndef RUN_KEEPER_H
#define RUN_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"

struct keeper {
	pid_t pid;     /* for whom */
	int fd;        /* the same, as a descriptor */
	int sig;       /* it is told by; 0: it is not told */
	int line;      /* hangs up when nobody waits for us any more */
	char will[64]; /* "sending SIGTERM to process 12": for messages */
	char whom[24]; /* "process 12" */
	bool shares;   /* standard error is a pipe that the caller's answer goes
			  to, too */
};

/* The number of "TERM" or "SIGTERM"; 0 for "none"; -1: it is none of those
 * that --on-lost takes. */
int keeper_signal_named(const char *name);

/* -1: there is no such process, or it is not ours to signal. */
int keeper_open(struct keeper *k, pid_t pid, int sig, struct fail *why);

/* Goes on in a process of its own: own session, in "/", without descriptors of
 * the caller's but standard error. Returns 0 there; to the caller its number;
 * -1: it could not be made. */
pid_t keeper_leave(struct keeper *k, struct fail *why);

/* The answer is on its way: what would keep whoever reads it waiting is let go
 * of, in each of our processes. Allocates nothing. */
void keeper_quiet(const struct keeper *k);

/* The caller waits for the answer of that process. NULL: there is none, and
 * *status is the exit status that says why. The caller's to free. */
char *keeper_answer(const struct keeper *k, pid_t keeper, int *status);
/* It was taken. */
void keeper_thank(const struct keeper *k);

/* The other end: false if nobody took it. */
bool keeper_hand(const struct keeper *k, const char *answer);

void keeper_tell(const struct keeper *k);

/* Whether the process is gone, or will be before `until`. */
bool keeper_gone(const struct keeper *k, struct instant until);

/* In place of a command: until the process is gone. A signal that would end us
 * is passed on to it as its own. Returns an exit status. */
int keeper_wait(const struct keeper *k);
/* Likewise, until a signal ends us. */
int keeper_hold(void);

#endif
