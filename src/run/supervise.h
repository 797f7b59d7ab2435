/* SPDX-License-Identifier: MIT */
/*
 * From "ask for the lock" to "the tree is dead and the lock is released": joins
 * the locks, the guard, the watchdog and the signals.
 */
#ifndef RUN_SUPERVISE_H
#define RUN_SUPERVISE_H

#include "proc/guard.h"
#include "run/hold.h"
#include "client/locks.h"
#include "proc/signals.h"

/* The leases must be initialised and not yet asked for. Fills in the order's
 * `shut`. Tells a waiting person on stderr what there is to know; the caller
 * reports the ending. */
void supervise(struct locks *l, const struct hold_conf *conf,
	       struct order *order, const struct signals *signals,
	       struct ending *end);

#endif
