/* SPDX-License-Identifier: MIT */
/* What the verbs that take a lock have in common. */
#ifndef CLI_HOLD_INSIDE_H
#define CLI_HOLD_INSIDE_H

#include <stddef.h>

#include "base/grants.h"
#include "base/ident.h"
#include "cli/opts.h"
#include "cli/servers.h"
#include "lock/wire/record.h"
#include "proc/process.h"
#include "run/supervise.h"

/* ---- what others may see of us while we hold a lock ---- */

struct description {
	char host[HOST_SIZE], pid[16], user[64], command[128], ci_url[256];
	char process[PROCESS_ID_SIZE];
	struct holder holder; /* points to these, and to the reason in opts */
};

/* Fills in host, pid, user, the command's name but never its arguments, the
 * reason, and the link of the CI job. All are empty with --no-describe.
 * And the id of this process, which tells only our descendants something. */
void describe(struct description *d, const struct opts *o, const char *command);

/*
 * REDLOCK_HELD: what the redlocks above us hold. A redlock that is started by a
 * command under the lock joins that hold and does not wait for itself. The
 * value consists of words, the innermost hold first, each
 * TOKEN:FENCE:SLOT:READS:TTL:KEY:URL. READS: 0, or larger if it is shared. TTL
 * is the longest lease of the hold, in ms; 0: nobody renews it (`lock` without
 * a keeper). KEY and URL are hashes (FNV-1a, 64 bits), because a key may be too
 * long for an environment.
 *
 * It is a hint and proves nothing: the server is asked whether the lock holds
 * that token, on that server, now (`outer` in src/lua/acquire.lua).
 */
#define HELD_WORD_MAX 160

/* Finds the word for this key, preferably on this server. If there is none,
 * *out is empty. */
void held_find(const char *words, const char *key, const char *url,
	       struct lease_outer *out);

/* The token under which a lock is held: our own, or the outer one if we joined
 * an exclusive hold. */
const char *held_token(const struct granted *g,
		       const struct lease_outer *outer);

/*
 * The environment of what runs under a lock: the user's, with our variables in
 * place of older ones. It is made before the lock is granted. What only the
 * grant tells is filled in by the guard, which must not allocate.
 */

struct variables {
	char **envp; /* ends with NULL. This and `held` are allocated, and last
			as long as the process */
	char *held;  /* "REDLOCK_HELD=..." */
	const char *names;   /* of the slots, with commas between, or NULL */
	char **slot_name_at; /* in envp, the last; NULL: there is none */
	char token[64], fence[48], slot[32], slot_name[152],
		fences[24 * LOCKS_MAX];
	char own_pid[OWN_PIDS][OWN_PID_SIZE]; /* see order.own_pid */
	int own_pids;
};

/* `key`: of the first lock; `names`: of the slots, borrowed, or NULL. -1: out
 * of memory. */
int variables_init(struct variables *v, const char *key, const char *url,
		   const char *names, struct fail *why);

/* In the guard: adds a lock that was granted for ttl_ms, in the order of the -k
 * options. */
void variables_add(struct variables *v, const struct granted *its,
		   const struct lease_outer *outer, int64_t ttl_ms,
		   const char *key, const char *url);

/* In the guard, after all locks. `first`: the first of them; NULL: the command
 * runs without a lock. `token`: for REDLOCK_TOKEN. */
void variables_end(struct variables *v, const struct granted *first,
		   const char *token);

/*
 * What the run form and `lock` have in common: settings become leases, what was
 * granted becomes an environment, and the ending becomes a message and an exit
 * status.
 */
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

/* Says why a command could not be executed (an errno), and what may have been
 * meant. `key`: the first that was given. */
void missing_say(char *const *argv, int error, const char *key);

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
