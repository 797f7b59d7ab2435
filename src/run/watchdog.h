/* SPDX-License-Identifier: MIT */
/*
 * The thread that renews. From watchdog_start() to the end of its news it owns
 * the locks; the main thread reads only the stamp, which it never trusts for
 * longer than timing.h says: the thread may be stuck, safety must not depend
 * on it.
 */
#ifndef RUN_WATCHDOG_H
#define RUN_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "run/deadman.h"
#include "run/guard.h"
#include "run/locks.h"

struct watchdog {
	struct locks *locks;
	struct deadman *deadman;
	int64_t grace_ms;
	pid_t guard; /* is woken, should it be stopped, with each renewal */
	pthread_t thread;
	bool running;
	int stop[2];
	struct story story; /* written before, and read behind, a byte of it */
	int news[2];        /* see enum watchdog_news; end of file */
	_Atomic int64_t stamp_ms;   /* s: see timing.h */
	_Atomic bool spent;         /* see locks_spent() */
	_Atomic int64_t stop_by_ms; /* see locks_stopped() */
	struct instant stop_dead;
	struct sight asker; /* written once, before stop_by_ms */
};

/* A byte of news. */
enum watchdog_news { NEWS_LOST = 'l', NEWS_STOP = 's', NEWS_UNLOCKED = 'u' };

/* Of a lease that is held. From here on watchdog_publish() sets deadman, alarm
 * and stamp by it: call it before the command starts. */
void watchdog_init(struct watchdog *w, struct locks *l, struct deadman *dead,
		   int64_t grace_ms, pid_t guard);

/* Follows the lease; by whoever owns the locks. */
void watchdog_publish(struct watchdog *w);

/* -1: no thread to be had; the locks stay the caller's. */
int watchdog_start(struct watchdog *w, struct fail *why);

struct instant watchdog_stamp(struct watchdog *w);

bool watchdog_spent(struct watchdog *w);

/* By when the tree must be dead, as somebody asks; NEVER: nobody does. Then
 * *asker is who, for good. */
struct instant watchdog_stop(struct watchdog *w, const struct sight **asker);

/* The tree is dead: give all back (see locks_release()). The end of w->news[0]
 * follows. */
void watchdog_release(struct watchdog *w, unsigned int how,
		      const struct story *story);

/* Or: renew no more, and give nothing back. watchdog_join() follows. */
void watchdog_leave(struct watchdog *w);

/* Takes the locks back; false: the thread is stuck past the deadline. Then the
 * locks, and all that belongs to them, are its own for good. */
bool watchdog_join(struct watchdog *w, struct instant deadline);

#endif
