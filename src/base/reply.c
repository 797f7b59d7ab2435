/* SPDX-License-Identifier: MIT */
/* What a server said. */
#include "base/reply.h"

#include <string.h>

#include "base/units.h"

const struct reply *reply_item(const struct reply *r, size_t i)
{
	static const struct reply nil = {.kind = REPLY_NIL, .bytes = ""};

	return i < r->items ? &r->item[i] : &nil;
}

static const char *past(const char *shape)
{
	int depth = 0;

	do
		depth += *shape == '[' ? 1 : *shape == ']' ? -1 : 0;
	while (*shape++ && depth > 0);
	return shape;
}

/* (Recursion as deep as the shape, not the reply.) */
bool reply_is(const struct reply *r, const char *shape)
{
	bool scalar = r->kind == REPLY_TEXT || r->kind == REPLY_NUMBER;
	size_t i = 0;

	if (*shape != '[')
		return scalar || *shape == 'x' ||
		       (*shape == 'v' && r->kind == REPLY_NIL);
	if (r->kind != REPLY_LIST)
		return false;
	for (shape++; *shape != ']'; shape = past(shape)) {
		if (*past(shape) != '*') {
			if (i == r->items || !reply_is(&r->item[i++], shape))
				return false;
			continue;
		}
		for (; i < r->items; i++)
			if (!reply_is(&r->item[i], shape))
				return false;
		return true;
	}
	return true;
}

int64_t reply_number(const struct reply *r, int64_t none)
{
	int64_t n = -1;

	if (strlen(r->bytes) == r->len)
		n = parse_number(r->bytes, 0, INT64_MAX / 2);
	return n < 0 ? none : n;
}

int64_t reply_ms(const struct reply *r, int64_t none)
{
	return at_most(reply_number(r, none), AGES_MS);
}
