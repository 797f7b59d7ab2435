/* SPDX-License-Identifier: MIT */
/* --help. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

struct command;

/* Prints the usage of a verb, or of the run form (cmd_run). */
void help_print(const struct command *verb, FILE *out);

#endif
