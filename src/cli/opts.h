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
#include "run/supervise.h"

enum opts_verb { VERB_RUN, VERB_HELP, VERB_VERSION };

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Filled once, then const. key, url and password_file are copies; the other
 * strings point into argv. Keys are in the order of the command line, each
 * once. */
struct opts {
	enum opts_verb verb;
	char *key[LOCKS_MAX];
	int keys;
	int64_t ttl_ms, wait_ms, grace_ms; /* wait: INT64_MAX: for ever */
	bool allow_long_ttl, supersede, shared;
	int slots;
	int64_t max_hold_ms, min_hold_ms, once_ms; /* 0: none */
	int64_t max_renewals;                      /* -1: any */
	enum orphans orphans;
	int64_t max_waiters; /* -1: any */
	int conflict_status;
	char *url; /* NULL: not asked for anywhere */
	char *password_file;
	const char *user;
	int64_t node_timeout_ms;
	const char *reason, *result_file;
	bool no_describe, run_anyway;
	int loudness; /* -1: -q, 0, 1: -v */
	bool log_json;
	enum color color;
	const char *shell_command;
	char **command; /* NULL-terminated; NULL with -c */
};

/* argv is not const: a URL in it that holds a password is overwritten, so that
 * ps(1) does not show it; and the guard writes its own title over all of it.
 * Close *o also after a failure. */
int opts_parse(struct opts *o, int argc, char **argv, struct fail *why);
void opts_close(struct opts *o);

void opts_help(FILE *out);

#endif
