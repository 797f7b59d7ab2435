/* SPDX-License-Identifier: MIT */
/* What `top` shows, and what the keys do to it. */
#include "cli/top/inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/units.h"

#define WHO_MAX (3 * ABOUT_MAX + SLOT_NAME_SHOWN + 32)
#define GAP 2
#define LEFT_MOST ((int64_t)99999 * 86400000) /* "99999d" is all that fits */
#define BAR 10                                /* columns of the lease */
#define ABOVE 3

/* ---- where the columns are ---- */

enum cell {
	CELL_KEY,
	CELL_HOLDER,
	CELL_HOST,
	CELL_HELD,
	CELL_BAR,
	CELL_LEFT,
	CELL_WAITING,
	CELLS
};

/* width 0: not shown */
struct layout {
	int at[CELLS], width[CELLS];
};

static const struct {
	const char *title;
	int width;  /* 0: as wide as needed ... */
	int share;  /* ... else this percentage of the rest ... */
	int from;   /* hidden on narrower screens */
	int sorted; /* by which: enum column; -1: none */
	bool right; /* aligned */
} cells[CELLS] = {
	[CELL_KEY] = {"KEY", 0, 40, 0, COLUMN_KEY, false},
	[CELL_HOLDER] = {"HOLDER", 0, 35, 50, -1, false},
	[CELL_HOST] = {"HOST", 0, 25, 60, -1, false},
	[CELL_HELD] = {"HELD", 6, 0, 24, COLUMN_HELD, true},
	[CELL_BAR] = {"LEASE", BAR, 0, 70, -1, false},
	[CELL_LEFT] = {"LEFT", 6, 0, 32, COLUMN_LEFT, true},
	[CELL_WAITING] = {"WAIT", 5, 0, 40, COLUMN_WAITERS, true},
};

/* "backup.sh[3870] +2", "train[3871] gpu0", "nobody", ... */
static const char *holder_text(const struct lock_seen *l, char *buf,
			       size_t size)
{
	const struct view_holder *h = &l->holder;
	const char *pid = h->about[ABOUT_PID];
	bool plain = l->state == VIEW_HELD && h->how != HOLD_READS &&
		     h->how != HOLD_RESTS;
	char others[24] = "";

	if (l->holders > 1)
		(void)snprintf(others, sizeof(others), " +%" PRId64,
			       l->holders - 1);
	if (l->holders == 0)
		(void)snprintf(buf, size, "nobody");
	else if (h->how == HOLD_FOREIGN)
		(void)snprintf(buf, size, "another program");
	else
		(void)snprintf(buf, size, "%s%s%s%s%s%s%s%s%s",
			       plain ? "" : listing_state(l), plain ? "" : " ",
			       pid[0] ? h->about[ABOUT_COMMAND] : "?",
			       pid[0] ? "[" : "", pid, pid[0] ? "]" : "",
			       h->slot_name[0] ? " " : "", h->slot_name,
			       others);
	return buf;
}

static const char *host_text(const struct lock_seen *l)
{
	return l->holders > 0 ? l->holder.about[ABOUT_HOST] : "";
}

static void widen(int *width, const char *text)
{
	int its = columns_of(text);

	*width = its > *width ? its : *width;
}

/* The width of its widest text. */
static void measure(const struct listing *l, int widest[CELLS])
{
	char text[WHO_MAX];

	for (int c = 0; c < CELLS; c++)
		widest[c] = columns_of(cells[c].title) + 1;
	for (int i = 0; i < l->rows; i++) {
		widen(&widest[CELL_KEY], l->row[i]->shown);
		widen(&widest[CELL_HOLDER],
		      holder_text(l->row[i], text, sizeof(text)));
		widen(&widest[CELL_HOST], host_text(l->row[i]));
	}
}

/* A column's unused share goes to the others. */
static void share_out(struct layout *y, const int widest[CELLS], int left)
{
	for (int again = 0; again < CELLS; again++) {
		int shares = 0, rest = left;

		for (int c = 0; c < CELLS; c++)
			if (cells[c].share && y->width[c] < 0)
				shares += cells[c].share;
		for (int c = 0; c < CELLS; c++) {
			if (!cells[c].share || y->width[c] >= 0 ||
			    widest[c] > left * cells[c].share / shares)
				continue;
			y->width[c] = widest[c];
			rest -= widest[c];
		}
		if (rest != left) {
			left = rest;
			continue;
		}
		for (int c = 0; c < CELLS; c++)
			if (y->width[c] < 0)
				y->width[c] = left * cells[c].share / shares;
		return;
	}
}

static void lay_out(struct layout *y, const struct listing *l, int columns)
{
	int widest[CELLS], left = columns, at = 0;

	measure(l, widest);
	for (int c = 0; c < CELLS; c++) {
		bool fits = columns >= cells[c].from;

		y->width[c] = !fits ? 0 : cells[c].share ? -1 : cells[c].width;
		left -= fits ? (c > 0 ? GAP : 0) + cells[c].width : 0;
	}
	share_out(y, widest, left > 1 ? left : 1);
	for (int c = 0; c < CELLS; c++) {
		y->at[c] = at;
		at += y->width[c] > 0 ? y->width[c] + GAP : 0;
	}
}

/* ---- what is in them ---- */

static void put_cell(const struct layout *y, struct screen *s, int c,
		     enum style style, const char *text)
{
	int width = y->width[c], its = columns_of(text);
	int shift = cells[c].right && its < width ? width - its : 0;

	if (width > 0)
		screen_put(s, y->at[c] + shift, width - shift, style, text);
}

/* Keys often differ at their end alone (app:deploy:eu-1): what does not fit is
 * left out in the middle. Returns text, or buf. */
static const char *cut_middle(const struct board *b, const char *text,
			      int width, char *buf, size_t size)
{
	const char *mark = b->blocks ? "\xe2\x80\xa6" : "~", *tail = text;
	int head = width / 2;

	if (width < 3 || columns_of(text) <= width)
		return text;
	/* a character may be two columns wide, or none */
	while (columns_of(tail) > width - head - 1)
		tail += utf8_length(tail, strlen(tail))
				? utf8_length(tail, strlen(tail))
				: 1;
	(void)snprintf(buf, size, "%.*s%s%s", (int)columns_fit(text, head),
		       text, mark, tail);
	return buf;
}

/* A holder that renews in time has at least two thirds left. */
static enum style style_of(int64_t left, int64_t ttl)
{
	return left >= ttl / 3 * 2 ? GREEN : left >= ttl / 3 ? YELLOW : RED;
}

/* n columns, each `block`. */
static void put_blocks(struct screen *s, int at, int n, enum style style,
		       const char *block)
{
	char text[BAR * 3 + 1] = "";
	size_t len = strlen(block);

	for (int i = 0; i < n; i++)
		memcpy(text + (size_t)i * len, block, len);
	text[(size_t)n * len] = '\0';
	screen_put(s, at, n, style, text);
}

static void put_bar(const struct board *b, const struct layout *y,
		    struct screen *s, int64_t left, int64_t ttl)
{
	const char *full = b->blocks ? "\xe2\x96\x88" : "#";
	const char *empty = b->blocks ? "\xe2\x96\x91" : ".";
	/* more than its length: its expiry was set by hand */
	int n = left < ttl ? (int)((left * BAR + ttl - 1) / ttl) : BAR;

	if (y->width[CELL_BAR] == 0)
		return;
	put_blocks(s, y->at[CELL_BAR], n, style_of(left, ttl), full);
	put_blocks(s, y->at[CELL_BAR] + n, BAR - n, DIM, empty);
}

static void put_lease(const struct board *b, const struct layout *y,
		      struct screen *s, const struct lock_seen *l, int64_t age)
{
	const struct view_holder *h = &l->holder;
	int64_t left = h->left_ms > age ? h->left_ms - age : 0;
	char text[32];

	if (h->left_ms < 0) {
		put_cell(y, s, CELL_LEFT, RED, "never");
		return;
	}
	put_cell(y, s, CELL_LEFT, PLAIN,
		 left > LEFT_MOST ? ">270y"
				  : listing_time(left, text, sizeof(text)));
	if (h->ttl_ms > 0 && h->how != HOLD_RESTS)
		put_bar(b, y, s, left, h->ttl_ms);
}

static void put_lock(const struct board *b, const struct layout *y,
		     struct screen *s, const struct lock_seen *l)
{
	int64_t age = between(l->at, b->at);
	char text[WHO_MAX], key[WHO_MAX];

	age = age > 0 ? age : 0;
	put_cell(y, s, CELL_KEY, BOLD,
		 cut_middle(b, l->shown, y->width[CELL_KEY], key, sizeof(key)));
	put_cell(y, s, CELL_HOLDER, l->state == VIEW_HELD ? PLAIN : DIM,
		 holder_text(l, text, sizeof(text)));
	put_cell(y, s, CELL_HOST, PLAIN, host_text(l));
	if (l->holders > 0) {
		put_cell(y, s, CELL_HELD, PLAIN,
			 listing_time(l->held_ms < 0 ? -1 : l->held_ms + age,
				      text, sizeof(text)));
		put_lease(b, y, s, l, age);
	}
	(void)snprintf(text, sizeof(text), "%" PRId64, l->in_line);
	put_cell(y, s, CELL_WAITING, l->in_line > 0 ? BOLD : DIM, text);
}

/* ---- what is around them ---- */

static void put_titles(const struct board *b, const struct layout *y,
		       struct screen *s)
{
	bool down = b->choice.reverse == (b->choice.by == COLUMN_KEY);
	const char *arrow = b->blocks ? down ? "\xe2\x96\xbe" : "\xe2\x96\xb4"
				      : (down ? "v" : "^");

	screen_fill(s, REVERSE);
	for (int c = 0; c < CELLS; c++) {
		char title[32];
		bool sorted = cells[c].sorted == (int)b->choice.by;

		(void)snprintf(title, sizeof(title), "%s%s", cells[c].title,
			       sorted ? arrow : "");
		put_cell(y, s, c, REVERSE, title);
	}
	screen_next(s);
}

static int servers_up(const struct scan *c)
{
	int up = 0;

	for (int i = 0; i < c->query->servers.n; i++)
		up += !c->node[i].down;
	return up;
}

static void put_header(const struct board *b, const struct listing *l,
		       struct screen *s)
{
	const struct scan *c = b->scan;
	int n = c->query->servers.n, up = servers_up(c);
	char servers[420], text[600], clock[48];
	const char *day = b->clock(clock, sizeof(clock));
	int width = columns_of(day);

	if (n == 1)
		(void)snprintf(servers, sizeof(servers), "%s%s",
			       c->query->servers.endpoint[0].name,
			       up == 1 ? "" : " is down");
	else
		(void)snprintf(servers, sizeof(servers), "%d of %d servers", up,
			       n);
	(void)snprintf(text, sizeof(text),
		       "redlock top  %d lock%s, %" PRId64 " waiting  %s",
		       l->rows, l->rows == 1 ? "" : "s", l->waiters, servers);
	screen_put(s, 0, s->columns - width - 2, BOLD, text);
	if (s->columns > width + 22)
		screen_put(s, s->columns - width, width, PLAIN, day);
	screen_next(s);
}

static void put_typed(const struct board *b, struct screen *s)
{
	char shown[4 * FILTER_MAX];
	int at = (int)sizeof("filter: ") - 1;

	screen_put(s, 0, at, BOLD, "filter: ");
	(void)format_bytes(b->filter, strlen(b->filter), shown, sizeof(shown));
	screen_put(s, at, s->columns - at - 1, PLAIN, shown);
	at += columns_of(shown);
	screen_put(s, at < s->columns ? at : s->columns - 1, 1, REVERSE, " ");
	screen_next(s);
}

/* Says what is left out, and which server is down. */
static void put_state(const struct board *b, struct screen *s)
{
	const struct node_seen *down = scan_down(b->scan);
	const struct fail *replica = query_replica(b->scan->query);
	char text[6 * FILTER_MAX], shown[4 * FILTER_MAX], since[32];
	char unseen[48] = "";
	char failure[sizeof(down->why.text) + 64];
	bool filtered = b->filter[0] != '\0';

	if (b->scan->unseen > 0)
		(void)snprintf(unseen, sizeof(unseen), "%d cannot be read  ",
			       b->scan->unseen);
	(void)snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s",
		       b->paused ? "paused  " : "", unseen,
		       b->scan->known.overfull ? "and more locks  " : "",
		       b->choice.held ? "held only  " : "",
		       b->choice.waiting ? "waited for only  " : "",
		       filtered ? "filter: " : "",
		       format_bytes(b->filter, strlen(b->filter), shown,
				    sizeof(shown)),
		       filtered ? "  " : "");
	screen_put(s, 0, s->columns, YELLOW, text);
	if (down || replica) {
		int at = columns_of(text);

		if (!down)
			(void)snprintf(failure, sizeof(failure), "%s",
				       replica->text);
		else
			(void)snprintf(
				failure, sizeof(failure), "down for %s: %s",
				format_seconds(between(down->since, b->at),
					       since, sizeof(since)),
				down->why.text);
		(void)format_bytes(failure, strlen(failure), text,
				   sizeof(text));
		screen_put(s, at, s->columns - at, RED, text);
	}
	screen_next(s);
}

static const char *help_text(const struct board *b)
{
	return b->helping ? "q quit  s sort  r reverse  / filter  h held  w "
			    "waited for  space pause"
			  : "q quit  ? help";
}

/* The length of a row of help: as many items as fit, but at least one. What is
 * always there has one row. */
static size_t help_row(const struct board *b, const char *text, int columns)
{
	size_t n = strlen(text);

	for (const char *end = strstr(text, "  "); end && b->helping;
	     end = strstr(end + 2, "  ")) {
		const char *next = strstr(end + 2, "  ");

		if ((next ? next : text + n) - text > columns)
			return (size_t)(end - text);
	}
	return n;
}

static int help_rows(const struct board *b, int columns)
{
	const char *text = help_text(b);
	int rows = 0;

	for (; *text; rows++) {
		text += help_row(b, text, columns);
		text += strspn(text, " ");
	}
	return rows;
}

static void put_help(const struct board *b, const struct listing *l,
		     struct screen *s)
{
	int last = b->first + b->page < l->rows ? b->first + b->page : l->rows;
	const char *text = help_text(b);
	char row[120] = "", place[48];

	while (*text) {
		size_t n = help_row(b, text, s->columns);

		if (row[0] != '\0')
			screen_next(s);
		(void)snprintf(row, sizeof(row), "%.*s", (int)n, text);
		screen_put(s, 0, s->columns, DIM, row);
		text += n;
		text += strspn(text, " ");
	}
	if (l->rows > b->page && b->page > 0) {
		int width = snprintf(place, sizeof(place), "%d-%d of %d",
				     b->first + 1, last, l->rows);

		if ((int)strlen(row) + GAP + width <= s->columns)
			screen_put(s, s->columns - width, width, DIM, place);
	}
	screen_next(s);
}

static void put_locks(const struct board *b, const struct listing *l,
		      struct screen *s)
{
	struct layout y;
	int row = 0;

	lay_out(&y, l, s->columns);
	put_titles(b, &y, s);
	if (l->rows == 0) {
		screen_put(s, 0, s->columns, DIM,
			   !b->settled            ? "looking ..."
			   : b->filter[0] != '\0' ? "no matching locks"
						  : "no locks are held");
		screen_next(s);
		row++;
	}
	for (int i = b->first; i < l->rows && row < b->page; i++, row++) {
		put_lock(b, &y, s, l->row[i]);
		screen_next(s);
	}
	for (; row < b->page; row++)
		screen_next(s);
}

int board_draw(struct board *b, struct screen *s)
{
	struct listing l;
	int rc;

	if (!b->paused)
		b->at = now();
	if (!screen_begin(s))
		return 0;
	b->choice.text = b->filter;
	b->settled |= !scan_is_finding(b->scan) && !scan_is_asking(b->scan);
	rc = listing_make(&l, b->scan, &b->choice);
	b->page = s->rows - ABOVE - help_rows(b, s->columns);
	if (b->first > l.rows - b->page)
		b->first = l.rows - b->page;
	if (b->first < 0)
		b->first = 0;
	put_header(b, &l, s);
	if (b->typing)
		put_typed(b, s);
	else
		put_state(b, s);
	put_locks(b, &l, s);
	put_help(b, &l, s);
	screen_end(s);
	listing_close(&l);
	return rc;
}

static void rub_out(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n > 0 ? n - 1 : 0] = '\0';
}

static void type(struct board *b, int key)
{
	size_t n = strlen(b->filter);

	if (key == KEY_ENTER || key == KEY_ESCAPE)
		b->typing = false;
	if (key == KEY_ESCAPE)
		b->filter[0] = '\0';
	else if (key == KEY_ERASE)
		rub_out(b->filter);
	else if (key >= ' ' && key <= 0xff && n + 1 < sizeof(b->filter))
		b->filter[n] = (char)key, b->filter[n + 1] = '\0';
}

/* false: not such a key. */
static bool scroll(struct board *b, int key)
{
	int page = b->page > 1 ? b->page - 1 : 1;

	switch (key) {
	case KEY_UP:
		b->first--;
		return true;
	case KEY_DOWN:
		b->first++;
		return true;
	case KEY_PAGE_UP:
		b->first -= page;
		return true;
	case KEY_PAGE_DOWN:
		b->first += page;
		return true;
	case KEY_HOME:
		b->first = 0;
		return true;
	case KEY_END:
		b->first = INT32_MAX / 2;
		return true;
	default:
		return false;
	}
}

bool keyboard_take(struct board *b, int key)
{
	if (b->typing && key != KEY_GONE) {
		type(b, key);
		return true;
	}
	if (scroll(b, key))
		return true;
	switch (key) {
	case 'q':
	case KEY_GONE:
		return false;
	case 's':
		b->choice.by = (b->choice.by + 1) % COLUMNS_SORTED;
		b->first = 0;
		break;
	case 'r':
		b->choice.reverse = !b->choice.reverse;
		b->first = 0;
		break;
	case 'h':
		b->choice.held = !b->choice.held;
		break;
	case 'w':
		b->choice.waiting = !b->choice.waiting;
		break;
	case '/':
		b->typing = true;
		break;
	case KEY_ESCAPE:
		b->filter[0] = '\0';
		break;
	case '?':
		b->helping = !b->helping;
		break;
	case ' ':
		b->paused = !b->paused;
		break;
	}
	return true;
}
