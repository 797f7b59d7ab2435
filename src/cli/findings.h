/* SPDX-License-Identifier: MIT */
/* What doctor found, in order, and what is to be done about it. */
#ifndef CLI_FINDINGS_H
#define CLI_FINDINGS_H

#include <stdbool.h>

enum level {
	LEVEL_OK,
	LEVEL_NOTE, /* good to know; all is well nevertheless */
	LEVEL_WRONG
};

struct finding {
	enum level level;
	char *server; /* or what else it is about */
	const char *check;
	char *text;
	char *cure; /* a command to type, or what else to do; NULL: nothing */
};

struct findings {
	struct finding *at;
	int n, room;
	bool incomplete; /* there was no memory for all */
};

const char *level_name(enum level level);

/* What is safe for a terminal goes in as it is; all else is escaped. */
void found(struct findings *f, enum level level, const char *server,
	   const char *check, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Of the last one. */
void cure(struct findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Those of one server together, in the order of the first of each. */
void findings_group(struct findings *f);

bool findings_well(const struct findings *f);
void findings_close(struct findings *f);

#endif
