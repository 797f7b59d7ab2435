/* SPDX-License-Identifier: MIT */
/*
 * How wide text is on a terminal: East Asian characters and pictures take two
 * columns, combining ones none. A byte that is not UTF-8 counts as one. The
 * terminal's own tables may differ for a few characters; nothing may break if
 * they do.
 */
#ifndef BASE_COLUMNS_H
#define BASE_COLUMNS_H

#include <stddef.h>

int columns_of(const char *text);

/* How many bytes of the text fit into that many columns. */
size_t columns_fit(const char *text, int columns);

/* The width of the terminal at fd; 0: not a terminal, or unknown. */
int columns_at(int fd);

#endif
