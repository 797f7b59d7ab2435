/* SPDX-License-Identifier: MIT */
/*
 * What an error reply means. Goes by how it begins: texts differ by version.
 */
#ifndef NET_ERRORS_H
#define NET_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* The error of a command in a script, as Redis before 7.0 and KeyDB tell it:
 *	ERR Error running script (call to f_SHA): @user_script:LINE:
 *	@user_script: LINE: -READONLY You can't write ...
 * So many bytes are in front of what it says. */
size_t error_wrap(const char *text, size_t len);

/* *advice is what to add to the text, or "". All of these take texts that are
 * not wrapped any more. */
enum fail_kind error_kind(const char *text, const char **advice);
/* Likewise, of a Sentinel. */
enum fail_kind error_of_sentinel(const char *text, const char **advice);

/* Of a server that is about to serve, or of one that waits for one that does:
 * as good as none. */
bool error_waits(const char *text);

/* The server does not know the script by its hash, or nothing of EVALSHA:
 * nothing was run, send it whole. */
bool error_missing(const char *text);

/* Of a server that may have run a part of the script: which asks for a right
 * that we do not have. */
bool error_begun(const char *text);

#endif
