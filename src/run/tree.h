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

/* Signals every descendant of `root` but not root. Returns how many. */
int tree_signal(pid_t root, int sig);

/* Whether what is left below this process are keepers (keeper.h), and nothing
 * else: they end by themselves, and are no part of the command. */
#define KEEPER "lockkeeper" /* what they are called */
bool tree_is_keepers(void);

/* Kills the descendants of this process until none is left, and reaps them;
 * *status is that of `leader` if it is seen. Blocks SIGCHLD in this thread,
 * which must not be set to be ignored. Never returns while one lives.
 *   The guards of nested runs come last, after 0.8 s: each kills its own tree,
 * and then gives back what is otherwise held until the lease ends. */
void tree_kill(pid_t leader, int *status);

/* True where the kernel tells children (CONFIG_PROC_CHILDREN). */
bool tree_visible(void);

#endif
