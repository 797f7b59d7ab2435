/* SPDX-License-Identifier: MIT */
/* The settings of the terminal. */
#include "proc/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int open_tty(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void terminal_save(struct terminal *t)
{
	int tty = open_tty();

	t->known = tty >= 0 && tcgetattr(tty, &t->settings) == 0;
	t->front = t->known && tcgetpgrp(tty) == getpgrp();
	if (tty >= 0)
		close(tty);
}

/* A killed command with job control of its own (bash -i, set -m) leaves the
 * terminal without a foreground group; then reading from it fails with EIO. */
static bool is_deserted(int tty)
{
	pid_t group = tcgetpgrp(tty);

	return group > 0 && kill(-group, 0) < 0 && errno == ESRCH;
}

/* Otherwise we would be stopped if we lose the foreground meanwhile. */
static void block_ttou(sigset_t *old)
{
	sigset_t ttou;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &ttou, old);
}

void terminal_restore(const struct terminal *t)
{
	int tty = t->known ? open_tty() : -1;
	sigset_t old;

	if (tty < 0)
		return;
	block_ttou(&old);
	if (t->front && is_deserted(tty))
		(void)tcsetpgrp(tty, getpgrp());
	if (tcgetpgrp(tty) == getpgrp())
		(void)tcsetattr(tty, TCSANOW, &t->settings);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(tty);
}

pid_t terminal_foreground(void)
{
	int tty = open_tty();
	pid_t group;

	if (tty < 0)
		return -1;
	group = tcgetpgrp(tty);
	close(tty);
	return group;
}

void terminal_hand_to(pid_t group)
{
	int tty = open_tty();
	sigset_t old;

	if (tty < 0)
		return;
	block_ttou(&old);
	if (tcgetpgrp(tty) == getpgrp())
		(void)tcsetpgrp(tty, group);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(tty);
}
