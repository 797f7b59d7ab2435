/* SPDX-License-Identifier: MIT */
/*
 * The lease: what decides. A state machine without I/O, for N nodes.
 *
 * Events go in (an answer, a failure, "release"), questions come out of
 * lease_next(); lease_wake() says when to call that again. It opens no socket,
 * reads no clock and allocates nothing: the caller passes the time, so the
 * same bytes run in redlock and in the simulator (tests/sim).
 *
 * The caller sends each question on channel `chan` (0 or 1: two connections)
 * of node `node`, keeps it, and hands it back with the answer, or with
 * lease_failed() when the connection broke or the server refused. Questions on
 * one channel are answered in order; answers may come arbitrarily late.
 *
 * One value from a quorum is the fence; else the largest becomes it, once a
 * quorum has stored it under our token. Why validity counts from `sent`: see
 * timing.h. Every question is idempotent by token.
 *
 * With N > 1 it is not proven yet, and not offered: a token lasts for all
 * rounds, so a release of one that comes late can hit the next (sim --nodes 3
 * finds that).
 */
#ifndef LOCK_LEASE_H
#define LOCK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"

#define NODES_MAX 9
#define CHANNELS 2

enum verb {
	VERB_NONE,
	VERB_ACQUIRE, /* or a place in line */
	VERB_LISTEN,  /* until woken: blocks its connection */
	VERB_CONFIRM,
	VERB_REPLICATE, /* wait until so many replicas have what was granted;
			   goes behind it, on its connection */
	VERB_RELEASE
};

/* How a hold ended: bits. */
#define LEASE_RAN 1  /* something was run: --min-hold */
#define LEASE_DONE 2 /* and did what it should: --once-per */

struct ask {
	enum verb verb;
	int node, chan;
	bool fresh;          /* give the channel's old connection up first */
	uint64_t seq;        /* to know it again */
	struct instant sent; /* read before the send: the stamp */
	int64_t fence;       /* confirm, release: raise the counter to this */
	int64_t seen;        /* acquire: memory; confirm: heal test; 0: none */
	bool embargo;        /* acquire: take nothing yet, data were lost */
	int64_t ticket;    /* acquire: 0: none yet; -1: do not stand in line */
	int64_t listen_ms; /* listen, replicate: for so long */
	bool joins;        /* acquire: join the outer one's hold; release: we
			      may have */
	int slot;          /* confirm, release: where it is ours */
	int64_t group;     /* confirm: whom we read with; 0: we do not */
	bool joined;       /* confirm: somebody has joined us */
	bool queued;       /* release: leave the line, too */
	bool held;         /* release: it may have been started on */
	int64_t least_ms;  /* release: keep it so long since the grant */
	int64_t held_ms;   /* release: so long it has been */
	int64_t once_ms;   /* release: nobody else within */
};

enum said {
	SAID_GRANTED,
	SAID_BUSY,
	SAID_LOSS,
	SAID_FULL,       /* too many wait already */
	SAID_SUPERSEDED, /* a newer one has our place */
	SAID_DONE,       /* what we would do was done: --once-per */
	SAID_INSIDE,     /* the outer one reads, and we want to write */
	SAID_WOKEN,
	SAID_QUIET, /* nobody woke us */
	SAID_YES,
	SAID_HEALED,
	SAID_NO
};

struct answer {
	enum said said;
	int64_t counter;       /* as stored now; 0: unknown. Replicate: how many
				  replicas have it */
	int64_t pttl_ms;       /* busy, yes: lease left; -1: no expiry */
	int64_t holder_ttl_ms; /* busy: the holder's T; 0: unknown */
	int64_t ticket;        /* busy, loss: ours; 0: none */
	int place;             /* so many wait before us; -1: not in line */
	int slot;              /* granted: which */
	int64_t group;         /* granted: see the ask */
	bool joined;           /* yes, healed: likewise */
	bool foreign;          /* busy: another program's, it wakes nobody */
	bool lost; /* what we saw has been missing since: data were lost */
};

/* The hold that our own parent has, as it says: see join.lua. */
struct lease_outer {
	char token[40]; /* "": there is none */
	int slot;
	int64_t group, fence;
	bool here; /* on the server that we name, by the same name */
};

struct lease_conf {
	int nodes;
	int64_t ttl_ms;
	int64_t node_timeout_ms; /* to connect and answer while acquiring */
	int64_t wait_ms;         /* 0: one try; INT64_MAX: for ever */
	int64_t max_waiters;     /* do not join so many; -1: any */
	bool supersede;          /* older waiters with this mark give up */
	bool shared;             /* as one of the readers */
	int slots;               /* one of so many; 0 is 1 */
	int replicas;            /* hold only what so many have, too */
	bool manifold;      /* a node is one of several servers: while nothing
			       was heard, ask another one soon */
	int64_t max_leases; /* renewed so often less one; 0: any */
	int64_t min_hold_ms, once_ms;
	int64_t guard_ms; /* a node up for less does not vote; 0: any does */
	int64_t ticket;   /* our place in line on several nodes: when we came,
			     in us since 1970 */
	bool reached; /* a node has answered before: see lease_reached() */
	struct lease_outer outer;
	uint64_t seed; /* of the jitter */
};

enum lease_state {
	LEASE_ASKING,    /* acquire is under way */
	LEASE_CLAIMING,  /* granted; raising the counters to one fence, or
			    waiting for replicas */
	LEASE_WAITING,   /* until the next round */
	LEASE_HELD,      /* see lease_stamp() for how long */
	LEASE_LOST,      /* "not mine": kill, then lease_release() */
	LEASE_RELEASING, /* at most RELEASE_MS */
	LEASE_OVER       /* see lease.end */
};

enum lease_end {
	END_NONE,
	END_RELEASED,    /* lease_release() was called; see lease.freed */
	END_BUSY,        /* somebody held it for as long as we would wait */
	END_FULL,        /* max_waiters waited already */
	END_SUPERSEDED,  /* by a newer waiter */
	END_DONE,        /* somebody did it within --once-per */
	END_INSIDE,      /* SAID_INSIDE */
	END_UNAVAILABLE, /* too few nodes answered */
	END_REFUSED      /* a node refused for good: see lease.refusal */
};

struct lease_chan {
	struct ask ask; /* outstanding; VERB_NONE: nothing is */
	bool release;   /* an acquire on it may still run: release behind it */
	bool blocked;   /* we stopped listening, it may not have: ask afresh */
};

enum vote { VOTE_OPEN, VOTE_YES, VOTE_NO, VOTE_DOWN };

struct lease_node {
	struct lease_chan chan[CHANNELS];
	int good;             /* the channel that answered last */
	enum verb want;       /* to be asked until answered */
	struct instant next;  /* when */
	struct instant stamp; /* of the last credited request; if mine */
	int slot;             /* which is mine */
	int64_t group;
	bool joined; /* by somebody: see the ask */
	bool mine;   /* the last answer under our token was yes */
	bool unsure; /* an acquire was sent whose fate is unknown */
	bool queued; /* our token may be in line */
	bool kept;   /* it refused the release */
	enum vote vote;
	int64_t counter;        /* mine: last seen; else: largest ever seen */
	struct instant embargo; /* data were lost: take nothing before */
	struct instant quick;   /* its clock stepped: renew often until */
	int64_t srtt_ms;
	int64_t ticket; /* ours, for as long as we wait */
	int64_t holder_ttl_ms;
	struct answer busy; /* the last one */
	bool answered;      /* ever */
};

struct lease {
	struct lease_conf conf;
	enum lease_state state;
	enum lease_end end;
	enum fail_kind refusal;
	int64_t fence;
	int healed;       /* vanished and set again, so often */
	int stepped;      /* server clock jumps seen */
	bool held;        /* has been, since lease_init() */
	bool joining;     /* the outer one is not known to be gone */
	bool joined;      /* the hold is that of the outer one */
	bool in_use;      /* something runs on it */
	int64_t renewed;  /* so often since then */
	unsigned int how; /* LEASE_RAN, LEASE_DONE */
	struct instant held_from;
	bool freed;     /* q nodes confirmed the release */
	bool passed_on; /* and a waiter has the lock now */
	struct instant began, round_by, next_round, give_up, release_by;
	int64_t backoff_ms;
	bool replicating; /* claiming: all that is left to do */
	bool woken;       /* asking: a word came meanwhile */
	int cut_off;      /* while listening, so often, each time at once */
	struct instant deaf_until; /* the server does not let us listen */
	bool was_busy;  /* said the last round that somebody answered */
	bool last_look; /* this round has less time than a node may take */
	uint64_t seq, random;
	struct lease_node node[NODES_MAX];
};

/* Begins at once: the first lease_next() asks. */
void lease_init(struct lease *l, const struct lease_conf *conf,
		struct instant at);

/* For whoever outlived a holder: a lease under whose token anything may have
 * been granted, to be given back. `held`: a command may have run on it. */
void lease_inherit(struct lease *l, const struct lease_conf *conf, bool held,
		   struct instant at);

/* The next question to send now, with its stamp set to `at`; false: none.
 * Call until false, after every event and at lease_wake(). */
bool lease_next(struct lease *l, struct instant at, struct ask *out);
struct instant lease_wake(const struct lease *l);

void lease_answer(struct lease *l, const struct ask *asked,
		  const struct answer *a, struct instant at);

/* No answer will come. FAIL_UNAVAILABLE: broken, or to be retried; any other
 * kind: refused for good (once held, that is retried all the same: a password
 * may be put right within the lease). `ran`: it may have run, or may yet. */
void lease_failed(struct lease *l, const struct ask *asked, enum fail_kind kind,
		  bool ran, struct instant at);

/* Releasing: what was asked on this channel has never left, and will not. */
void lease_unsent(struct lease *l, int node, int chan);

/* Give up waiting, or give the lock back. The command's tree must be dead. */
void lease_release(struct lease *l, struct instant at);
/* Likewise, after something was run on it: LEASE_RAN, LEASE_DONE. */
void lease_end(struct lease *l, unsigned int how, struct instant at);

/* Lost before anything was started on it: back into the waiting. */
void lease_again(struct lease *l, struct instant at);

/* Held: renew now, not at T/6 (the command may start only before s + T/3). */
void lease_hurry(struct lease *l, struct instant at);

/* Waiting: somebody answered in the last round. */
bool lease_answered(const struct lease *l);
/* Somebody answered, ever. */
bool lease_reached(const struct lease *l);
/* Waiting: so many are before us; -1: unknown, or no line. */
int lease_place(const struct lease *l);

/* Held: something is started on it. From now on renewals are counted. */
void lease_use(struct lease *l);
/* In use: it is not renewed any more (max_leases). */
bool lease_spent(const struct lease *l);

/* Held: s, the q-th newest credited stamp; what timing.h counts from. */
struct instant lease_stamp(const struct lease *l);

int lease_quorum(int nodes);

#endif
