/* SPDX-License-Identifier: MIT */
/*
 * A non-blocking socket, plain or with TLS.
 *
 * Nothing here waits. A handshake is part of the first send and receive: until
 * it is done, they fail with EAGAIN.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/fail.h"
#include "net/tls.h"

struct stream {
	int fd;          /* -1: closed. Owned: stream_close() closes it */
	struct tls *tls; /* NULL: plain. Owned */
};

#define STREAM_NONE ((struct stream){.fd = -1})

/* Of a unix socket: whether root or this user runs the server. */
bool stream_is_ours(const struct stream *s);

/* Starts to connect. -1: errno is set; call stream_close(). */
int stream_open(struct stream *s, const struct sockaddr *to, socklen_t len);
/* Uses TLS from now on. The certificate must be for `name`. */
int stream_secure(struct stream *s, const struct tls_conf *conf,
		  const char *name, struct fail *why);
/* When the socket has become writable: is it connected? -1: errno is set. */
int stream_connected(const struct stream *s);
void stream_close(struct stream *s);

/* Returns the number of bytes sent; -1: errno is set, EAGAIN: try later. Raises
 * no SIGPIPE when the server closes. */
ssize_t stream_send(struct stream *s, const char *bytes, size_t n);
/* Returns the number of bytes received; 0: end of file; -1: as above. Call it
 * until EAGAIN. */
ssize_t stream_recv(struct stream *s, char *bytes, size_t n);

/* For poll(2). `sends`: there is something to send. */
short stream_events(const struct stream *s, bool sends);

/* After a -1: what TLS objects to. false: nothing, see errno. */
bool stream_refused(const struct stream *s, struct fail *why);
/* tls_expiry(), if it uses TLS. */
bool stream_expiry(const struct stream *s, int64_t *left_s);
/* Whether a handshake is under way. */
bool stream_shaking(const struct stream *s);

#endif
