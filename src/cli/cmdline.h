/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef CLI_CMDLINE_H
#define CLI_CMDLINE_H

#include "base/fail.h"
#include "cli/opts.h"

/* Reads the command line, which is the last source, and checks the whole. The
 * first word is a verb unless it begins with a dash. argv is not const: a URL
 * with a password in it is overwritten, so that ps(1) does not show it; and the
 * guard writes its title over all of argv. Returns -1: see *why. */
int cmdline_parse(struct opts *o, int argc, char **argv, struct fail *why);

#endif
