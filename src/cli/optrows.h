/* SPDX-License-Identifier: MIT */
/*
 * The option table. It gives getopt's strings, --help, the names in files, in
 * variables and in URLs, and what the manual and the completions are checked
 * against. Only for what reads and shows options; the verbs need cli/opts.h.
 */
#ifndef CLI_OPTROWS_H
#define CLI_OPTROWS_H

#include <stdio.h>

#include "base/fail.h"
#include "cli/opts.h"

/* The form of a value. */
enum shape {
	DURATION, /* at least lo: 0 or 1 */
	NUMBER,   /* lo..hi */
	SWITCH,   /* none; the field becomes lo, or hi when typed twice (unless
		     hi is 0). In a file or a URL: yes or no */
	WORD,     /* one of the words in `value`, which mean 0, 1, 2... */
	TEXT,     /* lo..hi bytes; hi 0: any number */
	LABEL,    /* the same, kept as a copy; no control characters */
	PATH,     /* of a file: 1..hi bytes */
	DIR,      /* a full path */
	HOST,     /* a name or an address: 1..hi bytes */
	GUARD,    /* auto, off, or a duration */
	SIGNAL,   /* a name or a number */
	SLOTS,    /* how many, lo..hi, or their names, with commas between */
	DATABASE, /* a number, lo..hi; it may also stand in the path of a URL */
	KEY,
	URL /* one, or several separated by blanks */
};

/* In which URLs an option may stand. */
enum in_url {
	IN_NONE,
	IN_ANY,
	IN_SERVERS, /* not in local: */
	IN_LOCAL,
	IN_SENTINEL,
	IN_TLS
};

/* What else was typed for a name may hold a password: --url:redis://:pw@host */
#define NAME_LETTERS                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

struct opt_row {
	int letter;        /* 0: none */
	const char *name;  /* NULL: it stands only in URLs */
	const char *value; /* NULL: the option takes none */
	enum shape shape;
	bool typed;      /* only on the command line, not in a file */
	const char *url; /* its name in a URL; NULL: none */
	enum in_url in;
	/* where it goes from a URL, in struct endpoint; and else, in struct
	 * opts (small: all rows are relocated at the start of each run) */
	uint16_t ep_at, ep_size;
	unsigned int takes; /* the verbs that take it: bits of enum taker */
	uint16_t at, size;
	int64_t lo, hi;
	const char *help;
};

extern const struct opt_row opt_rows[];
extern const int opt_rows_n;

/* Finds a row by its long name; NULL: there is none. */
const struct opt_row *opt_named(const char *name, size_t n);

/* The same by its name in a URL. */
const struct opt_row *opt_in_url(const char *name, size_t n);

/* The nearest long name, for "did you mean"; NULL: none is near. */
const char *opt_suggest(const char *name, size_t n);

/* ---- values.c ---- */

/* Sets the field of a row, from this source and line. A URL with a password in
 * `value` is overwritten. */
int opt_take(struct opts *o, const struct opt_row *r, char *value,
	     enum source source, int line, struct fail *why);

/* The same for a value in a URL: sets the field of the endpoint. */
int opt_take_url(struct endpoint *ep, const struct opt_row *r, char *value,
		 struct fail *why);

/* The value of the field of the endpoint, as it is written in a URL; NULL: it
 * is the usual one. buf may be used. */
const char *opt_url_text(const struct endpoint *ep,
			 const struct endpoint *usual, const struct opt_row *r,
			 char buf[32]);

/* ---- where a value was given ---- */

/* "FILE:LINE". Returns buf. */
const char *opt_where(const struct opts *o, const struct given *g,
		      char buf[200]);

#define VARIABLES "REDLOCK_" /* what their names begin with */
/* "REDLOCK_NO_WAIT": the variable with the same meaning. Returns buf. */
const char *opt_variable(const struct opt_row *r, char buf[200]);

/* Attributes a failure to its source: on the command line it is FAIL_USAGE;
 * elsewhere it is FAIL_CONFIG, and the text begins with the place. g NULL: the
 * default is wrong. Returns -1. */
int opt_blame(const struct opts *o, const struct given *g, struct fail *why);

/* ---- the sources: settings.c, cmdline.c ---- */

#define COMMENT_ALONE "a comment needs a line of its own"

#define CONFIG_FILE_MAX 65536 /* bytes of a file */

/* Reads every source, even if an earlier one failed. -1: one failed; *why is
 * the first failure. */
int settings_load(struct opts *o, struct fail *why);

/* Reports variables that are not used, but whose names are nearly those of
 * options. */
void settings_report_typos(void);

/* Reads the command line, which is the last source, and checks the whole. The
 * first word is a verb unless it begins with a dash. argv is not const: a URL
 * with a password in it is overwritten, so that ps(1) does not show it; and the
 * guard writes its title over all of argv. Returns -1: see *why. */
int cmdline_parse(struct opts *o, int argc, char **argv, struct fail *why);

struct command;

/* ---- for people ---- */

/* Prints the usage of a verb, or of the run form (cmd_run). */
void help_print(const struct command *verb, FILE *out);

/* Writes "ttl = 5m  (FILE:LINE)" for each option that was given. */
void opt_show(const struct opts *o, FILE *out);
/* Writes "ttl = 30s  (default)" for each option that was not, if it is valid in
 * a file. */
void opt_show_defaults(const struct opts *o, FILE *out);

#endif
