/* SPDX-License-Identifier: MIT */
/* All of hiredis that we use. */
#include "net/resp.h"

#include <dlfcn.h>
#include <hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "base/units.h"
#include "net/errors.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

#define WAITING_MAX 16 /* replies */
#define DEPTH_MAX 7    /* depth of nested lists */

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

struct resp {
	redisReader *reader;
	redisReplyObjectFunctions *theirs, ours;
	redisReply *last; /* the words of resp_next() point into this */
	char number[WORDS_MAX][24];
	size_t waiting; /* bytes after the last whole reply */
	bool whole;
	struct reply *tree; /* the last reply; NULL: not asked for */
};

/* For "*2147483647" hiredis would allocate, and free one by one, for seconds.
 * And both hiredis and we walk nested lists by recursion: 0.14 limits the
 * depth, 1.x does not. */
static void *make_array(const redisReadTask *task, array_size n)
{
	const struct resp *r = task->privdata;

	if ((size_t)n > (r->whole ? REPLY_WHOLE_MAX / 4 : WORDS_MAX) ||
	    r->reader->ridx > DEPTH_MAX)
		return NULL;
	return r->theirs->createArray(task, n);
}

struct resp *resp_open(bool whole)
{
	struct resp *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->reader = redisReaderCreate();
	if (!r->reader) {
		free(r);
		return NULL;
	}
	r->theirs = r->reader->fn;
	r->ours = *r->theirs;
	r->ours.createArray = make_array;
	r->reader->fn = &r->ours;
	r->reader->privdata = r;
	r->whole = whole;
	return r;
}

static void forget_last(struct resp *r)
{
	if (r->last)
		freeReplyObject(r->last);
	r->last = NULL;
	free(r->tree);
	r->tree = NULL;
}

void resp_close(struct resp *r)
{
	if (!r)
		return;
	forget_last(r);
	redisReaderFree(r->reader);
	free(r);
}

int resp_feed(struct resp *r, const char *bytes, size_t n)
{
	r->waiting += n;
	return redisReaderFeed(r->reader, bytes, n) == REDIS_OK ? 0 : -1;
}

static size_t most_of(const struct resp *r)
{
	return r->whole ? REPLY_WHOLE_MAX : REPLY_MAX;
}

bool resp_is_full(const struct resp *r)
{
	return r->waiting > WAITING_MAX * most_of(r);
}

static void add_word(struct resp *r, struct words *out, const redisReply *p)
{
	char *number = r->number[out->n];
	size_t skip;

	switch (p->type) {
	case REDIS_REPLY_STRING:
	case REDIS_REPLY_STATUS:
		words_add(out, p->str, (size_t)p->len);
		break;
	case REDIS_REPLY_ERROR:
		skip = error_wrap(p->str, (size_t)p->len);
		words_add(out, p->str + skip, (size_t)p->len - skip);
		break;
	case REDIS_REPLY_INTEGER:
		(void)snprintf(number, 24, "%lld", p->integer);
		words_add_text(out, number);
		break;
	default:
		words_add_text(out, "");
	}
}

/* From 1.0 on, hiredis also reads RESP3, even if it was not asked for: maps,
 * booleans and other types without a text. 0.14 calls that a protocol error,
 * and so do we. */
static bool is_resp2(const redisReply *p)
{
	switch (p->type) {
	case REDIS_REPLY_STRING:
	case REDIS_REPLY_STATUS:
	case REDIS_REPLY_ERROR:
	case REDIS_REPLY_INTEGER:
	case REDIS_REPLY_NIL:
		return true;
	case REDIS_REPLY_ARRAY:
		for (size_t i = 0; i < p->elements; i++)
			if (!is_resp2(p->element[i]))
				return false;
		return true;
	default:
		return false;
	}
}

enum resp_got resp_next(struct resp *r, struct words *out)
{
	void *reply = NULL;

	*out = (struct words){0};
	forget_last(r);
	if (redisReaderGetReply(r->reader, &reply) != REDIS_OK)
		return RESP_BROKEN;
	if (!reply)
		return r->waiting > most_of(r) ? RESP_TOO_LONG : RESP_NOTHING;
	r->waiting = r->reader->len - r->reader->pos;
	r->last = reply;
	if (!is_resp2(r->last)) {
		forget_last(r);
		return RESP_BROKEN;
	}
	if (r->last->type != REDIS_REPLY_ARRAY)
		add_word(r, out, r->last);
	else
		for (size_t i = 0; i < r->last->elements && i < WORDS_MAX; i++)
			add_word(r, out, r->last->element[i]);
	return r->last->type == REDIS_REPLY_ERROR ? RESP_ERROR : RESP_REPLY;
}

#define NUMBER_SIZE 24

/* Counts the replies, and the numbers among them. */
static void count(const redisReply *p, size_t *all, size_t *numbers)
{
	++*all;
	*numbers += p->type == REDIS_REPLY_INTEGER;
	for (size_t i = 0; p->type == REDIS_REPLY_ARRAY && i < p->elements; i++)
		count(p->element[i], all, numbers);
}

/* Copies *p to *to, its items to *rest and after it, and numbers as text to
 * *text. */
static void copy(const redisReply *p, struct reply *to, struct reply **rest,
		 char **text)
{
	*to = (struct reply){.kind = REPLY_NIL, .bytes = ""};
	if (p->type == REDIS_REPLY_INTEGER) {
		*to = (struct reply){.kind = REPLY_NUMBER, .bytes = *text};
		to->len = (size_t)snprintf(*text, NUMBER_SIZE, "%lld",
					   p->integer);
		*text += NUMBER_SIZE;
	} else if (p->type == REDIS_REPLY_ARRAY) {
		struct reply *first = *rest;

		*rest += p->elements;
		to->kind = REPLY_LIST;
		to->item = first;
		to->items = p->elements;
		for (size_t i = 0; i < p->elements; i++)
			copy(p->element[i], first + i, rest, text);
	} else if (p->type != REDIS_REPLY_NIL) {
		bool error = p->type == REDIS_REPLY_ERROR;
		size_t skip = error ? error_wrap(p->str, (size_t)p->len) : 0;

		to->kind = error ? REPLY_ERROR : REPLY_TEXT;
		to->bytes = p->str + skip;
		to->len = (size_t)p->len - skip;
	}
}

const struct reply *resp_whole(struct resp *r)
{
	size_t all = 0, numbers = 0;
	struct reply *rest;
	char *text;

	if (r->tree || !r->last)
		return r->tree;
	count(r->last, &all, &numbers);
	r->tree = malloc(all * sizeof(*r->tree) + numbers * NUMBER_SIZE);
	if (!r->tree)
		return NULL;
	rest = r->tree + 1;
	text = (char *)(r->tree + all);
	copy(r->last, r->tree, &rest, &text);
	return r->tree;
}

/* (Not with hiredis: its sprintf(3) for each word takes as long as everything
 * else that a request takes us.) */
#define COUNT_MAX (sizeof("$18446744073709551615\r\n") - 1)

static char *put_count(char *to, char kind, size_t n)
{
	*to++ = kind;
	to = add_number(to, (int64_t)n);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

size_t resp_room(const struct words *w)
{
	size_t n = COUNT_MAX;

	for (int i = 0; i < w->n; i++)
		n += COUNT_MAX + w->len[i] + 2;
	return n;
}

size_t resp_format(const struct words *w, char *bytes)
{
	char *to = put_count(bytes, '*', (size_t)w->n);

	for (int i = 0; i < w->n; i++) {
		to = put_count(to, '$', w->len[i]);
		memcpy(to, w->at[i], w->len[i]);
		to += w->len[i];
		*to++ = '\r';
		*to++ = '\n';
	}
	return (size_t)(to - bytes);
}

const char *resp_built_with(void)
{
	return STRING(HIREDIS_MAJOR) "." STRING(HIREDIS_MINOR) "." STRING(
		HIREDIS_PATCH);
}

void resp_running(char *buf, size_t size)
{
	char real[4096] = "";
	const char *name;
	Dl_info info;

	/* (a static program has no table of its symbols) */
	if (dladdr((void *)(uintptr_t)redisReaderCreate, &info) &&
	    !realpath(info.dli_fname, real)) {
		(void)snprintf(buf, size, "unknown");
		return;
	}
	name = strrchr(real, '/');
	/* linked into the program itself */
	if (!name || !strstr(name, "hiredis")) {
		(void)snprintf(buf, size, "%s, linked in", resp_built_with());
		return;
	}
	(void)snprintf(buf, size, "%s", name + 1);
}
