/* SPDX-License-Identifier: MIT */
/*
 * What redlock says of a holder and of a wait, and when.
 */
#ifndef RUN_DESCRIBE_H
#define RUN_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/locks.h"

/* ---- describe.c ----
 *
 * A holder, and a wait, in words.
 */

/* "held by ann@web1 since 09:12 UTC (3m), backup.sh: nightly, https://...": who
 * was seen, or why a free lock is not granted. `ago`: ms since then. All of
 * these return buf. */
const char *describe_holder(const struct sight *s, int64_t ago, char *buf,
			    size_t size);
/* The same, for a live line: "held 3m by ann@web1, backup.sh: nightly". */
const char *describe_brief(const struct sight *s, int64_t ago, char *buf,
			   size_t size);
/* "web1 (pid 12, user joe, backup.sh)" */
const char *describe_name(const struct sight *s, char *buf, size_t size);
/* The client that asks us to stop. */
const char *describe_asker(const struct sight *s, char *buf, size_t size);

/* "waiting 2s of 30m", or "trying 2s of 5s" for a server that has never
 * answered. limit_ms INT64_MAX: no limit. */
const char *describe_waiting(bool reached, int64_t took_ms, int64_t limit_ms,
			     char buf[80]);

/* "BEFORE redlock VERB KEY AFTER" to be pasted into a shell, or "" if that
 * command would not work as shown. `key`: itself, not as it is shown. */
#define COMMAND_MAX 200
const char *describe_command(const char *before, const char *verb,
			     const char *key, const char *after,
			     char buf[COMMAND_MAX]);
/* The same: "; see: redlock inspect KEY". */
const char *describe_next(const char *key, char buf[COMMAND_MAX]);

/* " (2nd in line)", with " (" before and ")" after it; "" without a place. */
const char *describe_place(const char *before, int place, const char *after,
			   char buf[40]);
/* Somebody was seen who has the lock. */
bool describe_is_held(const struct sight *s);

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

/* ---- pace.c ----
 *
 * When a wait is worth a line. The run form, `lock` and `wait` keep the same
 * pace. On a terminal: one live line. Elsewhere: a line when the wait begins,
 * one when the holder or our place changes (at most one in 30 s), one when the
 * server falls silent or answers again, and one after 5 minutes without any.
 */

#define PACE_MS 100          /* a shorter wait is not mentioned */
#define PACE_SILENCE_MS 1000 /* nor is a server that is back at once */
#define PACE_CHANGE_MS 30000 /* a long line would fill the log */
/* some CI systems kill a job that is silent for 10 minutes */
#define PACE_ALIVE_MS 300000
#define PACE_DRAW_MS 1000

/* What a line is about. */
enum pace_says { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct pace {
	struct instant began;
	bool reached; /* the server has answered before; set by the caller */
	struct instant silent; /* since when the server is silent; or NEVER */
	struct instant drawn;  /* when the live line was last drawn */
	/* the latest line, and what it said */
	enum pace_says told;
	struct instant said;
	int said_place;
	char said_token[140];
};

void pace_begin(struct pace *p, struct instant at);

/* Which line is due now if there is no terminal. `token`: the holder's or,
 * while the server is silent, the reason; `place`: ours in line, -1 without
 * one; `known`: there is a holder to report. */
enum pace_says pace_due(const struct pace *p, bool known, const char *token,
			int place);
/* That line was printed. */
void pace_told(struct pace *p, enum pace_says what, const char *token,
	       int place);
/* How such a line begins: "waiting up to 30m", "trying for up to 5s", "the
 * server answers again; still waiting after 1m". limit_ms: of the wait, or of
 * trying to reach the server. Returns buf. */
const char *pace_opening(const struct pace *p, enum pace_says what,
			 int64_t limit_ms, char *buf, size_t size);

/* Whether to draw the live line now. pace_redraw(): it is due at once. */
bool pace_draws(const struct pace *p);
void pace_redraw(struct pace *p);

/* When either is due without an event; `live`: on a terminal. */
struct instant pace_next(const struct pace *p, bool live, const char *token,
			 int place);

/* ---- notify.c ----
 *
 * The status of a systemd service: sends STATUS= to NOTIFY_SOCKET. READY= and
 * all else is left to the command.
 */

/* The value of NOTIFY_SOCKET, borrowed. With NULL, or an address that is not on
 * this machine, nothing is sent. */
void notify_use(const char *path);

/* These never wait, and ignore errors. The same place in line behind the same
 * holder is sent once. */
void notify_waiting(const struct locks *l);
void notify_holding(const struct locks *l);

#endif
