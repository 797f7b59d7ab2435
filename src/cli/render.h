/* SPDX-License-Identifier: MIT */
/*
 * What the verbs write to stdout: tables for people, JSON for programs. All
 * text passed in must already be safe for a terminal (format_bytes()).
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "lock/wire/view.h"

struct opts;

/* Whether the terminal knows escape sequences, as far as TERM tells. */
bool terminal_is_able(void);
/* Whether to use colors on such a terminal. */
bool colors_are_wanted(const struct opts *o);

/* Columns are as wide as their widest cell, two blanks apart; the last one is
 * not padded. */
#define COLUMNS_MAX 16
#define RESORTS 7
#define LEFT_OUT (-2) /* a width: with the blanks behind it, none */
/* Colors on stdout: on a terminal, or if they are asked for. */
enum tone { TONE_PLAIN, TONE_GOOD, TONE_NOTE, TONE_BAD };
void render_use(const struct opts *o);
/* The sequence that switches to a tone, or back to plain; "" without colors. */
const char *paint(enum tone tone);

struct table {
	enum tone (*tone)(const char *cell); /* of the first column, or NULL */
	bool wraps;                          /* the last column, at words */
	unsigned int whole; /* columns, as bits, that are never cut */
	unsigned int spare; /* columns, as bits, that are left out, from the
			       right, if the terminal is too narrow for all */
	/* the same, in this order, up to a 0, if cutting the others is not
	 * enough */
	unsigned char resort[RESORTS];
	int columns;
	char **cell;            /* owned; row by row */
	int cells, room;        /* room -1: there was no memory for a cell */
	int width[COLUMNS_MAX]; /* by table_fit(); or LEFT_OUT */
};

void table_begin(struct table *t, int columns);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the widths so that a row fits on the terminal. Returns the room of the
 * last column, if that is to be wrapped. */
int table_fit(struct table *t, int columns);
void table_free(struct table *t);
/* Prints the table, `indent` before each row, and frees it. -1: out of memory;
 * nothing was printed. */
int table_print(struct table *t, const char *indent, FILE *out);

/* What has too many columns is cut in the middle: keys often differ at their
 * end alone (app:deploy:eu-1). */
void put_cut(FILE *out, const char *text, int columns);

/* "web1 (pid 12, user joe)". Returns buf. */
const char *about_who(const char (*about)[ABOUT_MAX], char *buf, size_t size);

/* Writes how and by whom a lock is held, as members of the open object. */
void json_hold(struct json *j, const struct view_holder *h);

/* Writes one word for a shell. */
void put_quoted(FILE *f, const char *value);
/* Writes one word for the prompt of redis-cli. */
void put_redis_word(FILE *f, const char *bytes, size_t n);

/* Returns `status` if all output was written; else reports the failure and
 * returns STATUS_INTERNAL. */
int render_end(int status);

#endif
