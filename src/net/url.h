/* SPDX-License-Identifier: MIT */
/*
 * The text of a URL: its pieces, and %XX for bytes. net/endpoint says what the
 * pieces mean.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

struct span { /* borrowed, not terminated */
	const char *at;
	size_t n;
};

/* Cuts *rest at the first `c`, which is dropped; returns what was before it, or
 * all if there is no `c`. */
struct span span_cut(struct span *rest, char c);

/* -1: a malformed %XX, a NUL, or more than size - 1 bytes; *why names `what` it
 * was. */
int url_decode(struct span from, char *to, size_t size, const char *what,
	       struct fail *why);

struct url_out { /* always terminated; asserts that there is room */
	char *at;
	size_t size, used;
};

void url_put(struct url_out *out, const char *text);
/* Writes letters, digits and -._~ as they are, all else as %XX. `path`: slashes
 * stay, too. */
void url_encode(struct url_out *out, const char *text, bool path);

#endif
