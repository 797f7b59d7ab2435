/* SPDX-License-Identifier: MIT */
/*
 * How wide text is on a terminal: East Asian characters and pictures take two
 * columns, combining ones none. A byte that is no UTF-8 counts as one. What the
 * terminal's own tables say may differ for a few; nothing may break then.
 */
#ifndef BASE_COLUMNS_H
#define BASE_COLUMNS_H

#include <stddef.h>

int columns_of(const char *text);

/* So many bytes of it fit into so many columns. */
size_t columns_fit(const char *text, int columns);

#endif
