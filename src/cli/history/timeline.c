/* SPDX-License-Identifier: MIT */
/* The picture of a history. */
#include "cli/history/timeline.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/history/lanes.h"
#include "cli/history/holds.h"
#include "cli/render.h"
#include "cli/history/svg.h"
#include "cli/history/ticks.h"

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

/* How a hold may have ended: its style, and the letter above its bar. */
enum kind { RAN, FAILED, LOST, MAX_HOLD, FORCED, OTHER, KINDS };
static const struct {
	const char *outcome, *style, *letter;
} kinds[KINDS] = {
	[RAN] = {"ran", "ran", ""},
	[FAILED] = {"failed", "failed", "F"},
	[LOST] = {"lost", "lost", "L"},
	[MAX_HOLD] = {"max-hold", "max", "M"},
	[FORCED] = {"forced", "forced", "X"},
	[OTHER] = {"unknown", "other", "?"},
};

struct picture {
	const struct history *h;
	FILE *f;
	struct lanes lanes;
	double y[HISTORY_MAX]; /* of each host */
	int64_t from_ms, to_ms;
	double left, right, top, bottom, lane; /* px; a lane's height */
};

/* ---- where everything goes ---- */

static enum kind kind_of(const struct history_hold *p)
{
	for (int k = 0; k < OTHER; k++)
		if (strcmp(p->outcome, kinds[k].outcome) == 0)
			return (enum kind)k;
	return OTHER;
}

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

		if (hold_came_ms(its) < p->from_ms)
			p->from_ms = hold_came_ms(its);
		if (its->ended_ms > p->to_ms)
			p->to_ms = its->ended_ms;
	}
	if (p->to_ms < p->from_ms + 10)
		p->to_ms = p->from_ms + 10;
}

static void lay_out(struct picture *p)
{
	const struct history *h = p->h;
	int64_t least;
	int widest = 0;

	find_span(p);
	for (int i = 0; i < h->holds; i++) {
		int its = svg_width(hold_host(&h->hold[i]));

		widest = its > widest ? its : widest;
	}
	if (widest > NAME_LETTERS)
		widest = NAME_LETTERS;
	p->left = MARGIN + widest * LETTER + 12;
	p->right = WIDTH - MARGIN - 8;
	least = (int64_t)((double)(p->to_ms - p->from_ms) * (BAR_MIN + 1) /
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

static const char style[] =
	"<style>\n"
	"text { font: 12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; "
	"fill: #1c2128 }\n"
	".key { font-size: 17px; font-weight: 600 }\n"
	".dim { fill: #57606a }\n"
	".time { font-size: 11px }\n"
	".mark { font-size: 10px; font-weight: 700; text-anchor: middle }\n"
	".in { font-size: 10.5px; fill: #fff }\n"
	".ground { fill: #fff }\n"
	".band { fill: #f3f5f8 }\n"
	".grid { stroke: #ccd3db; stroke-width: 1 }\n"
	".wait { stroke: #6b7680; stroke-width: 1.5; stroke-dasharray: 3 2 }\n"
	".ran { fill: #1b6ca8 }\n"
	".failed { fill: #b35309 }\n"
	".lost { fill: #b3123a }\n"
	".max { fill: #6b46b8 }\n"
	".forced { fill: #5b4a2f }\n"
	".other { fill: #5f6b76 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e4e9ee }\n"
	".dim { fill: #a3adb8 }\n"
	".in { fill: #10151b }\n"
	".ground { fill: #10151b }\n"
	".band { fill: #1a2129 }\n"
	".grid { stroke: #39434e }\n"
	".wait { stroke: #98a3ae }\n"
	".ran { fill: #5fb0e8 }\n"
	".failed { fill: #f0a04b }\n"
	".lost { fill: #ff7a90 }\n"
	".max { fill: #bca4f5 }\n"
	".forced { fill: #d9c08c }\n"
	".other { fill: #a7b1bb }\n"
	"}\n"
	"</style>\n";

/* Hours and minutes by which local time is ahead of UTC. */
static const char *zone_of(int64_t ms, char buf[16])
{
	int64_t s = wall_offset(ms / 1000), ahead = s < 0 ? -s : s;

	(void)snprintf(buf, 16, "UTC%c%02d:%02d", s < 0 ? '-' : '+',
		       (int)(ahead / 3600 % 24), (int)(ahead / 60 % 60));
	return buf;
}

static void say_counts(const struct picture *p, const int count[KINDS])
{
	FILE *f = p->f;
	int n = p->h->holds;

	svg_say(f, "%d hold%s on %d host%s:", n, n == 1 ? "" : "s",
		p->lanes.hosts, p->lanes.hosts == 1 ? "" : "s");
	for (int k = 0, said = 0; k < KINDS; k++)
		if (count[k] > 0)
			svg_say(f, "%s %d %s", said++ ? "," : "", count[k],
				kinds[k].outcome);
}

/* From when to when; one day is named once. */
static void say_span(const struct picture *p)
{
	char from[40], to[40], zone[16];
	bool one_day;

	(void)wall_date(p->from_ms / 1000, from, sizeof(from));
	(void)wall_date(p->to_ms / 1000, to, sizeof(to));
	one_day = strncmp(from, to, 10) == 0;
	svg_say(p->f, "%s to %s, %s", from, to + (one_day ? 11 : 0),
		zone_of(p->from_ms, zone));
}

static void draw_head(const struct picture *p, const char *shown,
		      const int count[KINDS], int64_t longest_wait)
{
	char waited[32], cut[SVG_CUT];
	FILE *f = p->f;

	(void)fprintf(f, "<text class=\"key\" x=\"%d\" y=\"30\">", MARGIN);
	svg_say(f, "%s", svg_cut(shown, KEY_LETTERS, cut));
	(void)fputs("</text>\n", f);
	(void)fprintf(f, "<text class=\"dim\" x=\"%d\" y=\"50\">", MARGIN);
	say_counts(p, count);
	if (longest_wait > 0)
		svg_say(f, "; longest wait %s",
			format_duration(longest_wait, waited, sizeof(waited)));
	(void)fprintf(f,
		      "</text>\n<text class=\"dim\" x=\"%d\" y=\"30\" "
		      "text-anchor=\"end\">",
		      WIDTH - MARGIN);
	say_span(p);
	(void)fputs("</text>\n", f);
}

/* Explains the colours and letters that occur. */
static void draw_legend(const struct picture *p, const int count[KINDS],
			bool waits)
{
	double x = MARGIN;
	FILE *f = p->f;

	for (int k = 0; k < KINDS; k++) {
		if (count[k] == 0)
			continue;
		(void)fprintf(f,
			      "<rect class=\"%s\" x=\"%.1f\" y=\"64\" "
			      "width=\"18\" height=\"11\" rx=\"2\"/>",
			      kinds[k].style, x);
		(void)fprintf(f, "<text x=\"%.1f\" y=\"74\">", x + 24);
		svg_say(f, "%s%s%s", kinds[k].letter,
			kinds[k].letter[0] ? " " : "", kinds[k].outcome);
		(void)fputs("</text>\n", f);
		x += 24 + LETTER * (double)(strlen(kinds[k].outcome) + 2) + 18;
	}
	if (waits)
		(void)fprintf(f,
			      "<line class=\"wait\" x1=\"%.1f\" x2=\"%.1f\" "
			      "y1=\"70\" y2=\"70\"/>"
			      "<text x=\"%.1f\" y=\"74\">waited</text>\n",
			      x, x + 18, x + 24);
}

/* ---- times ---- */

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

		(void)fprintf(f,
			      "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" "
			      "y1=\"%.0f\" y2=\"%.0f\"/>",
			      x, x, p->top - 4, p->bottom + 4);
		ticks_text(t, step, text);
		/* a short picture is read without the upper one */
		for (int below = p->bottom - p->top < TALL; below < 2; below++)
			(void)fprintf(f,
				      "<text class=\"dim time\" x=\"%.1f\" "
				      "y=\"%.0f\" "
				      "text-anchor=\"middle\">%s</text>",
				      x, below ? p->bottom + 18 : p->top - 9,
				      text);
		(void)wall_date(t / 1000, date, sizeof(date));
		if (step < 86400000 && strncmp(day, date, 10) != 0)
			(void)fprintf(f,
				      "<text class=\"dim time\" x=\"%.1f\" "
				      "y=\"%.0f\" "
				      "text-anchor=\"middle\">%.10s</text>",
				      x, p->bottom + 32, date);
		(void)snprintf(day, sizeof(day), "%.10s", date);
		(void)fputc('\n', f);
	}
}

/* ---- rows ---- */

static void draw_hosts(const struct picture *p)
{
	char cut[SVG_CUT];
	FILE *f = p->f;

	for (int i = 0; i < p->lanes.hosts; i++) {
		const struct host *h = &p->lanes.host[i];
		double height = h->lanes * p->lane;

		if (i % 2 == 0)
			(void)fprintf(f,
				      "<rect class=\"band\" x=\"%d\" "
				      "y=\"%.0f\" width=\"%d\" "
				      "height=\"%.0f\" rx=\"3\"/>\n",
				      MARGIN / 2, p->y[i], WIDTH - MARGIN,
				      height + 4);
	}
	draw_times(p);
	for (int i = 0; i < p->lanes.hosts; i++) {
		const struct host *h = &p->lanes.host[i];

		(void)fprintf(f, "<text x=\"%d\" y=\"%.1f\">", MARGIN,
			      p->y[i] + p->lane - 5);
		svg_say(f, "%s", svg_cut(h->name, NAME_LETTERS, cut));
		(void)fputs("</text>\n", f);
	}
}

/* The text for screen readers, and for the mouse. */
static void describe_hold(const struct history_hold *p, FILE *f)
{
	char who[400], date[48], held[32], waited[32], ending[ENDING_SIZE];
	const char *command = p->about[ABOUT_COMMAND];
	const char *reason = p->about[ABOUT_REASON];

	(void)fputs("<title>", f);
	svg_say(f, "%s%s%s: %s", about_who(p->about, who, sizeof(who)),
		command[0] ? ", " : "", command, hold_ending(p, ending));
	(void)fputc('\n', f);
	svg_say(f, "from %s on, held for %s, waited %s, fence %" PRId64,
		wall_zoned(p->since_ms / 1000, date, sizeof(date)),
		format_duration(p->held_ms, held, sizeof(held)),
		format_duration(p->waited_ms, waited, sizeof(waited)),
		p->fence);
	if (p->slot >= 0)
		svg_say(f, ", slot %" PRId64, p->slot);
	if (reason[0] != '\0') {
		(void)fputc('\n', f);
		svg_say(f, "%s", reason);
	}
	(void)fputs("</title>", f);
}

static void draw_wait(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	double y = p->y[p->lanes.at[i].host] + p->lanes.at[i].lane * p->lane +
		   ROOM_ABOVE + (p->lane - ROOM_ABOVE) / 2;

	(void)fprintf(p->f,
		      "<line class=\"wait\" x1=\"%.1f\" x2=\"%.1f\" "
		      "y1=\"%.1f\" y2=\"%.1f\"/>\n",
		      x_of(p, hold_came_ms(its)), x_of(p, its->since_ms), y, y);
}

static void draw_hold(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	enum kind kind = kind_of(its);
	double x = x_of(p, its->since_ms), y = p->y[p->lanes.at[i].host];
	double width = x_of(p, its->ended_ms) - x,
	       height = p->lane - ROOM_ABOVE;
	const char *command = its->about[ABOUT_COMMAND];
	char held[32], text[ABOUT_MAX + 40];
	FILE *f = p->f;

	if (width < BAR_MIN)
		width = BAR_MIN;
	y += p->lanes.at[i].lane * p->lane + ROOM_ABOVE;
	(void)fputs("<g>", f);
	describe_hold(its, f);
	(void)fprintf(f,
		      "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" "
		      "width=\"%.1f\" height=\"%.1f\" rx=\"%s\"/>",
		      kinds[kind].style, x, y, width, height,
		      width < 6 ? "0" : "2");
	if (kinds[kind].letter[0] != '\0')
		(void)fprintf(f,
			      "<text class=\"mark\" x=\"%.1f\" "
			      "y=\"%.1f\">%s</text>",
			      x + width / 2, y - 1, kinds[kind].letter);
	(void)snprintf(text, sizeof(text), "%s%s%s", command,
		       command[0] != '\0' ? " " : "",
		       format_duration(its->held_ms, held, sizeof(held)));
	if (svg_width(text) * 6.2 + 10 > width)
		(void)snprintf(text, sizeof(text), "%s", held);
	if (svg_width(text) * 6.2 + 10 <= width && height >= 12) {
		(void)fprintf(f, "<text class=\"in\" x=\"%.1f\" y=\"%.1f\">",
			      x + 5, y + height - 3.5);
		svg_say(f, "%s", text);
		(void)fputs("</text>", f);
	}
	(void)fputs("</g>\n", f);
}

/* To the next bar of its lane, or to the edge. */
static double room_behind(const struct picture *p, int i, double x)
{
	double free = WIDTH - MARGIN - x;

	for (int k = 0; k < p->h->holds; k++) {
		double its = x_of(p, hold_came_ms(&p->h->hold[k]));

		if (k != i && p->lanes.at[k].host == p->lanes.at[i].host &&
		    p->lanes.at[k].lane == p->lanes.at[i].lane && its >= x &&
		    its - x < free)
			free = its - x;
	}
	return free;
}

/* What went wrong, and who did it, if there is room. */
static void draw_ending(const struct picture *p, int i)
{
	const struct history_hold *its = &p->h->hold[i];
	double x = x_of(p, its->since_ms), width = x_of(p, its->ended_ms) - x;
	double y = p->y[p->lanes.at[i].host] + p->lanes.at[i].lane * p->lane;
	char text[ENDING_SIZE];

	if (kinds[kind_of(its)].letter[0] == '\0' || p->lane < ROOM_ABOVE + 12)
		return;
	x += width < BAR_MIN ? BAR_MIN : width;
	(void)hold_ending(its, text);
	if (svg_width(text) * 6.2 + 12 > room_behind(p, i, x))
		return;
	(void)fprintf(p->f, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">", x + 6,
		      y + p->lane - 3.5);
	svg_say(p->f, "%s", text);
	(void)fputs("</text>\n", p->f);
}

/* ---- all of it ---- */

/* A mistyped key must not look like a picture that failed. */
static void draw_nothing(const char *shown, FILE *f)
{
	(void)fprintf(f,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "width=\"%d\" height=\"60\" viewBox=\"0 0 %d 60\">\n"
		      "<title>",
		      WIDTH, WIDTH);
	svg_say(f, "History of the lock %s", shown);
	(void)fprintf(f,
		      "</title>\n%s<rect class=\"ground\" width=\"%d\" "
		      "height=\"60\"/>\n<text x=\"%d\" y=\"35\">",
		      style, WIDTH, MARGIN);
	svg_say(f, "no holds in the history of %s", shown);
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
	height = p.bottom + 44;
	(void)fprintf(f,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "width=\"%d\" height=\"%.0f\" "
		      "viewBox=\"0 0 %d %.0f\">\n<title>",
		      WIDTH, height, WIDTH, height);
	svg_say(f, "History of the lock %s", shown);
	(void)fputs("</title>\n<desc>", f);
	say_counts(&p, count);
	(void)fprintf(f,
		      "</desc>\n%s<rect class=\"ground\" width=\"%d\" "
		      "height=\"%.0f\"/>\n",
		      style, WIDTH, height);
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
	(void)fputs("</svg>\n", f);
}
