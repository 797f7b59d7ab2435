/* SPDX-License-Identifier: MIT */
/* What others may see of us while we hold a lock. */
#ifndef CLI_HOLD_DESCRIBE_H
#define CLI_HOLD_DESCRIBE_H

#include "base/ident.h"
#include "proc/process.h"
#include "cli/opts.h"
#include "lock/wire/about.h"

struct description {
	char host[HOST_SIZE], pid[16], user[64], command[128], ci_url[256];
	char process[PROCESS_ID_SIZE];
	struct holder holder; /* points to these, and to the reason in opts */
};

/* Fills in host, pid, user, the command's name but never its arguments, the
 * reason, and the link of the CI job. All are empty with --no-describe.
 * And the id of this process, which tells only our descendants something. */
void describe(struct description *d, const struct opts *o, const char *command);

#endif
