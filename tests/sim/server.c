/* SPDX-License-Identifier: MIT */
/* A real server, to compare with. Read server.h first. */
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/resp.h"

static struct {
	int fd;
	struct resp *reader;
} server;

void bail(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(2);
}

void server_dial(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct words request = {0}, reply;

	if (strlen(path) >= sizeof(sa.sun_path))
		bail("%s: the path is too long for a socket", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.fd < 0 ||
	    connect(server.fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		bail("%s: %s", path, strerror(errno));
	server.reader = resp_open(true);
	if (!server.reader)
		bail("no memory");
	words_add_text(&request, "DBSIZE");
	if (!server_ask(&request, &reply) || reply.at[0][0] != '0')
		bail("%s: the server is not empty, and would be flushed", path);
}

void server_hang_up(void)
{
	resp_close(server.reader);
	(void)close(server.fd);
}

bool server_ask(const struct words *request, struct words *reply)
{
	enum resp_got got;
	char buf[4096], *bytes = malloc(resp_room(request));
	size_t len;

	if (!bytes)
		bail("no memory");
	len = resp_format(request, bytes);
	for (size_t sent = 0; sent < len;) {
		ssize_t n =
			send(server.fd, bytes + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			bail("send: %s", strerror(errno));
		sent += n > 0 ? (size_t)n : 0;
	}
	free(bytes);
	while ((got = resp_next(server.reader, reply)) == RESP_NOTHING) {
		ssize_t n = read(server.fd, buf, sizeof(buf));

		if (n == 0 || (n < 0 && errno != EINTR))
			bail("the server hung up");
		if (n > 0 && resp_feed(server.reader, buf, (size_t)n) < 0)
			bail("no memory");
	}
	return got == RESP_REPLY;
}

const struct reply *server_whole(void)
{
	const struct reply *whole = resp_whole(server.reader);

	if (!whole)
		bail("no memory");
	return whole;
}

int64_t server_us(void)
{
	struct words request = {0}, reply;

	words_add_text(&request, "TIME");
	if (!server_ask(&request, &reply) || reply.n != 2)
		bail("the server has no TIME");
	return strtoll(reply.at[0], NULL, 10) * 1000000 +
	       strtoll(reply.at[1], NULL, 10);
}
