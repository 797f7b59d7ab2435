/* SPDX-License-Identifier: MIT */
/*
 * What ps(1) shows of guard and keeper. With redlock's own arguments they would
 * look like the job itself, and pkill -9 -f would take redlock and its guard at
 * one blow.
 */
#ifndef RUN_TITLE_H
#define RUN_TITLE_H

#include <stddef.h>

/* Once, in main(). Returns a copy of argv, for good, to be used in its place:
 * what the kernel shows may then be written over at any time. NULL: no memory.
 */
char **title_init(int argc, char **argv);

/* What the kernel shows of this argument, of the copy, becomes stars from there
 * on: `n` bytes of it. An address that is not in the copy is passed over. */
void title_hide(const char *from, size_t n);

/* "WHAT: WHOSE" in place of this process's arguments. Never a key: pkill -f KEY
 * must not take redlock and its guard at one blow. */
void title_set(const char *what, const char *whose);

#endif
