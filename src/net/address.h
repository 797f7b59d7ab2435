/* SPDX-License-Identifier: MIT */
/*
 * From a place to socket addresses, without ever waiting.
 *
 * Sockets and numeric addresses are known at once. A name is looked up in a
 * thread of its own: getaddrinfo(3) blocks for 10 s if the resolver is silent,
 * and a renewal or a kill must not. The answer is remembered: a later renewal
 * connects without asking again, and uses the old answer while the resolver is
 * out.
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "net/endpoint.h"

#define ADDRESSES_MAX 4

struct address {
	struct sockaddr_storage at[ADDRESSES_MAX];
	socklen_t len[ADDRESSES_MAX];
	int n; /* number of addresses; 0: not known yet */
};

struct lookup; /* a name being looked up */

/* Fills in *a if no lookup is needed. false: *a is unchanged; look it up. For a
 * socket of this machine the place is ignored. */
bool address_fixed(struct address *a, const struct endpoint *ep,
		   const struct place *at);

/* Whether no address in `was` is also in `is`. */
bool address_left(const struct address *was, const struct address *is);

/* Puts this one, counted from 0 and round and round, first. */
void address_rotate(struct address *a, int first);

/* Whether only this machine can reach it. */
bool address_is_local(const struct sockaddr_storage *at);
/* The same before names are looked up: of a name, only "localhost" is known to
 * mean this machine. */
bool address_names_local(const struct endpoint *ep, const struct place *at);

/* NULL: no thread can be made. Poll lookup_fd() for POLLIN, then take the
 * result once. lookup_take() and lookup_abandon() both free it. */
struct lookup *lookup_start(const struct place *at);
int lookup_fd(const struct lookup *l);
int lookup_take(struct lookup *l, struct address *a, struct fail *why);
void lookup_abandon(struct lookup *l);

#endif
