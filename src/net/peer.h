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

#define TRUSTED_MAX 4

struct peer {
	const struct endpoint *ep; /* borrowed */
	bool fixed;                /* it never becomes another server */
	struct place place;        /* the server in use; "": not known yet */
	unsigned int moves; /* so often it became another: a connection to
			       an earlier one is worth nothing */
	int next;           /* of ep->at: whom to ask when it is silent */
	struct place trusted[TRUSTED_MAX]; /* peer_trust(), in a ring */
	int trusts;                        /* ever */
	struct place doubted;              /* where there was no good, last */
	struct address address;            /* of the place */
	int try;                           /* the one in use */
	bool heard;                        /* anything, ever, from anywhere */
	int silent;       /* connections that heard nothing yet */
	const char *name; /* for messages */
	char shown[600];
};

void peer_init(struct peer *p, const struct endpoint *ep);

/* One node of a Cluster, and no other. */
void peer_init_at(struct peer *p, const struct endpoint *cluster,
		  const struct place *at);

/* It is another server now; the same one again is no move. */
void peer_move(struct peer *p, const struct place *to);

/* The same for the connection aside: where a node sent `other`. */
void peer_follow(struct peer *p, const struct peer *other,
		 const struct place *to);

/* What is known of it is to be found out anew by the next connection. */
void peer_doubt(struct peer *p);

/* Who gets a connection gets the password. false: a node of a Cluster sent us
 * to a place that the URL does not name, and nobody has said yet that it is a
 * node as well. */
bool peer_is_known(const struct peer *p);
/* Those who can say so: they are known. Returns how many. */
#define SENIORS_MAX (PLACES_MAX + TRUSTED_MAX)
int peer_seniors(const struct peer *p, struct place out[SENIORS_MAX]);
/* One has. */
void peer_trust(struct peer *p);
/* None has: back to a node that the URL names. */
void peer_return(struct peer *p);

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
