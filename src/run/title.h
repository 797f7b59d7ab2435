/* SPDX-License-Identifier: MIT */
/*
 * What ps(1) shows of guard and keeper. With redlock's own arguments they would
 * look like the job itself, and pkill -9 -f would take redlock and its guard at
 * one blow.
 */
#ifndef RUN_TITLE_H
#define RUN_TITLE_H

/* Once, in main(). What is still needed of argv must be copied. */
void title_init(int argc, char **argv);

/* "WHAT: WHOM" in place of this process's arguments. */
void title_set(const char *what, const char *whom);

#endif
