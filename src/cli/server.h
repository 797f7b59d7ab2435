/* SPDX-License-Identifier: MIT */
/*
 * Where a server is, and how we identify ourselves to it: its URL, and what
 * other options add. For servers.h, which has the list of servers.
 *
 * An option on the command line overrides the URL; one in a file counts only if
 * the URL does not say. Options that belong together (cacert and cacertdir;
 * cert and key-file) are taken from one place. SSL_CERT_FILE and SSL_CERT_DIR
 * come last.
 */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include "cli/opts.h"
#include "net/endpoint.h"

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
 * must not be in the URL. Then the final checks. */
int server_login(struct endpoint *ep, struct fail *why);

#endif
