/* SPDX-License-Identifier: MIT */
/* A small JSON writer, member by member. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	bool inside; /* a member stands before */
};

/* Each writes `"name":value`, with "{" or "," before it. What steers a
 * terminal is escaped. Bytes that are not UTF-8 become U+FFFD, and *_bytes then
 * adds "name_b64" with the exact bytes.
 */
void json_text(struct json *j, const char *name, const char *text);
void json_bytes(struct json *j, const char *name, const char *bytes, size_t n);
void json_number(struct json *j, const char *name, int64_t value);
void json_bool(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);

/* RFC 3339, UTC. 0, or beyond the year 9999: unknown, null. */
void json_time(struct json *j, const char *name, int64_t ms);

/* ms, or null: never. */
void json_left(struct json *j, const char *name, int64_t ms);

/* The members of `name`'s object follow, until it is closed. */
void json_open(struct json *j, const char *name);
/* Ends the innermost object. */
void json_close(struct json *j);

/* A list: before each of its objects json_item(), which json_close() ends, or
 * a json_word(); then json_end(). */
void json_list(struct json *j, const char *name);
void json_item(struct json *j);
void json_word(struct json *j, const char *text);
void json_end(struct json *j);

#endif
