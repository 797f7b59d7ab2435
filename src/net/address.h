/* SPDX-License-Identifier: MIT */
/*
 * From a place to socket addresses, without ever waiting.
 *
 * Sockets and numeric addresses are known at once. A name is looked up by a
 * helper thread, because getaddrinfo(3) blocks for 10 s on a silent resolver
 * and a renewal, or a kill, must not. The answer is remembered: a later
 * renewal connects without asking again, and keeps the old answer while the
 * resolver is out.
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
	int n; /* 0: not known yet */
};

struct lookup; /* a name being looked up */

/* Fills *a when no lookup is needed. false: *a is as it was; look it up. The
 * place is of no account for a socket of this machine. */
bool address_fixed(struct address *a, const struct endpoint *ep,
		   const struct place *at);

/* Nothing of what it was is in what it is now. */
bool address_left(const struct address *was, const struct address *is);

/* This machine alone can reach it. */
bool address_is_local(const struct sockaddr_storage *at);

/* NULL when no thread can be had. Poll lookup_fd() for POLLIN, then take the
 * result once; lookup_take() or lookup_abandon() ends it. */
struct lookup *lookup_start(const struct place *at);
int lookup_fd(const struct lookup *l);
int lookup_take(struct lookup *l, struct address *a, struct fail *why);
void lookup_abandon(struct lookup *l);

#endif
