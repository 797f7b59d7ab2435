/* SPDX-License-Identifier: MIT */
/* Shows a person that we wait. */
#include "run/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "lock/wire/record.h"

#define TELL_GRANT_MS 1000

/* "ann@web1" */
static const char *name_of(const struct sight *s, char *buf, size_t size)
{
	const char *host = s->about[ABOUT_HOST], *user = s->about[ABOUT_USER];

	if (!s->seen)
		(void)snprintf(buf, size, "an unknown holder");
	else if (s->foreign)
		(void)snprintf(buf, size, "another program");
	else if (host[0] == '\0')
		(void)snprintf(buf, size, "an anonymous holder");
	else
		(void)snprintf(buf, size, "%s%s%s", user, user[0] ? "@" : "",
			       host);
	return buf;
}

/* What is left of the lease `ago` ms after it was seen; -1: no expiry. */
static int64_t left_of(const struct sight *s, int64_t ago)
{
	if (s->pttl_ms < 0)
		return -1;
	return s->pttl_ms > ago ? s->pttl_ms - ago : 0;
}

/* Its command has ended: see release.lua. */
static bool is_kept(const struct sight *s)
{
	size_t n = strlen(s->token);

	return n > 5 && strcmp(s->token + n - 5, " rest") == 0;
}

/* ", lease left 20s", for a holder of whom nothing else is known. */
static const char *lease_left(const struct sight *s, int64_t ago, char *buf,
			      size_t size)
{
	int64_t ms = left_of(s, ago);
	char left[32];

	buf[0] = '\0';
	if (!s->seen ||
	    (ms >= 0 && s->about[ABOUT_HOST][0] != '\0' && !is_kept(s)))
		return buf;
	if (ms < 0)
		(void)snprintf(buf, size, ", without expiry");
	else
		(void)snprintf(buf, size, ", lease left %s",
			       format_duration(ms, left, sizeof(left)));
	return buf;
}

/* " and 2 other readers" */
static const char *others_of(const struct sight *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->readers == 1)
		(void)snprintf(buf, size, " (a reader)");
	else if (s->readers > 1)
		(void)snprintf(buf, size, " and %d other reader%s",
			       s->readers - 1, s->readers > 2 ? "s" : "");
	return buf;
}

/* What another program's lock is, or "". */
static const char *kind_of(const struct sight *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->type[0] != '\0')
		(void)snprintf(buf, size, ", the key holds a %s", s->type);
	else if (s->foreign)
		(void)snprintf(buf, size, ", token %s", s->token);
	return buf;
}

const char *describe_name(const struct sight *s, char *buf, size_t size)
{
	char others[40], name[300], kind[200];

	(void)others_of(s, others, sizeof(others));
	if (s->about[ABOUT_HOST][0] == '\0')
		(void)snprintf(buf, size, "%s%s%s",
			       name_of(s, name, sizeof(name)), others,
			       kind_of(s, kind, sizeof(kind)));
	else
		(void)snprintf(buf, size, "%s (pid %s, user %s%s%s%s%s)%s",
			       s->about[ABOUT_HOST], s->about[ABOUT_PID],
			       s->about[ABOUT_USER],
			       s->about[ABOUT_COMMAND][0] ? ", " : "",
			       s->about[ABOUT_COMMAND],
			       s->about[ABOUT_REASON][0] ? ": " : "",
			       s->about[ABOUT_REASON], others);
	return buf;
}

const char *describe_asker(const struct sight *s, char *buf, size_t size)
{
	if (s->about[ABOUT_HOST][0] != '\0')
		return describe_name(s, buf, size);
	(void)snprintf(buf, size, "somebody");
	return buf;
}

/* Nobody has it, but it cannot be taken yet. */
static const char *why_free(const struct sight *s, int64_t ago, char *buf,
			    size_t size)
{
	char left[32];

	if (s->lost)
		(void)snprintf(buf, size,
			       "free, but the server lost data: its last "
			       "holder may not know yet");
	else
		(void)snprintf(buf, size,
			       "free, but a server has just started and may "
			       "have forgotten a holder (--restart-guard); %s "
			       "more",
			       format_seconds(left_of(s, ago) + 999, left,
					      sizeof(left)));
	return buf;
}

/* " since 09:12 UTC (3m)" */
static const char *since_of(const struct sight *s, char *buf, size_t size)
{
	int64_t age = wall_seconds() - s->since;
	char date[48], held[32] = "";

	buf[0] = '\0';
	if (s->since <= 0)
		return buf;
	if (age >= 0)
		(void)format_seconds(age * 1000, held, sizeof(held));
	(void)snprintf(buf, size, " since %s%s%s%s",
		       wall_since(s->since, date, sizeof(date)),
		       held[0] ? " (" : "", held, held[0] ? ")" : "");
	return buf;
}

const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size)
{
	char name[300], others[40], kind[200], since[96], left[64];

	if (s->lost || s->guarded)
		return why_free(s, ago, buf, size);
	(void)snprintf(
		buf, size, "%s by %s%s%s%s%s%s%s%s%s%s%s",
		is_kept(s) ? "kept (--min-hold)" : "held",
		name_of(s, name, sizeof(name)),
		others_of(s, others, sizeof(others)),
		kind_of(s, kind, sizeof(kind)),
		since_of(s, since, sizeof(since)),
		lease_left(s, ago, left, sizeof(left)),
		s->about[ABOUT_COMMAND][0] ? ", " : "", s->about[ABOUT_COMMAND],
		s->about[ABOUT_REASON][0] ? ": " : "", s->about[ABOUT_REASON],
		s->about[ABOUT_CI][0] ? ", " : "", s->about[ABOUT_CI]);
	return buf;
}

const char *describe_brief(const struct sight *s, int64_t ago, char *buf,
			   size_t size)
{
	char name[300], others[40], kind[200], held[32] = "", left[64];
	int64_t age = wall_seconds() - s->since;

	if (s->lost || s->guarded)
		return why_free(s, ago, buf, size);
	if (s->since > 0 && age >= 0)
		(void)format_seconds(age * 1000, held, sizeof(held));
	(void)snprintf(
		buf, size, "%s%s%s%s%s%s%s%s%s%s%s%s%s",
		is_kept(s) ? "kept (--min-hold) by " : "",
		name_of(s, name, sizeof(name)),
		others_of(s, others, sizeof(others)),
		s->about[ABOUT_COMMAND][0] ? " " : "", s->about[ABOUT_COMMAND],
		kind_of(s, kind, sizeof(kind)), held[0] ? ", " : "", held,
		lease_left(s, ago, left, sizeof(left)),
		s->about[ABOUT_REASON][0] ? ", " : "", s->about[ABOUT_REASON],
		s->about[ABOUT_CI][0] ? ", " : "", s->about[ABOUT_CI]);
	return buf;
}

/* With only the token in the environment, we cannot join that hold. */
static bool is_own(const struct client *d)
{
	return d->own && strcmp(d->own, d->sight.token) == 0;
}

const char *describe_remedy(const struct client *d, char buf[160])
{
	if (!is_own(d))
		return describe_next(d->shown_key, buf);
	(void)snprintf(buf, 160,
		       "; that is our own REDLOCK_TOKEN: unlock it first, or "
		       "take it with 'lock --export', which is joined");
	return buf;
}

const char *describe_next(const char *key, char buf[160])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:@%+,-";
	bool quoted = key[0] == '\0' || key[strspn(key, plain)] != '\0';

	buf[0] = '\0';
	if (strlen(key) < 100 && !strchr(key, '\'') && key[0] != '-')
		(void)snprintf(buf, 160, "; see: redlock inspect %s%s%s",
			       quoted ? "'" : "", key, quoted ? "'" : "");
	return buf;
}

const char *describe_waiting(int64_t took_ms, int64_t limit_ms, char buf[80])
{
	char took[32], limit[32];

	(void)format_seconds(took_ms, took, sizeof(took));
	if (limit_ms == INT64_MAX)
		(void)snprintf(buf, 80, "waiting %s", took);
	else
		(void)snprintf(buf, 80, "waiting %s of %s", took,
			       format_limit(limit_ms, limit, sizeof(limit)));
	return buf;
}

const char *describe_begun(int64_t took_ms, int64_t limit_ms, char buf[80])
{
	char took[32] = "", limit[32] = "";

	if (took_ms > 0)
		(void)format_seconds(took_ms, took, sizeof(took));
	if (limit_ms != INT64_MAX)
		(void)format_limit(limit_ms, limit, sizeof(limit));
	(void)snprintf(buf, 80, "%swaiting%s%s%s%s",
		       took_ms > 0 ? "still " : "", took[0] ? " after " : "",
		       took,
		       limit[0] == '\0' ? ""
		       : took[0]        ? " of "
					: " up to ",
		       limit);
	return buf;
}

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

/* ---- for programs ---- */

char *describe_members(const struct client *d, int place)
{
	const struct sight *s = &d->sight;
	char *text = NULL;
	size_t n = 0;
	struct json j = {open_memstream(&text, &n), true};

	if (!j.f)
		return NULL;
	if (place >= 0)
		json_number(&j, "place", place + 1);
	json_about(&j, "holder", s->about);
	json_text(&j, "token", s->token);
	if (s->since > 0)
		json_time(&j, "since", s->since * 1000);
	json_left(&j, "ttl_left_ms", left_of(s, between(d->sight_at, now())));
	(void)fclose(j.f);
	return text;
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
		  describe_remedy(d, next));
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
			text, sizeof(text), "%s%s%.40s%s: %s%s", how,
			w->locks->n > 1 ? " for " : "",
			w->locks->n > 1 ? d->shown_key : "", in_line,
			is_own(d) ? "our own REDLOCK_TOKEN, " : "",
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
