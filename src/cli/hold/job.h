/* SPDX-License-Identifier: MIT */
/*
 * What the run form and `lock` have in common: settings become leases, what was
 * granted becomes an environment, and the ending becomes a message and an exit
 * status.
 */
#ifndef CLI_HOLD_JOB_H
#define CLI_HOLD_JOB_H

#include "cli/hold/describe.h"
#include "cli/hold/variables.h"
#include "cli/opts.h"
#include "cli/servers.h"
#include "run/supervise.h"

struct job {
	const struct opts *o;
	int at[LOCKS_MAX]; /* for each key of opts: its index in `client` */
	struct locks locks;
	struct signals signals;
	char *const *argv; /* of the command */
	bool by_hand;      /* REDLOCK_TOKEN is our own token, even if we joined
			      another hold: only ours is given back with it */
	const struct keeper *kept;  /* --keep-for: see struct hold_conf */
	bool leave;                 /* nobody renews it: the same */
	struct variables variables; /* of what runs under the locks */
	struct ending end;
	struct instant ran_at; /* in the guard: when the command started */
	char shown_keys[256];  /* for messages */
	struct description who;
	struct servers servers;
	struct client *client; /* for each key, in their order; large, and
				  mostly untouched */
};

/* *j must be all zero except for its options. job_find() finds the servers; it
 * may ask for a password on the terminal. job_prepare() does the rest, in the
 * process that is to hold: the signals, the leases, and the environment of what
 * runs under them. `command`: its name, which others may see. */
int job_find(struct job *j, struct fail *why);
int job_prepare(struct job *j, const char *command, struct fail *why);

/* The outer hold of the client's lock. */
const struct lease_outer *job_outer(const struct client *d);

/* Completes the settings and the order, and runs it. */
void job_run(struct job *j, struct hold_conf *conf, struct order *order);

int job_status(const struct job *j);
const char *job_outcome(const struct job *j, int status); /* one word */
void job_say_ending(const struct job *j);

/* Ends us by the signal that ended the command: a shell that sees its child die
 * of SIGINT knows that the user interrupted it, which an exit status of 130
 * does not say. Returns if no signal did. */
void job_die(const struct job *j);

#endif
