/* SPDX-License-Identifier: MIT */
/* A short list of byte strings. */
#include "base/words.h"

#include <assert.h>
#include <string.h>

void words_add(struct words *w, const char *bytes, size_t len)
{
	assert(w->n < WORDS_MAX);
	w->at[w->n] = bytes;
	w->len[w->n++] = len;
}

void words_add_text(struct words *w, const char *text)
{
	words_add(w, text, strlen(text));
}
