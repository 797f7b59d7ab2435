/* SPDX-License-Identifier: MIT */
/*
 * The one writer of diagnostics: "redlock: KEY: " + one line, or one JSON
 * object, in one write(2) to standard error, so that lines of several processes
 * do not mix.
 *
 * What a terminal must not see (control bytes in a path, a key, a server's
 * words) is escaped. A pipe that nobody reads or a stopped terminal loses the
 * line; only a file on a disk that does not answer makes the writer wait, for
 * ever perhaps. So while a command runs the writer is a thread of its own, see
 * log_detach(). (And all the same: kill first, speak afterwards.)
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_SAY_ERROR,  /* always */
	LOG_SAY_NOTICE, /* unless -q */
	LOG_SAY_DETAIL, /* with -v */
	LOG_SAY_TRACE   /* with -vv */
};

struct log_conf {
	enum log_level most;
	bool json;       /* schema redlock.event/1 */
	bool color;      /* ANSI, always */
	bool color_auto; /* on a terminal */
	bool live;       /* a line that changes, on a terminal */
};

/* Once, before the first thread. */
void log_init(const struct log_conf *wanted);

/* The lock that all further lines are about, safe for a terminal, and its bytes
 * for JSON; borrowed. */
void log_key(const char *shown, const char *bytes, size_t n);

/*
 * From log_detach() on nobody who says something waits for standard error: a
 * thread that begins with the first line does the writing, and what finds no
 * room on the way to it is dropped. log_attach() waits until all is written.
 * Both by the main thread; other threads may say something in between.
 */
void log_detach(void);
void log_attach(void);

/* `event` is one word, the same in every version: JSON readers go by it. */
void log_error(const char *event, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void log_notice(const char *event, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void log_detail(const char *event, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void log_trace(const char *event, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Those whose JSON has more members: `more` is `,"name":value...` */
void log_at(enum log_level level, const char *event, const char *more,
	    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void log_event(const char *event, const char *more, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* a notice */
bool log_is_json(void);

/* The line at the bottom of a terminal, drawn again below whatever else is
 * said; "" takes it away. By one thread alone. Nothing happens where there is
 * no such terminal, or we are not in its foreground: then it is not live. */
bool log_is_live(void);
void log_live(const char *text);
/* A child of ours draws one: what is said takes its place, until it is drawn
 * anew. */
void log_beside(void);

#endif
