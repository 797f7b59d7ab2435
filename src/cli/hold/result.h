/* SPDX-License-Identifier: MIT */
/* --result-file: the outcome as one line of JSON. */
#ifndef CLI_HOLD_RESULT_H
#define CLI_HOLD_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct result {
	const char *outcome;
	int status;
	const char *key, *token;
	int64_t fence; /* -1: none */
	int slot;      /* -1: none */
	int servers;
	bool host_only;
	int64_t waited_ms, held_ms;
};

/* Call it before anything is done, to report early that the file cannot be
 * written. The file keeps its contents until result_write(). path NULL: no file
 * is wanted, *fd is -1. */
int result_open(int *fd, const char *path, struct fail *why);
void result_write(int fd, const char *path, const struct result *r);

#endif
