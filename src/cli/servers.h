/* SPDX-License-Identifier: MIT */
/*
 * The servers of a run: one, or several independent ones of which a majority
 * must agree. They are sorted, so that the order is the same for every run that
 * names the same servers: a nested run depends on it.
 */
#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include "cli/opts.h"
#include "net/endpoint.h"

/* ---- one server ---- */

#define DEFAULT_URL "redis://127.0.0.1:6379"

/* Parses only URL number `at`; the default URL if there are none. */
int server_parse(struct endpoint *ep, const struct opts *o, int at,
		 struct fail *why);

bool server_has_tls(const struct endpoint *ep);

/* Adds the options to *ep. May ask for a password on the terminal and leave it
 * in `typed`, unless `typed` already has one from another server. */
int server_merge(struct endpoint *ep, const struct opts *o, int at,
		 char typed[PASSWORD_MAX], struct fail *why);

/* endpoint_url() for a nested run, whose files may set differently what the URL
 * leaves out. Returns its length. */
size_t server_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX]);

/* Takes the password of a variable, which is passed on in that variable and so
 * must not be in the URL. Then the final checks; a password command has until
 * `limit`. */
int server_login(struct endpoint *ep, struct instant limit, struct fail *why);

/* ---- the list ---- */

/* Added to the message when nobody answers and no server was named. */
#define NAME_A_SERVER                                                          \
	"; name a server with -u, REDLOCK_URL or a configuration file, or "    \
	"use "                                                                 \
	"-u local: for locks on this machine alone"

struct servers {
	int n;
	struct instant began; /* when the time of -w began: after a person was
				 asked for a password */
	struct instant limit; /* when it is over; NEVER with -w 0, too */
	bool asked_for;       /* not the default server */
	struct endpoint *endpoint; /* owned */
	char *url; /* in the same block: of all endpoints, each in canonical
		      form, separated by blanks; without a password from
		      REDISCLI_AUTH */
};

/* *s must be all zero at first. May ask for a password on the terminal, once.
 */
int servers_find(struct servers *s, const struct opts *o, struct fail *why);

/* Whether one is several nodes, or a name, which may have several addresses. */
bool servers_may_move(const struct servers *s);

/* The time to connect and answer while acquiring, in ms: the one given, or the
 * usual one. */
int64_t servers_timeout(const struct servers *s, int64_t ttl_ms);

/* How long, in ms, a server must be up before it votes; 0: it always does. */
int64_t servers_guard(const struct servers *s, const struct opts *o);

#endif
