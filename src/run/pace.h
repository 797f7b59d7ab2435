/* SPDX-License-Identifier: MIT */
/*
 * When a wait is worth a line. The run form, `lock` and `wait` keep the same
 * pace. On a terminal: one live line. Elsewhere: a line when the wait begins,
 * one when the holder or our place changes (at most one in 30 s), one when the
 * server falls silent or answers again, and one after 5 minutes without any.
 */
#ifndef RUN_PACE_H
#define RUN_PACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

#define PACE_MS 100          /* a shorter wait is not mentioned */
#define PACE_SILENCE_MS 1000 /* nor is a server that is back at once */
#define PACE_CHANGE_MS 30000 /* a long line would fill the log */
/* some CI systems kill a job that is silent for 10 minutes */
#define PACE_ALIVE_MS 300000
#define PACE_DRAW_MS 1000

/* What a line is about. */
enum told { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct pace {
	struct instant began;
	struct instant silent; /* since when the server is silent; or NEVER */
	struct instant drawn;  /* when the live line was last drawn */
	/* the latest line, and what it said */
	enum told told;
	struct instant said;
	int said_place;
	char said_token[140];
};

void pace_begin(struct pace *p, struct instant at);

/* Which line is due now if there is no terminal. `token`: the holder's or,
 * while the server is silent, the reason; `place`: ours in line, -1 without
 * one; `known`: there is a holder to report. */
enum told pace_due(const struct pace *p, bool known, const char *token,
		   int place);
/* That line was printed. */
void pace_told(struct pace *p, enum told what, const char *token, int place);
/* How such a line begins: "waiting up to 30m", "the server answers again; still
 * waiting after 1m". limit_ms: of -w. Returns buf. */
const char *pace_opening(const struct pace *p, enum told what, int64_t limit_ms,
			 char *buf, size_t size);

/* Whether to draw the live line now. pace_redraw(): it is due at once. */
bool pace_draws(const struct pace *p);
void pace_redraw(struct pace *p);

/* When either is due without an event; `live`: on a terminal. */
struct instant pace_next(const struct pace *p, bool live, const char *token,
			 int place);

#endif
