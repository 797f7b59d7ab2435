/* SPDX-License-Identifier: MIT */
/* A small Redis. Read redis.h first. */
#include "redis.h"

#include <assert.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ARGS_MAX 1010
#define ITEMS_MAX 4096
#define CHUNKS_MAX 16
#define EDITS_MAX 8
#define REFUSED_MAX 4
#define LIST_MAX 24 /* of a longer one an answer shows the length */
#define GRAIN sizeof(union block)
#define GRAINS 32 /* larger pieces are malloc's */
#define SLAB 65536

/* Nodes, while the slot is on the move. */
enum { ANY = -1, OLD, NEW };

struct bytes {
	const char *at; /* NULL: nil */
	size_t len;
};

/* An element of a list, a member of a sorted set, a field of a hash; an entry
 * of a stream: its ID, and its words, each after its length and a blank. */
struct element {
	char *text, *value;
	size_t len, value_len;
	double score;
};

enum type { TYPE_STRING, TYPE_LIST, TYPE_ZSET, TYPE_HASH, TYPE_STREAM };

struct key {
	char *name, *text;
	size_t name_len, len;
	enum type type;
	int64_t ends_ms; /* -1: never */
	int node;        /* while the slot is on the move */
	struct element *element;
	int n, room;
};

enum kind {
	REPLY_NUMBER,
	REPLY_TEXT,
	REPLY_STATUS,
	REPLY_ERROR,
	REPLY_ARRAY,
	REPLY_ENTRIES /* `number` of the stream, the newest first */
};

struct reply {
	enum kind kind;
	int64_t number;
	struct bytes text;
	int n;
	struct bytes item[ITEMS_MAX];
	const struct key *stream;
	char scratch[ITEMS_MAX * 32];
	size_t used;
};

struct chunk {
	char *text;
	size_t len;
	int ref;
};

/* A free piece of Lua's memory, or the start of a slab. */
union block {
	union block *next;
	long double any;
};

/* Lua's memory: scripts allocate and free small blocks all the time, for which
 * malloc took a fifth of a schedule. */
struct pool {
	union block *free[GRAINS + 1]; /* by size */
	union block *slabs;
	char *at, *end; /* of the newest slab: not used yet */
};

struct redis {
	lua_State *lua;
	struct pool pool;
	struct key *key, *saved;
	int n, room, n_saved;
	int64_t us;
	bool full, wrote, moving, streams, reads_only;
	int node; /* where the script runs, of two; else ANY */
	char *twice;
	char *popped; /* told, and no longer there */
	char run_id[41], info[128];
	const char *server, *replication;
	int64_t up_us;
	const struct redis_edit *edits;
	struct chunk chunk[CHUNKS_MAX];
	int chunks, calls;
	struct {
		char command[16], word[64], error[128];
	} refused[REFUSED_MAX];
	int n_refused;
	struct reply reply;
	char error[512], number[WORDS_MAX][24];
};

static struct {
	const char *text, *other;
} instead[CHUNKS_MAX];
static int n_instead;

struct args {
	int n;
	struct bytes at[ARGS_MAX];
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static char *copy_of(struct bytes b)
{
	char *copy = must(malloc(b.len + 1));

	memcpy(copy, b.at, b.len);
	copy[b.len] = '\0';
	return copy;
}

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

static bool same(struct bytes a, const char *b, size_t len)
{
	/* (names differ at the end) */
	return a.len == len && (len == 0 || (a.at[len - 1] == b[len - 1] &&
					     memcmp(a.at, b, len) == 0));
}

/* ---- the keys ---- */

static void free_element(struct element *e)
{
	free(e->text);
	free(e->value);
}

static void clear(struct key *k)
{
	free(k->text);
	for (int i = 0; i < k->n; i++)
		free_element(&k->element[i]);
	free(k->element);
	k->text = NULL;
	k->element = NULL;
	k->n = k->room = 0;
}

static void drop(struct redis *r, struct key *k)
{
	clear(k);
	free(k->name);
	*k = r->key[--r->n];
}

static bool over(const struct redis *r, const struct key *k)
{
	return k->ends_ms >= 0 && r->us / 1000 > k->ends_ms;
}

static struct key *find(struct redis *r, struct bytes name)
{
	for (int i = 0; i < r->n; i++) {
		struct key *k = &r->key[i];

		if (!same(name, k->name, k->name_len) ||
		    (r->node != ANY && k->node != r->node))
			continue;
		if (!over(r, k))
			return k;
		drop(r, k);
		return NULL;
	}
	return NULL;
}

static struct key *make(struct redis *r, struct bytes name, enum type type)
{
	struct key *k;

	if (r->n == r->room) {
		r->room = r->room ? 2 * r->room : 32;
		r->key = must(
			realloc(r->key, (size_t)r->room * sizeof(*r->key)));
	}
	for (int i = 0; i < r->n && r->node != ANY; i++)
		if (!r->twice && !over(r, &r->key[i]) &&
		    same(name, r->key[i].name, r->key[i].name_len))
			r->twice = copy_of(name);
	k = &r->key[r->n++];
	*k = (struct key){.name = copy_of(name),
			  .name_len = name.len,
			  .type = type,
			  .node = r->node,
			  .ends_ms = -1};
	return k;
}

static int element_at(const struct key *k, struct bytes text)
{
	for (int i = 0; k && i < k->n; i++)
		if (same(text, k->element[i].text, k->element[i].len))
			return i;
	return -1;
}

static struct element *insert(struct key *k, int at)
{
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 8;
		k->element = must(realloc(
			k->element, (size_t)k->room * sizeof(*k->element)));
	}
	memmove(&k->element[at + 1], &k->element[at],
		(size_t)(k->n - at) * sizeof(*k->element));
	k->n++;
	k->element[at] = (struct element){0};
	return &k->element[at];
}

static void take_out(struct key *k, int at)
{
	free_element(&k->element[at]);
	k->n--;
	memmove(&k->element[at], &k->element[at + 1],
		(size_t)(k->n - at) * sizeof(*k->element));
}

/* ---- replies ---- */

static void say_number(struct redis *r, int64_t number)
{
	r->reply.kind = REPLY_NUMBER;
	r->reply.number = number;
}

static void say_text(struct redis *r, struct bytes text)
{
	r->reply.kind = REPLY_TEXT;
	r->reply.text = text;
}

static void say_status(struct redis *r, const char *text)
{
	r->reply.kind = REPLY_STATUS;
	r->reply.text = bytes_of(text);
}

static void say_error(struct redis *r, const char *text)
{
	r->reply.kind = REPLY_ERROR;
	r->reply.text = bytes_of(text);
}

static void add_item(struct redis *r, struct bytes item)
{
	assert(r->reply.n < ITEMS_MAX);
	r->reply.kind = REPLY_ARRAY;
	r->reply.item[r->reply.n++] = item;
}

static struct bytes print(struct redis *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static struct bytes print(struct redis *r, const char *fmt, ...)
{
	char *at = r->reply.scratch + r->reply.used;
	va_list ap;
	int len;

	assert(r->reply.used + 32 <= sizeof(r->reply.scratch));
	va_start(ap, fmt);
	len = vsnprintf(at, 32, fmt, ap);
	va_end(ap);
	r->reply.used += 32;
	return (struct bytes){at, (size_t)len};
}

static void say_nil(struct redis *r)
{
	say_text(r, (struct bytes){0});
}

/* ---- arguments ---- */

static bool whole(struct redis *r, struct bytes b, int64_t *out)
{
	char text[24], again[24];

	if (b.len < sizeof(text)) {
		memcpy(text, b.at, b.len);
		text[b.len] = '\0';
		*out = strtoll(text, NULL, 10);
		(void)snprintf(again, sizeof(again), "%" PRId64, *out);
		if (strcmp(text, again) == 0)
			return true;
	}
	say_error(r, "ERR value is not an integer or out of range");
	return false;
}

static bool real(struct redis *r, struct bytes b, double *out)
{
	char *end, text[64];

	if (b.len > 0 && b.len < sizeof(text)) {
		memcpy(text, b.at, b.len);
		text[b.len] = '\0';
		*out = strtod(text, &end);
		if (*end == '\0' && !isnan(*out))
			return true;
	}
	say_error(r, "ERR value is not a valid float");
	return false;
}

static bool is(struct bytes b, const char *word)
{
	return b.len > 0 && (b.at[0] | 0x20) == word[0] &&
	       b.len == strlen(word) && strncasecmp(b.at, word, b.len) == 0;
}

static const char wrong_type[] =
	"WRONGTYPE Operation against a key holding the wrong kind of value";

/* *k: NULL if it is missing. False: it has another type. */
static bool typed(struct redis *r, struct bytes name, enum type type,
		  struct key **k)
{
	*k = find(r, name);
	if (!*k || (*k)->type == type)
		return true;
	say_error(r, wrong_type);
	return false;
}

/* ---- commands: strings and keys ---- */

static void do_get(struct redis *r, const struct args *a)
{
	struct key *k;

	if (!typed(r, a->at[1], TYPE_STRING, &k))
		return;
	if (k)
		say_text(r, (struct bytes){k->text, k->len});
	else
		say_nil(r);
}

/* Of the strings the scripts read, from the start. */
static void do_getrange(struct redis *r, const struct args *a)
{
	size_t first = (size_t)strtoull(a->at[2].at, NULL, 10);
	size_t end = (size_t)strtoull(a->at[3].at, NULL, 10) + 1;
	struct key *k;

	if (!typed(r, a->at[1], TYPE_STRING, &k))
		return;
	if (!k || first >= k->len)
		say_text(r, (struct bytes){"", 0});
	else
		say_text(r,
			 (struct bytes){k->text + first,
					(k->len < end ? k->len : end) - first});
}

static void do_mget(struct redis *r, const struct args *a)
{
	for (int i = 1; i < a->n; i++) {
		struct key *k = find(r, a->at[i]);

		if (k && k->type == TYPE_STRING)
			add_item(r, (struct bytes){k->text, k->len});
		else
			add_item(r, (struct bytes){0});
	}
}

static void do_set(struct redis *r, const struct args *a)
{
	bool nx = false, xx = false;
	int64_t px = 0;
	struct key *k;

	for (int i = 3; i < a->n; i++) {
		nx |= is(a->at[i], "nx");
		xx |= is(a->at[i], "xx");
		if (is(a->at[i], "px") && i + 1 < a->n) {
			if (!whole(r, a->at[++i], &px))
				return;
			if (px <= 0) {
				say_error(r, "ERR invalid expire time in "
					     "'set' command");
				return;
			}
		} else if (!is(a->at[i], "nx") && !is(a->at[i], "xx")) {
			say_error(r, "ERR syntax error");
			return;
		}
	}
	k = find(r, a->at[1]);
	if ((nx && k) || (xx && !k)) {
		say_nil(r);
		return;
	}
	if (k)
		clear(k);
	else
		k = make(r, a->at[1], TYPE_STRING);
	k->type = TYPE_STRING;
	k->text = copy_of(a->at[2]);
	k->len = a->at[2].len;
	k->ends_ms = px > 0 ? r->us / 1000 + px : -1;
	say_status(r, "OK");
}

static void do_del(struct redis *r, const struct args *a)
{
	int gone = 0;

	for (int i = 1; i < a->n; i++) {
		struct key *k = find(r, a->at[i]);

		if (k)
			drop(r, k);
		gone += k != NULL;
	}
	say_number(r, gone);
}

static void do_exists(struct redis *r, const struct args *a)
{
	int there = 0;

	for (int i = 1; i < a->n; i++)
		there += find(r, a->at[i]) != NULL;
	say_number(r, there);
}

static void do_type(struct redis *r, const struct args *a)
{
	static const char *const names[] = {"string", "list", "zset", "hash",
					    "stream"};
	struct key *k = find(r, a->at[1]);

	say_status(r, k ? names[k->type] : "none");
}

static void do_pexpire(struct redis *r, const struct args *a)
{
	struct key *k;
	int64_t ms;

	if (!whole(r, a->at[2], &ms))
		return;
	k = find(r, a->at[1]);
	if (k && ms <= 0)
		drop(r, k);
	else if (k)
		k->ends_ms = r->us / 1000 + ms;
	say_number(r, k != NULL);
}

static void do_pttl(struct redis *r, const struct args *a)
{
	struct key *k = find(r, a->at[1]);

	say_number(r, !k               ? -2
		      : k->ends_ms < 0 ? -1
				       : k->ends_ms - r->us / 1000);
}

static void do_time(struct redis *r, const struct args *a)
{
	(void)a;
	add_item(r, print(r, "%" PRId64, r->us / 1000000));
	add_item(r, print(r, "%" PRId64, r->us % 1000000));
}

static void do_select(struct redis *r, const struct args *a)
{
	(void)a;
	say_status(r, "OK");
}

/* Only what is asked for; up for whole seconds of the clock. */
static void do_info(struct redis *r, const struct args *a)
{
	const char *other = is(a->at[1], "server") ? r->server : r->replication;

	if (other && strcmp(other, "refused") == 0) {
		say_error(r, "NOPERM this user has no permissions");
		return;
	}
	if (other) {
		say_text(r, bytes_of(other));
		return;
	}
	(void)snprintf(r->info, sizeof(r->info),
		       "# Server\r\nredis_mode:standalone\r\nrun_id:%s\r\n"
		       "uptime_in_seconds:%" PRId64 "\r\n",
		       r->run_id, r->us / 1000000 - r->up_us / 1000000);
	say_text(r, bytes_of(r->info));
}

static void do_flushall(struct redis *r, const struct args *a)
{
	(void)a;
	redis_flush(r);
	say_status(r, "OK");
}

/* ---- sorted sets ---- */

static void place(struct key *k, struct bytes member, double score)
{
	struct element *e;
	int at = 0;

	for (; at < k->n; at++) {
		size_t len = k->element[at].len;
		int order = memcmp(member.at, k->element[at].text,
				   member.len < len ? member.len : len);

		if (score < k->element[at].score)
			break;
		if (score == k->element[at].score &&
		    (order < 0 || (order == 0 && member.len < len)))
			break;
	}
	e = insert(k, at);
	e->text = copy_of(member);
	e->len = member.len;
	e->score = score;
}

/* One member at a time. */
static void do_zadd(struct redis *r, const struct args *a)
{
	bool nx = is(a->at[2], "nx"), xx = is(a->at[2], "xx");
	int from = nx || xx ? 3 : 2, at;
	struct bytes member = a->at[from + 1];
	struct key *k;
	double score;

	if (a->n != from + 2) {
		say_error(r, "ERR syntax error");
		return;
	}
	if (!real(r, a->at[from], &score) || !typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	at = element_at(k, member);
	say_number(r, at < 0 && !xx);
	if ((nx && at >= 0) || (xx && at < 0))
		return;
	if (!k)
		k = make(r, a->at[1], TYPE_ZSET);
	else if (at >= 0)
		take_out(k, at);
	place(k, member, score);
}

static void do_zrem(struct redis *r, const struct args *a)
{
	int gone = 0;
	struct key *k;

	if (!typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	for (int i = 2; k && i < a->n; i++) {
		int at = element_at(k, a->at[i]);

		if (at >= 0)
			take_out(k, at);
		gone += at >= 0;
	}
	if (k && k->n == 0)
		drop(r, k);
	say_number(r, gone);
}

static void do_zscore(struct redis *r, const struct args *a)
{
	struct key *k;
	int at;

	if (!typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	at = element_at(k, a->at[2]);
	if (at < 0)
		say_nil(r);
	else
		say_text(r, print(r, "%.17g", k->element[at].score));
}

static void do_zrevrange(struct redis *r, const struct args *a)
{
	bool scores = a->n > 4 && is(a->at[4], "withscores");
	int64_t from, to;
	struct key *k;

	if (!whole(r, a->at[2], &from) || !whole(r, a->at[3], &to) ||
	    !typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	r->reply.kind = REPLY_ARRAY;
	if (!k)
		return;
	from = from < 0 && from + k->n >= 0 ? from + k->n : from < 0 ? 0 : from;
	to = to < 0 ? to + k->n : to >= k->n ? k->n - 1 : to;
	for (int64_t i = from; i <= to; i++) {
		const struct element *e = &k->element[k->n - 1 - i];

		add_item(r, (struct bytes){e->text, e->len});
		if (scores)
			add_item(r, print(r, "%.17g", e->score));
	}
}

static bool bound(struct redis *r, struct bytes b, double *score, bool *open)
{
	*open = b.len > 0 && b.at[0] == '(';
	return real(r, (struct bytes){b.at + *open, b.len - *open}, score);
}

static bool within(double score, double least, bool after, double last,
		   bool before)
{
	return (after ? score > least : score >= least) &&
	       (before ? score < last : score <= last);
}

/* "withscores" and "limit OFFSET COUNT", in this order, or without. */
static void do_zrangebyscore(struct redis *r, const struct args *a)
{
	bool scores = a->n > 4 && is(a->at[4], "withscores");
	int at = scores ? 5 : 4;
	int64_t skip = 0, most = INT64_MAX;
	bool after, before;
	double least, last;
	struct key *k;

	if (!bound(r, a->at[2], &least, &after) ||
	    !bound(r, a->at[3], &last, &before) ||
	    (a->n == at + 3 && is(a->at[at], "limit") &&
	     (!whole(r, a->at[at + 1], &skip) ||
	      !whole(r, a->at[at + 2], &most))) ||
	    !typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	r->reply.kind = REPLY_ARRAY;
	for (int i = 0; k && i < k->n && most > 0; i++) {
		const struct element *e = &k->element[i];

		if (!within(e->score, least, after, last, before) || skip-- > 0)
			continue;
		add_item(r, (struct bytes){e->text, e->len});
		if (scores)
			add_item(r, print(r, "%.17g", e->score));
		most--;
	}
}

static void do_zcount(struct redis *r, const struct args *a)
{
	bool after, before;
	double least, last;
	struct key *k;
	int n = 0;

	if (!bound(r, a->at[2], &least, &after) ||
	    !bound(r, a->at[3], &last, &before) ||
	    !typed(r, a->at[1], TYPE_ZSET, &k))
		return;
	for (int i = 0; k && i < k->n; i++)
		n += within(k->element[i].score, least, after, last, before);
	say_number(r, n);
}

/* ---- lists and hashes ---- */

static void do_rpush(struct redis *r, const struct args *a)
{
	struct key *k;

	if (!typed(r, a->at[1], TYPE_LIST, &k))
		return;
	if (!k)
		k = make(r, a->at[1], TYPE_LIST);
	for (int i = 2; i < a->n; i++) {
		struct element *e = insert(k, k->n);

		e->text = copy_of(a->at[i]);
		e->len = a->at[i].len;
	}
	say_number(r, k->n);
}

static void do_lindex(struct redis *r, const struct args *a)
{
	struct key *k;
	int64_t i;

	if (!whole(r, a->at[2], &i) || !typed(r, a->at[1], TYPE_LIST, &k))
		return;
	if (k && i < 0)
		i += k->n;
	if (k && i >= 0 && i < k->n)
		say_text(r,
			 (struct bytes){k->element[i].text, k->element[i].len});
	else
		say_nil(r);
}

static struct bytes field(const struct key *k, struct bytes name)
{
	int at = element_at(k, name);

	return at < 0 ? (struct bytes){0}
		      : (struct bytes){k->element[at].value,
				       k->element[at].value_len};
}

static void do_hget(struct redis *r, const struct args *a)
{
	struct key *k;

	if (typed(r, a->at[1], TYPE_HASH, &k))
		say_text(r, field(k, a->at[2]));
}

static void do_hmget(struct redis *r, const struct args *a)
{
	struct key *k;

	if (!typed(r, a->at[1], TYPE_HASH, &k))
		return;
	for (int i = 2; i < a->n; i++)
		add_item(r, field(k, a->at[i]));
}

static void do_hgetall(struct redis *r, const struct args *a)
{
	struct key *k;

	if (!typed(r, a->at[1], TYPE_HASH, &k))
		return;
	r->reply.kind = REPLY_ARRAY;
	for (int i = 0; k && i < k->n; i++) {
		const struct element *e = &k->element[i];

		add_item(r, (struct bytes){e->text, e->len});
		add_item(r, (struct bytes){e->value, e->value_len});
	}
}

static void do_hexists(struct redis *r, const struct args *a)
{
	struct key *k;

	if (typed(r, a->at[1], TYPE_HASH, &k))
		say_number(r, k && element_at(k, a->at[2]) >= 0);
}

static void do_hdel(struct redis *r, const struct args *a)
{
	int gone = 0;
	struct key *k;

	if (!typed(r, a->at[1], TYPE_HASH, &k))
		return;
	for (int i = 2; k && i < a->n; i++) {
		int at = element_at(k, a->at[i]);

		if (at >= 0)
			take_out(k, at);
		gone += at >= 0;
	}
	if (k && k->n == 0)
		drop(r, k);
	say_number(r, gone);
}

static void do_hset(struct redis *r, const struct args *a)
{
	struct key *k;
	int new = 0;

	if (!typed(r, a->at[1], TYPE_HASH, &k))
		return;
	if (!k)
		k = make(r, a->at[1], TYPE_HASH);
	for (int i = 2; i + 1 < a->n; i += 2) {
		int at = element_at(k, a->at[i]);
		struct element *e = at < 0 ? insert(k, k->n) : &k->element[at];

		if (at < 0) {
			e->text = copy_of(a->at[i]);
			e->len = a->at[i].len;
			new ++;
		}
		assert(e);
		free(e->value);
		e->value = copy_of(a->at[i + 1]);
		e->value_len = a->at[i + 1].len;
	}
	say_number(r, new);
}

/* ---- streams ---- */

static void do_keys(struct redis *r, const struct args *a)
{
	(void)a;
	r->reply.kind = REPLY_ARRAY;
	for (int i = 0; i < r->n; i++)
		if (!over(r, &r->key[i]))
			add_item(r, (struct bytes){r->key[i].name,
						   r->key[i].name_len});
}

static void id_of(const char *text, long long id[2])
{
	char *end;

	id[0] = strtoll(text, &end, 10);
	id[1] = *end == '-' ? strtoll(end + 1, NULL, 10) : 0;
}

/* [nomkstream] [maxlen ~ N] ID NAME VALUE...: of as many as N it keeps N. */
static void do_xadd(struct redis *r, const struct args *a)
{
	bool nomake = is(a->at[2], "nomkstream");
	int at = nomake ? 3 : 2;
	long long id[2], last[2] = {0, 0};
	int64_t most = INT64_MAX;
	struct element *e;
	struct key *k;

	if (at + 2 < a->n && is(a->at[at], "maxlen")) {
		if (!whole(r, a->at[at + 2], &most))
			return;
		at += 3;
	}
	if (at + 2 >= a->n || (a->n - at) % 2 == 0) {
		say_error(r, "ERR wrong number of arguments");
		return;
	}
	if (!typed(r, a->at[1], TYPE_STREAM, &k))
		return;
	if (!k && nomake) {
		say_nil(r);
		return;
	}
	if (k && k->n > 0)
		id_of(k->element[k->n - 1].text, last);
	if (is(a->at[at], "*")) {
		id[0] = r->us / 1000;
		id[1] = 0;
		if (id[0] <= last[0]) {
			id[0] = last[0];
			id[1] = last[1] + 1;
		}
	} else {
		id_of(a->at[at].at, id);
		if (id[0] < last[0] || (id[0] == last[0] && id[1] <= last[1])) {
			say_error(r, "ERR The ID specified in XADD is equal or "
				     "smaller than the target stream top item");
			return;
		}
	}
	if (!k)
		k = make(r, a->at[1], TYPE_STREAM);
	e = insert(k, k->n);
	e->text = copy_of(print(r, "%lld-%lld", id[0], id[1]));
	e->len = strlen(e->text);
	for (int i = at + 1; i < a->n; i++) {
		char head[24];
		size_t n = (size_t)snprintf(head, sizeof(head), "%zu ",
					    a->at[i].len);

		e->value = must(
			realloc(e->value, e->value_len + n + a->at[i].len + 1));
		memcpy(e->value + e->value_len, head, n);
		memcpy(e->value + e->value_len + n, a->at[i].at, a->at[i].len);
		e->value_len += n + a->at[i].len;
		e->value[e->value_len] = '\0';
	}
	say_text(r, (struct bytes){e->text, e->len});
	while (k->n > most)
		take_out(k, 0);
}

/* + - count N */
static void do_xrevrange(struct redis *r, const struct args *a)
{
	struct key *k;

	if (!whole(r, a->at[5], &r->reply.number) ||
	    !typed(r, a->at[1], TYPE_STREAM, &k))
		return;
	r->reply.kind = REPLY_ENTRIES;
	r->reply.stream = k;
}

/* ---- the table of commands ---- */

#define READS 0
#define WRITES 1
#define STORES 3               /* refused when memory is full */
enum which { NONE, ONE, ALL }; /* of the words are keys */

static const struct command {
	const char *name;
	void (*run)(struct redis *r, const struct args *a);
	int words; /* at least */
	int flags;
	enum which keys;
} commands[] = {
	{"get", do_get, 2, READS, ONE},
	{"mget", do_mget, 2, READS, ALL},
	{"getrange", do_getrange, 4, READS, ONE},
	{"set", do_set, 3, STORES, ONE},
	{"del", do_del, 2, WRITES, ALL},
	{"exists", do_exists, 2, READS, ALL},
	{"type", do_type, 2, READS, ONE},
	{"pexpire", do_pexpire, 3, WRITES, ONE},
	{"pttl", do_pttl, 2, READS, ONE},
	{"time", do_time, 1, READS, NONE},
	{"info", do_info, 2, READS, NONE},
	{"select", do_select, 2, READS, NONE},
	{"zadd", do_zadd, 4, STORES, ONE},
	{"zrem", do_zrem, 3, WRITES, ONE},
	{"zscore", do_zscore, 3, READS, ONE},
	{"zrevrange", do_zrevrange, 4, READS, ONE},
	{"zcount", do_zcount, 4, READS, ONE},
	{"zrangebyscore", do_zrangebyscore, 4, READS, ONE},
	{"rpush", do_rpush, 3, STORES, ONE},
	{"lindex", do_lindex, 3, READS, ONE},
	{"hget", do_hget, 3, READS, ONE},
	{"hmget", do_hmget, 3, READS, ONE},
	{"hgetall", do_hgetall, 2, READS, ONE},
	{"hexists", do_hexists, 3, READS, ONE},
	{"hdel", do_hdel, 3, WRITES, ONE},
	{"hset", do_hset, 4, STORES, ONE},
	{"keys", do_keys, 2, READS, NONE},
	{"xadd", do_xadd, 5, STORES, ONE},
	{"xrevrange", do_xrevrange, 6, READS, ONE},
	{"flushall", do_flushall, 1, WRITES, NONE},
};

/* A slot on the move: the old node does nothing without all keys, the new one
 * nothing with some. */
static bool at_hand(struct redis *r, const struct args *a, enum which keys)
{
	int last = keys == ALL ? a->n - 1 : keys == ONE ? 1 : 0;
	bool several = false, all = true;

	for (int i = 1; i <= last; i++) {
		several |= !same(a->at[i], a->at[1].at, a->at[1].len);
		all = all && find(r, a->at[i]);
	}
	return r->node == ANY || all || (r->node == NEW && !several);
}

static const char *refusal(const struct redis *r, const struct args *a)
{
	for (int i = 0; i < r->n_refused; i++)
		for (int k = 0; is(a->at[0], r->refused[i].command) && k < a->n;
		     k++)
			if (strcmp(r->refused[i].word, "*") == 0 ||
			    is(a->at[k], r->refused[i].word))
				return r->refused[i].error;
	return NULL;
}

static void run_command(struct redis *r, const struct args *a)
{
	const char *refused = refusal(r, a);
	const struct command *c = NULL;

	r->reply.n = 0;
	r->reply.used = 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && !c;
	     i++)
		if (is(a->at[0], commands[i].name))
			c = &commands[i];
	if (refused && *refused) {
		say_error(r, refused);
		return;
	}
	if (!c || (c->name[0] == 'x' && !r->streams)) {
		say_error(r, "ERR unknown command");
		return;
	}
	if (a->n < c->words) {
		say_error(r, "ERR wrong number of arguments");
		return;
	}
	if (!at_hand(r, a, c->keys)) {
		say_error(r, "ERR Script attempted to access a non local key "
			     "in a cluster node");
		return;
	}
	if (r->reads_only && !refused && c->flags != READS) {
		say_error(r, "ERR Write commands are not allowed from "
			     "read-only scripts.");
		return;
	}
	if (r->full && !r->wrote && c->flags == STORES) {
		say_error(r, "OOM command not allowed when used memory > "
			     "'maxmemory'.");
		return;
	}
	r->wrote |= c->flags != READS;
	c->run(r, a);
}

/* ---- Lua ---- */

static void push_bytes(lua_State *l, struct bytes b)
{
	if (b.at)
		lua_pushlstring(l, b.at, b.len);
	else
		lua_pushboolean(l, 0);
}

static void push_field(lua_State *l, const char *name, struct bytes value)
{
	lua_newtable(l);
	lua_pushstring(l, name);
	push_bytes(l, value);
	lua_rawset(l, -3);
}

/* The words of an entry, as a list. */
static void push_words(lua_State *l, const struct element *e)
{
	const char *p = e->value;

	lua_newtable(l);
	for (int i = 1; p < e->value + e->value_len; i++) {
		char *words;
		size_t len = (size_t)strtoull(p, &words, 10);

		lua_pushlstring(l, words + 1, len);
		lua_rawseti(l, -2, i);
		p = words + 1 + len;
	}
}

static void push_entries(lua_State *l, const struct reply *p)
{
	int n = p->stream ? p->stream->n : 0;

	lua_newtable(l);
	for (int i = 0; i < n && i < p->number; i++) {
		const struct element *e = &p->stream->element[n - 1 - i];

		lua_createtable(l, 2, 0);
		lua_pushlstring(l, e->text, e->len);
		lua_rawseti(l, -2, 1);
		push_words(l, e);
		lua_rawseti(l, -2, 2);
		lua_rawseti(l, -2, i + 1);
	}
}

static void push_reply(lua_State *l, const struct reply *p)
{
	switch (p->kind) {
	case REPLY_NUMBER:
		lua_pushnumber(l, (lua_Number)p->number);
		break;
	case REPLY_TEXT:
		push_bytes(l, p->text);
		break;
	case REPLY_STATUS:
		push_field(l, "ok", p->text);
		break;
	case REPLY_ERROR:
		push_field(l, "err", p->text);
		break;
	case REPLY_ARRAY:
		lua_createtable(l, p->n, 0);
		for (int i = 0; i < p->n; i++) {
			push_bytes(l, p->item[i]);
			lua_rawseti(l, -2, i + 1);
		}
		break;
	case REPLY_ENTRIES:
		push_entries(l, p);
		break;
	}
}

/* Numbers are passed on with 17 digits, not with Lua's 14. */
static struct bytes digits_of(lua_Number number, char text[32])
{
	char *at = text + 31;
	int64_t whole_part;

	/* (nearly all; printf takes far longer) */
	if (number >= 1 && number < 1e16 &&
	    number == (lua_Number)(int64_t)number) {
		whole_part = (int64_t)number;
		for (*at = '\0'; whole_part > 0; whole_part /= 10)
			*--at = (char)('0' + whole_part % 10);
		return (struct bytes){at, (size_t)(text + 31 - at)};
	}
	(void)snprintf(text, 32, "%.17g", number);
	return bytes_of(text);
}

static int call(lua_State *l)
{
	struct redis *r = lua_touserdata(l, lua_upvalueindex(1));
	bool protected = lua_toboolean(l, lua_upvalueindex(2));
	char number[ARGS_MAX][32];
	struct args a;

	a.n = lua_gettop(l);
	if (a.n < 1 || a.n > ARGS_MAX)
		return luaL_error(l, "so many arguments: %d", a.n);
	for (int i = 0; i < a.n; i++) {
		if (lua_type(l, i + 1) == LUA_TNUMBER) {
			a.at[i] = digits_of(lua_tonumber(l, i + 1), number[i]);
		} else if (lua_type(l, i + 1) == LUA_TSTRING) {
			a.at[i].at = lua_tolstring(l, i + 1, &a.at[i].len);
		} else {
			return luaL_error(l,
					  "argument %d is no string or "
					  "number",
					  i + 1);
		}
	}
	r->calls++;
	run_command(r, &a);
	push_reply(l, &r->reply);
	return r->reply.kind == REPLY_ERROR && !protected ? lua_error(l) : 1;
}

static void push_call(struct redis *r, const char *name, bool protected)
{
	lua_pushstring(r->lua, name);
	lua_pushlightuserdata(r->lua, r);
	lua_pushboolean(r->lua, protected);
	lua_pushcclosure(r->lua, call, 2);
	lua_rawset(r->lua, -3);
}

static void *take_block(struct pool *p, size_t grains)
{
	union block *b = p->free[grains];
	char *at;

	if (b) {
		p->free[grains] = b->next;
		return b;
	}
	if (p->end - p->at < (ptrdiff_t)(grains * GRAIN)) {
		b = must(malloc(SLAB));
		b->next = p->slabs;
		p->slabs = b;
		p->at = (char *)(b + 1);
		p->end = (char *)b + SLAB;
	}
	at = p->at;
	p->at += grains * GRAIN;
	return at;
}

static void give_block(struct pool *p, void *at, size_t grains)
{
	union block *b = at;

	b->next = p->free[grains];
	p->free[grains] = b;
}

/* As lua_Alloc wants it. */
static void *lua_memory(void *pool, void *old, size_t had, size_t want)
{
	size_t from = (had + GRAIN - 1) / GRAIN;
	size_t to = (want + GRAIN - 1) / GRAIN;
	void *new = NULL;

	if (from > GRAINS && to > GRAINS)
		return must(realloc(old, want));
	if (from == to)
		return old;
	if (to > 0)
		new = to > GRAINS ? must(malloc(want)) : take_block(pool, to);
	if (from > 0 && to > 0)
		memcpy(new, old, had < want ? had : want);
	if (from > GRAINS)
		free(old);
	else if (from > 0)
		give_block(pool, old, from);
	return new;
}

static void free_pool(struct pool *p)
{
	union block *next;

	for (union block *b = p->slabs; b; b = next) {
		next = b->next;
		free(b);
	}
}

static int error_reply(lua_State *l)
{
	size_t len;
	const char *text = luaL_checklstring(l, 1, &len);

	push_field(l, "err", (struct bytes){text, len});
	return 1;
}

static int no_global(lua_State *l)
{
	return luaL_error(l, "no such global: %s", lua_tostring(l, 2));
}

struct redis *redis_open(void)
{
	static const struct {
		const char *name;
		lua_CFunction open;
	} libraries[] = {{"", luaopen_base},
			 {LUA_TABLIBNAME, luaopen_table},
			 {LUA_STRLIBNAME, luaopen_string},
			 {LUA_MATHLIBNAME, luaopen_math}};
	struct redis *r = calloc(1, sizeof(*r));

	if (!r || !(r->lua = lua_newstate(lua_memory, &r->pool))) {
		free(r);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		lua_pushcfunction(r->lua, libraries[i].open);
		lua_pushstring(r->lua, libraries[i].name);
		lua_call(r->lua, 1, 0);
	}
	r->node = ANY;
	lua_newtable(r->lua);
	push_call(r, "call", false);
	push_call(r, "pcall", true);
	lua_pushcfunction(r->lua, error_reply);
	lua_setfield(r->lua, -2, "error_reply");
	lua_setglobal(r->lua, "redis");
	lua_newtable(r->lua);
	lua_pushcfunction(r->lua, no_global);
	lua_setfield(r->lua, -2, "__index");
	lua_pushcfunction(r->lua, no_global);
	lua_setfield(r->lua, -2, "__newindex");
	lua_setmetatable(r->lua, LUA_GLOBALSINDEX);
	return r;
}

static void forget_chunks(struct redis *r)
{
	for (int i = 0; i < r->chunks; i++) {
		luaL_unref(r->lua, LUA_REGISTRYINDEX, r->chunk[i].ref);
		free(r->chunk[i].text);
	}
	r->chunks = 0;
}

static void forget_saved(struct redis *r)
{
	for (int i = 0; i < r->n_saved; i++) {
		clear(&r->saved[i]);
		free(r->saved[i].name);
	}
	r->n_saved = 0;
}

void redis_close(struct redis *r)
{
	if (!r)
		return;
	redis_flush(r);
	free(r->key);
	forget_saved(r);
	free(r->saved);
	forget_chunks(r);
	free(r->twice);
	free(r->popped);
	lua_close(r->lua);
	free_pool(&r->pool);
	free(r);
}

/* ---- EVAL ---- */

void redis_inform(struct redis *r, const char *server, const char *replication)
{
	r->server = server;
	r->replication = replication;
}

int redis_calls(const struct redis *r)
{
	return r->calls;
}

void redis_instead(const char *text, const char *other)
{
	assert(n_instead < CHUNKS_MAX);
	instead[n_instead].text = text;
	instead[n_instead++].other = other;
}

void redis_edit(struct redis *r, const struct redis_edit *edits)
{
	forget_chunks(r);
	r->edits = edits;
}

/* How much of the text is this, but for blanks and ends of lines: the scripts
 * are sent without most of theirs. 0: it is something else. */
static size_t fits(const char *text, const char *words)
{
	const char *p = text;

	for (; *words; words++) {
		if (*words == ' ')
			continue;
		p += strspn(p, " \n");
		if (*p++ != *words)
			return 0;
	}
	return (size_t)(p - text);
}

static char *replaced(char *text, const struct redis_edit *e, int *found)
{
	size_t from = 0, to = strlen(e->to);
	char *at = NULL, *out;

	for (char *p = text; *p; p++) {
		if (*p == ' ' || *p == '\n' || !fits(p, e->from))
			continue;
		if ((*found)++ == 0)
			at = p;
	}
	if (!at)
		return text;
	from = fits(at, e->from);
	out = must(malloc(strlen(text) - from + to + 1));
	memcpy(out, text, (size_t)(at - text));
	memcpy(out + (at - text), e->to, to);
	memcpy(out + (at - text) + to, at + from, strlen(at + from) + 1);
	free(text);
	return out;
}

char *redis_edited(const struct redis_edit *edits, const char *text, size_t len,
		   size_t *out_len, int *found)
{
	char *out = copy_of((struct bytes){text, len});

	for (int i = 0; edits && edits[i].from; i++)
		out = replaced(out, &edits[i], &found[i]);
	*out_len = strlen(out);
	return out;
}

static int add_code(lua_State *l, const void *code, size_t len, void *buf)
{
	(void)l;
	luaL_addlstring(buf, code, len);
	return 0;
}

/* Puts the code on the stack, as a string. */
static bool push_code(struct redis *r, const char *text)
{
	luaL_Buffer buf;

	if (luaL_loadbuffer(r->lua, text, strlen(text), "@user_script"))
		return false;
	luaL_buffinit(r->lua, &buf);
	if (lua_dump(r->lua, add_code, &buf))
		return false;
	luaL_pushresult(&buf);
	return true;
}

bool redis_same_code(struct redis *r, const char *a, const char *b)
{
	return push_code(r, a) && push_code(r, b) &&
	       lua_rawequal(r->lua, -1, -3);
}

/* Puts the script on the stack, or the text of an error. A line "#!lua" before
 * it is for the server. */
static bool push_chunk(struct redis *r, struct bytes text)
{
	struct chunk *c = &r->chunk[r->chunks];
	int found[EDITS_MAX] = {0};
	struct bytes used = text;
	size_t len, skip;
	char *edited;
	int failed;

	for (int i = 0; i < r->chunks; i++)
		if (same(text, r->chunk[i].text, r->chunk[i].len)) {
			lua_rawgeti(r->lua, LUA_REGISTRYINDEX, r->chunk[i].ref);
			return true;
		}
	assert(r->chunks < CHUNKS_MAX);
	for (int i = 0; i < n_instead; i++)
		if (same(text, instead[i].text, strlen(instead[i].text)))
			used = bytes_of(instead[i].other);
	edited = redis_edited(r->edits, used.at, used.len, &len, found);
	skip = strncmp(edited, "#!", 2) == 0 ? strcspn(edited, "\n") : 0;
	failed = luaL_loadbuffer(r->lua, edited + skip, len - skip,
				 "@user_script");
	free(edited);
	if (failed)
		return false;
	lua_pushvalue(r->lua, -1);
	c->ref = luaL_ref(r->lua, LUA_REGISTRYINDEX);
	c->text = copy_of(text);
	c->len = text.len;
	r->chunks++;
	return true;
}

static void set_list(struct redis *r, const char *name,
		     const struct words *words, int from, int to)
{
	lua_createtable(r->lua, to - from, 0);
	for (int i = from; i < to; i++) {
		lua_pushlstring(r->lua, words->at[i], words->len[i]);
		lua_rawseti(r->lua, -2, i - from + 1);
	}
	lua_pushstring(r->lua, name);
	lua_insert(r->lua, -2);
	lua_rawset(r->lua, LUA_GLOBALSINDEX);
}

/* What is on the stack, as a word of the reply: of a list its words, between
 * "(" and ")". False: it ends the array. */
static bool add_word(struct redis *r, struct words *out)
{
	lua_State *l = r->lua;
	size_t len;
	const char *text;
	char *number;
	int list;

	if (out->n == WORDS_MAX)
		return true;
	number = r->number[out->n];
	switch (lua_type(l, -1)) {
	case LUA_TNIL:
		return false;
	case LUA_TNUMBER:
		(void)snprintf(number, sizeof(r->number[0]), "%" PRId64,
			       (int64_t)lua_tonumber(l, -1));
		words_add_text(out, number);
		return true;
	case LUA_TSTRING:
		text = lua_tolstring(l, -1, &len);
		words_add(out, text, len);
		return true;
	case LUA_TBOOLEAN:
		words_add_text(out, lua_toboolean(l, -1) ? "1" : "");
		return true;
	default:
		list = lua_gettop(l);
		if (lua_objlen(l, list) > LIST_MAX) {
			(void)snprintf(number, sizeof(r->number[0]),
				       "(%zu words)", lua_objlen(l, list));
			words_add_text(out, number);
			return true;
		}
		words_add_text(out, "(");
		for (int i = 1; out->n < WORDS_MAX; i++) {
			lua_rawgeti(l, list, i);
			if (lua_isboolean(l, -1) && !lua_toboolean(l, -1))
				words_add_text(out, "(nil)");
			else if (!add_word(r, out))
				break;
		}
		if (out->n < WORDS_MAX)
			words_add_text(out, ")");
		return true;
	}
}

/* An error is a text of Lua's, or a table of ours. */
static bool failed(struct redis *r, struct words *out)
{
	const char *text;

	if (lua_istable(r->lua, -1))
		lua_getfield(r->lua, -1, "err");
	text = lua_tostring(r->lua, -1);
	(void)snprintf(r->error, sizeof(r->error), "%s%s",
		       text && strncmp(text, "user_script", 11) == 0 ? "ERR "
								     : "",
		       text ? text : "ERR no text");
	words_add_text(out, r->error);
	return false;
}

/* Which node has all these keys; false: neither. */
static bool route(struct redis *r, const struct words *w, int keys)
{
	for (r->node = OLD; r->node <= NEW; r->node++) {
		int there = 0;

		for (int i = 3; i < 3 + keys; i++)
			there += find(r, (struct bytes){w->at[i], w->len[i]}) !=
				 NULL;
		if (there == keys)
			return true;
	}
	return false;
}

/* The strings of the reply stay on the stack: alive until the next EVAL. */
static bool eval(struct redis *r, const struct words *w, struct words *out)
{
	lua_State *l = r->lua;
	int keys = (int)strtol(w->at[2], NULL, 10);

	if (r->moving && !route(r, w, keys)) {
		words_add_text(out, "TRYAGAIN Multiple keys request during "
				    "rehashing of slot");
		return false;
	}

	lua_settop(l, 0);
	if (!lua_checkstack(l, 3 * WORDS_MAX))
		abort();
	set_list(r, "KEYS", w, 3, 3 + keys);
	set_list(r, "ARGV", w, 3 + keys, w->n);
	r->wrote = false;
	r->reads_only = w->len[1] > 2 && strncmp(w->at[1], "#!", 2) == 0 &&
			strstr(w->at[1], "flags=no-writes");
	r->calls = 0;
	if (!push_chunk(r, (struct bytes){w->at[1], w->len[1]}) ||
	    lua_pcall(l, 0, 1, 0) != 0)
		return failed(r, out);
	if (!lua_istable(l, -1)) {
		(void)add_word(r, out);
		return true;
	}
	lua_getfield(l, 1, "err");
	if (lua_isstring(l, -1)) {
		lua_settop(l, 1);
		return failed(r, out);
	}
	lua_settop(l, 1);
	for (int i = 1; out->n < WORDS_MAX; i++) {
		lua_rawgeti(l, 1, i);
		if (!add_word(r, out))
			break;
	}
	return true;
}

static void flatten_entry(const struct element *e, struct words *out)
{
	const char *p = e->value;

	words_add(out, e->text, e->len);
	while (p < e->value + e->value_len && out->n < WORDS_MAX) {
		char *words;
		size_t len = (size_t)strtoull(p, &words, 10);

		words_add(out, words + 1, len);
		p = words + 1 + len;
	}
}

static void flatten(struct redis *r, struct words *out)
{
	const struct reply *p = &r->reply;

	if (p->kind == REPLY_NUMBER) {
		(void)snprintf(r->number[0], sizeof(r->number[0]), "%" PRId64,
			       p->number);
		words_add_text(out, r->number[0]);
	} else if (p->kind != REPLY_ARRAY && p->kind != REPLY_ENTRIES) {
		words_add(out, p->text.at ? p->text.at : "", p->text.len);
	}
	for (int i = 0; p->kind == REPLY_ENTRIES && p->stream &&
			i < p->stream->n && i < p->number;
	     i++)
		flatten_entry(&p->stream->element[p->stream->n - 1 - i], out);
	for (int i = 0; p->kind == REPLY_ARRAY && i < p->n && i < WORDS_MAX;
	     i++)
		words_add(out, p->item[i].at ? p->item[i].at : "",
			  p->item[i].len);
}

bool redis_run(struct redis *r, const struct words *request,
	       struct words *reply)
{
	struct args a;

	*reply = (struct words){0};
	if (request->n >= 3 && strcasecmp(request->at[0], "eval") == 0) {
		bool ran = eval(r, request, reply);

		r->node = ANY;
		r->reads_only = false;
		return ran;
	}
	a.n = request->n;
	a.at[0].len = 0;
	for (int i = 0; i < a.n; i++)
		a.at[i] = (struct bytes){request->at[i], request->len[i]};
	r->wrote = false;
	run_command(r, &a);
	flatten(r, reply);
	return r->reply.kind != REPLY_ERROR;
}

/* ---- by hand ---- */

void redis_clock(struct redis *r, int64_t us)
{
	r->us = us;
}

void redis_start(struct redis *r, const char *run_id, int64_t us)
{
	redis_flush(r);
	(void)snprintf(r->run_id, sizeof(r->run_id), "%s", run_id);
	r->up_us = us;
}

void redis_full(struct redis *r, bool full)
{
	r->full = full;
}

void redis_streams(struct redis *r, bool streams)
{
	r->streams = streams;
}

void redis_refuse(struct redis *r, const char *command, const char *word,
		  const char *error)
{
	int n = command ? r->n_refused++ : 0;

	if (!command) {
		r->n_refused = 0;
		return;
	}
	assert(n < REFUSED_MAX);
	(void)snprintf(r->refused[n].command, sizeof(r->refused[n].command),
		       "%s", command);
	(void)snprintf(r->refused[n].word, sizeof(r->refused[n].word), "%s",
		       word);
	(void)snprintf(r->refused[n].error, sizeof(r->refused[n].error), "%s",
		       error);
}

void redis_move(struct redis *r, bool moving)
{
	r->moving = moving;
	for (int i = 0; i < r->n; i++)
		r->key[i].node = OLD;
	free(r->twice);
	r->twice = NULL;
}

void redis_carry(struct redis *r, int i)
{
	if (i < r->n)
		r->key[i].node = NEW;
}

const char *redis_twice(const struct redis *r)
{
	return r->twice;
}

void redis_flush(struct redis *r)
{
	while (r->n > 0)
		drop(r, &r->key[r->n - 1]);
}

static char *copy_or_null(const char *text, size_t len)
{
	return text ? copy_of((struct bytes){text, len}) : NULL;
}

static struct key copy_of_key(const struct key *k)
{
	struct key copy = *k;

	copy.name = copy_or_null(k->name, k->name_len);
	copy.text = copy_or_null(k->text, k->len);
	copy.room = k->n;
	copy.element = NULL;
	if (k->n > 0)
		copy.element =
			must(calloc((size_t)k->n, sizeof(*copy.element)));
	for (int i = 0; i < k->n; i++) {
		const struct element *e = &k->element[i];

		copy.element[i] = *e;
		copy.element[i].text = copy_or_null(e->text, e->len);
		copy.element[i].value = copy_or_null(e->value, e->value_len);
	}
	return copy;
}

void redis_save(struct redis *r)
{
	forget_saved(r);
	r->saved =
		must(realloc(r->saved, sizeof(*r->saved) * (size_t)(r->n + 1)));
	for (int i = 0; i < r->n; i++)
		r->saved[r->n_saved++] = copy_of_key(&r->key[i]);
}

void redis_set_back(struct redis *r)
{
	redis_flush(r);
	if (r->room < r->n_saved) {
		r->room = r->n_saved;
		r->key = must(
			realloc(r->key, sizeof(*r->key) * (size_t)r->room));
	}
	for (int i = 0; i < r->n_saved; i++)
		r->key[r->n++] = copy_of_key(&r->saved[i]);
}

void redis_del(struct redis *r, const char *key)
{
	struct key *k = find(r, bytes_of(key));

	if (k)
		drop(r, k);
}

const char *redis_get(struct redis *r, const char *key)
{
	struct key *k = find(r, bytes_of(key));

	return k && k->type == TYPE_STRING ? k->text : NULL;
}

const char *redis_field(struct redis *r, const char *key, const char *name)
{
	struct key *k = find(r, bytes_of(key));

	return k && k->type == TYPE_HASH ? field(k, bytes_of(name)).at : NULL;
}

int64_t redis_ends(struct redis *r, const char *key)
{
	struct key *k = find(r, bytes_of(key));

	return k ? k->ends_ms : 0;
}

const char *redis_member(struct redis *r, const char *key, int i, double *score)
{
	struct key *k = find(r, bytes_of(key));

	if (!k || k->type != TYPE_ZSET || i >= k->n)
		return NULL;
	*score = k->element[i].score;
	return k->element[i].text;
}

bool redis_take(struct redis *r, const char *key)
{
	struct key *k = find(r, bytes_of(key));

	if (!k || k->type != TYPE_LIST)
		return false;
	take_out(k, 0);
	if (k->n == 0)
		drop(r, k);
	return true;
}

const char *redis_key(struct redis *r, int i)
{
	for (int k = r->n - 1; k >= 0; k--)
		(void)find(r,
			   (struct bytes){r->key[k].name, r->key[k].name_len});
	return i < r->n ? r->key[i].name : NULL;
}

const char *redis_field_name(struct redis *r, const char *key, int i)
{
	struct key *k = find(r, bytes_of(key));

	return k && k->type == TYPE_HASH && i < k->n ? k->element[i].text
						     : NULL;
}

static bool alike(const struct key *a, const struct key *b)
{
	bool same_now = a->type == b->type && a->ends_ms == b->ends_ms &&
			a->n == b->n && a->len == b->len &&
			(a->len == 0 || memcmp(a->text, b->text, a->len) == 0);

	for (int i = 0; same_now && i < a->n; i++) {
		const struct element *x = &a->element[i];
		int at = a->type != TYPE_HASH
				 ? i
				 : element_at(b,
					      (struct bytes){x->text, x->len});
		const struct element *y = at < 0 ? NULL : &b->element[at];

		same_now = y && x->score == y->score &&
			   same((struct bytes){x->text, x->len}, y->text,
				y->len) &&
			   same((struct bytes){x->value, x->value_len},
				y->value, y->value_len);
	}
	return same_now;
}

bool redis_alike(struct redis *a, struct redis *b)
{
	bool same_now = true;

	(void)redis_key(b, 0); /* drops what is over */
	for (int i = 0; same_now && redis_key(a, i); i++) {
		const struct key *k = &a->key[i];
		const struct key *other =
			find(b, (struct bytes){k->name, k->name_len});

		same_now = other && alike(k, other);
	}
	return same_now && a->n == b->n;
}
