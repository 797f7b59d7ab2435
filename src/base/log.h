/* SPDX-License-Identifier: MIT */
/*
 * The only writer of diagnostics: "redlock: KEY: " and one line, or one JSON
 * object, in one write(2) to standard error, so that lines of several processes
 * do not mix.
 *
 * What a terminal must not see (control bytes in a path, a key, a server's
 * reply) is escaped. If standard error is a full pipe or a stopped terminal,
 * the line is lost. Only a file on a disk that does not answer makes the writer
 * wait, maybe for ever. So while a command runs, a thread of its own writes:
 * see log_detach(). (Even so: kill first, log afterwards.)
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
	bool color;      /* always use ANSI colors */
	bool color_auto; /* use colors on a terminal */
	bool live;       /* on a terminal, draw a line that changes */
};

/* Call it once, before the first thread starts. */
void log_init(const struct log_conf *wanted);

/* Sets the lock that all later lines are about: safe for a terminal, and its
 * bytes for JSON. Both are borrowed. */
void log_key(const char *shown, const char *bytes, size_t n);

/*
 * After log_detach() no caller waits for standard error: a thread, started by
 * the first line, does the writing, and lines that do not fit in its pipe are
 * dropped. If no thread can be started, the next line tries again, or
 * log_attach() writes them. log_attach() waits until all is written. Only the
 * main thread calls these two; any thread may log in between.
 */
void log_detach(void);
void log_attach(void);

/* From now on each line goes to the file that `get` opens for it, or to nobody
 * (-1), and not to standard error: for a process that must not keep that open.
 * `get` may wait as long as a write may. */
void log_through(int (*get)(void));

/* `event` is one word that never changes between versions: readers of the JSON
 * rely on it. */
#define log_error(event, ...) log_at(LOG_SAY_ERROR, event, "", __VA_ARGS__)
#define log_notice(event, ...) log_at(LOG_SAY_NOTICE, event, "", __VA_ARGS__)
#define log_detail(event, ...) log_at(LOG_SAY_DETAIL, event, "", __VA_ARGS__)
#define log_trace(event, ...) log_at(LOG_SAY_TRACE, event, "", __VA_ARGS__)

/* For events with more JSON members: `more` is `,"name":value...` */
void log_at(enum log_level level, const char *event, const char *more,
	    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool log_is_json(void);

/* The live line at the bottom of a terminal, drawn again below everything else
 * that is logged; "" removes it. Only for one thread. Does nothing unless there
 * is such a terminal and we are in its foreground: see log_is_live(). */
bool log_is_live(void);
void log_live(const char *text);
/* A child of ours draws one: a logged line takes its place until it is drawn
 * again. */
void log_beside(void);

#endif
