/* SPDX-License-Identifier: MIT */
/* What to type against a key that is no good. */
#include "cli/doctor/keycure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/render.h"
#include "lock/wire/keys.h"

#define DEL_MAX 800

/* The key as an operand in a shell; "KEY" if it cannot be typed, or is too
 * long. */
const char *key_typed(const char *key, size_t len, char *buf, size_t size)
{
	char shown[CURED_KEY_MAX];
	FILE *f = fmemopen(buf, size, "w");

	(void)format_bytes(key, len, shown, sizeof(shown));
	if (f) {
		(void)fputs(key[0] == '-' ? "-k " : "", f);
		put_quoted(f, key);
		(void)fclose(f);
	}
	if (!f || len >= sizeof(shown) || strcmp(shown, key) != 0)
		(void)snprintf(buf, size, "KEY");
	return buf;
}

/* For the prompt of redis-cli: without its quotes it would be another key. */
void cure_fence(struct findings *found, const char *key, size_t len, int db)
{
	char *word = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&word, &n);
	struct keys k;

	if (!f)
		return;
	if (keys_init(&k, key, len, "") == 0) {
		put_redis_word(f, k.part[PART_STATE], k.part_len[PART_STATE]);
		keys_close(&k);
	}
	if (fclose(f) != 0)
		n = 0;
	if (n == 0 || n > DEL_MAX)
		cure(found, "delete that counter, whose name is too long "
			    "to be shown");
	else if (db != 0)
		cure(found, "HDEL %s fence, in database %d", word, db);
	else
		cure(found, "HDEL %s fence", word);
	free(word);
}
