/* SPDX-License-Identifier: MIT */
/*
 * Parses what a server stores about a client: lines ("NAME VALUE"), and how it
 * stands in line ("TTL SLOTS FLAGS\n", then such lines: see src/lua/line.lua
 * and script_identity()). A member of the line has its token and a blank before
 * that.
 */
#ifndef LOCK_WIRE_RECORD_H
#define LOCK_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "lock/wire/about.h"

struct record {
	int64_t since_ms, ticket;           /* 0: unknown */
	bool replaces;                      /* it asks to stop for --replace */
	char about[ABOUT_COUNT][ABOUT_MAX]; /* safe for a terminal */
	/* of how it stands only */
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

/* What is missing or malformed is unknown. */
void record_read(struct record *r, const char *bytes, size_t n);
/* The same. false: it has not the form that the scripts ask for, which drop it
 * from the line. */
bool record_read_standing(struct record *r, const char *bytes, size_t n);
bool record_read_member(struct record *r, const char *bytes, size_t n);

/* Writes `"name":{host, pid, user, ...}`, with the fields that are known. */
void json_about(struct json *j, const char *name,
		const char about[ABOUT_COUNT][ABOUT_MAX]);
/* The same, as members of the open object. */
void json_about_flat(struct json *j, const char about[ABOUT_COUNT][ABOUT_MAX]);

#endif
