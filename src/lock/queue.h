/* SPDX-License-Identifier: MIT */
/*
 * Waiting in line: how long until a waiter asks again. Pure arithmetic; ms.
 *
 * A waiter listens on its grant list (BLPOP) and is woken when the lock is
 * handed to it. Nothing may rest on that: whoever held the lock may have died,
 * the word may be lost, the line may be gone. So each waiter asks again, on
 * another connection, at the end of the lease it was told of, the first in line
 * first, and at least once per heartbeat, which is its sign of life.
 * (src/lua/queue.lua has the same heartbeat, and skips whoever was silent for
 * three.)
 *
 * A grant is good for 2 s (grant_ms there). Whoever is second asks within that
 * time: should the first die of a grant, nobody tells the second. The others
 * are behind a moving line and may be second by now; 3.5 s keeps the mean at a
 * third of a question per second and waiter.
 */
#ifndef LOCK_QUEUE_H
#define LOCK_QUEUE_H

#include <stdint.h>

#include "lock/lease.h"

#define HEARTBEAT_MS 5000
#define LISTEN_MS 30000 /* then the server is asked to listen anew */
#define OUTSIDE_MS 250  /* between looks at what wakes nobody */

/* After a busy answer. A lock of another program, or one that we cannot stand
 * in line for, is looked at every OUTSIDE_MS less the jitter, by those behind
 * less often. */
int64_t queue_delay(const struct answer *busy, int64_t jitter_ms);

#endif
