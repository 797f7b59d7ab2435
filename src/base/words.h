/* SPDX-License-Identifier: MIT */
/*
 * A short list of byte strings: a request to a server, or a reply flattened for
 * reading. lock/ and net/ share it, so that neither needs the other and hiredis
 * stays inside net/resp.c.
 *
 * The bytes are borrowed: a list owns nothing.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

#define WORDS_MAX 48

struct words {
	int n;
	const char *at[WORDS_MAX];
	size_t len[WORDS_MAX];
};

/* Asserts that there is room: the longest request is known in advance. */
void words_add(struct words *w, const char *bytes, size_t len);
void words_add_text(struct words *w, const char *text);

#endif
