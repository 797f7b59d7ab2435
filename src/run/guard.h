/* SPDX-License-Identifier: MIT */
/*
 * The guard: a process of ours between redlock and the command. It holds the
 * command's start until the go, passes its end on, and when redlock dies, or
 * lets go of it, kills the command and every descendant until none is left.
 *
 *   redlock --- life ---> guard     "go", "kill", "done"; end of file: it died
 *   redlock <-- report -- guard     how the command ended, and what is left
 *
 * It is the command's parent and, like redlock, a child subreaper; it blocks
 * every signal and lives in a session of its own, so that kill -9 of a job's
 * group leaves it (the command is in redlock's group), and so that to the
 * kernel the command's group has the parents that it would have without
 * redlock: a guard in the same session, but another group, would look like a
 * shell that can continue a stopped job. One that is stopped is woken: with
 * every renewal, by redlock's death, and by a timer of its own while it kills.
 * Without the guard, a killed redlock would leave the command's own children
 * running.
 *
 * It knows the deadline, too, in memory that redlock shares with it: a redlock
 * that hangs in the kernel can neither say "kill" nor die.
 */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/ident.h"
#include "run/locks.h"
#include "run/signals.h"

/* In memory that both see, and that is there as long as they are. */
struct guard_shared {
	/* the tree is dead by then, on the lease clock, in ms: for the deadman
	 * to set */
	_Atomic int64_t deadline_ms;
	_Atomic int command; /* its pid; 0: not born yet; -1: it has ended */
	_Atomic int init; /* of --contain: what is below it is the tree; or 0 */
	/* a GUARD_STOPPED is on its way: for redlock to clear, or one that is
	 * stopped would be written to until the pipe is full */
	_Atomic int stop_told;
	/* redlock is stopping because the command has stopped: the guard makes
	 * it go on when the command does */
	_Atomic int stops_too;
};

struct guard {
	pid_t pid;  /* 0: none */
	int life;   /* ours to write and to close */
	int report; /* ours to read */
	struct guard_shared *shared;
};

#define GUARD_NONE ((struct guard){.life = -1, .report = -1})

/* What was granted, lock by lock, in the order of the drives. */
struct grants {
	int n; /* 0: it runs without a lock */
	struct granted {
		char token[TOKEN_SIZE];
		bool joined; /* the hold is that of the outer one */
		int slot;
		int64_t group, fence;
	} lock[LOCKS_MAX];
};

#define LISTEN_PID_SIZE 24

struct order {
	char *const *argv; /* of the command */
	char **envp;       /* its environment */
	char *listen_pid;  /* one of these, which is to name the command's pid;
			      room for LISTEN_PID_SIZE bytes; or NULL */
	bool contain;      /* see contain.h */
	/* Run in place of argv, in the command's process, which ends with the
	 * status that it returns. */
	int (*instead)(void *estate);
	const struct signals *signals;
	const int *shut; /* descriptors the guard must not keep */
	int n_shut;
	const char *epitaph; /* likewise, should redlock be killed: what becomes
				of the command */
	/* Run by the guard, and must not allocate: to know the tokens by which
	 * to give back; before the command starts, to complete envp. */
	void (*noted)(void *, const struct grants *);
	void (*given)(void *, const struct grants *);
	/* When redlock died and the tree is dead, if there ever was one. */
	void (*last_will)(void *, bool ran);
	void *estate;
};

enum guard_news {
	GUARD_ENDED,       /* value: wait status of the command; `left` may be
			      followed by a report that they are gone */
	GUARD_CANNOT_EXEC, /* value: errno */
	GUARD_CANNOT_FORK, /* likewise */
	GUARD_REFUSED,     /* the tree was to be killed, but what is left of it
			      belongs to others: value is a pid, `uid` whose;
			      the guard waits for its end */
	GUARD_STOPPED,     /* the command has: it did so itself, or was told */
	GUARD_TOO_LATE,    /* the go was found after start_by: nothing ran */
	GUARD_LOST         /* end of file: the guard itself was killed */
};

struct report {
	int news; /* enum guard_news */
	int value;
	int left; /* the command left processes behind */
	int uid;  /* of GUARD_REFUSED */
};

/* Forks. The command does not run before guard_go(). */
int guard_start(struct guard *g, const struct order *o, struct fail *why);

/* Under which tokens is asked for the locks from now on. */
void guard_note(struct guard *g, const struct grants *asked);

/* Starts the command, unless it is start_by already (guard or machine were
 * stalled). */
void guard_go(struct guard *g, const struct grants *given,
	      struct instant start_by);

/* What is below this process is what has been started. */
pid_t guard_root(const struct guard *g);

/* Should somebody have stopped it, it goes on. */
void guard_wake(pid_t guard);

/* Kill everything: a report follows when nothing is left, even if there was
 * one already. */
void guard_kill(struct guard *g);

/* When g->report is readable. */
void guard_take(struct guard *g, struct report *out);

/* Reaps the guard's process. */
void guard_close(struct guard *g);

#endif
