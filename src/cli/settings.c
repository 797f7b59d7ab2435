/* SPDX-License-Identifier: MIT */
/*
 * Settings from elsewhere than the command line; later ones override earlier
 * ones:
 *
 *   $REDIS_URL, which many platforms set
 *   /etc/redlock/config
 *   $XDG_CONFIG_HOME/redlock/config, else $HOME/.config/redlock/config
 *   $REDLOCK_URL, $REDLOCK_TTL and so on: one for each long option
 *
 * A line of a file is `name = value`, where name is a long option; a switch is
 * `quiet = yes` or `no`. There is no quoting; blanks and a carriage return
 * around a value are ignored. Empty lines and lines that begin with "#" are
 * skipped.
 *
 * A file decides where locks are. So it must belong to root or to us, and
 * nobody else may be able to write to it, or it is refused. Nobody else may
 * read it if it holds a password.
 */
#include "cli/optrows.h"
#include "cli/url.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/trust.h"
#include "base/units.h"

#define SYSTEM_FILE "/etc/redlock/config"

/* One of the files, while it is read. */
struct reading {
	struct opts *o;
	enum source source;
	const char *path;
	int fd;
	struct stat st;
	int line;
	struct fail *why;
};

static int refuse(const struct reading *r, const char *what)
{
	return fail(r->why, FAIL_CONFIG, "'%.150s' %s", r->path, what);
}

/* ---- a line ---- */

/* The row whose variable this is; NULL: none, or one for the command line
 * only. */
static const struct opt_row *row_of_variable(const char *text, size_t n)
{
	for (int i = 0; i < opt_rows_n; i++) {
		char name[200];

		if (!opt_rows[i].typed &&
		    strlen(opt_variable(&opt_rows[i], name)) == n &&
		    memcmp(name, text, n) == 0)
			return &opt_rows[i];
	}
	return NULL;
}

/* As it is typed, or as a variable: -t, --ttl, export REDLOCK_TTL. */
static const struct opt_row *row_meant(const char *name, size_t n)
{
	static const char word[] = "export ";
	size_t dashes = strspn(name, "-"), skip = sizeof(word) - 1;

	if (n > skip && memcmp(name, word, skip) == 0)
		return row_of_variable(name + skip, n - skip);
	if (dashes < n && n - dashes == 1)
		for (int i = 0; i < opt_rows_n; i++)
			if (opt_rows[i].letter == name[dashes])
				return &opt_rows[i];
	return dashes > 0 && dashes < n ? opt_named(name + dashes, n - dashes)
					: row_of_variable(name, n);
}

static int no_name(const struct reading *r)
{
	return fail(r->why, FAIL_USAGE, "expected 'name = value'");
}

static int bad_name(const struct reading *r, const char *name, size_t n)
{
	const char *guess = opt_suggest(name, n);
	const struct opt_row *meant = row_meant(name, n);
	char shown[80];

	(void)format_bytes(name, n, shown, sizeof(shown));
	if (meant)
		return fail(r->why, FAIL_USAGE,
			    "unknown option '%s': write the long name without "
			    "dashes: %s",
			    shown, meant->name);
	if (strspn(name, NAME_LETTERS) < n)
		return no_name(r);
	if (guess)
		return fail(r->why, FAIL_USAGE,
			    "unknown option '%s': did you mean '%s'?", shown,
			    guess);
	return fail(r->why, FAIL_USAGE, "unknown option '%s'", shown);
}

static bool holds_password(const struct opts *o)
{
	struct endpoint ep;
	struct fail unused;
	bool has = false;

	for (int i = 0; i < o->urls; i++)
		has |= endpoint_parse(&ep, o->url[i], &unused) == 0
			       ? ep.secret.has_password
			       : strchr(o->url[i], '@') != NULL;
	return has;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static size_t trimmed(const char *text, size_t n)
{
	while (n > 0 && is_blank(text[n - 1]))
		n--;
	return n;
}

static int take_line(struct reading *r, char *line)
{
	const struct opt_row *row;
	size_t n;
	char *value;

	while (is_blank(*line))
		line++;
	if (*line == '\0' || *line == '#')
		return 0;
	value = strchr(line, '=');
	n = trimmed(line, strcspn(line, "="));
	if (!value || n == 0)
		return no_name(r);
	do
		value++;
	while (is_blank(*value));
	value[trimmed(value, strlen(value))] = '\0';
	row = opt_named(line, n);
	if (!row)
		return bad_name(r, line, n);
	if (row->typed)
		return fail(r->why, FAIL_USAGE,
			    "'%s' can only be used on the command line",
			    row->name);
	if (opt_take(r->o, row, value, r->source, r->line, r->why) < 0)
		return -1;
	if (row->shape == URL && holds_password(r->o))
		return trust_file(TRUST_SECRET, r->fd,
				  "a file that holds a password, ", r->path,
				  &r->st, r->why);
	return 0;
}

static int take_lines(struct reading *r, char *text, size_t n)
{
	char *end = text + n, *next;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3; /* the mark that some editors begin UTF-8 with */
	for (; text < end; text = next) {
		const struct given here = {r->source, ++r->line, NULL, NULL};
		char *stop = memchr(text, '\n', (size_t)(end - text));

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		*stop = '\0';
		if (strlen(text) < (size_t)(stop - text))
			(void)fail(r->why, FAIL_USAGE,
				   "a NUL byte: this is not a text file");
		else if (take_line(r, text) == 0)
			continue;
		return opt_blame(r->o, &here, r->why);
	}
	return 0;
}

/* ---- a file ---- */

static int check_file(struct reading *r)
{
	char text[sizeof(r->why->text)];

	if (trust_file(TRUST_PUBLIC, r->fd, "", r->path, &r->st, r->why) < 0) {
		memcpy(text, r->why->text, sizeof(text));
		if (r->source == FROM_USER && r->st.st_uid != geteuid())
			(void)fail(r->why, FAIL_CONFIG,
				   "%.340s; or set HOME to your own home",
				   text);
		return -1;
	}
	return S_ISREG(r->st.st_mode) ? 0 : refuse(r, "is not a regular file");
}

static int read_lines(struct reading *r)
{
	char *text = malloc(CONFIG_FILE_MAX + 1);
	size_t n = 0;
	ssize_t got = 1;

	r->o->file[r->source].text = text;
	r->o->file[r->source].path = strdup(r->path);
	if (!text || !r->o->file[r->source].path)
		return fail_memory(r->why);
	while (got > 0 && n < CONFIG_FILE_MAX + 1) {
		got = read(r->fd, text + n, CONFIG_FILE_MAX + 1 - n);
		if (got < 0)
			return fail_sys(r->why, FAIL_CONFIG, "'%.150s'",
					r->path);
		n += (size_t)got;
	}
	if (n > CONFIG_FILE_MAX)
		return refuse(r, "is larger than 64 KiB");
	return take_lines(r, text, n);
}

/* A home that we may not enter is not ours (sudo -u): it has no settings for
 * us. Any other unreadable file is an error. */
static bool is_absent(const struct reading *r, int error)
{
	struct stat st;

	if (error == EACCES && r->source == FROM_USER)
		return stat(r->path, &st) < 0 && errno == EACCES;
	/* (a dangling link is a file that cannot be read) */
	return (error == ENOENT && lstat(r->path, &st) < 0) || error == ENOTDIR;
}

static int read_file(struct opts *o, enum source source, const char *path,
		     struct fail *why)
{
	struct reading r = {.o = o, .source = source, .path = path, .why = why};
	int rc;

	/* a pipe must not hold us up */
	r.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r.fd < 0 && is_absent(&r, errno))
		return 0;
	if (r.fd < 0)
		return fail_sys(why, FAIL_CONFIG, "'%.150s'", path);
	rc = check_file(&r);
	if (rc == 0)
		rc = read_lines(&r);
	close(r.fd);
	return rc;
}

/* ---- all ---- */

/* The XDG standard says to ignore a relative path. */
static int read_user_file(struct opts *o, struct fail *why)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[1024];
	int n = 0;

	if (xdg && xdg[0] == '/')
		n = snprintf(path, sizeof(path), "%s/redlock/config", xdg);
	else if (home && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/.config/redlock/config",
			     home);
	if (n == 0)
		return 0;
	if (n >= (int)sizeof(path))
		return fail(why, FAIL_CONFIG, "%s: too long",
			    xdg && xdg[0] == '/' ? "XDG_CONFIG_HOME" : "HOME");
	return read_file(o, FROM_USER, path, why);
}

/* The value of each row's variable, or NULL. In one pass: a getenv() for each
 * row would compare every variable with every name. Of two with the same name
 * the first counts, as getenv() has it. */
static void find_variables(char *value[OPTIONS_MAX])
{
	for (char **e = environ; e && *e; e++) {
		const struct opt_row *r;
		size_t n;

		if (strncmp(*e, VARIABLES, sizeof(VARIABLES) - 1) != 0)
			continue;
		n = strcspn(*e, "=");
		r = (*e)[n] ? row_of_variable(*e, n) : NULL;
		if (r && !value[r - opt_rows])
			value[r - opt_rows] = *e + n + 1;
	}
}

/* Reads the variable of every option that a file may have. An empty one does
 * not count. Reports the first error, and uses the others. */
static int read_variables(struct opts *o, struct fail *why)
{
	char *value[OPTIONS_MAX] = {NULL};
	struct fail next;
	int rc = 0;

	find_variables(value);
	for (int i = 0; i < opt_rows_n; i++) {
		if (!value[i] || value[i][0] == '\0' ||
		    opt_take(o, &opt_rows[i], value[i], FROM_ENV, 0,
			     rc < 0 ? &next : why) == 0)
			continue;
		rc = -1;
	}
	return rc;
}

const char *const variable_names[VARIABLES_N] = {
	"REDLOCK_KEY=",   "REDLOCK_URL=",      "REDLOCK_TOKEN=",
	"REDLOCK_FENCE=", "REDLOCK_SLOT=",     "REDLOCK_FENCES=",
	"REDLOCK_HELD=",  "REDLOCK_SLOT_NAME="};

bool variable_is_given(const char *entry)
{
	if (strncmp(entry, VARIABLES, sizeof(VARIABLES) - 1) != 0)
		return false;
	for (int i = 0; i < VARIABLES_N; i++)
		if (strncmp(entry, variable_names[i],
			    strlen(variable_names[i])) == 0)
			return true;
	return false;
}

/* The row whose name is nearly that of the variable VARIABLES + name. */
static const struct opt_row *row_like(const char *name)
{
	char option[64];
	size_t n = 0;
	const char *guess;
	const struct opt_row *r;

	for (; n < sizeof(option) && name[n]; n++)
		option[n] = (char)(name[n] == '_'
					   ? '-'
					   : tolower((unsigned char)name[n]));
	guess = opt_suggest(option, n);
	r = guess ? opt_named(guess, strlen(guess)) : NULL;
	return r && !r->typed ? r : NULL;
}

void settings_report_typos(void)
{
	for (char **e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "="), from = sizeof(VARIABLES) - 1;
		char name[80] = "", shown[200], variable[200];
		const struct opt_row *r;

		if (strncmp(*e, VARIABLES, from) != 0 || !(*e)[n] ||
		    n - from >= sizeof(name) || row_of_variable(*e, n))
			continue;
		memcpy(name, *e + from, n - from);
		r = variable_is_given(*e) ? NULL : row_like(name);
		if (r)
			log_notice("unused-variable",
				   "%s is not used: did you mean %s?",
				   format_bytes(*e, n, shown, sizeof(shown)),
				   opt_variable(r, variable));
	}
}

static int read_redis_url(struct opts *o, struct fail *why)
{
	char *url = getenv("REDIS_URL");

	return !url || *url == '\0' ? 0
				    : opt_take(o, opt_named("url", 3), url,
					       FROM_REDIS_URL, 0, why);
}

#define READINGS 4

int settings_load(struct opts *o, struct fail *why)
{
	struct fail each[READINGS];
	const int rc[READINGS] = {
		read_redis_url(o, &each[0]),
		read_file(o, FROM_SYSTEM, SYSTEM_FILE, &each[1]),
		read_user_file(o, &each[2]), read_variables(o, &each[3])};

	for (int i = 0; i < READINGS; i++)
		if (rc[i] < 0) {
			*why = each[i];
			return -1;
		}
	return 0;
}
