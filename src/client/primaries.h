/* SPDX-License-Identifier: MIT */
/*
 * The primaries of a Cluster as targets of a fanout, for verbs that ask about
 * all keys, or about many.
 */
#ifndef CLIENT_PRIMARIES_H
#define CLIENT_PRIMARIES_H

#include "client/fanout.h"

/* Asks each Cluster for its primaries, waits, and adds them as targets. After
 * that, primaries_cover() says whether a target's keys are to be listed: it is
 * a primary, or a server outside any Cluster. Call it while nothing is being
 * asked. -1: a Cluster did not tell. */
int primaries_find(struct fanout *s, struct fail *why);
bool primaries_cover(const struct fanout *s, int target);

/* The same for one server of the list, without waiting: one call asks, one
 * takes the answer. A server that is no longer a primary covers nothing from
 * then on. primaries_ask(): -1: out of memory. primaries_take(): -1:
 * *why says what is wrong with the answer, and the server covers nothing. */
bool primaries_wanted(const struct fanout *s, int node);
int primaries_ask(struct fanout *s, int node, int64_t tag);
int primaries_take(struct fanout *s, const struct got *got, struct fail *why);

/* The target that has this slot's keys, as far as known; else, and outside a
 * Cluster, the server of the list itself. A primary does not follow a MOVED:
 * the caller gets it as the answer, and must ask the server of the list. */
int primaries_home(const struct fanout *s, int node, uint16_t slot);

#endif
