/* SPDX-License-Identifier: MIT */
/*
 * The option table: getopt's strings, --help, the names in the files and the
 * check of the manual and the completions all come from it.
 */
#ifndef CLI_OPTROWS_H
#define CLI_OPTROWS_H

#include "cli/opts.h"

/* What a value looks like. */
enum shape {
	DURATION, /* from lo on: 0 or 1 */
	NUMBER,   /* lo..hi */
	SWITCH,   /* none; the field becomes lo, and hi (0: none) when it is
		     typed twice. In a file: yes or no */
	WORD,     /* one of those in `value`, which are 0, 1, 2... */
	TEXT,     /* lo..hi bytes; hi 0: any */
	PATH,     /* of a file: 1..hi bytes */
	GUARD,    /* auto, off, or a duration */
	KEY,
	URL /* one, or several with blanks between them */
};

struct opt_row {
	int letter; /* 0: none */
	const char *name;
	const char *value; /* NULL: takes none */
	enum shape shape;
	bool typed;         /* not in a file */
	unsigned int takes; /* by these verbs: bits of enum taker */
	size_t at, size;
	int64_t lo, hi;
	const char *help;
};

extern const struct opt_row opt_rows[];
extern const int opt_rows_n;

/* By its long name; NULL: there is none. */
const struct opt_row *opt_named(const char *name, size_t n);

/* The nearest long name, for "did you mean"; NULL: none is near. */
const char *opt_nearest(const char *name, size_t n);

/* Sets the field of a row, from that source and line. `value` is overwritten
 * when it is a URL with a password. */
int opt_take(struct opts *o, const struct opt_row *r, char *value,
	     enum source source, int line, struct fail *why);

/* Where the value of a field (`&o->user`) comes from; NULL: it is the default.
 */
const struct given *opt_given(const struct opts *o, const void *field);
bool opt_typed(const struct opts *o, const void *field);
/* "FILE:LINE"; returns buf. */
const char *opt_where(const struct opts *o, const struct given *g,
		      char buf[200]);

/* "REDLOCK_NO_WAIT": the variable that says the same; returns buf. */
const char *opt_variable(const struct opt_row *r, char buf[200]);

/* "ttl = 5m  (FILE:LINE)" of each option that was given. */
void opt_show(const struct opts *o, FILE *out);
/* "ttl = 30s  (default)" of each that was not and may stand in a file. */
void opt_show_defaults(const struct opts *o, FILE *out);

/* Makes a failure, which is one of usage, that of the source: a wrong command
 * line is FAIL_USAGE; elsewhere it is FAIL_CONFIG, and the text begins with
 * where it stands. NULL: the default is wrong. Returns -1. */
int opt_blame(const struct opts *o, const struct given *g, struct fail *why);

#endif
