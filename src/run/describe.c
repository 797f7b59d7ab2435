/* SPDX-License-Identifier: MIT */
/* A holder, and a wait, in words. */
#include "run/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "proc/process.h"
#include "base/units.h"
#include "lock/wire/record.h"

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

/* The rest of the lease `ago` ms after it was seen; -1: no expiry. */
static int64_t left_of(const struct sight *s, int64_t ago)
{
	if (s->pttl_ms < 0)
		return -1;
	return s->pttl_ms > ago ? s->pttl_ms - ago : 0;
}

/* ", lease left 20s", for a holder of whom nothing else is known. */
static const char *lease_left(const struct sight *s, int64_t ago, char *buf,
			      size_t size)
{
	int64_t ms = left_of(s, ago);
	char left[32];

	buf[0] = '\0';
	if (!s->seen ||
	    (ms >= 0 && s->about[ABOUT_HOST][0] != '\0' && !s->kept))
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

static bool is_free(const struct sight *s)
{
	return s->lost || s->guarded || s->vanished;
}

/* Nobody has it, but it cannot be taken yet. */
static const char *why_free(const struct sight *s, int64_t ago, char *buf,
			    size_t size)
{
	char left[32];

	if (s->vanished)
		(void)snprintf(buf, size,
			       "the hold of the run around this one "
			       "(REDLOCK_HELD) has vanished from the server; "
			       "if its holder lives, it sets it again");
	else if (s->lost)
		(void)snprintf(buf, size,
			       "the server lost data, and its last holder may "
			       "not know yet; free in %s",
			       format_seconds(left_of(s, ago) + 999, left,
					      sizeof(left)));
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

	if (is_free(s))
		return why_free(s, ago, buf, size);
	(void)snprintf(
		buf, size, "%s by %s%s%s%s%s%s%s%s%s%s%s",
		s->kept ? "kept (--min-hold)" : "held",
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

	if (is_free(s))
		return why_free(s, ago, buf, size);
	if (s->since > 0 && age >= 0)
		(void)format_seconds(age * 1000, held, sizeof(held));
	(void)snprintf(
		buf, size, "%s%s%s by %s%s%s%s%s%s%s%s%s%s",
		s->kept ? "kept (--min-hold)" : "held", held[0] ? " " : "",
		held, name_of(s, name, sizeof(name)),
		others_of(s, others, sizeof(others)),
		kind_of(s, kind, sizeof(kind)),
		lease_left(s, ago, left, sizeof(left)),
		s->about[ABOUT_COMMAND][0] ? ", " : "", s->about[ABOUT_COMMAND],
		s->about[ABOUT_REASON][0] ? ": " : "", s->about[ABOUT_REASON],
		s->about[ABOUT_CI][0] ? ", " : "", s->about[ABOUT_CI]);
	return buf;
}

/* With only the token in the environment, we cannot join that hold. With all of
 * it, we ask to join again. A slot may become free while we hold another. */
bool describe_is_own(const struct client *d)
{
	return d->own && d->lease.conf.outer.token[0] == '\0' &&
	       d->lease.conf.slots <= 1 && d->sight.seen &&
	       strcmp(d->own, d->sight.token) == 0;
}

bool describe_is_around(const struct client *d)
{
	return d->lease.conf.outer.token[0] == '\0' &&
	       d->lease.conf.slots <= 1 && d->sight.seen &&
	       process_is_ancestor(d->sight.about[ABOUT_PROCESS]);
}

const char *describe_command(const char *before, const char *verb,
			     const char *key, const char *after,
			     char buf[COMMAND_MAX])
{
	char word[120];

	buf[0] = '\0';
	if (key[0] != '-' && format_word(key, word, sizeof(word)))
		(void)snprintf(buf, COMMAND_MAX, "%sredlock %s %s%s", before,
			       verb, word, after);
	return buf;
}

const char *describe_next(const char *key, char buf[COMMAND_MAX])
{
	return describe_command("; see: ", "inspect", key, "", buf);
}

const char *describe_waiting(bool reached, int64_t took_ms, int64_t limit_ms,
			     char buf[80])
{
	const char *verb = reached ? "waiting" : "trying";
	char took[32], limit[32];

	(void)format_seconds(took_ms, took, sizeof(took));
	if (limit_ms == INT64_MAX)
		(void)snprintf(buf, 80, "%s %s", verb, took);
	else
		(void)snprintf(buf, 80, "%s %s of %s", verb, took,
			       format_limit(limit_ms, limit, sizeof(limit)));
	return buf;
}

const char *describe_place(const char *before, int place, const char *after,
			   char buf[40])
{
	static const char *const ends[] = {"th", "st", "nd", "rd"};
	int last = place % 10;

	buf[0] = '\0';
	if (last > 3 || place % 100 / 10 == 1)
		last = 0;
	if (place > 0)
		(void)snprintf(buf, 40, "%s%d%s in line%s", before, place,
			       ends[last], after);
	return buf;
}

bool describe_is_held(const struct sight *s)
{
	return s->seen && !is_free(s);
}

char *describe_members(const struct client *d, int place)
{
	const struct sight *s = &d->sight;
	char *text = NULL;
	size_t n = 0;
	struct json j = {open_memstream(&text, &n), true};

	if (!j.f)
		return NULL;
	if (place > 0)
		json_number(&j, "place", place);
	json_about(&j, "holder", s->about);
	json_text(&j, "token", s->token);
	if (s->since > 0)
		json_time(&j, "since", s->since * 1000);
	json_left(&j, "ttl_left_ms", left_of(s, between(d->sight_at, now())));
	(void)fclose(j.f);
	return text;
}
