/* SPDX-License-Identifier: MIT */
/* What `top` shows, and the screen that it shows it on. */
#ifndef CLI_TOP_INSIDE_H
#define CLI_TOP_INSIDE_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/show/locks.h"

/*
 * The whole screen of a terminal, for a while: drawn row by row, read key by
 * key, and restored however we end. (Nothing helps against SIGKILL; reset(1)
 * does.)
 *
 * A frame is one write, of only the rows that changed since the last one. A
 * terminal that takes no more bytes gets none: nothing here waits.
 */
enum style { PLAIN, BOLD, DIM, REVERSE, GREEN, YELLOW, RED };

/* Keys that are not characters. */
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
	KEY_OTHER, /* another key that is not a character */
	KEY_GONE   /* the terminal has gone */
};

#define SCREEN_FDS 2

struct screen {
	int fd; /* our own, non-blocking; screen_close() closes it */
	bool on, colors;
	int rows, columns;
	struct termios before;
	char **shown; /* each row as it was last drawn; NULL: unknown */
	int shown_rows;
	char *out; /* bytes to write, from `sent` to `used` */
	size_t used, sent;
	char *row; /* the row in progress */
	size_t row_len;
	FILE *making;
	int made; /* number of rows made */
	char typed[64];
	size_t typed_len, typed_at;
	struct instant typed_when; /* when its last byte came */
};

/* Standard input and output must be the terminal. -1: they are not, or its
 * modes cannot be set. */
int screen_open(struct screen *s, bool colors, struct fail *why);
/* Does nothing if *s is not open. */
void screen_close(struct screen *s);

/* Call these before we are stopped, and when we continue. */
void screen_leave(struct screen *s);
void screen_enter(struct screen *s);
/* The size may have changed: everything is drawn again. */
void screen_measure(struct screen *s);

/* A frame: rows from the top, each made of texts. Rows not made are empty. */
bool screen_begin(struct screen *s); /* false: the last is not out yet */
/* Adds text that is safe for a terminal, from column `at` (0 is the first) on,
 * cut to `width`. */
void screen_put(struct screen *s, int at, int width, enum style style,
		const char *text);
void screen_fill(struct screen *s, enum style style); /* the whole row */
void screen_next(struct screen *s);                   /* ends the row */
void screen_end(struct screen *s);

/* For poll(2); returns the number of descriptors. */
int screen_watch(const struct screen *s, struct pollfd fds[SCREEN_FDS]);
/* Handles their events. */
void screen_serve(struct screen *s, const struct pollfd fds[SCREEN_FDS]);
/* The next key; KEY_NONE: none. A character is given as its byte. */
int screen_key(struct screen *s);
/* When to call screen_key() again even without input: only after a moment is it
 * known whether Escape was pressed, or a key whose code begins with it. */
struct instant screen_wake(const struct screen *s);

/*
 * What `top` shows of a scan: a line about the servers, one about what is wrong
 * or left out, a row for each lock, and a line of help. Locks are drawn with
 * their present age: a holder's remaining lease shrinks even while no server
 * answers.
 */
#define FILTER_MAX 64

struct board {
	struct scan *scan; /* borrowed */
	struct choice choice;
	char filter[FILTER_MAX];
	bool typing, helping, paused;
	bool settled;      /* everything has been looked at once */
	bool blocks;       /* the terminal can show Unicode blocks */
	struct instant at; /* the time of what is shown */
	int first;         /* index of the first lock on the screen */
	int page;          /* number of locks that fit */
	const char *(*clock)(char *buf, size_t size); /* the time of day */
};

/* -1: out of memory. */
int board_draw(struct board *b, struct screen *s);

/* Takes a key, as screen_key() returns it. false: `top` is to end. */
bool keyboard_take(struct board *b, int key);

#endif
