/* SPDX-License-Identifier: MIT */
/*
 * Fewer than a quorum of several nodes, a part of acquiring: what was granted
 * is kept for KEEP_MS, because the other nodes' grants may be on their way;
 * then, or as soon as it is somebody else's turn, it is given back. See
 * lease.h.
 */
#ifndef LOCK_MINORITY_H
#define LOCK_MINORITY_H

#include "lock/lease.h"

/* A release of ours may be under way there, or come late: what is granted there
 * now it would free. The node is not to be asked. */
bool minority_waits(const struct lease_node *n);

/* Give back what this node has granted, behind whatever it may grant still. */
void minority_give_back(struct lease_node *n, struct instant at);
/* On all; then a pause, longer each time, so that two do not for ever do it
 * together. */
void minority_give_back_all(struct lease *l, struct instant at);

/* Some nodes are ours, and they are worth keeping still. */
bool minority_keeps(struct lease *l, struct instant at);
/* Others were granted some a moment ago: nobody has the lock yet. */
bool minority_is_split(const struct lease *l);
/* When to look what became of the others. */
struct instant minority_look(const struct lease *l, struct instant at);

/* What somebody with a quorum does not have is not taken from it, for as long
 * as it has that. True: it has not any more. */
bool minority_stand_off(struct lease *l);

#endif
