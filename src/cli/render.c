/* SPDX-License-Identifier: MIT */
/* What the verbs answer. */
#include "cli/render.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/opts.h"
#include "lock/wire/record.h"

/* ---- terminals ---- */

bool terminal_is_able(void)
{
	const char *term = getenv("TERM");

	return term && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

/* NO_COLOR: see no-color.org. */
bool colors_are_wanted(const struct opts *o)
{
	const char *none = getenv("NO_COLOR");

	return o->color == COLOR_ALWAYS ||
	       (o->color == COLOR_AUTO && !(none && none[0] != '\0'));
}

static bool paints;

void render_use(const struct opts *o)
{
	paints = o->color == COLOR_ALWAYS ||
		 (isatty(STDOUT_FILENO) && terminal_is_able() &&
		  colors_are_wanted(o));
}

const char *paint(enum tone tone)
{
	static const char *const codes[] = {[TONE_PLAIN] = "\033[0m",
					    [TONE_GOOD] = "\033[32m",
					    [TONE_NOTE] = "\033[33m",
					    [TONE_BAD] = "\033[1;31m"};

	return paints ? codes[tone] : "";
}

/* ---- tables ---- */

void table_begin(struct table *t, int columns)
{
	*t = (struct table){.columns = columns};
}

/* room -1: there was no memory for a cell */
void table_cell(struct table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (t->room < 0)
		return;
	if (t->cells == t->room) {
		int room = t->room * 2 + 32;
		char **more = realloc(t->cell, (size_t)room * sizeof(*more));

		if (!more) {
			t->room = -1;
			return;
		}
		t->cell = more;
		t->room = room;
	}
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		t->room = -1;
	else
		t->cell[t->cells++] = text;
	va_end(ap);
}

int table_print(struct table *t, const char *indent, FILE *out)
{
	int width[COLUMNS_MAX] = {0}, rc = t->room < 0 ? -1 : 0;

	for (int i = 0; i < t->cells; i++) {
		int its = columns_of(t->cell[i]), *w = &width[i % t->columns];

		*w = its > *w ? its : *w;
	}
	for (int i = 0; rc == 0 && i < t->cells; i++) {
		int column = i % t->columns;
		bool last = column == t->columns - 1;
		int pad = width[column] - columns_of(t->cell[i]) + 2;

		bool toned = column == 0 && t->tone;

		(void)fprintf(out, "%s%s%s%s%*s%s", column == 0 ? indent : "",
			      toned ? paint(t->tone(t->cell[i])) : "",
			      t->cell[i], toned ? paint(TONE_PLAIN) : "",
			      last ? 0 : pad, "", last ? "\n" : "");
	}
	for (int i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	*t = (struct table){0};
	return rc;
}

/* ---- values ---- */

const char *about_who(const char (*about)[ABOUT_MAX], char *buf, size_t size)
{
	if (about[ABOUT_HOST][0] == '\0')
		(void)snprintf(buf, size, "an anonymous holder");
	else
		(void)snprintf(buf, size, "%s (pid %s, user %s)",
			       about[ABOUT_HOST], about[ABOUT_PID],
			       about[ABOUT_USER]);
	return buf;
}

void json_hold(struct json *j, const struct view_holder *h)
{
	json_text(j, "role", view_hold_name(h->how));
	json_text(j, "token", h->token);
	json_time(j, "since", h->since_ms);
	json_left(j, "ttl_left_ms", h->left_ms);
	if (h->ttl_ms > 0)
		json_number(j, "ttl_ms", h->ttl_ms);
	if (h->renewed >= 0)
		json_number(j, "renewals", h->renewed);
	json_number(j, "slot", h->slot);
	if (strcmp(h->type, "string") != 0)
		json_text(j, "type", h->type);
	json_about(j, "holder", h->about);
}

void put_quoted(FILE *f, const char *value)
{
	(void)putc('\'', f);
	for (; *value; value++)
		if (*value == '\'')
			(void)fputs("'\\''", f);
		else
			(void)putc(*value, f);
	(void)putc('\'', f);
}

void put_redis_word(FILE *f, const char *bytes, size_t n)
{
	(void)putc('"', f);
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)bytes[i];
		size_t len = utf8_length(bytes + i, n - i);

		if (c == '"' || c == '\\')
			(void)fprintf(f, "\\%c", c);
		else if (len == 0 || c < ' ' || c == 0x7f)
			(void)fprintf(f, "\\x%02x", c);
		else
			(void)fwrite(bytes + i, 1, len, f);
		i += len > 0 ? len : 1;
	}
	(void)putc('"', f);
}

int render_end(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	log_error("stdout", "standard output: cannot write");
	return STATUS_INTERNAL;
}
