/* SPDX-License-Identifier: MIT */
/* The one writer of diagnostics. */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level wanted = LOG_SAY_NOTICE;

void log_init(enum log_level most)
{
	wanted = most;
}

static void __attribute__((format(printf, 2, 0)))
say(enum log_level level, const char *fmt, va_list ap)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
	/* below PIPE_BUF: POLLOUT on a pipe then means that it all fits */
	char line[1024] = "redlock: ";
	const size_t head = sizeof("redlock: ") - 1;
	int saved = errno;
	int n;

	if (level > wanted)
		return;
	n = vsnprintf(line + head, sizeof(line) - head - 1, fmt, ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - head - 2)
		n = (int)(sizeof(line) - head - 2);
	line[head + (size_t)n] = '\n';
	if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
		(void)!write(STDERR_FILENO, line, head + (size_t)n + 1);
	errno = saved;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_SAY_ERROR, fmt, ap);
	va_end(ap);
}

void log_notice(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_SAY_NOTICE, fmt, ap);
	va_end(ap);
}

void log_detail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_SAY_DETAIL, fmt, ap);
	va_end(ap);
}
