/* SPDX-License-Identifier: MIT */
/* A small JSON writer into a fixed buffer: one object, one level. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

/* Each writes `"name":value`, with a comma before it unless it is the first
 * behind "{". Bytes that are not UTF-8 become U+FFFD, and *_bytes then adds
 * "name_b64" with the exact bytes. */
void json_text(FILE *f, const char *name, const char *text);
void json_bytes(FILE *f, const char *name, const char *bytes, size_t n);
void json_number(FILE *f, const char *name, int64_t value);

#endif
