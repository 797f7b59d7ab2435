/* SPDX-License-Identifier: MIT */
/*
 * Parses what a server stores about a client: the record of a holder ("NAME
 * VALUE" lines, src/lua/record.lua), and the member of a sorted set with which
 * a client waits or shares a lock ("TOKEN TTL SLOTS FLAGS", then such lines:
 * script_identity()).
 */
#ifndef LOCK_WIRE_RECORD_H
#define LOCK_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "lock/wire/about.h"

struct record {
	const char *token; /* borrowed; not safe for a terminal; NULL: none */
	size_t token_len;
	int64_t ttl_ms, since_ms, ticket;   /* 0: unknown */
	int64_t renewed;                    /* -1: unknown */
	int64_t fence;                      /* as it was granted; 0: unknown */
	int readers;                        /* 0: it is not a reader */
	char about[ABOUT_COUNT][ABOUT_MAX]; /* safe for a terminal */
	/* of a member only */
	const char *identity; /* what follows the token; borrowed */
	size_t identity_len;
	int slots;
	bool reads, supersedes;
};

/* Copies a field, made safe for a terminal. In a link, "***" replaces the user
 * and password. */
void about_take(enum about what, const char *bytes, size_t n,
		char out[ABOUT_MAX]);

/* They never fail: what is missing or malformed is unknown. */
void record_read(struct record *r, const char *bytes, size_t n);
/* "TTL SLOTS FLAGS\nABOUT". */
void record_read_standing(struct record *r, const char *bytes, size_t n);
void record_read_member(struct record *r, const char *bytes, size_t n);
/* The same test as parsed() in src/lua/share.lua: the scripts drop any member
 * that fails it. */
bool record_is_member(const char *bytes, size_t n);

/* Writes `"name":{host, pid, user, ...}`, with the fields that are known. */
void json_about(struct json *j, const char *name,
		const char about[ABOUT_COUNT][ABOUT_MAX]);
/* The same, as members of the open object. */
void json_about_flat(struct json *j, const char about[ABOUT_COUNT][ABOUT_MAX]);

#endif
