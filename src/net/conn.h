/* SPDX-License-Identifier: MIT */
/*
 * One conversation with one node, a step at a time. Nothing here waits.
 *
 * A question opens the connection if need be and goes out with AUTH and SELECT
 * in one send. If others must say which server it is (the Sentinels of a group,
 * for each new connection, or nodes of a Cluster), it waits in CONN_UNKNOWN for
 * conn_found(): see search.h. A master must say itself that it is one (ROLE, in
 * the same send). Replies come in the order of the questions, so a
 * connection counts the replies it is owed, even if nobody waits for them any
 * more: if a frozen server runs an acquire when it wakes, the release behind it
 * runs as well.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/words.h"
#include "net/peer.h"
#include "net/resp.h"
#include "net/stream.h"

#define OWED_MAX 16

enum conn_state {
	CONN_CLOSED,
	CONN_UNKNOWN, /* which server is it? conn_found() or conn_lost() */
	CONN_DIALING, /* asking for the password, or the resolver */
	CONN_CONNECTING,
	CONN_OPEN
};

/* Getting connected: see dial.c. Set the first; the rest is zero at first. */
struct dial {
	struct peer *peer; /* borrowed */
	struct lookup *lookup;
	unsigned int moves; /* the peer's, once its place was known; it means
			       nothing before that */
	int nodes;          /* number of Cluster nodes out of reach */
	struct fail why;    /* lost */
};

struct conn {
	struct peer *peer;
	/* options: set them after conn_init() */
	bool whole;    /* conn_whole() will be called */
	bool hear_out; /* report CONN_REFUSED */
	enum conn_state state;
	int password_fd; /* of password_ask(), while it waits for that; or -1 */
	struct dial dial;
	struct stream stream;
	struct resp *reader;
	char *out; /* owned: bytes to send, from `sent` to `used` */
	size_t used, sent, room;
	unsigned int greetings;    /* replies owed: bits of enum greeting */
	bool heard;                /* something was received */
	bool speaks_tls;           /* and it was a TLS record */
	size_t starts[OWED_MAX];   /* where in `out` each question begins */
	unsigned int asked, taken; /* question numbers */
	bool too_long; /* broken by the reply to the next question */
	bool hung_up;  /* broken: the other side closed it */
	bool misled;   /* broken: the Cluster sent us to a node not its own */
	bool refused;  /* by an error reply to AUTH or SELECT; why is that text
			  alone */
	unsigned int doubtful; /* refused: the questions up to this number were
				  sent behind it ... */
	bool served;           /* ... and were answered nevertheless */
	struct fail why;       /* what broke it */
};

void conn_init(struct conn *c, struct peer *peer);
void conn_close(struct conn *c);

/* After a fork, in the child, in place of conn_close(): frees memory. Socket,
 * TLS and lookup stay the parent's. */
void conn_forget(struct conn *c);

/* Connects ahead of the first question: a server takes a while to accept. Sends
 * nothing. If it fails, the first question tries again. */
void conn_begin(struct conn *c);

/* Sends the question, or queues it until connected. Returns its number, or -1:
 * the connection is broken; take what it owes with conn_next(). */
int conn_ask(struct conn *c, const struct words *question);

/* Whether at least the first bytes of an owed question were sent. */
bool conn_sent(const struct conn *c, unsigned int number);

/* In CONN_UNKNOWN: the server is at this place, or nobody could tell. The peer
 * hears of it. */
void conn_found(struct conn *c, const struct place *at);
void conn_lost(struct conn *c, const struct fail *why);

/* For poll(2); -1: there is nothing to wait for. The descriptor stays the
 * connection's. */
int conn_fd(const struct conn *c);
short conn_events(const struct conn *c);
void conn_step(struct conn *c, short revents);

/* The peer is now another server: reports as broken what this one owes. */
void conn_leave(struct conn *c, const char *what);

/* What it is waiting for, for messages: "no answer from the Sentinels", ... */
const char *conn_awaits(const struct conn *c);
/* And what that may mean, to be added: ": ...", or "". */
const char *conn_suspects(const struct conn *c);

enum conn_got {
	CONN_NOTHING,
	CONN_REPLY, /* to question *number */
	CONN_ERROR, /* to question *number; the error text is the one word */
	/* AUTH or SELECT, sent before question *number, was refused: see why.
	 * *ran: the question was answered nevertheless, by a server whose
	 * default user needs no password. Else *reply is its error. */
	CONN_REFUSED,
	CONN_BROKEN /* question *number will not be answered: see why */
};

/* Takes the next result. Call it until CONN_NOTHING. CONN_BROKEN comes once for
 * each owed question; *ran: its bytes had been sent. The words are valid until
 * the next call. A refusal breaks the connection, unless hear_out is set: then
 * it stays open, so that the answered question can be undone. */
enum conn_got conn_next(struct conn *c, unsigned int *number,
			struct words *reply, bool *ran);

/* The last reply of conn_next() in full, valid as long; NULL: out of memory. */
const struct reply *conn_whole(const struct conn *c);

#endif
