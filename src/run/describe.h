/* SPDX-License-Identifier: MIT */
/*
 * A holder, and a wait, in words.
 */
#ifndef RUN_DESCRIBE_H
#define RUN_DESCRIBE_H

#include "client/client.h"

/* "held by ann@web1 since 09:12 UTC (3m), backup.sh: nightly, https://...": who
 * was seen, or why a free lock is not granted. `ago`: ms since then. All of
 * these return buf. */
const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size);
/* The same, for a live line: "ann@web1 backup.sh, 3m, nightly". */
const char *describe_brief(const struct sight *s, int64_t ago, char *buf,
			   size_t size);
/* "web1 (pid 12, user joe, backup.sh)" */
const char *describe_name(const struct sight *s, char *buf, size_t size);
/* The client that asks us to stop. */
const char *describe_asker(const struct sight *s, char *buf, size_t size);

/* "waiting up to 30m", or "still waiting after 5m of 30m" if took_ms is above
 * 0. limit_ms INT64_MAX: no limit. */
const char *describe_begun(int64_t took_ms, int64_t limit_ms, char buf[80]);
/* "waiting 2s of 30m" */
const char *describe_waiting(int64_t took_ms, int64_t limit_ms, char buf[80]);

/* "; see: redlock inspect KEY", or "" if that command would not work as shown.
 * `key` is safe for a terminal. */
const char *describe_next(const char *key, char buf[160]);

/* Whether our own environment has the holder's token: we would wait for
 * ourselves. */
bool describe_is_own(const struct client *d);
/* Whether the holder is a run around this one that did not pass its
 * REDLOCK_HELD on: sudo, su and env -i clear the environment. It ends only when
 * we end. */
bool describe_is_around(const struct client *d);

/* Members for JSON: holder, token, since, ttl_left_ms, and the place in line
 * (0: none). The caller frees it; NULL: out of memory. */
char *describe_members(const struct client *d, int place);

#endif
