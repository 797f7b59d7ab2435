/* SPDX-License-Identifier: MIT */
/*
 * The servers of a run: one, or several that know nothing of each other and of
 * which most must agree. They are in an order of their own, the same for
 * whoever names the same ones: it is part of what a nested run goes by.
 */
#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include "cli/server.h"

/* To be added when nobody answers and no server was named. */
#define NAME_A_SERVER                                                          \
	"; name a server with -u or REDLOCK_URL, or use -u local: for locks "  \
	"on this machine alone"

struct servers {
	struct endpoint endpoint[NODES_MAX];
	int n;
	char url[NODES_MAX * ENDPOINT_URL_MAX]; /* of all of the endpoints, each
						   in one form, with blanks
						   between; without a password
						   that came by REDISCLI_AUTH */
	bool asked_for;                         /* it is not the default one */
};

/* May ask for a password on the terminal, once. */
int servers_find(struct servers *s, const struct opts *o, struct fail *why);

/* One of them is several nodes, or a name, which may have several addresses. */
bool servers_are_manifold(const struct servers *s);

/* To connect and answer while acquiring: as said anywhere, or as is usual. */
int64_t servers_timeout(const struct servers *s, int64_t ttl_ms);

/* How long a server must be up before it has a say; 0: it always has. */
int64_t servers_guard(const struct servers *s, const struct opts *o);

#endif
