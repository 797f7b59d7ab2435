/* SPDX-License-Identifier: MIT */
/*
 * What the verbs answer, on stdout: tables for people, JSON for programs. What
 * goes in must be safe for a terminal already (format_bytes()).
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "lock/view.h"

struct opts;

/* It is one that knows escape sequences, as far as TERM tells. */
bool terminal_is_able(void);
/* On such a terminal. */
bool colors_are_wanted(const struct opts *o);

/* Columns as wide as their widest cell, two blanks apart; the last one is not
 * filled up. */
#define COLUMNS_MAX 16
/* Colors on standard output: on a terminal, or where they are asked for. */
enum tone { TONE_PLAIN, TONE_GOOD, TONE_NOTE, TONE_BAD };
void render_use(const struct opts *o);
/* What makes so of what follows, plain again; "" without colors. */
const char *paint(enum tone tone);

struct table {
	enum tone (*tone)(const char *cell); /* of the first column, or NULL */
	int columns;
	char **cell; /* row by row */
	int cells, room;
};

void table_begin(struct table *t, int columns);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* `indent`: before each row. Frees it. -1: no memory for it; nothing was
 * printed. */
int table_print(struct table *t, const char *indent, FILE *out);

/* "web1 (pid 12, user joe)"; returns buf. */
const char *about_who(const char (*about)[ABOUT_MAX], char *buf, size_t size);

/* How somebody has a lock, and who it is, as members of the open object. */
void json_hold(struct json *j, const struct view_holder *h);

/* As one word for a shell. */
void put_quoted(FILE *f, const char *value);
/* As one word for the prompt of redis-cli. */
void put_redis_word(FILE *f, const char *bytes, size_t n);

/* stdout has it: then `status`; else says so. */
int render_end(int status);

#endif
