/* SPDX-License-Identifier: MIT */
/*
 * "host", "host:port", "address:port", "[IPv6 address]:port". One form for all
 * ways to write one: names in lower case, IPv6 as inet_ntop(3) has it, the port
 * always there and without zeros in front.
 */
#ifndef NET_PLACE_H
#define NET_PLACE_H

#include "net/endpoint.h"
#include "net/url.h"

#define PLACE_TEXT_MAX (sizeof(struct place) + 3)

int place_parse(struct place *p, struct span text, const char *usual_port,
		struct fail *why);

/* The same of what a server tells of another: the host without brackets, in any
 * case. What no URL could name is refused: -1. */
int place_told(struct place *p, struct span host, struct span port);

/* A name or an address, which a certificate can be asked for. OpenSSL takes
 * ".evil.com" for all that ends so. */
bool place_is_host(const char *text);

/* With its port, and brackets if it needs them. Returns buf. */
const char *place_text(const struct place *p, char buf[PLACE_TEXT_MAX]);

#endif
