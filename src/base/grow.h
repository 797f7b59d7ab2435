/* SPDX-License-Identifier: MIT */
/* Lists that grow. */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more in a list of `used` elements, of `size` bytes each.
 * `list`: where the pointer to it is; NULL: no room yet. false: out of memory,
 * and nothing has changed. */
bool grow(void *list, int used, int *room, size_t size);

#endif
