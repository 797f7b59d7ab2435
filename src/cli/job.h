/* SPDX-License-Identifier: MIT */
/*
 * Locks that are taken for somebody: what the run form and `lock` have in
 * common. Settings become leases; what was granted becomes an environment; how
 * it ended becomes a message and an exit status.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "cli/describe.h"
#include "cli/opts.h"
#include "cli/servers.h"
#include "run/supervise.h"

struct job {
	const struct opts *o;
	struct servers servers;
	struct description who;
	struct drive drive[LOCKS_MAX]; /* in the order of the keys */
	int at[LOCKS_MAX]; /* where in that order a key of opts is */
	struct locks locks;
	struct signals signals;
	char *const *argv; /* of the command */
	bool by_hand; /* REDLOCK_TOKEN is then our own, even where the hold of
			 another one is joined: it alone is given back by it */
	const struct keeper *kept;
	char **envp;
	char *held; /* "REDLOCK_HELD=...", to be filled in */
	char token[64], fence[48], slot[32], fences[24 * LOCKS_MAX];
	char listen_pid[LISTEN_PID_SIZE];
	struct ending end;
	struct instant went; /* in the guard: the command has started */
};

/* "REDLOCK_KEY=", and so on: what we add to the environment. */
#define JOB_VARIABLES 7
extern const char *const job_variables[JOB_VARIABLES];

/* *j is all zero but for its options. Finds the servers; may ask for a password
 * on the terminal. Then all the rest, in the process that holds: the signals,
 * the leases, and the environment of what runs under them. `command`: its name,
 * which others may see. */
int job_find(struct job *j, struct fail *why);
int job_prepare(struct job *j, const char *command, struct fail *why);

/* What our parents hold of it. */
const struct lease_outer *job_outer(const struct drive *d);

/* Fills in what is left of the settings and the order, and runs it. */
void job_run(struct job *j, struct supervise_conf *conf, struct order *order);

int job_status(const struct job *j);
const char *job_outcome(const struct job *j, int status); /* one word */
void job_say_ending(const struct job *j);

/* A shell that sees its child die of SIGINT knows that the user interrupted it;
 * an exit status of 130 does not say so. Returns where there is no such end. */
void job_die(const struct job *j);

#endif
