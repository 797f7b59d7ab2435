/* SPDX-License-Identifier: MIT */
/*
 * Where a node is: a URL taken apart. A plain value; nothing to free.
 *
 *   redis://[[user][:password]@]host[:port][/db]      also valkey://
 *   unix://[[user][:password]@]/path[?db=n]
 *   redis-sentinel://[[user][:password]@]host[:port][,host[:port]...]/NAME[/db]
 *   redis-cluster://[[user][:password]@]host[:port][,host[:port]...][/0]
 *   local:[?dir=PATH&idle=DURATION]    a private server on this machine
 *                                      (run/local.h)
 *
 * rediss://, rediss-sentinel:// and rediss-cluster:// are the same with TLS;
 * each has a twin that begins with valkey, and the port is 6379, of a Sentinel
 * 26379. A host named twice in a list counts once. Behind a "?", separated by
 * "&", come options, each at most once:
 *
 *   db=N  timeout=DURATION  password-file=PATH
 *   cacert=PATH cacertdir=PATH cert=PATH key=PATH sni=NAME
 *   tls-verify=full|ca|none                             with TLS only
 *   sentinel-user=NAME sentinel-password-file=PATH
 *   sentinel-tls=yes|no                                 with Sentinel only
 *
 * User, password, path, NAME and the options' values may be percent-encoded.
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
	ENDPOINT_CLUSTER   /* whichever node has the key */
};

struct place {
	char host[256]; /* a name or an address, without brackets */
	char port[6];
};

/* By what a client is known to a server. */
struct secret {
	char user[256]; /* "": the default one */
	char password[PASSWORD_MAX];
	char file[FILE_NAME_MAX]; /* instead; read at every connect */
	bool has_password;
};

enum tls_verify {
	TLS_FULL, /* chain and name */
	TLS_CA,   /* the chain alone */
	TLS_NONE  /* anybody */
};

/* "": not given. */
struct tls_conf {
	char cacert[FILE_NAME_MAX], cacertdir[FILE_NAME_MAX];
	char cert[FILE_NAME_MAX], key[FILE_NAME_MAX];
	char sni[256]; /* also the name that is verified */
	enum tls_verify verify;
};

struct endpoint {
	enum endpoint_kind kind;
	bool tls;
	struct place at[PLACES_MAX]; /* the server, the Sentinels, or some nodes
					of the Cluster */
	int places;
	char group[256];       /* what the Sentinels call it */
	char path[SOCKET_MAX]; /* of the socket; local: is filled in by
				  run/local */
	/* local: where the socket is; "": the usual place */
	char dir[SOCKET_MAX - sizeof(LOCAL_SOCKET)];
	struct secret secret;
	struct secret sentinel; /* the same for the Sentinels */
	bool sentinel_tls;      /* as they speak it */
	struct tls_conf tls_conf;
	bool shared_scope; /* --shared-scope: nothing of this machine alone */
	int db;
	int64_t timeout_ms; /* to connect and answer; 0: not given */
	int64_t idle_ms;    /* local: stop the server after so long */
	char name[400];     /* for messages; never has the password */
};

int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why);

/* The URL again, in one form for all ways to write it, with everything that
 * *ep says (options of the command line may have been added), and with the
 * password, unless that stands in a file. Parsed, it gives *ep. */
void endpoint_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX]);

/* What was typed, for a message, also if it is no URL: "***" in place of what
 * is or may be a password, that is of all between the scheme and the last "@",
 * and of all behind "password=" or an unknown option's name. */
const char *endpoint_masked(const char *url, char buf[160]);

/* The password to use now: the file's first line, read afresh (a rotated
 * password must work in mid hold), or the one given. -1: unreadable, or open to
 * others. Empty with *has false: none. */
int secret_password(const struct secret *s, char out[PASSWORD_MAX], bool *has,
		    struct fail *why);

#endif
