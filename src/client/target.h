/* SPDX-License-Identifier: MIT */
/*
 * What a fanout asks: a server of the list, or a primary of a Cluster. Only for
 * client/fanout.c and client/primaries.c.
 */
#ifndef CLIENT_TARGET_H
#define CLIENT_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/words.h"
#include "client/session.h"

struct question {
	struct question *next;
	int64_t tag;
	int again; /* these two as in struct sent */
	bool asking;
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
};

#endif
