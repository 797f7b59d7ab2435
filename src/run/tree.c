/* SPDX-License-Identifier: MIT */
/* Finds descendants. Runs in the guard: no allocation, no stdio except
 * snprintf. */
#include "run/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define DEPTH_MAX 200     /* deeper ones follow when their parents are dead */
#define AGAIN_NS 10000000 /* look again, in case a SIGCHLD was missed */
#define GUARDS_MS 800     /* for the guards of nested runs to give back */

#define FOUND_MAX 65536 /* memory that is not touched costs nothing */
#define REFUSED_MS 50   /* this long, only these were left */
#define PF_EXITING 0x4  /* a flag of the kernel's, in its stat */

struct sweep {
	int sig;
	bool spare;   /* the guards of nested runs */
	bool pass;    /* started by keepers, and all processes below them */
	bool doomed;  /* dying processes pass as well, those below them not */
	int passed;   /* their number */
	pid_t *found; /* only found, and not signalled, while there is room */
	int n;
	struct reach reach;
};

void tree_adopt(bool yes)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, yes, 0, 0, 0);
}

static void signal_below(pid_t pid, struct sweep *s, int depth);

uid_t tree_owner(pid_t pid)
{
	char path[32];
	struct stat its;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &its) == 0 ? its.st_uid : (uid_t)-1;
}

/* -1: it is gone. */
static int read_stat(pid_t pid, char *line, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, line, size - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

/* The field that proc_pid_stat(5) gives this number; `state`: before the
 * third. 0: there is none. */
static unsigned long field(const char *state, int number)
{
	unsigned long value = 0;

	for (int i = 2; state && i < number; i++)
		state = strchr(state + 1, ' ');
	for (state = state ? state + 1 : ""; *state >= '0' && *state <= '9';
	     state++)
		value = value * 10 + (unsigned long)(*state - '0');
	return value;
}

bool tree_is_stopped(pid_t pid)
{
	char line[128];
	const char *state;

	if (read_stat(pid, line, sizeof(line)) < 0)
		return false;
	state = strrchr(line, ')'); /* the name may have some as well */
	return state && strncmp(state, ") T", 3) == 0;
}

static void send(pid_t pid, int sig, struct reach *r)
{
	r->met++;
	if (kill(pid, sig) == 0 || errno != EPERM)
		return;
	r->refused++;
	r->pid = pid;
}

static void send_but(pid_t pid, int sig, pid_t spared, struct reach *r)
{
	if (spared > 0 && getpgid(pid) == spared)
		r->met++;
	else
		send(pid, sig, r);
}

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

static bool is_keeper(pid_t pid)
{
	return is_ours(pid, KEEPER "\n") || is_ours(pid, LOCKSERVER "\n");
}

/* Its last thread is on its way out, or a signal that ends it is pending: the
 * kernel notes that as SIGKILL, whichever it was. */
static bool is_dying(pid_t pid)
{
	unsigned long flags, threads, pending;
	char line[1024];
	const char *state;

	if (read_stat(pid, line, sizeof(line)) < 0)
		return true;
	state = strrchr(line, ')'); /* the name may have some as well */
	if (!state)
		return false;
	flags = field(state, 9);
	threads = field(state, 20);
	pending = field(state, 31);
	return (flags & PF_EXITING && threads <= 1) ||
	       pending & 1UL << (SIGKILL - 1);
}

static void meet(pid_t pid, struct sweep *s)
{
	if (s->found && s->n < FOUND_MAX)
		s->found[s->n++] = pid;
	else if (!(s->spare && is_ours(pid, "lockguard\n")))
		send(pid, s->sig, &s->reach);
	else
		s->reach.met++;
}

/* Reads the list in one go if it fits: when it is read in pieces, children that
 * end can make the kernel skip others. The caller looks again anyway. */
static void signal_listed(int fd, struct sweep *s, int depth)
{
	char text[4096];
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 0 && s->pass && is_keeper(pid)) {
				s->passed++;
			} else if (pid > 0) {
				if (!s->doomed || !is_dying(pid))
					meet(pid, s);
				signal_below(pid, s, depth + 1);
			}
			pid = 0;
		}
	}
}

/* Signals the children of one thread. */
static void signal_children(pid_t pid, const char *thread, struct sweep *s,
			    int depth)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children",
		       (int)pid, thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	signal_listed(fd, s, depth);
	close(fd);
}

/* As the kernel writes them. (opendir() needs memory, and we may have to kill
 * because there is none.) */
struct entry {
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static void signal_below(pid_t pid, struct sweep *s, int depth)
{
	_Alignas(struct entry) char listed[1024];
	char path[64];
	long n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = depth < DEPTH_MAX ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			       : -1;
	if (fd < 0)
		return;
	while ((n = syscall(SYS_getdents64, fd, listed, sizeof(listed))) > 0) {
		const struct entry *e;

		for (long at = 0; at < n; at += e->size) {
			e = (const struct entry *)(void *)(listed + at);
			if (e->name[0] != '.')
				signal_children(pid, e->name, s, depth);
		}
	}
	close(fd);
}

static int by_pid(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* Finds all first, then signals: a shell that dies at once hands its children
 * to us, behind the part of our own list that was read. A second look finds
 * what was forked in between, if the signal is meant to end them all. */
void tree_signal(pid_t root, int sig, pid_t spared, struct reach *out)
{
	static pid_t found[FOUND_MAX], more[FOUND_MAX];
	struct sweep s = {.sig = sig, .found = found};
	struct sweep late = {.sig = sig, .found = more};

	signal_below(root, &s, 0);
	for (int i = 0; i < s.n; i++)
		send_but(found[i], sig, spared, &s.reach);
	if (sig == SIGTERM || sig == SIGINT) {
		signal_below(root, &late, 0);
		qsort(found, (size_t)s.n, sizeof(*found), by_pid);
		for (int i = 0; i < late.n; i++)
			if (!bsearch(&more[i], found, (size_t)s.n,
				     sizeof(*found), by_pid))
				send_but(more[i], sig, spared, &s.reach);
	}
	*out = s.reach;
	if (out->refused > 0)
		out->uid = tree_owner(out->pid);
}

bool tree_is_alive(pid_t root)
{
	struct sweep s = {.pass = true, .doomed = true};

	signal_below(root, &s, 0);
	return s.reach.met > 0;
}

bool tree_is_keepers(void)
{
	struct sweep s = {.pass = true};

	signal_below(getpid(), &s, 0);
	return s.reach.met == 0 && s.passed > 0;
}

bool tree_kill(pid_t leader, int *status, struct reach *out)
{
	const struct timespec again = {0, AGAIN_NS};
	struct instant guards = after(now(), GUARDS_MS), refused = NEVER;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	for (;;) {
		struct sweep s = {.sig = SIGKILL,
				  .spare = before(now(), guards)};
		int st;
		pid_t pid;

		if (leader > 0)
			(void)kill(leader, SIGKILL);
		/* signal each at once: its fork() fails from then on */
		signal_below(getpid(), &s, 0);
		while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
			if (pid != leader)
				continue;
			*status = st;
			leader = 0;
		}
		if (pid < 0 && errno == ECHILD)
			return true;
		if (s.reach.refused == 0 || s.reach.refused < s.reach.met)
			refused = NEVER;
		else
			refused = sooner(refused, after(now(), REFUSED_MS));
		if (!before(now(), refused)) {
			*out = s.reach;
			out->uid = tree_owner(out->pid);
			return false;
		}
		(void)sigtimedwait(&chld, NULL, &again);
	}
}

const char *tree_trouble(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		       (int)getpid());
	if (access(path, R_OK) == 0)
		return NULL;
	if (access("/proc/self/stat", R_OK) < 0)
		return "it is not mounted";
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)getpid());
	if (access(path, X_OK) < 0)
		return "it belongs to another PID namespace";
	return "the kernel has no CONFIG_PROC_CHILDREN";
}

bool tree_is_veiled(void)
{
	return access("/proc/1", F_OK) < 0; /* it is always there */
}
