/* SPDX-License-Identifier: MIT */
/* Where a node is: a parsed URL (cli/url.h). A plain value; there is nothing to
 * free. */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* With its terminator. Tokens are long, and servers read no more before they
 * know a client. */
#define PASSWORD_MAX (16384 + 1)
#define FILE_NAME_MAX 512 /* of a path in a URL, with its terminator */
#define PLACES_MAX 16
#define SOCKET_MAX 108 /* of a socket's path, with its terminator */
#define LOCAL_SOCKET "redis.sock"
#define ENDPOINT_URL_MAX 65536 /* of endpoint_url(); all fields full: 63811 */

enum endpoint_kind {
	ENDPOINT_TCP,
	ENDPOINT_UNIX,
	ENDPOINT_LOCAL,
	ENDPOINT_SENTINEL, /* the master of a group */
	ENDPOINT_CLUSTER   /* the node that has the key */
};

struct place {
	char host[256]; /* a name or an address, without brackets */
	char port[6];
};

/* How a client identifies itself to a server. */
struct secret {
	char user[256]; /* "": the default user */
	char password[PASSWORD_MAX];
	char file[FILE_NAME_MAX]; /* password file; read at each connect */
	bool has_password;
	bool by_command; /* net/password.h tells it */
};

enum tls_verify {
	TLS_FULL, /* chain and name */
	TLS_CA,   /* only the chain */
	TLS_NONE  /* nothing */
};

/* "" means: not given. */
struct tls_conf {
	char cacert[FILE_NAME_MAX], cacertdir[FILE_NAME_MAX];
	char cert[FILE_NAME_MAX], key[FILE_NAME_MAX];
	char sni[256]; /* also the name that the certificate must have */
	enum tls_verify verify;
};

struct endpoint {
	enum endpoint_kind kind;
	bool tls;
	struct place at[PLACES_MAX]; /* the server, the Sentinels, or some nodes
					of the Cluster */
	int places;
	char group[256];       /* the name that the Sentinels know */
	char path[SOCKET_MAX]; /* of the socket; for local: local/local fills it
				  in */
	/* local: the directory of the socket; "": the usual one */
	char dir[SOCKET_MAX - sizeof(LOCAL_SOCKET)];
	struct secret secret;
	struct secret sentinel; /* the one for the Sentinels */
	bool sentinel_tls;      /* the Sentinels use TLS */
	struct tls_conf tls_conf;
	bool shared_scope; /* --shared-scope: refuse what only this machine can
			      reach */
	int db;
	int64_t timeout_ms; /* to connect and answer; 0: not given */
	int64_t idle_ms;    /* local: stop the server when idle for this long */
	char name[400];     /* for messages; without the password */
};

#endif
