/* SPDX-License-Identifier: MIT */
/*
 * The locks of one run: all or none. Each has a client and a lease of its own.
 * This decides which lock to wait for, and when all are held.
 *
 * All locks are asked for at once. If some are busy, we stand in line for the
 * first of them, in the order of the keys, and keep no other meanwhile:
 * somebody else may want it. When we get it, we ask for the others again, once.
 * If one of them is busy now, we give all back and wait for that one. So two
 * runs that name the same keys in opposite order cannot wait for each other.
 *
 * Where the lines never end, such a run would never have two locks at a time.
 * Once it was overtaken PATIENCE times, it takes the locks in the order of the
 * keys and keeps what it has. A run that does so waits only for larger keys, so
 * there is no cycle either.
 */
#ifndef CLIENT_LOCKS_H
#define CLIENT_LOCKS_H

#include "base/grants.h"
#include "client/client.h"

#define PATIENCE 3
#define EXTRA_MAX 4

struct locks {
	struct client *client; /* borrowed; in the order of the keys */
	int n;
	int64_t ttl_ms; /* T: the length of every lease, for all of the run */
	int lead;       /* the lock we wait for, or that ended the run */
	bool asked[LOCKS_MAX]; /* in this attempt */
	int attempts;          /* each uses new tokens */
	int overtaken;         /* number of times: see PATIENCE */
	bool patient;          /* take them in order and keep them */
	bool backing;          /* giving all back, then we wait for the lead */
	bool ends;             /* giving all back for good */
	bool in_use; /* something runs: do not acquire again what was lost */
	enum lease_end end;
	bool waits; /* not -n */
	struct instant give_up;
};

/* The clients must be initialised, with the time limit of the whole. The first
 * to be asked connects from now on; call client_describe() before it asks. */
void locks_init(struct locks *l, struct client *clients, int n);

/* One poll(2), which ends when an extra descriptor is ready (see its revents),
 * a node has sent something, a lease wants to be woken, or at `limit`. Sends
 * before and after. */
void locks_poll(struct locks *l, struct pollfd *extra, int n_extra,
		struct instant limit);
void locks_send(struct locks *l);

/* Whether all are held and being renewed; locks_credited_at() is the oldest
 * stamp. */
bool locks_held(const struct locks *l);
bool locks_lost(const struct locks *l);
/* Whether it was lost because `redlock unlock` gave one back for us. */
bool locks_unlocked(const struct locks *l);
/* Whether nothing is under way any more; the lead says why. */
bool locks_over(const struct locks *l);
enum lease_end locks_end(const struct locks *l);
struct instant locks_credited_at(const struct locks *l);
/* Whether one is no longer renewed: see lease_spent(). */
bool locks_spent(const struct locks *l);

/* Somebody wants one of the locks (force-release): returns the client that must
 * stop first, or NULL. Its lease has stop_by, its sight says who asks. */
const struct client *locks_stopped(const struct locks *l);

/* Held, but not fresh enough to start on: see lease_hurry(). */
void locks_hurry(struct locks *l);
/* The command starts: see lease_use(). The caller must not block from now on.
 */
void locks_use(struct locks *l);
/* Whether the caller may block for seconds, until a private server is up again.
 */
void locks_may_block(struct locks *l, bool may);
/* Lost before anything ran: back to waiting. */
void locks_again(struct locks *l);

/* Stops waiting, or releases all: see lease_end(). Each release writes `entry`
 * to the history, except for a hold that we joined; NULL: none does. */
void locks_release(struct locks *l, unsigned int how,
		   const struct history_entry *entry);
/* Whether the servers confirmed that all are released. */
bool locks_freed(const struct locks *l);
/* Whether a waiter was handed one. */
bool locks_passed_on(const struct locks *l);

/* The release was not confirmed: see client_go_on(). false: nothing is left to
 * be released. Else *left_ms is how long that may take; then let go of
 * all descriptors, in a fork perhaps, and call locks_finish() there. */
bool locks_go_on(struct locks *l, int64_t *left_ms);
void locks_finish(struct locks *l);

/* For a forked process whose parent has died: see client_inherit(). Takes 1 s
 * at most, as any release; then see locks_go_on(). */
void locks_inherit(struct locks *l, bool ran);

#endif
