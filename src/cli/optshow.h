/* SPDX-License-Identifier: MIT */
/* The options that are in force, and where each comes from. */
#ifndef CLI_OPTSHOW_H
#define CLI_OPTSHOW_H

#include <stdio.h>

#include "cli/opts.h"

/* Writes "ttl = 5m  (FILE:LINE)" for each option that was given. */
void opt_show(const struct opts *o, FILE *out);
/* Writes "ttl = 30s  (default)" for each option that was not, if it is valid in
 * a file. */
void opt_show_defaults(const struct opts *o, FILE *out);

#endif
