/* SPDX-License-Identifier: MIT */
/*
 * Joins the lease (which decides) to the connections (which talk): sends the
 * lease's questions and brings it the nodes' answers. Belongs to one thread at
 * a time: the main thread until the command runs, then the watchdog.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <poll.h>

#include "base/grants.h"
#include "base/ident.h"
#include "client/session.h"
#include "lock/core/lease.h"
#include "lock/wire/answer.h"
#include "lock/wire/history.h"
#include "lock/wire/request.h"
#include "net/sentinels.h"

/* Beside the channels there is one connection for ASK: while a Cluster moves a
 * slot, it asks another node for what the first one no longer has. */
#define CONNS (CHANNELS + 1)
#define DETOUR CHANNELS
#define CLIENT_FDS_MAX (NODES_MAX * (CONNS + 1))
#define CLIENT_SOCKETS_MAX                                                     \
	(NODES_MAX * (CONNS * SESSION_FDS_MAX + MEMBER_FDS_MAX))

/* A yes that the Sentinels have not confirmed yet: see proof.c. */
struct unproven {
	struct ask ask; /* VERB_NONE: there is none */
	struct answer answer;
	unsigned int moves; /* the peer's, when it came */
};

struct client {
	struct lease lease;
	struct keys keys;
	const char *key; /* borrowed */
	size_t key_len;
	char shown_key[128]; /* the key, safe for a terminal */
	char whose[132]; /* "KEY: " in front of messages, if there are several
			    locks */
	char token[TOKEN_SIZE];
	char identity[IDENTITY_SIZE]; /* our entry in the line */
	char ending[HISTORY_ENDING_SIZE];
	char entry[HISTORY_ENTRY_SIZE]; /* what the release adds to the history,
				   or "" */
	struct sentinels *sentinels[NODES_MAX]; /* NULL: none */
	struct instant vouched[NODES_MAX];      /* last asked then */
	bool healed_once[NODES_MAX];            /* by an unproven server */
	unsigned int arrived[NODES_MAX]; /* the peer's moves when we last looked
					    at them ... */
	struct instant arrived_at[NODES_MAX]; /* ... and when that changed */
	unsigned int credited[NODES_MAX]; /* the peer's moves when its last yes
					     counted */
	struct sight sight;               /* the holder, when we last saw one */
	struct instant sight_at;
	char *mark;      /* owned: of --once-per or --revision, as a server has
			    it; or NULL */
	struct fail why; /* the latest failure */
	char node_why[NODES_MAX][160]; /* the latest failure of each node, if
					  there are several */
	/* The scripts that go out whole, as bits (1 << verb), until each has
	 * been answered once, because the server did not know one by its hash;
	 * or ALWAYS_WHOLE. The release is not among them once it was taught:
	 * see teach_release() */
#define ALWAYS_WHOLE (1U << 31)
	unsigned int whole[NODES_MAX];
	/* messages that were written, so as not to repeat them */
	bool told_no_blpop;
	bool troubled[NODES_MAX]; /* held: a failure was reported */
	bool told_twins, told_blind[NODES_MAX], replica[NODES_MAX];
	bool refused;            /* a server was there and refused */
	struct instant start_by; /* how long to wait for a private server that
				    has to be started; LONG_AGO: start none */
	bool releases_only;      /* see client_inherit() */
	struct instant asked[NODES_MAX]; /* held: since when a renewal is
					    unanswered; or NEVER */
	int healed, stepped;
	struct instant renewed; /* last reported; 0: not held yet */
	const char *own;        /* borrowed: the token in our environment; or
				   NULL */
	const char *stake;      /* borrowed: "the command is killed"; NULL:
				   nothing is at stake */
	/* large; of each, one node touches only the first */
	struct peer peer[NODES_MAX], detour[NODES_MAX];
	struct session session[NODES_MAX][CONNS];
	struct sent again[NODES_MAX][CHANNELS]; /* to be asked again */
	struct unproven unproven[NODES_MAX][CHANNELS];
};

/* Asks nothing yet. *cl must be all zero (to clear it here would touch pages
 * that a single node never needs). It sets the seed in conf itself. `eps` and
 * `key` are borrowed. *cl lasts as long as the process. Returns -1 when out of
 * memory. */
int client_init(struct client *cl, const struct endpoint *eps, const char *key,
		size_t key_len, const struct lease_conf *conf,
		struct fail *why);

/* Connects ahead of the first question. */
void client_connect(struct client *cl);

/* What others may see of us: before anything is asked. */
void client_describe(struct client *cl, const struct holder *who);

/* After the lease is over: starts again under a new token and waits up to
 * wait_ms. `reached`: the servers have answered before. -1: out of memory. */
int client_again(struct client *cl, int64_t wait_ms, bool reached);

/* Sets what the release says of the hold: in the mark of --once-per, and in the
 * history, unless this hold has no entry there, when it returns false. */
bool client_tell(struct client *cl, const struct history_entry *entry,
		 const struct granted *its);

/* Sends every question that is due. Never waits. */
void client_send(struct client *cl);

/* For poll(2): client_watch() fills in the descriptors and returns their
 * number, client_fds() returns only the number, client_serve() handles the
 * events. */
int client_watch(const struct client *cl, struct pollfd fds[CLIENT_FDS_MAX]);
int client_fds(const struct client *cl);
void client_serve(struct client *cl, const struct pollfd fds[CLIENT_FDS_MAX]);

/* For a forked process whose parent has died: starts to release, over
 * connections of its own, what the parent may have held. `ran`: the command may
 * have run. */
void client_inherit(struct client *cl, bool ran);

/* The time for the release is over, but it was not confirmed: goes on with it,
 * as lease_go_on() does. For a process that is to close all descriptors that
 * the client had: it makes connections of its own. */
bool client_go_on(struct client *cl);

/* Lists the descriptors that a forked process must close; returns their number.
 * They stay the client's. */
int client_sockets(const struct client *cl, int fds[CLIENT_SOCKETS_MAX]);

/* Why there is no answer: the latest failure, or that no server said anything.
 * With several nodes, it says how many answered and what is wrong with the
 * others. */
const struct fail *client_why(struct client *cl);

/* For too few of several servers: how many answered, of how many, and how many
 * are needed. */
#define TOO_FEW_ANSWERED "%d of %d servers answered, %d are needed"

#endif
