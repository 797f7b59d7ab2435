/* SPDX-License-Identifier: MIT */
/*
 * Doctor: asks the servers what they are (facts.c), judges what they say
 * (checks.c, acl.c, keycheck.c, sentinels.c), and tries a lock (trial.c). Each
 * judgement is a finding, with what to do about it.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/opts.h"
#include "cli/query.h"

enum level {
	LEVEL_OK,
	LEVEL_NOTE, /* good to know; nothing is wrong */
	LEVEL_WRONG
};

struct finding {
	enum level level;
	char *server; /* owned; or what else it is about */
	const char *check;
	char *text; /* owned */
	char *cure; /* owned: a command to type, or what else to do; or NULL */
};

struct findings {
	struct finding *at;
	int n, room;
	bool incomplete; /* out of memory: some are missing */
};

const char *level_name(enum level level);

/* Adds a finding. Text that is safe for a terminal is kept as it is; all else
 * is escaped. */
void found(struct findings *f, enum level level, const char *server,
	   const char *check, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Sets the cure of the last finding. */
void cure(struct findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sorts: all findings of one server together, in the order of their first. */
void findings_group(struct findings *f);

/* Whether nothing is wrong. */
bool findings_well(const struct findings *f);
void findings_close(struct findings *f);

#define UNKNOWN (-1)
#define FACT_MAX 64

/* What a server did not tell, although it is there. */
enum blank {
	BLANK_INFO = 1,
	BLANK_CONFIG = 2,
	BLANK_ROLE = 4,
	BLANK_WRITES = 8 /* which writing commands this user may use */
};

struct facts {
	int target;                /* of the fanout */
	int node;                  /* in the list */
	const struct endpoint *ep; /* borrowed */
	char name[420];
	bool shut;              /* it is not there, or lets nobody in: it is
				   asked no more */
	bool answers;           /* with something else than "not permitted" */
	struct fail why;        /* if it does not */
	struct error_told told; /* the parts of why, */
	struct error_told no_scripts; /* and of scripts */
	unsigned int blanks;

	char software[16]; /* "Redis", "Valkey", ... */
	char version[FACT_MAX], run_id[FACT_MAX];
	int64_t major;
	char role[FACT_MAX], master_host[FACT_MAX], master_port[FACT_MAX];
	bool in_cluster, is_active; /* KeyDB's active-replica */
	bool is_sentinel;           /* of the group of this name, or "" */
	char group[FACT_MAX];
	int64_t uptime_s;
	int64_t clients, clients_max;
	int64_t memory, memory_max, evicted;
	char policy[FACT_MAX]; /* "": unknown */

	int64_t loading, aof; /* 0 or 1 */
	char fsync[FACT_MAX], save[FACT_MAX];
	bool save_known;
	char stops_writes[FACT_MAX];                      /* yes, no */
	char save_status[FACT_MAX], aof_status[FACT_MAX]; /* ok, err */

	int64_t replicas, replicas_online, lag_s; /* the largest lag */
	int64_t replicas_good, replicas_least;    /* min-replicas-to-write */

	char user[FACT_MAX];        /* the user that we are logged in as */
	struct fail scripts;        /* why no script can run */
	uint64_t refused;           /* bits: indices in rights[] */
	int to_ask;                 /* clock samples still wanted, */
	int64_t sent_us;            /* and when the last was asked for */
	int samples;                /* clock samples taken: */
	int64_t rtt_us, nearest_us; /* mean and shortest round trip */
	int64_t ahead_us;           /* of our clock, by the shortest */

	bool has_certificate;
	int64_t certificate_s; /* for how long it is valid */

	char cluster_state[FACT_MAX];
	int64_t cluster_slots;
};

/* Asks all servers; in a Cluster, each primary. The caller frees *out. Returns
 * the number of servers, or -1. `needs`: bits of enum right_need. */
int facts_gather(struct query *l, unsigned int needs, struct facts **out,
		 struct fail *why);

struct exam {
	const struct opts *o;
	const struct servers *servers;
	const struct facts *facts; /* what each server says of itself */
	int n;                     /* number of facts */
	unsigned int needs;        /* bits of enum right_need */
	struct findings *found;
};

/* Checks each server by itself. */
void check_servers(const struct exam *e);
/* Checks all of them together. */
void check_list(const struct exam *e);
/* Checks this machine. */
void check_machine(const struct exam *e);

/* The user that the server takes us for; `none`: the default user, or
 * unknown. */
const char *user_of(const struct facts *s, const char *none);

/* The user as typed at the prompt of redis-cli. Returns buf. */
#define USER_TYPED_MAX 1100
const char *user_typed(const struct facts *s, char buf[USER_TYPED_MAX]);

void check_rights(const struct exam *e, const struct facts *s);

/* A line for the prompt of redis-cli. It makes a user who may do what redlock
 * needs and nothing else. The caller frees it; NULL: out of memory. */
char *acl_line(const struct exam *e);
/* The same, with what list, top and doctor also need. */
char *acl_line_looking(const struct exam *e);
/* The same for the Sentinels; NULL: there are none. Not to be freed. */
const char *acl_line_sentinel(const struct exam *e);

/* Asks all Sentinels of each group in the list. */
void check_sentinels(const struct exam *e);

/* Checks the keys that were named, and all that redlock has on each server. In
 * the latter, only a key with a record of ours counts as a lock. */
void check_keys(const struct exam *e, struct query *l);

/* Tries it on each server that answers. A script that ran proves that scripts
 * work: corrects what facts[] say about that. */
void check_trials(const struct exam *e, struct facts *facts);

#endif
