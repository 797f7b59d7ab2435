/* SPDX-License-Identifier: MIT */
/* Holds a lock for as long as another process lives. */
#include "proc/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/signals.h"
#include "proc/title.h"
#include "proc/tree.h"

#ifndef SYS_pidfd_getfd /* headers before Linux 5.6 */
#define SYS_pidfd_getfd 438
#endif

#define ANSWER_STEP 4096
#define GONE_MS 500

static const int signals[] = {SIGTERM, SIGHUP,  SIGINT, SIGKILL,
			      SIGUSR1, SIGUSR2, SIGQUIT};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

int keeper_signal_named(const char *name)
{
	int sig = signal_number(name);

	if (strcmp(name, "none") == 0)
		return 0;
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == sig)
			return sig;
	return -1;
}

/* (musl, and glibc before 2.36, have no functions for these) */
static int send_signal(int fd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

static bool readable(int fd, struct instant until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	while ((n = poll(&p, 1, poll_ms(until, now()))) < 0 && errno == EINTR)
		;
	return n > 0;
}

int keeper_open(struct keeper *k, pid_t pid, int sig, struct fail *why)
{
	char name[SIGNAL_TEXT];

	*k = (struct keeper){.pid = pid, .sig = sig, .line = -1};
	(void)snprintf(k->whom, sizeof(k->whom), "process %d", (int)pid);
	(void)snprintf(k->will, sizeof(k->will), "%s keeps running", k->whom);
	if (sig > 0)
		(void)snprintf(k->will, sizeof(k->will), "sending %s to %s",
			       signal_text(sig, name), k->whom);
	if (pid == 1)
		return fail(why, FAIL_USAGE,
			    "--keep-for: the end of process 1 (of a container) "
			    "ends the keeper, too, and nobody releases: use "
			    "the run form (redlock -k KEY -- COMMAND), or "
			    "--export without --keep-for, and trap 'redlock "
			    "unlock KEY' EXIT");
	k->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (k->fd < 0 && (errno == ENOSYS || errno == EPERM))
		return fail_sys(
			why, FAIL_INTERNAL,
			"--keep-for: cannot watch a process (needs Linux 5.3)");
	if (k->fd < 0 && (errno == EMFILE || errno == ENFILE ||
			  errno == ENOMEM || errno == ENODEV))
		return fail_sys(why, FAIL_INTERNAL,
				"--keep-for: cannot watch a process");
	if (k->fd < 0 || keeper_gone(k, now()))
		return fail(why, FAIL_USAGE, "--keep-for: no process %d",
			    (int)pid);
	if (send_signal(k->fd, 0) < 0)
		return fail_sys(why, FAIL_USAGE,
				"--keep-for: cannot signal process %d",
				(int)pid);
	return 0;
}

bool keeper_gone(const struct keeper *k, struct instant until)
{
	return readable(k->fd, until);
}

void keeper_tell(const struct keeper *k)
{
	if (k->sig > 0)
		(void)send_signal(k->fd, k->sig);
}

/* ---- in place of a command ---- */

int keeper_wait(const struct keeper *k)
{
	struct signalfd_siginfo info;
	struct pollfd fds[2] = {{.fd = k->fd, .events = POLLIN},
				{.events = POLLIN}};
	sigset_t ends;

	sigemptyset(&ends);
	for (int i = 0; i < SIGNALS; i++)
		sigaddset(&ends, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	fds[1].fd = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			return 0;
		if (read(fds[1].fd, &info, sizeof(info)) > 0)
			keeper_tell(k);
	}
}

int keeper_hold(const struct user *u)
{
	struct pollfd in = {.fd = u->in};

	for (;;) {
		(void)poll(&in, 1, -1); /* for ever, if it is -1 */
		if (user_gone(u))
			return 128 + SIGHUP;
		/* we no longer write to the pipe, so no event says that its
		 * last reader has gone */
		if (in.revents)
			(void)poll(NULL, 0, GONE_MS);
	}
}

/* ---- the two processes ---- */

/* What the process has as standard error: refers to it, but keeps no reader of
 * a pipe waiting (O_PATH). -1: nothing. */
static int voice = -1;
static int voice_of; /* its pidfd */

/* A socket cannot be opened again, nor can what another user has opened. */
static int open_voice(void)
{
	char path[40];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", voice);
	fd = voice < 0 ? -1
		       : open(path, O_WRONLY | O_APPEND | O_NONBLOCK |
					    O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : (int)syscall(SYS_pidfd_getfd, voice_of, 2, 0);
}

/* A file or a terminal, not a pipe or socket. No file system is asked: it may
 * not answer. */
static bool is_same_file(const char *a, const char *b)
{
	char one[PATH_MAX], other[PATH_MAX];
	ssize_t n = readlink(a, one, sizeof(one));

	return n > 0 && one[0] == '/' &&
	       readlink(b, other, sizeof(other)) == n &&
	       memcmp(one, other, (size_t)n) == 0;
}

/* false: its standard error is ours. */
static bool find_voice(const struct keeper *k)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)k->pid);
	if (is_same_file(path, "/proc/self/fd/2"))
		return false;
	voice = open(path, O_PATH | O_CLOEXEC);
	if (voice >= 0 && keeper_gone(k, now())) { /* another one's */
		close(voice);
		voice = -1;
	}
	voice_of = k->fd;
	return true;
}

/* A caller that waits for the end of a pipe, as in x=$(redlock lock ...), would
 * wait as long as we hold it open. Standard error stays open until
 * keeper_quiet(): we may have to wait, and the caller with us. */
static void let_go(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b);
	unsigned int high = (unsigned int)(a < b ? b : a);
	int null;

	descriptors_close(3, low - 1);
	descriptors_close(low + 1, high - 1);
	descriptors_close(high + 1, ~0U);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	close(null);
}

pid_t keeper_leave(struct keeper *k, struct fail *why)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a socket");
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return fail_sys(why, FAIL_INTERNAL, "cannot fork");
	}
	k->line = ends[pid == 0];
	close(ends[pid != 0]);
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, KEEPER, 0, 0, 0);
		(void)setsid();
		(void)!chdir("/");
		let_go(k->line, k->fd);
	}
	return pid;
}

void keeper_quiet(const struct keeper *k)
{
	if (!find_voice(k))
		return;
	log_through(open_voice);
	(void)dup2(STDIN_FILENO, 2); /* /dev/null */
}

bool keeper_hand(const struct keeper *k, const char *answer)
{
	size_t n = strlen(answer) + 1;
	char byte;
	ssize_t done;

	while (n > 0) {
		done = send(k->line, answer, n, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		answer += done;
		n -= (size_t)done;
	}
	while ((done = read(k->line, &byte, 1)) < 0 && errno == EINTR)
		;
	return done == 1;
}

void keeper_thank(const struct keeper *k)
{
	(void)send(k->line, "", 1, MSG_NOSIGNAL);
}

/* Reads what is there. true: the answer is complete. */
static bool read_answer(int line, char **text, size_t *used, bool *broken)
{
	char *more = realloc(*text, *used + ANSWER_STEP);
	ssize_t n;

	*broken = !more;
	if (!more)
		return false;
	*text = more;
	n = read(line, *text + *used, ANSWER_STEP);
	if (n < 0 && errno == EINTR)
		return false;
	*broken = n <= 0;
	if (n > 0)
		*used += (size_t)n;
	return n > 0 && (*text)[*used - 1] == '\0';
}

/* Watch for the end of the process as well: others may hold the pipe open. */
char *keeper_answer(const struct keeper *k, pid_t keeper, int *status)
{
	int fd = (int)syscall(SYS_pidfd_open, keeper, 0), st = 0;
	bool whole = false, broken = false;
	char *text = NULL;
	size_t used = 0;

	while (!whole && !broken) {
		struct pollfd fds[2] = {{.fd = k->line, .events = POLLIN},
					{.fd = fd, .events = POLLIN}};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			whole = read_answer(k->line, &text, &used, &broken);
		else
			break;
	}
	if (fd >= 0)
		close(fd);
	if (whole)
		return text;
	free(text);
	while (waitpid(keeper, &st, 0) < 0 && errno == EINTR)
		;
	*status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	return NULL;
}
