/* SPDX-License-Identifier: MIT */
/*
 * The descendants of this process, even if they forked, called setsid() or
 * changed their group: found through /proc/PID/task/TID/children. A child
 * subreaper (guard and redlock are) inherits every orphan, so none is missed.
 * Nothing here recurses, allocates, or asks any file system but /proc. Two more
 * descriptors are enough, and to kill none is needed: see tree_open().
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"

/* Opens /proc, and the list of this process's children, for as long as it runs.
 * From then on it does not matter what else is mounted at /proc, nor, for
 * tree_kill(), whether the kernel has a descriptor for us: those that die hand
 * their children to us, level by level. A fork calls it again, to have its own
 * list. Only the main thread may call it. -1: errno says why, or
 * tree_trouble(). */
int tree_open(void);

/* Opens a file of that /proc. The path begins with "/proc/". -1: errno. */
int tree_proc(const char *path, int flags);

/* Sets whether this process inherits the orphans below it. */
void tree_adopt(bool yes);

/* How a signal was received. */
struct reach {
	int met;     /* number of descendants */
	int refused; /* those of them we may not signal: other users' */
	pid_t pid;   /* one of those refused */
	uid_t uid;   /* its owner */
};

/* How to signal. */
struct manner {
	pid_t spared;      /* this process group; its members count as met; 0:
			      none */
	bool wake;         /* continue those that are stopped, afterwards */
	bool ends;         /* it is to end them, whatever signal it is */
	struct instant by; /* look for no more processes then: a tree may be
			      large; NEVER: look for all */
};

/* Signals every descendant of `root`, but not root itself. */
void tree_signal(pid_t root, int sig, const struct manner *how,
		 struct reach *out);

/* Kills what it finds below `root` until then, once. `spare`: no guards of
 * nested runs. */
void tree_strike(pid_t root, bool spare, struct instant by);

/* How many processes it finds below `root` until then, without those that have
 * ended, though they are not reaped. Of those that there was no time to ask, a
 * sample is. Only the thread that renews may call this. */
int tree_count(pid_t root, struct instant by);

/* Whether it is stopped, by a signal and not by a debugger. */
bool tree_is_stopped(pid_t pid);

/* Its parent, and when it started, in clock ticks after the boot. -1: it is
 * gone, or hidden. */
int tree_birth(pid_t pid, pid_t *parent, unsigned long *started);

/* The owner of that process; (uid_t)-1: it is gone. */
uid_t tree_owner(pid_t pid);

/* Whether all that is left below this process are keepers, of locks (keeper.h)
 * or of the server of local: (local/lockserver.c). They end by themselves and
 * are not part of the command. */
#define KEEPER "lockkeeper" /* their process names */
#define LOCKSERVER "lockserver"
bool tree_is_keepers(void);

/* Whether something runs below `root` that is neither a keeper nor dying: ended
 * or killed, and perhaps not reaped. */
bool tree_is_alive(pid_t root);

/* Kills the descendants of this process until none is left, and reaps them.
 * *status is that of `leader` if it is seen. Blocks SIGCHLD in this thread;
 * SIGCHLD must not be ignored. Returns true when none is left; false when those
 * left may not be killed, and *out says which, or, with out->refused 0, at
 * `by`: then the caller calls again. The guards of nested runs are killed last,
 * after 0.8 s: each kills its own tree and then releases locks that would
 * otherwise stay until the lease ends. `beat` (or NULL) counts on as long as
 * this function gets on. */
bool tree_kill(pid_t leader, _Atomic int *beat, struct instant by, int *status,
	       struct reach *out);

/* NULL if the kernel lists children, else why it does not. */
const char *tree_trouble(void);

/* Whether processes of other users are hidden (hidepid). They are killed all
 * the same, if we may, but a TERM does not reach their descendants. */
bool tree_is_veiled(void);

#endif
