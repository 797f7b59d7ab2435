/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a server is still the master of its group. Asks all Sentinels
 * of the group, over connections that stay open, as often as it matters.
 * Believes what more than half of them say: fewer may be cut off together with
 * an old master, and not know the new one. How many they are, they say
 * themselves (SENTINEL SENTINELS), and those that the URL does not name are
 * asked as well. If none of them may say it, they are those in the URL. A step
 * at a time; nothing here waits.
 */
#ifndef NET_SENTRY_H
#define NET_SENTRY_H

#include <stdbool.h>

#include "base/clock.h"
#include "net/endpoint.h"

struct sentry;

/* Asks nothing yet. `group` is borrowed. The sentry lasts as long as the
 * process. NULL: see *why. */
struct sentry *sentry_open(const struct endpoint *group, struct fail *why);

/* Asks them all. `at`: now. A Sentinel that has owed an answer for longer than
 * patience_ms is asked over a new connection. */
void sentry_ask(struct sentry *s, struct instant at, int64_t patience_ms);

/* For poll(2), with POLLIN. Then call sentry_step(). */
int sentry_fd(const struct sentry *s);
void sentry_step(struct sentry *s);

enum sentry_says {
	SENTRY_OPEN,  /* too few have answered yet: *why says how many */
	SENTRY_SAME,  /* it is the master */
	SENTRY_OTHER, /* *other is the master now */
	SENTRY_UNSURE /* too few answer, or they disagree: see *why */
};
/* Counts only answers to questions asked at `since` or later. */
enum sentry_says sentry_says(const struct sentry *s, const struct place *master,
			     struct instant since, struct place *other,
			     struct fail *why);

/* Lists its descriptors; returns their number. They stay the sentry's. */
#define SENTRY_FDS_MAX (PLACES_MAX + 1)
int sentry_sockets(const struct sentry *s, int fds[SENTRY_FDS_MAX]);

#endif
