/* SPDX-License-Identifier: MIT */
/* --result-file: what became of it, as one line of JSON. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

struct result {
	const char *outcome;
	int status;
	const char *key, *token;
	int64_t fence; /* -1: there is none */
	int slot;      /* likewise */
	int servers;
	bool host_only;
	int64_t waited_ms, held_ms;
};

/* Before anything is done: a file that cannot be written is best said then.
 * Its contents stay until the end. path NULL: none is wanted, *fd is -1. */
int result_open(int *fd, const char *path, struct fail *why);
void result_write(int fd, const char *path, const struct result *r);

#endif
