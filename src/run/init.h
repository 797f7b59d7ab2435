/* SPDX-License-Identifier: MIT */
/*
 * For redlock as process 1, of a container say. The kernel spares process 1 of
 * every signal that it does not catch, the deadman's SIGKILL among them, so it
 * must not hold a lease itself: it becomes a mere init, which passes signals
 * on and reaps, and a child of it becomes redlock.
 */
#ifndef RUN_INIT_H
#define RUN_INIT_H

/* Returns in the process that is to be redlock: at once, unless this is process
 * 1. The init exits with its child's status, or 128+n; the rest ends with it.
 */
void init_split(void);

#endif
