/* SPDX-License-Identifier: MIT */
/* Shows a person that we wait. */
#include "run/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"

#define TELL_GRANT_MS 1000

/* The lock we wait for. */
static struct client *client_of(const struct waiting *w)
{
	return &w->locks->client[w->locks->lead];
}

static const struct lease *lease_of(const struct waiting *w)
{
	return &client_of(w)->lease;
}

void waiting_init(struct waiting *w, const struct locks *l, struct instant at)
{
	*w = (struct waiting){.locks = l,
			      .began = at,
			      .silent = NEVER,
			      .drawn = {INT64_MIN / 2}};
}

static bool is_live(const struct waiting *w)
{
	const struct lease *l = lease_of(w);

	return log_is_live() &&
	       (l->state == LEASE_WAITING || l->state == LEASE_ASKING);
}

static int64_t sight_age(const struct waiting *w)
{
	return between(client_of(w)->sight_at, now());
}

/* ---- telling ---- */

static int64_t limit_of(const struct waiting *w)
{
	return lease_of(w)->conf.wait_ms;
}

/* Remembers what the line said: a change is worth another line. */
static void note_told(struct waiting *w, enum told told)
{
	w->told = told;
	w->said = now();
	w->said_place = lease_place(lease_of(w));
	(void)snprintf(w->said_token, sizeof(w->said_token), "%s",
		       client_of(w)->sight.token);
}

static bool has_changed(const struct waiting *w)
{
	return w->said_place != lease_place(lease_of(w)) ||
	       strcmp(w->said_token, client_of(w)->sight.token) != 0;
}

/* When the next line is due, if nothing new begins. */
static struct instant next_line(const struct waiting *w)
{
	return after(w->said, has_changed(w) ? TELL_CHANGE_MS : TELL_ALIVE_MS);
}

/* ms since the beginning; 0: this is the first line. */
static int64_t so_far(const struct waiting *w)
{
	return w->told == TOLD_NOTHING ? 0 : between(w->began, now()) + 1;
}

static void tell_holder(struct waiting *w)
{
	const struct client *d = client_of(w);
	int place = lease_place(lease_of(w));
	char *more = log_is_json() ? describe_members(d, place) : NULL;
	char who[860], how[80], in_line[32] = "", next[160];

	if (place >= 0)
		(void)snprintf(in_line, sizeof(in_line), " (place %d)",
			       place + 1);
	log_event("waiting", more ? more : "", "%s%s%s%s%s: %s%s%s",
		  w->told == TOLD_SILENCE ? "the server answers again; " : "",
		  describe_begun(so_far(w), limit_of(w), how),
		  w->locks->n > 1 ? " for " : "",
		  w->locks->n > 1 ? d->shown_key : "", in_line,
		  lease_of(w)->conf.slots > 1 ? "all slots are taken, one "
					      : "",
		  describe_holder(&d->sight, sight_age(w), who, sizeof(who)),
		  describe_next(d->shown_key, next));
	free(more);
	note_told(w, TOLD_HOLDER);
}

static void tell_silence(struct waiting *w)
{
	char how[80];

	log_notice("silence", "%s: %s",
		   describe_begun(so_far(w), limit_of(w), how),
		   client_why(client_of(w))->text);
	note_told(w, TOLD_SILENCE);
}

/* " (1st in line)" */
static const char *place_in_line(int place, char buf[40])
{
	static const char *const ends[] = {"th", "st", "nd", "rd"};
	int n = place + 1, last = n % 10;

	buf[0] = '\0';
	if (last > 3 || n % 100 / 10 == 1)
		last = 0;
	if (place >= 0)
		(void)snprintf(buf, 40, " (%d%s in line)", n, ends[last]);
	return buf;
}

/* The most important comes first: a terminal of 80 columns cuts the rest. */
static void draw(struct waiting *w)
{
	const struct client *d = client_of(w);
	const struct sight *s = &d->sight;
	char text[1000], how[80], who[860], in_line[40];
	struct instant at = now();

	w->drawn = at;
	(void)describe_waiting(between(w->began, at), limit_of(w), how);
	(void)place_in_line(lease_place(lease_of(w)), in_line);
	if (w->silent.ms != NEVER.ms)
		(void)snprintf(text, sizeof(text), "%s: %s", how,
			       client_why(client_of(w))->text);
	else if (s->seen || s->lost || s->guarded)
		(void)snprintf(
			text, sizeof(text), "%s%s%.40s%s: %s", how,
			w->locks->n > 1 ? " for " : "",
			w->locks->n > 1 ? d->shown_key : "", in_line,
			describe_brief(s, sight_age(w), who, sizeof(who)));
	else
		(void)snprintf(text, sizeof(text), "%s: no answer yet from %s",
			       how, d->peer[0].ep->name);
	log_live(text);
	w->told = TOLD_HOLDER;
}

static void notice_silence(struct waiting *w, struct instant at)
{
	if (lease_of(w)->state != LEASE_WAITING)
		return;
	if (lease_answered(lease_of(w)))
		w->silent = NEVER;
	else if (w->silent.ms == NEVER.ms)
		w->silent = w->told == TOLD_NOTHING ? w->began : at;
}

static bool is_due(const struct waiting *w, enum told what, struct instant at)
{
	return w->told != what || !before(at, next_line(w));
}

void waiting_tell(struct waiting *w)
{
	struct instant at = now();

	notice_silence(w, at);
	if (is_live(w)) {
		if (!before(at, after(w->began, TELL_MS)) &&
		    !before(at, after(w->drawn, DRAW_MS)))
			draw(w);
		return;
	}
	if (lease_of(w)->state != LEASE_WAITING)
		return;
	if (w->silent.ms == NEVER.ms && is_due(w, TOLD_HOLDER, at) &&
	    (client_of(w)->sight.seen || client_of(w)->sight.lost ||
	     client_of(w)->sight.guarded) &&
	    !before(at, after(w->began, TELL_MS)))
		tell_holder(w);
	if (w->silent.ms != NEVER.ms && is_due(w, TOLD_SILENCE, at) &&
	    !before(at, after(w->silent, TELL_SILENCE_MS)))
		tell_silence(w);
}

struct instant waiting_next(const struct waiting *w)
{
	struct instant at = now();

	if (before(at, after(w->began, TELL_MS)))
		return after(w->began, TELL_MS);
	if (is_live(w))
		return after(w->drawn, DRAW_MS);
	if (before(at, after(w->began, TELL_SILENCE_MS)))
		return after(w->began, TELL_SILENCE_MS);
	return w->told == TOLD_NOTHING ? NEVER : next_line(w);
}

void waiting_redraw(struct waiting *w)
{
	w->drawn = (struct instant){INT64_MIN / 2};
}

void waiting_hide(void)
{
	log_live("");
}

void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours)
{
	char took[32], more[96];
	bool news =
		log_is_json() || (w->told != TOLD_NOTHING &&
				  waited_ms >= TELL_GRANT_MS && !log_is_live());

	waiting_hide();
	if (!ours)
		return;
	(void)snprintf(more, sizeof(more), ",\"waited_ms\":%lld,\"fence\":%lld",
		       (long long)waited_ms, (long long)lease_of(w)->fence);
	log_at(news ? LOG_SAY_NOTICE : LOG_SAY_DETAIL, "acquired", more,
	       "acquired after %s, fence %lld",
	       format_duration(waited_ms, took, sizeof(took)),
	       (long long)lease_of(w)->fence);
}
