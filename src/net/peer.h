/* SPDX-License-Identifier: MIT */
/*
 * A node as seen from its connections, which share what is known: where it is
 * now. That changes: Sentinels name another master, a Cluster moves a key, a
 * name gets another address.
 */
#ifndef NET_PEER_H
#define NET_PEER_H

#include <stdbool.h>

#include "net/address.h"
#include "net/endpoint.h"

struct peer {
	const struct endpoint *ep; /* borrowed */
	bool fixed;                /* it never becomes another server */
	struct place place;        /* the server in use; "": not known yet */
	unsigned int moves;     /* so often it became another: a connection to
				   an earlier one is worth nothing */
	int next;               /* of ep->at: whom to ask when it is silent */
	struct place doubted;   /* where there was no good, last */
	struct address address; /* of the place */
	int try;                /* the one in use */
	bool heard;             /* anything, ever, from anywhere */
	int silent;             /* connections that heard nothing yet */
	const char *name;       /* for messages */
	char shown[600];
};

void peer_init(struct peer *p, const struct endpoint *ep);

/* One node of a Cluster, and no other. */
void peer_init_at(struct peer *p, const struct endpoint *cluster,
		  const struct place *at);

/* It is another server now; the same one again is no move. */
void peer_move(struct peer *p, const struct place *to);

/* What is known of it is to be found out anew by the next connection. */
void peer_doubt(struct peer *p);

/* A Cluster whose node is silent: which other one lives is to be asked. */
bool peer_is_silent(const struct peer *p);

/* The addresses to try are known. false: look p->place up. Where the last one
 * failed, a Cluster goes on to another of its nodes. */
bool peer_known(struct peer *p);

/* "MOVED 3999 10.0.0.7:6381", "ASK ...", as a node of a Cluster answers whom it
 * sends elsewhere. *ask: for this one question only. An empty host is the one
 * that said so. false: it is something else, or no host and port. */
bool peer_redirected(const struct peer *p, const char *error, bool *ask,
		     struct place *to);

/* Of such an answer that was not followed, why: to be added to it. NULL: it is
 * something else, or the peer is no Cluster. */
const char *peer_astray(const struct peer *p, const char *error);

#endif
