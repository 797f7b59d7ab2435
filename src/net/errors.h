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
 * An error that the script catches and returns has the second line alone.
 * Returns the number of bytes in front of the error itself. */
size_t error_wrap(const char *text, size_t len);

/* The source of an error, which decides its meaning. Functions without it are
 * about servers that grant locks. */
enum error_from {
	ERROR_FROM_SERVER = 1,
	ERROR_FROM_CLUSTER = 2, /* a server that is known to belong to one */
	ERROR_FROM_SENTINEL = 4
};

/* The meaning of an error: see the table in errors.c. */
struct error_told {
	enum fail_kind kind;
	const char *means, *cure; /* static; NULL: not known, none */
	char words[240];          /* the server's own first sentence */
};

/* `text` is without error_wrap(), and safe for a terminal. */
void error_explain(struct error_told *out, const char *text,
		   enum error_from from);
/* "MEANING; CURE (WORDS)". Returns buf. */
const char *error_say(const struct error_told *e, bool with_cure, char *buf,
		      size_t size);

/* A reply that refuses AUTH, in our words: a server that does not know AUTH
 * repeats its arguments, cut, or with other bytes for line breaks, so that no
 * search for the password would be safe. The beginning, by which these
 * functions know an error, is kept if it is one of those that we know. */
const char *error_of_login(const char *text);

/* Whether the server is about to serve, or waits for another that is: treat it
 * as if it were not there. */
bool error_waits(const char *text);

/* Whether it is a replica, or a master that is one for the moment. */
bool error_readonly(const char *text);

/* Whether the server does not know the script's hash, or EVALSHA at all:
 * nothing was run, send the whole script. */
bool error_missing(const char *text);

/* Whether the server may have run a part of the script: the script needed a
 * right that we do not have. */
bool error_begun(const char *text);

#endif
