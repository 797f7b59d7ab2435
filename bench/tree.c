/* SPDX-License-Identifier: MIT */
/*
 * Times from the decision that a command must die to the death of its whole
 * tree.
 *
 *   tree ROUNDS PROCESSES kill|lose SOCKET REDLOCK [OPTION]...
 *
 * Each round runs PROCESSES processes under redlock, each in a session of its
 * own and ignoring every signal it can. Together they hold the write end of one
 * pipe: its end of file is the death of the last. kill: the time starts with
 * kill -9 of redlock. lose: the lock is overwritten on the server; the time
 * starts with the server's "not yours" to the next renewal, as MONITOR shows it
 * (redlock's own message comes after the kill). Prints one number of ms per
 * round.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX 16

static int processes;

static double ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The command: writes one byte per process to descriptor 9, which all keep. */
static int be_tree(void)
{
	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_IGN);
	for (int i = 1; i < processes; i++)
		if (fork() == 0) {
			(void)setsid();
			break;
		}
	(void)!write(9, "", 1);
	for (;;)
		pause();
}

static int say(const char *path, const char *question)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char reply[64];

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ||
	    write(fd, question, strlen(question)) < 0 ||
	    read(fd, reply, sizeof(reply)) <= 0)
		return -1;
	return fd;
}

/* Overwrites the lock, and returns when the holder asks for it again. */
static int lose(const char *path)
{
	int fd = say(path, "SET job stolen PX 9000\r\n");
	char seen[65536];
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	close(fd);
	fd = say(path, "MONITOR\r\n");
	do {
		got = fd < 0 ? -1 : read(fd, seen + n, sizeof(seen) - 1 - n);
		if (got <= 0)
			return -1;
		n += (size_t)got;
		seen[n] = '\0';
	} while (!strcasestr(seen, "\"eval"));
	close(fd);
	return 0;
}

static pid_t start(char **argv, int alive, int said)
{
	char url[256], *run[OPTIONS_MAX + 12] = {argv[5], "-q",  "-u", url,
						 "-k",    "job", "-t", "12s"};
	int n = 8;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)dup2(alive, 9);
	(void)dup2(said, STDERR_FILENO);
	(void)snprintf(url, sizeof(url), "unix://%s", argv[4]);
	for (int i = 6; argv[i]; i++)
		run[n++] = argv[i];
	run[n++] = "--";
	run[n++] = argv[0];
	run[n++] = argv[2];
	execv(argv[5], run);
	_exit(127);
}

static double round_of(char **argv)
{
	int alive[2], said[2];
	char line[512];
	double begin;
	pid_t pid;

	if (pipe2(alive, O_CLOEXEC) < 0 || pipe2(said, O_CLOEXEC) < 0)
		return -1;
	pid = start(argv, alive[1], said[1]);
	close(alive[1]);
	close(said[1]);
	for (int i = 0; i < processes; i++)
		if (read(alive[0], line, 1) != 1)
			return -1;
	if (strcmp(argv[3], "kill") == 0) {
		begin = ms();
		(void)kill(pid, SIGKILL);
	} else {
		if (lose(argv[4]) < 0)
			return -1;
		begin = ms();
	}
	/* redlock and guard have descriptor 9 too, and end after the tree; so
	 * this counts their last steps as well */
	while (read(alive[0], line, sizeof(line)) > 0)
		;
	begin = ms() - begin;
	(void)waitpid(pid, NULL, 0);
	close(alive[0]);
	close(said[0]);
	return begin;
}

int main(int argc, char **argv)
{
	processes = argc > 2 ? atoi(argv[2]) : argc > 1 ? atoi(argv[1]) : 0;
	if (argc == 2 && processes > 0)
		return be_tree();
	if (argc < 6 || argc > 6 + OPTIONS_MAX || processes <= 0)
		return 64;
	for (int i = 0; i < atoi(argv[1]); i++) {
		double took = round_of(argv);

		if (took < 0) {
			(void)fprintf(stderr, "tree: round %d failed\n", i);
			return 1;
		}
		(void)printf("%.3f\n", took);
	}
	return 0;
}
