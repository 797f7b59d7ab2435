/* SPDX-License-Identifier: MIT */
/*
 * A server's reply in full: lists within lists. For the verbs that look at what
 * is there and do not know how much that is. For questions with a reply of
 * known shape see words.h.
 *
 * The bytes are borrowed from the maker of the reply. A NUL follows them, which
 * `len` does not count.
 */
#ifndef BASE_REPLY_H
#define BASE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reply_kind {
	REPLY_NIL,
	REPLY_TEXT,
	REPLY_NUMBER, /* the bytes are its text */
	REPLY_ERROR,
	REPLY_LIST
};

struct reply {
	enum reply_kind kind;
	const char *bytes; /* never NULL */
	size_t len;
	const struct reply *item; /* of a list; borrowed */
	size_t items;
};

/* Never NULL: an item past the end, or of something other than a list, is
 * nil. */
const struct reply *reply_item(const struct reply *r, size_t i);

/* Whether the reply has this shape: a reply of another one is an error, never
 * an empty answer. A letter is an item: s a text or number, v the same or nil,
 * x anything. A list is written [...]; it may have more items at its end. A *
 * after an item or list: any number of them, and nothing else, up to the list's
 * end. */
bool reply_is(const struct reply *r, const char *shape);

/* A whole number of at least 0, even if it was sent as text; else `none`. */
int64_t reply_number(const struct reply *r, int64_t none);
/* The same for ms: limited to AGES_MS. */
int64_t reply_ms(const struct reply *r, int64_t none);

#endif
