/* SPDX-License-Identifier: MIT */
/*
 * Signals while the command runs: those that redlock gets go on to the command,
 * once each; stops and continuations are shared between the two. What a signal
 * means for the lease is for watch.c to decide. After a stop that outlasted a
 * renewal, the command goes on only when that renewal has succeeded; until then
 * nothing is read from relay_fd().
 */
#ifndef RUN_RELAY_H
#define RUN_RELAY_H

#include "proc/groupmate.h"
#include "proc/guard.h"
#include "run/hold.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "run/watchdog.h"

struct relay {
	const struct signals *signals;
	const struct guard *guard;
	struct watchdog *dog;
	int64_t ttl_ms;
	struct ending *end;            /* its `sig` and `sigs` are set here */
	struct instant interrupted[2]; /* the last two Ctrl-C, latest first */
	bool insists; /* set by the third within 2 s; the caller clears it */
	struct groupmate mate;
	struct instant mated;   /* when to start it; NEVER: it was */
	struct instant stopped; /* when to see whether it is still stopped */
	bool holds_back; /* we continued, and the command is not to yet */
	struct instant before_stop; /* the last renewal before the stop */
	pid_t apart;          /* the command's own group, stopped by us; or 0 */
	struct instant bound; /* set by the caller: it must act then */
	int early;            /* a signal for a command not started yet */
	bool refused;         /* we reported that a signal is not permitted */
};

/* There is a command whose group may be signalled: start the groupmate soon. */
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

/* Ends the groupmate, and notes the signals that were not read yet. */
void relay_close(struct relay *y);

#endif
