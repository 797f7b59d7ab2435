/* SPDX-License-Identifier: MIT */
/*
 * "did you mean ...?": the name somebody may have wanted to type.
 *
 * A slip is a byte too many, one missing, one wrong, or two neighbours
 * swapped; the case of ASCII letters does not count. As many slips are forgiven
 * as a third of what was typed, and at least one.
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include <stddef.h>

/* The name that begins with what was typed, the shortest of them; else that
 * with the fewest slips, the first of them in a tie. NULL: none is near, or
 * nothing was typed. */
const char *nearest(const char *typed, size_t len, const char *const *names,
		    int n);

#endif
