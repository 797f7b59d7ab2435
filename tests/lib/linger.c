/* SPDX-License-Identifier: MIT */
/*
 * A command that goes on, as one process: a shell that looks and sleeps starts
 * another one every few milliseconds, in hundreds of tests.
 *
 *   linger              until it is killed
 *   linger until FILE   until FILE is there
 *   linger while FILE   as long as it is there
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool goes_on(const char *how, const char *file)
{
	bool there = access(file, F_OK) == 0;

	return strcmp(how, "while") == 0 ? there : !there;
}

int main(int argc, char **argv)
{
	const struct timespec pause_for = {0, 10000000};

	if (argc == 1)
		for (;;)
			(void)pause();
	if (argc != 3 ||
	    (strcmp(argv[1], "until") != 0 && strcmp(argv[1], "while") != 0))
		return 64;
	while (goes_on(argv[1], argv[2]))
		(void)nanosleep(&pause_for, NULL);
	return 0;
}
