/* SPDX-License-Identifier: MIT */
/*
 * Waiting in line: how long until a waiter asks again. Pure arithmetic, in ms.
 *
 * A waiter listens on its grant list (BLPOP) and is woken when it is handed the
 * lock. It must not depend on that: the holder may have died, the wake-up may
 * be lost, the line may be gone. So each waiter also asks again, on another
 * connection, when the lease it was told of ends, the first in line first. It
 * asks at least once per heartbeat, as its sign of life. (src/lua/keys.lua has
 * the same heartbeat, and serve.lua skips a waiter that missed three.)
 *
 * A grant is good for GRANT_MS (grant_ms there), or half the lease if that is
 * shorter. The second in line asks within that time: if the first dies holding
 * a grant, nobody tells the second. Those behind may be second by now, so they
 * ask every 3.5 s; from the eleventh on the heartbeat is enough. That keeps the
 * mean of a long line at a fifth of a question per second and waiter.
 */
#ifndef LOCK_CORE_QUEUE_H
#define LOCK_CORE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/core/ask.h"

#define HEARTBEAT_MS 5000
#define GRANT_MS 2000
#define LEAD_US 60000000 /* of --priority high, as in src/lua/line.lua */
#define LISTEN_MS 30000  /* time limit of a BLPOP; then listen anew */
#define OUTSIDE_MS 250   /* between looks when nobody wakes us */

/* How long to pause after a busy answer. If another program holds the lock, or
 * if we cannot stand in line, it is OUTSIDE_MS less the jitter, and longer for
 * those further behind. */
int64_t queue_delay(const struct busy *busy, int64_t jitter_ms);

/* The ticket that a client chooses itself, if it comes now. */
int64_t queue_ticket(int64_t now_us, bool high);

#endif
