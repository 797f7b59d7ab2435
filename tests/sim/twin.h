/* SPDX-License-Identifier: MIT */
/* A twin is the scripts with a rule left out: edits of their texts. */
#ifndef SIM_TWIN_H
#define SIM_TWIN_H

#include "redis.h"

#define TWIN_EDITS 6

/* Ends the program unless each of the edits fits a script, and in none at two
 * places: a rule that is no longer written like that cannot be broken like
 * that. */
void twin_must_fit(const char *name, const struct redis_edit *edits);

/* The text of a file, to be freed; NULL: none. */
char *twin_text(const char *path);

/* The scripts that have a file of their name (ACQUIRE, ...) in the directory
 * are those files from now on. */
void twin_use(const char *dir);

#endif
