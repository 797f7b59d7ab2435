/* SPDX-License-Identifier: MIT */
/* The namespaces, and the init in them. Neither allocates. */
#include "proc/contain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/title.h"

#define STACK_BYTES ((size_t)64 * 1024)
#define FOR_ALL 0x6c6f636b /* comes with a signal that is for all */

/* What the init reports. */
enum news_kind {
	NEWS_SET_UP,  /* value: step; left: /proc is the old one; or error */
	NEWS_BORN,    /* by the command's process itself: the kernel adds who */
	NEWS_STARTED, /* or error: it cannot be executed */
	NEWS_STATUS   /* value: as waitpid() has it */
};
struct news {
	int kind, value, left, error;
};

/* Steps of the setup, for messages. */
enum step { STEP_CLONE, STEP_MAP, STEP_MOUNT, STEP_GUARD, STEP_FORK };

struct making {
	struct birth *birth; /* NULL: only set up */
	int line, guards;    /* the two ends */
	bool user;           /* a user namespace as well */
	uid_t uid;
	gid_t gid;
};

static void say(int line, struct news w)
{
	(void)!send(line, &w, sizeof(w), MSG_NOSIGNAL);
}

/* ---- setting up, in the init ---- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Maps each id to itself. Without the right to map groups, setgroups(2) must be
 * given up first. */
static int map(const struct making *b)
{
	char uid[48], gid[48];

	(void)snprintf(uid, sizeof(uid), "%u %u 1", b->uid, b->uid);
	(void)snprintf(gid, sizeof(gid), "%u %u 1", b->gid, b->gid);
	if (write_file("/proc/self/uid_map", uid) < 0 ||
	    (write_file("/proc/self/setgroups", "deny") < 0 &&
	     errno != ENOENT) ||
	    write_file("/proc/self/gid_map", gid) < 0)
		return -1;
	return 0;
}

/* Mounts made by the command still show outside; this one must not. */
static bool mount_proc(void)
{
	return mount(NULL, "/proc", NULL, MS_PRIVATE | MS_REC, NULL) == 0 &&
	       mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     NULL) == 0;
}

/* After the last change of credentials, which would clear it. */
static bool die_with_guard(const struct making *b)
{
	struct pollfd line = {.fd = b->line};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return poll(&line, 1, 0) == 0;
}

static int set_up(const struct making *b, struct news *w)
{
	w->value = STEP_MAP;
	if (b->user && map(b) < 0)
		return -1;
	w->left = !mount_proc();
	w->value = STEP_GUARD;
	errno = ESRCH;
	return die_with_guard(b) ? 0 : -1;
}

/* ---- the init ---- */

/* True: others live on. */
static bool reap(int line, pid_t command, bool *ended, int *status)
{
	pid_t pid;
	int its;

	while ((pid = waitpid(-1, &its, WNOHANG | WUNTRACED | WCONTINUED)) >
	       0) {
		if (pid != command)
			continue;
		if (WIFSTOPPED(its) || WIFCONTINUED(its)) {
			say(line, (struct news){NEWS_STATUS, its, 0, 0});
			continue;
		}
		*ended = true;
		*status = its;
	}
	return pid == 0;
}

/* Blocked, not caught: a signal that process 1 ignores would be lost. */
static void serve(int line, pid_t command)
{
	bool ended = false, told = false;
	int status = 0;
	sigset_t all;

	sigfillset(&all);
	for (;;) {
		bool left = reap(line, command, &ended, &status);
		siginfo_t info;

		if (ended && !told)
			say(line, (struct news){NEWS_STATUS, status, left, 0});
		told = ended;
		if (ended && !left)
			_exit(0);
		/* a sender outside the namespace has no number here */
		if (sigwaitinfo(&all, &info) <= 0 || info.si_pid != 0 ||
		    info.si_signo == SIGCHLD)
			continue;
		if (info.si_code == SI_QUEUE &&
		    info.si_value.sival_int == FOR_ALL)
			(void)kill(-1, info.si_signo);
		else if (info.si_code == SI_USER && !ended)
			(void)kill(command, info.si_signo);
	}
}

static pid_t start(const struct making *b, int *error)
{
	const struct news born = {.kind = NEWS_BORN};
	volatile int exec_error = 0;
	pid_t init = getpid();
	pid_t pid = vfork(); /* NOLINT(*.vfork): see guardproc.c */

	if (pid == 0) {
		/* NOLINTNEXTLINE(*.Vfork): see guardproc.c */
		say(b->line, born);
		b->birth->become(b->birth->what, init);
		exec_error = errno;
		_exit(127);
	}
	*error = pid < 0 ? errno : exec_error;
	return pid;
}

static int init_main(void *arg)
{
	const struct making *b = arg;
	struct news w = {.kind = NEWS_SET_UP};
	char number[16];
	int error = 0;
	pid_t command;

	close(b->guards);
	if (set_up(b, &w) < 0)
		w.error = errno;
	if (w.error || !b->birth) {
		say(b->line, w);
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		close(b->birth->shut[i]);
	(void)prctl(PR_SET_NAME, "lockinit", 0, 0, 0);
	(void)snprintf(number, sizeof(number), "%d", (int)b->birth->tool);
	title_set("lockinit", number);
	command = start(b, &error);
	say(b->line, (struct news){command < 0 ? NEWS_SET_UP : NEWS_STARTED,
				   STEP_FORK, 0, error});
	if (error)
		_exit(0);
	for (int fd = 0; fd <= 2; fd++) /* the command's own affair */
		close(fd);
	serve(b->line, command);
	return 0;
}

/* ---- outside ---- */

/* Like fork(), which cannot make namespaces. Not unshare(): after it, forking
 * fails once the init is dead. */
static pid_t make_init(struct making *b)
{
	static _Alignas(16) char stack[STACK_BYTES];
	int flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
	pid_t pid = clone(init_main, stack + sizeof(stack), flags, b);

	if (pid >= 0 || errno != EPERM)
		return pid;
	b->user = true;
	return clone(init_main, stack + sizeof(stack), flags | CLONE_NEWUSER,
		     b);
}

/* Reads the next report and its sender. False: there is none. */
static bool hear(int line, int flags, struct news *w, pid_t *whose)
{
	char room[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec io = {w, sizeof(*w)};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	struct ucred its = {0};
	ssize_t n;

	do
		n = recvmsg(line, &m, flags);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*w))
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
		memcpy(&its, CMSG_DATA(c), sizeof(its));
	*whose = its.pid;
	return true;
}

/* Returns the guard's end, or -1 with errno. */
static int bear(struct making *b, pid_t *init)
{
	const int yes = 1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	(void)setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
	b->guards = ends[0];
	b->line = ends[1];
	b->uid = geteuid();
	b->gid = getegid();
	*init = make_init(b);
	close(ends[1]);
	if (*init > 0)
		return ends[0];
	b->line = errno;
	close(ends[0]);
	errno = b->line;
	return -1;
}

int contain_check(bool *old_proc, struct fail *why)
{
	static const char *const steps[] = {
		[STEP_CLONE] = "create a PID namespace",
		[STEP_MAP] = "map users into a namespace",
		[STEP_GUARD] = "create a PID namespace",
	};
	struct making b = {.birth = NULL};
	struct news w = {.value = STEP_CLONE, .error = EIO};
	pid_t init, whose;
	int line = bear(&b, &init);

	if (line < 0) {
		w.error = errno;
	} else {
		(void)hear(line, 0, &w, &whose);
		close(line);
		(void)waitpid(init, NULL, 0);
	}
	*old_proc = w.left;
	if (w.error == 0)
		return 0;
	errno = w.error;
	return fail_sys(
		why, FAIL_INTERNAL,
		"--contain: user %u may not %s here (see user_namespaces(7))",
		(unsigned int)geteuid(), steps[w.value]);
}

int contain_start(struct contained *c, struct birth *b)
{
	struct making m = {.birth = b};
	struct news w = {.kind = NEWS_SET_UP, .error = EIO};
	pid_t whose;

	c->command = 0;
	c->line = bear(&m, &c->init);
	if (c->line < 0) {
		b->no_start = true;
		b->error = errno;
		return -1;
	}
	do {
		if (!b->await(b->with, c->line)) {
			(void)kill(c->init, SIGKILL);
			return 0;
		}
		if (!hear(c->line, 0, &w, &whose) || w.kind != NEWS_BORN)
			break;
		c->command = whose;
	} while (true);
	if (w.kind == NEWS_BORN) /* it was killed */
		w = (struct news){.kind = NEWS_SET_UP, .error = EIO};
	b->no_start = w.kind == NEWS_SET_UP;
	b->error = w.error;
	if (w.error == 0)
		return 0;
	close(c->line);
	(void)waitpid(c->init, NULL, 0);
	return -1;
}

void contain_signal(pid_t init, int sig)
{
	(void)sigqueue(init, sig, (union sigval){.sival_int = FOR_ALL});
}

bool contain_hear(const struct contained *c, int *status, bool *left)
{
	struct news w = {.kind = NEWS_STATUS};
	pid_t whose;

	if (!hear(c->line, MSG_DONTWAIT, &w, &whose))
		return false;
	*status = w.value;
	*left = w.left;
	return true;
}
