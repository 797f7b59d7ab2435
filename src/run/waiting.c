/* SPDX-License-Identifier: MIT */
/* What a person sees of the waiting. */
#include "run/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "lock/record.h"

#define TELL_MS 100          /* shorter waits are nobody's business */
#define TELL_SILENCE_MS 1000 /* nor is a server that comes back at once */
#define TELL_GRANT_MS 1000
#define DRAW_MS 1000

static const char *name_of(const struct sight *s)
{
	if (s->lost)
		return "nobody any more, but the server lost data: whoever had "
		       "it may not know yet";
	if (s->guarded)
		return "nobody, but a server was started a moment ago and may "
		       "have forgotten who (--restart-guard)";
	if (!s->seen)
		return "an unknown holder";
	if (s->foreign)
		return "another program";
	if (s->about[ABOUT_HOST][0] == '\0')
		return "a holder that does not say who it is";
	return s->about[ABOUT_HOST];
}

/* What else is known of it, or "". */
static const char *details_of(const struct sight *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->type[0] != '\0')
		(void)snprintf(buf, size, "its lock is a %s", s->type);
	else if (s->foreign)
		(void)snprintf(buf, size, "token %s", s->token);
	else if (s->about[ABOUT_HOST][0] != '\0')
		(void)snprintf(buf, size, "pid %s, user %s%s%s%s%s",
			       s->about[ABOUT_PID], s->about[ABOUT_USER],
			       s->about[ABOUT_COMMAND][0] ? ", " : "",
			       s->about[ABOUT_COMMAND],
			       s->about[ABOUT_REASON][0] ? ": " : "",
			       s->about[ABOUT_REASON]);
	return buf;
}

/* Of the lease, as long after it was seen; -1: it has no expiry. */
static int64_t left_of(const struct sight *s, int64_t ago)
{
	if (s->pttl_ms < 0)
		return -1;
	return s->pttl_ms > ago ? s->pttl_ms - ago : 0;
}

/* " for 3m, lease left 20s" */
static const char *times_of(const struct sight *s, int64_t ago, char *buf,
			    size_t size)
{
	char held[32] = "", left[32] = "without expiry";
	int64_t age = wall_seconds() - s->since, ms = left_of(s, ago);

	buf[0] = '\0';
	if (s->guarded)
		(void)snprintf(buf, size, "; %s more",
			       format_seconds(ms + 999, left, sizeof(left)));
	if (!s->seen)
		return buf;
	if (s->since > 0 && age >= 0)
		(void)format_seconds(age * 1000, held, sizeof(held));
	if (ms >= 0)
		(void)format_duration(ms, left, sizeof(left));
	(void)snprintf(buf, size, "%s%s, %s%s", held[0] ? " for " : "", held,
		       ms < 0 ? "" : "lease left ", left);
	return buf;
}

/* " and 2 other readers" */
static const char *others_of(const struct sight *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->readers == 1)
		(void)snprintf(buf, size, ", reading,");
	else if (s->readers > 1)
		(void)snprintf(buf, size, " and %d other reader%s",
			       s->readers - 1, s->readers > 2 ? "s" : "");
	return buf;
}

const char *describe_name(const struct sight *s, char *buf, size_t size)
{
	char more[640], others[40];

	(void)details_of(s, more, sizeof(more));
	(void)snprintf(buf, size, "%s%s%s%s%s", name_of(s),
		       more[0] == '\0' ? ""
		       : s->foreign    ? ", "
				       : " (",
		       more, more[0] == '\0' || s->foreign ? "" : ")",
		       others_of(s, others, sizeof(others)));
	return buf;
}

const char *describe_asker(const struct sight *s, char *buf, size_t size)
{
	if (s->about[ABOUT_HOST][0] != '\0')
		return describe_name(s, buf, size);
	(void)snprintf(buf, size, "somebody");
	return buf;
}

const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size)
{
	char name[760], times[96];

	(void)snprintf(buf, size, "%s%s", describe_name(s, name, sizeof(name)),
		       times_of(s, ago, times, sizeof(times)));
	return buf;
}

/* Of several locks, the one that is waited for. */
static struct drive *drive_of(const struct waiting *w)
{
	return &w->locks->drive[w->locks->lead];
}

static const struct lease *lease_of(const struct waiting *w)
{
	return &drive_of(w)->lease;
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
	return between(drive_of(w)->sight_at, now());
}

/* ---- for programs ---- */

/* The caller's to free; NULL: no memory. */
static char *members(const struct waiting *w)
{
	const struct sight *s = &drive_of(w)->sight;
	int place = lease_place(lease_of(w));
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
	json_left(&j, "ttl_left_ms", left_of(s, sight_age(w)));
	(void)fclose(j.f);
	return text;
}

/* ---- telling ---- */

static void tell_holder(struct waiting *w)
{
	char who[860], in_line[32] = "";
	char *more = log_is_json() ? members(w) : NULL;
	int place = lease_place(lease_of(w));

	if (place >= 0)
		(void)snprintf(in_line, sizeof(in_line), "; place %d in line",
			       place + 1);
	log_event("waiting", more ? more : "", "%swaiting%s%s: %sheld by %s%s",
		  w->told == TOLD_SILENCE ? "the server answers again; " : "",
		  w->locks->n > 1 ? " for " : "",
		  w->locks->n > 1 ? drive_of(w)->shown_key : "",
		  lease_of(w)->conf.slots > 1 ? "every slot is taken, one "
					      : "",
		  describe_holder(&drive_of(w)->sight, sight_age(w), who,
				  sizeof(who)),
		  in_line);
	free(more);
	w->told = TOLD_HOLDER;
}

static void tell_silence(struct waiting *w)
{
	log_notice("silence", "waiting: %s", drive_why(drive_of(w))->text);
	w->told = TOLD_SILENCE;
}

/* What matters most comes first: a terminal of 80 columns cuts the rest. */
static void draw(struct waiting *w)
{
	const struct sight *s = &drive_of(w)->sight;
	char text[1000], took[32], more[640], times[96], in_line[80] = "";
	char others[40];
	struct instant at = now();
	int place = lease_place(lease_of(w));

	w->drawn = at;
	(void)format_seconds(between(w->began, at), took, sizeof(took));
	(void)details_of(s, more, sizeof(more));
	if (place >= 0)
		(void)snprintf(in_line, sizeof(in_line), "place %d%s%.40s, ",
			       place + 1, w->locks->n > 1 ? " for " : "",
			       w->locks->n > 1 ? drive_of(w)->shown_key : "");
	if (w->silent.ms != NEVER.ms)
		(void)snprintf(text, sizeof(text), "waiting, %s: %s", took,
			       drive_why(drive_of(w))->text);
	else if (s->seen || s->lost || s->guarded)
		(void)snprintf(text, sizeof(text), "%s%s: held by %s%s%s%s%s%s",
			       in_line, took, name_of(s),
			       others_of(s, others, sizeof(others)),
			       times_of(s, sight_age(w), times, sizeof(times)),
			       more[0] ? " (" : "", more, more[0] ? ")" : "");
	else
		(void)snprintf(text, sizeof(text), "%s: no answer yet from %s",
			       took, drive_of(w)->peer[0].ep->name);
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
	if (w->silent.ms == NEVER.ms && w->told != TOLD_HOLDER &&
	    (drive_of(w)->sight.seen || drive_of(w)->sight.lost ||
	     drive_of(w)->sight.guarded) &&
	    !before(at, after(w->began, TELL_MS)))
		tell_holder(w);
	if (w->silent.ms != NEVER.ms && w->told != TOLD_SILENCE &&
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
	return NEVER;
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

	waiting_hide();
	if (!ours || log_is_live() ||
	    (!log_is_json() &&
	     (w->told == TOLD_NOTHING || waited_ms < TELL_GRANT_MS)))
		return;
	(void)snprintf(more, sizeof(more), ",\"waited_ms\":%lld,\"fence\":%lld",
		       (long long)waited_ms, (long long)lease_of(w)->fence);
	log_event("acquired", more, "got it after %s",
		  format_duration(waited_ms, took, sizeof(took)));
}
