/* SPDX-License-Identifier: MIT */
/* Pieces of URLs, and percent-encoding. */
#include "net/url.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct span span_cut(struct span *rest, char c)
{
	const char *end = memchr(rest->at, c, rest->n);
	struct span first = *rest;

	if (end) {
		first.n = (size_t)(end - rest->at);
		rest->at = end + 1;
		rest->n -= first.n + 1;
	} else {
		rest->at += rest->n;
		rest->n = 0;
	}
	return first;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int url_decode(struct span from, char *to, size_t size, const char *what,
	       struct fail *why)
{
	size_t used = 0;

	for (size_t i = 0; i < from.n; i++) {
		int c = (unsigned char)from.at[i];

		if (c == '%') {
			if (i + 2 >= from.n || hex(from.at[i + 1]) < 0 ||
			    hex(from.at[i + 2]) < 0)
				return fail(why, FAIL_USAGE,
					    "%s: write %% as %%25", what);
			c = hex(from.at[i + 1]) * 16 + hex(from.at[i + 2]);
			i += 2;
		}
		if (c == 0)
			return fail(why, FAIL_USAGE, "%s: a NUL byte (%%00)",
				    what);
		if (used + 1 >= size)
			return fail(why, FAIL_USAGE,
				    "%s: longer than %zu bytes", what,
				    size - 1);
		to[used++] = (char)c;
	}
	to[used] = '\0';
	return 0;
}

void url_put(struct url_out *out, const char *text)
{
	size_t n = strlen(text);

	assert(n < out->size - out->used);
	memcpy(out->at + out->used, text, n + 1);
	out->used += n;
}

void url_encode(struct url_out *out, const char *text, bool path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";

	for (; *text != '\0'; text++) {
		char code[4] = {*text};

		if (!strchr(plain, *text) || (*text == '/' && !path))
			(void)snprintf(code, sizeof(code), "%%%02X",
				       (unsigned char)*text);
		url_put(out, code);
	}
}
