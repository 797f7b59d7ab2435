/* SPDX-License-Identifier: MIT */
/* What the files of client/ share among themselves. */
#ifndef CLIENT_INSIDE_H
#define CLIENT_INSIDE_H

#include "client/client.h"
#include "client/fanout.h"

/* ---- exchange.c ----
 *
 * Brings the lease's questions to the nodes, and their answers to the lease:
 * makes a request of a question, asks the Sentinels for proof, and reports
 * failures. */

/* Sends a question of the lease, on its channel. */
void exchange_ask(struct client *cl, const struct ask *ask);

/* Closes a channel's connection: nobody wants what is owed there. */
void exchange_hang_up(struct client *cl, int node, int chan);

/* Takes all answers that have come on this connection: a channel, or DETOUR. */
void exchange_take(struct client *cl, int node, int chan);

/* Takes what the Sentinels of this node have decided. */
void exchange_prove(struct client *cl, int node);

/* ---- proof.c ----
 *
 * A yes from a server that the Sentinels named. An old master says yes, too. So
 * the yes counts only when the Sentinels, asked no earlier than the server was,
 * have confirmed that it is the master.
 */

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
	PROOF_OTHER   /* another is the master now: see `master` */
};

struct proof {
	struct unproven yes;
	struct place master;
	struct fail why;
};

/* What the Sentinels have decided. Call it until PROOF_OPEN; after
 * PROOF_OTHER, move to it first. */
enum proof_says proof_next(struct client *cl, int node, struct proof *out);

/* ---- report.c ----
 *
 * What is said about the nodes: failures and recoveries, each once. */

/* A question to this node failed: see why. */
void report_trouble(struct client *cl, int node);
/* The same for a question that is never answered, which fails nowhere. */
void report_silence(struct client *cl, int node);
/* An answer of this node counted. */
void report_renewal(struct client *cl, int node);
/* Two servers of the list are one. */
void report_twins(struct client *cl);

/* ---- fanout.c, primaries.c ----
 *
 * What a fanout asks: a server of the list, or a primary of a Cluster. */

struct question {
	struct question *next;
	int64_t tag;
	int again; /* these two as in struct sent */
	bool asking;
	bool elsewhere;  /* to be asked at the next address of the name */
	bool ran;        /* an attempt without an answer may have run */
	const char *sha; /* call the script by this hash; NULL: send the words
			    as they are */
	struct instant sent;
	struct words words; /* point at what follows, or at a script */
	char bytes[];
};

struct target {
	int node;
	int index;    /* of the fanout's targets */
	bool primary; /* of a Cluster: this place, and no other */
	bool gone;    /* no longer a primary */
	int *home;    /* of a Cluster that is spread: of each slot */
	struct peer peer;
	struct session session;
	struct question *first, *last; /* to be asked */
	bool singly; /* one question at a time: see hung_up_at_another() */
	struct instant deadline; /* of the next answer */
	struct fail down;        /* why it cannot be reached */
	/* since its last answer: see leaves_early() */
	bool hurried; /* a silent address was left early */
	bool patient; /* and none is, from now on */
	int tried;    /* addresses of the name that had their full time */
};

#endif
