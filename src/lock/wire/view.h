/* SPDX-License-Identifier: MIT */
/*
 * Merges what the nodes say about a lock (src/lua/inspect.lua): who holds it,
 * on how many nodes, and who waits. For the verbs that only look; the lease
 * does not use it.
 */
#ifndef LOCK_WIRE_VIEW_H
#define LOCK_WIRE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/reply.h"
#include "lock/core/lease.h"
#include "lock/wire/answer.h"
#include "lock/wire/keys.h"
#include "lock/wire/request.h"

/* How a client holds a lock. */
enum hold {
	HOLD_ALONE,  /* the lock, or the slot, holds the token */
	HOLD_READS,  /* one of the readers */
	HOLD_INSIDE, /* nested: joined the hold above it */
	HOLD_RESTS,  /* ended, but kept for a while: --min-hold */
	HOLD_FOREIGN /* no record: another program's, or of another type */
};

/* One holder. */
struct view_holder {
	enum hold how;
	unsigned int nodes; /* where it holds: bits */
	int slot;
	char slot_name[SLOT_NAME_SHOWN]; /* "": it has none */
	char type[16];   /* of the key: "string", or that of a foreign key */
	char token[140]; /* safe for a terminal */
	char *value;     /* owned by the view: the family that is in the slot;
			    of a foreign key, its value, at most 4096 bytes */
	size_t value_len;
	char about[ABOUT_COUNT][ABOUT_MAX];
	int64_t since_ms; /* server time; 0: unknown */
	int64_t ttl_ms;   /* T; 0: unknown */
	int64_t fence;    /* 0: unknown */
	int64_t left_ms;  /* what is left of the lease on a quorum, or else on
			     the node where it lasts longest; -1: no expiry */
	int64_t left_at[NODES_MAX];
};

struct view_waiter {
	unsigned int nodes; /* where it is in line: bits */
	char token[140];
	char about[ABOUT_COUNT][ABOUT_MAX];
	int64_t ticket;    /* server time, in us */
	int64_t since_ms;  /* server time of its arrival */
	int64_t silent_ms; /* since its last sign of life */
	int slots;         /* it wants one of this many slots */
	bool reads, supersedes, high;
};

/* The most holders and waiters that a node is to list. */
struct view_most {
	int holders, waiters; /* at most VIEW_MOST each */
	const char *whose;    /* the token of a client that is listed even so;
				 or NULL. Borrowed */
};
#define VIEW_MOST 1000

struct view {
	struct view_holder *holder; /* owned; those on a quorum come first */
	int holders, room_holders;
	struct view_waiter *waiter; /* owned; in the order of the line */
	int waiters, room_waiters;
	int64_t in_all;  /* number of holders on the node that has the most;
			    may exceed `holders` */
	int64_t in_line; /* number of waiters on the node that has the most */
	int64_t counter; /* the largest fence counter; 0: none */
	int64_t counter_at[NODES_MAX]; /* the counter of each node */
	unsigned int open; /* nodes that grant something new: bits */
	int64_t shut_ms;   /* no quorum does for this long, because data were
			      lost or a server has just started; 0: it does */
	int64_t now_ms;    /* the clock of one server */
	struct view_mark {
		int64_t number; /* of the revision that succeeded; for how many
				   ms it is not to be repeated; of the label,
				   since_ms; -1: none */
		int64_t since_ms;
		struct record_end end;
		char about[ABOUT_COUNT][ABOUT_MAX]; /* who ran it */
	} revision, once, label; /* --revision, --once-per, --once-for */
	char label_text[LABEL_MAX + 1];
	unsigned int answers; /* nodes that answered: bits */
	unsigned int held_on; /* nodes on which a client has it: bits */
	unsigned int more_on; /* nodes with more holders than they listed:
				 bits */
	unsigned int damaged; /* bits of enum view_damage */
};

/* Not redlock's, as if data had been lost: see src/lua/counter.lua. The next
 * client mends it. */
enum view_damage {
	DAMAGED_STATE = 1,   /* it is of another type */
	DAMAGED_COUNTER = 2, /* it is not a number */
	DAMAGED_LINE = 4     /* of what was listed of it */
};

/* Makes the request; see request.h. */
void view_request(struct request *r, const struct keys *keys,
		  const struct view_most *most, int db);

/* The master of a node that is a replica, in its answer; "": it is none. */
const char *view_master(const struct reply *r, char buf[MASTER_SHOWN]);
/* Adds a node's answer. *v must be all zero at first. Returns -1 if the reply
 * is not an answer of the script, and adds nothing; or if memory is short, when
 * it may have added a part. *v can be closed after either. */
int view_add(struct view *v, const struct reply *r, int node, struct fail *why);
/* Call it after the last answer; `nodes` is the number of nodes. Sorts, and
 * fills in left_ms. */
void view_finish(struct view *v, int nodes);
void view_close(struct view *v);

enum view_state {
	VIEW_FREE,
	VIEW_HELD,
	VIEW_MINORITY /* held on fewer nodes than a quorum */
};
enum view_state view_state(const struct view *v, int nodes);

/* The number of nodes on which this client holds or may hold the lock. */
int view_nodes_of(const struct view *v, const struct view_holder *h);
/* Whether these are a quorum. */
bool view_quorum(const struct view *v, const struct view_holder *h, int nodes);

/* The names in JSON: "held", "reader" ... */
const char *view_state_name(enum view_state state);
const char *view_hold_name(enum hold how);

/* Whether nobody can have the lock, whatever the silent nodes would say. */
bool view_is_free(const struct view *v, int nodes);

/* Whether a slot other than 0 is held. */
bool view_has_slots(const struct view *v);
/* The fence of the first holder, or, if nobody holds it, the latest one; -1:
 * not known, because another program holds it, or only a nested run is left. */
int64_t view_fence(const struct view *v);

/* The first holder, in the form in which a waiter sees it. */
void view_sight(const struct view *v, struct sight *out);

/* The nodes where the key never expires: bits. */
unsigned int view_endless(const struct view *v);

/* The holder with this token; NULL: there is none. */
const struct view_holder *view_find(const struct view *v, const char *token);

#endif
