/* SPDX-License-Identifier: MIT */
/*
 * The servers of a run: one, or several independent ones of which a majority
 * must agree. They are sorted, so that the order is the same for every run that
 * names the same servers: a nested run depends on it.
 */
#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include "cli/server.h"

/* Added to the message when nobody answers and no server was named. */
#define NAME_A_SERVER                                                          \
	"; name a server with -u or REDLOCK_URL, or use -u local: for locks "  \
	"on this machine alone"

struct servers {
	int n;
	bool asked_for;            /* not the default server */
	struct endpoint *endpoint; /* owned */
	char *url; /* owned: of all endpoints, each in canonical form, separated
		      by blanks; without a password from REDISCLI_AUTH */
};

/* *s must be all zero at first. May ask for a password on the terminal, once.
 */
int servers_find(struct servers *s, const struct opts *o, struct fail *why);

/* Whether one is several nodes, or a name, which may have several addresses. */
bool servers_are_manifold(const struct servers *s);

/* The time to connect and answer while acquiring, in ms: the one given, or the
 * usual one. */
int64_t servers_timeout(const struct servers *s, int64_t ttl_ms);

/* How long, in ms, a server must be up before it votes; 0: it always does. */
int64_t servers_guard(const struct servers *s, const struct opts *o);

#endif
