/* SPDX-License-Identifier: MIT */
/*
 * "did you mean ...?": finds the name that the user may have meant.
 *
 * A typo is one byte too many, one missing, one wrong, or two neighbours
 * swapped; the case of ASCII letters does not count. The number of typos
 * allowed is a third of the length typed, and at least one.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* The shortest name that begins with what was typed; else the one with the
 * fewest typos, the first in a tie. NULL: none is near, or nothing was typed.
 */
const char *suggest(const char *typed, size_t len, const char *const *names,
		    int n);

#endif
