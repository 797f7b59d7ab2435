/* SPDX-License-Identifier: MIT */
/*
 * Prints what a terminal shows after the output on standard input.
 *
 *   vt ROWSxCOLUMNS [text|main|svg] [TITLE]
 *
 *   text  as lines; if the program used the alternate screen, what that showed
 *         when the program left it
 *   main  as lines: the main screen at the end
 *   svg   like text, as a picture
 *
 * Status 1: the output has a sequence that redlock must not use, or text beyond
 * the edge; standard error says which.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/units.h"

#define ROWS_MAX 200
#define COLUMNS_MAX 300
#define LETTER 8.4 /* px */
#define LINE 19.0
#define EDGE 16.0

struct look {
	bool bold, dim, reverse;
	int color; /* 31...; 0: none */
};

struct cell {
	char text[16]; /* a character, and what is combined with it */
	int columns;   /* 0: the second half of a wide one */
	struct look look;
};

struct page {
	struct cell cell[ROWS_MAX][COLUMNS_MAX];
	int row, column;
};

static struct page pages[2], left; /* main, other; as it was when left */
static struct page *page = &pages[0];
static struct look look;
static int rows, columns, errors;
static bool wraps = true, was_left;

static void complain(const char *what, const char *text)
{
	(void)fprintf(stderr, "vt: %s: %s\n", what, text);
	errors = 1;
}

/* ---- writing ---- */

static void clear(struct page *p, int row, int from, int to)
{
	for (int i = from; i < to; i++)
		p->cell[row][i] = (struct cell){" ", 1, {0}};
}

static void clear_page(struct page *p)
{
	for (int i = 0; i < rows; i++)
		clear(p, i, 0, columns);
}

static void line_feed(void)
{
	if (page->row + 1 < rows) {
		page->row++;
		return;
	}
	memmove(page->cell[0], page->cell[1],
		sizeof(page->cell[0]) * (size_t)(rows - 1));
	clear(page, rows - 1, 0, columns);
}

static void put(const char *bytes, size_t n)
{
	char text[8] = "";
	struct cell *c;
	size_t used;
	int width;

	memcpy(text, bytes, n);
	width = columns_of(text);
	if (width == 0 && page->column > 0) {
		c = &page->cell[page->row][page->column - 1];
		used = strlen(c->text);
		if (used + n < sizeof(c->text))
			memcpy(c->text + used, text, n + 1);
		return;
	}
	if (page->column + width > columns) {
		if (!wraps) {
			complain("over the edge", text);
			return;
		}
		page->column = 0;
		line_feed();
	}
	c = &page->cell[page->row][page->column];
	*c = (struct cell){.columns = width, .look = look};
	memcpy(c->text, text, sizeof(text));
	if (width == 2)
		c[1] = (struct cell){"", 0, look};
	page->column += width;
}

/* ---- steering ---- */

static void set_look(const int *n, int count)
{
	for (int i = 0; i < count; i++) {
		if (n[i] == 0)
			look = (struct look){0};
		else if (n[i] == 1)
			look.bold = true;
		else if (n[i] == 2)
			look.dim = true;
		else if (n[i] == 7)
			look.reverse = true;
		else if (n[i] >= 31 && n[i] <= 36)
			look.color = n[i];
		else
			complain("unknown look", "");
	}
}

static void set_mode(int mode, bool on, const char *sequence)
{
	if (mode == 7) {
		wraps = on;
	} else if (mode == 1049) {
		if (!on && page == &pages[1])
			left = *page, was_left = true;
		page = &pages[on];
		if (on)
			clear_page(page);
	} else if (mode != 25) {
		complain("unknown mode", sequence);
	}
}

static int within(int n, int end)
{
	return n < 1 ? 0 : n > end ? end - 1 : n - 1;
}

/* "\033[", numbers, a letter */
static void obey(const char *sequence, char letter)
{
	int n[8] = {0}, count = 1;
	bool private = *sequence == '?';

	for (const char *p = sequence + private; *p && count < 8; p++) {
		if (*p == ';')
			count++;
		else
			n[count - 1] = n[count - 1] * 10 + *p - '0';
	}
	if (private && (letter == 'h' || letter == 'l'))
		set_mode(n[0], letter == 'h', sequence);
	else if (letter == 'H')
		page->row = within(n[0], rows),
		page->column = within(n[1], columns);
	else if (letter == 'G')
		page->column = within(n[0], columns);
	else if (letter == 'm')
		set_look(n, count);
	else if (letter == 'J' && n[0] == 2)
		clear_page(page);
	else if (letter == 'J')
		for (int i = page->row; i < rows; i++)
			clear(page, i, i == page->row ? page->column : 0,
			      columns);
	else if (letter == 'K')
		clear(page, page->row, n[0] == 2 ? 0 : page->column, columns);
	else
		complain("unknown sequence", sequence);
}

static size_t steer(const char *p, size_t n)
{
	char sequence[32];
	size_t len = 2;

	if (n < 2 || p[1] != '[') {
		complain("unknown escape", "");
		return 1;
	}
	while (len < n && (p[len] < '@' || p[len] > '~'))
		len++;
	if (len >= n || len - 2 >= sizeof(sequence)) {
		complain("endless sequence", "");
		return n;
	}
	memcpy(sequence, p + 2, len - 2);
	sequence[len - 2] = '\0';
	obey(sequence, p[len]);
	return len + 1;
}

static size_t take(const char *p, size_t n)
{
	size_t len = utf8_length(p, n);

	if (*p == 27)
		return steer(p, n);
	if (*p == '\r')
		page->column = 0;
	else if (*p == '\n')
		line_feed();
	else if ((unsigned char)*p < ' ' || len == 0)
		complain("no character", "");
	else
		put(p, len);
	return len > 0 ? len : 1;
}

/* ---- telling ---- */

static int last_column(const struct page *p, int row)
{
	int n = columns;

	while (n > 0 && p->cell[row][n - 1].columns == 1 &&
	       strcmp(p->cell[row][n - 1].text, " ") == 0 &&
	       !p->cell[row][n - 1].look.reverse)
		n--;
	return n;
}

static int last_row(const struct page *p)
{
	int n = rows;

	while (n > 0 && last_column(p, n - 1) == 0)
		n--;
	return n;
}

static void show_text(const struct page *p)
{
	for (int i = 0, n = last_row(p); i < n; i++) {
		for (int k = 0; k < last_column(p, i); k++)
			(void)fputs(p->cell[i][k].text, stdout);
		(void)putchar('\n');
	}
}

static void escape(const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			(void)fputs("&lt;", stdout);
		else if (*text == '&')
			(void)fputs("&amp;", stdout);
		else
			(void)putchar(*text);
	}
}

#define GROUND "#16181d"
#define INK "#d7dae0"
#define FAINT "#7d8590"

static const char *ink_of(const struct look *l)
{
	static const char *const inks[] = {"#ff7b72", "#7ee787", "#e3b341",
					   "#79c0ff", "#d2a8ff", "#56d4dd"};

	if (l->reverse)
		return GROUND;
	if (l->color)
		return inks[l->color - 31];
	return l->dim ? FAINT : INK;
}

static void box(int row, int column, int width, const char *color,
		double opacity)
{
	(void)printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		     "height=\"%.1f\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
		     EDGE + column * LETTER, 2 * EDGE + row * LINE,
		     width * LETTER, LINE, color, opacity);
}

static bool same(const struct look *a, const struct look *b)
{
	return a->bold == b->bold && a->dim == b->dim &&
	       a->reverse == b->reverse && a->color == b->color;
}

/* Full and light blocks are drawn as boxes: fonts leave gaps. */
static double block(const struct cell *c)
{
	return strcmp(c->text, "\xe2\x96\x88") == 0   ? 1
	       : strcmp(c->text, "\xe2\x96\x91") == 0 ? 0.25
						      : 0;
}

static bool is_blank(const struct cell *c)
{
	return c->text[0] == '\0' || strcmp(c->text, " ") == 0;
}

/* Cells up to the next blank; returns how many. Each has its place, so no font
 * moves what follows; and no renderer has to know of blanks, or of more than
 * the first place. */
static int draw_word(const struct cell *c, int row, int from, int most)
{
	int n = 1;

	while (n < most && strcmp(c[n].text, " ") != 0)
		n++;
	(void)fputs("<text x=\"", stdout);
	for (int i = 0; i < n; i++)
		if (c[i].text[0] != '\0')
			(void)printf("%s%.1f", i > 0 ? " " : "",
				     EDGE + (from + i) * LETTER);
	(void)printf("\" y=\"%.1f\" fill=\"%s\"%s>",
		     2 * EDGE + row * LINE + LINE * 0.74, ink_of(&c->look),
		     c->look.bold ? " font-weight=\"bold\"" : "");
	for (int i = 0; i < n; i++)
		escape(c[i].text);
	(void)printf("</text>\n");
	return n;
}

/* As many cells as look the same; returns how many. */
static int draw_run(const struct page *p, int row, int from, int end)
{
	const struct cell *c = &p->cell[row][from];
	int n = 1;

	while (from + n < end && same(&c->look, &c[n].look) &&
	       block(c) == block(&c[n]))
		n++;
	if (c->look.reverse)
		box(row, from, n, INK, 1);
	if (block(c) > 0) {
		(void)printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			     "height=\"%.1f\" fill=\"%s\" "
			     "fill-opacity=\"%.2f\"/>\n",
			     EDGE + from * LETTER, 2 * EDGE + row * LINE + 4,
			     n * LETTER, LINE - 8, ink_of(&c->look), block(c));
		return n;
	}
	for (int i = 0; i < n;) {
		if (is_blank(&c[i]))
			i++;
		else
			i += draw_word(&c[i], row, from + i, n - i);
	}
	return n;
}

static void draw(const struct page *p, const char *title, bool whole)
{
	int n = whole ? rows : last_row(p);
	int used = whole ? columns : 0;
	double w, h = n * LINE + 3 * EDGE;

	for (int i = 0; i < n; i++)
		if (last_column(p, i) > used)
			used = last_column(p, i);
	w = used * LETTER + 2 * EDGE;
	(void)printf("<svg xmlns=\"http://www.w3.org/2000/svg\" "
		     "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		     "role=\"img\">\n<title>",
		     w, h, w, h);
	escape(title);
	(void)printf("</title>\n<rect width=\"%.0f\" height=\"%.0f\" rx=\"8\" "
		     "fill=\"" GROUND "\"/>\n"
		     "<g font-family=\"ui-monospace,SFMono-Regular,Menlo,"
		     "Consolas,'DejaVu Sans Mono',monospace\" "
		     "font-size=\"14\">\n",
		     w, h);
	for (int i = 0; i < n; i++)
		for (int k = 0, end = last_column(p, i); k < end;)
			k += draw_run(p, i, k, end);
	(void)printf("</g>\n</svg>\n");
}

int main(int argc, char **argv)
{
	static char bytes[1 << 22];
	size_t n = fread(bytes, 1, sizeof(bytes), stdin);
	const char *form = argc > 2 ? argv[2] : "text";

	if (argc < 2 || sscanf(argv[1], "%dx%d", &rows, &columns) != 2 ||
	    rows < 1 || rows > ROWS_MAX || columns < 1 || columns > COLUMNS_MAX)
		return 64;
	clear_page(&pages[0]);
	clear_page(&pages[1]);
	for (size_t at = 0; at < n;)
		at += take(bytes + at, n - at);
	if (strcmp(form, "svg") == 0)
		draw(was_left ? &left : page, argc > 3 ? argv[3] : "",
		     was_left);
	else
		show_text(was_left && strcmp(form, "main") != 0 ? &left : page);
	return errors;
}
