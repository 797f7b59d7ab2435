/* SPDX-License-Identifier: MIT */
/*
 * The primaries of a real Cluster, each at a unix socket, and a slot that moves
 * from one to the other; and a replica, which is node PRIMARIES. Redirections
 * are followed here as the client's driver does, so a test sees what the
 * scripts answer, and the errors that remain. Whatever else goes wrong ends the
 * program: bail().
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/words.h"

#define PRIMARIES 3

void cluster_dial(char **sockets);
void cluster_flush(void); /* every node */

/* Which node has the slot of this key. */
int cluster_owner(const char *key, size_t len);
/* As a client would ask that node, then whom it names (MOVED, ASK). False: an
 * error, in the first word. */
bool cluster_ask(int node, const struct words *request, struct words *reply);
/* Words with blanks between. At that node, on the move or not; its answer,
 * which must not be an error, as a number. */
long cluster_say(int node, const char *text);
/* Until that node serves, or has not for 10 s. */
void cluster_wait(int node);
/* A slot of that node's, but not this one. */
int cluster_slot(int node, int but);
/* Keys at that node, in all slots. */
int cluster_count(int node);

/* The slot of a key goes from its owner to another node: on the move. */
struct move {
	int from, to;
	char slot[8];
};
void cluster_begin(struct move *m, const char *key, size_t len);
/* One key, which must be there; or all that are. */
void cluster_carry(const struct move *m, const char *name);
void cluster_carry_all(const struct move *m);
/* All agree that the new one has it. */
void cluster_end(const struct move *m);

#endif
