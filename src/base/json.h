/* SPDX-License-Identifier: MIT */
/*
 * A small JSON writer, member by member.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	bool inside; /* a member was written before */
};

/* Each writes `"name":value`, after "{" or ",". Control characters and what
 * else steers a terminal are escaped. Bytes that are not UTF-8 become U+FFFD;
 * json_bytes() then adds "name_b64" with the exact bytes. */
void json_text(struct json *j, const char *name, const char *text);
void json_bytes(struct json *j, const char *name, const char *bytes, size_t n);
void json_number(struct json *j, const char *name, int64_t value);
void json_bool(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);

/* RFC 3339, UTC. 0 or beyond the year 9999: unknown, written as null. */
void json_time(struct json *j, const char *name, int64_t ms);

/* ms, or null for "never". */
void json_left(struct json *j, const char *name, int64_t ms);

/* Opens an object; its members follow until json_close(). */
void json_open(struct json *j, const char *name);
/* Closes the innermost object. */
void json_close(struct json *j);

/* Opens a list. Its items are objects, each from json_item() to json_close(),
 * or words, by json_word(). json_end() closes the list. */
void json_list(struct json *j, const char *name);
void json_item(struct json *j);
void json_word(struct json *j, const char *text);
void json_end(struct json *j);

#endif
