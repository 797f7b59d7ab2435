/* SPDX-License-Identifier: MIT */
/* Names of companion keys. */
#include "lock/wire/keys.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define TAG_LETTERS 8

static const char *const part_names[PART_COUNT] = {
	[PART_STATE] = "state",
	[PART_QUEUE] = "queue",
	[PART_GRANT] = "grant:",
	[PART_LOG] = "log",
};

static uint16_t crc16(uint16_t crc, const char *p, size_t n)
{
	while (n-- > 0) {
		crc ^= (uint16_t)((unsigned char)*p++ << 8);
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021
						      : crc << 1);
	}
	return crc;
}

/* The bytes between the first "{" and the next "}", if there are any. */
static bool hash_tag(const char *key, size_t len, const char **tag, size_t *n)
{
	const char *open = memchr(key, '{', len);
	const char *shut =
		open ? memchr(open, '}', len - (size_t)(open - key)) : NULL;

	if (!shut || shut == open + 1)
		return false;
	*tag = open + 1;
	*n = (size_t)(shut - open - 1);
	return true;
}

uint16_t key_slot(const char *key, size_t len)
{
	const char *tag = key;
	size_t n = len;

	(void)hash_tag(key, len, &tag, &n);
	return crc16(0, tag, n) % 16384;
}

/* a, b, … z, aa, ab, …: about 16,384 tries, a fraction of a millisecond, and
 * only for keys with a stray brace. `crc`: of what stands before it in the
 * braces. */
static size_t tag_for_slot(uint16_t slot, uint16_t crc, char tag[TAG_LETTERS])
{
	size_t n = 1;

	memset(tag, 'a', TAG_LETTERS);
	while (crc16(crc, tag, n) % 16384 != slot) {
		size_t i = n;

		while (i > 0 && tag[i - 1] == 'z')
			tag[--i] = 'a';
		if (i > 0)
			tag[i - 1]++;
		else
			n++;
	}
	return n;
}

/* What all companions of a lock begin with: the key between two texts. */
struct base {
	char before[32], after[32]; /* of the tag, what is not the key's own */
	const char *tag;            /* behind `after`: the key again; or NULL */
	const char *end;
};

static const char behind_key[] = ":redlock:", shut_tag[] = "}:";

static void base_of(const char *key, size_t len, struct base *out)
{
	const char *open = memchr(key, '{', len), *tag;
	const char *last = key + len;
	char made[TAG_LETTERS];
	uint16_t slot = 0, crc = 0;
	size_t n;

	*out = (struct base){.end = ""};
	(void)snprintf(out->after, sizeof(out->after), "%s", behind_key);
	if (hash_tag(key, len, &tag, &n))
		return;
	(void)snprintf(out->after, sizeof(out->after), "%s{", behind_key);
	out->end = shut_tag;
	if (!open && !memchr(key, '}', len)) {
		out->tag = key;
		return;
	}
	slot = key_slot(key, len);
	/* "{}": whatever follows it, there is no tag */
	if (open && open + 1 < last && open[1] == '}') {
		n = tag_for_slot(slot, 0, made);
		(void)snprintf(out->before, sizeof(out->before),
			       "redlock:{%.*s}:", (int)n, made);
		out->after[0] = '\0';
		out->end = "::";
		return;
	}
	/* "{": what follows it is part of the tag */
	if (open) {
		crc = crc16(0, open + 1, (size_t)(last - open - 1));
		crc = crc16(crc, out->after, strlen(out->after));
	}
	n = tag_for_slot(slot, crc, made);
	(void)snprintf(out->after, sizeof(out->after), "%s{%.*s", behind_key,
		       (int)n, made);
}

static size_t base_len(const struct base *b, size_t len)
{
	return strlen(b->before) + len + strlen(b->after) + (b->tag ? len : 0) +
	       strlen(b->end);
}

static char *add(char *to, const char *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

static char *add_base(char *to, const struct base *b, const char *key,
		      size_t len)
{
	to = add_text(to, b->before);
	to = add(to, key, len);
	to = add_text(to, b->after);
	if (b->tag)
		to = add(to, key, len);
	return add_text(to, b->end);
}

int keys_init(struct keys *k, const char *key, size_t len, const char *token)
{
	static const char longest[] = "grant:";
	struct base base;
	char *p;

	base_of(key, len, &base);
	*k = (struct keys){
		.lock = key, .lock_len = len, .base = base_len(&base, len)};
	p = malloc(PART_COUNT * (k->base + sizeof(longest) + strlen(token)));
	if (!p)
		return -1;
	for (int i = 0; i < PART_COUNT; i++) {
		char *from = p;

		p = add_base(p, &base, key, len);
		p = add_text(p, part_names[i]);
		if (i == PART_GRANT)
			p = add_text(p, token);
		k->part[i] = from;
		k->part_len[i] = (size_t)(p - from);
	}
	return 0;
}

void keys_close(struct keys *k)
{
	free(k->part[0]);
	*k = (struct keys){0};
}

/* ---- from a name to its key ---- */

/* Where the last such text ends; NULL: there is none. */
static const char *behind_last(const char *from, const char *end,
			       const char *text)
{
	size_t n = strlen(text);

	for (const char *p = end - n; p >= from; p--)
		if (memcmp(p, text, n) == 0)
			return p + n;
	return NULL;
}

static enum key_part read_part(const char *from, const char *end)
{
	for (int i = 0; i < PART_COUNT; i++)
		if (i != PART_GRANT &&
		    (size_t)(end - from) == strlen(part_names[i]) &&
		    memcmp(from, part_names[i], strlen(part_names[i])) == 0)
			return (enum key_part)i;
	return PART_NONE;
}

/* Where the key stands in a base, if it is one; else NULL. */
static const char *key_in(const char *base, const char *end, const char *last,
			  size_t *len)
{
	const char *from = base, *to = NULL;

	if (last == shut_tag) {
		to = behind_last(base, end, ":redlock:{");
		to = to ? to - sizeof(":redlock:{") + 1 : NULL;
	} else if (last == behind_key) {
		to = end - sizeof(behind_key) + 1;
	} else {
		from = memmem(base, (size_t)(end - base), shut_tag, 2);
		from = from ? from + 2 : NULL;
		to = end - 2;
	}
	if (!from || !to || to <= from)
		return NULL;
	*len = (size_t)(to - from);
	return from;
}

/* Whether the key's companions begin with that. */
static bool is_base(const char *base, size_t n, const char *key, size_t len)
{
	struct base b;
	const char *p = base;

	base_of(key, len, &b);
	if (base_len(&b, len) != n ||
	    memcmp(p, b.before, strlen(b.before)) != 0 ||
	    key != p + strlen(b.before))
		return false;
	p = key + len;
	if (memcmp(p, b.after, strlen(b.after)) != 0)
		return false;
	p += strlen(b.after);
	if (b.tag && memcmp(p, key, len) != 0)
		return false;
	return memcmp(base + n - strlen(b.end), b.end, strlen(b.end)) == 0;
}

enum key_part keys_read(const char *name, size_t len, struct key_read *out)
{
	const char *const ends[] = {shut_tag, behind_key, "::"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *word = behind_last(name, name + len, ends[i]);
		enum key_part part =
			word ? read_part(word, name + len) : PART_NONE;

		if (part == PART_NONE)
			continue;
		out->key = key_in(name, word, ends[i], &out->len);
		if (out->key &&
		    is_base(name, (size_t)(word - name), out->key, out->len))
			return part;
	}
	*out = (struct key_read){0};
	return PART_NONE;
}
