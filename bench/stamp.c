/* SPDX-License-Identifier: MIT */
/*
 * The command under the lock: takes the time at its start and at its end.
 *
 *   stamp FILE NUMBER [MICROSECONDS | FIFO]
 *
 * In between it sleeps for that time, or until the FIFO, which it opens for
 * reading, has no more writers. Then it appends "NUMBER START END" to FILE, in
 * ns of the monotonic clock, with one write: the lines are in the order in
 * which the commands ran. END is taken just before that write.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t stamp(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int hold(const char *until)
{
	long us = atol(until);
	const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
	char byte;
	int fd;

	if (until[0] != '/')
		return nanosleep(&pause, NULL);
	fd = open(until, O_RDONLY);
	return fd < 0 ? -1 : (int)read(fd, &byte, 1);
}

int main(int argc, char **argv)
{
	int64_t start = stamp();
	char line[80];
	int fd, n;

	if (argc < 3)
		return 64;
	fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || (argc > 3 && hold(argv[3]) < 0))
		return 74;
	n = snprintf(line, sizeof(line), "%d %" PRId64 " ", atoi(argv[2]),
		     start);
	n += snprintf(line + n, sizeof(line) - (size_t)n, "%" PRId64 "\n",
		      stamp());
	_exit(write(fd, line, (size_t)n) == n ? 0 : 74);
}
