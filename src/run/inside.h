/* SPDX-License-Identifier: MIT */
/* What the files of run/ share among themselves. */
#ifndef RUN_INSIDE_H
#define RUN_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "client/locks.h"
#include "proc/deadman.h"
#include "proc/recorder.h"
#include "proc/guard.h"
#include "proc/signals.h"
#include "proc/terminal.h"
#include "proc/tree.h"
#include "run/describe.h"
#include "run/supervise.h"

/* ---- watchdog.c ----
 *
 * The thread that renews. It owns the locks from watchdog_start() until the end
 * of file of its news. The main thread reads only the stamp, and never trusts
 * it for longer than timing.h says: the thread may hang, and safety must not
 * depend on it.
 */

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
void watchdog_init(struct watchdog *dog, struct locks *l, struct deadman *dead,
		   int64_t grace_ms, pid_t guard);

/* Follows the lease; called by the thread that owns the locks. */
void watchdog_publish(struct watchdog *dog);

/* Returns 0; or -1 with *why set: no thread, no pipe is open, and the locks
 * stay the caller's. */
int watchdog_start(struct watchdog *dog, struct fail *why);

struct instant watchdog_credited_at(struct watchdog *dog);

/* When TERM and KILL are due if no renewal comes: see timing.h, and earlier for
 * a tree that takes long to die. */
struct instant watchdog_term(struct watchdog *dog);
struct instant watchdog_kill(struct watchdog *dog);

bool watchdog_spent(struct watchdog *dog);

/* Whether renewals that count are news. */
void watchdog_await(struct watchdog *dog, bool awaited);

/* When the tree must be dead because a client asks for the lock; *asker is that
 * client, valid as long as *dog. NEVER: nobody asks. */
struct instant watchdog_stop(struct watchdog *dog, const struct sight **asker);

/* The tree is dead: release all (see locks_release()). News end afterwards. */
void watchdog_release(struct watchdog *dog, unsigned int how,
		      const struct history_entry *entry);

/* Or: stop renewing and release nothing. Call watchdog_join() afterwards. */
void watchdog_leave(struct watchdog *dog);

/* Takes the locks back. false: the thread still hangs at the deadline; then it
 * owns the locks, and all that belongs to them, for good. */
bool watchdog_join(struct watchdog *dog, struct instant deadline);

/* ---- relay.c ----
 *
 * Signals while the command runs: those that redlock gets go on to the command,
 * once each; stops and continuations are shared between the two. What a signal
 * means for the lease is for watch.c to decide. After a stop that outlasted a
 * renewal, the command goes on only when that renewal has succeeded; until then
 * nothing is read from relay_fd().
 */

struct relay {
	const struct signals *signals;
	const struct guard *guard;
	struct watchdog *dog;
	int64_t ttl_ms;
	struct ending *end;            /* its `sig` and `sigs` are set here */
	struct instant interrupted[2]; /* the last two Ctrl-C, latest first */
	bool insists; /* set by the third within 2 s; the caller clears it */
	struct recorder recorder;
	struct instant mate_due; /* when to start it; NEVER: it was */
	struct instant stopped;  /* when to see whether it is still stopped */
	bool holds_back; /* we continued, and the command is not to yet */
	struct instant before_stop; /* the last renewal before the stop */
	pid_t apart; /* the command's own group, stopped by us; or 0 */
	struct instant apart_due; /* it stops at its own pace until then; or
				     NEVER */
	struct instant bound;     /* set by the caller: it must act then */
	sigset_t early;           /* for a command that has not started yet */
	bool refused; /* we reported that a signal is not permitted */
};

/* There is a command whose group may be signalled: start the recorder soon. */
void relay_start(struct relay *y);

/* The guard reported that the command has stopped. */
void relay_stopped(struct relay *y);

/* For poll(2), with POLLIN; -1: wait for the watchdog's news, or relay_due().
 */
int relay_fd(const struct relay *y);
/* When to call relay_step() at the latest. */
struct instant relay_due(const struct relay *y);

/* `readable`: relay_fd() is. `may_stop`: stop when the command has stopped. */
void relay_step(struct relay *y, bool readable, bool may_stop);

/* Reports a signal that a process of another user did not get. Once. */
void relay_refused(struct relay *y, int sig, const struct reach *r);

/* Ends the recorder, and notes the signals that were not read yet. */
void relay_close(struct relay *y);

/* ---- watch.c ----
 *
 * While the command runs: keeps the lease or ends the command, and takes the
 * command's end from the guard.
 */

struct watch {
	struct locks *locks;
	const struct hold_conf *conf;
	struct ending *end;
	struct guard *guard;
	struct deadman *deadman;
	struct watchdog *dog;
	struct instant hand_over; /* when the watchdog thread takes over */
	struct terminal terminal;
	struct relay relay;
	struct instant limit;       /* the next step of --max-hold */
	struct instant stop_by;     /* force-release: dead by then */
	struct instant survives;    /* when to say that the tree does not die */
	struct instant orphans_due; /* the command was asked to end, and ended:
				  until then we wait for the rest of the tree,
				  which was asked as well */
	struct instant start_due;   /* when to continue a guard that was stopped
				  while it waited for the go */
	struct instant guard_due;   /* when to see whether the guard kills */
	struct instant again;       /* when to strike again: the guard has not
				  reported that all are dead */
	int beat;                   /* its count when we last looked */
	bool asked_to_end;          /* we sent TERM */
	struct instant overdue;     /* the renewal that was too long ago when we
				  sent it because of the lease */
	bool killed;                /* we told the guard to kill */
	bool ended;                 /* the command ended; its status is known */
	bool abandoned; /* lost, and what still runs is not ours to kill */
	bool done;
};

/* The watchdog must be initialised and published. Returns when the command, and
 * all of its processes that the lock is to cover, have ended. */
void watch_run(struct watch *w);

/* ---- waiting.c ----
 *
 * What a person sees of a wait: the lines of pace.c, and one on a grant
 * that took its time.
 */

struct waiting {
	const struct locks *locks;
	struct pace pace;
};

void waiting_init(struct waiting *w, const struct locks *l, struct instant at);

/* Call it after each event. */
void waiting_tell(struct waiting *w);

/* When waiting_tell() is to be called without an event. */
struct instant waiting_next(const struct waiting *w);

/* Draws the live line again: the terminal was resized, or we were stopped. */
void waiting_redraw(struct waiting *w);

/* Removes the live line: for good, or before redlock stops. */
void waiting_hide(void);

/* The wait is over; `ours`: we have the lock. */
void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours);

#endif
