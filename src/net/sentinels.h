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
#ifndef NET_SENTINELS_H
#define NET_SENTINELS_H

#include <stdbool.h>

#include "base/clock.h"
#include "net/member.h"

struct sentinels;

/* Asks nothing yet. `group` is borrowed. The result lasts as long as the
 * process. NULL: see *why. */
struct sentinels *sentinels_open(const struct endpoint *group,
				 struct fail *why);

/* Asks them all. `at`: now. A Sentinel that has owed an answer for longer than
 * patience_ms is asked over a new connection. */
void sentinels_ask(struct sentinels *s, struct instant at, int64_t patience_ms);

/* After a fork, in the child: see conn_forget(). May be NULL. */
void sentinels_forget(struct sentinels *s);

/* For poll(2), with POLLIN. Then call sentinels_step(). */
int sentinels_fd(const struct sentinels *s);
void sentinels_step(struct sentinels *s);

enum sentinels_say {
	SENTINELS_OPEN,  /* too few have answered yet: *why says how many */
	SENTINELS_SAME,  /* it is the master */
	SENTINELS_OTHER, /* *other is the master now */
	SENTINELS_UNSURE /* too few answer, or they disagree: see *why */
};
/* Counts only answers to questions asked at `since` or later. */
enum sentinels_say sentinels_say(const struct sentinels *s,
				 const struct place *master,
				 struct instant since, struct place *other,
				 struct fail *why);

/* Lists its descriptors; returns their number. They stay its own. */
int sentinels_sockets(const struct sentinels *s, int fds[MEMBER_FDS_MAX]);

#endif
