/* SPDX-License-Identifier: MIT */
/*
 * Times whole commands against each other: A B C B A C ..., so that all of
 * them see the same machine, and each comes after each other as often: what
 * runs behind a small command finds warmer caches. Each command is one
 * argument, split at blanks.
 *
 *   race [-l] RUNS COMMAND...
 *
 * Prints, per command, the median and the 10th and 90th percentile of wall
 * time, and the median CPU time of the command and everything it waited for;
 * then how they compare with the first command: the difference of the medians
 * in microseconds, and ratios. -l: the second command is the least that is
 * possible, and one more ratio is that to it. Last, the median of the page
 * faults, which do not depend on what else runs.
 *
 * Every command must end with 0: one that does not ends the race.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
	double *wall, *cpu, *faults;
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

static void must_be_0(const struct contender *c, int i, int status)
{
	if (status == 0)
		return;
	(void)fflush(stdout);
	(void)fprintf(stderr, "race: run %d of '%s': %s %d\n", i + 1, c->text,
		      WIFSIGNALED(status) ? "signal" : "status",
		      WIFSIGNALED(status) ? WTERMSIG(status)
					  : WEXITSTATUS(status));
	exit(1);
}

static void run(struct contender *c, int i, posix_spawn_file_actions_t *quiet)
{
	double begin = seconds();
	struct rusage usage = {0};
	int status, error;
	pid_t pid;

	error = posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ);
	if (error || wait4(pid, &status, 0, &usage) != pid) {
		(void)fprintf(stderr, "race: cannot run '%s': %s\n", c->text,
			      strerror(error ? error : errno));
		exit(1);
	}
	must_be_0(c, i, status);
	i = i < 0 ? 0 : i; /* only a warm-up */
	c->wall[i] = seconds() - begin;
	c->cpu[i] = cpu_of(&usage);
	c->faults[i] = (double)(usage.ru_minflt + usage.ru_majflt);
}

/* Each once, in an order of chance; always the same. */
static void run_all(struct contender c[], int n, int i,
		    posix_spawn_file_actions_t *quiet)
{
	static int order[COMMANDS_MAX];

	for (int k = 0; k < n; k++) {
		int at = (int)(random() % (k + 1));

		order[k] = order[at];
		order[at] = k;
	}
	for (int k = 0; k < n; k++)
		run(&c[order[k]], i, quiet);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void split(struct contender *c, char *command, int runs)
{
	int words = 0;

	c->text = strdup(command);
	for (char *w = strtok(command, " "); w && words < WORDS_MAX - 1;
	     w = strtok(NULL, " "))
		c->argv[words++] = w;
	c->wall = calloc((size_t)runs, sizeof(double));
	c->cpu = calloc((size_t)runs, sizeof(double));
	c->faults = calloc((size_t)runs, sizeof(double));
}

static void print(const struct contender *c, int n, int runs, bool limit)
{
	int half = runs / 2, tenth = runs / 10;

	(void)printf("%8s %8s %8s %8s %6s %6s %6s %6s", "wall ms", "p10", "p90",
		     "cpu ms", "+us", ":first", "p10", "cpu");
	(void)printf(limit ? " :limit faults\n" : " faults\n");
	for (int k = 0; k < n; k++) {
		(void)printf("%8.3f %8.3f %8.3f %8.3f %+6.0f %6.2f %6.2f %6.2f",
			     c[k].wall[half] * 1e3, c[k].wall[tenth] * 1e3,
			     c[k].wall[runs * 9 / 10] * 1e3,
			     c[k].cpu[half] * 1e3,
			     (c[k].wall[half] - c[0].wall[half]) * 1e6,
			     c[k].wall[half] / c[0].wall[half],
			     c[k].wall[tenth] / c[0].wall[tenth],
			     c[k].cpu[half] / c[0].cpu[half]);
		if (limit)
			(void)printf(" %6.2f",
				     c[k].wall[half] / c[1].wall[half]);
		(void)printf(" %6.0f  %s\n", c[k].faults[half], c[k].text);
	}
}

int main(int argc, char **argv)
{
	static struct contender c[COMMANDS_MAX];
	posix_spawn_file_actions_t quiet;
	bool limit = argc > 1 && strcmp(argv[1], "-l") == 0;
	int runs, n;

	argc -= limit;
	argv += limit;
	runs = argc > 2 ? atoi(argv[1]) : 0;
	n = argc - 2;
	if (runs < 1 || n > COMMANDS_MAX || n <= limit) {
		(void)fprintf(stderr, "usage: race [-l] RUNS COMMAND...\n");
		return 64;
	}
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null",
						 O_RDWR, 0);
	for (int k = 0; k < n; k++)
		split(&c[k], argv[k + 2], runs);
	for (int i = -3; i < runs; i++)
		run_all(c, n, i, &quiet);
	for (int k = 0; k < n; k++) {
		size_t size = sizeof(double), count = (size_t)runs;

		qsort(c[k].wall, count, size, ascending);
		qsort(c[k].cpu, count, size, ascending);
		qsort(c[k].faults, count, size, ascending);
	}
	print(c, n, runs, limit);
	return 0;
}
