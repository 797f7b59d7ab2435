/* SPDX-License-Identifier: MIT */
/*
 * The Redis commands that redlock uses, directly and in its scripts: what an
 * administrator must grant, and what doctor checks. The manual has the same
 * list under "Rights", and a test compares both with the scripts.
 */
#ifndef LOCK_WIRE_RIGHTS_H
#define LOCK_WIRE_RIGHTS_H

#include <stddef.h>

#include "base/words.h"

enum right_kind {
	RIGHT_READ,  /* a script reads with it */
	RIGHT_WRITE, /* a script writes with it */
	RIGHT_PLAIN  /* sent directly */
};

/* When it is needed. */
enum right_need {
	NEED_ALWAYS = 0,
	NEED_GUARD = 1,    /* several servers, --restart-guard */
	NEED_SENTINEL = 2, /* behind Sentinels */
	NEED_CLUSTER = 4,
	NEED_REPLICAS = 8 /* --wait-replicas */
};

struct right {
	const char *command; /* in lower case */
	enum right_kind kind;
	int words; /* number of arguments it must have */
	enum right_need need;
	const char *without; /* what fails without it; NULL: locking does */
};

extern const struct right rights[];
extern const int rights_n;

/* Writes "+get +set ...", the commands needed for `needs` (bits of enum
 * right_need). Returns buf. */
const char *rights_text(unsigned int needs, char *buf, size_t size);

/* Makes a request that asks which commands of the scripts this user may not
 * run. The reply is a list of their names. The request writes nothing: its
 * script declares that it will not write, so the server refuses each command
 * that the user may run. For commands that write, only Redis 7 and Valkey
 * support that; others answer with an error. The request is valid as long as
 * the scratch. */
struct rights_scratch {
	char list[512];
};
void rights_request(enum right_kind kind, struct rights_scratch *scratch,
		    struct words *out);

#endif
