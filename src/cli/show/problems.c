/* SPDX-License-Identifier: MIT */
/* What looks wrong with a lock. */
#include "cli/show/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

struct telling {
	void (*tell)(void *arg, const char *text);
	void *arg;
	int nodes;
};

__attribute__((format(printf, 2, 3))) static void found(const struct telling *t,
							const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->tell(t->arg, text);
}

static void look_at_holder(const struct view *v, const struct view_holder *h,
			   const struct telling *t)
{
	char left[32], ttl[32];

	if (strcmp(h->type, "string") != 0)
		found(t,
		      "the key holds a %s, not a redlock lock; waiters wait "
		      "until it is gone (force-release --foreign deletes it)",
		      h->type);
	else if (h->how == HOLD_FOREIGN)
		found(t, "no holder record: the lock is another program's, or "
			 "was set by hand");
	if (h->left_ms < 0)
		found(t, "no expiry: if its owner is gone, it stays forever; "
			 "see force-release");
	else if (h->ttl_ms > 0 && h->how != HOLD_RESTS &&
		 h->left_ms > h->ttl_ms + 1000)
		found(t,
		      "%s left of a lease of %s: the server's clock was set "
		      "back, or the key was changed by hand",
		      format_duration(h->left_ms, left, sizeof(left)),
		      format_duration(h->ttl_ms, ttl, sizeof(ttl)));
	if (t->nodes > 1 && view_nodes_of(v, h) < lease_quorum(t->nodes))
		found(t,
		      "token %s is on only %d of %d servers (%d needed): a run "
		      "is starting or ending, or it died",
		      h->token, __builtin_popcount(h->nodes), t->nodes,
		      lease_quorum(t->nodes));
}

static void look_at_line(const struct view *v, const struct telling *t)
{
	int silent = 0;

	for (int i = 0; i < v->waiters; i++)
		silent += v->waiter[i].silent_ms > SILENT_MS;
	if (silent > 0)
		found(t, "%d waiter%s silent for over 10s; skipped after 15s",
		      silent, silent == 1 ? "" : "s");
	if (view_state(v, t->nodes) == VIEW_FREE && v->in_line > silent)
		found(t, "free, but somebody waits: a grant was lost; the "
			 "first in line asks again within 2s");
}

int listed_holders(const struct view *v)
{
	return v->holders < LISTED_MOST ? v->holders : LISTED_MOST;
}

int listed_waiters(const struct view *v)
{
	return v->waiters < LISTED_MOST ? v->waiters : LISTED_MOST;
}

void find_problems(const struct query *l, const struct snapshot *s,
		   void (*tell)(void *arg, const char *text), void *arg)
{
	const struct telling t = {tell, arg, l->servers.n};
	const struct view *v = &s->view;

	for (int i = 0; i < listed_holders(v); i++)
		look_at_holder(v, &v->holder[i], &t);
	look_at_line(v, &t);
	for (int i = 0; i < t.nodes; i++)
		if (s->why[i].kind != FAIL_NONE)
			found(&t, "%s", s->why[i].text);
}
