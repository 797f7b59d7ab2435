/* SPDX-License-Identifier: MIT */
/*
 * The commands that redlock sends, by itself and in its scripts: for who is to
 * grant them, and for who looks whether they are granted. The manual has the
 * same list under "Rights", and a test compares both with the scripts.
 */
#ifndef LOCK_RIGHTS_H
#define LOCK_RIGHTS_H

#include <stddef.h>

#include "base/words.h"

enum right_kind {
	RIGHT_READ,  /* of a script */
	RIGHT_WRITE, /* likewise */
	RIGHT_PLAIN  /* sent by itself */
};

/* Only some need it. */
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
	int words; /* that must follow it */
	enum right_need need;
	const char *without; /* what comes of it; NULL: locks fail */
};

extern const struct right rights[];
extern const int rights_n;

/* "+get +set ...", what is needed: bits of enum right_need. Returns buf. */
const char *rights_text(unsigned int needs, char *buf, size_t size);

/* A question that tells which commands of the scripts this user may not use, as
 * a list of their names, and runs nothing that writes: the script says that it
 * will not, and is refused all that it may use. For writing ones only Redis 7
 * and Valkey know that: others answer with an error. The request lives as long
 * as the scratch. */
struct rights_scratch {
	char list[512], script[1500];
};
void rights_request(enum right_kind kind, struct rights_scratch *scratch,
		    struct words *out);

#endif
