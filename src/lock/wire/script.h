/* SPDX-License-Identifier: MIT */
/*
 * Makes a request from a question of the lease: a call of a script (src/lua),
 * BLPOP or WAIT. answer.h reads the reply.
 */
#ifndef LOCK_WIRE_SCRIPT_H
#define LOCK_WIRE_SCRIPT_H

#include "lock/core/lease.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"

/* `identity`: record_identity(). `db`: see request_begin(). The request borrows
 * its arguments: it is valid as long as they are. */
void script_request(struct request *r, const struct ask *ask,
		    const struct lease_conf *conf, const struct keys *keys,
		    const char *token, const char *identity, int db);

/* Adds to a release what became of the hold (history_entry_text(); "": there
 * was none, or it is not to be recorded), and to one that mends the mark of
 * another client which one (NULL: not known). Any other question stays as it
 * is. */
void script_tell(struct request *r, const struct ask *ask, const char *entry,
		 const char *mark);

#endif
