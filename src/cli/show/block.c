/* SPDX-License-Identifier: MIT */
/* Describes one lock in words, and what looks wrong. */
#include "cli/show/block.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/render.h"

struct telling {
	void (*tell)(void *arg, const char *text);
	void *arg;
	int nodes;
};

__attribute__((format(printf, 2, 3))) static void
problem(const struct telling *t, const char *fmt, ...)
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
		problem(t,
			"the key holds a %s, not a redlock lock; %s "
			"(force-release --foreign deletes it)",
			h->type,
			h->left_ms < 0 ? "a run ends with 78"
				       : "waiters wait until it is gone");
	else if (h->how == HOLD_FOREIGN)
		problem(t,
			"no holder record: the lock is another program's, or "
			"was set by hand");
	if (h->left_ms < 0)
		problem(t, "no expiry: if its owner is gone, it stays forever; "
			   "see force-release");
	else if (h->ttl_ms > 0 && h->how != HOLD_RESTS &&
		 h->left_ms > h->ttl_ms + 1000)
		problem(t,
			"%s left of a lease of %s: the server's clock was set "
			"back, or the key was changed by hand",
			format_duration(h->left_ms, left, sizeof(left)),
			format_duration(h->ttl_ms, ttl, sizeof(ttl)));
	if (t->nodes > 1 && !view_quorum(v, h, t->nodes))
		problem(t,
			"token %s is on only %d of %d servers (%d needed): a "
			"run is starting or ending, or it died",
			h->token, __builtin_popcount(h->nodes), t->nodes,
			lease_quorum(t->nodes));
}

static void look_at_line(const struct view *v, const struct telling *t)
{
	char left[32];
	int silent = 0;

	for (int i = 0; i < v->waiters; i++)
		silent += v->waiter[i].silent_ms > SILENT_MS;
	if (silent > 0)
		problem(t, "%d waiter%s silent for over 10s; skipped after 15s",
			silent, silent == 1 ? "" : "s");
	if (v->shut_ms > 0)
		problem(t,
			"closed: nobody new gets it for %s, because data were "
			"lost or a server is new; force-release ends that",
			format_duration(v->shut_ms, left, sizeof(left)));
	else if (view_state(v, t->nodes) == VIEW_FREE && v->in_line > silent)
		problem(t, "free, but somebody waits: a grant was lost; the "
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

void find_problems(const struct query *query, const struct snapshot *s,
		   void (*tell)(void *arg, const char *text), void *arg)
{
	const struct telling t = {tell, arg, query->servers.n};
	const struct view *v = &s->view;

	for (int i = 0; i < listed_holders(v); i++)
		look_at_holder(v, &v->holder[i], &t);
	look_at_line(v, &t);
	if (v->damaged & DAMAGED_STATE)
		problem(&t,
			"its state is of another type, and tells nothing of "
			"holders; the next run replaces it");
	if (query_replica(query))
		problem(&t, "%s", query_replica(query)->text);
	for (int i = 0; i < t.nodes; i++)
		if (s->why[i].kind != FAIL_NONE)
			problem(&t, "%s", s->why[i].text);
}

/* What is printed, and where. */
struct block {
	const struct query *query;
	const struct snapshot *seen;
	const struct view *v;
	enum view_state state;
	FILE *out;
	bool told_problems;
};

static int nodes_of(const struct block *b)
{
	return b->query->servers.n;
}

/* Colors are for standard output: elsewhere each line becomes a message. */
static const char *tone(const struct block *b, enum tone tone)
{
	return b->out == stdout ? paint(tone) : "";
}

static void print_state(const struct block *b, enum tone its, const char *state)
{
	(void)fprintf(b->out, "%s%s%s", tone(b, its), state,
		      tone(b, TONE_PLAIN));
}

/* Prints a line "name value", or nothing without a value. */
__attribute__((format(printf, 3, 4))) static void
block_line(const struct block *b, const char *name, const char *fmt, ...)
{
	char value[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (value[0] != '\0')
		(void)fprintf(b->out, "  %-9s %s\n", name, value);
}

/* ---- holders ---- */

/* "web1 (pid 12, user joe)" */
static const char *block_who(const struct view_holder *h, char *buf,
			     size_t size)
{
	if (h->how != HOLD_FOREIGN)
		return about_who(h->about, buf, size);
	(void)snprintf(buf, size, "another program");
	return buf;
}

/* When it was granted, by the server's clock. */
static int64_t age_of(const struct block *b, int64_t since_ms)
{
	int64_t ms = b->v->now_ms - since_ms;

	return ms > 0 ? ms : 0;
}

static void print_lease(const struct block *b, const struct view_holder *h)
{
	char left[32], ttl[32], of[48] = "";

	if (h->ttl_ms > 0 && h->how != HOLD_RESTS)
		(void)snprintf(of, sizeof(of), " of %s",
			       format_duration(h->ttl_ms, ttl, sizeof(ttl)));
	if (h->left_ms < 0)
		block_line(b, "lease", "without expiry");
	else
		block_line(b, "lease", "%s left%s",
			   format_duration(h->left_ms, left, sizeof(left)), of);
}

static void print_holder(const struct block *b, const struct view_holder *h)
{
	char date[48], age[32];

	block_line(b, "command", "%s", h->about[ABOUT_COMMAND]);
	block_line(b, "reason", "%s", h->about[ABOUT_REASON]);
	block_line(b, "ci job", "%s", h->about[ABOUT_CI]);
	if (h->slot_name[0] != '\0')
		block_line(b, "slot", "%d (%s)", h->slot, h->slot_name);
	else if (view_has_slots(b->v))
		block_line(b, "slot", "%d", h->slot);
	if (h->since_ms > 0)
		block_line(b, "since", "%s (%s ago)",
			   wall_zoned(h->since_ms / 1000, date, sizeof(date)),
			   format_duration(age_of(b, h->since_ms), age,
					   sizeof(age)));
	print_lease(b, h);
	block_line(b, "token", "%s", h->token);
	if (h->fence > 0)
		block_line(b, "fence", "%" PRId64, h->fence);
}

static void print_first(const struct block *b, const char *shown)
{
	static const char *const held[] = {[HOLD_ALONE] = "held",
					   [HOLD_READS] = "read",
					   [HOLD_INSIDE] = "held",
					   [HOLD_RESTS] = "kept (--min-hold)",
					   [HOLD_FOREIGN] = "held"};
	const struct view_holder *h = b->v->holder;
	char who[300];

	(void)fprintf(b->out, "%s: ", shown);
	if (b->state == VIEW_FREE) {
		print_state(b, TONE_GOOD, "free");
		(void)fprintf(b->out, "%s\n",
			      query_replica(b->query) ? " (on a replica)" : "");
		return;
	}
	if (b->state == VIEW_MINORITY) {
		print_state(b, TONE_BAD, "not held");
		(void)fprintf(b->out, ": on only %d of %d servers, %s",
			      __builtin_popcount(h->nodes), nodes_of(b),
			      held[h->how]);
	} else {
		print_state(b, TONE_NOTE, held[h->how]);
	}
	(void)fprintf(b->out, " %s %s\n", h->how == HOLD_RESTS ? "for" : "by",
		      block_who(h, who, sizeof(who)));
	print_holder(b, h);
}

/* Other holders: readers, slots, nested runs; on several servers, clients that
 * have only a few. */
static void print_others(const struct block *b)
{
	char who[300];

	int n = listed_holders(b->v);

	for (int i = 1; i < n; i++) {
		const struct view_holder *h = &b->v->holder[i];

		(void)fprintf(b->out, "  and %s%s\n",
			      h->how == HOLD_READS    ? "reader "
			      : h->how == HOLD_INSIDE ? "within it: "
			      : h->how == HOLD_RESTS  ? "kept for "
						      : "",
			      block_who(h, who, sizeof(who)));
		print_holder(b, h);
	}
	if (b->v->in_all > n)
		(void)fprintf(b->out, "  and %" PRId64 " more\n",
			      b->v->in_all - n);
}

/* ---- the rest ---- */

#define RAN_SIZE (3 * ABOUT_MAX + 64)

static const char *ran_by(const struct view_mark *mark, char *buf, size_t size)
{
	char failure[RECORD_FAILURE_SIZE];
	const char *command = mark->about[ABOUT_COMMAND];
	char date[48], who[2 * ABOUT_MAX + 1] = "an anonymous holder";

	if (mark->about[ABOUT_HOST][0])
		(void)snprintf(who, sizeof(who), "%s@%s",
			       mark->about[ABOUT_USER],
			       mark->about[ABOUT_HOST]);
	(void)snprintf(buf, size, "at %s%s by %s%s%s",
		       wall_zoned(mark->since_ms / 1000, date, sizeof(date)),
		       record_failure(&mark->end, failure), who,
		       command[0] ? ", " : "", command);
	return buf;
}

/* What runs have left behind: who ran what, when, and how it ended. */
static void print_marks(const struct block *b)
{
	const struct view_mark *once = &b->v->once;
	const char *host = once->about[ABOUT_HOST];
	char failure[RECORD_FAILURE_SIZE], date[48], left[32];
	char label[4 * LABEL_MAX + 1], ran[RAN_SIZE];

	if (b->v->answers && once->number > 0)
		block_line(
			b, "once",
			"ran on %s at %s%s; not again for %s; a run without "
			"--once-per runs",
			host[0] ? host : "an anonymous host",
			wall_zoned(once->since_ms / 1000, date, sizeof(date)),
			record_failure(&once->end, failure),
			format_duration(once->number, left, sizeof(left)));
	if (b->v->answers && b->v->label.number >= 0)
		block_line(b, "label", "%s %s",
			   format_bytes(b->v->label_text,
					strlen(b->v->label_text), label,
					sizeof(label)),
			   ran_by(&b->v->label, ran, sizeof(ran)));
	if (b->v->answers && b->v->revision.number >= 0)
		block_line(b, "revision", "%" PRId64 " %s",
			   b->v->revision.number,
			   ran_by(&b->v->revision, ran, sizeof(ran)));
}

static void print_lock(const struct block *b)
{
	if (b->v->counter > 0 &&
	    (b->state == VIEW_FREE || view_fence(b->v) < 0))
		block_line(b, "counter",
			   "%" PRId64 "; the next fence will be larger",
			   b->v->counter);
	print_marks(b);
	if (query_is_host_only(b->query))
		block_line(b, "scope", "host");
}

/* What one of several servers says. */
static const char *say_node(const struct block *b, int node, char buf[240])
{
	const struct view *v = b->v;
	char left[32];

	(void)snprintf(buf, 240, "%s",
		       v->answers & 1U << node            ? "free"
		       : query_is_replica(b->query, node) ? "a replica"
							  : "no answer");
	for (int i = v->holders - 1; i >= 0; i--) {
		const struct view_holder *h = &v->holder[i];
		int64_t ms = h->left_at[node];

		if (!(h->nodes & 1U << node))
			continue;
		(void)snprintf(buf, 240, "%s, %s%s", i == 0 ? "held" : h->token,
			       ms < 0 ? "without expiry"
				      : format_duration(ms, left, sizeof(left)),
			       ms < 0 ? "" : " left");
	}
	return buf;
}

static void print_nodes(const struct block *b)
{
	struct table t;
	char text[240];

	if (nodes_of(b) == 1)
		return;
	(void)fprintf(b->out, "  servers\n");
	table_begin(&t, 2);
	for (int i = 0; i < nodes_of(b); i++) {
		table_cell(&t, "%s", b->query->servers.endpoint[i].name);
		table_cell(&t, "%s", say_node(b, i, text));
	}
	(void)table_print(&t, "    ", b->out);
}

static void print_queue(const struct block *b)
{
	int n = listed_waiters(b->v);
	struct table t;

	if (b->v->waiters == 0)
		return;
	block_line(b, "waiting", "%" PRId64, b->v->in_line);
	table_begin(&t, 6);
	t.resort[0] = 3; /* the user */
	t.resort[1] = 2; /* the pid */
	for (int i = 0; i < n; i++) {
		const struct view_waiter *w = &b->v->waiter[i];
		const char *host = w->about[ABOUT_HOST];
		char age[32];

		table_cell(&t, "%d", i + 1);
		table_cell(&t, "%s", host[0] ? host : "?");
		table_cell(&t, "pid %s", w->about[ABOUT_PID]);
		table_cell(&t, "user %s", w->about[ABOUT_USER]);
		table_cell(&t, "for %s",
			   format_duration(age_of(b, w->since_ms), age,
					   sizeof(age)));
		table_cell(&t, "%s%s%s%s%s", w->about[ABOUT_COMMAND],
			   w->high ? " (priority)" : "",
			   w->reads ? " (reads)" : "",
			   w->slots > 1 ? " (a slot)" : "",
			   w->silent_ms > SILENT_MS ? " (silent)" : "");
	}
	(void)table_print(&t, "    ", b->out);
	if (b->v->in_line > n)
		(void)fprintf(b->out, "    and %" PRId64 " more\n",
			      b->v->in_line - n);
}

static void print_problem(void *arg, const char *text)
{
	struct block *b = arg;

	if (!b->told_problems)
		(void)fprintf(b->out, "  %sproblems%s\n", tone(b, TONE_BAD),
			      tone(b, TONE_PLAIN));
	b->told_problems = true;
	(void)fprintf(b->out, "    - %s\n", text);
}

void block_print(const struct query *query, const char *shown,
		 const struct snapshot *s, FILE *out)
{
	struct block b = {.query = query,
			  .seen = s,
			  .v = &s->view,
			  .state = view_state(&s->view, query->servers.n),
			  .out = out};

	print_first(&b, shown);
	print_others(&b);
	print_lock(&b);
	print_nodes(&b);
	print_queue(&b);
	find_problems(query, s, print_problem, &b);
}
