/* SPDX-License-Identifier: MIT */
/* The picture of a history. */
#include "cli/history/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/units.h"
#include "cli/render.h"
#include "lock/wire/history.h"

/* ---- how a hold may have ended ---- */

enum kind {
	RAN,
	FAILED,
	LOST,
	EXPIRED,
	MAX_HOLD,
	FORCED,
	RELEASED,
	ENDED,
	HELD,
	OTHER,
	KINDS
};
struct kind_look {
	const char *outcome;
	const char *style;  /* its class */
	const char *letter; /* above its bar */
	bool told;          /* also in words, beside the bar */
	bool loud;
};
static const struct kind_look kinds[KINDS] = {
	[RAN] = {"ran", "ran", "", false, false},
	[FAILED] = {"failed", "failed", "F", true, false},
	[LOST] = {"lost", "lost", "L", true, true},
	[EXPIRED] = {"expired", "expired", "!", true, true},
	[MAX_HOLD] = {"max-hold", "max", "M", true, false},
	[FORCED] = {"forced", "forced", "X", true, true},
	[RELEASED] = {"released", "hand", "R", false, false},
	[ENDED] = {"ended", "hand", "E", false, false},
	[HELD] = {"held", "held", "", false, false},
	[OTHER] = {"unknown", "other", "?", true, false},
};

static enum kind kind_of(const struct history_hold *p)
{
	for (int k = 0; k < OTHER; k++)
		if (strcmp(p->outcome, kinds[k].outcome) == 0)
			return (enum kind)k;
	return OTHER;
}

/* Lost, expired and forced are the loudest: they contrast most with the ground,
 * and have an edge. */
static const char style[] =
	"<style>\n"
	"text { font: 12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; "
	"fill: #1c2128 }\n"
	".key { font-size: 17px; font-weight: 600 }\n"
	".dim { fill: #57606a }\n"
	".loud { font-weight: 700 }\n"
	".time { font-size: 11px }\n"
	".mark { font-size: 10px; font-weight: 700; text-anchor: middle }\n"
	".in { font-size: 10.5px; fill: #10151b }\n"
	".in.loud { fill: #fff }\n"
	".ground { fill: #fff }\n"
	".band { fill: #f3f5f8 }\n"
	".grid { stroke: #ccd3db; stroke-width: 1 }\n"
	".wait { stroke: #6b7680; stroke-width: 1.5; stroke-dasharray: 3 2 }\n"
	".ran { fill: #6694b8 }\n"
	".failed { fill: #bd7a26 }\n"
	".max { fill: #9480c4 }\n"
	".hand { fill: #87919c }\n"
	".held { fill: #3f9a70 }\n"
	".other { fill: #87919c }\n"
	".lost { fill: #c4002f; stroke: #5c0016; stroke-width: 1.5 }\n"
	".expired { fill: #b0451a; stroke: #5c1f00; stroke-width: 1.5 }\n"
	".forced { fill: #a3008f; stroke: #4b0042; stroke-width: 1.5 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e4e9ee }\n"
	".dim { fill: #a3adb8 }\n"
	".in { fill: #fff }\n"
	".in.loud { fill: #10151b }\n"
	".ground { fill: #10151b }\n"
	".band { fill: #1a2129 }\n"
	".grid { stroke: #39434e }\n"
	".wait { stroke: #98a3ae }\n"
	".ran { fill: #4d7899 }\n"
	".failed { fill: #9c6a28 }\n"
	".max { fill: #7868ab }\n"
	".hand { fill: #68727c }\n"
	".held { fill: #3a8062 }\n"
	".other { fill: #68727c }\n"
	".lost { fill: #ff7088; stroke: #fff }\n"
	".expired { fill: #ff9a70; stroke: #fff }\n"
	".forced { fill: #ff86e8; stroke: #fff }\n"
	"}\n"
	"</style>\n";

/* ---- round times for an axis ---- */

#define TICKS_MAX 8

#define S INT64_C(1000)
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)

/* The time between two marks: a round one, so that few fit into the span. */
static int64_t ticks_step(int64_t span_ms)
{
	static const int64_t steps[] = {
		1,     2,      5,      10,     20,     50,     100,    200,
		500,   S,      2 * S,  5 * S,  10 * S, 15 * S, 30 * S, M,
		2 * M, 5 * M,  10 * M, 15 * M, 30 * M, H,      2 * H,  3 * H,
		6 * H, 12 * H, D,      2 * D,  7 * D,  14 * D};
	int64_t step = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		step = steps[i];
		if (span_ms / step <= TICKS_MAX)
			return step;
	}
	while (span_ms / step > TICKS_MAX)
		step *= 2;
	return step;
}

/* The time at a mark, as exact as the step is. */
static void ticks_text(int64_t ms, int64_t step, char buf[40])
{
	char date[40];

	(void)wall_date(ms / 1000, date, sizeof(date));
	if (step >= 86400000)
		(void)snprintf(buf, 40, "%.10s", date);
	else if (step >= 60000)
		(void)snprintf(buf, 40, "%.5s", date + 11);
	else if (step >= 1000)
		(void)snprintf(buf, 40, "%.8s", date + 11);
	else
		(void)snprintf(buf, 40, "%.8s.%03d", date + 11,
			       (int)(ms % 1000));
}

/* ---- elements ---- */

/* Writes it as text of an element. The document stays well-formed whatever the
 * bytes are. They must be safe for a terminal (format_bytes()). */
static void put_escaped(FILE *f, const char *text)
{
	static const struct {
		const char *from, *to;
	} said[] = {{"&", "&amp;"},
		    {"<", "&lt;"},
		    {">", "&gt;"},
		    {"\"", "&quot;"},
		    /* two code points that XML does not allow */
		    {"\xef\xbf\xbe", "\xef\xbf\xbd"},
		    {"\xef\xbf\xbf", "\xef\xbf\xbd"}};
	const size_t n = sizeof(said) / sizeof(said[0]);

	while (*text) {
		size_t i = 0;

		while (i < n &&
		       strncmp(text, said[i].from, strlen(said[i].from)) != 0)
			i++;
		(void)(i < n ? fputs(said[i].to, f) : fputc(*text, f));
		text += i < n ? strlen(said[i].from) : 1;
	}
}

__attribute__((format(printf, 2, 3))) static void say(FILE *f, const char *fmt,
						      ...)
{
	char text[2048], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* the text may have been cut within a letter */
	put_escaped(f, format_bytes(text, strlen(text), safe, sizeof(safe)));
}

/* px, with at most one digit behind the point */
static double px(double x)
{
	return (double)(int64_t)(x * 10 + 0.5) / 10;
}

static void begin_text(FILE *f, const char *class, double x, double y,
		       const char *anchor)
{
	(void)fputs("<text", f);
	if (class)
		(void)fprintf(f, " class=\"%s\"", class);
	(void)fprintf(f, " x=\"%.6g\" y=\"%.6g\"", px(x), px(y));
	if (anchor)
		(void)fprintf(f, " text-anchor=\"%s\"", anchor);
	(void)fputc('>', f);
}

static void put_text(FILE *f, const char *class, double x, double y,
		     const char *anchor, const char *text)
{
	begin_text(f, class, x, y, anchor);
	say(f, "%s", text);
	(void)fputs("</text>\n", f);
}

static void put_rect(FILE *f, const char *class, double x, double y,
		     double width, double height, int round)
{
	(void)fprintf(f,
		      "<rect class=\"%s\" x=\"%.6g\" y=\"%.6g\" "
		      "width=\"%.6g\" height=\"%.6g\" rx=\"%d\"/>\n",
		      class, px(x), px(y), px(width), px(height), round);
}

static void put_line(FILE *f, const char *class, double x1, double x2,
		     double y1, double y2)
{
	(void)fprintf(f,
		      "<line class=\"%s\" x1=\"%.6g\" x2=\"%.6g\" "
		      "y1=\"%.6g\" y2=\"%.6g\"/>\n",
		      class, px(x1), px(x2), px(y1), px(y2));
}

/* Cut to that many letters, with "..." for the rest. Returns buf. */
#define CUT 600
static const char *cut(const char *text, int letters, char buf[CUT])
{
	bool fits = columns_of(text) <= letters && strlen(text) < CUT;
	size_t n = columns_fit(text, fits ? letters : letters - 1);

	n = n < CUT - 4 ? n : CUT - 4;
	(void)snprintf(buf, CUT, "%.*s%s", (int)n, text,
		       fits ? "" : "\xe2\x80\xa6");
	return buf;
}

/* ---- in which row and lane each hold is ---- */

#define WISHED 4 /* so that waits cross no bars; more, so that bars do not */

/* The host, or "(anonymous)". */
static const char *host_of(const struct history_hold *p)
{
	return p->about[ABOUT_HOST][0] != '\0' ? p->about[ABOUT_HOST]
					       : "(anonymous)";
}

/* When the wait for this hold began. */
static int64_t came_ms(const struct history_hold *p)
{
	return p->since_ms - (p->waited_ms > 0 ? p->waited_ms : 0);
}

static int find_host(struct lanes *l, const char *name)
{
	for (int i = 0; i < l->hosts; i++)
		if (strcmp(l->host[i].name, name) == 0)
			return i;
	l->host[l->hosts] = (struct host){.name = name};
	return l->hosts++;
}

/* The first lane that is free from then on; -1: none. */
static int free_lane(const struct host *h, int64_t from_ms)
{
	for (int i = 0; i < h->lanes; i++)
		if (h->free_ms[i] <= from_ms)
			return i;
	return -1;
}

/* Simultaneous holds of a host (readers, slots) have a lane each. A wait during
 * another hold of its host gets a lane as well, unless there are many. */
static int pick_lane(struct host *h, const struct history_hold *p)
{
	int lane = free_lane(h, came_ms(p)), soonest = 0;

	if (lane < 0 && h->lanes >= WISHED)
		lane = free_lane(h, p->since_ms);
	if (lane < 0 && h->lanes < LANES_MAX)
		lane = h->lanes++;
	for (int i = 0; lane < 0 && i < LANES_MAX; i++)
		if (h->free_ms[i] < h->free_ms[soonest])
			soonest = i;
	return lane < 0 ? soonest : lane;
}

void lanes_fill(struct lanes *l, const struct history *h, int64_t least_ms)
{
	for (int i = 0; i < h->holds; i++) {
		const struct history_hold *p = &h->hold[i];
		int n = find_host(l, host_of(p));
		struct host *host = &l->host[n];
		int lane = pick_lane(host, p);

		l->at[i].host = n;
		l->at[i].lane = lane;
		host->free_ms[lane] =
			p->since_ms +
			(p->held_ms > least_ms ? p->held_ms : least_ms) +
			l->behind_ms[i];
	}
	for (int i = 0; i < l->hosts; i++)
		l->rows += l->host[i].lanes;
}

#define WIDTH 960
#define MARGIN 16
#define HEAD 84         /* title, what is shown, legend */
#define TOP 28          /* the times above the rows */
#define LETTER 6.8      /* the width of a letter, roughly, at 12 px */
#define NAME_LETTERS 26 /* of a host, at most */
#define KEY_LETTERS 54
#define TALL 200      /* from here on, show the times above as well */
#define ROOM_ABOVE 12 /* a bar, for its letter */
#define BAR_MIN 2.5   /* shorter bars must still be visible */
#define ARROW 12      /* the tip of a bar that has no end yet */
#define BELOW 44      /* the times below the rows */
#define NOTE 16       /* the height of a line below */
#define NOTE_LETTERS 140

struct picture {
	const struct history *h;
	FILE *f;
	struct lanes lanes;
	double y[HISTORY_MAX]; /* of each host */
	/* of each hold: 0, or the number of the line below the rows that says
	 * how it ended, for lack of room beside the bar */
	int note[HISTORY_MAX];
	int notes;
	int64_t from_ms, to_ms;
	double left, right, top, bottom, lane; /* px; a lane's height */
};

/* ---- where everything goes ---- */

static double x_of(const struct picture *p, int64_t ms)
{
	return p->left + (double)(ms - p->from_ms) * (p->right - p->left) /
				 (double)(p->to_ms - p->from_ms);
}

static void find_span(struct picture *p)
{
	const struct history *h = p->h;

	p->from_ms = INT64_MAX;
	for (int i = 0; i < h->holds; i++) {
		const struct history_hold *its = &h->hold[i];

		if (came_ms(its) < p->from_ms)
			p->from_ms = came_ms(its);
		if (its->ended_ms > p->to_ms)
			p->to_ms = its->ended_ms;
	}
	if (p->to_ms < p->from_ms + 10)
		p->to_ms = p->from_ms + 10;
}

/* px of what is said behind a bar; 0: nothing is. */
static double label_of(const struct history_hold *p)
{
	char text[ENDING_SIZE];

	return kinds[kind_of(p)].told
		       ? columns_of(hold_ending(p, text)) * LETTER + 14
		       : 0;
}

/* Leaves room for what is said behind the last bars, but not more than half of
 * the picture. */
static double right_of(const struct picture *p, bool open)
{
	double most = WIDTH - MARGIN - 8 - (open ? ARROW : 0);
	double right = most;

	for (int i = 0; i < p->h->holds; i++) {
		const struct history_hold *its = &p->h->hold[i];
		double at = (double)(its->ended_ms - p->from_ms) /
			    (double)(p->to_ms - p->from_ms);
		double end = WIDTH - MARGIN - BAR_MIN - label_of(its);
		double fits = at > 0 ? p->left + (end - p->left) / at : most;

		if (label_of(its) > 0 && fits < right &&
		    fits > p->left + (most - p->left) / 2)
			right = fits;
	}
	return right;
}

static void lay_out(struct picture *p)
{
	const struct history *h = p->h;
	int64_t least;
	int widest = 0;
	bool open = false;

	find_span(p);
	for (int i = 0; i < h->holds; i++) {
		int its = columns_of(host_of(&h->hold[i]));

		widest = its > widest ? its : widest;
		open |= h->hold[i].open;
	}
	if (widest > NAME_LETTERS)
		widest = NAME_LETTERS;
	p->left = MARGIN + widest * LETTER + 12;
	p->right = right_of(p, open);
	least = (int64_t)((double)(p->to_ms - p->from_ms) * (BAR_MIN + 1) /
			  (p->right - p->left));
	for (int i = 0; i < h->holds; i++)
		p->lanes.behind_ms[i] =
			(int64_t)(label_of(&h->hold[i]) *
				  (double)(p->to_ms - p->from_ms) /
				  (p->right - p->left));
	lanes_fill(&p->lanes, h, least);
	p->lane = p->lanes.rows > 30 ? 20 : 26;
	p->top = HEAD + TOP;
	p->bottom = p->top;
	for (int i = 0; i < p->lanes.hosts; i++) {
		p->y[i] = p->bottom;
		p->bottom += p->lanes.host[i].lanes * p->lane + 4;
	}
}

/* ---- head ---- */

/* "UTC", or "UTC+05:30" where local time is ahead of it. */
static const char *zone_of(int64_t ms, char buf[16])
{
	int64_t s = wall_offset(ms / 1000), ahead = s < 0 ? -s : s;

	(void)snprintf(buf, 16, "UTC");
	if (s != 0)
		(void)snprintf(buf, 16, "UTC%c%02d:%02d", s < 0 ? '-' : '+',
			       (int)(ahead / 3600 % 24),
			       (int)(ahead / 60 % 60));
	return buf;
}

static void say_counts(const struct picture *p, const int count[KINDS])
{
	int n = p->h->holds;

	say(p->f, "%d hold%s on %d host%s:", n, n == 1 ? "" : "s",
	    p->lanes.hosts, p->lanes.hosts == 1 ? "" : "s");
	for (int k = 0, said = 0; k < KINDS; k++)
		if (count[k] > 0)
			say(p->f, "%s %d %s", said++ ? "," : "", count[k],
			    kinds[k].outcome);
}

static void draw_head(const struct picture *p, const char *shown,
		      const int count[KINDS], int64_t longest_wait)
{
	char waited[32], buf[CUT], from[40], to[40], zone[16];
	bool one_day; /* is named once */
	FILE *f = p->f;

	put_text(f, "key", MARGIN, 30, NULL, cut(shown, KEY_LETTERS, buf));
	begin_text(f, "dim", MARGIN, 50, NULL);
	say_counts(p, count);
	if (longest_wait > 0)
		say(f, "; longest wait %s",
		    format_duration(longest_wait, waited, sizeof(waited)));
	(void)fputs("</text>\n", f);
	(void)wall_date(p->from_ms / 1000, from, sizeof(from));
	(void)wall_date(p->to_ms / 1000, to, sizeof(to));
	one_day = strncmp(from, to, 10) == 0;
	begin_text(f, "dim", WIDTH - MARGIN, 30, "end");
	say(f, "%s to %s, %s", from, to + (one_day ? 11 : 0),
	    zone_of(p->from_ms, zone));
	(void)fputs("</text>\n", f);
}

/* Explains the colours and letters that occur. */
static void draw_legend(const struct picture *p, const int count[KINDS],
			bool waits)
{
	double x = MARGIN;
	char text[32];

	for (int k = 0; k < KINDS; k++) {
		if (count[k] == 0)
			continue;
		put_rect(p->f, kinds[k].style, x, 64, 18, 11, 2);
		(void)snprintf(text, sizeof(text), "%s%s%s", kinds[k].letter,
			       kinds[k].letter[0] ? " " : "", kinds[k].outcome);
		put_text(p->f, NULL, x + 24, 74, NULL, text);
		x += 24 + LETTER * (double)(strlen(kinds[k].outcome) + 2) + 18;
	}
	if (!waits)
		return;
	put_line(p->f, "wait", x, x + 18, 70, 70);
	put_text(p->f, NULL, x + 24, 74, NULL, "waited");
}

/* Marks round times of the wall clock, and the beginning of a day. */
static void draw_times(const struct picture *p)
{
	int64_t step = ticks_step(p->to_ms - p->from_ms);
	int64_t ahead = wall_offset(p->from_ms / 1000) * 1000;
	int64_t first = (p->from_ms + ahead + step - 1) / step * step - ahead;
	char text[40], date[40], day[11] = "";
	FILE *f = p->f;

	for (int64_t t = first; t <= p->to_ms; t += step) {
		double x = x_of(p, t);

		put_line(f, "grid", x, x, p->top - 4, p->bottom + 4);
		ticks_text(t, step, text);
		put_text(f, "dim time", x, p->bottom + 18, "middle", text);
		/* a short picture is read without the upper one */
		if (p->bottom - p->top >= TALL)
			put_text(f, "dim time", x, p->top - 9, "middle", text);
		(void)wall_date(t / 1000, date, sizeof(date));
		date[10] = '\0';
		if (step < 86400000 && strcmp(day, date) != 0)
			put_text(f, "dim time", x, p->bottom + 32, "middle",
				 date);
		(void)snprintf(day, sizeof(day), "%.10s", date);
	}
}

/* ---- rows ---- */

static void draw_hosts(const struct picture *p)
{
	char buf[CUT];

	for (int i = 0; i < p->lanes.hosts; i += 2)
		put_rect(p->f, "band", MARGIN / 2.0, p->y[i], WIDTH - MARGIN,
			 p->lanes.host[i].lanes * p->lane + 4, 3);
	draw_times(p);
	for (int i = 0; i < p->lanes.hosts; i++)
		put_text(p->f, NULL, MARGIN, p->y[i] + p->lane - 5, NULL,
			 cut(p->lanes.host[i].name, NAME_LETTERS, buf));
}

/* The text for screen readers, and for the mouse. */
static void describe_hold(const struct history_hold *p, FILE *f)
{
	char who[400], date[48], held[32], waited[32], ending[ENDING_SIZE];
	const char *command = p->about[ABOUT_COMMAND];
	const char *reason = p->about[ABOUT_REASON];

	(void)fputs("<title>", f);
	say(f, "%s%s%s: %s", about_who(p->about, who, sizeof(who)),
	    command[0] ? ", " : "", command, hold_ending(p, ending));
	(void)fputc('\n', f);
	say(f, "from %s on, held for %s%s",
	    wall_zoned(p->since_ms / 1000, date, sizeof(date)),
	    format_duration(p->held_ms, held, sizeof(held)),
	    p->open ? " so far" : "");
	if (p->waited_ms >= 0)
		say(f, ", waited %s",
		    format_duration(p->waited_ms, waited, sizeof(waited)));
	if (p->fence > 0)
		say(f, ", fence %" PRId64, p->fence);
	if (p->slot >= 0)
		say(f, ", slot %" PRId64, p->slot);
	if (p->slot_name[0] != '\0')
		say(f, " (%s)", p->slot_name);
	if (reason[0] != '\0') {
		(void)fputc('\n', f);
		say(f, "%s", reason);
	}
	(void)fputs("</title>", f);
}

/* The upper edge of the lane of bar i. */
static double lane_of(const struct picture *p, int i)
{
	return p->y[p->lanes.at[i].host] + p->lanes.at[i].lane * p->lane;
}

/* Where bar i begins and ends; no bar is too short to be seen. */
static double bar_of(const struct picture *p, int i, double *end)
{
	const struct history_hold *its = &p->h->hold[i];
	double x = x_of(p, its->since_ms);

	*end = x_of(p, its->ended_ms);
	if (*end < x + BAR_MIN)
		*end = x + BAR_MIN;
	return x;
}

static void draw_wait(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	double y = lane_of(p, i) + ROOM_ABOVE + (p->lane - ROOM_ABOVE) / 2;

	put_line(p->f, "wait", x_of(p, came_ms(its)), x_of(p, its->since_ms), y,
		 y);
}

/* A hold that goes on ends in an arrow. */
static void draw_bar(const struct picture *p, int i, double y, double height)
{
	const char *class = kinds[kind_of(&p->h->hold[i])].style;
	double end, x = bar_of(p, i, &end);

	if (p->h->hold[i].open)
		(void)fprintf(p->f,
			      "<path class=\"%s\" d=\"M%.1f,%.1f H%.1f "
			      "L%.1f,%.1f L%.1f,%.1f H%.1f Z\"/>",
			      class, x, y, end, end + ARROW, y + height / 2,
			      end, y + height, x);
	else
		put_rect(p->f, class, x, y, end - x, height,
			 end - x < 6 ? 0 : 2);
}

static void draw_hold(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	const struct kind_look *look = &kinds[kind_of(its)];
	double end, x = bar_of(p, i, &end), height = p->lane - ROOM_ABOVE;
	double y = lane_of(p, i) + ROOM_ABOVE;
	const char *command = its->about[ABOUT_COMMAND];
	char held[32], text[ABOUT_MAX + 40], mark[16];

	(void)fputs("<g>", p->f);
	describe_hold(its, p->f);
	draw_bar(p, i, y, height);
	/* the letter, with the number of the note, if there is one (%.0d writes
	 * no 0) */
	(void)snprintf(mark, sizeof(mark), "%s%.0d", look->letter, p->note[i]);
	if (look->letter[0] != '\0')
		put_text(p->f, "mark", (x + end) / 2, y - 1, NULL, mark);
	(void)format_duration(its->held_ms, held, sizeof(held));
	(void)snprintf(text, sizeof(text), "%s%s%s%s", command,
		       command[0] != '\0' ? " " : "", held,
		       its->open ? " so far" : "");
	if (columns_of(text) * 6.2 + 10 > end - x)
		(void)snprintf(text, sizeof(text), "%s", held);
	if (columns_of(text) * 6.2 + 10 <= end - x && height >= 12)
		put_text(p->f, look->loud ? "in loud" : "in", x + 5,
			 y + height - 3.5, NULL, text);
	(void)fputs("</g>\n", p->f);
}

/* ---- what went wrong ---- */

/* To the next bar of its lane, or to the edge. */
static double room_behind(const struct picture *p, int i, double x)
{
	double free = WIDTH - MARGIN - x;

	for (int k = 0; k < p->h->holds; k++) {
		double its = x_of(p, came_ms(&p->h->hold[k]));

		if (k != i && p->lanes.at[k].host == p->lanes.at[i].host &&
		    p->lanes.at[k].lane == p->lanes.at[i].lane && its >= x &&
		    its - x < free)
			free = its - x;
	}
	return free;
}

/* If there is no room beside the bar, a line below says how the hold ended. */
static void number_notes(struct picture *p)
{
	for (int i = 0; i < p->h->holds; i++) {
		double label = label_of(&p->h->hold[i]), end;

		(void)bar_of(p, i, &end);
		if (label > 0 && label - 2 > room_behind(p, i, end))
			p->note[i] = ++p->notes;
	}
}

static const char *class_of(enum kind kind)
{
	return kinds[kind].loud ? "loud" : "dim";
}

static void draw_ending(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	char text[ENDING_SIZE];
	double end;

	if (!kinds[kind_of(its)].told || p->note[i] > 0)
		return;
	(void)bar_of(p, i, &end);
	put_text(p->f, class_of(kind_of(its)), end + 6,
		 lane_of(p, i) + p->lane - 3.5, NULL, hold_ending(its, text));
}

static void draw_note(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	const char *command = its->about[ABOUT_COMMAND];
	char ending[ENDING_SIZE], date[48], buf[CUT];
	char text[ENDING_SIZE + 3 * ABOUT_MAX];

	if (p->note[i] == 0)
		return;
	(void)snprintf(text, sizeof(text), "%s%d  %s; %s%s%s, since %s",
		       kinds[kind_of(its)].letter, p->note[i],
		       hold_ending(its, ending), host_of(its),
		       command[0] != '\0' ? ", " : "", command,
		       wall_zoned(its->since_ms / 1000, date, sizeof(date)));
	put_text(p->f, class_of(kind_of(its)), MARGIN,
		 p->bottom + BELOW + NOTE * p->note[i] - 4, NULL,
		 cut(text, NOTE_LETTERS, buf));
}

/* ---- all of it ---- */

static void begin(FILE *f, double height, const char *shown)
{
	(void)fprintf(f,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "width=\"%d\" height=\"%.0f\" "
		      "viewBox=\"0 0 %d %.0f\">\n<title>",
		      WIDTH, height, WIDTH, height);
	say(f, "History of the lock %s", shown);
	(void)fputs("</title>\n", f);
}

static void put_ground(FILE *f, double height)
{
	(void)fprintf(f,
		      "%s<rect class=\"ground\" width=\"%d\" "
		      "height=\"%.0f\"/>\n",
		      style, WIDTH, height);
}

/* A mistyped key must not look like a picture that failed. */
static void draw_nothing(const char *shown, FILE *f)
{
	begin(f, 60, shown);
	put_ground(f, 60);
	begin_text(f, NULL, MARGIN, 35, NULL);
	say(f, "no holds in the history of %s", shown);
	(void)fputs("</text>\n</svg>\n", f);
}

void timeline_draw(const struct history *h, const char *shown, FILE *f)
{
	static struct picture p; /* large */
	int count[KINDS] = {0};
	int64_t longest_wait = 0;
	double height;

	if (h->holds == 0) {
		draw_nothing(shown, f);
		return;
	}
	p = (struct picture){.h = h, .f = f};
	lay_out(&p);
	for (int i = 0; i < h->holds; i++) {
		count[kind_of(&h->hold[i])]++;
		if (h->hold[i].waited_ms > longest_wait)
			longest_wait = h->hold[i].waited_ms;
	}
	number_notes(&p);
	height = p.bottom + BELOW + NOTE * p.notes;
	begin(f, height, shown);
	(void)fputs("<desc>", f);
	say_counts(&p, count);
	(void)fputs("</desc>\n", f);
	put_ground(f, height);
	draw_head(&p, shown, count, longest_wait);
	draw_legend(&p, count, longest_wait > 0);
	draw_hosts(&p);
	for (int i = 0; i < h->holds; i++)
		if (h->hold[i].waited_ms > 0)
			draw_wait(&p, i);
	for (int i = 0; i < h->holds; i++)
		draw_hold(&p, i);
	for (int i = 0; i < h->holds; i++)
		draw_ending(&p, i);
	for (int i = 0; i < h->holds; i++)
		draw_note(&p, i);
	(void)fputs("</svg>\n", f);
}
