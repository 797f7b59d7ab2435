/* SPDX-License-Identifier: MIT */
/* What doctor found, in order, and how to mend it. */
#ifndef CLI_DOCTOR_FINDINGS_H
#define CLI_DOCTOR_FINDINGS_H

#include <stdbool.h>

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

#endif
