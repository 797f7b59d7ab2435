/* SPDX-License-Identifier: MIT */
/*
 * A simulated node: what the scripts of src/lua do, without a server. That the
 * two agree is checked against a real one by tests/sim/differ.c.
 *
 * Twins are rules left out on purpose; a simulator that does not find each of
 * them proves nothing.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lease.h"

enum twin {
	TWIN_NONE,
	TWIN_STAMP_AT_REPLY, /* validity counted from the reply */
	TWIN_RELEASE_ANY,    /* release without compare */
	TWIN_HEAL_ANY,       /* heal without the counter test */
	TWIN_RELEASE_STILL,  /* release leaves the counter as it is */
	TWIN_COUNT
};

struct node {
	int64_t token; /* 0: no lock */
	int64_t expires_ms;
	int64_t counter; /* -1: missing */
	int64_t holder_ttl;
	enum twin twin;
};

void node_flush(struct node *n);

/* Runs a question at server time `us` (microseconds since 1970). */
struct answer node_run(struct node *n, const struct ask *ask, int64_t token,
		       int64_t ttl_ms, bool alone, int64_t us);

/* The lock is there at `us`. */
bool node_locked(struct node *n, int64_t us);

#endif
