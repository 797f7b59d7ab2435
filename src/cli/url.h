/* SPDX-License-Identifier: MIT */
/*
 * The URL of a node.
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
#ifndef CLI_URL_H
#define CLI_URL_H

#include "net/endpoint.h"

int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why);

/* Writes the URL in a canonical form, with everything that *ep says (it may
 * include options of the command line) and with the password, unless that is in
 * a file. Parsing it gives *ep again. */
void endpoint_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX]);

#endif
