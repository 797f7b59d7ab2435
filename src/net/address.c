/* SPDX-License-Identifier: MIT */
/* Addresses; names by a helper thread. */
#include "net/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/units.h"

/* Shared by the caller and the thread; the last of the two frees it. */
struct lookup {
	atomic_int users;
	struct place at;
	int pipe[2];
	int error; /* of getaddrinfo */
	struct address found;
};

bool address_fixed(struct address *a, const struct endpoint *ep,
		   const struct place *at)
{
	in_port_t port = htons((uint16_t)parse_number(at->port, 1, 65535));
	struct address made = {.n = 1};
	struct sockaddr_un *un = (struct sockaddr_un *)&made.at[0];
	struct sockaddr_in *in = (struct sockaddr_in *)&made.at[0];
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&made.at[0];

	if (ep->kind == ENDPOINT_UNIX || ep->kind == ENDPOINT_LOCAL) {
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, ep->path, sizeof(un->sun_path));
		made.len[0] = sizeof(*un);
	} else if (inet_pton(AF_INET, at->host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		made.len[0] = sizeof(*in);
	} else if (inet_pton(AF_INET6, at->host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		made.len[0] = sizeof(*in6);
	} else {
		return false;
	}
	*a = made;
	return true;
}

bool address_left(const struct address *was, const struct address *is)
{
	for (int i = 0; i < was->n; i++)
		for (int k = 0; k < is->n; k++)
			if (was->len[i] == is->len[k] &&
			    memcmp(&was->at[i], &is->at[k], was->len[i]) == 0)
				return false;
	return was->n > 0;
}

void address_rotate(struct address *a, int first)
{
	struct address was = *a;

	for (int i = 0; i < a->n; i++) {
		int from = (i + first) % was.n;

		a->at[i] = was.at[from];
		a->len[i] = was.len[from];
	}
}

/* (0.0.0.0 and :: lead to the same) */
static bool is_local_v4(uint32_t address)
{
	return address >> 24 == 127 || address == INADDR_ANY;
}

bool address_is_local(const struct sockaddr_storage *at)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;

	if (at->ss_family == AF_INET)
		return is_local_v4(ntohl(in->sin_addr.s_addr));
	if (at->ss_family != AF_INET6)
		return true;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
	       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
		is_local_v4(ntohl(in6->sin6_addr.s6_addr32[3])));
}

bool address_names_local(const struct endpoint *ep, const struct place *at)
{
	struct address known;

	if (strcmp(at->host, "localhost") == 0 ||
	    strcmp(at->host, "localhost.") == 0)
		return true;
	return address_fixed(&known, ep, at) && address_is_local(&known.at[0]);
}

static void lookup_leave(struct lookup *l, int end)
{
	close(l->pipe[end]);
	if (atomic_fetch_sub(&l->users, 1) == 1)
		free(l);
}

static void *lookup_main(void *arg)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	struct lookup *l = arg;

	l->error = getaddrinfo(l->at.host, l->at.port, &hints, &list);
	for (struct addrinfo *ai = list; ai && l->found.n < ADDRESSES_MAX;
	     ai = ai->ai_next) {
		memcpy(&l->found.at[l->found.n], ai->ai_addr, ai->ai_addrlen);
		l->found.len[l->found.n++] = ai->ai_addrlen;
	}
	if (list)
		freeaddrinfo(list);
	(void)!write(l->pipe[1], "", 1);
	lookup_leave(l, 1);
	return NULL;
}

struct lookup *lookup_start(const struct place *at)
{
	struct lookup *l = calloc(1, sizeof(*l));
	sigset_t all, old;
	pthread_t thread;
	int rc;

	if (!l)
		return NULL;
	if (pipe2(l->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(l);
		return NULL;
	}
	atomic_init(&l->users, 2);
	l->at = *at;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, lookup_main, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0) {
		close(l->pipe[0]);
		close(l->pipe[1]);
		free(l);
		return NULL;
	}
	pthread_detach(thread);
	return l;
}

int lookup_fd(const struct lookup *l)
{
	return l->pipe[0];
}

int lookup_take(struct lookup *l, struct address *a, struct fail *why)
{
	int rc = 0;
	char byte;

	(void)!read(l->pipe[0], &byte,
		    1); /* the thread has handed over its result */
	if (l->found.n > 0)
		*a = l->found;
	else
		rc = fail(why, FAIL_UNAVAILABLE, "%s",
			  l->error ? gai_strerror(l->error) : "no address");
	lookup_leave(l, 0);
	return rc;
}

void lookup_abandon(struct lookup *l)
{
	if (l)
		lookup_leave(l, 0);
}
