/* SPDX-License-Identifier: MIT */
/*
 * Doctor: asks the servers what they are (facts.c), judges what they say
 * (checks.c, acl.c, keycheck.c, sentinels.c), and tries a lock (trial.c). Each
 * judgement is a finding, with what to do about it.
 */
#ifndef CLI_DOCTOR_INSIDE_H
#define CLI_DOCTOR_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/opts.h"
#include "cli/query.h"

#define UNKNOWN (-1)
#define FACT_MAX 64

/* An error, and its parts. */
struct refusal {
	struct fail why;
	struct error_told told;
};

/* What a server says of itself; unknown, if it refuses to tell. Numbers that it
 * does not tell are UNKNOWN, texts "". */
struct facts {
	int target;                /* of the fanout */
	int node;                  /* in the list */
	const struct endpoint *ep; /* borrowed */
	char name[420];
	bool shut;              /* it is not there, or lets nobody in: it is
				   asked no more */
	bool answers;           /* with something else than "not permitted" */
	struct refusal no;      /* if it does not */
	struct refusal no_eval; /* why no script can run */
	bool tells_info, tells_config;
	bool tells_writes; /* which writing commands this user may use */

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
	char policy[FACT_MAX];

	int64_t loading, aof; /* 0 or 1 */
	char fsync[FACT_MAX], save[FACT_MAX];
	bool save_known;
	char stops_writes[FACT_MAX];                      /* yes, no */
	char save_status[FACT_MAX], aof_status[FACT_MAX]; /* ok, err */

	int64_t replicas, replicas_online, lag_s; /* the largest lag */
	int64_t replicas_good, replicas_least;    /* min-replicas-to-write */

	char user[FACT_MAX];        /* the user that we are logged in as */
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

enum level {
	FINE,
	NOTE, /* good to know; nothing is wrong */
	WRONG
};

struct finding {
	enum level level;
	char *about; /* owned: the server, or "all", or "here" */
	const char *check;
	char *text; /* owned */
	char *cure; /* owned: a command to type, or what else to do; or NULL */
};

struct exam {
	const struct opts *o;
	const struct servers *servers;
	struct facts *facts; /* owned: of each server */
	int n;               /* number of facts */
	unsigned int needs;  /* bits of enum right_need */
	struct finding *finding;
	int findings, room;
	bool incomplete; /* out of memory: some findings are missing */
};

/* Adds a finding: "what is wrong -> what to do". Text that is safe for a
 * terminal is kept as it is; all else is escaped. */
void found(struct exam *e, enum level level, const char *about,
	   const char *check, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Puts all findings about one server together, in the order of their first. */
void findings_sort(struct exam *e);
/* Whether nothing is wrong. */
bool is_well(const struct exam *e);
void findings_close(struct exam *e);

/* Asks all servers of the list, and in a Cluster each primary, what they are.
 * Changes nothing there. -1: see *why. */
int facts_gather(struct exam *e, struct query *query, struct fail *why);

/* Judge each server by itself, all of them together, and this machine. */
void check_servers(struct exam *e);
void check_list(struct exam *e);
void check_machine(struct exam *e);
void check_rights(struct exam *e, const struct facts *f);
/* Asks all Sentinels of each group in the list. */
void check_sentinels(struct exam *e);
/* Checks the keys that were named, and all that redlock has on each server. In
 * the latter, only a key with a record of ours counts as a lock. */
void check_keys(struct exam *e, struct query *query);
/* Takes a lock on each server that answers. A script that ran proves that
 * scripts work: corrects what the facts say about that. */
void check_trials(struct exam *e);

/* The user that the server takes us for; `none`: the default user, or
 * unknown. */
const char *user_of(const struct facts *f, const char *none);
/* The user as typed at the prompt of redis-cli. Returns buf. */
#define USER_TYPED_MAX 1100
const char *user_typed(const struct facts *f, char buf[USER_TYPED_MAX]);

/* A line for the prompt of redis-cli that makes a user with the rights that
 * redlock needs, and no others. The caller frees it; NULL: out of memory. */
char *acl_line(const struct exam *e);
/* The same, with what list, top and doctor also need. */
char *acl_line_looking(const struct exam *e);
/* The same for the Sentinels; NULL: there are none. Not to be freed. */
const char *acl_line_sentinel(const struct exam *e);

#endif
