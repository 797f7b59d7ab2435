/* SPDX-License-Identifier: MIT */
/* Finds locks that never expire, and what was not stored by redlock. */
#include "cli/doctor/doctor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/render.h"
#include "lock/wire/keys.h"
#include "lock/wire/record.h"

#define SCAN_COUNT "1000"
#define SCAN_LIMIT_MS 10000 /* of all servers together */
#define TOLD_MAX 20         /* findings on one server */
#define PROBES_MAX 200000
#define LEFT_MANY 10000 /* free locks are worth a note */
#define FENCE_MAX 9007199254740000
#define CURED_KEY_MAX 200
#define TYPED_MAX (4 * CURED_KEY_MAX + 6)

enum subject {
	SCAN_PAGE,
	LOCK_TTL, /* of a lock with a record */
	FENCE_VALUE,
	NAMED_TYPE,
	NAMED_TTL, /* asked right behind */
	NAMED_RIGHTS,
	WAITERS
};

/* Something that was asked. */
struct probe {
	enum subject subject;
	int server; /* e->facts[...] */
	char *key;  /* the lock; NULL: SCAN_PAGE */
	size_t len;
};

/* What was seen on one server. */
struct tally {
	int64_t locks, counters, histories;
	int told, odd;
	bool refused, cut, overlong, gone;
	bool type_refused; /* of the key that was named last */
	char type[32];     /* of the key that was named last */
};

struct search {
	const struct exam *e;
	struct fanout *fanout;
	struct probe *probe;
	int probes, room;
	struct tally *tally; /* of each server */
	struct instant limit;
	bool failed; /* no memory */
};

/* ---- questions ---- */

/* NULL: no memory */
static struct probe *remember(struct search *s, enum subject subject,
			      int server, const char *key, size_t len)
{
	int room = s->room * 2 + 64;
	struct probe *p = s->probe;

	if (s->probes == s->room) {
		p = realloc(p, (size_t)room * sizeof(*p));
		if (!p)
			return NULL;
		s->probe = p;
		s->room = room;
	}
	p += s->probes;
	*p = (struct probe){.subject = subject, .server = server, .len = len};
	if (key) {
		p->key = strndup(key, len); /* no key has a NUL in it here */
		if (!p->key)
			return NULL;
	}
	s->probes++;
	return p;
}

static void send_probe(struct search *s, int target, const struct words *w)
{
	s->failed |= fanout_ask(s->fanout, target, w, s->probes - 1) < 0;
}

static void ask_page(struct search *s, int server, const struct reply *cursor)
{
	struct words w = {0};

	if (!remember(s, SCAN_PAGE, server, NULL, 0)) {
		s->failed = true;
		return;
	}
	words_add_text(&w, "SCAN");
	words_add(&w, cursor ? cursor->bytes : "0", cursor ? cursor->len : 1);
	words_add_text(&w, "MATCH");
	words_add_text(&w, KEYS_TRACES);
	words_add_text(&w, "COUNT");
	words_add_text(&w, SCAN_COUNT);
	send_probe(s, s->e->facts[server].target, &w);
}

/* Of a lock. */
static void ask_about(struct search *s, enum subject subject, int server,
		      int target, const char *key, size_t len)
{
	static const char *const commands[] = {[LOCK_TTL] = "PTTL",
					       [FENCE_VALUE] = "HGET",
					       [NAMED_TYPE] = "TYPE",
					       [NAMED_TTL] = "PTTL"};
	struct probe *p = remember(s, subject, server, key, len);
	struct words w = {0};
	struct keys k;

	if (!p || keys_init(&k, key, len, "") < 0) {
		s->failed = true;
		return;
	}
	words_add_text(&w, commands[subject]);
	if (subject == FENCE_VALUE)
		words_add(&w, k.part[PART_STATE], k.part_len[PART_STATE]);
	else
		words_add(&w, key, len);
	if (subject == FENCE_VALUE)
		words_add_text(&w, "fence");
	send_probe(s, target, &w);
	keys_close(&k);
}

/* Whether this user may read and write the key and its companions, as a run
 * must: a script that declares them and does nothing. */
static void ask_rights(struct search *s, int server, int target,
		       const char *key, size_t len)
{
	struct probe *p = remember(s, NAMED_RIGHTS, server, key, len);
	struct words w = {0};
	struct keys k;
	char n[12];

	if (!p || keys_init(&k, key, len, "token") < 0) {
		s->failed = true;
		return;
	}
	(void)snprintf(n, sizeof(n), "%d", PART_COUNT + 1);
	words_add_text(&w, "EVAL");
	words_add_text(&w, "return 1");
	words_add_text(&w, n);
	words_add(&w, key, len);
	for (int i = 0; i < PART_COUNT; i++)
		words_add(&w, k.part[i], k.part_len[i]);
	send_probe(s, target, &w);
	keys_close(&k);
}

static void ask_line(struct search *s, int server, const struct reply *name,
		     const struct key_read *read)
{
	struct words w = {0};

	if (!remember(s, WAITERS, server, read->key, read->len)) {
		s->failed = true;
		return;
	}
	words_add_text(&w, "ZRANGE");
	words_add(&w, name->bytes, name->len);
	words_add_text(&w, "0");
	words_add_text(&w, "99");
	send_probe(s, s->e->facts[server].target, &w);
}

/* A member without a blank is a sign of life: see src/lua/line.lua. */
static bool is_ours(const struct reply *member)
{
	struct record r;

	return !memchr(member->bytes, ' ', member->len) ||
	       record_read_member(&r, member->bytes, member->len);
}

/* ---- a page of names ---- */

static bool was_named(const struct search *s, const char *key, size_t len)
{
	const struct opts *o = s->e->o;

	for (int i = 0; i < o->keys; i++)
		if (strlen(o->key[i]) == len &&
		    memcmp(o->key[i], key, len) == 0)
			return true;
	return false;
}

static void sort_out(struct search *s, int server, const struct reply *name)
{
	int target = s->e->facts[server].target;
	struct key_read read;

	if (strlen(name->bytes) != name->len)
		return;
	switch (keys_read(name->bytes, name->len, &read)) {
	case NAME_LOG:
		s->tally[server].histories++;
		return;
	case NAME_OTHER:
	case KEY_NAMES:
		return;
	case NAME_STATE:
		break;
	case NAME_QUEUE:
		ask_line(s, server, name, &read);
		return;
	}
	if (was_named(s, read.key, read.len))
		return;
	ask_about(s, LOCK_TTL, server, target, read.key, read.len);
	if (read.kind == NAME_STATE) {
		s->tally[server].counters++;
		ask_about(s, FENCE_VALUE, server, target, read.key, read.len);
	}
}

static void take_page(struct search *s, const struct probe *p,
		      const struct reply *r)
{
	const struct reply *cursor = reply_item(r, 0),
			   *names = reply_item(r, 1);
	struct tally *t = &s->tally[p->server];
	int server = p->server; /* *p moves */

	for (size_t i = 0; i < names->items && s->probes < PROBES_MAX; i++)
		sort_out(s, server, reply_item(names, i));
	t->cut |= s->probes >= PROBES_MAX;
	if (strcmp(cursor->bytes, "0") == 0)
		return;
	t->cut |= !before(now(), s->limit) || t->told >= TOLD_MAX;
	if (!t->cut)
		ask_page(s, server, cursor);
}

/* ---- answers ---- */

/* The key as an operand in a shell; "KEY" if it cannot be typed, or is too
 * long. Returns buf. */
static const char *key_typed(const char *key, size_t len, char buf[TYPED_MAX])
{
	char shown[CURED_KEY_MAX];
	FILE *f = fmemopen(buf, TYPED_MAX, "w");

	(void)format_bytes(key, len, shown, sizeof(shown));
	if (f) {
		(void)fputs(key[0] == '-' ? "-k " : "", f);
		put_quoted(f, key);
		(void)fclose(f);
	}
	if (!f || len >= sizeof(shown) || strcmp(shown, key) != 0)
		(void)snprintf(buf, TYPED_MAX, "KEY");
	return buf;
}

static void say(struct search *s, const struct probe *p, enum level level,
		const char *text)
{
	char key[200];

	if (level == LEVEL_WRONG && ++s->tally[p->server].told > TOLD_MAX)
		return;
	found(s->e->found, level, s->e->facts[p->server].name, "keys", "%s: %s",
	      format_bytes(p->key, p->len, key, sizeof(key)), text);
}

static void no_expiry(struct search *s, const struct probe *p)
{
	char key[TYPED_MAX];

	say(s, p, LEVEL_WRONG,
	    "no expiry: if its owner is gone, it stays forever");
	cure(s->e->found, "redlock force-release --foreign %s",
	     key_typed(p->key, p->len, key));
}

static void take_type(struct search *s, const struct probe *p,
		      const struct reply *r)
{
	struct tally *t = &s->tally[p->server];
	char text[160], key[TYPED_MAX];

	(void)format_bytes(r->bytes, r->len, t->type, sizeof(t->type));
	t->type_refused = false;
	if (strcmp(t->type, "none") == 0 || strcmp(t->type, "string") == 0)
		return;
	(void)snprintf(text, sizeof(text),
		       "it holds a %s, not a redlock lock: waiters wait until "
		       "it is gone",
		       t->type);
	say(s, p, LEVEL_WRONG, text);
	cure(s->e->found,
	     "use another key, or redlock force-release --foreign %s",
	     key_typed(p->key, p->len, key));
}

static void take_named_ttl(struct search *s, const struct probe *p,
			   const struct reply *r)
{
	int64_t ms = reply_number(r, UNKNOWN);
	char text[64], left[32];

	if (strcmp(r->bytes, "-2") == 0) {
		say(s, p, LEVEL_OK, "free");
		return;
	}
	if (strcmp(s->tally[p->server].type, "string") != 0)
		return; /* that is enough */
	if (ms < 0) {
		no_expiry(s, p);
		return;
	}
	(void)snprintf(text, sizeof(text), "held, %s left",
		       format_duration(ms, left, sizeof(left)));
	say(s, p, LEVEL_OK, text);
}

static void take_ttl(struct search *s, const struct probe *p,
		     const struct reply *r)
{
	if (strcmp(r->bytes, "-2") == 0)
		return;
	s->tally[p->server].locks++;
	if (strcmp(r->bytes, "-1") == 0)
		no_expiry(s, p);
}

static void say_odd(struct search *s, const struct probe *p, const char *what,
		    const char *how)
{
	char key[200];

	if (++s->tally[p->server].odd > TOLD_MAX)
		return;
	found(s->e->found, LEVEL_NOTE, s->e->facts[p->server].name, "keys",
	      "%s: %s %s; the next client mends that",
	      format_bytes(p->key, p->len, key, sizeof(key)), what, how);
}

/* (As if data had been lost: see src/lua/counter.lua.) */
static void take_fence(struct search *s, const struct probe *p,
		       const struct got *got)
{
	const struct reply *r = got->reply; /* NULL: too long for one command */
	bool answered = r && got->why.kind == FAIL_NONE;

	if (r && !answered && strncmp(r->bytes, "WRONGTYPE", 9) == 0)
		say_odd(s, p, "its state", "is of another type");
	else if (answered && r->kind != REPLY_NIL &&
		 parse_number(r->bytes, 0, FENCE_MAX) < 0)
		say_odd(s, p, "its fence counter", "is not a number");
}

/* A lock with an expiry does no harm for long. */
static void take_line(struct search *s, const struct probe *p,
		      const struct got *got)
{
	bool odd = false;

	if (got->why.kind != FAIL_NONE) {
		if (strncmp(got->reply->bytes, "WRONGTYPE", 9) == 0)
			say_odd(s, p, "its line of waiters",
				"is of another type");
		return;
	}
	for (size_t i = 0; !odd && i < got->reply->items; i++)
		odd = !is_ours(reply_item(got->reply, i));
	if (odd)
		say_odd(s, p, "its line of waiters",
			"has entries that are not redlock's");
}

static void take_refusal(struct search *s, const struct probe *p,
			 const struct got *got)
{
	char text[200], name[USER_TYPED_MAX];

	if (p->subject == SCAN_PAGE) {
		s->tally[p->server].refused = true;
		return;
	}
	(void)format_bytes(got->reply->bytes, got->reply->len, text,
			   sizeof(text));
	if (p->subject == NAMED_TYPE)
		s->tally[p->server].type_refused = true;
	/* (without a key, it is a command that is refused: another finding) */
	else if (p->subject != NAMED_RIGHTS ||
		 s->tally[p->server].type_refused ||
		 strncmp(text, "NOPERM", 6) != 0 || !strstr(text, " key"))
		return;
	if (p->subject == NAMED_RIGHTS)
		(void)snprintf(text, sizeof(text),
			       "NOPERM: no right to read and write the key and "
			       "those that redlock keeps beside it");
	say(s, p, LEVEL_WRONG, text);
	if (strncmp(text, "NOPERM", 6) == 0)
		cure(s->e->found,
		     "ACL SETUSER %s, with the keys of the line "
		     "below",
		     user_typed(&s->e->facts[p->server], name));
}

static void take_answer(struct search *s, const struct got *got)
{
	const struct probe *p = &s->probe[got->tag];

	assert(s->probe); /* only what was asked is answered */
	s->tally[p->server].overlong |=
		got->overlong && p->subject == SCAN_PAGE;
	if (p->subject == FENCE_VALUE && (got->reply || got->overlong)) {
		take_fence(s, p, got);
		return;
	}
	s->tally[p->server].refused |= got->hung_up && p->subject == SCAN_PAGE;
	s->tally[p->server].gone |=
		!got->overlong && !got->hung_up && !got->reply;
	if (!got->reply)
		return;
	if (p->subject == WAITERS)
		take_line(s, p, got);
	else if (got->why.kind != FAIL_NONE)
		take_refusal(s, p, got);
	else if (p->subject == SCAN_PAGE)
		take_page(s, p, got->reply);
	else if (p->subject == NAMED_TYPE)
		take_type(s, p, got->reply);
	else if (p->subject == NAMED_TTL)
		take_named_ttl(s, p, got->reply);
	else if (p->subject == LOCK_TTL)
		take_ttl(s, p, got->reply);
}

/* ---- all ---- */

/* Asks each server of the list: a Cluster says itself where a key is. */
static void ask_named(struct search *s, int server, int node)
{
	const struct opts *o = s->e->o;

	for (int i = 0; i < o->keys; i++) {
		for (int k = NAMED_TYPE; k <= NAMED_TTL + 1; k++)
			ask_about(s,
				  k > NAMED_TTL ? FENCE_VALUE : (enum subject)k,
				  server, node, o->key[i], strlen(o->key[i]));
		ask_rights(s, server, node, o->key[i], strlen(o->key[i]));
	}
}

/* A lock that was used once leaves 1 kB, and 5 kB more if it was used again. */
static void count_left(struct search *s, int server)
{
	const struct tally *t = &s->tally[server];
	int64_t kb = t->counters + 5 * t->histories;

	if (t->counters - t->locks < LEFT_MANY)
		return;
	found(s->e->found, LEVEL_NOTE, s->e->facts[server].name, "keys",
	      "%" PRId64 "%s free locks are remembered for 30 days after their "
	      "last use: about %" PRId64 " MB",
	      t->counters - t->locks, t->cut ? " or more" : "", kb / 1000);
	cure(s->e->found, "fewer names, or --no-history for names that are "
			  "used once (half a kB each)");
}

static void sum_up(struct search *s, int server)
{
	const struct facts *f = &s->e->facts[server];
	struct tally *t = &s->tally[server];

	count_left(s, server);
	if (t->gone || f->shut)
		found(s->e->found, LEVEL_WRONG, f->name, "keys",
		      "not all were checked: it has fallen silent");
	else if (t->refused)
		found(s->e->found, LEVEL_NOTE, f->name, "keys",
		      "SCAN is refused: cannot look for locks without expiry; "
		      "name the keys: redlock doctor KEY...");
	else if (t->told >= TOLD_MAX)
		found(s->e->found, LEVEL_WRONG, f->name, "keys",
		      "stopping here: there may be more");
	else if (t->overlong)
		found(s->e->found, LEVEL_NOTE, f->name, "keys",
		      "its keys are too long: not all were checked");
	else if (t->cut)
		found(s->e->found, LEVEL_NOTE, f->name, "keys",
		      "too many keys: only the first were checked");
	else if (t->told == 0 && t->odd == 0)
		found(s->e->found, LEVEL_OK, f->name, "keys",
		      "%" PRId64 " held, %" PRId64
		      " fence counter%s, no problems",
		      t->locks, t->counters, t->counters == 1 ? "" : "s");
}

void check_keys(const struct exam *e, struct query *l)
{
	struct search s = {.e = e,
			   .fanout = &l->fanout,
			   .limit = after(now(), SCAN_LIMIT_MS)};
	unsigned int named = 0; /* on these nodes */
	struct got got;

	s.tally = calloc((size_t)e->n + 1, sizeof(*s.tally));
	s.failed = !s.tally;
	for (int i = 0; !s.failed && i < e->n; i++) {
		const struct facts *f = &e->facts[i];

		if (!f->answers || f->shut)
			continue;
		if (!(named & 1U << f->node))
			ask_named(&s, i, f->node);
		named |= 1U << f->node;
		ask_page(&s, i, NULL);
	}
	while (fanout_get(&l->fanout, &got))
		take_answer(&s, &got);
	for (int i = 0; !s.failed && i < e->n; i++)
		if (e->facts[i].answers)
			sum_up(&s, i);
	e->found->incomplete |= s.failed;
	for (int i = 0; i < s.probes; i++)
		free(s.probe[i].key);
	free(s.probe);
	free(s.tally);
}
