/* SPDX-License-Identifier: MIT */
/*
 * Brings the lease's questions to the nodes, and their answers to the lease:
 * makes a request of a question, follows redirections, asks the Sentinels for
 * proof, and reports failures. Only for client/client.c.
 */
#ifndef CLIENT_EXCHANGE_H
#define CLIENT_EXCHANGE_H

#include "client/state.h"

/* Sends a question of the lease, on its channel. */
void exchange_ask(struct client *cl, const struct ask *ask);

/* Closes a channel's connection: nobody wants what is owed there. */
void exchange_hang_up(struct client *cl, int node, int chan);

/* Takes all answers that have come on this connection: a channel, or ASIDE. */
void exchange_take(struct client *cl, int node, int chan);

/* Takes what the Sentinels of this node have decided. */
void exchange_prove(struct client *cl, int node);

#endif
