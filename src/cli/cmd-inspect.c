/* SPDX-License-Identifier: MIT */
/* Who holds a lock, who waits for it, and what looks wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/look.h"
#include "cli/render.h"

#define WAITERS_MAX 200
#define SILENT_MS 10000 /* two heartbeats */

/* One key, and what is known of it. */
struct inspection {
	const struct look *look;
	const char *key;
	char shown[256];
	struct sighting seen;
	enum view_state state;
	bool last; /* of several keys */
};

static int nodes_of(const struct inspection *in)
{
	return in->look->servers.n;
}

static const char *name_of_node(const struct inspection *in, int node)
{
	return in->look->servers.endpoint[node].name;
}

static bool is_on(const struct view_holder *h, int node)
{
	return h->nodes & 1U << node;
}

static const char *how_name(enum hold how)
{
	static const char *const names[] = {[HOLD_ALONE] = "holder",
					    [HOLD_READS] = "reader",
					    [HOLD_INSIDE] = "inside",
					    [HOLD_RESTS] = "resting",
					    [HOLD_FOREIGN] = "foreign"};

	return names[how];
}

static const char *state_name(enum view_state state)
{
	static const char *const names[] = {[VIEW_FREE] = "free",
					    [VIEW_HELD] = "held",
					    [VIEW_MINORITY] = "minority"};

	return names[state];
}

/* ---- what looks wrong ---- */

typedef void tell_fn(void *arg, const char *text);

struct telling {
	tell_fn *tell;
	void *arg;
};

__attribute__((format(printf, 2, 3))) static void wrong(const struct telling *t,
							const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->tell(t->arg, text);
}

static void look_at_holder(const struct inspection *in,
			   const struct view_holder *h, const struct telling *t)
{
	char left[32], ttl[32];

	if (strcmp(h->type, "string") != 0)
		wrong(t,
		      "the key holds a %s, which is no lock of ours; waiters "
		      "wait until it is gone (force-release --foreign deletes "
		      "it)",
		      h->type);
	else if (h->how == HOLD_FOREIGN)
		wrong(t, "no holder record: the lock is another program's, or "
			 "was set by hand");
	if (h->left_ms < 0)
		wrong(t, "no expiry: if its owner is gone, it stays for ever; "
			 "see force-release");
	else if (h->ttl_ms > 0 && h->how != HOLD_RESTS &&
		 h->left_ms > h->ttl_ms + 1000)
		wrong(t,
		      "%s left of a lease of %s: the server's clock was set "
		      "back, or the key was changed by hand",
		      format_duration(h->left_ms, left, sizeof(left)),
		      format_duration(h->ttl_ms, ttl, sizeof(ttl)));
	if (nodes_of(in) > 1 &&
	    __builtin_popcount(h->nodes) < lease_quorum(nodes_of(in)))
		wrong(t,
		      "token %s has only %d of %d servers, and %d are needed: "
		      "a run that is about to start or end, or one that died",
		      h->token, __builtin_popcount(h->nodes), nodes_of(in),
		      lease_quorum(nodes_of(in)));
}

static void look_at_line(const struct inspection *in, const struct telling *t)
{
	const struct view *v = &in->seen.view;
	int silent = 0;

	for (int i = 0; i < v->waiters; i++)
		silent += v->waiter[i].silent_ms > SILENT_MS;
	if (silent > 0)
		wrong(t,
		      "%d in line gave no sign of life for over 10s; they "
		      "are skipped after 15s",
		      silent);
	if (in->state == VIEW_FREE && v->in_line > silent)
		wrong(t, "it is free, and somebody waits: a grant that was "
			 "lost; the first in line asks again within 2s");
}

static void find_wrong(const struct inspection *in, const struct telling *t)
{
	const struct view *v = &in->seen.view;

	for (int i = 0; i < v->holders; i++)
		look_at_holder(in, &v->holder[i], t);
	look_at_line(in, t);
	if (v->bad_counter)
		wrong(t, "the fence counter is no number: nobody can take the "
			 "lock; delete the key redlock:{...}:fence:...");
	for (int i = 0; i < nodes_of(in); i++)
		if (in->seen.why[i].kind != FAIL_NONE)
			wrong(t, "%s", in->seen.why[i].text);
}

/* ---- for people ---- */

static void line(const char *name, const char *value)
{
	if (value[0] != '\0')
		(void)printf("  %-9s %s\n", name, value);
}

static void print_since(const struct inspection *in,
			const struct view_holder *h)
{
	char date[40], age[32];
	int64_t ms = in->seen.view.now_ms - h->since_ms;

	if (h->since_ms > 0)
		(void)printf(
			"  %-9s %s (%s ago)\n", "since",
			wall_date(h->since_ms / 1000, date, sizeof(date)),
			format_duration(ms > 0 ? ms : 0, age, sizeof(age)));
}

static void print_lease(const struct view_holder *h)
{
	char left[32] = "", ttl[32], of[48] = "", renewed[64] = "";

	if (h->ttl_ms > 0 && h->how != HOLD_RESTS)
		(void)snprintf(of, sizeof(of), " of %s",
			       format_duration(h->ttl_ms, ttl, sizeof(ttl)));
	if (h->renewed >= 0)
		(void)snprintf(renewed, sizeof(renewed),
			       ", renewed %" PRId64 " time%s", h->renewed,
			       h->renewed == 1 ? "" : "s");
	if (h->left_ms >= 0)
		(void)format_duration(h->left_ms, left, sizeof(left));
	(void)printf("  %-9s %s%s%s\n", "lease",
		     h->left_ms < 0 ? "without expiry" : left,
		     h->left_ms < 0 ? "" : " left", h->left_ms < 0 ? "" : of);
	if (renewed[0])
		(void)printf("  %-9s %s\n", "renewed", renewed + 10);
}

static void print_who(const struct view_holder *h)
{
	const char *host = h->about[ABOUT_HOST];

	if (h->how == HOLD_FOREIGN)
		(void)printf("another program");
	else if (host[0] == '\0')
		(void)printf("a holder that does not say who it is");
	else
		(void)printf("%s (pid %s, user %s)", host, h->about[ABOUT_PID],
			     h->about[ABOUT_USER]);
}

static void print_holder(const struct inspection *in,
			 const struct view_holder *h)
{
	char slot[32];

	(void)snprintf(slot, sizeof(slot), "%d", h->slot);
	line("command", h->about[ABOUT_COMMAND]);
	line("reason", h->about[ABOUT_REASON]);
	line("ci", h->about[ABOUT_CI]);
	if (h->slot > 0)
		line("slot", slot);
	print_since(in, h);
	print_lease(h);
	line("token", h->token);
}

static void print_first(const struct inspection *in)
{
	const struct view *v = &in->seen.view;
	const struct view_holder *h = v->holder;
	static const char *const by[] = {[HOLD_ALONE] = "held by ",
					 [HOLD_READS] = "read by ",
					 [HOLD_INSIDE] = "held by ",
					 [HOLD_RESTS] = "kept (--min-hold) "
							"for ",
					 [HOLD_FOREIGN] = "held by "};

	(void)printf("%s: ", in->shown);
	if (in->state == VIEW_FREE) {
		(void)printf("free\n");
		return;
	}
	if (in->state == VIEW_MINORITY)
		(void)printf("held by nobody: on %d of %d servers, ",
			     __builtin_popcount(h->nodes), nodes_of(in));
	(void)printf("%s", by[h->how]);
	print_who(h);
	(void)printf("\n");
	print_holder(in, h);
}

/* Readers, slots, those inside; and on several servers whoever has a few. */
static void print_others(const struct inspection *in)
{
	const struct view *v = &in->seen.view;

	for (int i = 1; i < v->holders; i++) {
		const struct view_holder *h = &v->holder[i];

		(void)printf("  and %s ", h->how == HOLD_READS    ? "reader"
					  : h->how == HOLD_INSIDE ? "inside it"
					  : h->slot > 0           ? "slot"
								  : "holder");
		if (h->slot > 0)
			(void)printf("%d, ", h->slot);
		print_who(h);
		(void)printf("\n");
		print_holder(in, h);
	}
}

static void print_fence(const struct inspection *in)
{
	const struct view *v = &in->seen.view;
	char left[32];

	if (v->counter > 0)
		(void)printf("  %-9s %" PRId64 "\n",
			     in->state == VIEW_FREE ? "counter" : "fence",
			     v->counter);
	if (v->once_ms > 0)
		(void)printf("  %-9s done (--once-per); not again for %s\n",
			     "once",
			     format_duration(v->once_ms, left, sizeof(left)));
	if (look_is_host_only(in->look))
		line("scope", "host");
}

/* What one of several servers says. */
static void say_node(const struct inspection *in, int node, char *buf,
		     size_t size)
{
	const struct view *v = &in->seen.view;
	char left[32];

	(void)snprintf(buf, size, "%s",
		       v->answers & 1U << node ? "free" : "no answer");
	for (int i = v->holders - 1; i >= 0; i--) {
		const struct view_holder *h = &v->holder[i];
		int64_t ms = h->left_at[node];

		if (is_on(h, node))
			(void)snprintf(buf, size, "%s, %s%s",
				       i == 0 ? "held" : h->token,
				       ms < 0 ? "without expiry"
					      : format_duration(ms, left,
								sizeof(left)),
				       ms < 0 ? "" : " left");
	}
}

static void print_nodes(const struct inspection *in)
{
	struct table t;
	char text[240];

	if (nodes_of(in) == 1)
		return;
	(void)printf("  servers\n");
	table_begin(&t, 2);
	for (int i = 0; i < nodes_of(in); i++) {
		say_node(in, i, text, sizeof(text));
		table_cell(&t, "%s", name_of_node(in, i));
		table_cell(&t, "%s", text);
	}
	(void)table_print(&t, "    ", stdout);
}

static void print_queue(const struct inspection *in)
{
	const struct view *v = &in->seen.view;
	struct table t;

	if (v->waiters == 0)
		return;
	(void)printf("  waiting   %" PRId64 "\n", v->in_line);
	table_begin(&t, 6);
	for (int i = 0; i < v->waiters; i++) {
		const struct view_waiter *w = &v->waiter[i];
		int64_t ms = v->now_ms - w->ticket / 1000;
		char age[32];

		table_cell(&t, "%d", i + 1);
		table_cell(&t, "%s",
			   w->about[ABOUT_HOST][0] ? w->about[ABOUT_HOST]
						   : "?");
		table_cell(&t, "pid %s", w->about[ABOUT_PID]);
		table_cell(&t, "user %s", w->about[ABOUT_USER]);
		table_cell(&t, "for %s",
			   format_duration(ms > 0 ? ms : 0, age, sizeof(age)));
		table_cell(&t, "%s%s%s%s", w->about[ABOUT_COMMAND],
			   w->reads ? " (reads)" : "",
			   w->slots > 1 ? " (a slot)" : "",
			   w->silent_ms > SILENT_MS ? " (silent)" : "");
	}
	(void)table_print(&t, "    ", stdout);
}

struct printed {
	bool begun;
};

static void print_wrong(void *arg, const char *text)
{
	struct printed *p = arg;

	if (!p->begun)
		(void)printf("  looks wrong\n");
	p->begun = true;
	(void)printf("    - %s\n", text);
}

static void print_all(const struct inspection *in)
{
	struct printed p = {false};
	const struct telling t = {print_wrong, &p};

	print_first(in);
	print_others(in);
	print_fence(in);
	print_nodes(in);
	print_queue(in);
	find_wrong(in, &t);
	if (!in->last)
		(void)printf("\n");
}

/* ---- for programs ---- */

static void json_left(struct json *j, const char *name, int64_t ms)
{
	if (ms < 0)
		json_null(j, name);
	else
		json_number(j, name, ms);
}

static void json_holder(struct json *j, const struct view_holder *h)
{
	json_text(j, "role", how_name(h->how));
	json_text(j, "token", h->token);
	json_time(j, "since", h->since_ms);
	json_left(j, "ttl_left_ms", h->left_ms);
	if (h->ttl_ms > 0)
		json_number(j, "ttl_ms", h->ttl_ms);
	if (h->renewed >= 0)
		json_number(j, "renewals", h->renewed);
	json_number(j, "slot", h->slot);
	if (strcmp(h->type, "string") != 0)
		json_text(j, "type", h->type);
	json_about(j, "holder", h->about);
}

static void json_waiters(struct json *j, const struct view *v)
{
	json_number(j, "in_line", v->in_line);
	json_list(j, "waiters");
	for (int i = 0; i < v->waiters; i++) {
		const struct view_waiter *w = &v->waiter[i];

		json_item(j);
		json_number(j, "place", i + 1);
		json_time(j, "since", w->ticket / 1000);
		json_about_flat(j, w->about);
		json_bool(j, "shared", w->reads);
		json_number(j, "slots", w->slots);
		json_number(j, "silent_ms", w->silent_ms);
		json_close(j);
	}
	json_end(j);
}

static void json_nodes(struct json *j, const struct inspection *in)
{
	const struct view *v = &in->seen.view;

	json_list(j, "nodes");
	for (int i = 0; i < nodes_of(in); i++) {
		const struct view_holder *h = NULL;

		for (int k = 0; !h && k < v->holders; k++)
			if (is_on(&v->holder[k], i))
				h = &v->holder[k];
		json_item(j);
		json_text(j, "name", name_of_node(in, i));
		json_text(j, "state",
			  !(v->answers & 1U << i) ? "down"
			  : h                     ? "held"
						  : "free");
		if (h) {
			json_text(j, "token", h->token);
			json_left(j, "ttl_left_ms", h->left_at[i]);
		}
		if (in->seen.why[i].kind != FAIL_NONE)
			json_text(j, "error", in->seen.why[i].text);
		json_close(j);
	}
	json_end(j);
}

static void json_wrong(void *arg, const char *text)
{
	json_word(arg, text);
}

static void json_all(const struct inspection *in)
{
	const struct view *v = &in->seen.view;
	struct json j = {.f = stdout};
	const struct telling t = {json_wrong, &j};

	json_text(&j, "schema", "redlock.inspect/1");
	json_bytes(&j, "key", in->key, strlen(in->key));
	json_text(&j, "state", state_name(in->state));
	json_text(&j, "scope", look_is_host_only(in->look) ? "host" : "shared");
	json_number(&j, "fence", v->counter);
	if (v->holders > 0)
		json_holder(&j, &v->holder[0]);
	json_list(&j, "others");
	for (int i = 1; i < v->holders; i++) {
		json_item(&j);
		json_holder(&j, &v->holder[i]);
		json_close(&j);
	}
	json_end(&j);
	json_waiters(&j, v);
	json_nodes(&j, in);
	json_list(&j, "problems");
	find_wrong(in, &t);
	json_end(&j);
	json_close(&j);
	(void)putchar('\n');
}

/* ---- all ---- */

static int inspect_one(struct look *look, const char *key, bool json, bool last)
{
	static struct inspection in;
	struct fail why;
	int status;

	in = (struct inspection){.look = look, .key = key, .last = last};
	(void)format_bytes(key, strlen(key), in.shown, sizeof(in.shown));
	log_key(in.shown, key, strlen(key));
	if (look_at(look, key, strlen(key), WAITERS_MAX, &in.seen, &why) < 0) {
		log_error("failed", "%s", why.text);
		look_away(&in.seen);
		return status_of_kind(why.kind);
	}
	in.state = view_state(&in.seen.view, look->servers.n);
	if (json)
		json_all(&in);
	else
		print_all(&in);
	status = in.state == VIEW_FREE ? STATUS_FREE : STATUS_OK;
	look_away(&in.seen);
	return status;
}

/* Of several keys the worst. */
static int inspect(const struct opts *o)
{
	static struct look look;
	struct fail why;
	int status = STATUS_OK;

	if (look_open(&look, o, &why) < 0) {
		log_error("failed", "%s", why.text);
		status = status_of_kind(why.kind);
	} else {
		for (int i = 0; i < o->keys; i++) {
			int its = inspect_one(&look, o->key[i], o->json,
					      i + 1 == o->keys);

			status = its > status ? its : status;
		}
	}
	look_close(&look);
	return render_end(status);
}

const struct command cmd_inspect = {
	.name = "inspect",
	.usage = "[OPTIONS] KEY...",
	.summary = "Shows who holds a lock, who waits, and what looks wrong",
	.by = BY_INSPECT,
	.operands = OPERANDS_KEYS,
	.run = inspect,
};
