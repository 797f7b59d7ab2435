/* SPDX-License-Identifier: MIT */
/* What the verbs answer. */
#include "cli/render.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/grow.h"
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

#define CELL_MIN 12    /* no number is cut */
#define WRAP_WISHED 20 /* for which the others give way */
#define WRAP_MIN 12    /* words need more room than this */

void table_begin(struct table *t, int columns)
{
	*t = (struct table){.columns = columns};
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (t->room < 0)
		return;
	va_start(ap, fmt);
	if (!grow(&t->cell, t->cells, &t->room, sizeof(*t->cell)) ||
	    vasprintf(&text, fmt, ap) < 0)
		t->room = -1;
	else
		t->cell[t->cells++] = text;
	va_end(ap);
}

/* The columns of the terminal that this goes to; if to none, many. */
static int room_of(FILE *out)
{
	int columns = columns_at(fileno(out));

	return columns == 0 ? INT32_MAX : columns;
}

void put_cut(FILE *out, const char *text, int columns)
{
	int tail = (columns - 1) / 2;
	const char *rest = text;

	if (columns_of(text) <= columns) {
		(void)fputs(text, out);
		return;
	}
	while (columns_of(rest) > tail)
		rest += columns_fit(rest, 1) > 0 ? columns_fit(rest, 1)
						 : columns_fit(rest, 2);
	(void)fprintf(out, "%.*s…%s",
		      (int)columns_fit(text, columns - 1 - tail), text, rest);
}

/* Whole words, each line but the first behind `at` columns. */
static void put_wrapped(FILE *out, const char *text, int columns, int at)
{
	while (columns_of(text) > columns) {
		size_t n = columns_fit(text, columns), words = n;

		while (words > 0 &&
		       (text[words] != ' ' || text[words - 1] == ' '))
			words--;
		if (words == 0)
			words = n + strcspn(text + n, " ");
		if (text[words] == '\0')
			break;
		(void)fprintf(out, "%.*s\n%*s", (int)words, text, at, "");
		text += words + strspn(text + words, " ");
	}
	(void)fputs(text, out);
}

static bool has_bit(unsigned int columns, int i)
{
	return i < COLUMNS_MAX && columns & 1U << i;
}

/* The widest column that may be cut; -1: there is none. */
static int widest_of(const struct table *t, int n)
{
	const int *width = t->width;
	int widest = -1;

	for (int i = 0; i < n; i++)
		if (!has_bit(t->whole, i) && width[i] > CELL_MIN &&
		    (widest < 0 || width[i] > width[widest]))
			widest = i;
	return widest;
}

/* The room of all of them, each cut as far as may be. */
static int floor_of(const struct table *t, int n)
{
	const int *width = t->width;
	int sum = 0;

	for (int i = 0; i < n && i < COLUMNS_MAX; i++)
		if (width[i] != LEFT_OUT)
			sum += 2 + (has_bit(t->whole, i) || width[i] < CELL_MIN
					    ? width[i]
					    : CELL_MIN);
	return sum;
}

static void measure(struct table *t)
{
	for (int i = 0; i < t->cells; i++) {
		int its = columns_of(t->cell[i]);
		int *w = &t->width[i % t->columns];

		*w = its > *w ? its : *w;
	}
}

/* First the spare columns are left out, then the widest one gives way. */
int table_fit(struct table *t, int room)
{
	int n = t->columns - t->wraps, total = 2 * (t->columns - 1);
	int *width = t->width, last, least, least_words;

	measure(t);
	last = t->wraps ? width[n] : 0;
	least = last < WRAP_WISHED ? last : WRAP_WISHED;
	for (int i = 0; i < n; i++)
		total += width[i];
	for (int i = n - 1; i >= 0 && total + last > room; i--)
		if (has_bit(t->spare, i)) {
			total -= width[i] + 2;
			width[i] = LEFT_OUT;
		}
	least_words = t->wraps ? WRAP_MIN : -2;
	for (int i = 0; t->resort[i] > 0 && floor_of(t, n) + least_words > room;
	     i++) {
		total -= width[t->resort[i]] + 2;
		width[t->resort[i]] = LEFT_OUT;
	}
	while (total + least > room) {
		int widest = widest_of(t, n);

		if (widest < 0)
			break;
		width[widest]--;
		total--;
	}
	return room - total < WRAP_MIN ? INT32_MAX : room - total;
}

static void put_cell(const struct table *t, int i, FILE *out)
{
	const int *width = t->width;
	int column = i % t->columns;
	bool toned = column == 0 && t->tone;
	int next = column + 1; /* the column that follows */
	int pad = width[column] - columns_of(t->cell[i]);

	if (width[column] == LEFT_OUT)
		return;
	(void)fputs(toned ? paint(t->tone(t->cell[i])) : "", out);
	put_cut(out, t->cell[i], width[column]);
	(void)fputs(toned ? paint(TONE_PLAIN) : "", out);
	while (next < t->columns && width[next] == LEFT_OUT)
		next++;
	if (next < t->columns)
		(void)fprintf(out, "%*s", (pad > 0 ? pad : 0) + 2, "");
	else
		(void)fputc('\n', out);
}

void table_free(struct table *t)
{
	for (int i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	*t = (struct table){0};
}

int table_print(struct table *t, const char *indent, FILE *out)
{
	int rc = t->room < 0 ? -1 : 0;
	int room = room_of(out) - (int)strlen(indent);
	int last = table_fit(t, room);

	for (int i = 0; rc == 0 && i < t->cells; i++) {
		if (i % t->columns == 0)
			(void)fputs(indent, out);
		if (t->wraps && i % t->columns == t->columns - 1) {
			put_wrapped(out, t->cell[i], last, room - last);
			(void)fputc('\n', out);
		} else {
			put_cell(t, i, out);
		}
	}
	table_free(t);
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
	json_number(j, "slot", h->slot);
	if (h->slot_name[0] != '\0')
		json_text(j, "slot_name", h->slot_name);
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
