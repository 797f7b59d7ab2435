/* SPDX-License-Identifier: MIT */
/* What a client says about its nodes: failures and recoveries, each once. */
#ifndef CLIENT_REPORT_H
#define CLIENT_REPORT_H

#include "client/state.h"

/* For too few of several servers: how many answered, of how many, and how many
 * are needed. */
#define TOO_FEW_ANSWERED "%d of %d servers answered, %d are needed"

/* A question to this node failed: see why. */
void report_trouble(struct client *cl, int node);
/* The same for a question that is never answered, which fails nowhere. */
void report_silence(struct client *cl, int node);
/* An answer of this node counted. */
void report_renewal(struct client *cl, int node);
/* Two servers of the list are one. */
void report_twins(struct client *cl);

/* Why there is no answer: the latest failure, or that no server said anything.
 * With several nodes, it says how many answered and what is wrong with the
 * others. */
const struct fail *client_why(struct client *cl);

#endif
