/* SPDX-License-Identifier: MIT */
/*
 * Joins the lease (which decides) to the connections (which talk): sends what
 * the lease asks, brings it what the nodes answer. Belongs to one thread at a
 * time: the main one until the command runs, then the watchdog.
 */
#ifndef RUN_DRIVE_H
#define RUN_DRIVE_H

#include <poll.h>

#include "base/ident.h"
#include "lock/keys.h"
#include "lock/lease.h"
#include "lock/script.h"
#include "net/conn.h"

#define DRIVE_FDS_MAX (NODES_MAX * CHANNELS)
#define EXTRA_MAX 4

struct drive {
	struct lease lease;
	struct keys keys;
	char shown_key[128]; /* the key, safe for a terminal */
	char token[TOKEN_SIZE];
	char standing[STANDING_SIZE]; /* what others may see of us */
	struct peer peer[NODES_MAX];
	struct conn conn[NODES_MAX][CHANNELS];
	struct ask asks[NODES_MAX][CHANNELS][OWED_MAX];
	struct sight sight; /* who had the lock, when last we looked */
	struct instant sight_at;
	struct fail why; /* the latest failure */
	bool told_deaf;
	bool troubled; /* held, and a failure was said */
	bool heir;     /* starts no private server only to release */
	struct instant
		asked; /* held: a renewal is unanswered since; or NEVER */
	int healed, stepped;
};

/* Nothing is asked yet. The seed in conf is made here. *d must be all zero
 * (clearing it here would touch pages that one node never needs). Endpoints and
 * key are borrowed, and must live as long as *d. */
int drive_init(struct drive *d, const struct endpoint *eps, const char *key,
	       size_t key_len, const struct holder *who,
	       const struct lease_conf *conf, struct fail *why);
void drive_close(struct drive *d);

/* Sends what is due. */
void drive_send(struct drive *d);

/* One poll(2): until an extra descriptor is ready (see its revents), a node
 * has something to say, the lease wants to be woken, or `limit`. Sends before
 * and after. */
void drive_poll(struct drive *d, struct pollfd *extra, int n_extra,
		struct instant limit);

/* In a forked process whose parent died: gives back what it may have held, and
 * run its command on. Takes at most about a second. */
void drive_inherit(struct drive *d, bool ran);

/* Why there is no answer: the latest failure, or that nobody said anything. */
const struct fail *drive_why(struct drive *d);

/* The descriptors that a forked process must not keep; returns how many. */
int drive_sockets(const struct drive *d, int fds[DRIVE_FDS_MAX]);

#endif
