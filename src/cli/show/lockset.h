/* SPDX-License-Identifier: MIT */
/* The locks that a scan has found, each once. */
#ifndef CLI_SHOW_LOCKSET_H
#define CLI_SHOW_LOCKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "lock/wire/view.h"

/* A lock, as a quorum last described it. */
struct lock_seen {
	char *key; /* owned; any bytes */
	size_t len;
	char *shown; /* owned; safe for a terminal */
	bool past;   /* it has a history */
	bool known;  /* the fields below are set */
	struct instant at;
	enum view_state state;
	int64_t holders;
	struct view_holder holder; /* the first one, without its value */
	int64_t held_ms;           /* -1: unknown */
	int64_t fence, in_line;
};

/* All zero: it is empty. */
struct lockset {
	struct lock_seen **lock; /* owned; unsorted */
	int locks, room;
	size_t bytes;  /* total length of the keys */
	bool overfull; /* there were more than we keep; the owner clears it */
	void *names;   /* tsearch(3): all of `lock` */
};

void lockset_close(struct lockset *s);

/* Adds a lock, unless it is there already, and sets `past`. If there are too
 * many, sets overfull instead. -1: out of memory. */
int lockset_add(struct lockset *s, const char *key, size_t len, bool past);

/* Removes those that are known to be free. */
void lockset_forget_free(struct lockset *s);

/* The order of two struct lock_seen. */
int lockset_by_key(const void *a, const void *b);

/* Whether somebody holds it or waits for it. */
bool lockset_in_use(const struct lock_seen *l);

#endif
