/* SPDX-License-Identifier: MIT */
/* Replies as answers. */
#include "lock/wire/answer.h"

#include <limits.h>
#include <string.h>

#include "base/ident.h"
#include "base/units.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"
#include "lock/wire/request.h"

/* If the set of those who share a lock has a wrong end, a client must not carry
 * it past a loss of data for long. */
#define LONGEST_MS INT64_C(2592000000) /* a month */
#define PLACE_MOST (INT_MAX - 1)       /* as the server counts, from 0 */

static int misread(const struct words *w, struct fail *why)
{
	return request_misread(w->n > 0 ? w->at[0] : "",
			       w->n > 0 ? w->len[0] : 0, why);
}

static bool word_is(const struct words *w, int i, const char *text)
{
	return i < w->n && w->len[i] == strlen(text) &&
	       memcmp(w->at[i], text, w->len[i]) == 0;
}

/* A missing or malformed number counts as -1. */
static int64_t word_number(const struct words *w, int i)
{
	return i < w->n ? record_number(w->at[i], w->len[i]) : -1;
}

static int64_t word_ms(const struct words *w, int i)
{
	return at_most(word_number(w, i), AGES_MS);
}

/* `none` if the word is missing. */
static int64_t word_ms_or(const struct words *w, int i, int64_t none)
{
	return i < w->n ? word_ms(w, i) : none;
}

/* Returns 0 if the word is empty or missing. */
static uint64_t hash_of(const struct words *w, int i)
{
	return i < w->n && w->len[i] > 0 ? hash_bytes(w->at[i], w->len[i]) : 0;
}

static bool word_ends(const struct words *w, int i, const char *text)
{
	size_t n = strlen(text);

	return i < w->n && w->len[i] >= n &&
	       memcmp(w->at[i] + w->len[i] - n, text, n) == 0;
}

static void word_text(const struct words *w, int i, char *buf, size_t size)
{
	(void)format_bytes(w->at[i], w->len[i], buf, size);
}

/* Lines about a client; none if the word is missing. */
static void word_about(const struct words *w, int i, struct sight *s)
{
	struct record r;

	record_read(&r, i < w->n ? w->at[i] : "", i < w->n ? w->len[i] : 0);
	s->since = r.since_ms / 1000;
	s->replaces = r.replaces;
	s->end = r.end;
	memcpy(s->about, r.about, sizeof(s->about));
}

/* The identity of the holder: "TTL SLOTS FLAGS\nABOUT". */
static void read_holder(const struct words *w, struct busy *out,
			struct sight *s)
{
	struct record r;

	(void)record_read_identity(&r, w->at[14], w->len[14]);
	out->holder = hash_of(w, 9);
	out->holder_ttl_ms = word_number(w, 11) > 0 ? word_ms(w, 11) : 0;
	out->holder_ticket = r.ticket;
	s->since = word_ms(w, 13) / 1000;
	s->readers = r.reads ? (int)at_most(word_number(w, 10), PLACE_MOST) : 0;
	memcpy(s->about, r.about, sizeof(s->about));
}

static int read_busy(const struct words *w, struct answer *out, struct sight *s,
		     struct fail *why)
{
	struct busy *b = &out->busy;
	bool held = w->len[9] > 0;

	b->pttl_ms = word_ms(w, 2);
	b->place = (int)at_most(word_number(w, 5), PLACE_MOST) + 1;
	b->ticket = word_number(w, 6);
	b->age_ms = -1;
	out->longest_ms = at_most(word_ms(w, 7), LONGEST_MS);
	if (!held && w->len[3] == 0) {
		out->said = word_is(w, 8, "young")  ? SAID_GUARDED
			    : word_is(w, 8, "lost") ? SAID_LOSS
						    : SAID_BUSY;
		if (out->said == SAID_BUSY) {
			*s = (struct sight){.seen = false};
			b->pttl_ms = b->pttl_ms > 0 ? b->pttl_ms : -1;
		}
		return 0;
	}
	*s = (struct sight){.seen = true, .pttl_ms = b->pttl_ms};
	s->foreign = b->foreign = !held;
	s->kept = word_is(w, 8, "kept");
	word_text(w, 3, s->token, sizeof(s->token));
	if (held) {
		read_holder(w, b, s);
		if (word_number(w, 13) > 0)
			b->age_ms = word_ms(w, 15);
		return 0;
	}
	b->holder = hash_of(w, 3);
	if (w->len[4] > 0 && !word_is(w, 4, "string")) {
		word_text(w, 4, s->type, sizeof(s->type));
		s->token[0] = '\0';
	}
	if (s->type[0] != '\0' && s->pttl_ms < 0)
		return fail(why, FAIL_CONFIG,
			    "the key holds a %s without expiry, not a lock; "
			    "choose another key",
			    s->type);
	return 0;
}

/* Reads the request to stop, if the word at `at` has its time in ms. */
static void read_stop(const struct words *w, int at, struct answer *out,
		      struct sight *s)
{
	int64_t ms = word_ms_or(w, at, -1);

	if (ms < 0)
		return;
	out->stops = true;
	out->stop_ms = ms;
	*s = (struct sight){.seen = true, .pttl_ms = -1};
	word_about(w, at + 1, s);
}

static int read_granted(const struct words *w, struct answer *out,
			struct sight *s, struct fail *why)
{
	out->granted.fence = word_number(w, 2);
	out->at_ms = word_ms(w, 3);
	out->longest_ms = at_most(word_ms(w, 4), LONGEST_MS);
	out->granted.slot =
		w->n > 5 ? (int)at_most(word_number(w, 5), SLOTS_MAX) : 0;
	read_stop(w, 6, out, s);
	out->granted.server = hash_of(w, 8);
	out->granted.in_cluster = word_ends(w, 8, " cluster");
	out->granted.is_active = word_ends(w, 8, " active");
	if (out->granted.slot < 0 || out->granted.slot >= SLOTS_MAX ||
	    out->granted.fence < 0)
		return misread(w, why);
	return 0;
}

static int read_renewed(const struct words *w, struct answer *out,
			struct sight *s, struct fail *why)
{
	(void)why;
	out->confirm.pttl_ms = word_ms(w, 2);
	out->at_ms = word_ms(w, 3);
	out->longest_ms = at_most(word_ms(w, 4), LONGEST_MS);
	out->confirm.raised = word_is(w, 5, "1");
	read_stop(w, 6, out, s);
	return 0;
}

static int read_not_ours(const struct words *w, struct answer *out,
			 struct sight *s, struct fail *why)
{
	(void)why;
	out->confirm.pttl_ms = word_ms(w, 2);
	out->confirm.unlocked = word_is(w, 3, "1");
	read_stop(w, 4, out, s);
	return 0;
}

static int read_released(const struct words *w, struct answer *out,
			 struct sight *s, struct fail *why)
{
	(void)s, (void)why;
	out->handed_ms = word_ms_or(w, 2, 0);
	return 0;
}

static int read_full(const struct words *w, struct answer *out, struct sight *s,
		     struct fail *why)
{
	(void)s, (void)why;
	out->busy.pttl_ms = word_ms(w, 2);
	return 0;
}

/* Another client was before us: who. */
static int read_other(const struct words *w, struct answer *out,
		      struct sight *s, struct fail *why)
{
	if (out->said == SAID_OLDER)
		out->busy.revision = word_number(w, 2);
	if (out->busy.revision < 0)
		return misread(w, why);
	if (out->said == SAID_DONE)
		out->busy.pttl_ms = word_ms(w, 2);
	*s = (struct sight){.seen = true, .pttl_ms = out->busy.pttl_ms};
	word_about(w, out->said == SAID_SUPERSEDED ? 2 : 3, s);
	return 0;
}

/* By the question: its answers, each with its least number of words, and what
 * reads those behind the counter. */
static const struct form {
	enum verb verb;
	const char *word;
	enum said said;
	int words;
	int (*rest)(const struct words *w, struct answer *out, struct sight *s,
		    struct fail *why);
} forms[] = {
	{VERB_ACQUIRE, "granted", SAID_GRANTED, 5, read_granted},
	{VERB_ACQUIRE, "busy", SAID_BUSY, 16, read_busy},
	{VERB_ACQUIRE, "full", SAID_FULL, 3, read_full},
	{VERB_ACQUIRE, "superseded", SAID_SUPERSEDED, 3, read_other},
	{VERB_ACQUIRE, "done", SAID_DONE, 4, read_other},
	{VERB_ACQUIRE, "older", SAID_OLDER, 4, read_other},
	{VERB_ACQUIRE, "inside", SAID_INSIDE, 2, NULL},
	{VERB_ACQUIRE, "vanished", SAID_VANISHED, 2, NULL},
	{VERB_ACQUIRE, "no", SAID_NO, 2, NULL},
	{VERB_CONFIRM, "yes", SAID_YES, 5, read_renewed},
	{VERB_CONFIRM, "healed", SAID_HEALED, 5, read_renewed},
	{VERB_CONFIRM, "no", SAID_NO, 6, read_not_ours},
	{VERB_RELEASE, "yes", SAID_YES, 2, read_released},
	{VERB_RELEASE, "no", SAID_NO, 2, NULL},
};

int answer_read(enum verb verb, const struct words *w, struct answer *out,
		struct sight *sight, struct fail *why)
{
	/* the list's name and the word, or nil */
	*out = (struct answer){.said = w->n == 2 ? SAID_WOKEN : SAID_QUIET};
	if (verb == VERB_LISTEN)
		return 0;
	if (verb == VERB_REPLICATE) {
		*out = (struct answer){.said = SAID_YES,
				       .counter = word_number(w, 0)};
		return out->counter >= 0 ? 0 : misread(w, why);
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];

		if (f->verb != verb || !word_is(w, 0, f->word) ||
		    w->n < f->words)
			continue;
		*out = (struct answer){.said = f->said,
				       .counter = word_number(w, 1)};
		if (out->counter < 0)
			break;
		return f->rest ? f->rest(w, out, sight, why) : 0;
	}
	return misread(w, why);
}
