/* SPDX-License-Identifier: MIT */
/*
 * Where a node is: a parsed URL (parse.c). A plain value; there is nothing to
 * free.
 *
 *   redis://[[user][:password]@]host[:port][/db]      also valkey://
 *   unix://[[user][:password]@]/path[?db=n]
 *   redis-sentinel://[[user][:password]@]host[:port][,host[:port]...]/NAME[/db]
 *   redis-cluster://[[user][:password]@]host[:port][,host[:port]...][/0]
 *   local:[?dir=PATH&idle=DURATION]    a private server on this machine
 *                                      (local/local.h)
 *
 * rediss://, rediss-sentinel:// and rediss-cluster:// are the same with TLS.
 * Each has an equivalent that begins with valkey. The port is 6379 by default,
 * or 26379 for a Sentinel. A host named twice in a list counts once. Options
 * follow a "?", separated by "&", each at most once:
 *
 *   db=N  timeout=DURATION  password-file=PATH
 *   cacert=PATH cacertdir=PATH cert=PATH key=PATH sni=NAME
 *   tls-verify=full|ca|none                             with TLS only
 *   sentinel-user=NAME sentinel-password-file=PATH
 *   sentinel-tls=yes|no                                 with Sentinel only
 *
 * User, password, path, NAME and the values of options may be percent-encoded.
 * "word@host" is a password. Schemes and options are in lower case, hosts in
 * any. What cannot be read without guessing is refused: other URL parsers
 * connect to host "ss" when a password holds "@" or "/", and to 127.0.0.1 when
 * told "127.1". Every refusal says what to write.
 */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define PASSWORD_MAX 2048
#define FILE_NAME_MAX 512 /* of a path in a URL, with its terminator */
#define PLACES_MAX 16
#define SOCKET_MAX 108 /* of a socket's path, with its terminator */
#define LOCAL_SOCKET "redis.sock"
#define ENDPOINT_URL_MAX 24576 /* of endpoint_url(); all fields full: 20800 */

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

int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why);

/* Writes the URL in a canonical form, with everything that *ep says (it may
 * include options of the command line) and with the password, unless that is in
 * a file. Parsing it gives *ep again. */
void endpoint_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX]);

/* What was typed, for messages, even if it is no URL. "***" replaces what is or
 * may be a password: all between the scheme and the last "@", and all after
 * "password=" or the name of an unknown option. Returns buf. */
const char *endpoint_masked(const char *url, char buf[160]);

#endif
