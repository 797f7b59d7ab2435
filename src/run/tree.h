/* SPDX-License-Identifier: MIT */
/*
 * The descendants of this process, however they forked, setsid() or changed
 * their group: found through /proc/PID/task/TID/children. A child subreaper
 * (guard and tool are) inherits every orphan, so nobody drops out.
 */
#ifndef RUN_TREE_H
#define RUN_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process inherits the orphans below it. */
void tree_adopt(bool yes);

/* How a signal fared. */
struct reach {
	int met;     /* descendants that there are */
	int refused; /* of these, that may not be signalled: other users' */
	pid_t pid;   /* one of them */
	uid_t uid;   /* whose it is */
};

/* Signals every descendant of `root` but not root. */
void tree_signal(pid_t root, int sig, struct reach *out);

/* It is stopped: by a signal, and not by a debugger. */
bool tree_is_stopped(pid_t pid);

/* Whose process that is; (uid_t)-1: it is gone. */
uid_t tree_owner(pid_t pid);

/* Whether what is left below this process are keepers, of locks (keeper.h) or
 * of the server of local: (lockserver.h), and nothing else: they end by
 * themselves, and are no part of the command. */
#define KEEPER "lockkeeper" /* what they are called */
#define LOCKSERVER "lockserver"
bool tree_is_keepers(void);

/* Kills the descendants of this process until none is left, and reaps them;
 * *status is that of `leader` if it is seen. Blocks SIGCHLD in this thread,
 * which must not be set to be ignored. Returns false while one lives only if it
 * and all others that do may not be killed: then *out says which; call it
 * again. The guards of nested runs come last, after 0.8 s: each kills its own
 * tree, and then gives back what is otherwise held until the lease ends. */
bool tree_kill(pid_t leader, int *status, struct reach *out);

/* NULL where the kernel tells children; else why it does not. */
const char *tree_trouble(void);

/* Processes of other users are not shown (hidepid). They are killed all the
 * same, if they may be, but a TERM misses what is below them. */
bool tree_is_veiled(void);

#endif
