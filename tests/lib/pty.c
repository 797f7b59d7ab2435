/* SPDX-License-Identifier: MIT */
/*
 * Runs a command on a new pseudo-terminal and plays the user.
 *
 *   pty STEP... -- COMMAND [ARG]...
 *
 *   wait:TEXT    until the terminal has shown TEXT (after the last one found)
 *   file:PATH    until PATH exists
 *   gone:PID     until that process has ended
 *   send:KEYS    \n is Return, ^C Ctrl-C, ^Z Ctrl-Z, ^D end of input, ...
 *   run:COMMAND  sh -c COMMAND, outside of the terminal
 *   size:ROWSxCOLS   if it comes first, the command starts with this size
 *   hangup       the terminal goes away
 *
 * The output of the terminal goes to stdout. Ends with the command, with its
 * exit status or 128 + signal; with 124 if a step fails for 10 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static int master;
static pid_t child;
static char shown[1 << 20];
static size_t n_shown, found;
static int open_still = 1;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void give_up(const char *step)
{
	(void)fprintf(stderr, "pty: in vain for %d s: %s\n", PATIENCE_MS / 1000,
		      step);
	if (master >= 0)
		close(master); /* SIGHUP for the rest */
	(void)kill(child, SIGKILL);
	exit(124);
}

/* A little time, and what was shown meanwhile. */
static void listen_ms(int ms)
{
	struct pollfd p = {.fd = open_still ? master : -1, .events = POLLIN};
	char bytes[4096];
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return;
	n = read(master, bytes, sizeof(bytes));
	if (n <= 0) {
		/* EIO: nobody has the other end open */
		open_still = 0;
		return;
	}
	if (write(STDOUT_FILENO, bytes, (size_t)n) < 0)
		exit(98);
	if (n_shown + (size_t)n < sizeof(shown)) {
		memcpy(shown + n_shown, bytes, (size_t)n);
		n_shown += (size_t)n;
	}
}

static int has_shown(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = found; i + n <= n_shown; i++)
		if (memcmp(shown + i, text, n) == 0) {
			found = i + n;
			return 1;
		}
	return 0;
}

static void send_keys(const char *keys)
{
	for (; *keys; keys++) {
		char c = *keys;

		if (c == '\\' && keys[1] == 'n') {
			c = '\n';
			keys++;
		} else if (c == '^' && keys[1] >= '@' && keys[1] <= '_') {
			c = (char)(keys[1] - '@');
			keys++;
		}
		if (write(master, &c, 1) != 1)
			return;
	}
}

static void resize(const char *text)
{
	struct winsize size = {0};
	unsigned short rows = 0, columns = 0;

	if (sscanf(text, "%hux%hu", &rows, &columns) != 2)
		exit(64);
	size.ws_row = rows;
	size.ws_col = columns;
	(void)ioctl(master, TIOCSWINSZ, &size);
}

static int run_outside(const char *command, long long deadline)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ms() < deadline) {
			(void)poll(NULL, 0, 2);
			continue;
		}
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		return -1;
	}
	return status;
}

static void play(const char *step)
{
	long long deadline = now_ms() + PATIENCE_MS;
	const char *arg = strchr(step, ':');

	arg = arg ? arg + 1 : "";
	if (strncmp(step, "send:", 5) == 0) {
		send_keys(arg);
	} else if (strncmp(step, "size:", 5) == 0) {
		resize(arg);
	} else if (strncmp(step, "run:", 4) == 0) {
		if (run_outside(arg, deadline) != 0)
			give_up(step);
	} else if (strcmp(step, "hangup") == 0) {
		close(master);
		master = -1;
		open_still = 0;
	} else {
		for (;;) {
			if (strncmp(step, "wait:", 5) == 0 && has_shown(arg))
				return;
			if (strncmp(step, "file:", 5) == 0 &&
			    access(arg, F_OK) == 0)
				return;
			if (strncmp(step, "gone:", 5) == 0 &&
			    kill((pid_t)atoi(arg), 0) < 0)
				return;
			if (now_ms() > deadline)
				give_up(step);
			listen_ms(5);
			if (!open_still)
				(void)poll(NULL, 0, 5);
		}
	}
}

static void become_command(char **argv)
{
	int slave;

	(void)setsid();
	slave = open(ptsname(master), O_RDWR);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		_exit(97);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(slave, fd);
	if (slave > 2)
		close(slave);
	/* a shell ignores them in what it runs in the background, which may be
	 * the whole suite */
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	(void)execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	int steps = 1, next = 1, status = 0;
	long long deadline;

	while (steps < argc && strcmp(argv[steps], "--") != 0)
		steps++;
	if (steps + 1 >= argc)
		return 64;
	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
		perror("pty");
		return 97;
	}
	resize("24x80");
	while (next < steps && strncmp(argv[next], "size:", 5) == 0)
		play(argv[next++]);
	child = fork();
	if (child == 0)
		become_command(argv + steps + 1);
	while (next < steps)
		play(argv[next++]);
	deadline = now_ms() + PATIENCE_MS;
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (now_ms() > deadline)
			give_up("the end of the command");
		listen_ms(5);
		if (!open_still)
			(void)poll(NULL, 0, 5);
	}
	while (open_still) {
		size_t before = n_shown;

		listen_ms(20); /* what is on its way still */
		if (n_shown == before)
			break;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}
