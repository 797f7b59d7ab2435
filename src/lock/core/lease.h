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
 * Questions and answers may overtake each other, so they are numbered. A
 * question tells the node which release came before it; if that one comes late,
 * it changes nothing. Here, an answer counts only if no later question to that
 * node was answered or gives it back: node_is_late().
 *
 * If a lock vanishes from a node, its holder sets it again, as with a single
 * node, but not after the time at which the lock would have ended there. After
 * that time, and on a node that never granted, the holder takes the lock once
 * the answering nodes have shown that nobody else can have it: see repair.h.
 *
 * If a holder is asked to stop within some time (force-release), that time
 * counts like a lease of that length: see timing.h. Renewals continue
 * meanwhile.
 *
 * The states, and what usually leads from one to the next:
 *
 *   ASKING       a quorum granted, with one counter   HELD, or REPLICATING
 *                a quorum granted, counters differ    CLAIMING
 *                a quorum is out of reach             WAITING
 *                they granted different slots         WAITING
 *                too late, refused, superseded, done  RELEASING
 *   CLAIMING     a quorum stored the fence            HELD, or REPLICATING
 *                the counters moved meanwhile         CLAIMING, or WAITING
 *                too few answers in time              WAITING
 *                too late, refused                    RELEASING
 *   REPLICATING  enough replicas have it              HELD
 *                too few                              RELEASING
 *                no answer in time                    WAITING
 *   WAITING      woken, granted late, or time to ask  ASKING
 *                too late, refused, superseded, done  RELEASING
 *   HELD         lease_hurry() before lease_use()     ASKING
 *                fewer than a quorum is ours          LOST
 *   LOST         lease_again()                        WAITING
 *   RELEASING    a quorum has released, or time is up OVER
 *   any of the first six: lease_end()                 RELEASING
 *
 * A lease is lost in five places, and only the first is here (see "Where a
 * lease is lost" in docs/protocol.md): (1) a server says so (LOST: renewal.h);
 * (2) the clock says so (run/watch.c); (3) it was too old at the start, or the
 * command ended after TERM (run/supervise.c, run/watch.c); (4) redlock is
 * stuck, and the guard kills the tree (proc/guardproc.c); (5) the kernel kills
 * redlock (proc/deadman.c), and the guard then kills the tree.
 *
 * Its parts, each of which uses only those to its right:
 *
 *   lease -> vote -> rounds -> claim -> { renewal, minority, ending } -> node
 *   lease -> question                      renewal, question -> repair
 *   all of them -> state -> ask; most of them -> timing
 *   rounds, renewal, question -> queue -> ask
 */
#ifndef LOCK_CORE_LEASE_H
#define LOCK_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "lock/core/state.h"

/* Starts to acquire: the first lease_next() returns a question. The numbers of
 * questions (ask.seq) begin with the time: a process that goes on with the
 * token of another one on this machine, such as the guard, has larger ones. */
void lease_init(struct lease *l, const struct lease_conf *conf,
		struct instant at);

/* For a process that outlives the holder: releases the lock under the token of
 * that holder, on all nodes, whether they granted it or not. `ran`: a command
 * may have run under it. Tries until the lease must have
 * expired, but for 1 s at least and 10 s at most. */
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
