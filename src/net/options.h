/* SPDX-License-Identifier: MIT */
/*
 * The options of a URL, "?name=value&...": one table says what each is called,
 * where it goes, how it is read and written, and in which URLs it makes sense.
 * For net/endpoint alone; net/endpoint.h lists them for people.
 */
#ifndef NET_OPTIONS_H
#define NET_OPTIONS_H

#include "net/endpoint.h"
#include "net/url.h"

/* What holds without any option: of an endpoint whose kind and tls are set. Its
 * db is -1 until one is named. */
void options_init(struct endpoint *ep);

/* The database of the path, before the options. */
int options_take_db(struct endpoint *ep, struct span digits, struct fail *why);

/* Reads what stands behind the "?". */
int options_parse(struct endpoint *ep, struct span text, struct fail *why);

/* "?" and what differs from options_init(), in one order; nothing when nothing
 * does. */
void options_put(const struct endpoint *ep, struct url_out *out);

/* How much of a text, a URL or not, may be shown to people: up to the value of
 * "password=", or of an option that is none of ours and may be a misspelt
 * one. */
size_t options_shown(const char *text);

#endif
