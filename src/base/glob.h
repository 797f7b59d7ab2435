/* SPDX-License-Identifier: MIT */
/*
 * Patterns as Redis has them (KEYS, SCAN MATCH): "*" matches any bytes, "?" any
 * one byte, "[abc]", "[a-z]" and "[^a]" one byte that is or is not in the set;
 * "\" takes away the meaning of the next byte. Pattern and text are bytes of
 * any value.
 *
 * The time is proportional to the product of both lengths, whatever the
 * pattern. Redis' own algorithm takes ages for a few stars.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool glob_match(const char *pattern, size_t pattern_len, const char *text,
		size_t len);

#endif
