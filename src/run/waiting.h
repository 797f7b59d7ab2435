/* SPDX-License-Identifier: MIT */
/*
 * What a person sees of the waiting: on a terminal one live line. Elsewhere one
 * line when it begins, one when the holder or the place changes (at most one in
 * 30 s), one when the server falls silent or answers again, one after 5 minutes
 * without any, and one on a grant that took its time.
 */
#ifndef RUN_WAITING_H
#define RUN_WAITING_H

#include "run/locks.h"

#define TELL_MS 100          /* shorter waits are nobody's business */
#define TELL_SILENCE_MS 1000 /* nor is a server that comes back at once */
#define TELL_CHANGE_MS 30000 /* a long line would fill the log */
#define TELL_ALIVE_MS                                                          \
	300000 /* CI systems kill a job that is silent for 10m                 \
		*/
#define DRAW_MS 1000

enum told { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct waiting {
	const struct locks *locks;
	struct instant began;
	struct instant silent; /* the server is, since; or NEVER */
	struct instant drawn;  /* the live line, last */
	enum told told;
	/* the latest line, and what it was about */
	struct instant said;
	int said_place;
	char said_token[140];
};

void waiting_init(struct waiting *w, const struct locks *l, struct instant at);

/* After each event. */
void waiting_tell(struct waiting *w);

/* When waiting_tell() is to be called without an event. */
struct instant waiting_next(const struct waiting *w);

/* Draw the live line again: the terminal was resized, or we were stopped. */
void waiting_redraw(struct waiting *w);

/* The live line vanishes: for good, or before redlock is stopped. */
void waiting_hide(void);

/* It is over; the lock is ours, or not. */
void waiting_end(const struct waiting *w, int64_t waited_ms, bool ours);

/* "held by ann@web1 since 09:12 UTC (3m), backup.sh: nightly, https://...": who
 * was seen, or why it is not to be had all the same. `ago`: ms since then. */
const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size);
/* The same, for a live line: "ann@web1 backup.sh, 3m, nightly". */
const char *describe_brief(const struct sight *s, int64_t ago, char *buf,
			   size_t size);
/* "web1 (pid 12, user joe, backup.sh)" */
const char *describe_name(const struct sight *s, char *buf, size_t size);
/* Who asks us to stop. */
const char *describe_asker(const struct sight *s, char *buf, size_t size);

/* "waiting up to 30m", or "still waiting after 5m of 30m" when took_ms is more
 * than 0; limit INT64_MAX: for ever. */
const char *describe_begun(int64_t took_ms, int64_t limit_ms, char buf[80]);
/* "waiting 2s of 30m" */
const char *describe_waiting(int64_t took_ms, int64_t limit_ms, char buf[80]);

/* "; see: redlock inspect KEY", or "" if that would not be what to type. `key`
 * is safe for a terminal. */
const char *describe_next(const char *key, char buf[160]);

/* The same, or that the lock is ours already. */
const char *describe_remedy(const struct drive *d, char buf[160]);

/* Members for JSON: holder, token, since, ttl_left_ms, and the place in the
 * line (-1: none). The caller's to free; NULL: no memory. */
char *describe_members(const struct drive *d, int place);

#endif
