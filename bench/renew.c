/* SPDX-License-Identifier: MIT */
/*
 * The least that renewals can cost a server: each client has a connection and a
 * lock of its own, and renews it with a bare compare-and-PEXPIRE, or only reads
 * it. No fence, no record, no error handling: a yardstick for scale.sh, with
 * the same output.
 *
 *   renew SOCKET CLIENTS T_MS EVERY_MS SECONDS compare|get
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define COMPARE                                                                \
	"if redis.call('get', KEYS[1]) == ARGV[1] then "                       \
	"return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	while (fd >= 0 && connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0)
		(void)usleep(1000); /* its backlog is short */
	return fd;
}

/* Leaves the answer in `reply`, which ends with a zero byte. */
static void ask(int fd, const char *question, char reply[256])
{
	size_t n = strlen(question);
	ssize_t got = -1;

	if (write(fd, question, n) == (ssize_t)n)
		got = read(fd, reply, 255);
	if (got <= 0 || reply[0] == '-')
		die("the server");
	reply[got] = '\0';
}

int main(int argc, char **argv)
{
	struct rlimit most = {200000, 200000};
	char question[512], reply[256], sha[41] = "";
	long clients, ttl, every, total;
	struct timespec next;
	int *fd;

	if (argc != 7)
		return 64;
	clients = atol(argv[2]);
	ttl = atol(argv[3]);
	every = atol(argv[4]) * 1000000 / clients; /* ns */
	total = atol(argv[5]) * 1000000000 / every;
	(void)setrlimit(RLIMIT_NOFILE, &most);
	fd = calloc((size_t)clients, sizeof(*fd));
	if (!fd)
		die("calloc");
	for (long i = 0; i < clients; i++) {
		fd[i] = dial(argv[1]);
		(void)snprintf(question, sizeof(question),
			       "SET renew-%ld token-%032ld PX %ld\r\n", i, i,
			       ttl);
		ask(fd[i], question, reply);
	}
	ask(fd[0], "SCRIPT LOAD \"" COMPARE "\"\r\n", reply);
	(void)sscanf(reply, "$40\r\n%40s", sha);
	puts("settled 1");
	(void)fflush(stdout);
	(void)clock_gettime(CLOCK_MONOTONIC, &next);
	for (long n = 0; n < total; n++) {
		long i = n * 7919 % clients; /* not in the order of the keys */

		if (argv[6][0] == 'g')
			(void)snprintf(question, sizeof(question),
				       "GET renew-%ld\r\n", i);
		else
			(void)snprintf(
				question, sizeof(question),
				"EVALSHA %s 1 renew-%ld token-%032ld %ld\r\n",
				sha, i, i, ttl);
		ask(fd[i], question, reply);
		next.tv_nsec += every;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next,
				      NULL);
	}
	puts("counted 1");
	free(fd);
	return 0;
}
