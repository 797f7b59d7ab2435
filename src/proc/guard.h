/* SPDX-License-Identifier: MIT */
/*
 * The guard: a process of ours between redlock and the command. It holds back
 * the command's start until the go, reports the command's end, and kills the
 * command and every descendant when redlock dies or tells it to.
 *
 *   redlock --- life ---> guard     "go", "kill", "done"; end of file: redlock
 *                                   is dead
 *   redlock <-- report -- guard     how the command ended, and what it left
 *
 * The guard is the command's parent and, like redlock, a child subreaper. It
 * blocks every signal and lives in a session of its own. So a kill -9 of the
 * job's process group does not reach it (the command is in redlock's group).
 * Also, to the kernel the command's group has the same parents as it would
 * without redlock: a guard in the same session but in another group would look
 * like a shell that can continue a stopped job. A guard that somebody stopped
 * is woken by every renewal, by redlock's death, and by a timer of its own
 * while it kills. Without the guard, the command's own children would survive a
 * redlock that is killed.
 *
 * The guard also knows the deadline, through memory shared with redlock: a
 * redlock that hangs in the kernel can neither say "kill" nor die.
 */
#ifndef PROC_GUARD_H
#define PROC_GUARD_H

#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"
#include "proc/guardproc.h"
#include "proc/order.h"
#include "proc/tree.h"

/* Redlock's side. Initialise it with GUARD_NONE. */
struct guard {
	pid_t pid;  /* our child; 0: none. guard_close() reaps it */
	int life;   /* ours; written by guard_*(), closed by guard_close(). Only
		       we may have it open: its end of file tells the guard
		       that we are dead. -1: not open */
	int report; /* ours; poll it, and read it with guard_take(); closed by
		       guard_close(). -1: not open */
	int alarm;  /* the guard's: see deadman.h. -1: not open */
	struct guard_shared *shared; /* NULL: not started */
};

#define GUARD_NONE ((struct guard){.life = -1, .report = -1, .alarm = -1})

/* Forks the guard. The command does not start before guard_go(). Returns 0, and
 * *g owns the process and the descriptors until guard_close(); or -1 with *why
 * set: no process, no descriptor and no memory is left, and *g is GUARD_NONE.
 */
int guard_start(struct guard *g, const struct order *o, struct fail *why);

/* Tells the guard under which tokens we ask for the locks from now on. */
void guard_note(struct guard *g, const struct grants *asked);

/* Starts the command, unless start_by has passed when the guard reads this (the
 * guard or the machine was stalled). */
void guard_go(struct guard *g, const struct grants *given,
	      struct instant start_by);

/* Continues a guard that somebody stopped. */
void guard_wake(pid_t guard);

/* Has everything killed. A report follows when nothing is left, even if there
 * was one before. Does not wait. */
void guard_kill(struct guard *g);

/* Kills what it can without the guard: the init and so all that it contains, or
 * what is found within a few ms. Waits for nobody. */
void guard_strike(const struct guard *g);

/* Counts on while the guard kills: see `beat`. */
int guard_beat(const struct guard *g);

/* Signals the whole tree, as tree_signal() does. */
void guard_signal(const struct guard *g, int sig, const struct manner *how,
		  struct reach *out);

/* Whether something runs in the tree that is neither a keeper nor dying. */
bool guard_has_tree(const struct guard *g);

/* Reads a report. Call it when g->report is readable, else it blocks. */
void guard_take(struct guard *g, struct report *out);

/* Dismisses the guard and waits until it has exited; closes both descriptors.
 * *g is GUARD_NONE afterwards. */
void guard_close(struct guard *g);

#endif
