/* SPDX-License-Identifier: MIT */
/*
 * What the lease asks a node, and what the node answers. lock/wire/request.h
 * makes a request from a question, lock/wire/answer.h an answer from a reply.
 */
#ifndef LOCK_CORE_ASK_H
#define LOCK_CORE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum verb {
	VERB_NONE,
	VERB_ACQUIRE,   /* take the lock, or a place in line */
	VERB_LISTEN,    /* wait until woken; blocks its connection */
	VERB_CONFIRM,   /* renew */
	VERB_REPLICATE, /* wait until enough replicas have the grant; goes on
			   the grant's connection, behind it */
	VERB_RELEASE
};

/* Fields that only one verb uses are in a struct named after it. This is not a
 * union on purpose: for other verbs they are 0, so code that reads the wrong
 * struct gets 0, not another verb's value. */
struct ask {
	enum verb verb;
	int node, chan;
	bool fresh;          /* close the channel's old connection first, and
				report the questions it owes as failed */
	uint64_t seq;        /* identifies the question. On the server, what
				was asked later counts: see lease_init() */
	struct instant sent; /* read before the send: the stamp */
	int64_t fence;       /* confirm, release: raise the counter to this */
	int64_t seen;        /* the counter we saw. Acquire, release: to detect
				a loss; confirm: to decide whether to heal. 0:
				none */
	bool joins;          /* acquire: join the outer hold; confirm: we joined
				it; release: we may have */
	int slot;            /* confirm: the slot we hold */
	int64_t longest_ms; /* the longest T that we know of: ours, or that of a
			       holder */
	int64_t guard_ms;   /* acquire, and a confirm that repairs: a server
			       that has been up for less does not vote; 0: it
			       does */
	int64_t listen_ms;  /* listen, replicate: time limit */
	struct {
		bool looks;     /* take nothing: another client repairs this
				   node */
		int64_t ticket; /* 0: none yet; -1: do not stand in line */
		bool newcomer;  /* we chose the ticket, and the node does not
				   know it yet */
		int only;       /* take slot number `only` - 1; 0: any slot */
		bool replaces;  /* if we are the first in line, ask the holder
				   to stop */
	} acquire;
	struct {
		bool reads;       /* we read on other nodes, and join the
				     readers on this one */
		int64_t until_ms; /* the lease ends then, by the server's clock;
				     until then it may be healed. 0: it may
				     not */
		bool repairs;     /* the node said that the lock was gone and
				     its counter was `seen`; since then, a
				     quorum has confirmed ours */
	} confirm;
	struct {
		bool queued;      /* we may be in line as well */
		bool ran;         /* a command may have run */
		bool withheld;    /* do not hand the lock to a waiter */
		int64_t least_ms; /* keep the lock until this long after the
				     grant (--min-hold) */
		int64_t once_ms;  /* nobody may repeat the work for this long
				     (--once-per) */
		int64_t revision; /* number revision - 1 is done (--revision);
				     0: none */
		bool labels;      /* the work with our label is done
				     (--once-for) */
		bool mends;       /* once_ms, revision or labels is what another
				     client did: this node may have lost the
				     mark */
	} release;
};

enum said {
	SAID_GRANTED,
	SAID_BUSY,
	SAID_LOSS,    /* free, but data were lost: a holder may not know it */
	SAID_GUARDED, /* the server restarted and may have forgotten a lease */
	SAID_FULL,    /* max_waiters wait already */
	SAID_SUPERSEDED, /* a newer waiter has our place */
	SAID_DONE,       /* the work was done already: --once-per, --once-for */
	SAID_OLDER,      /* a newer one was done: --revision */
	SAID_INSIDE,   /* the outer hold is a reader's, and we want to write */
	SAID_VANISHED, /* the outer hold is gone, and its holder does not
			  know it yet */
	SAID_WOKEN,
	SAID_QUIET, /* the listen timed out */
	SAID_YES,
	SAID_HEALED,
	SAID_NO
};

/* As above: fields that only some answers have are 0 in the others. `granted`
 * and `busy` go by the word, `confirm` and `handed_ms` by the question. */
struct answer {
	enum said said;
	int64_t counter;    /* the stored counter; 0: unknown. Replicate: the
			       number of replicas that have it */
	int64_t at_ms;      /* granted, yes, healed: the server's clock; 0:
			       unknown */
	int64_t longest_ms; /* the longest T of those in the slot; 0: unknown */
	bool stops;         /* granted, or any answer to a confirm: we are asked
			       to stop (force-release) */
	int64_t stop_ms;    /* stops: the time left for that */
	struct {
		int slot;
		int64_t fence;   /* given to us, and to nobody else */
		uint64_t server; /* identifies the server; 0: unknown */
		bool in_cluster; /* the server is a Cluster node */
		bool is_active;  /* it is a replica that takes writes */
	} granted;
	/* to an acquire, if not granted */
	struct busy {
		int64_t pttl_ms;       /* what is left of the lease; -1: no
					  expiry. Guarded: time left until it
					  is not. Done: how long the work may
					  not be repeated; -1: not with our
					  label. Full: the number of waiters.
					  Older: 0 */
		int64_t revision;      /* older: the newer one; else 0 */
		int64_t holder_ttl_ms; /* the holder's T; 0: unknown */
		int64_t ticket;        /* ours; 0: none */
		int place;             /* ours in line, from 1; 0: none */
		bool foreign;          /* held by another program, which wakes
					  nobody */
		uint64_t holder;       /* a hash of the holder's token */
		int64_t holder_ticket; /* 0: unknown */
		int64_t age_ms;        /* time since the grant; -1: unknown */
	} busy;
	struct {
		int64_t pttl_ms; /* yes: what was left of the lease; -1:
				    unknown. No: 0: nobody has the lock */
		bool raised;     /* this question raised the counter to the
				    fence */
		bool unlocked;   /* no: it was released under our token, by
				    `redlock unlock` or a release that overtook
				    us */
	} confirm;
	int64_t handed_ms; /* release, yes: for how long the lock was granted to
			      the next waiter; 0: nobody waited */
};

#endif
