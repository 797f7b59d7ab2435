/* SPDX-License-Identifier: MIT */
/* What may be shown of a URL: the rest may be a password. */
#ifndef CLI_MASK_H
#define CLI_MASK_H

#include <stddef.h>

/* What was typed, for messages, even if it is no URL. "***" replaces what is or
 * may be a password: all between the scheme and the last "@", and all after
 * "password=" or the name of an unknown option. Returns buf. */
const char *endpoint_masked(const char *url, char buf[160]);

/* How many bytes come before the value of "password=", or of an unknown option,
 * which may be that one misspelt. */
size_t mask_length(const char *text);

#endif
