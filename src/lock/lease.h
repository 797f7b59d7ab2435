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
 * On several nodes a client that waits stands in line on each of them, and asks
 * a node again when it is woken there. What it is given by fewer than a quorum
 * it keeps for a moment, for the others may follow, unless somebody who came
 * earlier is about to have the lock: then, and when the moment is over, it
 * gives back. If somebody has a quorum already, what it gives back is for
 * nobody but that one, who repairs it; and is not taken again as long as that
 * is so. A node where that release may be under way still is not asked again:
 * it would free what was granted since.
 *
 * A lock that has vanished on a node is set again by its holder, as on a lone
 * one; but not later than it would have ended there. What is missing after
 * that, or was never had, is taken when the nodes that answer have shown since
 * that nobody else can have it: see ask.repairs.
 *
 * Who is asked to stop has until then what it would have of a lease of that
 * length: see timing.h. Renewals go on meanwhile.
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
#define LEASE_TOLD 4 /* the servers are to hear of it, though it was lost */

struct ask {
	enum verb verb;
	int node, chan;
	bool fresh;          /* give the channel's old connection up first */
	uint64_t seq;        /* to know it again */
	struct instant sent; /* read before the send: the stamp */
	int64_t fence;       /* confirm, release: raise the counter to this */
	int64_t seen;        /* acquire: memory; confirm: heal test; 0: none */
	bool embargo;        /* acquire: take nothing yet, data were lost */
	int64_t guard_ms;    /* acquire: as conf.guard_ms was then */
	int64_t ticket;    /* acquire: 0: none yet; -1: do not stand in line */
	bool newcomer;     /* acquire: it is ours, and not known there */
	int only;          /* acquire: this slot less 1 and no other; 0: any */
	int64_t listen_ms; /* listen, replicate: for so long */
	bool joins;        /* acquire: join the outer one's hold; release: we
			      may have */
	int slot;          /* confirm, release: where it is ours */
	int64_t group;     /* confirm: whom we read with; 0: we do not */
	bool joined;       /* confirm: somebody has joined us */
	int64_t until_ms;  /* confirm: heals until then, by the server's clock;
			      0: for ever; -1: never */
	bool repairs;      /* confirm: it was gone, with the counter `seen`, and
			      a quorum was ours after that */
	bool queued;       /* release: leave the line, too */
	bool held;         /* release: it may have been started on */
	bool withheld;     /* release: hand it to nobody */
	int64_t least_ms;  /* release: keep it so long since the grant */
	int64_t held_ms;   /* release: so long it has been */
	int64_t once_ms;   /* release: nobody else within */
};

enum said {
	SAID_GRANTED,
	SAID_BUSY,
	SAID_LOSS,
	SAID_GUARDED,    /* it may have forgotten a lease: restarted */
	SAID_FULL,       /* too many wait already */
	SAID_SUPERSEDED, /* a newer one has our place */
	SAID_DONE,       /* what we would do was done: --once-per */
	SAID_INSIDE,     /* the outer one reads, and we want to write */
	SAID_VANISHED,   /* the outer one's is gone, as it does not know yet */
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
	int64_t pttl_ms;       /* busy, yes: lease left; -1: no expiry. Guarded:
				  for so long still. No: 0: nobody has it */
	int64_t holder_ttl_ms; /* busy: the holder's T; 0: unknown */
	int64_t ticket;        /* busy, loss: ours; 0: none */
	int place;             /* so many wait before us; -1: not in line */
	int slot;              /* granted: which */
	int64_t group;         /* granted: see the ask */
	bool joined;           /* yes, healed: likewise */
	bool foreign;          /* busy: another program's, it wakes nobody */
	uint64_t holder;       /* busy: whose it is, as a hash */
	int64_t holder_ticket; /* busy: the holder's; 0: unknown */
	int64_t age_ms;        /* busy: granted so long ago; -1: unknown */
	uint64_t server;       /* granted: which one it is; 0: unknown */
	bool in_cluster;       /* granted: and it is a node of one */
	bool is_active;        /* granted: and a replica that takes writes */
	int64_t at_ms;         /* granted, yes, healed: its clock; 0: unknown */
	bool raised;           /* yes: the counter became the fence by this */
	bool lost; /* what we saw has been missing since: data were lost */
	/* confirm: somebody wants us to be gone within so long (force-release)
	 */
	bool stops;
	int64_t stop_ms;
	bool unlocked; /* confirm, no: it was given back in our name (unlock) */
};

/* The hold that our own parent has, as it says: see join.lua. */
struct lease_outer {
	char token[40]; /* "": there is none */
	int slot;
	int64_t group, fence;
	int64_t ttl_ms; /* not heard of for so long, it does not run */
	bool here;      /* on the server that we name, by the same name */
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
	int64_t guard_ms; /* a node up for less does not vote; 0: any does. It
			     grows to the longest lease that any node tells */
	int64_t ticket;   /* our place in line on several nodes: when we came,
			     in us since 1970 */
	bool reached;     /* a node has answered before: see lease_reached() */
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
	END_STALE,       /* too many of them wait for an old release: begin
			    anew, under another token */
	END_REFUSED      /* a node refused for good: see lease.refusal */
};

struct lease_chan {
	struct ask ask; /* outstanding; VERB_NONE: nothing is */
	bool release;   /* an acquire on it may still run: release behind it */
	bool blocked;   /* we stopped listening, it may not have: ask afresh */
};

enum vote {
	VOTE_OPEN,
	VOTE_YES,
	VOTE_NO,
	VOTE_BACK, /* it was yes, and is given back */
	VOTE_DOWN
};

struct lease_node {
	struct lease_chan chan[CHANNELS];
	int good;                /* the channel that answered last */
	enum verb want;          /* to be asked until answered */
	struct instant next;     /* when */
	struct instant stamp;    /* of the last credited request; if mine */
	struct instant acquired; /* when it was last asked for the lock */
	int slot;                /* which is mine */
	int64_t group;
	bool joined; /* by somebody: see the ask */
	bool joins;  /* and it is the outer one's */
	bool mine;   /* the last answer under our token was yes */
	bool unsure; /* an acquire was sent whose fate is unknown */
	bool queued; /* our token may be in line */
	bool kept;   /* it refused the release */
	bool lost;   /* it was mine, and is not any more */
	enum vote vote;
	int64_t counter;  /* mine: last seen; else: largest ever seen */
	int64_t until_ms; /* mine: until then, by its clock, if not renewed */
	struct instant embargo; /* data were lost: take nothing before */
	struct instant quick;   /* its clock stepped: renew often until */
	int64_t srtt_ms;
	int64_t renewed; /* so often, since something runs on it */
	int64_t ticket;  /* ours, for as long as we wait */
	int64_t holder_ttl_ms;
	struct answer busy; /* the last one */
	bool answered;      /* ever */
	bool woken;         /* asking: a word came meanwhile */
	int cut_off;        /* while listening, so often, each time at once */
	struct instant deaf_until; /* the server does not let us listen */
	/* several nodes */
	struct instant gave_back; /* older grants are none */
	bool off;            /* not to be taken: who has a quorum repairs it */
	bool refused;        /* asking: for good, as it says */
	bool spoiled;        /* a release may come late: never asked again */
	uint64_t server;     /* which one it is; 0: unknown */
	bool absent;         /* held: nobody has it there ... */
	int64_t had;         /* ... with this counter, 0: none ... */
	struct instant gone; /* ... as it said then; and since then ... */
	unsigned int shown;  /* ... these nodes have renewed ours: bits */
};

struct lease {
	struct lease_conf conf;
	enum lease_state state;
	enum lease_end end;
	enum fail_kind refusal;
	int64_t fence;
	int healed;   /* vanished and set again, so often */
	int stepped;  /* server clock jumps seen */
	bool held;    /* has been, since lease_init() */
	bool joining; /* the outer one is not known to be gone */
	/* the lock has vanished, and the outer one sets it again until then, or
	 * not any more; LONG_AGO: it has not */
	struct instant outer_by;
	bool joined;      /* the hold is that of the outer one */
	bool in_use;      /* something runs on it */
	int slot;         /* held: which, on a quorum */
	unsigned int how; /* LEASE_RAN and so on */
	struct instant held_from;
	/* somebody asked us to stop: dead by then, and the kernel's own kill;
	 * NEVER: nobody did */
	struct instant stop_by, stop_dead;
	bool unlocked;           /* lost: see the answer */
	bool freed;              /* q nodes confirmed the release ... */
	struct instant freed_at; /* ... then */
	bool passed_on;          /* and a waiter has the lock now */
	struct instant began, round_by, next_round, give_up, release_by;
	int64_t backoff_ms;
	bool replicating; /* claiming: all that is left to do */
	/* several nodes */
	bool whole;                 /* this round asks all of them */
	struct instant keep_until;  /* a minority; NEVER: we have none */
	int64_t split_ms;           /* pause after it is given back ... */
	struct instant pause_until; /* ... which ends then */
	int claims;                 /* in this round */
	int only;                   /* see the ask */
	int twin[2];                /* END_REFUSED: nodes that are one server */
	bool was_busy;  /* said the last round that a quorum answered */
	bool last_look; /* this round has less time than a node may take */
	uint64_t seq, random;
	struct lease_node node[NODES_MAX];
};

int lease_slots(const struct lease_conf *conf); /* at least 1 */

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
/* Likewise, after something was run on it: LEASE_RAN and so on. */
void lease_end(struct lease *l, unsigned int how, struct instant at);

/* Lost before anything was started on it: back into the waiting. */
void lease_again(struct lease *l, struct instant at);

/* Held: renew now, not at T/6, on this node; -1: on all. Before lease_use() all
 * are asked to grant once more, and the state is LEASE_ASKING until they have
 * (the command may start only before s + T/3). */
void lease_hurry(struct lease *l, int node, struct instant at);

/* Waiting: a quorum answered in the last round. */
bool lease_answered(const struct lease *l);
/* This node did. */
bool lease_heard(const struct lease *l, int node);
int lease_votes(const struct lease *l, enum vote vote);
/* A quorum answered, ever. */
bool lease_reached(const struct lease *l);
/* Waiting: so many are before us; -1: unknown, or no line. Where the nodes
 * differ, the most. */
int lease_place(const struct lease *l);

/* Held: something is started on it. From now on the fence stays, the lease is
 * renewed, and renewals are counted; until then it is acquired again and again,
 * so that the fence is that of the grant which stands: at lease_wake() it is
 * too old to start on, and lease_hurry() is due. */
void lease_use(struct lease *l);
/* In use: it is not renewed any more (max_leases). */
bool lease_spent(const struct lease *l);

/* Held: s, the q-th newest credited stamp; what timing.h counts from. */
struct instant lease_stamp(const struct lease *l);

/* Held, as a reader: the G of a node that is ours; else 0. */
int64_t lease_group(const struct lease *l);

int lease_quorum(int nodes);

#endif
