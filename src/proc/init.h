/* SPDX-License-Identifier: MIT */
/*
 * For redlock as process 1, for example of a container. The kernel does not
 * deliver to process 1 a signal that it does not catch, and that includes the
 * deadman's SIGKILL. So process 1 must not hold a lease: it becomes a plain
 * init, which passes signals on and reaps, and a child of it becomes redlock.
 */
#ifndef PROC_INIT_H
#define PROC_INIT_H

#include <stdbool.h>

/* Returns in the process that is to be redlock; unless this is process 1, at
 * once. The init exits with its child's status, or 128+n; all other processes
 * of the container end with it. */
void init_split(void);

/* Whether there is such an init: no process outlives us. */
bool init_is_above(void);

#endif
