/* SPDX-License-Identifier: MIT */
/*
 * What a server stores about a client, for others to see: lines ("NAME VALUE"),
 * and its identity ("TTL SLOTS FLAGS\n", then such lines: see
 * src/lua/line.lua). A member of the line has its token and a blank before
 * that.
 */
#ifndef LOCK_WIRE_RECORD_H
#define LOCK_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "lock/core/lease.h"

#define SLOT_NAME_SHOWN 160
#define MASTER_SHOWN 80 /* "HOST:PORT" of a replica's master */

/* What others may see of a holder or waiter. Any field may be "". The strings
 * are borrowed. */
enum about {
	ABOUT_HOST,
	ABOUT_PID,
	ABOUT_USER,
	ABOUT_COMMAND,
	ABOUT_REASON,
	ABOUT_CI,
	ABOUT_PROCESS, /* see proc/process.h; with --no-describe, too */
	ABOUT_COUNT
};
#define ABOUT_SHOWN ABOUT_PROCESS /* the fields before it are for people */
#define ABOUT_MAX 128             /* bytes of a field, with its terminator */

struct holder {
	const char *about[ABOUT_COUNT];
};

const char *about_name(enum about field); /* "host", "pid", ... */

/* ---- writing ---- */

/* A client's entry in the line. A client has one such text and never changes
 * it, because the scripts find it by its bytes. */
#define IDENTITY_SIZE (ABOUT_COUNT * (ABOUT_MAX + 8) + 48 + SLOT_NAMES_MOST)
#define SLOT_NAMES_MOST 4000 /* of a longer list others see the numbers */
void record_identity(const struct lease_conf *conf, const struct holder *who,
		     char text[IDENTITY_SIZE]);
/* Only the end of it: "host ...\npid ...\n". */
void record_about(const struct holder *who, char text[IDENTITY_SIZE]);

/* The name of a slot in a list such as "a,b", and its length. NULL: there is
 * none. */
const char *slot_name(const char *names, int slot, size_t *len);

/* ---- reading ---- */

struct record {
	int64_t since_ms, ticket; /* 0: unknown */
	bool replaces;            /* it asks to stop for --replace */
	struct record_end {
		char outcome[24];           /* "": it ended well */
		int64_t status, signal;     /* -1: none */
	} end;                              /* of a mark: how the work ended */
	char about[ABOUT_COUNT][ABOUT_MAX]; /* safe for a terminal */
	/* of an identity only */
	int64_t ttl_ms; /* 0: unknown */
	int slots;
	bool reads, supersedes;
	bool high; /* --priority */
	/* of a member only */
	const char *token; /* borrowed; not safe for a terminal */
	size_t token_len;
};

/* Copies a field, made safe for a terminal. In a link, "***" replaces the user
 * and password. */
void about_take(enum about what, const char *bytes, size_t n,
		char out[ABOUT_MAX]);

/* -1: not a whole number of at least 0. */
int64_t record_number(const char *bytes, size_t n);

/* " (failed, exit 4)"; "" if it ended well. */
#define RECORD_FAILURE_SIZE 64
const char *record_failure(const struct record_end *end,
			   char buf[RECORD_FAILURE_SIZE]);

/* What is missing or malformed is unknown. */
void record_read(struct record *r, const char *bytes, size_t n);
/* The same. false: it has not the form that the scripts ask for, which drop it
 * from the line. */
bool record_read_identity(struct record *r, const char *bytes, size_t n);
bool record_read_member(struct record *r, const char *bytes, size_t n);

/* Writes `"name":{host, pid, user, ...}`, with the fields that are known. */
void json_about(struct json *j, const char *name,
		const char about[ABOUT_COUNT][ABOUT_MAX]);
/* The same, as members of the open object. */
void json_about_flat(struct json *j, const char about[ABOUT_COUNT][ABOUT_MAX]);

#endif
