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
#include "lock/history.h"
#include "lock/keys.h"
#include "lock/lease.h"
#include "lock/script.h"
#include "net/conn.h"
#include "net/sentry.h"

/* Beside the channels, one that asks a node of a Cluster whatever another one
 * does not have any more while a slot moves (ASK). */
#define CONNS (CHANNELS + 1)
#define ASIDE CHANNELS
#define DRIVE_FDS_MAX (NODES_MAX * (CONNS + 1))
#define DRIVE_SOCKETS_MAX (NODES_MAX * (CONNS * CONN_FDS_MAX + SENTRY_FDS_MAX))

/* A question on its way. */
struct pending {
	struct ask ask; /* VERB_NONE: nobody wants the answer */
	int hops;       /* so often sent on by a Cluster */
};

/* A yes of a server that Sentinels led us to: an old master gives it as well.
 * It counts once they have said, asked no earlier than the server was, that
 * this is the master. */
struct unproven {
	struct ask ask; /* VERB_NONE: there is none */
	struct answer answer;
};

struct drive {
	struct lease lease;
	struct keys keys;
	const char *key; /* borrowed */
	size_t key_len;
	char shown_key[128]; /* the key, safe for a terminal */
	char whose[132]; /* of several locks: "KEY: ", before what is said of it
			  */
	char token[TOKEN_SIZE];
	char standing[STANDING_SIZE]; /* what others may see of us */
	char story[STORY_SIZE];       /* what the release is to tell, or "" */
	struct peer peer[NODES_MAX], aside[NODES_MAX];
	struct conn conn[NODES_MAX][CONNS];
	struct pending pending[NODES_MAX][CONNS][OWED_MAX];
	struct pending moved[NODES_MAX][CHANNELS]; /* to be asked elsewhere */
	struct sentry *sentry[NODES_MAX];          /* NULL: no Sentinels */
	struct instant vouched[NODES_MAX];         /* they were asked last */
	struct unproven unproven[NODES_MAX][CHANNELS];
	bool healed_once[NODES_MAX];     /* by one that was not proven */
	unsigned int arrived[NODES_MAX]; /* it was another server: so many moves
					    of the peer ... */
	struct instant arrived_at[NODES_MAX]; /* ... seen then */
	unsigned int credited[NODES_MAX]; /* of the peer's moves, when its last
					     yes counted */
	struct sight sight; /* who had the lock, when last we looked */
	struct instant sight_at;
	struct fail why;               /* the latest failure */
	char node_why[NODES_MAX][160]; /* likewise, of each of several */
	/* The server does not know our scripts by their hash, as it has said.
	 * (One that is frozen reads 16 kB, and no more once it finds that
	 * nobody waits for its answer: a release is better behind that.) */
	bool whole[NODES_MAX];
	bool told_deaf;
	bool troubled[NODES_MAX]; /* held, and a failure was said */
	bool told_twins, told_blind[NODES_MAX];
	bool refused; /* a server was there, and would not */
	bool heir;    /* starts no private server only to release */
	struct instant asked[NODES_MAX]; /* held: a renewal is unanswered
					    since; or NEVER */
	int healed, stepped;
	struct instant renewed; /* said; 0: it is not held yet */
	const char *own;        /* a token that our environment has, or NULL */
	const char *stake;      /* "the command is killed"; NULL: nothing is */
};

/* Nothing is asked yet. The seed in conf is made here. *d must be all zero
 * (clearing it here would touch pages that one node never needs). Endpoints and
 * key are borrowed, and must live as long as *d. */
int drive_init(struct drive *d, const struct endpoint *eps, const char *key,
	       size_t key_len, const struct holder *who,
	       const struct lease_conf *conf, struct fail *why);
void drive_close(struct drive *d);

/* The lease is over: anew, under another token, for so long. -1: no memory. */
int drive_again(struct drive *d, int64_t wait_ms);

/* The release will tell this of the hold that had the fence, of that slot. */
void drive_tell(struct drive *d, const struct story *story, int64_t fence,
		int slot);

/* Sends what is due. */
void drive_send(struct drive *d);

/* For poll(2): drive_watch() fills in what to wait for and returns how many
 * that are, drive_serve() takes what came of them. */
int drive_watch(const struct drive *d, struct pollfd fds[DRIVE_FDS_MAX]);
int drive_fds(const struct drive *d); /* so many */
void drive_serve(struct drive *d, const struct pollfd fds[DRIVE_FDS_MAX]);

/* In a forked process whose parent died: what it may have held is to be given
 * back, and its command may have run on. */
void drive_inherit(struct drive *d, bool ran);

/* Why there is no answer: the latest failure, or that nobody said anything; of
 * several nodes, how many answered, and what is wrong with the others. */
const struct fail *drive_why(struct drive *d);

/* The descriptors that a forked process must not keep; returns how many. */
int drive_sockets(const struct drive *d, int fds[DRIVE_SOCKETS_MAX]);

#endif
