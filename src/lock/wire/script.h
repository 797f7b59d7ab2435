/* SPDX-License-Identifier: MIT */
/*
 * Makes a request from a question: a call of a script (src/lua), BLPOP or WAIT.
 * answer.h reads the reply.
 *
 * A script is 4 to 26 kB long. It is called by its hash (EVALSHA), which makes
 * a hand-over a tenth shorter. A server that does not know the hash gets the
 * whole script (EVAL) and knows it from then on.
 */
#ifndef LOCK_WIRE_SCRIPT_H
#define LOCK_WIRE_SCRIPT_H

#include "base/words.h"
#include "lock/wire/about.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"
#include "lock/core/lease.h"

/* A client's entry in the line: "TTL SLOTS FLAGS\nhost ...\npid ...\n" (for the
 * flags see src/lua/line.lua). A client has one such text and
 * never changes it, because the scripts find it by its bytes. */
#define IDENTITY_SIZE (ABOUT_COUNT * (ABOUT_MAX + 8) + 48)
void script_identity(const struct lease_conf *conf, const struct holder *who,
		     char text[IDENTITY_SIZE]);

/* Only the end of it: "host ...\npid ...\n". */
void script_about(const struct holder *who, char text[IDENTITY_SIZE]);

/* `db`: see request_begin(). The request borrows its arguments: it is valid as
 * long as they are. */
void script_request(const struct ask *ask, const struct lease_conf *conf,
		    const struct keys *keys, const char *token,
		    const char *identity, int db,
		    struct script_scratch *scratch, struct words *out);

/* Adds to a release that mends the mark of another client: which one. */
void script_mend(const struct ask *ask, const char *mark,
		 struct words *request);

/* Makes a request that tells the server the script of a release. The script has
 * no arguments, fails at its first line, and is known from then on. SCRIPT LOAD
 * would do the same, but some users may not call it, and a proxy that does not
 * know it (twemproxy) closes the connection. */
void script_teach_release(const struct keys *keys, struct words *out);

/* The hash of the script that it calls; NULL: it calls none. */
const char *script_sha(const struct ask *ask);

#endif
