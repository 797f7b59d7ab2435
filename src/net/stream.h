/* SPDX-License-Identifier: MIT */
/*
 * A non-blocking descriptor, plain or with TLS: some bytes, later, or broken.
 *
 * Nothing here waits. A handshake is part of the first send and receive: until
 * it is done, these say "later".
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
	int fd;          /* -1: closed */
	struct tls *tls; /* NULL: plain */
};

#define STREAM_NONE ((struct stream){.fd = -1})

/* Begins to connect. -1: errno, and the stream may be half open: close it. */
int stream_open(struct stream *s, const struct sockaddr *to, socklen_t len);
/* From now on with TLS. The name is what the certificate must be for. */
int stream_secure(struct stream *s, const struct tls_conf *conf,
		  const char *name, struct fail *why);
/* Writable at last: is it connected? -1: errno. */
int stream_connected(const struct stream *s);
void stream_close(struct stream *s);

/* Bytes sent; -1: errno, EAGAIN for later. A server that closes while we write
 * is no signal. */
ssize_t stream_send(struct stream *s, const char *bytes, size_t n);
/* Bytes received; 0: the end. Else as above. Call until "later". */
ssize_t stream_recv(struct stream *s, char *bytes, size_t n);

/* For poll(2), given whether there is something to send. */
short stream_events(const struct stream *s, bool sends);

/* After a -1: what TLS has against it. false: nothing, see errno. */
bool stream_refused(const struct stream *s, struct fail *why);
/* tls_expiry() of what is with TLS. */
bool stream_expiry(const struct stream *s, int64_t *left_s);
/* The handshake is under way. */
bool stream_shaking(const struct stream *s);

#endif
