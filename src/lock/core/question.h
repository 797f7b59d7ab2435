/* SPDX-License-Identifier: MIT */
/*
 * Part of the lease: when to send a node the question that it is wanted for
 * (lease_node.want), on which channel, and what the question says besides its
 * verb. See struct ask.
 */
#ifndef LOCK_CORE_QUESTION_H
#define LOCK_CORE_QUESTION_H

#include "lock/core/state.h"

/* Chooses the channel for the wanted question, and returns when to send it.
 * After a while an unanswered question is repeated on the other connection. If
 * both are silent, a new connection replaces the older one. A channel on which
 * we listen is silent by nature, and is left alone. */
struct instant question_due(const struct lease *l, const struct lease_node *n,
			    int *chan, bool *fresh);

/* Makes that question, and notes that it is under way. */
void question_make(struct lease *l, int node, int chan, bool fresh,
		   struct instant at, struct ask *out);

#endif
