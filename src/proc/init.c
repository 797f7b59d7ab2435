/* SPDX-License-Identifier: MIT */
/* A small init. */
#include "proc/init.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/title.h"

/* The terminal's keys reach the child as well, which is in the same group; only
 * the leader of the session, process 1, hears that the terminal has gone. */
static bool is_for_child(const siginfo_t *info)
{
	int sig = info->si_signo;

	return sig != SIGCHLD &&
	       (info->si_code <= 0 || sig == SIGHUP || sig == SIGCONT);
}

/* Blocked, not caught: a signal that process 1 ignores would be lost. */
static void serve(pid_t child, const sigset_t *all)
{
	/* or a pipe would stay open after the command has closed it */
	descriptors_close(0, ~0U);
	for (;;) {
		siginfo_t info;
		int status;
		pid_t pid;

		if (sigwaitinfo(all, &info) < 0)
			continue;
		if (is_for_child(&info))
			(void)kill(child, info.si_signo);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				_exit(WIFSIGNALED(status)
					      ? 128 + WTERMSIG(status)
					      : WEXITSTATUS(status));
	}
}

static bool is_above;

bool init_is_above(void)
{
	return is_above;
}

void init_split(void)
{
	struct sigaction act = {.sa_handler = SIG_DFL}, old;
	sigset_t all, before;
	pid_t child;

	if (getpid() != 1)
		return;
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	(void)sigaction(SIGCHLD, &act, &old);
	child = fork();
	if (child > 0)
		serve(child, &all);
	is_above = child == 0;
	/* the child; or fork() failed, and one process does it all */
	(void)sigaction(SIGCHLD, &old, NULL);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}
