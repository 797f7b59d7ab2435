/* SPDX-License-Identifier: MIT */
/* Names of companion keys. */
#include "lock/keys.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TAG_LETTERS 8

static const char *const part_names[PART_COUNT] = {
	[PART_FENCE] = "fence",
	[PART_HOLDER] = "holder",
	[PART_GRANT] = "grant:",
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

static char *add(char *to, const char *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

int keys_init(struct keys *k, const char *key, size_t len, const char *token)
{
	static const char head[] = "redlock:{";
	const char *tag = key;
	size_t tag_len = len, total = 0;
	char made[TAG_LETTERS];
	char *p;

	if (!hash_tag(key, len, &tag, &tag_len) && memchr(key, '}', len)) {
		tag = made;
		tag_len = tag_for_slot(key_slot(key, len), made);
	}
	*k = (struct keys){.lock = key, .lock_len = len};
	for (int i = 0; i < PART_COUNT; i++) {
		k->part_len[i] = sizeof(head) - 1 + tag_len + 2 +
				 strlen(part_names[i]) + 1 + len +
				 (i == PART_GRANT ? strlen(token) : 0);
		total += k->part_len[i];
	}
	p = malloc(total);
	if (!p)
		return -1;
	for (int i = 0; i < PART_COUNT; i++) {
		k->part[i] = p;
		p = add(p, head, sizeof(head) - 1);
		p = add(p, tag, tag_len);
		p = add(p, "}:", 2);
		p = add(p, part_names[i], strlen(part_names[i]));
		if (i == PART_GRANT)
			p = add(p, token, strlen(token));
		*p++ = ':';
		p = add(p, key, len);
	}
	return 0;
}

void keys_close(struct keys *k)
{
	free(k->part[0]);
	*k = (struct keys){0};
}
