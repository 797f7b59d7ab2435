/* SPDX-License-Identifier: MIT */
/*
 * A node as its connections see it: what they know together about where it is.
 * That may change: Sentinels name another master, a Cluster moves a key, a name
 * gets another address.
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
	struct place place;        /* the current server; "": not known yet */
	unsigned int moves; /* how often it became another server; connections
			       to earlier ones are useless */
	int next;           /* index in ep->at: ask it if this one is silent */
	struct place trusted[TRUSTED_MAX]; /* by peer_trust(); a ring */
	int trusts;                        /* number of calls */
	struct place doubted;              /* the last place that failed */
	struct place unheard;   /* the node of a Cluster that another one was
				   asked instead of; "": none yet */
	struct address address; /* of the place */
	int try;                /* index of the current address */
	int first;  /* the index to begin with, once the name was looked up */
	int sought; /* how often others were asked for the place, and did not
		       tell it: see search.c */
	bool heard; /* some server ever sent something */
	int silent; /* connections that received nothing yet */
	const char *name; /* for messages; borrowed */
	char shown[600];
};

void peer_init(struct peer *p, const struct endpoint *ep);

/* For one node of a Cluster and no other. */
void peer_init_at(struct peer *p, const struct endpoint *cluster,
		  const struct place *at);

/* The node is now another server. The same server again is not a move. */
void peer_move(struct peer *p, const struct place *to);

/* The same for the detour: `other` was redirected to this place. */
void peer_follow(struct peer *p, const struct peer *other,
		 const struct place *to);

/* The next connection must find out again where it is. */
void peer_doubt(struct peer *p);

/* This address is silent: goes on to the next one of the name. false: there is
 * none. */
bool peer_next(struct peer *p);

/* The same, and after the last one comes the first. */
void peer_turn(struct peer *p);

/* Whether the server may be at an address that peer_pass() would lead to; or,
 * of a Cluster, whether the URL names other nodes. */
bool peer_has_other(const struct peer *p);
bool peer_has_nodes(const struct peer *p);

/* Whether it is found by asking Sentinels of which one has a name, so perhaps
 * several addresses. */
bool peer_asks_names(const struct peer *p);

/* The server at this address is no good: a name may have others, which come
 * next. false: there is none; the peer is in doubt. */
bool peer_pass(struct peer *p);

/* A server that we connect to gets the password. false: a node of a Cluster
 * sent us to a place that the URL does not name, and no known node has
 * confirmed yet that it is a node as well. */
bool peer_is_known(const struct peer *p);
/* Lists the known nodes that can confirm it. Returns their number. */
#define KNOWN_NODES_MAX (PLACES_MAX + TRUSTED_MAX)
/* Who is asked about others: see member.h */
#define MEMBERS_MAX KNOWN_NODES_MAX
#define MEMBER_FDS_MAX (MEMBERS_MAX + 1)
int peer_known_nodes(const struct peer *p, struct place out[KNOWN_NODES_MAX]);
/* One of them has confirmed it. */
void peer_trust(struct peer *p);
/* None has: goes back to a node that the URL names. */
void peer_return(struct peer *p);

/* Whether this is a Cluster whose node is silent: find out which other one
 * lives. */
bool peer_is_silent(const struct peer *p);

/* Another node of the Cluster answers: ask that one. */
void peer_leave(struct peer *p, const struct place *to);

/* Whether the addresses to try are known. false: look up p->place. If the last
 * address failed, a Cluster goes on to another of its nodes. */
bool peer_known(struct peer *p);

/* Parses a redirection by a node of a Cluster: "MOVED 3999 10.0.0.7:6381",
 * "ASK ...". *ask: only for this question. An empty host means the node that
 * answered. false: not a redirection, or no valid host and port. */
bool peer_redirected(const struct peer *p, const char *error, bool *ask,
		     struct place *to);

/* Why such a redirection was not followed, to be added to it. NULL: it is
 * something else, or the peer is not a Cluster. */
const char *peer_not_followed(const struct peer *p, const char *error);

#endif
