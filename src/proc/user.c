/* SPDX-License-Identifier: MIT */
/* Whether somebody is at the other end of a pipe or socket. */
#include "proc/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool hup_is_ignored(void)
{
	struct sigaction act;

	return sigaction(SIGHUP, NULL, &act) == 0 && act.sa_handler == SIG_IGN;
}

/* An open pipe would keep x=$(redlock lock ... &) waiting, so we keep a
 * descriptor that refers to it but is not an end of it (O_PATH). */
static int refer_to_pipe(int fd)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_PATH | O_CLOEXEC);
}

/* A pipe at its end may have been a program that has written all it had; then
 * only a reader of our output shows that somebody is there, and a file as
 * output shows nothing. A socket hangs up in both directions at once. */
void user_open(struct user *u)
{
	struct stat in, out;

	*u = (struct user){.in = -1, .out = -1};
	if (fstat(STDIN_FILENO, &in) < 0 || hup_is_ignored() ||
	    (!S_ISFIFO(in.st_mode) && !S_ISSOCK(in.st_mode)))
		return;
	if (fstat(STDOUT_FILENO, &out) < 0)
		out.st_mode = 0;
	if (S_ISFIFO(out.st_mode))
		u->out = refer_to_pipe(STDOUT_FILENO);
	else if (S_ISSOCK(out.st_mode) &&
		 (in.st_dev != out.st_dev || in.st_ino != out.st_ino))
		u->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	u->out_is_pipe = S_ISFIFO(out.st_mode);
	if (u->out >= 0 || (S_ISSOCK(in.st_mode) && !u->out_is_pipe))
		u->in = STDIN_FILENO;
}

static bool has(int fd, short event)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && (p.revents & event);
}

/* A named pipe cannot be opened then, any other can. */
static bool has_no_reader(int pipe)
{
	char path[40];
	bool none;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO;
	none = has(fd, POLLERR);
	close(fd);
	return none;
}

bool user_gone(const struct user *u)
{
	if (u->in < 0 || !has(u->in, POLLHUP))
		return false;
	return u->out < 0 ||
	       (u->out_is_pipe ? has_no_reader(u->out) : has(u->out, POLLHUP));
}
