/* SPDX-License-Identifier: MIT */
/* Sockets. */
#include "net/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

int stream_open(struct stream *s, const struct sockaddr *to, socklen_t len)
{
	int one = 1;

	s->fd = socket(to->sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -1;
	if (to->sa_family != AF_UNIX)
		(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
	return connect(s->fd, to, len) < 0 && errno != EINPROGRESS ? -1 : 0;
}

bool stream_is_ours(const struct stream *s)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

int stream_secure(struct stream *s, const struct tls_conf *conf,
		  const char *name, struct fail *why)
{
	s->tls = tls_open(conf, name, s->fd, why);
	return s->tls ? 0 : -1;
}

int stream_connected(const struct stream *s)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -1;
	errno = error;
	return error == 0 ? 0 : -1;
}

void stream_close(struct stream *s)
{
	int saved = errno;

	tls_close(s->tls);
	if (s->fd >= 0)
		close(s->fd);
	*s = STREAM_NONE;
	errno = saved;
}

ssize_t stream_send(struct stream *s, const char *bytes, size_t n)
{
	return s->tls ? tls_send(s->tls, bytes, n)
		      : send(s->fd, bytes, n, MSG_NOSIGNAL);
}

ssize_t stream_recv(struct stream *s, char *bytes, size_t n)
{
	return s->tls ? tls_recv(s->tls, bytes, n) : recv(s->fd, bytes, n, 0);
}

short stream_events(const struct stream *s, bool sends)
{
	if (s->tls)
		return tls_events(s->tls, sends);
	return sends ? POLLIN | POLLOUT : POLLIN;
}

bool stream_refused(const struct stream *s, struct fail *why)
{
	return s->tls && tls_refused(s->tls, why);
}

bool stream_shaking(const struct stream *s)
{
	return s->tls && tls_shaking(s->tls);
}

bool stream_expiry(const struct stream *s, int64_t *left_s)
{
	return s->tls && tls_expiry(s->tls, left_s);
}
