/* SPDX-License-Identifier: MIT */
/* The one writer of diagnostics. */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

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
	char text[1000], line[1024] = "redlock: ";
	int saved = errno;
	size_t n;

	if (level > wanted)
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(line);
	(void)format_bytes(text, strlen(text), line + n, sizeof(line) - n - 1);
	n = strlen(line);
	line[n++] = '\n';
	if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
		(void)!write(STDERR_FILENO, line, n);
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
