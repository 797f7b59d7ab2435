/* SPDX-License-Identifier: MIT */
/*
 * How a URL begins: the schemes, and advice for who wrote none. For
 * net/endpoint alone. Schemes are written in lower case.
 */
#ifndef NET_SCHEME_H
#define NET_SCHEME_H

#include "net/endpoint.h"

struct scheme {
	const char *name, *colon; /* "redis" and "://" */
	enum endpoint_kind kind;
	bool tls;
	const char *refusal; /* NULL: one of ours */
};

/* Moves *text behind it. NULL: none of ours; what to write is said. */
const struct scheme *scheme_take(const char **text, struct fail *why);

/* How endpoint_url() begins. */
const struct scheme *scheme_of(enum endpoint_kind kind, bool tls);

#endif
