/* SPDX-License-Identifier: MIT */
/* The settings of the terminal. */
#include "run/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void terminal_save(struct terminal *t)
{
	t->known = tcgetattr(STDIN_FILENO, &t->settings) == 0;
}

void terminal_restore(const struct terminal *t)
{
	sigset_t ttou, old;
	int tty;

	tty = t->known ? open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
	if (tty < 0)
		return;
	/* or we would be stopped, should the foreground be lost meanwhile */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &ttou, &old);
	if (tcgetpgrp(tty) == getpgrp())
		(void)tcsetattr(tty, TCSANOW, &t->settings);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(tty);
}
