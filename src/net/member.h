/* SPDX-License-Identifier: MIT */
/*
 * Several servers that are asked at once: the Sentinels of a group, or nodes of
 * a Cluster; and what they say about each other. One descriptor for poll(2)
 * stands for all their connections. Do not trust what they say: anybody may
 * have said it.
 */
#ifndef NET_MEMBER_H
#define NET_MEMBER_H

#include "base/reply.h"
#include "base/words.h"
#include "net/conn.h"
#include "net/place.h"

struct member {
	struct endpoint ep;
	struct peer peer;
	struct conn conn;
};

/* Such as one Sentinel of the group. */
void member_endpoint(const struct endpoint *group, const struct place *at,
		     struct endpoint *out);

struct members {
	int epoll;
	int n;
	struct member *at[MEMBERS_MAX]; /* borrowed */
};

int members_open(struct members *all, struct fail *why);
void members_close(struct members *all);

/* Adds a member that is all zero but for its endpoint. */
void members_add(struct members *all, struct member *m);

/* Asks it up to three words; NULL ends them. -1: see conn_ask(). */
int member_ask(struct member *m, const char *a, const char *b, const char *c);

/* After each step of a member: what it waits for may have changed. */
void members_watch(const struct members *all, struct member *m);

/* A step of each that has something to do: these are *out. Take their answers,
 * and call members_watch(). Returns their number. */
int members_step(const struct members *all, struct member *out[MEMBERS_MAX]);

/* Lists the descriptors, the first for poll(2), with POLLIN; returns their
 * number. They stay the members'. */
int members_sockets(const struct members *all, int fds[MEMBER_FDS_MAX]);

/* SENTINEL get-master-addr-by-name: two words. -1: not a host and port. */
int member_ask_master(struct member *m, const char *group);
int member_master(struct place *p, const struct words *reply);

/* SENTINEL SENTINELS: how many others there are; the first MEMBER_SENTINELS of
 * them by their ids, and where they are (without a host if that is unknown).
 * -1: the reply has another shape. */
#define MEMBER_SENTINELS 16
int member_sentinels(const struct reply *r, uint64_t id[MEMBER_SENTINELS],
		     struct place at[MEMBER_SENTINELS]);

/* CLUSTER SLOTS: the place of a range's primary (0), or of one of its replicas.
 * No host means the node that answers, `here`. -1: no host and port. */
int member_in_range(const struct reply *range, size_t n, const char *here,
		    struct place *at);
/* Whether they name `wanted`. */
bool member_in_slots(const struct reply *r, const char *here,
		     const struct place *wanted);

/* CLUSTER NODES: whether it names `wanted`, by address or by name. This
 * includes a node that has no slot yet, to which keys are moving. */
bool member_in_nodes(const struct reply *r, const struct place *wanted);

#endif
