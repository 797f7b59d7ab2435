/* SPDX-License-Identifier: MIT */
/* REDLOCK_HELD. */
#include "cli/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static uint64_t hash(const char *key, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)key[i]) * 0x100000001b3ULL;
	return h;
}

const char *held_token(const struct granted *g, const struct lease_outer *outer)
{
	return g->joined && g->group == 0 ? outer->token : g->token;
}

size_t held_word(const struct granted *g, const struct lease_outer *outer,
		 const char *key, size_t key_len, char word[HELD_WORD_MAX])
{
	return (size_t)snprintf(word, HELD_WORD_MAX,
				"%s:%" PRId64 ":%d:%" PRId64 ":%016" PRIx64,
				held_token(g, outer), g->fence, g->slot,
				g->group, hash(key, key_len));
}

/* What is not of our making is none. */
static int read_word(const char *word, size_t n, struct lease_outer *out,
		     char key_hash[17])
{
	char text[HELD_WORD_MAX], *field[5], *p = text;
	int64_t slot;

	if (n >= sizeof(text))
		return -1;
	memcpy(text, word, n);
	text[n] = '\0';
	for (int i = 0; i < 5; i++) {
		field[i] = strsep(&p, ":");
		if (!field[i])
			return -1;
	}
	if (p || strlen(field[0]) != TOKEN_SIZE - 1 || strlen(field[4]) != 16)
		return -1;
	*out = (struct lease_outer){
		.fence = parse_number(field[1], 0, INT64_MAX / 2),
		.group = parse_number(field[3], 0, INT64_MAX / 2)};
	slot = parse_number(field[2], 0, SLOTS_MAX - 1);
	if (out->fence < 0 || out->group < 0 || slot < 0)
		return -1;
	out->slot = (int)slot;
	memcpy(out->token, field[0], TOKEN_SIZE);
	memcpy(key_hash, field[4], 17);
	return 0;
}

void held_find(const char *words, const char *key, size_t key_len,
	       struct lease_outer *out)
{
	char want[17], has[17];

	(void)snprintf(want, sizeof(want), "%016" PRIx64, hash(key, key_len));
	for (; words && *words; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");

		if (read_word(words, n, out, has) == 0 &&
		    strcmp(want, has) == 0)
			return;
		words += n;
	}
	*out = (struct lease_outer){0};
}
