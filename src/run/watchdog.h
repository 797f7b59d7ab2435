/* SPDX-License-Identifier: MIT */
/*
 * The thread that renews. It owns the locks from watchdog_start() until the end
 * of file of its news. The main thread reads only the stamp, and never trusts
 * it for longer than timing.h says: the thread may hang, and safety must not
 * depend on it.
 */
#ifndef RUN_WATCHDOG_H
#define RUN_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "proc/deadman.h"
#include "proc/guard.h"
#include "client/locks.h"

struct watchdog {
	struct locks *locks;
	struct deadman *deadman;
	int64_t grace_ms;
	pid_t guard; /* continued with each renewal, in case it is stopped */
	pthread_t thread;
	bool running;
	int stop[2]; /* pipe to the thread; both ends stay open */
	struct history_entry
		entry; /* written before a byte of `stop`, read after it */
	int news[2];   /* pipe from the thread: enum watchdog_news, then
			  end of file: the thread closes its end */
	_Atomic int64_t credited_ms; /* s: see timing.h */
	_Atomic bool spent;          /* see locks_spent() */
	_Atomic bool awaited;        /* see watchdog_await() */
	_Atomic int64_t early_ms;    /* by how much a large tree is killed
					earlier */
	_Atomic int64_t stop_by_ms;  /* see locks_stopped() */
	struct instant stop_kill, stop_dead;
	struct sight asker; /* written once, before stop_by_ms */
	/* When the tree was last counted. */
	int size;             /* its processes */
	long machine;         /* those of the machine */
	struct instant count; /* when to count again */
	int large;            /* the same if that was too large, else 0 */
	bool told_large;
};

/* One byte each. */
enum watchdog_news {
	NEWS_LOST = 'l',
	NEWS_STOP = 's',
	NEWS_UNLOCKED = 'u',
	NEWS_RENEWED = 'r' /* only while awaited */
};

/* The locks must be held. watchdog_publish() keeps deadman, alarm and stamp up
 * to date: call it before the command starts. */
void watchdog_init(struct watchdog *w, struct locks *l, struct deadman *dead,
		   int64_t grace_ms, pid_t guard);

/* Follows the lease; called by the thread that owns the locks. */
void watchdog_publish(struct watchdog *w);

/* Returns 0; or -1 with *why set: no thread, no pipe is open, and the locks
 * stay the caller's. */
int watchdog_start(struct watchdog *w, struct fail *why);

struct instant watchdog_credited_at(struct watchdog *w);

/* When TERM and KILL are due if no renewal comes: see timing.h, and earlier for
 * a tree that takes long to die. */
struct instant watchdog_term(struct watchdog *w);
struct instant watchdog_kill(struct watchdog *w);

bool watchdog_spent(struct watchdog *w);

/* Whether renewals that count are news. */
void watchdog_await(struct watchdog *w, bool awaited);

/* When the tree must be dead because a client asks for the lock; *asker is that
 * client, valid as long as *w. NEVER: nobody asks. */
struct instant watchdog_stop(struct watchdog *w, const struct sight **asker);

/* The tree is dead: release all (see locks_release()). News end afterwards. */
void watchdog_release(struct watchdog *w, unsigned int how,
		      const struct history_entry *entry);

/* Or: stop renewing and release nothing. Call watchdog_join() afterwards. */
void watchdog_leave(struct watchdog *w);

/* Takes the locks back. false: the thread still hangs at the deadline; then it
 * owns the locks, and all that belongs to them, for good. */
bool watchdog_join(struct watchdog *w, struct instant deadline);

#endif
