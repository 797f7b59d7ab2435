/* SPDX-License-Identifier: MIT */
/*
 * The environment of what runs under a lock: the user's, with our variables in
 * place of older ones. It is made before the lock is granted. What only the
 * grant tells is filled in by the guard, which must not allocate.
 */
#ifndef CLI_HOLD_VARIABLES_H
#define CLI_HOLD_VARIABLES_H

#include "cli/hold/held.h"
#include "cli/opts.h"

/* What we add: "REDLOCK_KEY=" and so on. */
#define VARIABLES_N 8
extern const char *const variable_names[VARIABLES_N];

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

#endif
