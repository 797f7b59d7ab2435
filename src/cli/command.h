/* SPDX-License-Identifier: MIT */
/*
 * The verbs, and every exit status of redlock; a check compares the manual's
 * EXIT STATUS with this list. Any other status is the command's own, or 128+n
 * if signal n ended it.
 *
 * A verb is a file that exports one constant, a line in EACH_VERB, its options
 * in optrows.c, a section of the manual, and its completions.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

#include "base/fail.h"
#include "cli/opts.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FREE = 1,          /* inspect, force-release: nobody holds it;
				     doctor: something is wrong */
	STATUS_CRITICAL = 2,      /* --max-age, --last-success: not met */
	STATUS_UNKNOWN = 3,       /* the same: unknown */
	STATUS_USAGE = 64,        /* the command line is wrong */
	STATUS_UNAVAILABLE = 69,  /* servers unreachable */
	STATUS_INTERNAL = 70,     /* this machine refused a fork or a timer */
	STATUS_BUSY = 75,         /* not acquired (-E) */
	STATUS_REFUSED = 77,      /* password or ACL refused */
	STATUS_CONFIG = 78,       /* configuration, file or key unusable */
	STATUS_MAX_HOLD = 124,    /* --max-hold or --max-renewals ended it */
	STATUS_LOST = 125,        /* the lease was lost while the command ran */
	STATUS_CANNOT_EXEC = 126, /* the command cannot be executed */
	STATUS_NOT_FOUND = 127    /* the command was not found */
};

struct opts;

/* The verbs: BY_LOCK, and in cmd-lock.c cmd_lock, whose name is "lock". To add
 * one: a line here. */
#define EACH_VERB(V)                                                           \
	V(RUN, run)                                                            \
	V(LOCK, lock)                                                          \
	V(UNLOCK, unlock)                                                      \
	V(EXTEND, extend)                                                      \
	V(INSPECT, inspect)                                                    \
	V(LIST, list)                                                          \
	V(TOP, top)                                                            \
	V(WAIT, wait)                                                          \
	V(FORCE, force)                                                        \
	V(HISTORY, history)                                                    \
	V(DOCTOR, doctor)

enum verb_number {
#define V(NAME, name) VERB_IS_##NAME,
	EACH_VERB(V)
#undef V
		VERBS
};

/* Which verbs take an option, as bits: see opt_row.takes. */
enum taker {
#define V(NAME, name) BY_##NAME = 1 << VERB_IS_##NAME,
	EACH_VERB(V)
#undef V
		BY_ALL = (1 << VERBS) - 1
};
#define BY_TAKING (BY_RUN | BY_LOCK)
#define BY_LOOKING                                                             \
	(BY_INSPECT | BY_LIST | BY_WAIT | BY_HISTORY | BY_TOP | BY_DOCTOR)

/* What follows the options. A key may also be given by -k. */
enum operands {
	OPERANDS_COMMAND,
	OPERANDS_KEY,      /* exactly one */
	OPERANDS_KEYS,     /* or $REDLOCK_KEY */
	OPERANDS_ANY_KEYS, /* or none */
	OPERANDS_PATTERN   /* or none */
};

struct command {
	const char *name;  /* "": the run form */
	const char *usage; /* what follows the name */
	const char *summary;
	const char *example[2];
	enum taker by;
	enum operands operands;
	/* Returns the exit status; does not return if redlock must end by a
	 * signal. */
	int (*run)(const struct opts *o);
	/* Called when the command line or the settings are wrong, after the
	 * message; NULL: nothing else is to be done. */
	void (*refuse)(char *const *argv, int status);
};

#define V(NAME, name) extern const struct command cmd_##name;
EACH_VERB(V)
#undef V

/* In this order; the run form is the first. */
extern const struct command *const commands[VERBS];

/* NULL: there is no such verb. The run form has no name. */
const struct command *command_named(const char *name);

int status_of_kind(enum fail_kind kind);
/* Reports a failure. Returns the status to end with. */
int report_failure(const struct fail *why);

/*
 * Checks for monitoring systems: inspect --max-age, history --last-success.
 * Such a system knows the statuses 0 to 3 and reads standard output alone. So a
 * check always ends with one of these, and with a line there: also when no
 * server answers, or when the command line is wrong.
 */

/* Whether it is a check, as far as the options tell. They may be half read:
 * then the words of the command line count. */
bool check_is(const struct opts *o, char *const *argv);

/* Prints why it cannot tell. `shown`: the key, or "". Returns
 * STATUS_UNKNOWN. */
int check_unknown(const char *shown, const char *text);

/* The worse of two statuses: what is known to be wrong is worse than what is
 * not known. */
int check_worse(int a, int b);

#endif
