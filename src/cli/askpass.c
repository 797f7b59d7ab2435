/* SPDX-License-Identifier: MIT */
/* A password from the terminal. */
#include "cli/askpass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/units.h"

/* While echo is off, these signals are blocked except while we wait. SIGCONT:
 * after a SIGSTOP, the shell may have changed the terminal. */
static const int held_back[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGALRM,
				SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP, SIGCONT};
#define SIGNALS (sizeof(held_back) / sizeof(held_back[0]))

struct prompt {
	int fd;
	bool open; /* what is typed is shown */
	struct termios before;
	struct sigaction old[SIGNALS];
	sigset_t mask; /* as it was */
	char text[800];
};

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
	came = sig;
}

static void hold_signals(struct prompt *a)
{
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, held_back[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &a->mask);
	for (size_t i = 0; i < SIGNALS; i++) {
		(void)sigaction(held_back[i], &act, &a->old[i]);
		/* an ignored signal stays ignored */
		if (a->old[i].sa_handler == SIG_IGN)
			(void)sigaction(held_back[i], &a->old[i], NULL);
	}
}

/* A signal that is still blocked takes effect now. */
static void release_signals(const struct prompt *a)
{
	for (size_t i = 0; i < SIGNALS; i++)
		(void)sigaction(held_back[i], &a->old[i], NULL);
	(void)sigprocmask(SIG_SETMASK, &a->mask, NULL);
}

static void say(const struct prompt *a, const char *text)
{
	(void)!write(a->fd, text, strlen(text));
}

static int echo_off(struct prompt *a)
{
	struct termios quiet = a->before;

	if (!a->open)
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
	quiet.c_lflag |= ICANON | ISIG;
	if (tcsetattr(a->fd, TCSAFLUSH, &quiet) < 0)
		return -1;
	say(a, a->text);
	return 0;
}

/* In the background the terminal belongs to another process, which has set
 * it. */
static void echo_on(const struct prompt *a)
{
	if (tcgetpgrp(a->fd) != getpgrp())
		return;
	(void)tcsetattr(a->fd, TCSAFLUSH, &a->before);
	if (!a->open || came != 0)
		say(a, "\n");
}

/* Reads a line; or -1, with the signal in `came` if there was one. Does not
 * block in read(): Ctrl-C may discard a line that was there. */
static ssize_t read_line(const struct prompt *a, char *line, size_t size)
{
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	ssize_t n;

	do {
		/* no limit: a person may take long */
		if (ppoll(&p, 1, NULL, &a->mask) < 0)
			return -1;
		n = read(a->fd, line, size);
	} while (n < 0 && errno == EAGAIN);
	return n;
}

/* Asks again after a stop. */
static ssize_t ask_until_answered(struct prompt *a, char *line, size_t size)
{
	for (;;) {
		ssize_t n = -1;
		int error;

		/* changes nothing; but in the background it stops us until we
		 * are in the foreground, and signals still work */
		if (tcgetattr(a->fd, &a->before) < 0 ||
		    tcsetattr(a->fd, TCSANOW, &a->before) < 0)
			return -1;
		if (tcgetpgrp(a->fd) != getpgrp()) { /* SIGTTOU is ignored */
			errno = EIO;
			return -1;
		}
		came = 0;
		hold_signals(a);
		if (echo_off(a) == 0)
			n = read_line(a, line, size);
		error = errno;
		echo_on(a);
		release_signals(a);
		errno = error;
		if (n >= 0 || (came == 0 && error != EINTR))
			return n;
		if (came != 0 && came != SIGCONT)
			(void)raise(came);
	}
}

/* Reads a line into `line`, without its end. `who`: before each message. */
static int ask(struct prompt *a, enum fail_kind kind, const char *who,
	       char line[ASK_MAX], struct fail *why)
{
	ssize_t n;

	a->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (a->fd < 0)
		return fail(why, kind, "%sno terminal to ask on%s", who,
			    a->open ? ""
				    : "; use --password-file or REDISCLI_AUTH");
	n = ask_until_answered(a, line, ASK_MAX - 1);
	if (n < 0)
		(void)fail_sys(why, kind, "%sthe terminal", who);
	close(a->fd);
	if (n < 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return 0;
}

int ask_line(const char *prompt, char line[ASK_MAX], struct fail *why)
{
	struct prompt a = {.open = true};

	(void)snprintf(a.text, sizeof(a.text), "%s", prompt);
	return ask(&a, FAIL_USAGE, "", line, why);
}

#define TYPED_MAX 4094 /* the terminal cuts a longer line, and says nothing */

int askpass(const char *user, const char *server, char password[PASSWORD_MAX],
	    struct fail *why)
{
	struct prompt a = {.open = false};
	char line[ASK_MAX] = "", who[300], where[420];
	int rc;

	user = *user ? user : "default";
	(void)snprintf(
		a.text, sizeof(a.text), "Password for %s at %s: ",
		format_bytes(user, strlen(user), who, sizeof(who)),
		format_bytes(server, strlen(server), where, sizeof(where)));
	rc = ask(&a, FAIL_CONFIG, "--askpass: ", line, why);
	if (rc == 0 && line[0] == '\0')
		rc = fail(why, FAIL_CONFIG, "--askpass: no password entered");
	if (rc == 0 && strlen(line) > TYPED_MAX)
		rc = fail(why, FAIL_CONFIG,
			  "--askpass: longer than the %d bytes that a terminal "
			  "passes on; use --password-file",
			  TYPED_MAX);
	if (rc == 0)
		memcpy(password, line, strlen(line) + 1);
	explicit_bzero(line, sizeof(line));
	return rc;
}
