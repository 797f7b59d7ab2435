/* SPDX-License-Identifier: MIT */
/*
 * What a server says of itself, for doctor. Asks nothing that changes anything
 * there. What the server refuses to tell stays unknown.
 */
#ifndef CLI_DOCTOR_FACTS_H
#define CLI_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "cli/query.h"

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

#endif
