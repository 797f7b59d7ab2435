/* SPDX-License-Identifier: MIT */
/*
 * TLS over a non-blocking socket. The only file that knows OpenSSL.
 *
 * OpenSSL costs 0.85 ms at each start, so redlock is not linked with it: the
 * first tls_open() loads it.
 *
 * It writes to the socket with send(2), not write(2), so that a server that
 * closes raises no SIGPIPE.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "net/endpoint.h"

struct tls; /* one conversation */

/* The server must have a certificate for `name` (or conf->sni, if given),
 * signed by cacert or cacertdir. If neither is given, this machine's trusted
 * certificates count: the hashed directory if there is one, else the bundle,
 * which takes 25 ms to read. Files are read once per conf, when first needed.
 * `fd` stays the caller's. NULL: see *why; FAIL_CONFIG if a file is at fault.
 */
struct tls *tls_open(const struct tls_conf *conf, const char *name, int fd,
		     struct fail *why);
void tls_close(struct tls *t); /* frees *t; t may be NULL */

/* Like send(2) and recv(2). */
ssize_t tls_send(struct tls *t, const char *bytes, size_t n);
ssize_t tls_recv(struct tls *t, char *bytes, size_t n);

/* For poll(2): a send may have to wait for input, and the reverse. */
short tls_events(const struct tls *t, bool sends);
bool tls_shaking(const struct tls *t);

/* After a -1 other than EAGAIN: an invalid certificate (FAIL_REFUSED), or a
 * peer that does not speak TLS (FAIL_UNAVAILABLE). false: it was the socket,
 * see errno. */
bool tls_refused(const struct tls *t, struct fail *why);

/* For how many more seconds the peer's certificate is valid. false: it has
 * shown none yet. */
bool tls_expiry(const struct tls *t, int64_t *left_s);

/* "OpenSSL 3.0.19, loaded when needed" */
void tls_version(char *buf, size_t size);

#endif
