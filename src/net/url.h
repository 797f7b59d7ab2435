/* SPDX-License-Identifier: MIT */
/*
 * The text of a URL: pieces of it, and the bytes that are written %XX. What the
 * pieces mean is said in net/endpoint.
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

/* Up to the first `c`, which goes as well; all of it when there is none. */
struct span span_cut(struct span *rest, char c);

/* -1: a broken %XX, a NUL, or longer than size - 1 bytes; `what` it was is
 * said. */
int url_decode(struct span from, char *to, size_t size, const char *what,
	       struct fail *why);

struct url_out { /* terminated; asserts that there is room */
	char *at;
	size_t size, used;
};

void url_put(struct url_out *out, const char *text);
/* Letters, digits and -._~ as they are, everything else %XX; in a path the
 * slashes stay. */
void url_encode(struct url_out *out, const char *text, bool path);

#endif
