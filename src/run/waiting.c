/* SPDX-License-Identifier: MIT */
/* Shows a person that we wait. */
#include "run/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "run/describe.h"

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
	w->locks = l;
	pace_begin(&w->pace, at);
}

static bool is_live(const struct waiting *w)
{
	const struct lease *l = lease_of(w);

	return log_is_live() &&
	       (l->state == LEASE_WAITING || l->state == LEASE_ASKING);
}

/* There is something to say of it. */
static bool tells(const struct sight *s)
{
	return s->seen || s->lost || s->guarded || s->vanished;
}

static int64_t sight_age(const struct waiting *w)
{
	return between(client_of(w)->sight_at, now());
}

/* ---- telling ---- */

static int64_t limit_of(const struct waiting *w)
{
	return lease_limit_ms(lease_of(w));
}

static const char *opening(const struct waiting *w, enum pace_says what,
			   char buf[120])
{
	return pace_opening(&w->pace, what, limit_of(w), buf, 120);
}

/* What the next line would be about: the holder, or why the server is silent.
 */
static const char *topic(const struct waiting *w)
{
	bool silent =
		w->pace.silent.ms != NEVER.ms && w->pace.told == TOLD_SILENCE;

	return silent ? client_why(client_of(w))->text
		      : client_of(w)->sight.token;
}

static void note_told(struct waiting *w, enum pace_says what, const char *about)
{
	pace_told(&w->pace, what, about, lease_place(lease_of(w)));
}

static void tell_holder(struct waiting *w)
{
	const struct client *d = client_of(w);
	int place = lease_place(lease_of(w));
	char *more = log_is_json() ? describe_members(d, place) : NULL;
	char who[860], how[120], in_line[32] = "", next[COMMAND_MAX];

	if (place > 0)
		(void)snprintf(in_line, sizeof(in_line), " (place %d)", place);
	log_at(LOG_SAY_NOTICE, "waiting", more ? more : "", "%s%s%s%s: %s%s%s",
	       opening(w, TOLD_HOLDER, how), w->locks->n > 1 ? " for " : "",
	       w->locks->n > 1 ? d->shown_key : "", in_line,
	       lease_of(w)->conf.slots > 1 ? "all slots are taken, one " : "",
	       describe_holder(&d->sight, sight_age(w), who, sizeof(who)),
	       describe_next(d->key, next));
	free(more);
	note_told(w, TOLD_HOLDER, d->sight.token);
}

static void tell_silence(struct waiting *w)
{
	char how[120];
	const char *why = client_why(client_of(w))->text;

	log_notice("silence", "%s: %s", opening(w, TOLD_SILENCE, how), why);
	note_told(w, TOLD_SILENCE, why);
}

/* The most important comes first: a terminal of 80 columns cuts the rest. */
static void draw(struct waiting *w)
{
	const struct client *d = client_of(w);
	const struct sight *s = &d->sight;
	char text[1000], how[80], who[860], in_line[40];
	struct instant at = now();

	w->pace.drawn = at;
	(void)describe_waiting(w->pace.reached, between(w->pace.began, at),
			       limit_of(w), how);
	(void)describe_place(" (", lease_place(lease_of(w)), ")", in_line);
	if (w->pace.silent.ms != NEVER.ms)
		(void)snprintf(text, sizeof(text), "%s: %s", how,
			       client_why(client_of(w))->text);
	else if (tells(s))
		(void)snprintf(
			text, sizeof(text), "%s%s%.40s%s: %s", how,
			w->locks->n > 1 ? " for " : "",
			w->locks->n > 1 ? d->shown_key : "", in_line,
			describe_brief(s, sight_age(w), who, sizeof(who)));
	else
		(void)snprintf(text, sizeof(text), "%s: no answer yet from %s",
			       how, d->peer[0].ep->name);
	log_live(text);
	w->pace.told = TOLD_HOLDER;
}

static void notice_silence(struct pace *p, const struct lease *l)
{
	if (l->state != LEASE_WAITING)
		return;
	if (lease_answered(l))
		p->silent = NEVER;
	else if (p->silent.ms == NEVER.ms)
		p->silent = p->told == TOLD_NOTHING ? p->began : now();
}

void waiting_tell(struct waiting *w)
{
	const struct lease *l = lease_of(w);
	const struct sight *s = &client_of(w)->sight;

	w->pace.reached = lease_reached(l);
	notice_silence(&w->pace, l);
	notify_waiting(w->locks);
	if (is_live(w)) {
		if (pace_draws(&w->pace))
			draw(w);
		return;
	}
	if (l->state != LEASE_WAITING)
		return;
	switch (pace_due(&w->pace, tells(s), topic(w), lease_place(l))) {
	case TOLD_NOTHING:
		break;
	case TOLD_HOLDER:
		tell_holder(w);
		break;
	case TOLD_SILENCE:
		tell_silence(w);
		break;
	}
}

/* (NEVER while waiting_tell() would say nothing) */
struct instant waiting_next(const struct waiting *w)
{
	if (!is_live(w) && lease_of(w)->state != LEASE_WAITING)
		return NEVER;
	return pace_next(&w->pace, is_live(w), topic(w),
			 lease_place(lease_of(w)));
}

void waiting_redraw(struct waiting *w)
{
	pace_redraw(&w->pace);
}

void waiting_hide(void)
{
	log_live("");
}

void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours)
{
	char took[32], more[96];
	bool news =
		log_is_json() || (w->pace.told != TOLD_NOTHING &&
				  waited_ms >= TELL_GRANT_MS && !log_is_live());

	waiting_hide();
	if (!ours)
		return;
	notify_holding(w->locks);
	(void)snprintf(more, sizeof(more), ",\"waited_ms\":%lld,\"fence\":%lld",
		       (long long)waited_ms, (long long)lease_of(w)->fence);
	log_at(news ? LOG_SAY_NOTICE : LOG_SAY_DETAIL, "acquired", more,
	       "acquired after %s, fence %lld",
	       format_duration(waited_ms, took, sizeof(took)),
	       (long long)lease_of(w)->fence);
}
