/* SPDX-License-Identifier: MIT */
/*
 * "host", "host:port", "address:port", "[IPv6 address]:port". All spellings
 * give one form: names in lower case, IPv6 as inet_ntop(3) writes it, always
 * with a port, which has no leading zeros.
 */
#ifndef NET_PLACE_H
#define NET_PLACE_H

#include "net/endpoint.h"

struct span { /* borrowed, not terminated */
	const char *at;
	size_t n;
};

/* Cuts *rest at the first `c`, which is dropped; returns the part before it, or
 * all if there is no `c`. */
struct span span_cut(struct span *rest, char c);

#define PLACE_TEXT_MAX (sizeof(struct place) + 3)

int place_parse(struct place *p, struct span text, const char *usual_port,
		struct fail *why);

/* The same for a place that a server tells us: the host has no brackets and may
 * be in any case. Returns -1 for a place that no URL could name. */
int place_told(struct place *p, struct span host, struct span port);

bool place_same(const struct place *a, const struct place *b);

/* Whether it is a name or an address for which a certificate can be checked.
 * OpenSSL takes ".evil.com" to match every name that ends so. */
bool place_is_host(const char *text);

/* With the port, and with brackets if needed. Returns buf. */
const char *place_text(const struct place *p, char buf[PLACE_TEXT_MAX]);

#endif
