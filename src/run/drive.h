/* SPDX-License-Identifier: MIT */
/*
 * Joins the lease (which decides) to the connections (which talk): sends the
 * lease's questions and brings it the nodes' answers. Belongs to one thread at
 * a time: the main thread until the command runs, then the watchdog.
 */
#ifndef RUN_DRIVE_H
#define RUN_DRIVE_H

#include <poll.h>

#include "base/ident.h"
#include "lock/wire/history.h"
#include "lock/wire/keys.h"
#include "lock/core/lease.h"
#include "lock/wire/script.h"
#include "net/conn.h"
#include "net/sentry.h"

/* Beside the channels there is one connection for ASK: while a Cluster moves a
 * slot, it asks another node for what the first one no longer has. */
#define CONNS (CHANNELS + 1)
#define ASIDE CHANNELS
#define DRIVE_FDS_MAX (NODES_MAX * (CONNS + 1))
#define DRIVE_SOCKETS_MAX (NODES_MAX * (CONNS * CONN_FDS_MAX + SENTRY_FDS_MAX))

/* A question under way. */
struct pending {
	struct ask ask; /* VERB_NONE: nobody wants the answer */
	int hops;       /* how often a Cluster has redirected it */
};

/* A yes from a server that the Sentinels named. An old master says yes, too. So
 * the yes counts only when the Sentinels, asked no earlier than the server was,
 * have confirmed that it is the master. */
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
	char whose[132]; /* "KEY: " in front of messages, if there are several
			    locks */
	char token[TOKEN_SIZE];
	char identity[IDENTITY_SIZE];   /* our entry in the line */
	char entry[HISTORY_ENTRY_SIZE]; /* what the release adds to the history,
				   or "" */
	struct peer peer[NODES_MAX], aside[NODES_MAX];
	struct conn conn[NODES_MAX][CONNS];
	struct pending pending[NODES_MAX][CONNS][OWED_MAX];
	struct pending moved[NODES_MAX][CHANNELS]; /* to be asked elsewhere */
	struct sentry *sentry[NODES_MAX];          /* NULL: no Sentinels */
	struct instant vouched[NODES_MAX];         /* last asked then */
	struct unproven unproven[NODES_MAX][CHANNELS];
	bool healed_once[NODES_MAX];     /* by an unproven server */
	unsigned int arrived[NODES_MAX]; /* the peer's moves when we last looked
					    at them ... */
	struct instant arrived_at[NODES_MAX]; /* ... and when that changed */
	unsigned int credited[NODES_MAX]; /* the peer's moves when its last yes
					     counted */
	struct sight sight;               /* the holder, when we last saw one */
	struct instant sight_at;
	struct fail why;               /* the latest failure */
	char node_why[NODES_MAX][160]; /* the latest failure of each node, if
					  there are several */
	/* The server said that it does not know our scripts by their hash. (A
	 * frozen server reads 16 kB, and no more once it finds that nobody
	 * waits for its answer: a release is better off behind that.) */
	bool whole[NODES_MAX];
	/* messages that were written, so as not to repeat them */
	bool told_no_blpop;
	bool troubled[NODES_MAX]; /* held: a failure was reported */
	bool told_twins, told_blind[NODES_MAX];
	bool refused; /* a server was there and refused */
	bool heir;    /* do not start a private server only to release */
	struct instant asked[NODES_MAX]; /* held: since when a renewal is
					    unanswered; or NEVER */
	int healed, stepped;
	struct instant renewed; /* last reported; 0: not held yet */
	const char *own;        /* borrowed: the token in our environment; or
				   NULL */
	const char *stake;      /* borrowed: "the command is killed"; NULL:
				   nothing is at stake */
};

/* Asks nothing yet. *d must be all zero (to clear it here would touch pages
 * that a single node never needs). It sets the seed in conf itself. `eps` and
 * `key` are borrowed and must outlive *d. Returns -1 when out of memory. */
int drive_init(struct drive *d, const struct endpoint *eps, const char *key,
	       size_t key_len, const struct holder *who,
	       const struct lease_conf *conf, struct fail *why);
void drive_close(struct drive *d);

/* After the lease is over: starts again under a new token and waits up to
 * wait_ms. -1: out of memory. */
int drive_again(struct drive *d, int64_t wait_ms);

/* Sets what the release adds to the history about the hold with this fence and
 * slot. */
void drive_tell(struct drive *d, const struct history_entry *entry,
		int64_t fence, int slot);

/* Sends every question that is due. Never waits. */
void drive_send(struct drive *d);

/* For poll(2): drive_watch() fills in the descriptors and returns their number,
 * drive_fds() returns only the number, drive_serve() handles the events. */
int drive_watch(const struct drive *d, struct pollfd fds[DRIVE_FDS_MAX]);
int drive_fds(const struct drive *d);
void drive_serve(struct drive *d, const struct pollfd fds[DRIVE_FDS_MAX]);

/* For a forked process whose parent has died: starts to release, over
 * connections of its own, what the parent may have held. `ran`: the command may
 * have run. */
void drive_inherit(struct drive *d, bool ran);

/* Why there is no answer: the latest failure, or that no server said anything.
 * With several nodes, it says how many answered and what is wrong with the
 * others. */
const struct fail *drive_why(struct drive *d);

/* Lists the descriptors that a forked process must close; returns their number.
 * They stay the drive's. */
int drive_sockets(const struct drive *d, int fds[DRIVE_SOCKETS_MAX]);

#endif
