/* SPDX-License-Identifier: MIT */
/*
 * A conversation with a node, over one connection: carries each question with
 * its owner's notes, and says what became of it. Calls scripts by their hash,
 * recognizes redirections, and starts the private server of local:. Used by the
 * holder (client/client.h) and by the verbs that ask many servers
 * (client/fanout.h). Nothing here waits. Whether to ask again is for the owner
 * to decide.
 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include <stdbool.h>

#include "lock/core/lease.h"
#include "net/conn.h"
#include "net/errors.h"

/* A question on its way. With neither owner, nobody wants the answer. */
struct errand {
	struct ask ask;            /* of a lease; VERB_NONE: of none */
	struct question *question; /* of a fanout; NULL: of none */
	int hops;                  /* of a lease: how often it was redirected */
	bool by_hash;              /* set by session_ask() */
};

struct session {
	struct conn conn;
	struct errand owed[OWED_MAX]; /* by number: see conn_ask() */
	bool started;                 /* started the private server, or tried */
};

/* *s must be all zero at first. */
void session_init(struct session *s, struct peer *peer);
/* What request_begin() wants to know of this server. */
int session_db(const struct endpoint *ep);
/* Whether an answer is owed. */
bool session_awaits(const struct session *s);

/* Sends the request, or queues it until connected. `sha`: the request is EVAL
 * with the script; send its hash instead. NULL: send it as it is. `start`:
 * start the private server if nobody serves its socket. Returns -1 if it was
 * not asked; conn.why says why. */
int session_ask(struct session *s, const struct words *request, const char *sha,
		const struct errand *e, bool start);

enum session_got {
	SESSION_NOTHING,
	SESSION_REPLY,
	SESSION_UNKNOWN, /* it does not know the hash: send the script */
	SESSION_MOVED,   /* ask the node at `to`, from now on */
	SESSION_ASK,     /* ask the node at `to`, this time only */
	SESSION_ERROR,   /* an error reply */
	SESSION_REFUSED, /* AUTH or the like was refused: no other question will
			    fare better on this connection */
	SESSION_BROKEN   /* there will be no answer */
};

struct session_news {
	struct errand errand;
	struct words reply; /* valid until the next call */
	bool ran;           /* the server may have run it */
	/* not for a reply; text, brief: without the name of the node, and what
	 * to do is only in `text` */
	enum fail_kind kind;
	const char *text, *brief;
	struct error_told told; /* an error, a refusal: its parts */
	struct place to;
	char shown[300]; /* the error as the server tells it */
	char said[2][400];
};

/* Takes what became of the next question. Call it until SESSION_NOTHING. */
enum session_got session_next(struct session *s, struct session_news *out);

/* Follows the redirection *o. SESSION_MOVED: the peer moves to the node at `to`
 * for good. This connection is left, because the answers that it owes would be
 * redirections as well. SESSION_ASK: the same, unless `aside`: the owner has
 * another connection for what is asked this time only. Returns whether the peer
 * has moved. */
bool session_follow(struct session *s, struct peer *peer, enum session_got got,
		    const struct session_news *o, bool aside);

#endif
