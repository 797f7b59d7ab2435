/* SPDX-License-Identifier: MIT */
/* Questions to many servers. */
#include "run/fanout.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "net/conn.h"
#include "net/errors.h"
#include "net/place.h"
#include "run/local.h"

#define HOPS_MAX 8
#define EXTRA_MAX 4

struct question {
	struct question *next;
	int64_t tag;
	int hops;        /* so often asked again */
	bool asking;     /* a node that has the key, but not its slot yet */
	bool quiet;      /* nobody wants the answer */
	const char *lua; /* of a script that goes by its hash; else NULL */
	size_t lua_len;
	struct instant sent;
	struct words words; /* point at what follows, or at a script */
	char bytes[];
};

struct target {
	int node;
	int index;    /* of the fanout's targets */
	bool primary; /* of a Cluster: this place, and no other */
	bool gone;    /* it is none any more */
	int *home;    /* of a Cluster that is spread: of each slot */
	struct peer peer;
	struct conn conn;
	struct question *first, *last; /* to be asked */
	struct question *sent[OWED_MAX];
	unsigned int spared;     /* so many that broke are asked again */
	struct instant deadline; /* of the next answer */
	struct fail down;        /* the connection cannot be had */
};

/* ---- targets ---- */

static struct target *add_target(struct fanout *s, int node,
				 const struct endpoint *ep)
{
	size_t n = (size_t)s->targets + 1;
	struct target **more = realloc(s->target, n * sizeof(struct target *));
	struct target *t = more ? calloc(1, sizeof(*t)) : NULL;

	if (more)
		s->target = more;
	if (!t)
		return NULL;
	t->node = node;
	t->deadline = NEVER;
	peer_init(&t->peer, ep);
	conn_init(&t->conn, &t->peer);
	t->conn.whole = true;
	t->index = s->targets;
	s->target[s->targets++] = t;
	return t;
}

int fanout_open(struct fanout *s, const struct endpoint *eps, int n,
		int64_t timeout_ms, struct fail *why)
{
	*s = (struct fanout){.ep = eps, .nodes = n, .timeout_ms = timeout_ms};
	for (int i = 0; i < n; i++)
		if (!add_target(s, i, &eps[i]))
			return fail(why, FAIL_INTERNAL, "out of memory");
	return 0;
}

static void drop_all(struct target *t)
{
	struct question *next;

	for (struct question *q = t->first; q; q = next) {
		next = q->next;
		free(q);
	}
	t->first = t->last = NULL;
	for (int i = 0; i < OWED_MAX; i++) {
		free(t->sent[i]);
		t->sent[i] = NULL;
	}
}

static void keep_target(void *target)
{
	(void)target; /* `target` has it, too */
}

void fanout_close(struct fanout *s)
{
	for (int i = 0; i < s->targets; i++) {
		drop_all(s->target[i]);
		conn_close(&s->target[i]->conn);
		free(s->target[i]->home);
		free(s->target[i]);
	}
	tdestroy(s->primaries, keep_target);
	free(s->target);
	free(s->taken);
	*s = (struct fanout){0};
}

int fanout_node(const struct fanout *s, int target)
{
	return s->target[target]->node;
}

const char *fanout_name(const struct fanout *s, int target)
{
	return s->target[target]->peer.name;
}

bool fanout_expiry(const struct fanout *s, int target, int64_t *left_s)
{
	const struct conn *c = &s->target[target]->conn;

	return c->state == CONN_OPEN && stream_expiry(&c->stream, left_s);
}

bool fanout_covers(const struct fanout *s, int target)
{
	const struct target *t = s->target[target];

	return !t->home && !t->gone;
}

/* ---- questions ---- */

static struct question *make(const struct words *w, int64_t tag)
{
	size_t size = 0;
	struct question *q;
	char *to;

	for (int i = 0; i < w->n; i++)
		size += w->len[i];
	q = calloc(1, sizeof(*q) + size);
	if (!q)
		return NULL;
	q->tag = tag;
	to = q->bytes;
	for (int i = 0; i < w->n; i++) {
		memcpy(to, w->at[i], w->len[i]);
		words_add(&q->words, to, w->len[i]);
		to += w->len[i];
	}
	return q;
}

static bool awaited(const struct target *t)
{
	return t->conn.asked != t->conn.taken;
}

static void append(struct target *t, struct question *q)
{
	if (!t->first && !awaited(t))
		t->down.kind = FAIL_NONE; /* all were told: a new attempt */
	q->next = NULL;
	if (t->last)
		t->last->next = q;
	else
		t->first = q;
	t->last = q;
}

static void prepend(struct target *t, struct question *q)
{
	q->next = t->first;
	t->first = q;
	if (!t->last)
		t->last = q;
}

static struct question *take_first(struct target *t)
{
	struct question *q = t->first;

	t->first = q->next;
	if (!t->first)
		t->last = NULL;
	return q;
}

int fanout_ask(struct fanout *s, int target, const struct words *question,
	       int64_t tag)
{
	struct question *q = make(question, tag);

	if (!q)
		return -1;
	append(s->target[target], q);
	return 0;
}

int fanout_call(struct fanout *s, int target, const struct words *request,
		const char *sha, int64_t tag)
{
	struct words w = *request;
	struct question *q;

	w.at[0] = "EVALSHA";
	w.len[0] = strlen(w.at[0]);
	w.at[1] = sha;
	w.len[1] = strlen(sha);
	q = make(&w, tag);
	if (!q)
		return -1;
	q->lua = request->at[1];
	q->lua_len = request->len[1];
	append(s->target[target], q);
	return 0;
}

/* -1: it was not asked. */
static int send_words(struct target *t, const struct words *w,
		      struct question *q)
{
	unsigned int before = t->conn.asked;

	(void)conn_ask(&t->conn, w);
	if (t->conn.asked == before)
		return -1;
	t->sent[before % OWED_MAX] = q;
	return 0;
}

/* Nobody serves the socket: start the private server. */
static bool started_local(struct target *t)
{
	struct fail why;

	if (t->peer.ep->kind != ENDPOINT_LOCAL ||
	    t->conn.state != CONN_CLOSED || t->peer.heard)
		return false;
	t->peer.heard = true; /* once is enough */
	if (local_start(t->peer.ep->path, t->peer.ep->idle_ms, &why) == 0)
		return true;
	t->conn.why = why;
	return false;
}

static bool send_one(struct target *t, struct question *q)
{
	struct question *asking;
	struct words w = {0};

	if (q->asking) {
		words_add_text(&w, "ASKING");
		asking = make(&w, 0);
		if (!asking)
			return false;
		asking->quiet = true;
		if (send_words(t, &w, asking) < 0) {
			free(asking);
			return false;
		}
		q->asking = false;
	}
	q->sent = now();
	return send_words(t, &q->words, q) == 0;
}

/* Sends as much as may be under way at a time. */
static void pump(struct fanout *s, struct target *t)
{
	while (t->first && t->down.kind == FAIL_NONE &&
	       t->conn.asked - t->conn.taken < OWED_MAX - 2) {
		struct question *q = take_first(t);

		/* what the old connection owed is told first */
		if (t->conn.state == CONN_CLOSED && awaited(t)) {
			prepend(t, q);
			return;
		}
		if (!awaited(t))
			t->deadline = after(now(), s->timeout_ms);
		if (!send_one(t, q)) {
			t->down = t->conn.why;
			prepend(t, q);
		}
	}
}

/* ---- answers ---- */

static bool is_manifold(const struct target *t)
{
	return !t->primary && (t->peer.ep->kind == ENDPOINT_CLUSTER ||
			       t->peer.ep->kind == ENDPOINT_SENTINEL);
}

static void ask_again(struct target *t, struct question *q)
{
	q->hops++;
	prepend(t, q);
}

/* Its answer was too long: that is no fault of those behind it. */
static bool is_overlong(struct target *t)
{
	if (!t->conn.too_long)
		return false;
	t->conn.too_long = false;
	t->spared = t->conn.asked - t->conn.taken;
	return true;
}

/* The connection broke: another address or node may answer, or the question
 * never left. */
static bool retried(struct target *t, struct question *q)
{
	if (t->spared > 0) {
		t->spared--;
		ask_again(t, q);
		return true;
	}
	if (q->hops >= HOPS_MAX || t->conn.misled ||
	    (!is_manifold(t) && !started_local(t)))
		return false;
	ask_again(t, q);
	return true;
}

static bool redirected(struct target *t, struct question *q, const char *text)
{
	struct place to;
	bool ask;

	if (t->peer.ep->kind != ENDPOINT_CLUSTER || t->primary ||
	    q->hops >= HOPS_MAX || !peer_redirected(&t->peer, text, &ask, &to))
		return false;
	q->asking = ask;
	peer_move(&t->peer, &to);
	conn_leave(&t->conn, text); /* what else it owes is asked again */
	ask_again(t, q);
	return true;
}

/* It goes by its hash, and the server does not know that. */
static bool sent_whole(struct target *t, struct question *q, const char *text)
{
	if (!q->lua || !error_missing(text))
		return false;
	q->words.at[0] = "EVAL";
	q->words.len[0] = 4;
	q->words.at[1] = q->lua;
	q->words.len[1] = q->lua_len;
	q->lua = NULL;
	ask_again(t, q);
	return true;
}

static void explain(const struct target *t, const char *text, struct fail *why)
{
	const char *advice, *astray = peer_astray(&t->peer, text);
	enum fail_kind kind = error_kind(text, &advice);

	if (astray) {
		kind = FAIL_UNAVAILABLE;
		advice = astray;
	}
	(void)fail(why, kind, "%s: %.200s%s", t->peer.name, text, advice);
}

/* false: it is not for the caller. */
static bool take_error(struct target *t, struct question *q,
		       const struct words *reply, struct got *out)
{
	char text[300];

	(void)format_bytes(reply->at[0], reply->len[0], text, sizeof(text));
	if (redirected(t, q, text) || sent_whole(t, q, text))
		return false;
	explain(t, text, &out->why);
	return true;
}

static void answer(struct fanout *s, const struct target *t, struct question *q,
		   struct got *out)
{
	free(s->taken);
	s->taken = q;
	out->node = t->node;
	out->tag = q->tag;
	out->sent = q->sent;
	out->came = now();
}

static void say_broken(const struct target *t, struct fail *why)
{
	if (t->conn.refused)
		explain(t, t->conn.why.text, why);
	else
		*why = t->conn.why;
}

/* One that was sent: true when it is for the caller. */
static bool take(struct fanout *s, struct target *t, struct got *out)
{
	unsigned int number;
	struct words reply;
	bool ran;
	enum conn_got got = conn_next(&t->conn, &number, &reply, &ran);
	struct question *q;
	bool done = true;

	out->reply = NULL;
	out->overlong = false;
	out->why.kind = FAIL_NONE;
	if (got == CONN_NOTHING)
		return false;
	q = t->sent[number];
	t->sent[number] = NULL;
	t->deadline = awaited(t) ? after(now(), s->timeout_ms) : NEVER;
	if (got == CONN_BROKEN) {
		out->overlong = is_overlong(t);
		done = out->overlong || !retried(t, q);
		if (done)
			say_broken(t, &out->why);
		if (out->overlong)
			out->why.kind = FAIL_CONFIG;
	} else {
		out->reply = conn_whole(&t->conn);
		if (got == CONN_ERROR)
			done = take_error(t, q, &reply, out);
		else if (!out->reply)
			(void)fail(&out->why, FAIL_INTERNAL, "out of memory");
	}
	if (!done)
		return false;
	if (q->quiet) {
		free(q);
		return false;
	}
	answer(s, t, q, out);
	return true;
}

/* What is still to be asked of a server that cannot be. */
static bool take_unsent(struct fanout *s, struct target *t, struct got *out)
{
	struct question *q;

	if (t->down.kind == FAIL_NONE)
		return false;
	if (!t->first) {
		t->down.kind = FAIL_NONE; /* may be tried again later */
		return false;
	}
	q = take_first(t);
	out->reply = NULL;
	out->overlong = false;
	out->why = t->down;
	answer(s, t, q, out);
	return true;
}

bool fanout_next(struct fanout *s, struct got *out)
{
	for (int i = 0; i < s->targets; i++) {
		struct target *t = s->target[i];
		unsigned int before;

		out->target = i;
		do {
			before = t->conn.taken;
			if (take(s, t, out))
				return true;
		} while (t->conn.taken != before);
		pump(s, t);
		if (take_unsent(s, t, out))
			return true;
	}
	return false;
}

bool fanout_awaits(const struct fanout *s)
{
	for (int i = 0; i < s->targets; i++)
		if (s->target[i]->first || awaited(s->target[i]))
			return true;
	return false;
}

static void give_up(struct fanout *s, struct target *t)
{
	char limit[32], text[200];

	(void)snprintf(text, sizeof(text), "%s within %s",
		       conn_awaits(&t->conn),
		       format_duration(s->timeout_ms, limit, sizeof(limit)));
	conn_leave(&t->conn, text);
	t->deadline = NEVER;
	if (!is_manifold(t)) {
		t->down = t->conn.why;
		return;
	}
	peer_doubt(&t->peer);
	for (int i = 0; i < OWED_MAX; i++) /* once more, elsewhere */
		if (t->sent[i])
			t->sent[i]->hops += HOPS_MAX / 2;
}

void fanout_poll(struct fanout *s, struct pollfd *extra, int n_extra,
		 struct instant limit)
{
	size_t n = (size_t)n_extra + (size_t)s->targets;
	struct pollfd *fds = calloc(n, sizeof(*fds));
	struct instant at;

	if (!fds)
		return;
	for (int i = 0; i < n_extra; i++)
		fds[i] = extra[i];
	for (int i = 0; i < s->targets; i++) {
		struct target *t = s->target[i];

		pump(s, t);
		fds[n_extra + i] =
			(struct pollfd){.fd = conn_fd(&t->conn),
					.events = conn_events(&t->conn)};
		limit = sooner(limit, t->deadline);
		/* it broke while it was asked */
		if (t->down.kind != FAIL_NONE ||
		    (t->conn.state == CONN_CLOSED && awaited(t)))
			limit = now();
	}
	if (poll(fds, (nfds_t)n, poll_ms(limit, now())) <= 0)
		for (size_t i = 0; i < n; i++)
			fds[i].revents = 0;
	for (int i = 0; i < n_extra; i++)
		extra[i].revents = fds[i].revents;
	at = now();
	for (int i = 0; i < s->targets; i++) {
		struct target *t = s->target[i];

		conn_step(&t->conn, fds[n_extra + i].revents);
		if (fds[n_extra + i].revents == 0 && !before(at, t->deadline))
			give_up(s, t);
	}
	free(fds);
}

bool fanout_get(struct fanout *s, struct got *out)
{
	while (!fanout_next(s, out)) {
		if (!fanout_awaits(s))
			return false;
		fanout_poll(s, NULL, 0, NEVER);
	}
	return true;
}

/* ---- the primaries of a Cluster ---- */

#define SLOTS 16384
#define PRIMARIES_MAX 1000 /* Redis' own advice is not to exceed it */

bool fanout_spreads(const struct fanout *s, int node)
{
	return s->ep[node].kind == ENDPOINT_CLUSTER;
}

int fanout_home(const struct fanout *s, int node, uint16_t slot)
{
	const int *home = s->target[node]->home;

	return home ? home[slot % SLOTS] : node;
}

int fanout_spread_ask(struct fanout *s, int node, int64_t tag)
{
	struct words w = {0};

	words_add_text(&w, "CLUSTER");
	words_add_text(&w, "SLOTS");
	return fanout_ask(s, node, &w, tag);
}

static int by_place(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	int order = strcmp(x->peer.place.host, y->peer.place.host);

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return order != 0 ? order
			  : strcmp(x->peer.place.port, y->peer.place.port);
}

/* NULL: it is not known. */
static struct target *find_primary(const struct fanout *s, int node,
				   const struct place *at)
{
	struct target like = {.node = node, .peer.place = *at};
	void *found = tfind(&like, &s->primaries, by_place);

	return found ? *(struct target **)found : NULL;
}

static bool is_idle(const struct target *t)
{
	return t->primary && t->gone && !t->first && !awaited(t);
}

/* The target of a primary that is none any more is used again: in `top` they
 * come and go for weeks. *next: where to look for one. NULL: no memory. */
static struct target *add_primary(struct fanout *s, int node,
				  const struct place *at, int *next)
{
	struct target *t;

	while (*next < s->targets &&
	       !(s->target[*next]->node == node && is_idle(s->target[*next])))
		++*next;
	if (*next == s->targets) {
		t = add_target(s, node, &s->ep[node]);
		if (!t)
			return NULL;
	} else {
		t = s->target[*next];
		(void)tdelete(t, &s->primaries, by_place);
		conn_close(&t->conn);
	}
	++*next;
	memset(&t->peer, 0, sizeof(t->peer));
	peer_init_at(&t->peer, &s->ep[node], at);
	t->primary = true;
	t->gone = false;
	t->down.kind = FAIL_NONE;
	return tsearch(t, &s->primaries, by_place) ? t : NULL;
}

/* {first slot, last slot, {host, port, ...} of the primary, ...}, as the node
 * that we asked says it; no host: that node. */
static int read_range(const struct fanout *s, int node,
		      const struct reply *range, int64_t *first, int64_t *last,
		      struct place *at)
{
	const struct reply *primary = reply_item(range, 2);
	const struct reply *host = reply_item(primary, 0),
			   *port = reply_item(primary, 1);
	const char *here = s->target[node]->peer.place.host;
	struct span name = {host->bytes, host->len};
	struct span number = {port->bytes, port->len};

	if (host->len == 0)
		name = (struct span){here, strlen(here)};
	*first = reply_number(reply_item(range, 0), SLOTS);
	*last = reply_number(reply_item(range, 1), SLOTS);
	return *first <= *last && *last < SLOTS ? place_told(at, name, number)
						: -1;
}

/* -1: *why is filled, and nothing was changed. */
static int check_ranges(const struct fanout *s, const struct got *got,
			struct fail *why)
{
	int64_t slots = 0, first, last;
	struct place at;

	for (size_t i = 0; i < got->reply->items; i++) {
		if (read_range(s, got->node, reply_item(got->reply, i), &first,
			       &last, &at) < 0)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: not a range of slots "
				    "with a host and port",
				    fanout_name(s, got->target));
		slots += last - first + 1;
		if (slots > SLOTS)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: more than %d slots",
				    fanout_name(s, got->target), SLOTS);
	}
	if (slots == 0)
		return fail(why, FAIL_CONFIG,
			    "%s: CLUSTER SLOTS: no node serves any slot",
			    fanout_name(s, got->target));
	return 0;
}

static void forget_primaries(struct fanout *s, int node)
{
	for (int i = s->nodes; i < s->targets; i++)
		if (s->target[i]->node == node)
			s->target[i]->gone = true;
}

/* Those that are known keep their connections. Returns how many they are. */
static int keep_known(struct fanout *s, const struct got *got)
{
	int known = 0;

	forget_primaries(s, got->node);
	for (size_t i = 0; i < got->reply->items; i++) {
		int64_t first, last;
		struct place at;
		struct target *t;

		(void)read_range(s, got->node, reply_item(got->reply, i),
				 &first, &last, &at);
		t = find_primary(s, got->node, &at);
		known += t && t->gone;
		if (t)
			t->gone = false;
	}
	return known;
}

static int take_ranges(struct fanout *s, const struct got *got,
		       struct fail *why)
{
	int primaries = keep_known(s, got), next = s->nodes;
	int *home = s->target[got->node]->home;

	for (size_t i = 0; i < got->reply->items; i++) {
		int64_t first, last;
		struct place at;
		struct target *t;

		(void)read_range(s, got->node, reply_item(got->reply, i),
				 &first, &last, &at);
		t = find_primary(s, got->node, &at);
		if (!t && ++primaries > PRIMARIES_MAX)
			return fail(why, FAIL_CONFIG,
				    "%s: CLUSTER SLOTS: more than %d primaries",
				    fanout_name(s, got->target), PRIMARIES_MAX);
		if (!t)
			t = add_primary(s, got->node, &at, &next);
		if (!t)
			return fail(why, FAIL_INTERNAL, "out of memory");
		for (; first <= last; first++)
			home[first] = t->index;
	}
	return 0;
}

int fanout_spread_take(struct fanout *s, const struct got *got,
		       struct fail *why)
{
	struct target *cluster = s->target[got->node];

	if (check_ranges(s, got, why) < 0)
		return -1;
	if (!cluster->home)
		cluster->home = malloc(SLOTS * sizeof(*cluster->home));
	if (!cluster->home)
		return fail(why, FAIL_INTERNAL, "out of memory");
	for (int i = 0; i < SLOTS; i++)
		cluster->home[i] = got->node;
	if (take_ranges(s, got, why) == 0)
		return 0;
	forget_primaries(s, got->node);
	free(cluster->home);
	cluster->home = NULL;
	return -1;
}

int fanout_spread(struct fanout *s, struct fail *why)
{
	struct got got;
	int rc = 0;

	for (int i = 0; i < s->nodes; i++)
		if (fanout_spreads(s, i) && fanout_spread_ask(s, i, 0) < 0)
			return fail(why, FAIL_INTERNAL, "out of memory");
	while (fanout_get(s, &got)) {
		if (got.why.kind != FAIL_NONE) {
			*why = got.why;
			rc = -1;
		} else if (fanout_spread_take(s, &got, why) < 0) {
			rc = -1;
		}
	}
	return rc;
}
