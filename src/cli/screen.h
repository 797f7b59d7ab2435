/* SPDX-License-Identifier: MIT */
/*
 * The whole screen of a terminal, for a while: drawn row by row, read key by
 * key, and given back as it was, whatever ends us. (Of SIGKILL nothing helps;
 * reset(1) does.)
 *
 * A frame is written at once, and only those rows that have changed since the
 * last one. A terminal that takes no more bytes gets none: nothing here waits.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

#include "base/fail.h"

enum style { PLAIN, BOLD, DIM, REVERSE, GREEN, YELLOW, RED };

/* What is no character. */
enum key {
	KEY_NONE = 0,
	KEY_ENTER = '\r',
	KEY_ESCAPE = 27,
	KEY_ERASE = 127,
	KEY_UP = 0x110000,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_OTHER, /* some other key that is no character */
	KEY_GONE   /* the terminal is */
};

#define SCREEN_FDS 2

struct screen {
	int fd; /* of our own, that does not wait */
	bool on, colors;
	int rows, columns;
	struct termios before;
	char **shown; /* each row, as it was drawn last; NULL: anyhow */
	int shown_rows;
	char *out; /* bytes to be written, from `sent` to `used` */
	size_t used, sent;
	char *row; /* the one that is made */
	size_t row_len;
	FILE *making;
	int made; /* so many rows */
	char typed[64];
	size_t typed_len, typed_at;
};

/* Standard input and output are the terminal. -1: they are not, or it does not
 * let itself be steered. */
int screen_open(struct screen *s, bool colors, struct fail *why);
/* An inert one does no harm. */
void screen_close(struct screen *s);

/* Before we are stopped, and when we go on. */
void screen_leave(struct screen *s);
void screen_enter(struct screen *s);
/* It may have another size: all is to be drawn anew. */
void screen_measure(struct screen *s);

/* A frame: rows from the top, each made of texts. What is not made is empty. */
bool screen_begin(struct screen *s); /* false: the last one is not out yet */
/* Text that is safe for a terminal, from column `at` (0: the first) on, cut to
 * `width`. */
void screen_put(struct screen *s, int at, int width, enum style style,
		const char *text);
void screen_fill(struct screen *s, enum style style); /* the whole row */
void screen_next(struct screen *s);                   /* the row is made */
void screen_end(struct screen *s);

/* For poll(2); returns how many. */
int screen_watch(const struct screen *s, struct pollfd fds[SCREEN_FDS]);
/* Takes what came of it. */
void screen_serve(struct screen *s, const struct pollfd fds[SCREEN_FDS]);
/* The next key; KEY_NONE: none was pressed. A character is its byte. */
int screen_key(struct screen *s);

#endif
