/* SPDX-License-Identifier: MIT */
/*
 * One conversation with one node, a step at a time; nothing here waits.
 *
 * A question opens the connection if need be and leaves with AUTH and SELECT
 * in one send. Replies come in the order of the questions, so a connection
 * counts the replies it owes: nobody may be waiting for them any more, but an
 * acquire that a frozen server runs when it wakes still has its release behind
 * it.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/words.h"
#include "net/address.h"
#include "net/endpoint.h"
#include "net/resp.h"

#define OWED_MAX 16

/* A node as seen from its connections, which share what is known. */
struct peer {
	const struct endpoint *ep;
	struct address address;
	int try; /* the address in use */
};

enum conn_state { CONN_CLOSED, CONN_RESOLVING, CONN_CONNECTING, CONN_OPEN };

struct conn {
	struct peer *peer;
	enum conn_state state;
	int fd;
	struct lookup *lookup;
	struct resp *reader;
	char *out; /* bytes still to send, from `sent` to `used` */
	size_t used, sent, room;
	int greetings;             /* replies owed to AUTH and SELECT */
	size_t starts[OWED_MAX];   /* where in `out` each question begins */
	unsigned int asked, taken; /* question numbers */
	bool refused; /* broken by an error reply to AUTH or SELECT: its text is
			 in why, bare */
	struct fail why; /* what broke it */
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

enum conn_got {
	CONN_NOTHING,
	CONN_REPLY, /* to question *number */
	CONN_ERROR, /* likewise; the error's text is the one word */
	CONN_BROKEN /* question *number will not be answered: see why */
};

/* Call until CONN_NOTHING. CONN_BROKEN comes once for each owed question;
 * *ran tells whether its bytes had left. The words live until the next call. */
enum conn_got conn_next(struct conn *c, unsigned int *number,
			struct words *reply, bool *ran);

#endif
