/* SPDX-License-Identifier: MIT */
/* The screen of a terminal. */
#include "cli/top/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/render.h"

/* The alternate screen, which has no history; no cursor; no line wrap. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"
#define ROWS_MAX 1000
#define ESCAPE_MS 50

/* ---- whatever ends us ---- */

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* A handler can have no argument. */
static struct screen *on_screen;

static void give_back(const struct screen *s)
{
	(void)!write(s->fd, LEAVE, sizeof(LEAVE) - 1);
	(void)tcsetattr(s->fd, TCSANOW, &s->before);
}

/* The signal is raised again, and ends us then: SA_RESETHAND. */
static void on_crash(int sig)
{
	if (on_screen && on_screen->on)
		give_back(on_screen);
	(void)raise(sig);
}

static void mind_crashes(void)
{
	const struct sigaction act = {.sa_handler = on_crash,
				      .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		(void)sigaction(crashes[i], &act, NULL);
}

/* ---- on and off ---- */

static void forget(struct screen *s)
{
	for (int i = 0; i < s->shown_rows; i++)
		free(s->shown[i]);
	free(s->shown);
	s->shown = NULL;
	s->shown_rows = 0;
}

void screen_measure(struct screen *s)
{
	struct winsize size = {0};

	if (ioctl(s->fd, TIOCGWINSZ, &size) < 0)
		size.ws_row = 0;
	s->rows = size.ws_row > 0 ? size.ws_row : 24;
	s->columns = size.ws_col > 0 ? size.ws_col : 80;
	if (s->rows > ROWS_MAX)
		s->rows = ROWS_MAX;
	forget(s);
}

/* Keep signals from the keyboard, but not Ctrl-S, which would freeze us. */
static int make_raw(const struct screen *s)
{
	struct termios raw = s->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	return tcsetattr(s->fd, TCSADRAIN, &raw);
}

static void add_bytes(struct screen *s, const char *bytes, size_t n)
{
	char *more = realloc(s->out, s->used + n);

	if (!more)
		return;
	s->out = more;
	memcpy(more + s->used, bytes, n);
	s->used += n;
}

static void flush(struct screen *s)
{
	ssize_t n = s->used > s->sent
			    ? write(s->fd, s->out + s->sent, s->used - s->sent)
			    : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->sent = s->used; /* it is gone: screen_key() tells */
	else if (n > 0)
		s->sent += (size_t)n;
	if (s->sent == s->used)
		s->sent = s->used = 0;
}

/* Even if it is ours already: after a SIGSTOP, the shell has changed the
 * terminal. */
void screen_enter(struct screen *s)
{
	if (!s->on)
		(void)tcgetattr(s->fd, &s->before);
	(void)make_raw(s);
	s->on = true;
	add_bytes(s, ENTER, sizeof(ENTER) - 1);
	screen_measure(s);
	flush(s);
}

void screen_leave(struct screen *s)
{
	if (!s->on)
		return;
	s->used = s->sent = 0;
	give_back(s);
	s->on = false;
}

/* A separate open file of the same terminal, so that O_NONBLOCK affects nobody
 * else. */
static int open_own(void)
{
	int fd = open("/proc/self/fd/1",
		      O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

int screen_open(struct screen *s, bool colors, struct fail *why)
{
	*s = (struct screen){.fd = open_own(), .colors = colors};
	if (s->fd < 0 || tcgetattr(s->fd, &s->before) < 0) {
		(void)fail_sys(why, FAIL_INTERNAL, "cannot use the terminal");
		screen_close(s);
		return -1;
	}
	on_screen = s;
	mind_crashes();
	screen_enter(s);
	return 0;
}

void screen_close(struct screen *s)
{
	screen_leave(s);
	if (on_screen == s)
		on_screen = NULL;
	if (s->making)
		(void)fclose(s->making);
	free(s->row);
	forget(s);
	free(s->out);
	if (s->fd > 0)
		close(s->fd);
	*s = (struct screen){0};
}

/* ---- a frame ---- */

static void begin_row(struct screen *s)
{
	s->making = open_memstream(&s->row, &s->row_len);
}

bool screen_begin(struct screen *s)
{
	if (!s->on || s->used > s->sent)
		return false;
	if (!s->shown) {
		s->shown = calloc((size_t)s->rows, sizeof(*s->shown));
		s->shown_rows = s->shown ? s->rows : 0;
	}
	s->made = 0;
	begin_row(s);
	return true;
}

void screen_put(struct screen *s, int at, int width, enum style style,
		const char *text)
{
	static const char *const codes[] = {
		[PLAIN] = "",         [BOLD] = "\033[1m",
		[DIM] = "\033[2m",    [REVERSE] = "\033[7m",
		[GREEN] = "\033[32m", [YELLOW] = "\033[33m",
		[RED] = "\033[31m"};
	const char *code = style >= GREEN && !s->colors ? "" : codes[style];

	if (at + width > s->columns)
		width = s->columns - at;
	if (!s->making || width <= 0 || text[0] == '\0')
		return;
	/* address the column by number: a character may be wider than we
	 * think */
	(void)fprintf(s->making, "\033[%dG%s", at + 1, code);
	put_cut(s->making, text, width);
	(void)fputs(code[0] ? "\033[0m" : "", s->making);
}

void screen_fill(struct screen *s, enum style style)
{
	char blanks[512];
	int n = s->columns < (int)sizeof(blanks) ? s->columns
						 : (int)sizeof(blanks) - 1;

	memset(blanks, ' ', (size_t)n);
	blanks[n] = '\0';
	screen_put(s, 0, n, style, blanks);
}

void screen_next(struct screen *s)
{
	char at[32];
	int row = s->made++;

	if (s->making)
		(void)fclose(s->making);
	s->making = NULL;
	if (row < s->shown_rows && s->row &&
	    (!s->shown[row] || strcmp(s->shown[row], s->row) != 0)) {
		int n = snprintf(at, sizeof(at), "\033[%dH\033[2K", row + 1);

		add_bytes(s, at, (size_t)n);
		add_bytes(s, s->row, s->row_len);
		free(s->shown[row]);
		s->shown[row] = s->row;
		s->row = NULL;
	}
	free(s->row);
	s->row = NULL;
	if (s->made < s->rows)
		begin_row(s);
}

void screen_end(struct screen *s)
{
	while (s->made < s->rows)
		screen_next(s);
	flush(s);
}

/* ---- keys ---- */

int screen_watch(const struct screen *s, struct pollfd fds[SCREEN_FDS])
{
	fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = s->used > s->sent ? s->fd : -1,
				 .events = POLLOUT};
	return SCREEN_FDS;
}

void screen_serve(struct screen *s, const struct pollfd fds[SCREEN_FDS])
{
	ssize_t n;

	if (fds[1].revents)
		flush(s);
	s->typed_len -= s->typed_at;
	memmove(s->typed, s->typed + s->typed_at, s->typed_len);
	s->typed_at = 0;
	if (!fds[0].revents || s->typed_len == sizeof(s->typed))
		return;
	n = read(STDIN_FILENO, s->typed + s->typed_len,
		 sizeof(s->typed) - s->typed_len);
	s->typed_len += n > 0 ? (size_t)n : 0;
	s->typed_when = now();
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		s->on = false; /* hung up: nothing to restore */
}

static const struct {
	const char *bytes;
	int key;
} sequences[] = {
	{"[A", KEY_UP},    {"[B", KEY_DOWN},     {"OA", KEY_UP},
	{"OB", KEY_DOWN},  {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN},
	{"[H", KEY_HOME},  {"[F", KEY_END},      {"OH", KEY_HOME},
	{"OF", KEY_END},   {"[1~", KEY_HOME},    {"[4~", KEY_END},
	{"[7~", KEY_HOME}, {"[8~", KEY_END},
};

/* Behind ESC, "[" or "O": up to the letter or "~" that ends it; 0: that is not
 * here yet. */
static size_t sequence_length(const char *p, size_t n)
{
	size_t i = 1;

	while (i < n && (p[i] < '@' || p[i] > '~'))
		i++;
	return i < n ? i + 1 : 0;
}

/* After ESC, more may come: over a slow line, the bytes of a key arrive
 * separately. */
static bool is_begun(const struct screen *s)
{
	const char *p = s->typed + s->typed_at;
	size_t n = s->typed_len - s->typed_at;

	return n > 0 && p[0] == 27 &&
	       (n == 1 || ((p[1] == '[' || p[1] == 'O') &&
			   sequence_length(p + 1, n - 1) == 0));
}

struct instant screen_wake(const struct screen *s)
{
	return is_begun(s) ? after(s->typed_when, ESCAPE_MS) : NEVER;
}

/* Behind ESC. */
static int sequence_key(struct screen *s)
{
	const char *p = s->typed + s->typed_at;
	size_t n = s->typed_len - s->typed_at;
	int key = KEY_OTHER;

	if (n == 0 || (p[0] != '[' && p[0] != 'O'))
		return KEY_ESCAPE;
	n = sequence_length(p, n);
	if (n == 0)
		n = s->typed_len - s->typed_at;
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
		if (strlen(sequences[i].bytes) == n &&
		    memcmp(sequences[i].bytes, p, n) == 0)
			key = sequences[i].key;
	s->typed_at += n;
	return key;
}

int screen_key(struct screen *s)
{
	unsigned char c;

	if (!s->on)
		return KEY_GONE;
	if (s->typed_at >= s->typed_len ||
	    (is_begun(s) && before(now(), screen_wake(s))))
		return KEY_NONE;
	c = (unsigned char)s->typed[s->typed_at++];
	if (c == 27)
		return sequence_key(s);
	if (c == '\n')
		return KEY_ENTER;
	return c == '\b' ? KEY_ERASE : c == 0 ? KEY_OTHER : c;
}
