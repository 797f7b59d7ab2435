/* SPDX-License-Identifier: MIT */
/*
 * The guard: a process of ours between redlock and the command. It holds back
 * the command's start until the go, reports the command's end, and kills the
 * command and every descendant when redlock dies or tells it to.
 *
 *   redlock -- orders --> guard     the locks that are asked for; the go
 *   redlock --- life ---> guard     "kill"; end of file: redlock is dead, or
 *                                   has dismissed the guard
 *   redlock <-- report -- guard     how the command ended, and what it left
 *
 * The guard is the command's parent and, like redlock, a child subreaper. It
 * blocks every signal and lives in a session of its own. So a kill -9 of the
 * job's process group does not reach it (the command is in redlock's group).
 * Also, to the kernel the command's group has the same parents as it would
 * without redlock: a guard in the same session but in another group would look
 * like a shell that can continue a stopped job. A guard that somebody stopped
 * is woken by every renewal, by redlock's death, and from the deadline on by
 * timers of its own. Without the guard, the command's own children would
 * survive a redlock that is killed.
 *
 * The guard also knows the deadline, through memory shared with redlock: a
 * redlock that hangs in the kernel can neither say "kill" nor die.
 */
#ifndef PROC_GUARD_H
#define PROC_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/grants.h"
#include "proc/signals.h"
#include "proc/tree.h"

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
	/* In the command's process, in place of argv: a copy of the guard
	 * without the pipes and the alarm. It ends with the status returned.
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
	 * release() can release them. fill_in(): completes envp with what was
	 * granted. */
	void (*noted)(void *, const struct grants *);
	void (*fill_in)(void *, const struct grants *);
	/* In the guard, after redlock died and the tree is dead: releases the
	 * locks. May allocate and wait. `ran`: the go had come, so a command
	 * may have run. */
	void (*release)(void *, bool ran);
	void *arg; /* the first argument of all four */
};

/* Mapped by guard_start(), and unmapped only if that fails: both processes may
 * use it until they exit. */
struct guard_shared {
	/* By when the tree must be dead, in ms on the lease clock. Set by the
	 * deadman. */
	_Atomic int64_t deadline_ms;
	_Atomic int command; /* its pid; 0: not started yet; -1: it has ended */
	/* A GUARD_STOPPED is on its way; redlock clears this. Without it, a
	 * stopped redlock would be written to until the pipe is full. */
	_Atomic int stop_told;
	/* Redlock is stopping because the command has stopped. The guard
	 * continues redlock when the command continues. */
	_Atomic int stops_too;
	/* The end of `life` does not mean that redlock is dead. */
	_Atomic int dismissed;
	/* Counts on while the guard kills. A guard that was told to kill, and
	 * whose count stands still, is stuck. */
	_Atomic int beat;
};

enum guard_news {
	GUARD_ENDED,       /* value: wait status of the command. If `left` is
			      set, another report may follow when the processes
			      it left are gone */
	GUARD_OVERDUE,     /* the same, but the lease was over and redlock had
			      not killed: the guard has */
	GUARD_CANNOT_EXEC, /* value: errno */
	GUARD_CANNOT_FORK, /* value: errno */
	GUARD_CANNOT_ARM,  /* value: errno. Nothing ran: what the guard needs
			      to kill in time is not to be had */
	GUARD_REFUSED,     /* the rest of the tree belongs to other users and
			      cannot be killed: value is a pid, `uid` its owner;
			      the guard waits for it to end */
	GUARD_STOPPED,     /* the command has stopped */
	GUARD_TOO_LATE,    /* the go came after start_by: nothing ran */
	GUARD_LOST         /* end of file: the guard itself was killed */
};

struct report {
	int news; /* enum guard_news */
	int value;
	int left; /* the command left processes behind */
	int uid;  /* for GUARD_REFUSED */
};

/* Redlock's side. Initialise it with GUARD_NONE. */
struct guard {
	pid_t pid;  /* our child; 0: none. guard_close() reaps it */
	int orders; /* ours; written by guard_note(), closed by guard_go(). -1:
		       not open */
	int life;   /* ours; written by guard_kill(), closed by guard_close().
		       Only we may have it open: its end of file tells the
		       guard that we are dead. Whatever happens to it has the
		       kernel kill the command, so nothing else goes through
		       it. -1: not open */
	int report; /* ours; poll it, and read it with guard_take(); closed by
		       guard_close(). -1: not open */
	int alarm;  /* the guard's: see deadman.h. -1: not open */
	struct guard_shared *shared; /* NULL: not started */
};

#define GUARD_NONE                                                             \
	((struct guard){.orders = -1, .life = -1, .report = -1, .alarm = -1})

/* Forks the guard. The command does not start before guard_go(). Returns 0, and
 * *g owns the process and the descriptors until guard_close(); or -1 with *why
 * set: no process, no descriptor and no memory is left, and *g is GUARD_NONE.
 */
int guard_start(struct guard *g, const struct order *o, struct fail *why);

/* Tells the guard under which tokens we ask for the locks from now on. */
void guard_note(struct guard *g, const struct grants *asked);

/* Starts the command, unless start_by has passed when the guard reads this (the
 * guard or the machine was stalled). Does not wake a guard that somebody
 * stopped. */
void guard_go(struct guard *g, const struct grants *given,
	      struct instant start_by);

/* Continues a guard that somebody stopped. */
void guard_wake(pid_t guard);

/* Has everything killed. A report follows when nothing is left, even if there
 * was one before. Does not wait. */
void guard_kill(struct guard *g);

/* Kills, without the guard, what is found within a few ms. Waits for nobody.
 * `spare`: no guards of nested runs, which kill their own trees and then
 * release their locks. */
void guard_strike(const struct guard *g, bool spare);

/* Counts on while the guard kills: see `beat`. */
int guard_beat(const struct guard *g);

/* Signals the whole tree, as tree_signal() does. */
void guard_signal(const struct guard *g, int sig, const struct manner *how,
		  struct reach *out);

/* Whether something runs in the tree that is neither a keeper nor dying. */
bool guard_has_tree(const struct guard *g);

/* Reads a report. Call it when g->report is readable, else it blocks. */
void guard_take(struct guard *g, struct report *out);

/* Dismisses the guard and waits until it has exited; closes all descriptors.
 * *g is GUARD_NONE afterwards. */
void guard_close(struct guard *g);

#endif
