/* SPDX-License-Identifier: MIT */
/*
 * Times whole commands against each other: A B C A B C ..., so that all of
 * them see the same machine. Each command is one argument, split at blanks.
 *
 *   race RUNS COMMAND COMMAND...
 *
 * Prints, per command, the median and the 10th and 90th percentile of wall
 * time, the median CPU time of the command and everything it waited for, and
 * both medians as a ratio to the first command's.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 16
#define WORDS_MAX 64

struct contender {
	char *argv[WORDS_MAX];
	const char *text;
	double *wall, *cpu;
	int failed;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_of(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void run(struct contender *c, int i, posix_spawn_file_actions_t *quiet)
{
	double begin = seconds();
	struct rusage usage = {0};
	int status = 1;
	pid_t pid;

	if (posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ) !=
		    0 ||
	    wait4(pid, &status, 0, &usage) != pid || status != 0)
		c->failed++;
	c->wall[i] = seconds() - begin;
	c->cpu[i] = cpu_of(&usage);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static struct contender c[COMMANDS_MAX];
	posix_spawn_file_actions_t quiet;
	int runs = argc > 2 ? atoi(argv[1]) : 0, n = argc - 2;

	if (runs < 1 || n > COMMANDS_MAX) {
		(void)fprintf(stderr, "usage: race RUNS COMMAND...\n");
		return 64;
	}
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null",
						 O_RDWR, 0);
	for (int k = 0; k < n; k++) {
		int words = 0;

		c[k].text = strdup(argv[k + 2]);
		for (char *w = strtok(argv[k + 2], " ");
		     w && words < WORDS_MAX - 1; w = strtok(NULL, " "))
			c[k].argv[words++] = w;
		c[k].wall = calloc((size_t)runs, sizeof(double));
		c[k].cpu = calloc((size_t)runs, sizeof(double));
	}
	for (int i = -3; i < runs; i++)
		for (int k = 0; k < n; k++)
			run(&c[k], i < 0 ? 0 : i, &quiet);
	(void)printf("%8s %8s %8s %8s %6s %6s\n", "wall ms", "p10", "p90",
		     "cpu ms", "wall:1", "cpu:1");
	for (int k = 0; k < n; k++) {
		qsort(c[k].wall, (size_t)runs, sizeof(double), ascending);
		qsort(c[k].cpu, (size_t)runs, sizeof(double), ascending);
		(void)printf(
			"%8.3f %8.3f %8.3f %8.3f %6.3f %6.3f  %s",
			c[k].wall[runs / 2] * 1e3, c[k].wall[runs / 10] * 1e3,
			c[k].wall[runs * 9 / 10] * 1e3,
			c[k].cpu[runs / 2] * 1e3,
			c[k].wall[runs / 2] / c[0].wall[runs / 2],
			c[k].cpu[runs / 2] / c[0].cpu[runs / 2], c[k].text);
		(void)printf(c[k].failed ? "  (%d FAILED)\n" : "\n",
			     c[k].failed);
	}
	return 0;
}
