/* SPDX-License-Identifier: MIT */
/*
 * How a URL begins: the schemes, and advice for those who wrote none. Only for
 * net/endpoint. Schemes are written in lower case.
 */
#ifndef NET_SCHEME_H
#define NET_SCHEME_H

#include "net/endpoint.h"

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

#endif
