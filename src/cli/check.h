/* SPDX-License-Identifier: MIT */
/*
 * Checks for monitoring systems: inspect --max-age, history --last-success.
 * Such a system knows the statuses 0 to 3 and reads standard output alone. So a
 * check always ends with one of these, and with a line there: also when no
 * server answers, or when the command line is wrong.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stdbool.h>

#include "cli/opts.h"

/* Whether it is a check, as far as the options tell. They may be half read:
 * then the words of the command line count. */
bool check_is(const struct opts *o, char *const *argv);

/* Prints why it cannot tell. `shown`: the key, or "". Returns
 * STATUS_UNKNOWN. */
int check_unknown(const char *shown, const char *text);

/* The worse of two statuses: what is known to be wrong is worse than what is
 * not known. */
int check_worse(int a, int b);

#endif
