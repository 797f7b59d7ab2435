/* SPDX-License-Identifier: MIT */
/* An entry of the history, in words. */
#ifndef CLI_HISTORY_HOLDS_H
#define CLI_HISTORY_HOLDS_H

#include "cli/query.h"
#include "lock/wire/history.h"

/* Reads the holds that ended in the last within_ms; 0: all. *h must be all zero
 * at first. -1: fewer than a quorum answered; *h has what they said. */
int history_read(struct query *l, const char *key, size_t len,
		 int64_t within_ms, struct history *h, struct fail *why);

/* The same, with the present holders. If it is not known who they are,
 * *unknown says why. */
int history_read_open(struct query *l, const char *key, size_t len,
		      int64_t within_ms, struct history *h,
		      struct fail *unknown, struct fail *why);

/* Whether this outcome says that the work was done, or that it was not. What a
 * person or script does under a lock taken by hand is not known. */
bool hold_is_judged(const struct history_hold *p);

/* "ran", "failed (exit 3)", "forced by joe on web2", "held". Returns
 * buf. */
#define ENDING_SIZE (HISTORY_BY_MAX + 100)
const char *hold_ending(const struct history_hold *p, char buf[ENDING_SIZE]);

#endif
