/* SPDX-License-Identifier: MIT */
/*
 * A command that just goes on, in one process: a shell loop with sleep would
 * start a process every few milliseconds, in hundreds of tests.
 *
 *   linger              until it is killed
 *   linger until FILE   until FILE is there
 *   linger while FILE   as long as it is there
 *   linger many N FILE  until it is killed, with N children that do the same;
 *                       makes FILE when all are there
 *   linger ended N FILE as long as FILE is there, with N children that have
 *                       ended and are not reaped
 *   linger stop US MS PID...  stops these processes every US microseconds, for
 *                       MS milliseconds
 *   linger storm PID SIGNAL FILE   sends that process the signal as long as it
 *                       is there; FILE is made after the first thousand
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool goes_on(const char *how, const char *file)
{
	bool there = access(file, F_OK) == 0;

	return strcmp(how, "while") == 0 ? there : !there;
}

static int many(int n, const char *file)
{
	for (int i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == -1)
			return 70;
		if (child == 0)
			for (;;)
				(void)pause();
	}
	if (open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) == -1)
		return 73;
	for (;;)
		(void)pause();
}

static int ended(int n, const char *file)
{
	const struct timespec pause_for = {0, 10000000};

	for (int i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child == -1)
			return 70;
	}
	while (access(file, F_OK) == 0)
		(void)nanosleep(&pause_for, NULL);
	return 0;
}

static int stop(long us, long ms, int n, char **pids)
{
	const struct timespec pause_for = {0, us * 1000};
	struct timespec began, at;

	(void)clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		for (int i = 0; i < n; i++)
			(void)kill(atoi(pids[i]), SIGSTOP);
		(void)nanosleep(&pause_for, NULL);
		(void)clock_gettime(CLOCK_MONOTONIC, &at);
	} while ((at.tv_sec - began.tv_sec) * 1000 +
			 (at.tv_nsec - began.tv_nsec) / 1000000 <
		 ms);
	return 0;
}

static int storm(pid_t pid, int sig, const char *file)
{
	for (long n = 0; kill(pid, sig) == 0 || errno == EAGAIN; n++)
		if (n == 1000 &&
		    open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) == -1)
			return 73;
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec pause_for = {0, 10000000};

	if (argc == 1)
		for (;;)
			(void)pause();
	if (argc == 4 && strcmp(argv[1], "many") == 0)
		return many(atoi(argv[2]), argv[3]);
	if (argc == 4 && strcmp(argv[1], "ended") == 0)
		return ended(atoi(argv[2]), argv[3]);
	if (argc >= 5 && strcmp(argv[1], "stop") == 0)
		return stop(atol(argv[2]), atol(argv[3]), argc - 4, argv + 4);
	if (argc == 5 && strcmp(argv[1], "storm") == 0)
		return storm(atoi(argv[2]), atoi(argv[3]), argv[4]);
	if (argc != 3 ||
	    (strcmp(argv[1], "until") != 0 && strcmp(argv[1], "while") != 0))
		return 64;
	while (goes_on(argv[1], argv[2]))
		(void)nanosleep(&pause_for, NULL);
	return 0;
}
