/* SPDX-License-Identifier: MIT */
/* Locks that stay for ever, and counters that nobody can count on. */
#ifndef CLI_KEYCHECK_H
#define CLI_KEYCHECK_H

#include "cli/checks.h"

/* Asks for the keys that were named, and goes through all that redlock has on
 * each server; only what has a record of ours counts as a lock there. */
void check_keys(const struct exam *e, struct look *l);

#endif
