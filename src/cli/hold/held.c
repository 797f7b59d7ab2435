/* SPDX-License-Identifier: MIT */
/* REDLOCK_HELD. */
#include "cli/hold/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ident.h"
#include "lock/wire/keys.h"
#include "base/units.h"

static uint64_t hash(const char *text)
{
	return hash_bytes(text, strlen(text));
}

const char *held_token(const struct granted *g, const struct lease_outer *outer)
{
	return g->joined && g->group == 0 ? outer->token : g->token;
}

size_t held_word(const struct granted *g, const struct lease_outer *outer,
		 int64_t ttl_ms, const char *key, const char *url,
		 char word[HELD_WORD_MAX])
{
	if (g->joined && outer->ttl_ms > ttl_ms)
		ttl_ms = outer->ttl_ms;
	return (size_t)snprintf(word, HELD_WORD_MAX,
				"%s:%" PRId64 ":%d:%" PRId64 ":%" PRId64
				":%016" PRIx64 ":%016" PRIx64,
				held_token(g, outer), g->fence, g->slot,
				g->group, ttl_ms, hash(key), hash(url));
}

enum {
	WORD_TOKEN,
	WORD_FENCE,
	WORD_SLOT,
	WORD_GROUP,
	WORD_TTL,
	WORD_KEY,
	WORD_URL
};
#define WORD_FIELDS (WORD_URL + 1)
#define HASH_LEN 16

/* false: redlock did not write this. */
static int read_word(char *text, char *field[WORD_FIELDS],
		     struct lease_outer *out)
{
	int64_t slot;

	for (int i = 0; i < WORD_FIELDS; i++) {
		field[i] = strsep(&text, ":");
		if (!field[i])
			return -1;
	}
	if (text || strlen(field[WORD_TOKEN]) != TOKEN_SIZE - 1)
		return -1;
	*out = (struct lease_outer){
		.fence = parse_number(field[WORD_FENCE], 0, INT64_MAX / 2),
		.group = parse_number(field[WORD_GROUP], 0, INT64_MAX / 2),
		.ttl_ms = parse_number(field[WORD_TTL], 0, INT64_MAX / 4)};
	slot = parse_number(field[WORD_SLOT], 0, SLOTS_MAX - 1);
	if (out->fence < 0 || out->group < 0 || out->ttl_ms < 0 || slot < 0)
		return -1;
	out->slot = (int)slot;
	memcpy(out->token, field[WORD_TOKEN], TOKEN_SIZE);
	return 0;
}

static bool is_hash_of(const char *field, const char *text)
{
	char its[HASH_LEN + 1];

	(void)snprintf(its, sizeof(its), "%016" PRIx64, hash(text));
	return strcmp(field, its) == 0;
}

/* The first word for this key, preferably on this server. */
void held_find(const char *words, const char *key, const char *url,
	       struct lease_outer *out)
{
	*out = (struct lease_outer){0};
	for (; words && *words && !out->here; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");
		char text[HELD_WORD_MAX], *field[WORD_FIELDS];
		struct lease_outer its;

		if (n < sizeof(text)) {
			memcpy(text, words, n);
			text[n] = '\0';
			if (read_word(text, field, &its) == 0 &&
			    is_hash_of(field[WORD_KEY], key)) {
				its.here = is_hash_of(field[WORD_URL], url);
				if (its.here || out->token[0] == '\0')
					*out = its;
			}
		}
		words += n;
	}
}
