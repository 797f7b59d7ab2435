/* SPDX-License-Identifier: MIT */
/*
 * What the nodes say of a lock (src/lua/inspect.lua), put together: who holds
 * it, and on how many of them, and who waits. For those who look; the lease
 * does not read it.
 */
#ifndef LOCK_VIEW_H
#define LOCK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "lock/keys.h"
#include "lock/lease.h"
#include "lock/script.h"

/* How somebody has a lock. */
enum hold {
	HOLD_ALONE,  /* the lock, or the slot, holds the token */
	HOLD_READS,  /* one of the readers */
	HOLD_INSIDE, /* joined the one above: nested */
	HOLD_RESTS,  /* has ended, and keeps it for a while: --min-hold */
	HOLD_FOREIGN /* no record: another program's, or of another type */
};

/* One client that has it. */
struct view_holder {
	enum hold how;
	unsigned int nodes; /* on these: bits */
	int slot;
	char type[16];   /* of the key: "string", or what is foreign */
	char token[140]; /* safe for a terminal */
	char *value;     /* what the lock holds there, byte for byte (at most
			    4096): the token, or what the readers share */
	size_t value_len;
	char about[ABOUT_COUNT][ABOUT_MAX];
	int64_t since_ms; /* server time; 0: unknown */
	int64_t ttl_ms;   /* T; 0: unknown */
	int64_t renewed;  /* so often; -1: unknown */
	int64_t left_ms;  /* of the lease, on a quorum, or else where it is
			     longest; -1: no expiry */
	int64_t left_at[NODES_MAX];
};

struct view_waiter {
	unsigned int nodes; /* in line on these: bits */
	char token[140];
	char about[ABOUT_COUNT][ABOUT_MAX];
	int64_t ticket;    /* server time at which it came, in us */
	int64_t silent_ms; /* since its last sign of life */
	int slots;         /* wants one of so many */
	bool reads, supersedes;
};

/* Of so many a node tells, at most. */
struct view_most {
	int holders, waiters; /* not more than VIEW_MOST */
};
#define VIEW_MOST 1000

struct view {
	struct view_holder *holder; /* those on a quorum first */
	int holders, room_holders;
	struct view_waiter *waiter; /* in the order of their places */
	int waiters, room_waiters;
	int64_t held;    /* by so many, on the node where most do: there may be
			    more than those above */
	int64_t in_line; /* so many wait, on the node where most do */
	int64_t counter; /* the fence counter, the largest; 0: none */
	int64_t counter_at[NODES_MAX]; /* and each */
	bool bad_counter;              /* it is no number */
	int64_t now_ms;                /* a server's clock */
	int64_t once_ms;      /* done, and not to be done again for; -1 */
	unsigned int answers; /* these nodes said something: bits */
	unsigned int held_on; /* and on these somebody has it */
	unsigned int more_on; /* and on these more have it than were told of */
};

/* Makes the request; see script.h. */
void view_request(struct keys *keys, const struct view_most *most, int db,
		  struct script_scratch *scratch, struct words *out);
const char *view_sha(void);

/* *v is all zero at first. Adds what a node said. -1: it is not an answer of
 * the script, or there is no memory; nothing was added. */
int view_add(struct view *v, const struct reply *r, int node, struct fail *why);
/* After the last one: of so many nodes. Sorts, and fills in left_ms. */
void view_finish(struct view *v, int nodes);
void view_close(struct view *v);

enum view_state {
	VIEW_FREE,
	VIEW_HELD,
	VIEW_MINORITY /* somebody has it on fewer than a quorum */
};
enum view_state view_state(const struct view *v, int nodes);

/* On so many nodes this one has it, or may have it. */
int view_nodes_of(const struct view *v, const struct view_holder *h);

/* For programs: "held", "reader" ... */
const char *view_state_name(enum view_state state);
const char *view_hold_name(enum hold how);

/* Nobody can have it, whatever the nodes that said nothing might say. */
bool view_is_free(const struct view *v, int nodes);

/* The first holder, as whoever waits sees one. */
void view_sight(const struct view *v, struct sight *out);

/* Whoever has this token; NULL: nobody. */
const struct view_holder *view_find(const struct view *v, const char *token);

#endif
