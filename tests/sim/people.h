/* SPDX-License-Identifier: MIT */
/*
 * Clients of one key of a real Cluster that only ask, each its question when it
 * is told to: no timers, no state but what it was answered last.
 */
#ifndef SIM_PEOPLE_H
#define SIM_PEOPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/wire/keys.h"
#include "lock/core/lease.h"
#include "lock/wire/script.h"

#define PEOPLE 4
#define T 20000 /* their leases; ms */

struct person {
	char token[8], identity[IDENTITY_SIZE];
	struct lease_conf conf;
	struct keys keys;
	struct answer a;
	int64_t fence, counter, ticket;
	int slot, only;  /* only: 1 + the slot that it wants, or 0 */
	uint64_t number; /* of its next questions, as one of several nodes; or 0
			  */
	int64_t group;
	bool unaware;  /* that it stands in line */
	bool withheld; /* it hands the lock to nobody: see lock/core/ask.h */
	char error[160];
};
extern struct person people[PEOPLE];
#define A (&people[0])
#define B (&people[1])
#define C (&people[2])
#define D (&people[3])

extern const char *key;
extern int owner;                   /* the node that they ask first */
extern const struct lease_conf one; /* of a plain lock */

/* On a Cluster that knows of nothing but the counter: where that was born a
 * moment ago, nothing is handed over. All are `conf`. */
void people_begin(const char *name, struct lease_conf conf);
void people_end(void);
/* From now on this one is that. */
void person_is(struct person *p, struct lease_conf conf);
/* One whom p's command has started. */
struct lease_conf person_inside(const struct person *p);

/* Why nothing was answered. */
#define SAID_LATER (-1) /* to be asked again */
#define SAID_NEVER (-2)

/* A test is many steps, silent unless one fails; then all_good is false.
 * `what`: for the message. */
extern bool all_good;
void person_asks(struct person *p, enum verb verb, int expected,
		 const char *what);
#define ASKS(p, verb, answer)                                                  \
	person_asks(p, VERB_##verb, SAID_##answer, __func__)
void people_check(bool good, const char *what);
#define CHECK(what) people_check(what, #what)

#endif
