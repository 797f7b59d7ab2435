/* SPDX-License-Identifier: MIT */
/*
 * The options of a URL, "?name=value&...". One table has their names, where
 * each goes, how it is parsed and written, and in which URLs it is valid. Only
 * for net/endpoint; net/endpoint.h lists them for people.
 */
#ifndef NET_OPTIONS_H
#define NET_OPTIONS_H

#include "net/endpoint.h"
#include "net/url.h"

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
