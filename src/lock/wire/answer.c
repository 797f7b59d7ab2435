/* SPDX-License-Identifier: MIT */
/* Replies as answers. */
#include "lock/wire/answer.h"

#include <limits.h>
#include <string.h>

#include "base/ident.h"
#include "base/units.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"

/* If the set of those who share a lock has a wrong end, a client must not carry
 * it past a loss of data for long. */
#define LONGEST_MS INT64_C(2592000000) /* a month */
#define PLACE_MOST (INT_MAX - 1)       /* as the server counts, from 0 */

#define NOT_OURS "unexpected reply from redlock's script"

static bool word_is(const struct words *w, int i, const char *text)
{
	return i < w->n && w->len[i] == strlen(text) &&
	       memcmp(w->at[i], text, w->len[i]) == 0;
}

/* A missing or malformed number counts as -1. */
static int64_t word_number(const struct words *w, int i)
{
	char text[24];

	if (i >= w->n || w->len[i] >= sizeof(text))
		return -1;
	memcpy(text, w->at[i], w->len[i]);
	text[w->len[i]] = '\0';
	if (strlen(text) != w->len[i])
		return -1;
	return parse_number(text, 0, INT64_MAX / 2);
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

/* An empty one if the word is missing. */
static void word_record(const struct words *w, int i, struct record *out)
{
	record_read(out, i < w->n ? w->at[i] : "", i < w->n ? w->len[i] : 0);
}

/* The record counts only if its token is the lock's value. */
static bool read_record(const struct words *w, int at, struct words *value,
			struct busy *out, struct sight *s)
{
	struct record r;

	word_record(w, at, &r);
	memcpy(s->about, r.about, sizeof(s->about));
	if (!r.token || r.token_len != value->len[0] ||
	    memcmp(r.token, value->at[0], r.token_len) != 0)
		return false;
	s->since = r.since_ms / 1000;
	s->readers = r.readers;
	out->holder_ttl_ms = r.ttl_ms;
	out->holder_ticket = r.ticket;
	return true;
}

static void read_busy(const struct words *w, struct busy *out, struct sight *s)
{
	struct words value = {0};
	struct sight seen = {.seen = true, .pttl_ms = out->pttl_ms};

	out->holder = hash_of(w, 3);
	out->age_ms = word_ms_or(w, 8, -1);
	words_add(&value, w->at[3], w->len[3]);
	word_text(w, 3, seen.token, sizeof(seen.token));
	seen.foreign = out->foreign = !read_record(w, 4, &value, out, &seen);
	if (seen.foreign)
		memset(seen.about, 0, sizeof(seen.about));
	*s = seen;
}

static int read_type(const struct words *w, struct busy *out, struct sight *s,
		     struct fail *why)
{
	*s = (struct sight){
		.seen = true, .foreign = true, .pttl_ms = out->pttl_ms};
	out->foreign = true;
	word_text(w, 3, s->type, sizeof(s->type));
	if (s->pttl_ms < 0)
		return fail(why, FAIL_CONFIG,
			    "the key holds a %s without expiry, not a lock; "
			    "choose another key",
			    s->type);
	return 0;
}

/* Reads who asks us to stop, if the word at `at` says in how many ms. */
static void read_stop(const struct words *w, int at, struct answer *out,
		      struct sight *s)
{
	int64_t ms = word_ms_or(w, at, -1);
	struct record by;

	if (ms < 0)
		return;
	out->stops = true;
	out->stop_ms = ms;
	word_record(w, at + 1, &by);
	*s = (struct sight){.seen = true, .pttl_ms = -1};
	memcpy(s->about, by.about, sizeof(s->about));
}

static int read_granted(const struct words *w, struct answer *out,
			struct sight *s, struct fail *why)
{
	out->lost = word_is(w, 2, "1");
	out->granted.slot = (int)at_most(word_number(w, 3), SLOTS_MAX);
	out->group = word_number(w, 4);
	out->granted.server = hash_of(w, 5);
	out->granted.in_cluster = word_ends(w, 5, " cluster");
	out->granted.is_active = word_ends(w, 5, " active");
	out->at_ms = word_ms_or(w, 6, 0);
	if (out->granted.slot < 0 || out->granted.slot >= SLOTS_MAX ||
	    out->group < 0)
		return fail(why, FAIL_UNAVAILABLE, NOT_OURS);
	read_stop(w, 7, out, s);
	out->longest_ms = at_most(word_ms_or(w, 9, 0), LONGEST_MS);
	return 0;
}

static int read_confirmed(const struct words *w, struct answer *out,
			  struct sight *s, struct fail *why)
{
	out->confirm.pttl_ms = word_ms(w, 2);
	if (out->said == SAID_NO) {
		read_stop(w, 3, out, s);
		out->confirm.unlocked = word_is(w, 5, "1");
		return 0;
	}
	out->confirm.joined = word_is(w, 3, "1");
	out->confirm.raised = word_is(w, 4, "1");
	out->at_ms = word_ms_or(w, 5, 0);
	read_stop(w, 6, out, s);
	out->group = w->n > 8 ? word_number(w, 8) : 0;
	out->longest_ms = at_most(word_ms_or(w, 9, 0), LONGEST_MS);
	return out->group >= 0 ? 0 : fail(why, FAIL_UNAVAILABLE, NOT_OURS);
}

/* Why it was not granted. */
static int read_refusal(const struct words *w, struct answer *out,
			struct sight *s, struct fail *why)
{
	struct words no_value = {0}; /* such a record has no token */

	out->busy.pttl_ms = word_ms(w, 2);
	if (out->said == SAID_BUSY || out->said == SAID_LOSS ||
	    out->said == SAID_GUARDED) {
		out->busy.place =
			(int)at_most(word_number(w, 5), PLACE_MOST) + 1;
		out->busy.ticket = word_number(w, 6);
		out->lost = word_is(w, 7, "1");
	}
	if (word_is(w, 0, "type"))
		return read_type(w, &out->busy, s, why);
	if (out->said == SAID_BUSY)
		read_busy(w, &out->busy, s);
	if (out->said == SAID_SUPERSEDED || out->said == SAID_DONE) {
		*s = (struct sight){.seen = true, .pttl_ms = out->busy.pttl_ms};
		words_add_text(&no_value, "");
		(void)read_record(w, 4, &no_value, &out->busy, s);
	}
	return 0;
}

/* What follows the counter depends on the answer and, after a yes or a no, on
 * the question. */
static int read_rest(enum verb verb, const struct words *w, struct answer *out,
		     struct sight *s, struct fail *why)
{
	bool yes = out->said == SAID_YES || out->said == SAID_HEALED;

	if (out->said == SAID_GRANTED)
		return read_granted(w, out, s, why);
	if (!yes && (out->said != SAID_NO || verb == VERB_ACQUIRE))
		return read_refusal(w, out, s, why);
	if (verb != VERB_RELEASE)
		return read_confirmed(w, out, s, why);
	out->handed_ms = yes ? word_ms_or(w, 2, 0) : 0;
	return 0;
}

static int listen_answer(const struct words *reply, struct answer *out)
{
	/* the list's name and the word, or nil */
	*out = (struct answer){.said = reply->n == 2 ? SAID_WOKEN : SAID_QUIET};
	return 0;
}

int answer_read(enum verb verb, const struct words *reply, struct answer *out,
		struct sight *sight, struct fail *why)
{
	static const struct {
		const char *word;
		enum said said;
		int words;
	} forms[] = {
		{"granted", SAID_GRANTED, 5},
		{"joined", SAID_GRANTED, 5},
		{"inside", SAID_INSIDE, 2},
		{"vanished", SAID_VANISHED, 2},
		{"busy", SAID_BUSY, 8},
		{"type", SAID_BUSY, 8},
		{"loss", SAID_LOSS, 8},
		{"guarded", SAID_GUARDED, 8},
		{"full", SAID_FULL, 3},
		{"superseded", SAID_SUPERSEDED, 5},
		{"done", SAID_DONE, 5},
		{"yes", SAID_YES, 2},
		{"healed", SAID_HEALED, 2},
		{"no", SAID_NO, 2},
	};

	if (verb == VERB_LISTEN)
		return listen_answer(reply, out);
	if (verb == VERB_REPLICATE) {
		*out = (struct answer){.said = SAID_YES,
				       .counter = word_number(reply, 0)};
		return out->counter >= 0
			       ? 0
			       : fail(why, FAIL_UNAVAILABLE, NOT_OURS);
	}
	if (word_is(reply, 0, "fence"))
		return fail(why, FAIL_CONFIG,
			    "the lock's fence counter is not a number; delete "
			    "it to start again");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!word_is(reply, 0, forms[i].word) ||
		    reply->n < forms[i].words)
			continue;
		*out = (struct answer){.said = forms[i].said,
				       .counter = word_number(reply, 1)};
		if (out->counter < 0)
			break;
		return read_rest(verb, reply, out, sight, why);
	}
	return fail(why, FAIL_UNAVAILABLE, NOT_OURS);
}
