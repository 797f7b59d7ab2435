/* SPDX-License-Identifier: MIT */
/* The one writer of diagnostics. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/json.h"
#include "base/units.h"

#define TEXT_MAX 1000
#define KEY_CUT 256 /* bytes of a key that does not fit whole */
#define LINE_SIZE                                                              \
	4000 /* below PIPE_BUF: POLLOUT then means that it all fits            \
	      */
/* Clears from the start of the line to the end of the screen: a narrowed
 * terminal may have wrapped our line, and we left the cursor at its start. */
#define WIPE "\r\033[J"

static struct log_conf conf = {.most = LOG_SAY_NOTICE};
static const char *key, *key_bytes;
static size_t key_len;
static char live[512];
static bool beside; /* of another process */

void log_init(const struct log_conf *wanted)
{
	bool terminal = isatty(STDERR_FILENO);

	conf = *wanted;
	conf.live = conf.live && terminal;
	conf.color = conf.color || (conf.color_auto && terminal);
}

void log_key(const char *shown, const char *bytes, size_t n)
{
	key = shown;
	key_bytes = bytes;
	key_len = n;
}

bool log_is_json(void)
{
	return conf.json;
}

static bool in_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == getpgrp();
}

bool log_is_live(void)
{
	return conf.live && conf.most >= LOG_SAY_NOTICE && in_foreground();
}

static int (*_Atomic elsewhere)(void);

void log_through(int (*get)(void))
{
	elsewhere = get;
}

static void write_out(const char *bytes, size_t n)
{
	int (*get)(void) = elsewhere;
	struct pollfd ready = {.fd = get ? get() : STDERR_FILENO,
			       .events = POLLOUT};
	sigset_t ttou, old;

	/* `stty tostop`: a message must not stop a process that has a lock to
	 * renew */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &ttou, &old);
	if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
		(void)!write(ready.fd, bytes, n);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (get && ready.fd >= 0)
		close(ready.fd);
}

/* ---- the writer thread ---- */

static struct {
	pthread_mutex_t
		lock; /* protects what follows; never held while writing */
	bool detached, open, running;
	pthread_t thread;
	int line[2];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *write_lines(void *unused)
{
	char lines[LINE_SIZE];
	ssize_t n;

	(void)unused;
	while ((n = read(writer.line[0], lines, sizeof(lines))) > 0)
		write_out(lines, (size_t)n);
	close(writer.line[0]);
	return NULL;
}

static bool open_line(void)
{
	writer.open = pipe2(writer.line, O_CLOEXEC) == 0;
	if (writer.open)
		(void)fcntl(writer.line[1], F_SETFL, O_NONBLOCK);
	return writer.open;
}

/* Without a thread, lines wait in the pipe until there is one, or until
 * log_attach(). */
static void start_writer(void)
{
	sigset_t all, old;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	writer.running =
		pthread_create(&writer.thread, NULL, write_lines, NULL) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void log_detach(void)
{
	writer.detached = true;
}

void log_attach(void)
{
	bool open, ran;

	(void)pthread_mutex_lock(&writer.lock);
	open = writer.open;
	ran = writer.running;
	writer.detached = writer.open = writer.running = false;
	if (open)
		close(writer.line[1]);
	(void)pthread_mutex_unlock(&writer.lock);
	if (ran)
		(void)pthread_join(writer.thread, NULL);
	else if (open)
		(void)write_lines(NULL);
}

static void put(const char *bytes, size_t n)
{
	bool sent = false;

	(void)pthread_mutex_lock(&writer.lock);
	if (writer.detached && (writer.open || open_line())) {
		if (!writer.running)
			start_writer();
		(void)!write(writer.line[1], bytes, n);
		sent = true;
	}
	(void)pthread_mutex_unlock(&writer.lock);
	if (!sent)
		write_out(bytes, n);
}

/* ---- the live line ---- */

/* The number of bytes that fit on the terminal; *cut: add an ellipsis. */
static size_t fit(const char *text, bool *cut)
{
	int columns = columns_at(STDERR_FILENO);
	size_t n;

	if (columns == 0)
		columns = 80;
	n = columns_fit(text, columns - 1);
	*cut = text[n] != '\0';
	return *cut ? columns_fit(text, columns - 2) : n;
}

static size_t draw(char *to, size_t size)
{
	bool cut;
	int n, most;

	if (live[0] == '\0' || !in_foreground())
		return 0;
	most = (int)fit(live, &cut);
	n = snprintf(to, size, WIPE "%s%.*s%s%s\r", conf.color ? "\033[2m" : "",
		     most, live, cut ? "\xe2\x80\xa6" : "",
		     conf.color ? "\033[0m" : "");
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

void log_live(const char *text)
{
	char bytes[sizeof(live) + 32], line[sizeof(live)];
	int saved = errno;
	bool drawn = live[0] != '\0' || beside;

	if (!conf.live || conf.most < LOG_SAY_NOTICE)
		return;
	if (text[0] == '\0')
		live[0] = '\0';
	else {
		(void)snprintf(line, sizeof(line), "redlock: %s%s%s",
			       key ? key : "", key ? ": " : "", text);
		(void)format_bytes(line, strlen(line), live, sizeof(live));
	}
	if (live[0] != '\0')
		put(bytes, draw(bytes, sizeof(bytes)));
	else if (drawn && in_foreground())
		put(WIPE, sizeof(WIPE) - 1);
	errno = saved;
}

void log_beside(void)
{
	beside = conf.live;
}

/* ---- lines ---- */

static size_t as_text(enum log_level level, const char *text, char *line)
{
	bool color = conf.color && level == LOG_SAY_ERROR;
	size_t n;

	n = (size_t)snprintf(line, LINE_SIZE / 2, "%s%sredlock:%s %s%s",
			     (live[0] || beside) && in_foreground() ? WIPE : "",
			     color ? "\033[1;31m" : "", color ? "\033[0m" : "",
			     key ? key : "", key ? ": " : "");
	(void)format_bytes(text, strlen(text), line + n, TEXT_MAX);
	n = strlen(line);
	line[n++] = '\n';
	if (live[0] != '\0')
		n += draw(line + n, LINE_SIZE - n);
	return n;
}

/* How many bytes of the key to show. 0: it does not fit into a line. */
static size_t try_json(enum log_level level, const char *event,
		       const char *more, const char *text, size_t most,
		       char *line)
{
	static const char *const levels[] = {"error", "notice", "detail",
					     "trace"};
	struct json j = {.f = fmemopen(line, LINE_SIZE, "w")};
	char when[32];
	long n;

	if (!j.f)
		return 0;
	json_text(&j, "schema", "redlock.event/1");
	json_text(&j, "time", wall_text(when, sizeof(when)));
	json_text(&j, "level", levels[level]);
	json_text(&j, "event", event);
	if (key)
		json_bytes(&j, "key", key_bytes,
			   key_len < most ? key_len : most);
	if (key && key_len > most)
		json_bool(&j, "key_cut", true);
	json_text(&j, "message", text);
	(void)fputs(more, j.f);
	json_close(&j);
	(void)fputc('\n', j.f);
	n = fflush(j.f) == 0 ? ftell(j.f) : -1;
	(void)fclose(j.f);
	return n > 0 && n < LINE_SIZE ? (size_t)n : 0;
}

/* Even if the text is too long, reports that it happened. */
static size_t as_json(enum log_level level, const char *event, const char *more,
		      char text[TEXT_MAX], char *line)
{
	size_t n = try_json(level, event, more, text, SIZE_MAX, line);

	if (n == 0)
		n = try_json(level, event, more, text, KEY_CUT, line);
	if (n > 0)
		return n;
	text[200] = '\0';
	return try_json(level, event, "", text, KEY_CUT, line);
}

void log_at(enum log_level level, const char *event, const char *more,
	    const char *fmt, ...)
{
	char text[TEXT_MAX], line[LINE_SIZE];
	int saved = errno;
	va_list ap;
	size_t n;

	if (level > conf.most)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = conf.json ? as_json(level, event, more, text, line)
		      : as_text(level, text, line);
	put(line, n);
	errno = saved;
}
