/* SPDX-License-Identifier: MIT */
/* The guard process, from the fork on, and what the two say to each other. The
 * messages are for proc/guard.c alone. */
#ifndef PROC_GUARDPROC_H
#define PROC_GUARDPROC_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "proc/order.h"

/* Mapped by guard_start(), and unmapped only if that fails: both processes may
 * use it until they exit. */
struct guard_shared {
	/* By when the tree must be dead, in ms on the lease clock. Set by the
	 * deadman. */
	_Atomic int64_t deadline_ms;
	_Atomic int command; /* its pid; 0: not started yet; -1: it has ended */
	_Atomic int init;    /* --contain: the init above the tree; else 0 */
	/* A GUARD_STOPPED is on its way; redlock clears this. Without it, a
	 * stopped redlock would be written to until the pipe is full. */
	_Atomic int stop_told;
	/* Redlock is stopping because the command has stopped. The guard
	 * continues redlock when the command continues. */
	_Atomic int stops_too;
	/* Counts on while the guard kills. A guard that was told to kill, and
	 * whose count stands still, is stuck. */
	_Atomic int beat;
};

enum guard_news {
	GUARD_ENDED,       /* value: wait status of the command. If `left` is
			      set, another report may follow when the processes
			      it left are gone */
	GUARD_OVERDUE,     /* the same, but the lease was over and redlock had
			      not killed: the guard has */
	GUARD_CANNOT_EXEC, /* value: errno */
	GUARD_CANNOT_FORK, /* value: errno */
	GUARD_REFUSED,     /* the rest of the tree belongs to other users and
			      cannot be killed: value is a pid, `uid` its owner;
			      the guard waits for it to end */
	GUARD_STOPPED,     /* the command has stopped */
	GUARD_TOO_LATE,    /* the go came after start_by: nothing ran */
	GUARD_LOST         /* end of file: the guard itself was killed */
};

struct report {
	int news; /* enum guard_news */
	int value;
	int left; /* the command left processes behind */
	int uid;  /* for GUARD_REFUSED */
};

/* What redlock tells the guard. When redlock dies, which is not the same as
 * "kill", nobody but the guard can release the lock. Once the command has been
 * started, the kernel kills it at any message: only the last two may come. */
enum { MESSAGE_NOTE, MESSAGE_GO, MESSAGE_KILL, MESSAGE_DONE };
struct message {
	int64_t what; /* wide, so that no padding goes over the wire */
	struct instant start_by;
};
/* A note, and the go, are followed by what is held or asked for. It all fits
 * into one atomic write to a pipe. */
struct long_message {
	struct message m;
	struct grants given;
};

/* What is between the two, seen from the guard. The descriptors are open until
 * it exits; what it forks closes its copies, or they vanish at exec. */
struct wire {
	int life, report;
	int alarm; /* goes off at the deadline */
	pid_t tool;
	struct guard_shared *shared;
};

/* Runs in the fork, with every signal blocked. Returns when the guard may exit.
 */
void guard_main(const struct order *o, const struct wire *w);

#endif
