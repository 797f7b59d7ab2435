/* SPDX-License-Identifier: MIT */
/* What `top` shows, and what the keys do to it. */
#include "cli/top/inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/units.h"
#include "cli/render.h"

#define GAP 2
#define ABOVE 3
#define SORTED                                                                 \
	(1U << COLUMN_KEY | 1U << COLUMN_HELD | 1U << COLUMN_LEFT |            \
	 1U << COLUMN_WAITING)

/* ---- the locks ---- */

/* A holder that renews in time has at least two thirds left. */
static enum style style_of_lease(int64_t left, int64_t ttl)
{
	return left >= ttl / 3 * 2 ? GREEN : left >= ttl / 3 ? YELLOW : RED;
}

static enum style style_of(const struct board *b, const struct lock_seen *l,
			   enum column c)
{
	int64_t left = listing_left(l, b->at);

	if (c == COLUMN_KEY)
		return BOLD;
	if (c == COLUMN_LEFT && left < 0)
		return RED;
	if (c == COLUMN_LEASE)
		return style_of_lease(left, l->holder.ttl_ms);
	if (c == COLUMN_WAITING)
		return l->in_line > 0 ? BOLD : DIM;
	return l->state == VIEW_HELD ? PLAIN : DIM;
}

/* `l` NULL: the titles. */
static void put_row(const struct board *b, const struct table *t, int row,
		    const struct lock_seen *l, struct screen *s)
{
	bool down = b->choice.reverse == (b->choice.by == COLUMN_KEY);
	const char *arrow = b->blocks ? down ? "\xe2\x96\xbe" : "\xe2\x96\xb4"
				      : (down ? "v" : "^");
	int at = 0;

	for (int c = 0; c < t->columns; at += t->width[c++] + GAP) {
		const char *text = t->cell[row * t->columns + c];
		char title[32];

		if (l) {
			screen_put(s, at, t->width[c],
				   style_of(b, l, (enum column)c), text);
			continue;
		}
		(void)snprintf(title, sizeof(title), "%s%s", text,
			       c == (int)b->choice.by ? arrow : "");
		screen_put(s, at, t->width[c] + 1, REVERSE, title);
	}
	screen_next(s);
}

/* ---- what is around them ---- */

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
	char servers[420], text[80], clock[48];
	const char *day = b->clock(clock, sizeof(clock));
	int width = columns_of(day), at, room = s->columns - width - GAP;

	if (n == 1)
		(void)snprintf(servers, sizeof(servers), "%s%s",
			       c->query->servers.endpoint[0].name,
			       up == 1 ? "" : " is down");
	else
		(void)snprintf(servers, sizeof(servers), "%d of %d servers", up,
			       n);
	(void)snprintf(text, sizeof(text),
		       "redlock top  %d lock%s, %" PRId64 " waiting  ", l->rows,
		       l->rows == 1 ? "" : "s", l->waiters);
	at = columns_of(text);
	screen_put(s, 0, room, BOLD, text);
	screen_put(s, at, room - at, BOLD, servers);
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

		if (replica || query_is_replica(b->scan->query,
						(int)(down - b->scan->node)))
			(void)snprintf(failure, sizeof(failure), "%s",
				       replica ? replica->text
					       : down->why.text);
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

/* -1: out of memory. */
static int put_locks(const struct board *b, const struct listing *l,
		     struct screen *s)
{
	static const char *const bars[][2] = {{"##########", ".........."},
					      {"██████████", "░░░░░░░░░░"}};
	struct table t;
	int row = 0, rc;

	listing_table(l, b->first, b->page, b->at, bars[b->blocks], &t);
	rc = t.room < 0 ? -1 : 0;
	(void)table_fit(&t, s->columns);
	screen_fill(s, REVERSE);
	if (rc == 0)
		put_row(b, &t, 0, NULL, s);
	if (l->rows == 0) {
		screen_put(s, 0, s->columns, DIM,
			   !b->settled            ? "looking ..."
			   : b->filter[0] != '\0' ? "no matching locks"
						  : "no locks are held");
		screen_next(s);
		row++;
	}
	for (int i = b->first; rc == 0 && i < l->rows && row < b->page; i++)
		put_row(b, &t, ++row, l->row[i], s);
	for (; row < b->page; row++)
		screen_next(s);
	table_free(&t);
	return rc;
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
	if (rc == 0)
		rc = put_locks(b, &l, s);
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
		do
			b->choice.by = (b->choice.by + 1) % COLUMNS;
		while (!(SORTED & 1U << b->choice.by));
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
