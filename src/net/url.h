/* SPDX-License-Identifier: MIT */
/*
 * The text of a URL: its pieces, and %XX for bytes. net/parse.c says what the
 * pieces mean.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "net/endpoint.h"

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

/* ---- schemes ---- */

struct scheme {
	const char *name, *colon; /* "redis" and "://" */
	enum endpoint_kind kind;
	bool tls;
	const char *refusal; /* why it is refused; NULL: it is accepted */
};

/* Moves *text past the scheme. NULL: not one of ours; *why says what to
 * write. */
const struct scheme *scheme_take(const char **text, struct fail *why);

/* The scheme with which endpoint_url() begins. */
const struct scheme *scheme_of(enum endpoint_kind kind, bool tls);

/* Sets the defaults. The endpoint's kind and tls must be set. Its db is -1
 * until one is given. */
void options_init(struct endpoint *ep);

/* Takes the database from the path, before the options. */
int options_take_db(struct endpoint *ep, struct span digits, struct fail *why);

/* Parses what follows the "?". */
int options_parse(struct endpoint *ep, struct span text, struct fail *why);

/* Writes "?" and the options that differ from options_init(), in a fixed order;
 * nothing if none differs. */
void options_put(const struct endpoint *ep, struct url_out *out);

/* How many bytes of a text, a URL or not, may be shown to people: up to the
 * value of "password=", or of an unknown option, which may be that one
 * misspelt. */
size_t options_shown(const char *text);

#endif
