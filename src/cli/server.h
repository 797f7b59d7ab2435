/* SPDX-License-Identifier: MIT */
/*
 * Where the server is, and by what we are known to it: the URL, and what the
 * other options add to it.
 *
 * What is typed wins over what the URL says; what stands in a file counts only
 * where the URL says nothing. Options that belong together (cacert and
 * cacertdir; cert and key-file) are taken from one place. SSL_CERT_FILE and
 * SSL_CERT_DIR come last.
 */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include "cli/opts.h"
#include "net/endpoint.h"

#define DEFAULT_URL "redis://127.0.0.1:6379"
#define NODE_TIMEOUT_MS 1000

struct server {
	struct endpoint endpoint;
	char url[ENDPOINT_URL_MAX]; /* all of the endpoint, in one form; without
				       a password that came by REDISCLI_AUTH */
	bool asked_for;             /* it is not the default one */
	bool by_variable;           /* the password came by REDISCLI_AUTH */
};

/* Several nodes, or a name, which may have several addresses. */
bool server_is_manifold(const struct server *s);

/* May ask for a password on the terminal. */
int server_find(struct server *s, const struct opts *o, struct fail *why);

#endif
