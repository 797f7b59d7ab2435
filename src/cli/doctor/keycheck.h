/* SPDX-License-Identifier: MIT */
/* Finds locks that never expire, and fence counters that are unusable. */
#ifndef CLI_DOCTOR_KEYCHECK_H
#define CLI_DOCTOR_KEYCHECK_H

#include "cli/doctor/checks.h"

/* Checks the keys that were named, and all that redlock has on each server. In
 * the latter, only a key with a record of ours counts as a lock. */
void check_keys(const struct exam *e, struct query *l);

#endif
