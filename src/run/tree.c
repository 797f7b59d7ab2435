/* SPDX-License-Identifier: MIT */
/* Descendants. Runs in the guard: no allocation, no stdio but snprintf. */
#include "run/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define DEPTH_MAX 200     /* deeper ones follow when their parents are dead */
#define AGAIN_NS 10000000 /* another look, should a SIGCHLD be missed */
#define GUARDS_MS 800     /* for the guards of nested runs to give back */

#define FOUND_MAX 2048

struct sweep {
	int sig;
	bool spare;   /* the guards of nested runs */
	bool pass;    /* by keepers, and all that is below them */
	int passed;   /* so many */
	pid_t *found; /* only found, and not signalled, while there is room */
	int n;
};

void tree_adopt(bool yes)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, yes, 0, 0, 0);
}

static int signal_below(pid_t pid, struct sweep *s, int depth);

/* By its name, and by running what we run. */
static bool is_ours(pid_t pid, const char *line)
{
	char path[64], name[16] = "";
	struct stat its, ours;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return n > 0 && strcmp(name, line) == 0 && stat(path, &its) == 0 &&
	       stat("/proc/self/exe", &ours) == 0 &&
	       its.st_ino == ours.st_ino && its.st_dev == ours.st_dev;
}

static int meet(pid_t pid, struct sweep *s)
{
	if (s->found && s->n < FOUND_MAX) {
		s->found[s->n++] = pid;
		return 0;
	}
	return !(s->spare && is_ours(pid, "lockguard\n")) &&
	       kill(pid, s->sig) == 0;
}

/* The list is read in one go where it fits: while it is read in pieces,
 * children that end can make it skip others. The caller looks again anyway. */
static int signal_listed(int fd, struct sweep *s, int depth)
{
	char text[4096];
	int count = 0;
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 0 && s->pass && is_ours(pid, KEEPER "\n")) {
				s->passed++;
			} else if (pid > 0) {
				count += meet(pid, s);
				count += signal_below(pid, s, depth + 1);
			}
			pid = 0;
		}
	}
	return count;
}

static int signal_below(pid_t pid, struct sweep *s, int depth)
{
	char path[64];
	struct dirent *e;
	int count = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!tasks)
		return 0;
	while ((e = readdir(tasks))) {
		int fd;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path),
			       "/proc/%d/task/%.20s/children", (int)pid,
			       e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		count += signal_listed(fd, s, depth);
		close(fd);
	}
	closedir(tasks);
	return count;
}

/* Found first, then signalled: a shell that dies of the signal at once hands
 * its children to us, behind what was read of our own. What was forked in
 * between is found by a second look, where the signal is to end them all. */
int tree_signal(pid_t root, int sig)
{
	pid_t found[FOUND_MAX], more[FOUND_MAX];
	struct sweep s = {.sig = sig, .found = found};
	struct sweep late = {.sig = sig, .found = more};
	int count = signal_below(root, &s, 0);

	for (int i = 0; i < s.n; i++)
		count += kill(found[i], sig) == 0;
	if (sig != SIGTERM && sig != SIGINT)
		return count;
	(void)signal_below(root, &late, 0);
	for (int i = 0; i < late.n; i++) {
		int k = 0;

		while (k < s.n && found[k] != more[i])
			k++;
		if (k == s.n)
			count += kill(more[i], sig) == 0;
	}
	return count;
}

bool tree_is_keepers(void)
{
	struct sweep s = {.pass = true};

	return signal_below(getpid(), &s, 0) == 0 && s.passed > 0;
}

void tree_kill(pid_t leader, int *status)
{
	const struct timespec again = {0, AGAIN_NS};
	struct instant guards = after(now(), GUARDS_MS);
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	for (;;) {
		int st;
		pid_t pid;

		if (leader > 0)
			(void)kill(leader, SIGKILL);
		/* each as it is met: fork() fails from then on */
		(void)signal_below(
			getpid(),
			&(struct sweep){.sig = SIGKILL,
					.spare = before(now(), guards)},
			0);
		while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
			if (pid != leader)
				continue;
			*status = st;
			leader = 0;
		}
		if (pid < 0 && errno == ECHILD)
			return;
		(void)sigtimedwait(&chld, NULL, &again);
	}
}

bool tree_visible(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		       (int)getpid());
	return access(path, R_OK) == 0;
}
