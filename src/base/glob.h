/* SPDX-License-Identifier: MIT */
/*
 * Patterns as Redis has them (KEYS, SCAN MATCH): "*" any bytes, "?" any one,
 * "[abc]", "[a-z]" and "[^a]" one of these, or none of them, and "\" before a
 * byte that means itself. All of it is bytes, which may be any.
 *
 * It takes time in proportion to both lengths, whatever the pattern: Redis' own
 * way needs ages for a few stars.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool glob_match(const char *pattern, size_t pattern_len, const char *text,
		size_t len);

#endif
