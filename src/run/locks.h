/* SPDX-License-Identifier: MIT */
/*
 * The locks of one run: all or none. Each has a drive and a lease of its own;
 * this says which of them is waited for, and when all are held.
 *
 * All are asked at once. The first, in the order of the keys, that is busy is
 * waited for, in line, and no other is kept meanwhile: somebody else may want
 * it. When it is ours, the others are asked again, once; if one of them is busy
 * now, all are given back, and that one is waited for. So two runs that name
 * the same keys in opposite order cannot wait for each other.
 *
 * Where the lines never end, such a run would never have two locks at a time.
 * Once it was overtaken PATIENCE times it takes them in the order of the keys
 * and keeps what it has: whoever does so waits only for larger keys, so there
 * is no circle either.
 */
#ifndef RUN_LOCKS_H
#define RUN_LOCKS_H

#include "run/drive.h"

#define LOCKS_MAX 16
#define PATIENCE 3
#define EXTRA_MAX 4

struct locks {
	struct drive *drive; /* in the order of the keys */
	int n;
	int lead;              /* waited for, or the reason of the end */
	bool asked[LOCKS_MAX]; /* in this attempt */
	int attempts;          /* each under new tokens */
	int overtaken;
	bool patient; /* in order, and kept */
	bool backing; /* all are given back; then the lead is waited for */
	bool ends;    /* likewise, and that is the end */
	bool in_use;  /* something runs: whatever is lost is not taken anew */
	enum lease_end end;
	struct instant give_up;
};

/* The drives are initialised, with the time that all of it may take. */
void locks_init(struct locks *l, struct drive *drives, int n);

/* One poll(2): until an extra descriptor is ready (see its revents), a node
 * has something to say, a lease wants to be woken, or `limit`. Sends before
 * and after. */
void locks_poll(struct locks *l, struct pollfd *extra, int n_extra,
		struct instant limit);
void locks_send(struct locks *l);

/* All are, and renewed; the stamp is then the oldest. */
bool locks_held(const struct locks *l);
bool locks_lost(const struct locks *l);
/* Because somebody gave one back in our name. */
bool locks_unlocked(const struct locks *l);
/* Nothing is under way any more; the lead says why. */
bool locks_over(const struct locks *l);
enum lease_end locks_end(const struct locks *l);
struct instant locks_stamp(const struct locks *l);
/* One is not renewed any more: see lease_spent(). */
bool locks_spent(const struct locks *l);

/* Somebody wants one of them (force-release): whose holder is asked first, or
 * NULL. See its lease's stop_by, and who asks in its sight. */
const struct drive *locks_stopped(const struct locks *l);

/* Held, but may not be started on yet. */
void locks_hurry(struct locks *l);
/* From now on they are the command's. */
void locks_use(struct locks *l);
/* Lost before anything was started: back into the waiting. */
void locks_again(struct locks *l);

/* Give up waiting, or give all back: see lease_end(). What is the hold of
 * whoever started us has no story of ours; story NULL: nothing has. */
void locks_release(struct locks *l, unsigned int how,
		   const struct story *story);
/* All were given back, as the servers say. */
bool locks_freed(const struct locks *l);
/* To somebody who waited. */
bool locks_passed_on(const struct locks *l);

/* In a forked process whose parent died: see drive_inherit(). Takes at most
 * about a second. */
void locks_inherit(struct locks *l, bool ran);

#endif
