/* SPDX-License-Identifier: MIT */
/* A small init. */
#include "proc/init.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocked, not caught: a signal that process 1 ignores would be lost. */
static void serve(pid_t child, const sigset_t *all)
{
	for (;;) {
		siginfo_t info;
		int status;
		pid_t pid;

		if (sigwaitinfo(all, &info) < 0)
			continue;
		/* the terminal's own reached the child as well */
		if (info.si_signo != SIGCHLD && info.si_code <= 0)
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
