/* SPDX-License-Identifier: MIT */
/* What others may see of us while we hold a lock. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "base/ident.h"
#include "cli/opts.h"
#include "lock/script.h"

struct description {
	char host[HOST_SIZE], pid[16], user[64], command[128], ci_url[256];
	struct holder holder; /* points into the above, and at the reason */
};

/* Host, pid, user, the command's name but never its arguments, the reason, and
 * the CI job's link; all empty with --no-describe. */
void describe(struct description *d, const struct opts *o, const char *command);

#endif
