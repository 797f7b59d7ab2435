/* SPDX-License-Identifier: MIT */
/*
 * The least that a lock in Redis can cost: connect, SET NX PX, fork and exec,
 * a compare-and-delete. No renewal, no guard, no error handling: a yardstick,
 * not a tool.
 *
 *   bare PORT|SOCKET KEY COMMAND [ARG]...
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_socket(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&un, sizeof(un)) ? -1 : fd;
}

static int to_port(int port)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	in.sin_port = htons((unsigned short)port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return connect(fd, (struct sockaddr *)&in, sizeof(in)) ? -1 : fd;
}

static char ask(int fd, const char *question)
{
	size_t n = strlen(question);
	char reply[256];

	if (write(fd, question, n) != (ssize_t)n ||
	    read(fd, reply, sizeof(reply)) <= 0)
		return '-';
	return reply[0];
}

int main(int argc, char **argv)
{
	char question[512];
	int status = 0, fd;
	pid_t pid;

	if (argc < 4)
		return 64;
	fd = argv[1][0] == '/' ? to_socket(argv[1]) : to_port(atoi(argv[1]));
	(void)snprintf(question, sizeof(question),
		       "SET %s token%d NX PX 30000\r\n", argv[2],
		       (int)getpid());
	if (fd < 0 || ask(fd, question) != '+')
		return 69;
	pid = fork();
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	(void)waitpid(pid, &status, 0);
	(void)snprintf(question, sizeof(question),
		       "EVAL \"if redis.call('get',KEYS[1])==ARGV[1] then "
		       "return redis.call('del',KEYS[1]) end\" 1 %s "
		       "token%d\r\n",
		       argv[2], (int)getpid());
	if (ask(fd, question) != ':')
		return 70;
	return WEXITSTATUS(status);
}
