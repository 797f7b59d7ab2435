/* SPDX-License-Identifier: MIT */
/*
 * What ps(1) shows for guard and keeper. With redlock's own arguments they
 * would look like the job itself, and one pkill -9 -f would kill redlock and
 * its guard together.
 */
#ifndef PROC_TITLE_H
#define PROC_TITLE_H

#include <stddef.h>

/* Call it once, in main(). Returns a copy of argv to use from then on, never
 * freed: the memory that the kernel shows may be overwritten at any time. NULL:
 * out of memory. */
char **title_init(int argc, char **argv);

/* Overwrites with stars what the kernel shows for `n` bytes of the copy, from
 * `from` on. Does nothing if `from` is not in the copy. */
void title_hide(const char *from, size_t n);

/* Shows "WHAT: WHOSE" in place of this process's arguments. Never a key: pkill
 * -f KEY must not kill redlock and its guard together. */
void title_set(const char *what, const char *whose);

/* ---- descriptors.c ---- */

/* Closes those from first to last. Safe between fork and exec. */
void descriptors_close(unsigned int first, unsigned int last);

#endif
