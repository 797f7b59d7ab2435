/* SPDX-License-Identifier: MIT */
/*
 * One conversation with one node, a step at a time; nothing here waits.
 *
 * A question opens the connection if need be and leaves with AUTH and SELECT
 * in one send. Where Sentinels are to say which server it is, they are asked
 * first, for each connection anew, and the server must say itself (ROLE, in the
 * same send) that it is the master. Replies come in the order of the questions,
 * so a connection counts the replies it owes: nobody may be waiting for them
 * any more, but an acquire that a frozen server runs when it wakes still has
 * its release behind it.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/words.h"
#include "net/peer.h"
#include "net/resp.h"
#include "net/scout.h"
#include "net/stream.h"

#define OWED_MAX 16

enum conn_state {
	CONN_CLOSED,
	CONN_SEEKING, /* the Sentinels are asked */
	CONN_RESOLVING,
	CONN_CONNECTING,
	CONN_OPEN
};

struct conn {
	struct peer *peer;
	/* what is wanted: set it after conn_init() */
	bool whole;    /* conn_whole() */
	bool hear_out; /* CONN_REFUSED */
	enum conn_state state;
	struct stream stream;
	unsigned int moves; /* of the peer, as it opened */
	int nodes;          /* of a Cluster: so many cannot be reached */
	struct scout *scout;
	struct lookup *lookup;
	struct resp *reader;
	char *out; /* bytes still to send, from `sent` to `used` */
	size_t used, sent, room;
	unsigned int greetings;    /* replies owed: bits of enum greeting */
	bool heard;                /* anything */
	bool speaks_tls;           /* and that was a TLS record */
	size_t starts[OWED_MAX];   /* where in `out` each question begins */
	unsigned int asked, taken; /* question numbers */
	bool too_long; /* broken by the answer to the question that is next */
	bool misled;   /* broken: the Cluster sent us to no node of its own */
	bool refused;  /* by an error reply to AUTH or SELECT: its text is in
			  why, bare */
	unsigned int doubtful; /* refused: the questions before this one came
				  behind it ... */
	bool served;           /* ... and were answered all the same */
	struct fail why;       /* what broke it */
};

void conn_init(struct conn *c, struct peer *peer);
void conn_close(struct conn *c);

/* Sends, or queues until connected. Returns the question's number, or -1 and
 * the connection is broken: take what it owes with conn_next(). */
int conn_ask(struct conn *c, const struct words *question);

/* For poll(2): -1 when there is nothing to wait for. */
int conn_fd(const struct conn *c);
short conn_events(const struct conn *c);
void conn_step(struct conn *c, short revents);

/* Every descriptor it has; returns how many. */
#define CONN_FDS_MAX SCOUT_FDS_MAX
int conn_sockets(const struct conn *c, int fds[CONN_FDS_MAX]);

/* The peer is elsewhere by now: what it owes is reported as broken. */
void conn_leave(struct conn *c, const char *what);

/* What it waits for, for a message: "a TLS handshake", "the Sentinels", ... */
const char *conn_awaits(const struct conn *c);

enum conn_got {
	CONN_NOTHING,
	CONN_REPLY, /* to question *number */
	CONN_ERROR, /* likewise; the error's text is the one word */
	/* AUTH or SELECT was refused before question *number, see why; *ran:
	 * and it was answered all the same, by a server whose default user
	 * needs no password. Else *reply is the error that it got. */
	CONN_REFUSED,
	CONN_BROKEN /* question *number will not be answered: see why */
};

/* Call until CONN_NOTHING. CONN_BROKEN comes once for each owed question;
 * *ran tells whether its bytes had left. The words live until the next call.
 * A connection that was refused is broken by that; where CONN_REFUSED is
 * wanted, it stays open for what takes the answered question back. */
enum conn_got conn_next(struct conn *c, unsigned int *number,
			struct words *reply, bool *ran);

/* What conn_next() returned last, in full; NULL: no memory. Lives as long. */
const struct reply *conn_whole(const struct conn *c);

#endif
