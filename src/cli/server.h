/* SPDX-License-Identifier: MIT */
/*
 * Where a server is, and by what we are known to it: its URL, and what the
 * other options add to that. For servers.h, which has the list of them.
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

/* The URL number `at` alone; the default one if there is none at all. */
int server_parse(struct endpoint *ep, const struct opts *o, int at,
		 struct fail *why);

bool server_has_tls(const struct endpoint *ep);

/* Adds the options to it. May ask for a password on the terminal, unless
 * `typed` has one, of another server, and leaves it there. */
int server_merge(struct endpoint *ep, const struct opts *o, int at,
		 char typed[PASSWORD_MAX], struct fail *why);

/* endpoint_url() for a nested run, whose files might say otherwise of what is
 * left out there. Returns its length. */
size_t server_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX]);

/* The password by a variable, which goes on by it and so is not to be in the
 * URL; and the last look. */
int server_login(struct endpoint *ep, struct fail *why);

#endif
