/* SPDX-License-Identifier: MIT */
/* What to type against a key that is no good. */
#ifndef CLI_DOCTOR_KEYCURE_H
#define CLI_DOCTOR_KEYCURE_H

#include <stddef.h>

#include "cli/doctor/findings.h"

#define CURED_KEY_MAX 200
#define TYPED_MAX (4 * CURED_KEY_MAX + 6)

/* The key as an operand in a shell; "KEY" if it cannot be typed, or is too
 * long. Returns buf. */
const char *key_typed(const char *key, size_t len, char *buf, size_t size);

/* Adds to a finding how to delete the fence counter of this key. */
void cure_fence(struct findings *found, const char *key, size_t len, int db);

#endif
