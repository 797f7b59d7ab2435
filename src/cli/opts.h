/* SPDX-License-Identifier: MIT */
/*
 * The option table: getopt's strings, --help and the check of the manual and
 * the completions all come from it.
 */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"

enum opts_verb { VERB_RUN, VERB_HELP, VERB_VERSION };

/* Filled once, then const. Strings point into argv or environ. */
struct opts {
	enum opts_verb verb;
	const char *key;
	int64_t ttl_ms, wait_ms, grace_ms; /* wait: INT64_MAX: for ever */
	bool allow_long_ttl;
	int conflict_status;
	const char *url; /* NULL: not asked for anywhere */
	const char *user, *password_file;
	int64_t node_timeout_ms;
	const char *reason, *result_file;
	bool no_describe, run_anyway;
	int loudness; /* -1: -q, 0, 1: -v */
	const char *shell_command;
	char **command; /* NULL-terminated; NULL with -c */
};

/* argv is not const: a URL in it that holds a password is kept elsewhere and
 * overwritten, so that ps(1) does not show it. */
int opts_parse(struct opts *o, int argc, char **argv, struct fail *why);

void opts_help(FILE *out);

#endif
