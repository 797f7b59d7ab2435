/* SPDX-License-Identifier: MIT */
/* One datagram for each change. */
#include "run/describe.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATUS_MAX 1000

static struct sockaddr_un to;
static socklen_t size; /* 0: nobody listens */
static char said[STATUS_MAX];

void notify_use(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	if (n < 2 || n > sizeof(to.sun_path) || !strchr("/@", path[0]))
		return;
	to.sun_family = AF_UNIX;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static void say(const char *text)
{
	int fd;

	if (strcmp(text, said) == 0)
		return;
	(void)snprintf(said, sizeof(said), "%s", text);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
		     (const struct sockaddr *)&to, size);
	close(fd);
}

void notify_waiting(const struct locks *l)
{
	const struct client *d = &l->client[l->lead];
	char text[STATUS_MAX], in_line[40], who[600] = "";
	bool held = describe_is_held(&d->sight);

	if (size == 0 || d->lease.state != LEASE_WAITING)
		return;
	if (held)
		(void)describe_name(&d->sight, who, sizeof(who));
	(void)describe_place(", ", lease_place(&d->lease), "", in_line);
	(void)snprintf(text, sizeof(text), "STATUS=waiting for %s%s%s%s",
		       d->shown_key, in_line, held ? ", held by " : "", who);
	say(text);
}

void notify_holding(const struct locks *l)
{
	char text[STATUS_MAX], keys[STATUS_MAX - 64];
	size_t used = 0;

	if (size == 0)
		return;
	for (int i = 0; i < l->n && used < sizeof(keys); i++)
		used += (size_t)snprintf(keys + used, sizeof(keys) - used,
					 "%s%s", i ? ", " : "",
					 l->client[i].shown_key);
	(void)snprintf(text, sizeof(text), "STATUS=holding %s, fence %lld",
		       keys, (long long)l->client[l->lead].lease.fence);
	say(text);
}
