/* SPDX-License-Identifier: MIT */
/* Replaces tls.c in a build without OpenSSL. */
#include <errno.h>
#include <stdio.h>

#include "net/tls.h"

struct tls *tls_open(const struct tls_conf *conf, const char *name, int fd,
		     struct fail *why)
{
	(void)conf;
	(void)name;
	(void)fd;
	(void)fail(why, FAIL_CONFIG, "this redlock was built without TLS");
	return NULL;
}

void tls_close(struct tls *t)
{
	(void)t;
}

ssize_t tls_send(struct tls *t, const char *bytes, size_t n)
{
	(void)t;
	(void)bytes;
	(void)n;
	errno = ENOTSUP;
	return -1;
}

ssize_t tls_recv(struct tls *t, char *bytes, size_t n)
{
	return tls_send(t, bytes, n);
}

short tls_events(const struct tls *t, bool sends)
{
	(void)t;
	(void)sends;
	return 0;
}

bool tls_shaking(const struct tls *t)
{
	(void)t;
	return false;
}

bool tls_refused(const struct tls *t, struct fail *why)
{
	(void)t;
	(void)why;
	return false;
}

bool tls_expiry(const struct tls *t, int64_t *left_s)
{
	(void)t;
	(void)left_s;
	return false;
}

void tls_version(char *buf, size_t size)
{
	(void)snprintf(buf, size, "no");
}
