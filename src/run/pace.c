/* SPDX-License-Identifier: MIT */
/* When a wait is worth a line. */
#include "run/describe.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

void pace_begin(struct pace *p, struct instant at)
{
	*p = (struct pace){.began = at, .silent = NEVER};
	pace_redraw(p);
}

void pace_redraw(struct pace *p)
{
	p->drawn = LONG_AGO;
}

bool pace_draws(const struct pace *p)
{
	struct instant at = now();

	return !before(at, after(p->began, PACE_MS)) &&
	       !before(at, after(p->drawn, PACE_DRAW_MS));
}

/* When the next line is due, if nothing new begins. */
static struct instant next_line(const struct pace *p, const char *token,
				int place)
{
	bool same =
		p->said_place == place &&
		strncmp(p->said_token, token, sizeof(p->said_token) - 1) == 0;

	return after(p->said, same ? PACE_ALIVE_MS : PACE_CHANGE_MS);
}

enum pace_says pace_due(const struct pace *p, bool known, const char *token,
			int place)
{
	bool silent = p->silent.ms != NEVER.ms;
	enum pace_says what = silent ? TOLD_SILENCE : TOLD_HOLDER;
	struct instant at = now(),
		       first = silent ? after(p->silent, PACE_SILENCE_MS)
				      : after(p->began, PACE_MS);

	if ((!silent && !known) || before(at, first) ||
	    (p->told == what && before(at, next_line(p, token, place))))
		return TOLD_NOTHING;
	return what;
}

void pace_told(struct pace *p, enum pace_says what, const char *token,
	       int place)
{
	p->told = what;
	p->said = now();
	p->said_place = place;
	(void)snprintf(p->said_token, sizeof(p->said_token), "%s", token);
}

/* "waiting up to 30m"; "still waiting after 5m of 30m" if took_ms is above 0.
 * "trying for up to 5s", "still trying after 2s of 5s". */
static const char *begun(bool tries, int64_t took_ms, int64_t limit_ms,
			 char buf[80])
{
	char took[32] = "", limit[32] = "";

	if (took_ms > 0)
		(void)format_seconds(took_ms, took, sizeof(took));
	if (limit_ms != INT64_MAX)
		(void)format_limit(limit_ms, limit, sizeof(limit));
	(void)snprintf(buf, 80, "%s%s%s%s%s%s", took[0] ? "still " : "",
		       tries ? "trying" : "waiting", took[0] ? " after " : "",
		       took,
		       limit[0] == '\0' ? ""
		       : took[0]        ? " of "
		       : tries          ? " for up to "
					: " up to ",
		       limit);
	return buf;
}

const char *pace_opening(const struct pace *p, enum pace_says what,
			 int64_t limit_ms, char *buf, size_t size)
{
	bool again = what == TOLD_HOLDER && p->told == TOLD_SILENCE;
	bool tries = what == TOLD_SILENCE && !p->reached;
	int64_t so_far =
		p->told == TOLD_NOTHING ? 0 : between(p->began, now()) + 1;
	char how[80];

	(void)snprintf(buf, size, "%s%s",
		       again ? "the server answers again; " : "",
		       begun(tries, so_far, limit_ms, how));
	return buf;
}

struct instant pace_next(const struct pace *p, bool live, const char *token,
			 int place)
{
	struct instant first = after(p->began, PACE_MS);

	if (before(now(), first))
		return first;
	if (live)
		return after(p->drawn, PACE_DRAW_MS);
	if (p->silent.ms != NEVER.ms && p->told != TOLD_SILENCE)
		return after(p->silent, PACE_SILENCE_MS);
	return p->told == TOLD_NOTHING ? NEVER : next_line(p, token, place);
}
