/* SPDX-License-Identifier: MIT */
/*
 * TLS over a non-blocking socket: the one file that knows OpenSSL.
 *
 * OpenSSL costs 0.85 ms at every start, so it is no library of the program: it
 * is loaded by the first tls_open(), and only then. Built without it, these
 * functions say so.
 *
 * It writes to the socket through send(2), not write(2): a server that closes
 * is no SIGPIPE.
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

/* The peer must have a certificate for `name` (conf->sni goes before), signed
 * by cacert or cacertdir; if neither is given, by what this machine trusts: the
 * hashed directory if there is one, else the bundle, which takes 25 ms to read.
 * Files are read once per conf, by the first that needs them. NULL: *why is
 * filled, FAIL_CONFIG when a file is at fault. */
struct tls *tls_open(const struct tls_conf *conf, const char *name, int fd,
		     struct fail *why);
void tls_close(struct tls *t); /* NULL does no harm; *t is freed */

/* As send(2) and recv(2). */
ssize_t tls_send(struct tls *t, const char *bytes, size_t n);
ssize_t tls_recv(struct tls *t, char *bytes, size_t n);

/* For poll(2): a send may wait for bytes to come, and the reverse. */
short tls_events(const struct tls *t, bool sends);
bool tls_shaking(const struct tls *t);

/* After a -1 that is not "later": a certificate that does not hold
 * (FAIL_REFUSED), or a peer that does not speak TLS (FAIL_UNAVAILABLE). false:
 * it was the socket, see errno. */
bool tls_refused(const struct tls *t, struct fail *why);

/* For how many seconds its certificate holds. false: it has shown none yet. */
bool tls_expiry(const struct tls *t, int64_t *left_s);

/* "OpenSSL 3.0.19, loaded when needed", or "no". */
void tls_version(char *buf, size_t size);

#endif
