/* SPDX-License-Identifier: MIT */
/* Finds locks that never expire, and what was not stored by redlock. */
#include "cli/doctor/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/render.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"

#define SCAN_LIMIT_MS 10000 /* of all servers together */
#define TOLD_MAX 20         /* findings on one server */
#define ASKED_MAX 200000
#define LEFT_MANY 10000 /* free locks are worth a note */
#define FENCE_MAX 9007199254740000
#define CURED_KEY_MAX 200
#define TYPED_MAX (4 * CURED_KEY_MAX + 6)

/* What is asked: of the keys that were named, in this order; of those that a
 * SCAN finds. */
enum subject {
	NAMED_TYPE,
	NAMED_TTL,
	FENCE_VALUE, /* of any lock */
	NAMED_RIGHTS,
	LOCK_TTL,
	WAITERS,
	SCAN_PAGE,
	SUBJECTS
};

/* One server, and what was seen there. */
struct keyspace {
	const struct facts *f;
	struct pages pages;
	int64_t locks, counters, histories;
	int told, odd;
	bool refused, cut, overlong, gone;
	const char *broken; /* what is wrong with its SCAN */
	/* of the key that was named last */
	bool type_refused;
	char type[32];
};

/* A question that was answered. */
struct probe {
	enum subject subject;
	struct keyspace *at;
	const char *key; /* the lock */
	size_t len;
};

struct keycheck {
	struct exam *e;
	struct fanout *fanout;
	struct keyspace *each; /* server */
	int asked;
	struct instant limit;
	bool failed; /* no memory */
};

/* ---- questions ---- */

/* They come back with the answer: see take_answer(). */
static int64_t tag_of(const struct keycheck *s, const struct keyspace *at,
		      enum subject subject)
{
	return (at - s->each) * SUBJECTS + subject;
}

static void ask_page(struct keycheck *s, struct keyspace *at)
{
	s->asked++;
	s->failed |= pages_ask(&at->pages, s->fanout, at->f->target,
			       KEYS_TRACES, tag_of(s, at, SCAN_PAGE)) < 0;
}

static void ask_about(struct keycheck *s, enum subject subject,
		      struct keyspace *at, int target, const char *key,
		      size_t len)
{
	struct words w = {0};
	struct keys k;
	char n[12];

	s->asked++;
	if (keys_init(&k, key, len, "token") < 0) {
		s->failed = true;
		return;
	}
	switch (subject) {
	case NAMED_TYPE:
		words_add_text(&w, "TYPE");
		words_add(&w, key, len);
		break;
	case NAMED_TTL:
	case LOCK_TTL:
		words_add_text(&w, "PTTL");
		words_add(&w, key, len);
		break;
	case FENCE_VALUE:
		words_add_text(&w, "HGET");
		words_add(&w, k.part[PART_STATE], k.part_len[PART_STATE]);
		words_add_text(&w, "fence");
		break;
	case WAITERS:
		words_add_text(&w, "ZRANGE");
		words_add(&w, k.part[PART_QUEUE], k.part_len[PART_QUEUE]);
		words_add_text(&w, "0");
		words_add_text(&w, "99");
		break;
	case NAMED_RIGHTS:
		/* whether this user may read and write the key and its
		 * companions, as a run must: a script that declares them and
		 * does nothing */
		(void)snprintf(n, sizeof(n), "%d", PART_COUNT + 1);
		words_add_text(&w, "EVAL");
		words_add_text(&w, "return 1");
		words_add_text(&w, n);
		words_add(&w, key, len);
		for (int i = 0; i < PART_COUNT; i++)
			words_add(&w, k.part[i], k.part_len[i]);
		break;
	case SCAN_PAGE:
	case SUBJECTS:
		break;
	}
	s->failed |=
		fanout_ask(s->fanout, target, &w, tag_of(s, at, subject)) < 0;
	keys_close(&k);
}

/* Asks each server of the list: a Cluster says itself where a key is. */
static void ask_named(struct keycheck *s, struct keyspace *at)
{
	const struct opts *o = s->e->o;

	for (int i = 0; i < o->keys; i++)
		for (enum subject k = NAMED_TYPE; k <= NAMED_RIGHTS; k++)
			ask_about(s, k, at, at->f->node, o->key[i],
				  strlen(o->key[i]));
}

/* ---- a page of names ---- */

static bool was_named(const struct keycheck *s, const char *key, size_t len)
{
	const struct opts *o = s->e->o;

	for (int i = 0; i < o->keys; i++)
		if (strlen(o->key[i]) == len &&
		    memcmp(o->key[i], key, len) == 0)
			return true;
	return false;
}

static void sort_out(struct keycheck *s, struct keyspace *at,
		     const struct reply *name)
{
	int target = at->f->target;
	struct key_read read;

	if (strlen(name->bytes) != name->len)
		return;
	switch (keys_read(name->bytes, name->len, &read)) {
	case PART_LOG:
		at->histories++;
		return;
	case PART_GRANT:
	case PART_NONE:
		return;
	case PART_QUEUE:
		ask_about(s, WAITERS, at, target, read.key, read.len);
		return;
	case PART_STATE:
		break;
	}
	if (was_named(s, read.key, read.len))
		return;
	at->counters++;
	ask_about(s, LOCK_TTL, at, target, read.key, read.len);
	ask_about(s, FENCE_VALUE, at, target, read.key, read.len);
}

static void take_page(struct keycheck *s, struct keyspace *at,
		      const struct reply *r)
{
	const struct reply *names;
	bool more;

	at->broken = pages_take(&at->pages, r, &names, &more);
	for (size_t i = 0; i < names->items && s->asked < ASKED_MAX; i++)
		sort_out(s, at, reply_item(names, i));
	at->cut |= s->asked >= ASKED_MAX;
	if (!more)
		return;
	at->cut |= !before(now(), s->limit) || at->told >= TOLD_MAX;
	if (!at->cut)
		ask_page(s, at);
}

/* ---- findings ---- */

/* The key as an operand in a shell; "KEY" if it cannot be typed, or is too
 * long. Returns buf. */
static const char *key_typed(const struct probe *p, char buf[TYPED_MAX])
{
	char key[CURED_KEY_MAX], shown[CURED_KEY_MAX];
	FILE *f = fmemopen(buf, TYPED_MAX, "w");

	(void)snprintf(key, sizeof(key), "%.*s", (int)p->len, p->key);
	(void)format_bytes(p->key, p->len, shown, sizeof(shown));
	if (f) {
		(void)fputs(key[0] == '-' ? "-k " : "", f);
		put_quoted(f, key);
		(void)fclose(f);
	}
	if (!f || p->len >= sizeof(key) || strcmp(shown, key) != 0)
		(void)snprintf(buf, TYPED_MAX, "KEY");
	return buf;
}

static void say(struct keycheck *s, const struct probe *p, enum level level,
		const char *text, const char *cure)
{
	char key[200];

	if ((level == WRONG && ++p->at->told > TOLD_MAX) ||
	    (level == NOTE && ++p->at->odd > TOLD_MAX))
		return;
	found(s->e, level, p->at->f->name, "keys", "%s: %s -> %s",
	      format_bytes(p->key, p->len, key, sizeof(key)), text, cure);
}

static void no_expiry(struct keycheck *s, const struct probe *p)
{
	char key[TYPED_MAX], cure[TYPED_MAX + 60];

	(void)snprintf(cure, sizeof(cure), "redlock force-release --foreign %s",
		       key_typed(p, key));
	say(s, p, WRONG, "no expiry: if its owner is gone, it stays forever",
	    cure);
}

static void take_type(struct keycheck *s, const struct probe *p,
		      const struct reply *r)
{
	char *type = p->at->type, text[160];
	char key[TYPED_MAX], cure[TYPED_MAX + 60];

	(void)format_bytes(r->bytes, r->len, type, sizeof(p->at->type));
	p->at->type_refused = false;
	if (strcmp(type, "none") == 0 || strcmp(type, "string") == 0)
		return;
	(void)snprintf(text, sizeof(text),
		       "it holds a %s, not a redlock lock: waiters wait until "
		       "it is gone",
		       type);
	(void)snprintf(cure, sizeof(cure),
		       "use another key, or redlock force-release --foreign %s",
		       key_typed(p, key));
	say(s, p, WRONG, text, cure);
}

static void take_named_ttl(struct keycheck *s, const struct probe *p,
			   const struct reply *r)
{
	int64_t ms = reply_number(r, UNKNOWN);
	char text[64], left[32];

	if (strcmp(r->bytes, "-2") == 0) {
		say(s, p, FINE, "free", "");
		return;
	}
	if (strcmp(p->at->type, "string") != 0)
		return; /* that is enough */
	if (ms < 0) {
		no_expiry(s, p);
		return;
	}
	(void)snprintf(text, sizeof(text), "held, %s left",
		       format_duration(ms, left, sizeof(left)));
	say(s, p, FINE, text, "");
}

static void take_ttl(struct keycheck *s, const struct probe *p,
		     const struct reply *r)
{
	if (strcmp(r->bytes, "-2") == 0)
		return;
	p->at->locks++;
	if (strcmp(r->bytes, "-1") == 0)
		no_expiry(s, p);
}

/* Not redlock's, as if data had been lost: see src/lua/counter.lua. A lock with
 * an expiry does no harm for long. */
static void take_odd(struct keycheck *s, const struct probe *p,
		     const struct got *got)
{
	const struct reply *r = got->reply; /* NULL: too long for one command */
	bool answered = r && got->why.kind == FAIL_NONE;
	bool other = r && !answered && strncmp(r->bytes, "WRONGTYPE", 9) == 0;
	const char *odd = NULL;
	struct record record;
	char text[100];

	if (p->subject == FENCE_VALUE) {
		if (other)
			odd = "its state is of another type";
		else if (answered && r->kind != REPLY_NIL &&
			 parse_number(r->bytes, 0, FENCE_MAX) < 0)
			odd = "its fence counter is not a number";
	} else if (other) {
		odd = "its line of waiters is of another type";
	}
	for (size_t i = 0; p->subject == WAITERS && answered && i < r->items;
	     i++) {
		const struct reply *member = reply_item(r, i);

		/* without a blank it is a sign of life: see src/lua/line.lua */
		if (memchr(member->bytes, ' ', member->len) &&
		    !record_read_member(&record, member->bytes, member->len))
			odd = "its line of waiters has entries that are not "
			      "redlock's";
	}
	if (!odd)
		return;
	(void)snprintf(text, sizeof(text), "%s; the next client mends that",
		       odd);
	say(s, p, NOTE, text, "");
}

static void take_refusal(struct keycheck *s, const struct probe *p,
			 const struct reply *r)
{
	char text[200], name[USER_TYPED_MAX], cure[USER_TYPED_MAX + 60] = "";

	if (p->subject == SCAN_PAGE) {
		p->at->refused = true;
		return;
	}
	(void)format_bytes(r->bytes, r->len, text, sizeof(text));
	if (p->subject == NAMED_TYPE)
		p->at->type_refused = true;
	/* (without a key, it is a command that is refused: another finding) */
	else if (p->subject != NAMED_RIGHTS || p->at->type_refused ||
		 strncmp(text, "NOPERM", 6) != 0 || !strstr(text, " key"))
		return;
	if (p->subject == NAMED_RIGHTS)
		(void)snprintf(text, sizeof(text),
			       "NOPERM: no right to read and write the key and "
			       "those that redlock keeps beside it");
	if (strncmp(text, "NOPERM", 6) == 0)
		(void)snprintf(
			cure, sizeof(cure),
			"ACL SETUSER %s, with the keys of the line below",
			user_typed(p->at->f, name));
	say(s, p, WRONG, text, cure);
}

/* The lock that was asked about. */
static void read_key(struct probe *p, const struct words *asked)
{
	int at = p->subject == NAMED_RIGHTS ? 3 : 1;
	struct key_read read;

	p->key = asked->at[at];
	p->len = asked->len[at];
	if (keys_read(p->key, p->len, &read) != PART_NONE &&
	    (p->subject == FENCE_VALUE || p->subject == WAITERS)) {
		p->key = read.key;
		p->len = read.len;
	}
}

static void take_answer(struct keycheck *s, const struct got *got)
{
	struct keyspace *at = &s->each[got->tag / SUBJECTS];
	struct probe p = {.subject = (enum subject)(got->tag % SUBJECTS),
			  .at = at};
	bool page = p.subject == SCAN_PAGE;

	if (!page)
		read_key(&p, got->asked);
	if (p.subject == FENCE_VALUE && (got->reply || got->overlong)) {
		take_odd(s, &p, got);
		return;
	}
	if (page && got->overlong && pages_shorten(&at->pages)) {
		ask_page(s, at);
		return;
	}
	at->overlong |= got->overlong && page;
	at->refused |= got->hung_up && page;
	at->gone |= !got->overlong && !got->hung_up && !got->reply;
	if (!got->reply)
		return;
	if (p.subject == WAITERS)
		take_odd(s, &p, got);
	else if (got->why.kind != FAIL_NONE)
		take_refusal(s, &p, got->reply);
	else if (page)
		take_page(s, at, got->reply);
	else if (p.subject == NAMED_TYPE)
		take_type(s, &p, got->reply);
	else if (p.subject == NAMED_TTL)
		take_named_ttl(s, &p, got->reply);
	else if (p.subject == LOCK_TTL)
		take_ttl(s, &p, got->reply);
}

/* ---- all ---- */

/* A lock that was used once leaves 1 kB, and 5 kB more if it was used again. */
static void count_left(struct keycheck *s, const struct keyspace *at)
{
	int64_t kb = at->counters + 5 * at->histories;

	if (at->counters - at->locks < LEFT_MANY)
		return;
	found(s->e, NOTE, at->f->name, "keys",
	      "%" PRId64 "%s free locks are remembered for 30 days after their "
	      "last use: about %" PRId64 " MB -> fewer names, or --no-history "
	      "for names that are used once (half a kB each)",
	      at->counters - at->locks, at->cut ? " or more" : "", kb / 1000);
}

static void sum_up(struct keycheck *s, const struct keyspace *at)
{
	bool silent = at->gone || at->f->shut, many = at->told >= TOLD_MAX;
	const char *text =
		silent         ? "not all were checked: it has fallen silent"
		: at->refused  ? "SCAN is refused: cannot look for locks "
				 "without expiry; name the keys: redlock doctor "
				 "KEY..."
		: many         ? "stopping here: there may be more"
		: at->broken   ? at->broken
		: at->overlong ? "its keys are too long: not all were checked"
		: at->cut      ? "too many keys: only the first were checked"
			       : NULL;

	count_left(s, at);
	if (text)
		found(s->e, silent || (many && !at->refused) ? WRONG : NOTE,
		      at->f->name, "keys", "%s", text);
	else if (at->told == 0 && at->odd == 0)
		found(s->e, FINE, at->f->name, "keys",
		      "%" PRId64 " held, %" PRId64
		      " fence counter%s, no problems",
		      at->locks, at->counters, at->counters == 1 ? "" : "s");
}

void check_keys(struct exam *e, struct query *query)
{
	struct keycheck s = {.e = e,
			     .fanout = &query->fanout,
			     .each = calloc((size_t)e->n + 1, sizeof(*s.each)),
			     .limit = after(now(), SCAN_LIMIT_MS)};
	unsigned int named = 0; /* on these nodes */
	struct got got;

	e->incomplete |= !s.each;
	if (!s.each)
		return;
	for (int i = 0; i < e->n; i++) {
		const struct facts *f = &e->facts[i];

		s.each[i].f = f;
		if (!f->answers || f->shut)
			continue;
		if (!(named & 1U << f->node))
			ask_named(&s, &s.each[i]);
		named |= 1U << f->node;
		ask_page(&s, &s.each[i]);
	}
	while (fanout_get(&query->fanout, &got))
		take_answer(&s, &got);
	for (int i = 0; !s.failed && i < e->n; i++)
		if (e->facts[i].answers)
			sum_up(&s, &s.each[i]);
	e->incomplete |= s.failed;
	free(s.each);
}
