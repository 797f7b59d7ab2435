/* SPDX-License-Identifier: MIT */
/*
 * Getting connected, a part of a conn: the Sentinels are asked, the name is
 * looked up, the addresses are tried one after the other, and of a Cluster the
 * nodes as well.
 *
 * Only conn.c calls this; the helpers at the end are conn.c's, for dial.c. Each
 * returns -1 when the connection is broken.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "net/conn.h"

/* Until it is CONN_CONNECTING; then dial_now(), once something is to be sent.
 */
int dial_start(struct conn *c);
int dial_now(struct conn *c);
/* Something came of what the state waits for. */
int dial_step(struct conn *c);
/* The address in use is no good. */
int dial_on(struct conn *c);

/* The cause stays in c->why; conn_next() then reports what was owed. */
int conn_broken(struct conn *c);
int conn_broken_by(struct conn *c, enum fail_kind kind, const char *what);
/* errno says why, unless TLS does. */
int conn_broken_sys(struct conn *c, const char *what);
int conn_flush(struct conn *c);

#endif
