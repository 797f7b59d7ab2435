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

/* "ran", "failed (exit 3)", "forced by joe on web2". Returns buf. */
#define ENDING_SIZE (HISTORY_BY_MAX + 100)
const char *hold_ending(const struct history_hold *p, char buf[ENDING_SIZE]);

#endif
