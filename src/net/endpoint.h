/* SPDX-License-Identifier: MIT */
/*
 * Where a node is: a URL taken apart. A plain value; nothing to free.
 *
 *   redis://[[user][:password]@]host[:port][/db]      also valkey://
 *   unix:///path[?db=n]
 *   local:[?idle=DURATION]      a private server on this machine (run/local.h)
 *
 * User, password and path may be percent-encoded. "word@host" is a password.
 * What cannot be read without guessing is refused: other URL parsers connect
 * to host "ss" when a password holds "@" or "/".
 */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define PASSWORD_MAX 2048

enum endpoint_kind { ENDPOINT_TCP, ENDPOINT_UNIX, ENDPOINT_LOCAL };

struct endpoint {
	enum endpoint_kind kind;
	char host[256];
	char port[6];
	char path[108]; /* of the socket; local: is filled in by run/local */
	char user[256];
	char password[PASSWORD_MAX];
	const char *password_file; /* borrowed; read at every connect */
	bool has_password;
	int db;
	int64_t idle_ms; /* local: stop the server after so long */
	char name[400];  /* for messages; never has the password */
};

/* `password_file` and `user` stay as they are: the caller sets them after. */
int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why);

/* The password to use now: the file's first line, read afresh (a rotated
 * password must work in mid hold), or the URL's. -1: unreadable, or open to
 * others. Empty with *has false: none. */
int endpoint_password(const struct endpoint *ep, char out[PASSWORD_MAX],
		      bool *has, struct fail *why);

#endif
