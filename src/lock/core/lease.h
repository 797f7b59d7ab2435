/* SPDX-License-Identifier: MIT */
/*
 * The lease: decides when the lock is ours. A state machine without I/O, for 1
 * to NODES_MAX nodes.
 *
 * Events go in (an answer, a failure, "release"), questions come out of
 * lease_next(); lease_wake() says when to call it again. The lease opens no
 * socket, reads no clock and allocates nothing. The caller passes the time, so
 * redlock and the simulator (tests/sim) run the same code.
 *
 * The caller sends each question on channel `chan` (0 or 1: each node has two
 * connections) of node `node`. It keeps the question and passes it back with
 * the answer, or to lease_failed() if the connection broke or the server
 * refused. A channel answers its questions in order. Answers may be arbitrarily
 * late. Every question is idempotent by token.
 *
 * If a quorum granted with the same counter, that value is the fence. Otherwise
 * the largest becomes the fence, once a quorum has stored it under our token.
 * Why validity counts from `sent`: see timing.h.
 *
 * With several nodes, a waiter stands in line on each of them and asks a node
 * again when that node wakes it. It keeps a minority of grants for a moment,
 * because the others may follow. It gives the minority back when the moment is
 * over, or as soon as a waiter that came earlier is about to get the lock. If
 * another client already has a quorum, it repairs the nodes that we give back,
 * and we do not take them again while it has its quorum. We ask no node on
 * which such a release may still be under way: the release would free a later
 * grant.
 *
 * If a lock vanishes from a node, its holder sets it again, as with a single
 * node, but not after the time at which the lock would have ended there. After
 * that time, and on a node that never granted, the holder takes the lock once
 * the answering nodes have shown that nobody else can have it: see ask.repairs.
 *
 * If a holder is asked to stop within some time (force-release), that time
 * counts like a lease of that length: see timing.h. Renewals continue
 * meanwhile.
 *
 * Larger than most: the whole interface of the state machine. Most of it is
 * the meaning of fields.
 */
#ifndef LOCK_CORE_LEASE_H
#define LOCK_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"

#define NODES_MAX 9
#define CHANNELS 2
#define ROUNDS_MAX 999 /* the scripts keep it in thousandths */

enum verb {
	VERB_NONE,
	VERB_ACQUIRE,   /* take the lock, or a place in line */
	VERB_LISTEN,    /* wait until woken; blocks its connection */
	VERB_CONFIRM,   /* renew */
	VERB_REPLICATE, /* wait until enough replicas have the grant; goes on
			   the grant's connection, behind it */
	VERB_RELEASE
};

/* How a hold ended: bits. */
#define LEASE_RAN 1  /* something ran under it: --min-hold applies */
#define LEASE_DONE 2 /* and succeeded: --once-per applies */
#define LEASE_TOLD 4 /* record it on the servers although it was lost */

struct ask {
	enum verb verb;
	int node, chan;
	bool fresh;          /* close the channel's old connection first */
	uint64_t seq;        /* identifies the question */
	struct instant sent; /* read before the send: the stamp */
	int64_t fence;       /* confirm, release: raise the counter to this */
	int64_t seen;        /* the counter we saw. Acquire: to detect a loss;
				confirm: to decide on a heal. 0: none */
	bool embargo;        /* acquire: take nothing yet; data were lost, or
				another client repairs this node */
	int64_t guard_ms;    /* acquire: conf.guard_ms at that time */
	int64_t ticket;    /* acquire: 0: none yet; -1: do not stand in line */
	bool newcomer;     /* acquire: we chose the ticket, and the node does
			      not know it yet */
	int only;          /* acquire: take slot only - 1; 0: any slot */
	int64_t listen_ms; /* listen, replicate: time limit */
	int round;         /* number of times we released this node and asked
			      again: a release of an earlier round, come late,
			      must not undo a later grant */
	bool joins;        /* acquire: join the outer hold; release: we may
			      have joined it */
	int slot;          /* confirm, release: the slot we hold */
	int64_t group;    /* confirm: the group of readers we are in; 0: none */
	bool reads;       /* confirm: we read on other nodes, and join the
			     readers on this one */
	bool joined;      /* confirm: another client has joined our hold */
	int64_t until_ms; /* confirm: the lease ends then, by the server's
			     clock, and a vanished lock is not healed after that
			     (with one node it is, if the counter is not an
			     older one, nor missing); 0: unknown; -1: never
			     heal */
	bool repairs;     /* confirm: the node said that the lock was gone and
			     its counter was `seen`; since then, a quorum has
			     confirmed ours */
	bool queued;      /* release: leave the line as well */
	bool ran;         /* release: a command may have run */
	bool withheld;    /* release: do not hand the lock to a waiter */
	int64_t least_ms; /* release: keep the lock until this long after the
			     grant (--min-hold) */
	int64_t held_ms;  /* release: how long it was held */
	int64_t once_ms;  /* release: nobody may repeat the work for this
			     long (--once-per) */
};

enum said {
	SAID_GRANTED,
	SAID_BUSY,
	SAID_LOSS,
	SAID_GUARDED, /* the server restarted and may have forgotten a lease */
	SAID_FULL,    /* max_waiters wait already */
	SAID_SUPERSEDED, /* a newer waiter has our place */
	SAID_DONE,       /* the work was done already: --once-per */
	SAID_INSIDE,     /* the outer hold is a reader, and we want to write */
	SAID_VANISHED,   /* the outer hold is gone, and its holder does not
			    know it yet */
	SAID_WOKEN,
	SAID_QUIET, /* the listen timed out */
	SAID_YES,
	SAID_HEALED,
	SAID_NO
};

struct answer {
	enum said said;
	int64_t counter;       /* the stored counter; 0: unknown. Replicate: the
				  number of replicas that have it */
	int64_t pttl_ms;       /* busy, yes: what is left of the lease; -1: no
				  expiry. Guarded: time left until it is not.
				  No: 0: nobody has the lock */
	int64_t holder_ttl_ms; /* busy: the holder's T; 0: unknown */
	int64_t ticket;        /* busy, loss: our ticket; 0: none */
	int ahead;       /* number of waiters before us; -1: not in line */
	int slot;        /* granted: the slot */
	int64_t group;   /* granted, yes, healed: see struct ask */
	bool joined;     /* yes, healed: see struct ask */
	bool foreign;    /* busy: held by another program, which wakes
			    nobody */
	uint64_t holder; /* busy: a hash of the holder's token */
	int64_t holder_ticket; /* busy: the holder's ticket; 0: unknown */
	int64_t age_ms;        /* busy: time since the grant; -1: unknown */
	uint64_t server;       /* granted: identifies the server; 0: unknown */
	bool in_cluster;       /* granted: the server is a Cluster node */
	bool is_active;        /* granted: it is a replica that takes writes */
	int64_t at_ms;         /* granted, yes, healed: the server's clock;
				  0: unknown */
	bool raised;           /* yes: this question raised the counter to the
				  fence */
	bool lost; /* what we saw is missing: the server lost data */
	/* confirm: we must be gone within stop_ms (force-release) */
	bool stops;
	int64_t stop_ms;
	bool unlocked; /* confirm, no: `redlock unlock` gave it back for us */
};

/* The outer hold: that of the redlock that runs us, according to our
 * environment. See join.lua. */
struct lease_outer {
	char token[40]; /* "": there is none */
	int slot;
	int64_t group, fence;
	int64_t ttl_ms; /* not renewed for this long, its holder is dead */
	bool here;      /* it is on the server we use, under the same name */
};

struct lease_conf {
	int nodes;
	int64_t ttl_ms;
	int64_t node_timeout_ms; /* to connect and answer while acquiring */
	int64_t wait_ms;         /* 0: one try; INT64_MAX: no limit */
	int64_t max_waiters;     /* give up if this many wait; -1: no limit */
	bool supersede;          /* older waiters with this flag give up */
	bool shared;             /* hold it as a reader */
	bool unrecorded;         /* nobody writes it into the history */
	int slots;               /* number of slots; 0 means 1 */
	int replicas;            /* hold only what this many replicas have */
	bool manifold;      /* a node may be any of several servers: if one is
			       silent from the start, ask another soon */
	int64_t max_leases; /* renew max_leases - 1 times; 0: no limit */
	int64_t min_hold_ms, once_ms;
	int64_t guard_ms; /* a node that has been up for less does not vote;
			     0: all vote. Grows to the longest lease that any
			     node reports */
	int64_t ticket;   /* our ticket on several nodes: our arrival, in us
			     since 1970 */
	bool reached;     /* nodes answered before: see lease_reached() */
	struct lease_outer outer;
	uint64_t seed; /* of the jitter */
};

enum lease_state {
	LEASE_ASKING,    /* acquiring */
	LEASE_CLAIMING,  /* granted; raising the counters to one fence, or
			    waiting for replicas */
	LEASE_WAITING,   /* for the next round */
	LEASE_HELD,      /* for how long: see lease_credited_at() */
	LEASE_LOST,      /* kill the command, then call lease_release() */
	LEASE_RELEASING, /* for at most RELEASE_MS */
	LEASE_OVER       /* see lease.end */
};

enum lease_end {
	END_NONE,
	END_RELEASED,    /* lease_release() was called; see lease.freed */
	END_BUSY,        /* still held by others when our wait ended */
	END_FULL,        /* max_waiters were waiting already */
	END_SUPERSEDED,  /* by a newer waiter */
	END_DONE,        /* the work was done within --once-per */
	END_INSIDE,      /* SAID_INSIDE */
	END_UNAVAILABLE, /* too few nodes answered */
	END_STALE,       /* a release is unanswered on too many nodes: start
			    again under a new token */
	END_REFUSED      /* permanently refused: see lease.refusal */
};

struct lease_chan {
	struct ask ask; /* unanswered; VERB_NONE: nothing is */
	bool release;   /* an acquire may still run: send a release behind it */
	bool blocked;   /* we stopped listening but the server may not know:
			   use a fresh connection */
};

enum vote {
	VOTE_OPEN,
	VOTE_YES,
	VOTE_NO,
	VOTE_BACK, /* granted, and being given back */
	VOTE_DOWN
};

struct lease_node {
	struct lease_chan chan[CHANNELS];
	int good;                   /* the channel that answered last */
	enum verb want;             /* to be asked until answered */
	struct instant next;        /* when to ask it */
	struct instant credited_at; /* if mine: of the last credited request */
	struct instant acquired;    /* when the last acquire was sent */
	int slot;                   /* the slot we hold */
	int64_t group;
	bool joined; /* another client joined our hold: see struct ask */
	bool joins;  /* the grant joined the outer hold */
	bool mine;   /* the last answer under our token was yes */
	bool unsure; /* an acquire was sent and its outcome is unknown */
	bool queued; /* our token may be in line */
	bool kept;   /* it refused the release */
	bool lost;   /* it was mine and is no longer */
	enum vote vote;
	int64_t counter;  /* mine: the last seen; else: what it last told */
	int64_t until_ms; /* mine: when the lease ends unless renewed, by the
			     node's clock */
	struct instant embargo; /* data were lost: take nothing before */
	struct instant quick;   /* its clock stepped: renew often until */
	int64_t srtt_ms;        /* smoothed round-trip time */
	int64_t renewed;        /* number of renewals since lease_use() */
	int64_t ticket;         /* ours, as long as we wait */
	int64_t holder_ttl_ms;
	struct answer busy;            /* the last refusal */
	bool answered;                 /* has ever answered */
	bool woken;                    /* asking: it woke us meanwhile */
	int cut_off;                   /* listens in a row that broke at once */
	struct instant no_blpop_until; /* the server refuses to let us listen */
	/* several nodes */
	struct instant gave_back; /* ignore grants asked for before this */
	bool off;            /* do not take it: the client that has a quorum
				repairs it */
	bool refused;        /* asking: it refused permanently */
	bool spoiled;        /* a release may arrive late: never ask again. (Its
				round makes it harmless, but only up to
				ROUNDS_MAX) */
	int round;           /* see struct ask */
	bool gave;           /* a release was sent in this round */
	uint64_t server;     /* identifies the server; 0: unknown */
	bool absent;         /* held: nobody has the lock on this node ... */
	int64_t had;         /* ... its counter was this, 0: none ... */
	struct instant gone; /* ... at this time; since then ... */
	unsigned int shown;  /* ... these nodes renewed ours: bits */
};

struct lease {
	struct lease_conf conf;
	enum lease_state state;
	enum lease_end end;
	enum fail_kind refusal;
	int64_t fence;
	int healed;    /* times it vanished and was set again */
	int stepped;   /* server clock jumps seen */
	bool was_held; /* since lease_init() */
	bool joining;  /* the outer hold may still exist */
	/* The outer hold vanished. If its holder lives, it sets the lock again
	 * by then. LONG_AGO: it has not vanished. */
	struct instant outer_by;
	bool joined;      /* we joined the outer hold */
	bool in_use;      /* something runs under it: lease_use() */
	int slot;         /* held: the slot, on a quorum */
	unsigned int how; /* LEASE_RAN and so on */
	struct instant held_from;
	/* We are asked to stop: when the tree must be dead, and when the
	 * kernel kills us. NEVER: we are not. */
	struct instant stop_by, stop_dead;
	bool unlocked;           /* lost: see struct answer */
	bool freed;              /* a quorum confirmed the release ... */
	struct instant freed_at; /* ... at this time */
	bool passed_on;          /* a waiter was given the lock */
	struct instant began, round_by, next_round, give_up, release_by;
	int64_t backoff_ms;
	bool replicating; /* claiming: only the replicas are missing */
	/* several nodes */
	bool whole;                 /* this round asks all nodes */
	struct instant keep_until;  /* keep the minority; NEVER: we have none */
	int64_t split_ms;           /* pause after giving it back ... */
	struct instant pause_until; /* ... and when the pause ends */
	int claims;                 /* claims tried in this round */
	int only;                   /* see struct ask */
	int tried;                  /* the last slot that was asked for alone,
				       plus 1 */
	int twin[2];                /* END_REFUSED: two nodes, one server */
	bool was_busy;              /* a quorum answered in the last round */
	bool last_look; /* this round is shorter than node_timeout_ms */
	uint64_t seq, random;
	struct lease_node node[NODES_MAX];
};

int lease_slots(const struct lease_conf *conf); /* at least 1 */

/* Starts to acquire: the first lease_next() returns a question. */
void lease_init(struct lease *l, const struct lease_conf *conf,
		struct instant at);

/* For a process that outlives the holder: releases the lock under the token of
 * that holder, on all nodes, whether they granted it or not. `ran`: a command
 * may have run under it. Tries for 1 s at least and 10 s at most, in between
 * until the lease must have expired. */
void lease_inherit(struct lease *l, const struct lease_conf *conf, bool ran,
		   struct instant at);

/* Returns in *out the next question to send now, with its stamp set to `at`;
 * false: there is none. Call it until false, after every event and at
 * lease_wake(). */
bool lease_next(struct lease *l, struct instant at, struct ask *out);
struct instant lease_wake(const struct lease *l);

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at);

/* The question will not be answered. FAIL_UNAVAILABLE: the connection broke, or
 * the server said to try again. Any other kind: it refused permanently (a
 * holder still tries again, because the password may be corrected within the
 * lease). `ran`: the server may have run the question, or may run it later. */
void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at);

/* While releasing: no question on this channel was sent, and none will be. */
void lease_unsent(struct lease *l, int node, int chan);

/* Stops waiting, or releases the lock. The command's tree must be dead. */
void lease_release(struct lease *l, struct instant at);
/* The same after something ran under the lock. `how`: LEASE_RAN and other
 * bits. */
void lease_end(struct lease *l, unsigned int how, struct instant at);

/* Lost before anything ran under it: go back to waiting. */
void lease_again(struct lease *l, struct instant at);

/* Held: renew now, not at T/6, on this node (-1: on all). Before lease_use(),
 * it asks all nodes for another grant, and the state is LEASE_ASKING until a
 * quorum has granted: the command may start only before s + T/3. */
void lease_hurry(struct lease *l, int node, struct instant at);

/* Waiting: whether a quorum answered in the last round. */
bool lease_answered(const struct lease *l);
/* Whether this node did. */
bool lease_heard(const struct lease *l, int node);
/* The number of nodes with this vote. */
int lease_votes(const struct lease *l, enum vote vote);
/* Whether a quorum has ever answered. */
bool lease_reached(const struct lease *l);
/* Waiting: the number of waiters before us; -1: unknown, or not in line. If the
 * nodes differ, the largest. */
int lease_place(const struct lease *l);

/* Held: something starts under the lease. From now on the lease is renewed, the
 * renewals are counted and the fence does not change. Before this call, the
 * lease is acquired anew instead, so that the fence is that of the current
 * grant: when lease_wake() is due, the grant is too old to start on. Then call
 * lease_hurry(). */
void lease_use(struct lease *l);
/* In use: whether renewals have stopped because of max_leases. */
bool lease_spent(const struct lease *l);

/* Held: s, the q-th newest credited stamp, from which timing.h counts. */
struct instant lease_credited_at(const struct lease *l);

/* Held as a reader: the group, from a node that is ours; else 0. */
int64_t lease_group(const struct lease *l);

/* nodes / 2 + 1 */
int lease_quorum(int nodes);

#endif
