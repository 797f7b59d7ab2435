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
