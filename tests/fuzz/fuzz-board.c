/* SPDX-License-Identifier: MIT */
/* `top` shows any replies as locks, on a screen of any size, with any keys
 * pressed: a row stays in its row, and nothing but the screen controls the
 * terminal. `inspect` shows the same.
 *
 * The first bytes are rows, columns, whether there are colors and blocks, and
 * six keys; the others are replies. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/columns.h"
#include "base/units.h"
#include "cli/show/block.h"
#include "cli/top/inside.h"
#include "fuzz.h"
#include "net/resp.h"

const char fuzz_name[] = "board";

#define LOCKS_SEEN 20
#define HEAD 10

static struct endpoint server;
static struct query query = {.servers = {.n = 1, .endpoint = &server}};
static struct lock_seen seen[LOCKS_SEEN], *each[LOCKS_SEEN];
static char names[LOCKS_SEEN][200];
static int n_seen;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

static const char *noon(char *buf, size_t size)
{
	(void)snprintf(buf, size, "12:00:00");
	return buf;
}

/* ---- what is seen ---- */

static void show_block(struct snapshot *s)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	must(f != NULL, "there is memory");
	block_print(&query, "job", s, f);
	(void)fclose(f);
	for (size_t i = 0; i < n; i++)
		must((unsigned char)text[i] >= ' ' || text[i] == '\n',
		     "a block is text");
	free(text);
}

/* As a scan does. */
static void see(const struct reply *r)
{
	struct lock_seen *l = &seen[n_seen];
	static struct snapshot s;
	struct view *v = &s.view;
	struct fail why = {0};

	memset(&s, 0, sizeof(s));
	if (view_add(v, r, 0, &why) < 0) {
		view_close(v);
		return;
	}
	view_finish(v, 1);
	show_block(&s);
	*l = (struct lock_seen){.key = names[n_seen],
				.shown = names[n_seen],
				.known = true,
				.at = now(),
				.state = view_state(v, 1),
				.holders = v->in_all,
				.fence = v->counter,
				.in_line = v->in_line,
				.held_ms = -1};
	if (v->holders > 0) {
		l->holder = v->holder[0];
		l->holder.value = NULL;
		(void)snprintf(names[n_seen], sizeof(names[0]), "%s",
			       l->holder.token);
		if (l->holder.since_ms > 0 && v->now_ms > l->holder.since_ms)
			l->held_ms = v->now_ms - l->holder.since_ms;
	} else {
		(void)snprintf(names[n_seen], sizeof(names[0]), "job%d",
			       n_seen);
	}
	l->len = strlen(l->key);
	each[n_seen] = l;
	n_seen++;
	view_close(v);
}

/* ---- what is drawn ---- */

/* "\033[" NUMBERS LETTER: returns what follows it. */
static const char *check_sequence(const char *p, int *column, int *row)
{
	int n = 0;

	must(p[1] == '[', "a sequence is one");
	for (p += 2; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (*p - '0');
	must(*p && strchr("GHKm", *p), "a sequence is one of ours");
	if (*p == 'G')
		*column = n - 1;
	if (*p == 'H')
		*row = n;
	return p + 1;
}

/* Its own branches are nothing to look for. */
#ifdef __clang__
__attribute__((no_sanitize("coverage")))
#endif
static void
check_frame(const char *text, const struct screen *s)
{
	int column = 0, row = 0;

	while (*text) {
		size_t len;
		char one[8];

		if (*text == '\033') {
			text = check_sequence(text, &column, &row);
			must(column >= 0 && column <= s->columns && row >= 0 &&
				     row <= s->rows,
			     "what is drawn is on the screen");
			continue;
		}
		if (*text >= ' ' && *text < 0x7f) {
			must(++column <= s->columns,
			     "what is drawn ends in its row");
			text++;
			continue;
		}
		len = utf8_length(text, strlen(text));
		must(len > 0 && (unsigned char)*text >= ' ' && *text != 0x7f,
		     "what is drawn is text");
		memcpy(one, text, len);
		one[len] = '\0';
		column += columns_of(one);
		must(column <= s->columns, "what is drawn ends in its row");
		text += len;
	}
}

static void draw(struct board *b, struct screen *s)
{
	static char text[1 << 20];
	ssize_t n;

	must(ftruncate(s->fd, 0) == 0 && lseek(s->fd, 0, SEEK_SET) == 0,
	     "there is a file");
	must(board_draw(b, s) == 0, "there is memory");
	n = pread(s->fd, text, sizeof(text) - 1, 0);
	must(n >= 0, "there is a file");
	text[n] = '\0';
	check_frame(text, s);
}

static void see_all(const uint8_t *data, size_t size)
{
	struct resp *r = resp_open(true);
	struct words w;

	must(r && resp_feed(r, (const char *)data, size) == 0,
	     "there is memory");
	n_seen = 0;
	while (n_seen < LOCKS_SEEN && resp_next(r, &w) == RESP_REPLY) {
		const struct reply *whole = resp_whole(r);

		if (whole)
			see(whole);
	}
	resp_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct screen s = {.on = true};
	struct scan c = {.query = &query, .known.lock = each};
	struct board b = {.scan = &c, .clock = noon};

	if (size < HEAD)
		return 0;
	if (fd < 0)
		fd = memfd_create("screen", MFD_CLOEXEC);
	(void)snprintf(server.name, sizeof(server.name), "10.0.0.1:6379");
	see_all(data + HEAD, size - HEAD);
	c.known.locks = n_seen;
	s.fd = fd;
	/* rows for all locks and what is around them; seldom as wide as can
	 * be: each column costs time, and the layout has its steps up to 70 */
	s.rows = 1 + data[0] % (LOCKS_SEEN + 6);
	s.columns = 1 + (data[1] < 240 ? data[1] % 100 : data[1]);
	s.colors = data[2] & 1;
	b.blocks = data[2] & 2;
	b.settled = data[2] & 32;
	c.node[0].down = data[2] & 4;
	c.unseen = data[2] & 8;
	c.known.overfull = data[2] & 16;
	c.node[0].since = now();
	(void)fail(&c.node[0].why, FAIL_UNAVAILABLE,
		   "10.0.0.1:6379: no answer");
	draw(&b, &s);
	for (int i = 3; i < HEAD; i++)
		(void)keyboard_take(&b, data[i] < 128 ? data[i]
						      : KEY_UP + data[i] % 7);
	draw(&b, &s);
	for (int i = 0; i < s.shown_rows; i++)
		free(s.shown[i]);
	free(s.shown);
	free(s.out);
	return 0;
}
