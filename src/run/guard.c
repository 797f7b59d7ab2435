/* SPDX-License-Identifier: MIT */
/* The guard process. What runs in it, behind guard_main(), neither allocates
 * nor waits for anybody. */
#include "run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "config.h"
#include "run/tree.h"

struct go {
	int64_t fence;
	struct instant start_by;
};

static void on_child(int sig)
{
	(void)sig; /* its coming ends ppoll() */
}

/* In the command's process, between fork and exec. */
static void become_command(const struct order *o, pid_t guard)
{
#ifdef PR_SET_PDEATHSIG
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != guard)
		_exit(127);
#endif
	signals_restore(o->signals);
	(void)execvpe(o->argv[0], o->argv, o->envp);
}

/* vfork: no page tables to copy, and the error comes back through memory.
 * Every signal is blocked, so no handler runs in the shared memory. */
static pid_t start_command(const struct order *o, int *error)
{
	volatile int exec_error = 0;
	pid_t guard = getpid();
	pid_t pid;

#if 1
	pid = vfork();
#else
	pid = fork();
#endif
	if (pid == 0) {
		become_command(o, guard);
		exec_error = errno;
		_exit(127);
	}
	*error = pid < 0 ? errno : exec_error;
	return pid;
}

/* A stopped guard could not kill: the kernel wakes it again and again. A
 * SIGCONT to a running process that does not catch it costs no wake-up. */
static void stay_awake(int64_t every_ms)
{
#if 1
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = SIGCONT};
	struct itimerspec at;
	timer_t timer;

	at.it_value.tv_sec = at.it_interval.tv_sec = (time_t)(every_ms / 1000);
	at.it_value.tv_nsec = at.it_interval.tv_nsec =
		(long)(every_ms % 1000) * 1000000;
	if (timer_create(lease_clock, &event, &timer) == 0)
		(void)timer_settime(timer, 0, &at, NULL);
#else
	(void)every_ms;
#endif
}

static void prepare(const struct order *o)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t most;

	(void)sigaction(SIGCONT, &act, NULL);
	act.sa_handler = on_child;
	(void)sigaction(SIGCHLD, &act, NULL);
	sigfillset(&most);
	sigdelset(&most, SIGCONT);
	(void)sigprocmask(SIG_SETMASK, &most, NULL);
	(void)setpgid(0, 0);
	tree_adopt();
#ifdef PR_SET_PDEATHSIG
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* not by our own name: pkill -9 redlock must not take both */
	(void)prctl(PR_SET_NAME, "lockguard", 0, 0, 0);
#endif
	for (int i = 0; i < o->n_shut; i++)
		close(o->shut[i]);
}

static void send_report(int fd, int news, int value, int left)
{
	struct report r = {news, value, left};

	(void)!write(fd, &r, sizeof(r));
}

/* Redlock is gone, or wants the tree dead. */
static void end_tree(const struct order *o, pid_t tool, pid_t command,
		     int report)
{
	int status = SIGKILL; /* as waitpid() tells "killed" */

	tree_kill(command, &status);
	send_report(report, GUARD_ENDED, status, 0);
	if (getppid() == tool)
		return;
	if (command > 0)
		log_error("%s: redlock (pid %d) was killed, or was stopped "
			  "until its lease ran out; its command was ended "
			  "with it",
			  o->name, (int)tool);
	o->last_will(o->estate);
}

static void watch(const struct order *o, pid_t tool, pid_t command, int life,
		  int report)
{
	struct pollfd fds = {.fd = life, .events = POLLIN};
	sigset_t waiting;
	int status = 0;
	pid_t pid;

	(void)sigprocmask(SIG_SETMASK, NULL, &waiting);
	sigdelset(&waiting, SIGCHLD);
	for (;;) {
		bool ended = false;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != command)
				continue;
			ended = true;
			/* 0: others live on; -1: nobody is left */
			while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
				;
			break;
		}
		if (ended) {
			send_report(report, GUARD_ENDED, status, pid == 0);
			return;
		}
		if (ppoll(&fds, 1, NULL, &waiting) > 0) {
			end_tree(o, tool, command, report);
			return;
		}
	}
}

static void guard_main(const struct order *o, pid_t tool, int life, int report)
{
	struct go go;
	ssize_t n;
	pid_t command;
	int error = 0;

	prepare(o);
	while ((n = read(life, &go, sizeof(go))) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(go)) {
		if (getppid() != tool)
			o->last_will(o->estate);
		return;
	}
	if (!before(now(), go.start_by)) {
		send_report(report, GUARD_TOO_LATE, 0, 0);
		return;
	}
	if (go.fence > 0)
		(void)snprintf(o->fence + strlen(o->fence), 21, "%" PRId64,
			       go.fence);
	else
		for (char **e = o->envp; *e; e++)
			if (*e == o->fence)
				*e = NULL;
	command = start_command(o, &error);
	/* the readers and writers of the command's pipes are its own affair */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (command < 0 || error != 0) {
		send_report(report, GUARD_CANNOT_EXEC, error, 0);
		return;
	}
	stay_awake(o->wake_ms);
	watch(o, tool, command, life, report);
}

int guard_start(struct guard *g, const struct order *o, struct fail *why)
{
	int life[2], report[2];
	pid_t tool = getpid();
	sigset_t all, before;

	if (pipe2(life, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot make a pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		close(life[0]);
		close(life[1]);
		return fail_sys(why, FAIL_INTERNAL, "cannot make a pipe");
	}
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	g->pid = fork();
	if (g->pid == 0) {
		close(life[1]);
		close(report[0]);
		guard_main(o, tool, life[0], report[1]);
		_exit(0);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	close(life[0]);
	close(report[1]);
	g->life = life[1];
	g->report = report[0];
	if (g->pid > 0)
		return 0;
	g->pid = 0;
	(void)fail_sys(why, FAIL_INTERNAL, "cannot fork");
	guard_close(g);
	return -1;
}

void guard_go(struct guard *g, int64_t fence, struct instant start_by)
{
	const struct go go = {fence, start_by};

	(void)!write(g->life, &go, sizeof(go));
	(void)kill(g->pid, SIGCONT); /* should somebody have stopped it */
}

void guard_let_go(struct guard *g)
{
	if (g->life >= 0)
		close(g->life);
	g->life = -1;
	if (g->pid > 0)
		(void)kill(g->pid, SIGCONT);
}

void guard_take(struct guard *g, struct report *out)
{
	ssize_t n;

	while ((n = read(g->report, out, sizeof(*out))) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(*out))
		*out = (struct report){.news = GUARD_LOST};
}

void guard_close(struct guard *g)
{
	guard_let_go(g);
	if (g->report >= 0)
		close(g->report);
	if (g->pid > 0)
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	*g = GUARD_NONE;
}
