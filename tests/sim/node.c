/* SPDX-License-Identifier: MIT */
/* The scripts, simulated. */
#include "node.h"

void node_flush(struct node *n)
{
	n->token = 0;
	n->counter = -1;
}

/* Redis deletes when now > when, in ms of its own clock. */
bool node_locked(struct node *n, int64_t us)
{
	if (n->token != 0 && us / 1000 > n->expires_ms)
		n->token = 0;
	return n->token != 0;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void set(struct node *n, int64_t token, int64_t ttl, int64_t us)
{
	n->token = token;
	n->expires_ms = us / 1000 + ttl;
	n->holder_ttl = ttl;
}

static struct answer acquire(struct node *n, const struct ask *ask,
			     int64_t token, int64_t ttl, bool alone, int64_t us)
{
	if (node_locked(n, us) && n->token == token) {
		set(n, token, ttl, us);
		if (n->counter < 0)
			n->counter = us;
		return (struct answer){SAID_GRANTED, n->counter, 0, 0};
	}
	if (n->token != 0)
		return (struct answer){SAID_BUSY, larger(n->counter, 0),
				       n->expires_ms - us / 1000,
				       n->holder_ttl};
	if (ask->seen > 0 && n->counter < ask->seen)
		return (struct answer){SAID_LOSS, larger(n->counter, 0), 0, 0};
	if (n->counter < 0)
		n->counter = us;
	else
		n->counter =
			alone ? larger(n->counter + 1, us) : n->counter + 1;
	set(n, token, ttl, us);
	return (struct answer){SAID_GRANTED, n->counter, 0, 0};
}

static struct answer confirm(struct node *n, const struct ask *ask,
			     int64_t token, int64_t ttl, int64_t us)
{
	struct answer a = {.said = SAID_YES};
	bool locked = node_locked(n, us);

	if (locked && n->token == token) {
		a.pttl_ms = n->expires_ms - us / 1000;
	} else if (!locked && ask->seen > 0 &&
		   (n->counter < 0 || n->counter == ask->seen ||
		    n->twin == TWIN_HEAL_ANY)) {
		a.said = SAID_HEALED;
	} else {
		return (struct answer){SAID_NO, larger(n->counter, 0), 0, 0};
	}
	set(n, token, ttl, us);
	if (n->counter < ask->fence)
		n->counter =
			larger(n->counter < 0 ? us : n->counter, ask->fence);
	a.counter = n->counter;
	return a;
}

static struct answer release(struct node *n, const struct ask *ask,
			     int64_t token, int64_t us)
{
	if ((!node_locked(n, us) || n->token != token) &&
	    n->twin != TWIN_RELEASE_ANY)
		return (struct answer){SAID_NO, larger(n->counter, 0), 0, 0};
	n->token = 0;
	if (n->counter < 0)
		n->counter = us;
	if (n->twin != TWIN_RELEASE_STILL)
		n->counter = larger(n->counter, ask->fence) + 1;
	return (struct answer){SAID_YES, n->counter, 0, 0};
}

struct answer node_run(struct node *n, const struct ask *ask, int64_t token,
		       int64_t ttl_ms, bool alone, int64_t us)
{
	if (ask->verb == VERB_ACQUIRE)
		return acquire(n, ask, token, ttl_ms, alone, us);
	if (ask->verb == VERB_CONFIRM)
		return confirm(n, ask, token, ttl_ms, us);
	return release(n, ask, token, us);
}
