/* SPDX-License-Identifier: MIT */
/*
 * When a lease of length T, credited to stamp s, is renewed, given up and
 * enforced; and when a waiter asks again. Pure arithmetic, all in ms.
 *
 * s is read just before the request is sent to which the lease is credited: the
 * server starts its T after s, never before. If validity counted from the
 * reply, two commands could run at once even with a kill at T/2 (found by model
 * checking).
 *
 * Where the numbers come from: chrony slews a clock by at most 83,333 ppm, so
 * two clocks drift at most 1.182 : 1 and the server may end the lease at
 * 0.846 T of ours. KILL at 0.80 T leaves 0.046 T for a tree to die (measured:
 * 2 ms). TERM comes 0.15 T before KILL. Renewing at T/6 leaves 0.65 T - 0.17 T
 * = 0.48 T of outage before the first TERM, and more above T = 30 s.
 *
 * The answer to a renewal also tells the holder that it must stop
 * (force-release). The holder should learn that within RENEW_MOST_MS, however
 * long its lease is: half of the default time it gets to stop.
 */
#ifndef LOCK_CORE_TIMING_H
#define LOCK_CORE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "lock/core/ask.h"

#define TTL_MIN_MS 200
#define TTL_MAX_MS ((int64_t)86400000)
#define RENEW_MOST_MS 5000

/* A lease shorter than this many round trips is lost at the first hiccup. */
#define RTTS_PER_LEASE 20

/* s + T/6, at most s + RENEW_MOST_MS */
struct instant timing_renew(struct instant s, int64_t ttl);
/* A little earlier: from then on the watchdog renews. */
struct instant timing_hand_over(struct instant s, int64_t ttl);
struct instant timing_start(struct instant s, int64_t ttl); /* s + T/3 */
struct instant timing_kill(struct instant s, int64_t ttl);  /* s + 0.80 T */
struct instant timing_dead(struct instant s, int64_t ttl);  /* s + 0.82 T */
int64_t timing_last(int64_t ttl); /* 0.02 T, from there to the kernel's turn */

/* KILL less the grace, which is at most T/2. */
struct instant timing_term(struct instant s, int64_t ttl, int64_t grace_ms);
int64_t timing_grace(int64_t ttl); /* 0.15 T */

/* How long a server may be away before TERM is sent, with the default grace;
 * and the shortest T that survives such an outage. */
int64_t timing_outage(int64_t ttl);
int64_t timing_ttl_for(int64_t outage_ms);

int64_t timing_retry(int64_t ttl);     /* pause after an error */
int64_t timing_hedge(int64_t srtt_ms); /* wait, then ask on the other channel */
/* A connection that has not answered for so long is certainly dead. */
int64_t timing_mute(int64_t node_timeout_ms);

/*
 * Waiting in line.
 *
 * A waiter listens on its grant list (BLPOP) and is woken when it is handed the
 * lock. It must not depend on that: the holder may have died, the wake-up may
 * be lost, the line may be gone. So each waiter also asks again, on another
 * connection, when the lease it was told of ends, the first in line first. It
 * asks at least once per heartbeat, as its sign of life. (src/lua/line.lua has
 * the same heartbeat, and serve.lua skips a waiter that missed three.)
 *
 * A grant is good for GRANT_MS (GRANT there), or half the lease if that is
 * shorter. The second in line asks within that time: if the first dies holding
 * a grant, nobody tells the second. Those behind may be second by now, so they
 * ask every 3.5 s; from the eleventh on the heartbeat is enough. That keeps the
 * mean of a long line at a fifth of a question per second and waiter.
 */
#define HEARTBEAT_MS 5000
#define GRANT_MS 2000
#define UNREACHED_MS 5000 /* without -w: for a server that never answered */
#define LAST_LOOK_MS 100  /* of the look that is due when -w is over */
#define LEAVE_MS 120      /* by then, what we may have got is given back ... */
#define LEAVE_LEAST_MS 20 /* ... but the release must be sent */
#define LEAD_US 60000000  /* of --priority high, as in src/lua/line.lua */
#define LISTEN_MS 30000   /* time limit of a BLPOP; then listen anew */
#define OUTSIDE_MS 250    /* between looks when nobody wakes us */

/* How long to pause after a busy answer. If another program holds the lock, or
 * if we cannot stand in line, it is OUTSIDE_MS less the jitter, and longer for
 * those further behind. */
int64_t queue_delay(const struct busy *busy, int64_t jitter_ms);

/* By when a client that gives up has left, if its time was over at `limit`. */
struct instant timing_leave(struct instant limit, struct instant at);

/* The ticket that a client chooses itself, if it comes now. */
int64_t queue_ticket(int64_t now_us, bool high);

#endif
