/* SPDX-License-Identifier: MIT */
/*
 * The one writer of diagnostics: "redlock: " + one line, in one write(2) to
 * standard error, so that lines of several processes do not mix.
 *
 * What a terminal must not see (control bytes in a path, a key, a server's
 * words) is escaped. It never waits: a pipe that nobody reads or a stopped
 * terminal loses the line. Renewals and kills do not depend on somebody reading
 * our messages.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_SAY_ERROR,  /* always */
	LOG_SAY_NOTICE, /* unless -q */
	LOG_SAY_DETAIL  /* with -v */
};

/* Once, before the first thread. */
void log_init(enum log_level most);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
