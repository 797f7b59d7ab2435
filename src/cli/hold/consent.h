/* SPDX-License-Identifier: MIT */
/* The user's consent to take a lock away from its holder. */
#ifndef CLI_HOLD_CONSENT_H
#define CLI_HOLD_CONSENT_H

#include "cli/opts.h"
#include "cli/query.h"

/* Shows who holds the lock, on standard error, and lets the user confirm that
 * it is to be taken away. Returns STATUS_OK, or the status to end with, having
 * said why. `shown`: the key. */
int consent_get(const struct opts *o, const struct query *query,
		const char *shown, const struct snapshot *seen);

/* Whether what was typed is the key: STATUS_OK, or the status to end with,
 * having said why. */
int consent_check(const char *key, const char *typed);

#endif
