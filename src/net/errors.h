/* SPDX-License-Identifier: MIT */
/*
 * What an error reply means. Looks at its beginning: texts differ by version.
 */
#ifndef NET_ERRORS_H
#define NET_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* The error of a command in a script, as Redis before 7.0 and KeyDB tell it:
 *	ERR Error running script (call to f_SHA): @user_script:LINE:
 *	@user_script: LINE: -READONLY You can't write ...
 * Returns the number of bytes in front of the error itself. */
size_t error_wrap(const char *text, size_t len);

/* *advice: what to add to the text, or "". These functions take the text after
 * error_wrap(). */
enum fail_kind error_kind(const char *text, const char **advice);
/* The same for a reply of a Sentinel. */
enum fail_kind error_of_sentinel(const char *text, const char **advice);

/* A reply that refuses AUTH, in our words: a server that does not know AUTH
 * repeats its arguments, cut, or with other bytes for line breaks, so that no
 * search for the password would be safe. The beginning, by which these
 * functions know an error, is kept if it is one of those that we know. */
const char *error_of_login(const char *text);

/* Whether the server is about to serve, or waits for another that is: treat it
 * as if it were not there. */
bool error_waits(const char *text);

/* Whether the server does not know the script's hash, or EVALSHA at all:
 * nothing was run, send the whole script. */
bool error_missing(const char *text);

/* Whether the server may have run a part of the script: the script needed a
 * right that we do not have. */
bool error_begun(const char *text);

#endif
