/* SPDX-License-Identifier: MIT */
/*
 * Whether a server is the master of its group still. All Sentinels of the group
 * are asked, over connections that stay, as often as that matters; what more
 * than half of those in the URL say is believed. Fewer may be cut off with an
 * old master, and know of no new one. A step at a time; nothing here waits.
 */
#ifndef NET_SENTRY_H
#define NET_SENTRY_H

#include <stdbool.h>

#include "base/clock.h"
#include "net/endpoint.h"

struct sentry;

/* Nothing is asked yet. NULL: *why says why. The group is borrowed. */
struct sentry *sentry_open(const struct endpoint *group, struct fail *why);
void sentry_close(struct sentry *s); /* NULL does no harm */

/* Asks them all. `at`: now. One that owes an answer for longer than patience_ms
 * is asked on a new connection. */
void sentry_ask(struct sentry *s, struct instant at, int64_t patience_ms);

/* For poll(2): POLLIN. Then sentry_step(). */
int sentry_fd(const struct sentry *s);
void sentry_step(struct sentry *s);

enum sentry_says {
	SENTRY_OPEN, /* too few have answered yet: *why says how many */
	SENTRY_SAME,
	SENTRY_OTHER, /* *other is the master now */
	SENTRY_UNSURE /* too few answer, or they disagree: see *why */
};
/* Only answers to what was asked at `since` or later count. */
enum sentry_says sentry_says(const struct sentry *s, const struct place *master,
			     struct instant since, struct place *other,
			     struct fail *why);

/* Every descriptor it has; returns how many. */
#define SENTRY_FDS_MAX (PLACES_MAX + 1)
int sentry_sockets(const struct sentry *s, int fds[SENTRY_FDS_MAX]);

#endif
