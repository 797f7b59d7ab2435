/* SPDX-License-Identifier: MIT */
/*
 * Whether a file that somebody named to us may be relied upon: a password, a
 * key, a certificate, a configuration. "Others" are all users but root and us.
 *
 * - What others can change is refused. A file is theirs to change if they own
 *   it or may write to it. (Its folders need no look: a file that others put in
 *   its place belongs to them.)
 * - A secret that others can read is refused if we could prevent that: it
 *   belongs to us, and is not on a read-only mount. Secrets as they are mounted
 *   by Kubernetes (0440 root:fsGroup), Docker (0444 root), systemd (an ACL) are
 *   read as they are: who mounts them decides who reads them.
 */
#ifndef BASE_TRUST_H
#define BASE_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/fail.h"

enum trust { TRUST_PUBLIC, TRUST_SECRET };

/* `what` begins the message: "password file ", or "". fd -1: the file is open
 * elsewhere, look by its path. Fills in *st. Returns -1 with FAIL_CONFIG. */
int trust_file(enum trust kind, int fd, const char *what, const char *path,
	       struct stat *st, struct fail *why);

#endif
