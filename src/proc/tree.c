/* SPDX-License-Identifier: MIT */
/* Finds descendants. Runs in the guard: no allocation, no stdio except
 * snprintf. */
#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
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
#include "base/units.h"

#define AGAIN_NS 10000000 /* look again, in case a SIGCHLD was missed */
#define GUARDS_MS 800     /* for the guards of nested runs to give back */

#define SAMPLE 100      /* takes 1 to 2 ms */
#define FOUND_MAX 32768 /* three lists: strict overcommit counts them */
#define REFUSED_MS 50   /* this long, only these were left */
#define MANY 64         /* children: do not list them after each death */
#define PF_EXITING 0x4  /* a flag of the kernel's, in its stat */

/* Not for the thread that renews. */
static pid_t queue[FOUND_MAX];

/* See tree_open(). Until then paths in /proc are absolute. */
static int proc = AT_FDCWD;
static struct {
	int list; /* of the children of this thread; or -1 */
	pid_t pid;
} own = {-1, 0};

/* One walk over a tree. Its list is a queue: each process found waits there
 * until its own children are looked for. So stack and descriptors stay the
 * same, however deep the tree is. */
struct sweep {
	int sig;           /* for each one, as soon as it is found; 0: none */
	bool spare;        /* the guards of nested runs */
	bool pass;         /* started by keepers, and all below them */
	int passed;        /* their number */
	bool running;      /* those that have ended do not count */
	int asked;         /* how many were asked whether they have */
	int ended;         /* how many had */
	bool living;       /* dying ones do not count, and the first that does
			      is enough */
	struct instant by; /* stop then */
	bool cut;          /* it stopped, or the list was full */
	pid_t *found;      /* NULL: only the children, not what is below */
	int n;
	_Atomic int *beat; /* or NULL */
	struct reach reach;
};

void tree_adopt(bool yes)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, yes, 0, 0, 0);
}

/* What openat(2) takes besides `proc`, of a path that begins with /proc/. */
static const char *below(const char *path)
{
	return proc == AT_FDCWD ? path : path + strlen("/proc/");
}

int tree_proc(const char *path, int flags)
{
	return openat(proc, below(path), flags | O_CLOEXEC);
}

uid_t tree_owner(pid_t pid)
{
	char path[32];
	struct stat its;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return fstatat(proc, below(path), &its, 0) == 0 ? its.st_uid
							: (uid_t)-1;
}

/* -1: it is gone. */
static int read_stat(pid_t pid, char *line, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = tree_proc(path, O_RDONLY);
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

int tree_birth(pid_t pid, pid_t *parent, unsigned long *started)
{
	char line[512];
	const char *state;

	if (read_stat(pid, line, sizeof(line)) < 0)
		return -1;
	state = strrchr(line, ')');
	*parent = (pid_t)field(state, 4);
	*started = field(state, 22);
	return state ? 0 : -1;
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

/* Where the program of a process lies, as the kernel knows it: that asks no
 * file system, as stat(2) would, and the program's own may be dead. */
static bool program_of(const char *process, char program[PATH_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%s/exe", process);
	n = readlinkat(proc, below(link), program, PATH_MAX - 1);
	program[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* By its name, and by running what we run. */
static bool is_ours(pid_t pid, const char *line)
{
	char path[64], name[16] = "", number[16];
	char its[PATH_MAX], ours[PATH_MAX];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = tree_proc(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	return n > 0 && strcmp(name, line) == 0 && program_of(number, its) &&
	       program_of("self", ours) && strcmp(its, ours) == 0;
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

/* Such a process runs no program. Its stat says it as well, but takes five
 * times as long to read. */
static bool has_ended(pid_t pid)
{
	char path[32], first;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return readlinkat(proc, below(path), &first, 1) < 0 &&
	       errno == ENOENT && is_dying(pid);
}

/* Its session does not tell: it has none of its own while its run waits for the
 * lock, or is just starting the command. */
static bool is_guard(pid_t pid)
{
	return is_ours(pid, "lockguard\n");
}

static void meet(pid_t pid, struct sweep *s)
{
	if (s->pass && is_keeper(pid)) {
		s->passed++;
		return;
	}
	if (s->sig == 0 || (s->spare && is_guard(pid)))
		s->reach.met += !s->living || !is_dying(pid);
	else
		send(pid, s->sig, &s->reach);
	if (s->beat)
		atomic_fetch_add(s->beat, 1);
	if (s->found && s->n < FOUND_MAX)
		s->found[s->n++] = pid;
	else
		s->cut = true;
}

/* Reads the list in one go if it fits: when it is read in pieces, children that
 * end can make the kernel skip others. The caller looks again anyway. */
static void meet_listed(int fd, struct sweep *s)
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
			if (pid > 0)
				meet(pid, s);
			pid = 0;
		}
	}
}

/* The children of one thread. */
static void meet_children_of(pid_t pid, const char *thread, struct sweep *s)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children",
		       (int)pid, thread);
	fd = tree_proc(path, O_RDONLY);
	if (fd < 0)
		return;
	meet_listed(fd, s);
	close(fd);
}

/* Our own, even if no descriptor is to be had. */
static bool meet_own(struct sweep *s)
{
	if (own.list < 0 || own.pid != getpid() ||
	    lseek(own.list, 0, SEEK_SET) < 0)
		return false;
	meet_listed(own.list, s);
	return true;
}

/* The kernel's format. opendir() would need memory, and we may have to kill
 * because there is none. */
struct entry {
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static void meet_children(pid_t pid, struct sweep *s)
{
	_Alignas(struct entry) char listed[1024];
	char path[64], met[16] = ""; /* a thread */
	long n;
	int fd;

	if (pid == getpid() && meet_own(s))
		(void)snprintf(met, sizeof(met), "%d", (int)pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = tree_proc(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return;
	while ((n = syscall(SYS_getdents64, fd, listed, sizeof(listed))) > 0) {
		const struct entry *e;

		for (long at = 0; at < n; at += e->size) {
			e = (const struct entry *)(void *)(listed + at);
			if (e->name[0] != '.' && strcmp(e->name, met) != 0)
				meet_children_of(pid, e->name, s);
		}
	}
	close(fd);
}

static void walk(pid_t root, struct sweep *s)
{
	meet_children(root, s);
	for (int i = 0; i < s->n; i++) {
		if (s->living && s->reach.met > 0)
			return;
		if (!before(now(), s->by)) {
			s->cut = true;
			return;
		}
		/* not when it was met: between thousands of children of one
		 * process nobody looks at the time */
		if (s->running && has_ended(s->found[i]))
			s->ended++;
		else
			meet_children(s->found[i], s);
		s->asked++;
	}
}

static int by_pid(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* In the order of their numbers, and each once: one that was handed on during
 * the walk may have been found twice. */
static void sort(struct sweep *s)
{
	int n = 0;

	qsort(s->found, (size_t)s->n, sizeof(*s->found), by_pid);
	for (int i = 0; i < s->n; i++)
		if (i == 0 || s->found[i] != s->found[i - 1])
			s->found[n++] = s->found[i];
	s->n = n;
}

static bool was_found(const struct sweep *s, pid_t pid)
{
	return bsearch(&pid, s->found, (size_t)s->n, sizeof(pid), by_pid);
}

/* Finds all first, then signals: a shell that dies at once hands its children
 * to us, behind the part of our own list that was read. A second look finds
 * what was forked in between, if the signal is meant to end them all. */
void tree_signal(pid_t root, int sig, const struct manner *how,
		 struct reach *out)
{
	static pid_t found[FOUND_MAX];
	struct sweep s = {.found = found, .by = how->by};
	struct sweep late = {.found = queue, .by = how->by};

	*out = (struct reach){0};
	if (how->by.ms != NEVER.ms)
		s.by = after(now(), between(now(), how->by) / 2);
	walk(root, &s);
	sort(&s);
	for (int i = 0; i < s.n; i++)
		send_but(found[i], sig, how->spared, out);
	if (sig == SIGTERM || sig == SIGINT || how->ends) {
		walk(root, &late);
		sort(&late);
		for (int i = 0; i < late.n; i++)
			if (!was_found(&s, queue[i]))
				send_but(queue[i], sig, how->spared, out);
	}
	for (int i = 0; how->wake && i < s.n; i++)
		(void)kill(found[i], SIGCONT);
	for (int i = 0; how->wake && i < late.n; i++)
		(void)kill(queue[i], SIGCONT);
	if (out->refused > 0)
		out->uid = tree_owner(out->pid);
}

void tree_strike(pid_t root, bool spare, struct instant by)
{
	struct sweep s = {
		.sig = SIGKILL, .spare = spare, .found = queue, .by = by};

	walk(root, &s);
}

int tree_count(pid_t root, struct instant by)
{
	static pid_t found[FOUND_MAX];
	struct sweep s = {.running = true, .found = found, .by = by};
	int64_t rest, ended = 0;

	walk(root, &s);
	rest = s.n - s.asked;
	for (int i = 0; rest > 0 && i < SAMPLE; i++)
		ended += has_ended(found[s.asked + rest * i / SAMPLE]);
	return s.reach.met - s.ended - (int)(rest * ended / SAMPLE);
}

bool tree_is_alive(pid_t root)
{
	struct sweep s = {
		.pass = true, .living = true, .found = queue, .by = NEVER};

	walk(root, &s);
	return s.reach.met > 0;
}

bool tree_is_keepers(void)
{
	struct sweep s = {.pass = true, .found = queue, .by = NEVER};

	walk(getpid(), &s);
	return s.reach.met == 0 && s.passed > 0;
}

/* Reaps all that have ended. False: we have no child left. */
static bool reap(pid_t *leader, int *status)
{
	pid_t pid;
	int its;

	while ((pid = waitpid(-1, &its, WNOHANG)) > 0) {
		if (pid != *leader)
			continue;
		*status = its;
		*leader = 0;
	}
	return !(pid < 0 && errno == ECHILD);
}

/* Our own children are killed first, again and again: one that dies hands its
 * children to us, so nothing else need be read of a tree that dies at once.
 * What is below a child that does not die (a nested guard, a process that hangs
 * in the kernel) is found by a walk: at once, and then each time the kill has
 * taken twice as long, for half of that time. */
bool tree_kill(pid_t leader, _Atomic int *beat, struct instant by, int *status,
	       struct reach *out)
{
	const struct timespec again = {0, AGAIN_NS};
	struct instant began = now(), refused = NEVER, deep = began;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	for (;;) {
		struct instant at = now();
		int64_t took = between(began, at);
		bool whole = !before(at, deep);
		/* signal each at once: its fork() fails from then on */
		struct sweep s = {.sig = SIGKILL,
				  .spare = took < GUARDS_MS,
				  .found = whole ? queue : NULL,
				  .by = after(at, 1 + took / 2),
				  .beat = beat};

		if (leader > 0)
			(void)kill(leader, SIGKILL);
		walk(getpid(), &s);
		if (!reap(&leader, status))
			return true;
		if (whole)
			deep = after(now(), 1 + took);
		if (whole && (s.cut || s.reach.refused == 0 ||
			      s.reach.refused < s.reach.met))
			refused = NEVER;
		else if (whole)
			refused = sooner(refused, after(now(), REFUSED_MS));
		if (!before(now(), refused)) {
			*out = s.reach;
			out->uid = tree_owner(out->pid);
			return false;
		}
		if (!before(now(), by)) {
			out->refused = 0;
			return false;
		}
		(void)sigtimedwait(&chld, NULL, &again);
		if (s.reach.met > MANY)
			(void)poll(NULL, 0, 1);
	}
}

int tree_open(void)
{
	char path[64];

	if (own.pid == getpid())
		return 0;
	if (own.list >= 0)
		close(own.list); /* of our parent */
	own.list = -1;
	if (proc == AT_FDCWD) {
		int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return -1;
		proc = fd;
	}
	/* (in a guard that was just forked: no stdio) */
	(void)add_text(add_number(add_text(path, "/proc/self/task/"), getpid()),
		       "/children");
	own.list = tree_proc(path, O_RDONLY);
	own.pid = own.list < 0 ? 0 : getpid();
	return own.list < 0 ? -1 : 0;
}

const char *tree_trouble(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		       (int)getpid());
	if (faccessat(proc, below(path), R_OK, 0) == 0)
		return NULL;
	if (faccessat(proc, below("/proc/self/stat"), R_OK, 0) < 0)
		return "it is not mounted";
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)getpid());
	if (faccessat(proc, below(path), X_OK, 0) < 0)
		return "it belongs to another PID namespace";
	return "the kernel has no CONFIG_PROC_CHILDREN";
}

bool tree_is_veiled(void)
{
	/* it is always there */
	return faccessat(proc, below("/proc/1"), F_OK, 0) < 0;
}
