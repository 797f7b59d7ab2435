/* SPDX-License-Identifier: MIT */
/* Who can change a file, and who can read it. */
#include "base/trust.h"

#include <sys/statvfs.h>
#include <unistd.h>

static bool is_read_only(int fd, const char *path)
{
	struct statvfs v;
	int rc = fd >= 0 ? fstatvfs(fd, &v) : statvfs(path, &v);

	return rc == 0 && (v.f_flag & ST_RDONLY) != 0;
}

int trust_file(enum trust kind, int fd, const char *what, const char *path,
	       struct stat *st, struct fail *why)
{
	int rc = fd >= 0 ? fstat(fd, st) : stat(path, st);

	if (rc < 0)
		return fail_sys(why, FAIL_CONFIG, "%s'%.150s'", what, path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return fail(why, FAIL_CONFIG,
			    "%s'%.150s' belongs to another user (%lu), who may "
			    "change it: chown it to root or to user %lu",
			    what, path, (unsigned long)st->st_uid,
			    (unsigned long)geteuid());
	if ((st->st_mode & 077) == 0)
		return 0;
	if (kind == TRUST_SECRET && st->st_uid == geteuid() &&
	    !is_read_only(fd, path))
		return fail(why, FAIL_CONFIG,
			    "%s'%.150s' is yours and accessible to others: "
			    "chmod 600 '%.150s'",
			    what, path, path);
	if (st->st_mode & 022)
		return fail(why, FAIL_CONFIG,
			    "%s'%.150s' is writable by others: chmod go-w "
			    "'%.150s'",
			    what, path, path);
	return 0;
}
