/* SPDX-License-Identifier: MIT */
/*
 * What a server said, whole: lists within lists. It is for those who look at
 * what is there, and do not know how much that is; who asks a question of a
 * known shape has words.h.
 *
 * The bytes are borrowed from whoever made it, and end with a NUL that does not
 * count.
 */
#ifndef BASE_REPLY_H
#define BASE_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum reply_kind {
	REPLY_NIL,
	REPLY_TEXT,
	REPLY_NUMBER, /* as text, too */
	REPLY_ERROR,
	REPLY_LIST
};

struct reply {
	enum reply_kind kind;
	const char *bytes; /* never NULL */
	size_t len;
	const struct reply *item; /* of a list */
	size_t items;
};

/* What is missing is nil: an item behind the last, or of what is no list. */
const struct reply *reply_item(const struct reply *r, size_t i);

/* A whole number of at least 0, also one that was sent as text; else `none`. */
int64_t reply_number(const struct reply *r, int64_t none);
/* Likewise, in ms: see AGES_MS. */
int64_t reply_ms(const struct reply *r, int64_t none);

#endif
