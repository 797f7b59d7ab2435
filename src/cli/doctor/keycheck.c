/* SPDX-License-Identifier: MIT */
/* Finds locks that never expire, and what was not stored by redlock. */
#include "cli/doctor/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/render.h"
#include "cli/show/locks.h"
#include "lock/wire/keys.h"

#define SCAN_LIMIT_MS 10000 /* of all servers together */
#define TOLD_MAX 20         /* findings about keys that were not named */
#define LEFT_MANY 10000     /* free locks are worth a note */
#define LINE_MOST 100       /* waiters that are looked at */
#define CURED_KEY_MAX 200
#define TYPED_MAX (4 * CURED_KEY_MAX + 6)

struct keycheck {
	struct exam *e;
	struct query *query;
	int told, odd; /* findings about keys that were not named */
	int64_t held, counters;
};

struct lock_key {
	const char *bytes; /* borrowed */
	size_t len;
};

/* ---- findings ---- */

/* The key as an operand in a shell; "KEY" if it cannot be typed, or is too
 * long. Returns buf. */
static const char *key_typed(const struct lock_key *k, char buf[TYPED_MAX])
{
	char key[CURED_KEY_MAX], shown[CURED_KEY_MAX];
	FILE *f = fmemopen(buf, TYPED_MAX, "w");

	(void)snprintf(key, sizeof(key), "%.*s", (int)k->len, k->bytes);
	(void)format_bytes(k->bytes, k->len, shown, sizeof(shown));
	if (f) {
		(void)fputs(key[0] == '-' ? "--key=" : "", f);
		put_quoted(f, key);
		(void)fclose(f);
	}
	if (!f || k->len >= sizeof(key) || strcmp(shown, key) != 0)
		(void)snprintf(buf, TYPED_MAX, "KEY");
	return buf;
}

/* The server that is meant, or "all". */
static const char *name_of(const struct keycheck *s, unsigned int nodes,
			   const struct lock_key *k)
{
	const struct exam *e = s->e;
	int node = s->query->servers.n == 1 ? 0 : __builtin_ffs((int)nodes) - 1;
	int target;

	if (node < 0 || (nodes & (nodes - 1)) != 0)
		return "all";
	target = primaries_home(&s->query->fanout, node,
				key_slot(k->bytes, k->len));
	for (int i = 0; i < e->n; i++)
		if (e->facts[i].target == target)
			return e->facts[i].name;
	return s->query->servers.endpoint[node].name;
}

static void say(struct keycheck *s, unsigned int nodes,
		const struct lock_key *k, enum level level, const char *text,
		const char *cure)
{
	char key[200];

	found(s->e, level, name_of(s, nodes, k), "keys", "%s: %s -> %s",
	      format_bytes(k->bytes, k->len, key, sizeof(key)), text, cure);
}

static void say_endless(struct keycheck *s, unsigned int nodes,
			const struct lock_key *k)
{
	char key[TYPED_MAX], cure[TYPED_MAX + 60];

	(void)snprintf(cure, sizeof(cure), "redlock force-release --foreign %s",
		       key_typed(k, key));
	say(s, nodes, k, WRONG,
	    "no expiry: if its owner is gone, it stays forever", cure);
}

/* As if data had been lost. A lock with an expiry does no harm for long. */
static void say_damaged(struct keycheck *s, unsigned int nodes,
			const struct lock_key *k, unsigned int damaged)
{
	if (damaged & DAMAGED_STATE)
		say(s, nodes, k, NOTE,
		    "its state is of another type; the next client mends that",
		    "");
	if (damaged & DAMAGED_COUNTER)
		say(s, nodes, k, NOTE,
		    "its fence counter is not a number; the next client mends "
		    "that",
		    "");
	if (damaged & DAMAGED_LINE)
		say(s, nodes, k, NOTE,
		    "its line of waiters has entries that are not redlock's; "
		    "the next client mends that",
		    "");
}

/* ---- the keys that were named ---- */

/* Whether this user may read and write the key and its companions, as a run
 * must: a script that declares them and does nothing. (Without a key, it is a
 * command that is refused: another finding.) -1: no memory. */
static int check_access(struct keycheck *s, const struct lock_key *k,
			bool *refused)
{
	struct words w = {0};
	struct keys keys;
	struct got got;
	char n[12];
	int rc = keys_init(&keys, k->bytes, k->len, "token");

	(void)snprintf(n, sizeof(n), "%d", PART_COUNT + 1);
	words_add_text(&w, "EVAL");
	words_add_text(&w, "return 1");
	words_add_text(&w, n);
	words_add(&w, k->bytes, k->len);
	for (int i = 0; rc == 0 && i < PART_COUNT; i++)
		words_add(&w, keys.part[i], keys.part_len[i]);
	for (int i = 0; rc == 0 && i < s->query->servers.n; i++)
		rc = fanout_ask(&s->query->fanout, i, &w, i);
	*refused = false;
	while (fanout_get(&s->query->fanout, &got)) {
		char name[USER_TYPED_MAX], cure[USER_TYPED_MAX + 60];

		if (!got.reply || got.reply->kind != REPLY_ERROR ||
		    strncmp(got.reply->bytes, "NOPERM", 6) != 0 ||
		    !strstr(got.reply->bytes, " key"))
			continue;
		*refused = true;
		(void)snprintf(
			cure, sizeof(cure),
			"ACL SETUSER %s, with the keys of the line below",
			user_typed(&s->e->facts[got.node], name));
		say(s, 1U << got.node, k, WRONG,
		    "NOPERM: no right to read and write the key and those that "
		    "redlock keeps beside it",
		    cure);
	}
	keys_close(&keys);
	return rc;
}

static void say_foreign(struct keycheck *s, const struct view_holder *h,
			const struct lock_key *k)
{
	char text[160], key[TYPED_MAX], cure[TYPED_MAX + 60];

	(void)snprintf(text, sizeof(text),
		       "it holds a %s, not a redlock lock: %s", h->type,
		       h->left_ms < 0 ? "a run ends with 78"
				      : "waiters wait until it is gone");
	(void)snprintf(cure, sizeof(cure),
		       "use another key, or redlock force-release --foreign %s",
		       key_typed(k, key));
	say(s, h->nodes, k, WRONG, text, cure);
}

static void judge(struct keycheck *s, const struct view *v,
		  const struct lock_key *k)
{
	char text[64], left[32];

	say_damaged(s, v->answers, k, v->damaged);
	if (v->holders == 0)
		say(s, v->answers, k, FINE, "free", "");
	for (int i = 0; i < v->holders; i++)
		if (strcmp(v->holder[i].type, "string") != 0) {
			say_foreign(s, &v->holder[i], k);
			return;
		}
	if (view_endless(v)) {
		say_endless(s, view_endless(v), k);
	} else if (v->holders > 0) {
		(void)snprintf(text, sizeof(text), "held, %s left",
			       format_duration(v->holder[0].left_ms, left,
					       sizeof(left)));
		say(s, v->held_on, k, FINE, text, "");
	}
}

static bool all_answer(const struct exam *e)
{
	for (int i = 0; i < e->n; i++)
		if (!e->facts[i].answers || e->facts[i].shut)
			return false;
	return true;
}

static void check_named(struct keycheck *s, const char *key)
{
	const struct view_most most = {.holders = LINE_MOST,
				       .waiters = LINE_MOST};
	const struct lock_key k = {key, strlen(key)};
	struct snapshot seen = {0};
	struct fail why;
	bool refused;

	if (check_access(s, &k, &refused) < 0) {
		s->e->incomplete = true;
		return;
	}
	if (refused)
		return;
	if (query_lock(s->query, key, k.len, &most, &seen, &why) == 0)
		judge(s, &seen.view, &k);
	else if (all_answer(s->e)) /* else it was said */
		say(s, 0, &k, WRONG, why.text, "");
	snapshot_close(&seen);
}

static bool was_named(const struct opts *o, const struct lock_key *k)
{
	for (int i = 0; i < o->keys; i++)
		if (strlen(o->key[i]) == k->len &&
		    memcmp(o->key[i], k->bytes, k->len) == 0)
			return true;
	return false;
}

/* ---- all keys ---- */

/* A key counts as a lock if redlock has something beside it. */
static void judge_found(struct keycheck *s, const struct lock_seen *l)
{
	const struct lock_key k = {l->key, l->len};

	if (was_named(s->e->o, &k))
		return;
	s->held += l->holders > 0;
	s->counters += l->fence > 0;
	if (l->endless && s->told++ < TOLD_MAX)
		say_endless(s, l->endless, &k);
	if (l->damaged && s->odd++ < TOLD_MAX)
		say_damaged(s, 0, &k, l->damaged);
}

/* A lock that was used once leaves 1 kB, and 5 kB more if it was used again. */
static void count_left(const struct keycheck *s, const struct scan *c, bool cut)
{
	int64_t left = s->counters - s->held;
	int64_t kb = s->counters + 5 * c->histories / s->query->servers.n;

	if (left < LEFT_MANY)
		return;
	found(s->e, NOTE, s->e->n == 1 ? s->e->facts[0].name : "all", "keys",
	      "%" PRId64 "%s free locks are remembered for 30 days after their "
	      "last use: about %" PRId64 " MB -> fewer names, or --no-history "
	      "for names that are used once (half a kB each)",
	      left, cut ? " or more" : "", kb / 1000);
}

/* Whether a server answered all that it was asked. If not, it is said, here or
 * by another check. */
static bool was_read(const struct keycheck *s, const struct scan *c, int node)
{
	const struct node_seen *n = &c->node[node];
	const struct exam *e = s->e;

	for (int i = 0; i < e->n; i++) {
		const struct facts *f = &e->facts[i];

		if (f->node != node || !(n->missed || f->shut))
			continue;
		if (!f->answers)
			return false;
		if (n->silent || f->shut)
			found(s->e, WRONG, f->name, "keys",
			      "not all were checked: it has fallen silent");
		else if (n->refuses)
			found(s->e, NOTE, f->name, "keys",
			      "SCAN is refused: cannot look for locks without "
			      "expiry; name the keys: redlock doctor KEY...");
		else
			found(s->e, NOTE, f->name, "keys",
			      "not all were checked: %s", n->why.text);
		return false;
	}
	return true;
}

static void sum_up(struct keycheck *s, const struct scan *c, bool cut)
{
	const char *name = s->e->n == 1 ? s->e->facts[0].name : "all";
	bool all = true;

	for (int i = 0; i < s->query->servers.n; i++)
		all &= was_read(s, c, i);
	count_left(s, c, cut);
	if (s->told > TOLD_MAX)
		found(s->e, WRONG, name, "keys",
		      "stopping here: there may be more");
	else if (cut)
		found(s->e, NOTE, name, "keys",
		      "too many keys: only the first were checked");
	else if (all && s->told == 0 && s->odd == 0)
		found(s->e, FINE, name, "keys",
		      "%" PRId64 " held, %" PRId64
		      " fence counter%s, no problems",
		      s->held, s->counters, s->counters == 1 ? "" : "s");
}

static void check_found(struct keycheck *s)
{
	struct instant limit = after(now(), SCAN_LIMIT_MS);
	struct scan c;
	bool more = true;

	scan_open(&c, s->query, NULL);
	c.past = true;
	c.waiters = LINE_MOST;
	scan_find(&c);
	while (more && before(now(), limit) && scan_step(&c) == 0) {
		more = scan_is_finding(&c) || scan_is_asking(&c);
		if (more)
			fanout_poll(&s->query->fanout, NULL, 0, limit);
	}
	for (int i = 0; i < c.known.locks; i++)
		if (c.known.lock[i]->known)
			judge_found(s, c.known.lock[i]);
	sum_up(s, &c, more || c.known.overfull);
	s->e->incomplete |= c.broke;
	scan_close(&c);
}

void check_keys(struct exam *e, struct query *query)
{
	struct keycheck s = {.e = e, .query = query};

	for (int i = 0; i < e->o->keys; i++)
		check_named(&s, e->o->key[i]);
	check_found(&s);
}
