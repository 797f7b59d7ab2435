/* SPDX-License-Identifier: MIT */
/* The directory of local:, and what lies in it. */
#include "local/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ident.h"

#define STEP_MS 2
#define UNMAPPED 65534 /* /proc/sys/kernel/overflowuid */
#define AOF "aof."
#define AOF_GONE AOF "gone"

static void pause_a_step(void)
{
	const struct timespec step = {0, STEP_MS * 1000000L};

	(void)nanosleep(&step, NULL);
}

/* ---- whose it is ---- */

/* In /tmp, anybody may create anything under any name. */
static int check(const char *dir, const struct stat *st, struct fail *why)
{
	if (!S_ISDIR(st->st_mode))
		return fail(why, FAIL_CONFIG,
			    "local: '%s' is %s, not a directory", dir,
			    S_ISLNK(st->st_mode) ? "a symbolic link"
						 : "a file");
	if (st->st_uid != geteuid())
		return fail(why, FAIL_CONFIG,
			    "local: '%s' belongs to user %lu, not to user %lu: "
			    "remove it, or use another directory with "
			    "local:?dir=PATH",
			    dir, (unsigned long)st->st_uid,
			    (unsigned long)geteuid());
	if (st->st_mode & 077)
		return fail(
			why, FAIL_CONFIG,
			"local: '%s' is accessible to others: chmod 700 '%s'",
			dir, dir);
	return 0;
}

/* A user who can rename in a directory above can replace ours. */
static int check_above(const char *dir, struct fail *why)
{
	char path[SOCKET_MAX];
	char *slash;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s", dir);
	while ((slash = strrchr(path, '/'))) {
		slash[slash == path] = '\0';
		if (stat(path, &st) < 0)
			return fail_sys(
				why, FAIL_CONFIG, "local: cannot %s '%s'",
				errno == ENOENT ? "create" : "use", dir);
		/* (root is UNMAPPED in a user namespace that does not have it)
		 */
		if ((st.st_uid != 0 && st.st_uid != geteuid() &&
		     st.st_uid != UNMAPPED) ||
		    (st.st_mode & 022 && !(st.st_mode & S_ISVTX)))
			return fail(why, FAIL_CONFIG,
				    "local: others may rename what is in "
				    "'%.150s', and so replace '%.150s': use "
				    "another directory with local:?dir=PATH",
				    path, dir);
		if (slash == path)
			break;
	}
	return 0;
}

static void name_dir(const char *socket, char dir[SOCKET_MAX])
{
	(void)snprintf(dir, SOCKET_MAX, "%.*s",
		       (int)(strrchr(socket, '/') - socket), socket);
}

int localdir_make(const char *socket, struct fail *why)
{
	char dir[SOCKET_MAX];
	struct stat st;

	name_dir(socket, dir);
	if (check_above(dir, why) < 0)
		return -1;
	if (lstat(dir, &st) == 0)
		return check(dir, &st, why);
	if (errno != ENOENT)
		return fail_sys(why, FAIL_CONFIG, "local: '%s'", dir);
	if (mkdir(dir, 0700) == 0)
		(void)chmod(dir, 0700); /* whatever the umask says */
	else if (errno != EEXIST)
		return fail_sys(why, FAIL_CONFIG, "local: cannot create '%s'",
				dir);
	if (lstat(dir, &st) < 0)
		return fail_sys(why, FAIL_CONFIG, "local: '%s'", dir);
	return check(dir, &st, why);
}

/* ---- locks ---- */

int localdir_lock(const char *socket, struct instant deadline)
{
	char name[SOCKET_MAX + sizeof(".lock")];

	(void)snprintf(name, sizeof(name), "%s.lock", socket);
	for (;;) {
		int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			      0600);
		int error;

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
			(void)fchmod(fd, 0600); /* whatever the umask says */
			return fd;
		}
		error = errno;
		if (fd >= 0)
			close(fd);
		if ((error != EWOULDBLOCK && error != EINTR) ||
		    !before(now(), deadline)) {
			errno = error;
			return -1;
		}
		pause_a_step();
	}
}

static int take_lock(int fd, const char *dir, struct instant deadline,
		     struct fail *why)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fail_sys(why, FAIL_CONFIG,
					"local: cannot lock '%s'", dir);
		if (!before(now(), deadline))
			return fail(why, FAIL_UNAVAILABLE,
				    "local: '%s' is in use by a server that "
				    "cannot be reached",
				    dir);
		pause_a_step();
	}
	return 0;
}

int localdir_enter(const char *socket, struct instant deadline,
		   struct fail *why)
{
	char dir[SOCKET_MAX];
	struct stat st;
	int fd;

	name_dir(socket, dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || fchdir(fd) < 0)
		(void)fail_sys(why, FAIL_CONFIG, "local: '%s'", dir);
	else if (check(dir, &st, why) == 0 &&
		 take_lock(fd, dir, deadline, why) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- the append-only file ---- */

/* The list of files: Redis 8.0 writes it once more when it ends. */
static bool is_manifest(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".manifest") == 0;
}

/* Adds up the lengths of the files, and removes them if asked to. Follows no
 * link. */
static int64_t walk(int at, const char *name, bool removes)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct stat st = {.st_size = 0};
	int64_t sum = 0;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		if (!is_manifest(name) &&
		    fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			sum = st.st_size;
		if (removes)
			(void)unlinkat(at, name, 0);
		return sum;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			sum += walk(fd, e->d_name, removes);
	(void)closedir(d);
	if (removes)
		(void)unlinkat(at, name, AT_REMOVEDIR);
	return sum;
}

int64_t localdir_length(const char *name)
{
	return walk(AT_FDCWD, name, false);
}

/* (A server that finds a part of its file does not start.) */
void localdir_forget(const char *name)
{
	(void)walk(AT_FDCWD, AOF_GONE, true);
	if (rename(name, AOF_GONE) == 0)
		(void)walk(AT_FDCWD, AOF_GONE, true);
}

static void name_this_boot(char name[LOCALDIR_AOF_MAX])
{
	char id[BOOT_ID_SIZE];
	bool known = boot_id(id) == 0;

	(void)snprintf(name, LOCALDIR_AOF_MAX, AOF "%s", known ? id : "0");
}

int localdir_aof(char name[LOCALDIR_AOF_MAX])
{
	DIR *d = opendir(".");
	struct dirent *e;

	name_this_boot(name);
	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, AOF, sizeof(AOF) - 1) == 0 &&
		    strcmp(e->d_name, name) != 0)
			(void)walk(AT_FDCWD, e->d_name, true);
	if (d)
		(void)closedir(d);
	if (mkdir(name, 0700) == 0)
		return 0;
	return errno == EEXIST ? 1 : -1;
}
