/* SPDX-License-Identifier: MIT */
/*
 * The lease: decides when the lock is ours. A state machine without I/O, for 1
 * to NODES_MAX nodes.
 *
 * Events go in (an answer, a failure, "release"), questions come out of
 * lease_next(); lease_wake() says when to call it again. The lease opens no
 * socket, reads no clock and allocates nothing. The caller passes the time, so
 * redlock and the simulator (tests/sim) run the same code. Anybody may read a
 * lease; only the files of lock/core write to it.
 *
 * The caller sends each question on channel `chan` (0 or 1: each node has two
 * connections) of node `node`. It keeps the question and passes it back with
 * the answer, or to lease_failed() if the connection broke or the server
 * refused. A channel answers its questions in order. Answers may be arbitrarily
 * late. Every question but a listen is idempotent by token.
 *
 * If a quorum granted with the same counter, that value is the fence. Otherwise
 * the largest becomes the fence, once a quorum has stored it under our token.
 * Why validity counts from `sent`: see timing.h.
 *
 * With several nodes, a waiter stands in line on each of them and asks a node
 * again when that node wakes it. It keeps a minority of grants for a moment,
 * because the others may follow. It gives the minority back when the moment is
 * over, or as soon as a waiter that came earlier is about to get the lock. If
 * another client already has a quorum, that client repairs the nodes that we
 * give back, and we do not take them again while it has its quorum.
 *
 * Questions and answers may overtake each other, so questions are numbered. On
 * a node, a renewal or release with a smaller number than the last changes
 * nothing. Here, an answer counts only if no later question to that node was
 * answered or gives it back: node_is_late().
 *
 * If a lock vanishes from a node, its holder sets it again, as with a single
 * node, but not after the time at which the lock would have ended there. After
 * that time, and on a node that never granted, the holder takes the lock once
 * the answering nodes have shown that nobody else can have it: see question.c.
 *
 * If a holder is asked to stop within some time (force-release), that time
 * counts like a lease of that length: see timing.h. Renewals continue
 * meanwhile.
 *
 * A lease is lost in five places, and only the first is here (see "Where a
 * lease is lost" in docs/protocol.md): (1) a server says so (LOST: hold.c); (2)
 * the clock says so (run/watch.c); (3) it was too old at the start, or the
 * command ended after TERM (run/supervise.c, run/watch.c); (4) redlock is
 * stuck, and the guard kills the tree (proc/guardproc.c); (5) the kernel kills
 * redlock (proc/deadman.c), and the guard then kills the tree.
 *
 * Its parts, of which each uses those to its right:
 *
 *   lease -> acquire -> { minority, hold } -> question -> timing
 */
#ifndef LOCK_CORE_LEASE_H
#define LOCK_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "lock/core/ask.h"

#define NODES_MAX 9
#define CHANNELS 2
#define LABEL_MAX 255

/* How a hold ended: bits. */
#define HOW_RAN 1  /* something ran under it: --min-hold applies */
#define HOW_DONE 2 /* and is done: it leaves its marks (--once-per...) */
#define HOW_TOLD 4 /* record it on the servers although it was lost */

/* The outer hold: that of the redlock that runs us, according to our
 * environment. */
struct lease_outer {
	char token[40]; /* "": there is none */
	int slot;
	bool reads; /* it is a reader */
	int64_t fence;
	int64_t ttl_ms; /* if not renewed for this long, its holder is dead; 0:
			   nobody renews it, or sets it again */
	bool here;      /* it is on the server we use, under the same name */
};

struct lease_conf {
	int nodes;
	int64_t ttl_ms;
	int64_t node_timeout_ms; /* to connect and answer while acquiring */
	int64_t wait_ms;         /* 0: one try; INT64_MAX: no limit */
	int64_t max_waiters;     /* give up if this many wait; -1: no limit */
	bool supersede;          /* older waiters with this flag give up */
	bool replaces;           /* and the holder is asked to stop ... */
	int64_t replace_ms;      /* ... within this long */
	bool shared;             /* hold it as a reader */
	bool high;               /* before those who have waited for less than
				    LEAD_US: see ticket */
	bool unrecorded;         /* nobody writes it into the history */
	int slots;               /* number of slots; 0 means 1 */
	int replicas;            /* hold only what this many replicas have */
	bool may_move;      /* a node may be any of several servers: if one is
			       silent from the start, ask another soon */
	int64_t max_leases; /* renew max_leases - 1 times; 0: no limit */
	int64_t min_hold_ms;
	const char *slot_names; /* "a,b": for others to see; NULL: none.
				   Borrowed */
	int64_t once_ms;        /* since the hold began: --once-per */
	bool once_any;          /* also if it failed, or was killed */
	int64_t revision;  /* number revision - 1 of the work, and not after a
			      larger one; 0: it has none */
	const char *label; /* of the work, and not if the last one had the same:
			      --once-for. At most LABEL_MAX bytes, no control
			      characters; NULL: it has none. Borrowed */
	int64_t guard_ms;  /* a node that has been up for less does not vote;
			      0: all vote. See also struct lease */
	int64_t ticket;    /* our ticket on several nodes: our arrival, in
			      microseconds since 1970, or LEAD_US before */
	bool reached;      /* nodes answered before: see lease_reached() */
	struct lease_outer outer;
	uint64_t seed; /* of the jitter */
};

enum lease_state {
	LEASE_ASKING,      /* acquiring */
	LEASE_CLAIMING,    /* granted; raising the counters to one fence */
	LEASE_REPLICATING, /* the fence is agreed; waiting for replicas */
	LEASE_WAITING,     /* for the next round */
	LEASE_HELD,        /* for how long: see lease_credited_at() */
	LEASE_LOST,      /* kill the command, then call lease_end(); if nothing
			    runs, lease_again() */
	LEASE_RELEASING, /* until release_by at the latest */
	LEASE_OVER       /* see lease.end */
};

enum lease_end {
	END_NONE,
	END_RELEASED,    /* lease_release() was called; see lease.freed */
	END_BUSY,        /* still held by others when our wait ended */
	END_FULL,        /* max_waiters were waiting already */
	END_SUPERSEDED,  /* by a newer waiter */
	END_DONE,        /* the work was done: --once-per, --once-for */
	END_OLDER,       /* a newer --revision was done */
	END_INSIDE,      /* SAID_INSIDE */
	END_UNAVAILABLE, /* too few nodes answered */
	END_REFUSED      /* permanently refused: see lease.refusal */
};

/* Whether we share the outer hold. */
enum nest {
	NEST_NONE,  /* no: a hold of our own */
	NEST_ASKED, /* it may still exist: we ask to join it */
	NEST_JOINED
};

struct lease_chan {
	struct ask ask; /* unanswered; VERB_NONE: nothing is */
	bool release;   /* an acquire may still run: send a release behind it */
	bool blocked;   /* we stopped listening but the server does not know:
			   see lease_hangs_up() */
};

enum vote {
	VOTE_OPEN,
	VOTE_YES,
	VOTE_NO,
	VOTE_BACK, /* granted, and being given back */
	VOTE_DOWN
};

/* The connections to a node. */
struct lease_link {
	struct lease_chan chan[CHANNELS];
	int good;                /* the channel that answered last */
	bool answered;           /* has ever answered */
	int64_t srtt_ms;         /* smoothed round-trip time */
	struct instant acquired; /* when the last acquire was sent */
};

/* Our place in the line of a node. */
struct lease_line {
	int64_t ticket;                /* 0: we never stood in line */
	int64_t ahead_us;              /* its clock less ours, by our
					  first ticket */
	bool queued;                   /* our token may be in line */
	bool woken;                    /* asking: the node woke us meanwhile */
	int cut_off;                   /* listens in a row that broke at once */
	struct instant no_blpop_until; /* poll until then: it does not
					  let us listen */
};

/* Held, but not on this node: see question.c. */
struct lease_repair {
	bool absent;          /* nobody has the lock there ... */
	int64_t counter;      /* ... the counter was this, 0: none ... */
	struct instant since; /* ... at this time; since then ... */
	unsigned int shown;   /* ... these nodes renewed ours: bits */
};

enum grant_state {
	GRANT_NONE, /* not ours, as far as we know */
	GRANT_OURS, /* the last answer under our token was yes */
	GRANT_LOST, /* held: it was ours and is no longer */
	GRANT_KEPT  /* releasing: it refused to give it back */
};

/* What a node granted us. */
struct lease_grant {
	enum grant_state state;
	bool unsure; /* it may have something of ours: see node_may_have() */
	struct instant credited_at; /* ours: when the request was sent ... */
	struct instant ours_since;  /* ... and the first one, without a break */
	int64_t until_ms; /* ours: when the lease ends unless renewed, by the
			     node's clock */
	int64_t fence;    /* ours: as the node granted it */
	int64_t counter;  /* ours: the last seen; else: what it last reported */
	int slot;
	bool joins;           /* ours: the grant joined the outer hold; else: an
				 unanswered acquire may have */
	int64_t renewed;      /* number of renewals since lease_use() */
	struct instant quick; /* its clock stepped: renew often until then */
};

struct lease_node {
	struct lease_link link;
	struct lease_line line;
	struct lease_grant grant;
	struct lease_repair repair;
	enum verb want;      /* to be asked until answered */
	struct instant next; /* when to ask it */
	uint64_t settled;    /* what was asked before this question no longer
				counts: see node_is_late() */
	uint64_t asked;      /* the last acquire or renewal; 0: none */
	int64_t longest_ms;  /* the longest T of the holders, as it last said */

	/* while acquiring */
	enum vote vote;
	struct answer last; /* the last refusal */

	/* several nodes */
	bool theirs;     /* do not take it: the client that has a quorum
			    repairs it */
	bool refused;    /* asking: it refused permanently */
	uint64_t server; /* identifies the server; 0: unknown */
};

struct lease {
	struct lease_conf conf;
	enum lease_state state;
	enum lease_end end;
	enum fail_kind refusal;
	int64_t fence;
	enum nest nest;
	int64_t longest_ms; /* see struct ask */
	int64_t guard_ms;   /* conf.guard_ms, or the longest lease that any node
			       reports */
	uint64_t seq, random;

	/* acquiring */
	struct instant began, give_up;
	struct instant round_by, next_round;
	int64_t backoff_ms;
	bool whole;        /* this round asks all nodes */
	bool short_round;  /* it is shorter than node_timeout_ms */
	bool was_answered; /* a quorum answered in the last round */
	bool replaces;     /* conf.replaces, from the second look on */
	int claims;        /* claims tried in this round */
	int twin[2];       /* END_REFUSED: two nodes, one server */
	/* The outer hold vanished. If its holder lives, it sets the lock again
	 * by then. LONG_AGO: it has not vanished. */
	struct instant outer_by;
	struct instant done_until; /* END_DONE: when the mark ends ... */
	bool done_label;           /* ... or it is that of our label */
	int64_t newest;            /* END_OLDER: the newer one; else 0 */

	/* acquiring, with a minority */
	struct instant keep_until;  /* keep it; NEVER: we have none */
	int64_t split_ms;           /* pause after giving it back ... */
	struct instant pause_until; /* ... and when the pause ends */
	int only;                   /* see struct ask */
	int tried; /* the last slot that was asked for alone, plus 1 */

	/* held */
	int slot;      /* on a quorum */
	bool was_held; /* since lease_init() */
	bool in_use;   /* something runs under it: lease_use() */
	struct instant held_from;
	int healed;  /* times it vanished and was set again */
	int stepped; /* server clock jumps seen */
	/* We are asked to stop: when to kill the tree, and when the kernel
	 * kills us. NEVER: we are not. */
	struct instant stop_by, stop_dead;
	bool unlocked; /* lost: see struct answer */

	/* releasing */
	unsigned int how; /* HOW_RAN and so on */
	struct instant release_by;
	bool freed;              /* a quorum confirmed the release ... */
	struct instant freed_at; /* ... at this time */
	bool passed_on;          /* a waiter was given the lock */
	bool unhurried;          /* nobody waits for the release */

	struct lease_node node[NODES_MAX];
};

int lease_slots(const struct lease_conf *conf); /* at least 1 */
int lease_quorum(int nodes);                    /* nodes / 2 + 1 */

/* Whether the lock is ours there, as far as we know. */
bool node_is_ours(const struct lease_node *n);
/* Whether we have joined the outer hold, or ask to. */
bool lease_joins(const struct lease *l);
/* The number of nodes with this vote. */
int lease_votes(const struct lease *l, enum vote vote);
/* Waiting: whether this node answered in the last round. */
bool lease_heard(const struct lease *l, int node);
/* Waiting: whether a quorum did. */
bool lease_answered(const struct lease *l);
/* Whether a quorum has ever answered. */
bool lease_reached(const struct lease *l);
/* How long to try in all: conf.wait_ms. If that is without limit, nodes that
 * never answered are tried for 5 s. And until when. */
int64_t lease_limit_ms(const struct lease *l);
struct instant lease_limit(const struct lease *l);
/* Waiting: our place in line, from 1; 0: unknown, or not in line. If the nodes
 * differ, the largest. */
int lease_place(const struct lease *l);

/* In use: whether renewals have stopped because of max_leases. */
bool lease_spent(const struct lease *l);
/* Held: s, the q-th newest credited stamp, from which timing.h counts. */
struct instant lease_credited_at(const struct lease *l);
/* Held: whether as a reader. */
bool lease_reads(const struct lease *l);

/* ---- events in, questions out ---- */

/* Starts to acquire: the first lease_next() returns a question. The numbers of
 * questions (ask.seq) begin with the time: a process that goes on with the
 * token of another one on this machine, such as the guard, has larger ones. */
void lease_init(struct lease *l, const struct lease_conf *conf,
		struct instant at);

/* For a process that outlives the holder: releases the lock under the token of
 * that holder, on all nodes, whether they granted it or not. `ran`: a command
 * may have run under it. Tries until the lease must have expired, but for 1 s
 * at least. */
void lease_inherit(struct lease *l, const struct lease_conf *conf, bool ran,
		   struct instant at);

/* Returns in *out the next question to send now, with out->sent set to `at`;
 * false: there is none. Call it until false, after every event and at
 * lease_wake(). */
bool lease_next(struct lease *l, struct instant at, struct ask *out);
struct instant lease_wake(const struct lease *l);

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at);

/* The question will not be answered. FAIL_UNAVAILABLE: the connection broke, or
 * the server said to try again. Any other kind: it refused permanently (a
 * holder still tries again, because the password may be corrected within the
 * lease). `ran`: the server may have run the question, or may run it later. If
 * the channel has been asked something newer since, only `ran` matters. */
void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at);

/* Whether we have stopped listening on this channel while the server may still
 * wait for a word to send us. True once: then close its connection, or the
 * server takes a word out of our list that nobody reads. */
bool lease_hangs_up(struct lease *l, int node, int chan);

/* The release was not confirmed: goes on with it, over connections yet to be
 * made. If it was given up, until the lease must have expired; for 1 s if it
 * was never held. Returns false if there is nothing left to release: then it
 * is over. */
bool lease_go_on(struct lease *l, struct instant at);

/* While releasing: it is over by then at the latest. */
void lease_leave_by(struct lease *l, struct instant by);

/* While releasing: no question on this channel was sent, and none will be. */
void lease_unsent(struct lease *l, int node, int chan);

/* Stops waiting, or releases the lock. The command's tree must be dead. */
void lease_release(struct lease *l, struct instant at);
/* The same after something ran under the lock. `how`: HOW_RAN and other
 * bits. */
void lease_end(struct lease *l, unsigned int how, struct instant at);

/* Lost before anything ran under it: go back to waiting. */
void lease_again(struct lease *l, struct instant at);

/* Held: renew now, not at T/6, on this node (-1: on all). Before lease_use(),
 * it asks all nodes for another grant, and the state is LEASE_ASKING until a
 * quorum has granted: the command may start only before s + T/3. */
void lease_hurry(struct lease *l, int node, struct instant at);

/* Held: something starts under the lease. From now on the lease is renewed, the
 * renewals are counted and the fence does not change. Before this call, the
 * lease is acquired anew instead, so that the fence is that of the current
 * grant: when lease_wake() is due, the grant is too old to start on. Then call
 * lease_hurry(). */
void lease_use(struct lease *l);

#endif
