/* SPDX-License-Identifier: MIT */
/* Describes a holder or waiter, in fields that others may see. */
#ifndef LOCK_WIRE_ABOUT_H
#define LOCK_WIRE_ABOUT_H

/* What others may see of a holder or waiter. Any field may be "". The strings
 * are borrowed. */
enum about {
	ABOUT_HOST,
	ABOUT_PID,
	ABOUT_USER,
	ABOUT_COMMAND,
	ABOUT_REASON,
	ABOUT_CI,
	ABOUT_PROCESS, /* see proc/process.h; with --no-describe, too */
	ABOUT_COUNT
};
#define ABOUT_SHOWN ABOUT_PROCESS /* the fields before it are for people */
#define ABOUT_MAX 128             /* bytes of a field, with its terminator */

struct holder {
	const char *about[ABOUT_COUNT];
};

const char *about_name(enum about field); /* "host", "pid", ... */

#endif
