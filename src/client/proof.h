/* SPDX-License-Identifier: MIT */
/*
 * A yes from a server that the Sentinels named. An old master says yes, too. So
 * the yes counts only when the Sentinels, asked no earlier than the server was,
 * have confirmed that it is the master.
 */
#ifndef CLIENT_PROOF_H
#define CLIENT_PROOF_H

#include "client/state.h"

/* Asks the Sentinels, if the node has any: call it before the server is asked,
 * so that this takes no time of its own. */
void proof_ask(struct client *cl, const struct ask *ask);

/* Whether a yes of this node is not proven yet: *why says how many Sentinels
 * have answered. */
bool proof_is_open(const struct client *cl, int node, struct fail *why);

/* Gives up on the proof of a yes: returns its question, or VERB_NONE. A heal is
 * remembered: the next yes reports it. */
struct ask proof_forget(struct client *cl, int node, int chan);

enum proof_says {
	PROOF_OPEN,   /* nothing is decided */
	PROOF_COUNTS, /* `yes` is an answer that counts */
	PROOF_FAILED, /* no open yes will be proven: see why */
	PROOF_DEPOSED /* `heir` is the master now */
};

struct proof {
	struct unproven yes;
	struct place heir;
	struct fail why;
};

/* What the Sentinels have decided. Call it until PROOF_OPEN; after
 * PROOF_DEPOSED, move to the heir first. */
enum proof_says proof_next(struct client *cl, int node, struct proof *out);

#endif
