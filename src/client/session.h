/* SPDX-License-Identifier: MIT */
/*
 * A conversation with a node, over one connection: carries each question with
 * its owner's notes, and says what became of it. Calls scripts by their hash,
 * follows redirections, asks others which server it is, and starts the private
 * server of local:. Both use it
 * who ask: the lease (client/exchange.c) and the verbs (client/fanout.c). Here
 * alone is decided when an answer means "ask again", where, and how often. What
 * to do when no answer comes is for the owner to decide. Nothing here waits.
 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include <stdbool.h>

#include "lock/core/lease.h"
#include "net/conn.h"
#include "net/errors.h"
#include "net/search.h"

/* How often a question is asked again: elsewhere, or with the whole script. */
#define AGAIN_MAX 8

/* A question on its way. With neither owner, nobody wants the answer. */
struct sent {
	struct ask ask;            /* of a lease; VERB_NONE: of none */
	struct question *question; /* of a fanout; NULL: of none */
	int again;                 /* how often it was asked again */
	bool asking;  /* send ASKING first: the node has the key, but not its
			 slot yet */
	bool by_hash; /* set by session_ask() */
};

struct session {
	struct conn conn;
	struct search *search; /* in CONN_UNKNOWN; NULL: none is under way */
	bool started;          /* started the private server, or tried */
	bool has_detour; /* option: the owner has another connection for what is
			   asked elsewhere this time only */
	struct sent owed[OWED_MAX]; /* by number: see conn_ask() */
};

/* *s must be all zero at first. */
void session_init(struct session *s, struct peer *peer);
/* As conn_close(), conn_begin(), conn_leave(). */
void session_close(struct session *s);
void session_begin(struct session *s);
void session_leave(struct session *s, const char *what);
/* For poll(2); -1: there is nothing to wait for. Then call session_step(). */
int session_fd(const struct session *s);
short session_events(const struct session *s);
void session_step(struct session *s, short revents);
/* Lists its descriptors; returns their number. They stay its own. */
#define SESSION_FDS_MAX MEMBER_FDS_MAX
int session_sockets(const struct session *s, int fds[SESSION_FDS_MAX]);
/* What request_begin() wants to know of this server. */
int session_db(const struct endpoint *ep);
/* Whether an answer is owed. */
bool session_awaits(const struct session *s);

/* Sends the request, or queues it until connected. `sha`: the request is EVAL
 * with the script; send its hash instead. NULL: send it as it is. `start_by`:
 * if nobody serves the socket of a private server, start it, and wait for it
 * until then; LONG_AGO: do not. Returns -1 if it was not asked; conn.why says
 * why. */
int session_ask(struct session *s, const struct words *request, const char *sha,
		const struct sent *q, struct instant start_by);

enum session_got {
	SESSION_NOTHING,
	SESSION_REPLY,
	SESSION_AGAIN,   /* ask `sent` again, as it is now */
	SESSION_ERROR,   /* an error reply */
	SESSION_REFUSED, /* AUTH or SELECT was refused: no other question will
			    fare better on this connection */
	SESSION_BROKEN   /* there will be no answer */
};

struct session_news {
	struct sent sent;
	struct words reply; /* valid until the next call */
	bool ran;           /* the server may have run it */
	/* again: in which way. With neither, the peer is at another server now,
	 * and this connection was left: the answers that it owes would be as
	 * useless. */
	bool unknown; /* the server does not know the hash: send the script */
	bool detour;  /* on the other connection, to the node at `to` */
	struct place to;
	/* not for a reply; text, brief: without the name of the node, and what
	 * to do is only in `text` */
	enum fail_kind kind;
	const char *text, *brief;
	struct error_told told; /* an error, a refusal: its parts */
	char shown[300];        /* the error as the server tells it */
	char said[2][400];
};

/* Takes what became of the next question. Call it until SESSION_NOTHING. */
enum session_got session_next(struct session *s, struct session_news *out);

#endif
