/* SPDX-License-Identifier: MIT */
/*
 * Connecting, a part of a conn: asks the Sentinels, looks the name up, and
 * tries one address after another; for a Cluster, one node after another as
 * well.
 *
 * Only conn.c calls this; the functions at the end are conn.c's, for dial.c.
 * Each returns -1 when the connection is broken.
 *
 * Larger than most: it has two sides, for conn.c and for dial.c.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "net/conn.h"

/* Runs until the state is CONN_CONNECTING; call dial_now() once there is
 * something to send. */
int dial_start(struct conn *c);
int dial_now(struct conn *c);
/* What the state waits for has happened. */
int dial_step(struct conn *c);
/* The current address is no good: goes on to the next. */
int dial_on(struct conn *c);

/* The cause stays in c->why; conn_next() then reports what is owed. */
int conn_broken(struct conn *c);
int conn_broken_by(struct conn *c, enum fail_kind kind, const char *what);
/* The cause is errno, or what TLS says. */
int conn_broken_sys(struct conn *c, const char *what);
int conn_flush(struct conn *c);

#endif
