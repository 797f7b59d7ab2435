/* SPDX-License-Identifier: MIT */
/* Names of companion keys. */
#include "lock/wire/keys.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_LETTERS 8

static const char head[] = "redlock:{";

static const char *const part_names[PART_COUNT] = {
	[PART_STATE] = "state",      [PART_QUEUE] = "queue",
	[PART_ALIVE] = "alive",      [PART_GRANT] = "grant:",
	[PART_SHARERS] = "sharers:", [PART_ONCE] = "once",
	[PART_LOG] = "log",          [PART_NONE] = "none",
};

static uint16_t crc16(const char *p, size_t n)
{
	uint16_t crc = 0;

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
	return crc16(tag, n) % 16384;
}

/* a, b, … z, aa, ab, …: about 16,384 tries, a fraction of a millisecond, and
 * only for keys with a stray brace. */
static size_t tag_for_slot(uint16_t slot, char tag[TAG_LETTERS])
{
	size_t n = 1;

	memset(tag, 'a', TAG_LETTERS);
	while (crc16(tag, n) % 16384 != slot) {
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

/* The tag of a lock's companion keys: part of the key, or computed. */
static size_t tag_of(const char *key, size_t len, char made[TAG_LETTERS],
		     const char **tag)
{
	size_t n = len;

	*tag = key;
	if (!hash_tag(key, len, tag, &n) && memchr(key, '}', len)) {
		*tag = made;
		n = tag_for_slot(key_slot(key, len), made);
	}
	return n;
}

static char *add(char *to, const char *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

/* Adds NAME:KEY, which follows the prefix redlock:{TAG}: */
static char *add_name(const struct keys *k, char *to, const char *name,
		      const char *more)
{
	to = add(to, name, strlen(name));
	to = add(to, more, strlen(more));
	*to++ = ':';
	return add(to, k->lock, k->lock_len);
}

int keys_init(struct keys *k, const char *key, size_t len, const char *token)
{
	static const char longest[] = "slot:999";
	char made[TAG_LETTERS];
	const char *tag;
	size_t tag_len = tag_of(key, len, made, &tag);
	size_t name = sizeof(longest) + strlen(token);
	char *p;

	*k = (struct keys){.lock = key,
			   .lock_len = len,
			   .prefix = sizeof(head) - 1 + tag_len + 2};
	p = malloc((PART_COUNT + 1) * (k->prefix + name + 1 + len));
	if (!p)
		return -1;
	for (int i = 0; i <= PART_COUNT; i++) {
		char *from = p;

		p = add(p, head, sizeof(head) - 1);
		p = add(p, tag, tag_len);
		p = add(p, "}:", 2);
		if (i == PART_COUNT) {
			k->slot_lock = from;
		} else {
			k->part[i] = from;
			bool ours = i == PART_GRANT || i == PART_SHARERS;

			p = add_name(k, p, part_names[i], ours ? token : "");
			k->part_len[i] = (size_t)(p - from);
		}
	}
	return 0;
}

void keys_slot(struct keys *k, int slot)
{
	char number[12];

	if (k->slot == slot)
		return;
	k->slot = slot;
	(void)snprintf(number, sizeof(number), "%d", slot);
	k->slot_lock_len = (size_t)(add_name(k, k->slot_lock + k->prefix,
					     "slot:", number) -
				    k->slot_lock);
}

void keys_close(struct keys *k)
{
	free(k->part[0]);
	*k = (struct keys){0};
}

/* ---- from a name to its key ---- */

/* What follows the word, if the text begins with it; else NULL. */
static const char *behind(const char *from, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - from) > n && memcmp(from, word, n) == 0 ? from + n
								      : NULL;
}

/* N: */
static const char *behind_slot(const char *from, const char *end, int *slot)
{
	const char *p = from;
	int n = 0;

	for (; p < end && *p >= '0' && *p <= '9' && n < SLOTS_MAX; p++)
		n = 10 * n + *p - '0';
	if (p == from || n >= SLOTS_MAX)
		return NULL;
	*slot = n;
	return behind(p, end, ":");
}

/* TOKEN: or shared:G: */
static const char *behind_sharer(const char *from, const char *end)
{
	const char *group = behind(from, end, "shared:"), *colon;

	from = group ? group : from;
	colon = memchr(from, ':', (size_t)(end - from));
	return colon ? behind(colon, end, ":") : NULL;
}

enum key_name keys_read(const char *from, size_t len, struct key_read *out)
{
	static const struct {
		const char *word;
		enum key_name kind;
	} kinds[] = {
		{"state:", NAME_STATE}, {"slot:", NAME_SLOT},
		{"queue:", NAME_QUEUE}, {"sharers:", NAME_SHARERS},
		{"alive:", NAME_ALIVE}, {"log:", NAME_LOG},
	};
	const char *end = from + len;

	*out = (struct key_read){.kind = NAME_OTHER};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *key = behind(from, end, kinds[i].word);

		if (!key)
			continue;
		if (kinds[i].kind == NAME_SLOT)
			key = behind_slot(key, end, &out->slot);
		else if (kinds[i].kind == NAME_SHARERS)
			key = behind_sharer(key, end);
		if (!key)
			break;
		out->kind = kinds[i].kind;
		out->key = key;
		out->len = (size_t)(end - key);
		break;
	}
	return out->kind;
}

enum trace keys_trace(const char *name, size_t len, const char **key,
		      size_t *key_len)
{
	static const enum trace traces[KEY_NAMES] = {
		[NAME_STATE] = TRACE_HELD,
		[NAME_SLOT] = TRACE_HELD,
		[NAME_QUEUE] = TRACE_QUEUED,
		[NAME_LOG] = TRACE_PAST,
	};
	const char *end = name + len, *tag = behind(name, end, head);
	const char *shut = tag ? memchr(tag, '}', (size_t)(end - tag)) : NULL;
	const char *part = shut ? behind(shut, end, "}:") : NULL, *ours;
	enum trace trace = TRACE_NONE;
	struct key_read read;
	char made[TAG_LETTERS];
	size_t n;

	if (part)
		trace = traces[keys_read(part, (size_t)(end - part), &read)];
	if (trace == TRACE_NONE)
		return TRACE_NONE;
	*key = read.key;
	*key_len = read.len;
	n = tag_of(*key, *key_len, made, &ours);
	return n == (size_t)(shut - tag) && memcmp(tag, ours, n) == 0
		       ? trace
		       : TRACE_NONE;
}
