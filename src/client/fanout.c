/* SPDX-License-Identifier: MIT */
/* Questions to many servers. */
#include "client/fanout.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "client/inside.h"

#define EXTRA_MAX 4

/* ---- targets ---- */

struct target *fanout_add(struct fanout *s, int node)
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
	peer_init(&t->peer, &s->ep[node]);
	session_init(&t->session, &t->peer);
	t->session.conn.whole = true;
	t->index = s->targets;
	s->target[s->targets++] = t;
	return t;
}

int fanout_open(struct fanout *s, const struct endpoint *eps, int n,
		int64_t timeout_ms, struct fail *why)
{
	*s = (struct fanout){.ep = eps,
			     .nodes = n,
			     .timeout_ms = timeout_ms,
			     .until = NEVER};
	for (int i = 0; i < n; i++)
		if (!fanout_add(s, i))
			return fail_memory(why);
	return 0;
}

static bool is_asked(const struct target *t)
{
	return t->first || session_awaits(&t->session);
}

void fanout_limit(struct fanout *s, int64_t ms)
{
	s->until = after(now(), ms);
	s->limit_ms = ms;
	for (int i = 0; i < s->targets; i++)
		if (!is_asked(s->target[i]))
			s->target[i]->down.kind = FAIL_NONE;
}

static bool is_limited(const struct fanout *s)
{
	return s->until.ms != NEVER.ms;
}

bool fanout_is_down(const struct fanout *s, int target)
{
	return is_limited(s) && s->target[target]->down.kind != FAIL_NONE;
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
		free(t->session.owed[i].question);
		t->session.owed[i].question = NULL;
	}
}

static void keep_target(void *target)
{
	(void)target; /* s->target owns it */
}

void fanout_close(struct fanout *s)
{
	for (int i = 0; i < s->targets; i++) {
		drop_all(s->target[i]);
		session_close(&s->target[i]->session);
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

void fanout_leave(struct fanout *s, int target, const char *why)
{
	session_leave(&s->target[target]->session, why);
}

bool fanout_refused(const struct fanout *s, int target)
{
	return s->target[target]->session.conn.refused;
}

bool fanout_expiry(const struct fanout *s, int target, int64_t *left_s)
{
	const struct conn *c = &s->target[target]->session.conn;

	return c->state == CONN_OPEN && stream_expiry(&c->stream, left_s);
}

/* ---- questions ---- */

/* `lua`: a script, which outlives us and is not copied; or NULL. */
static struct question *make(const struct words *w, const char *lua,
			     int64_t tag)
{
	size_t size = 0;
	struct question *q;
	char *to;

	for (int i = 0; i < w->n; i++)
		size += w->at[i] == lua ? 0 : w->len[i];
	q = calloc(1, sizeof(*q) + size);
	if (!q)
		return NULL;
	q->tag = tag;
	to = q->bytes;
	for (int i = 0; i < w->n; i++) {
		if (w->at[i] == lua) {
			words_add(&q->words, lua, w->len[i]);
			continue;
		}
		memcpy(to, w->at[i], w->len[i]);
		words_add(&q->words, to, w->len[i]);
		to += w->len[i];
	}
	return q;
}

static void begin_anew(struct target *t)
{
	t->hurried = t->patient = false;
	t->tried = 0;
}

static void append(const struct fanout *s, struct target *t, struct question *q)
{
	/* all earlier questions have been reported: this is a new attempt */
	if (!is_asked(t)) {
		begin_anew(t);
		if (!is_limited(s))
			t->down.kind = FAIL_NONE;
	}
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
	struct question *q = make(question, NULL, tag);

	if (!q)
		return -1;
	append(s, s->target[target], q);
	return 0;
}

int fanout_call(struct fanout *s, int target, const struct words *request,
		const char *sha, int64_t tag)
{
	struct question *q = make(request, request->at[1], tag);

	if (!q)
		return -1;
	q->sha = sha;
	append(s, s->target[target], q);
	return 0;
}

static bool send_one(struct target *t, struct question *q, struct instant until)
{
	const struct sent as = {
		.question = q, .again = q->again, .asking = q->asking};

	q->sent = now();
	/* start the private server once at most */
	return session_ask(&t->session, &q->words, q->sha, &as,
			   t->session.started || t->peer.heard ? LONG_AGO
							       : until) == 0;
}

/* Sends as many questions as may be open at a time. */
static void pump(struct fanout *s, struct target *t)
{
	while (t->first && t->down.kind == FAIL_NONE &&
	       t->session.conn.asked - t->session.conn.taken <
		       (t->singly ? 1 : OWED_MAX - 2)) {
		struct question *q = take_first(t);

		/* first report what the old connection owed */
		if (t->session.conn.state == CONN_CLOSED &&
		    session_awaits(&t->session)) {
			prepend(t, q);
			return;
		}
		if (!session_awaits(&t->session))
			t->deadline = after(now(), s->timeout_ms);
		if (!send_one(t, q, s->until)) {
			t->down = t->session.conn.why;
			prepend(t, q);
		}
	}
}

/* ---- answers ---- */

static bool may_move(const struct target *t)
{
	return !t->primary && (t->peer.ep->kind == ENDPOINT_CLUSTER ||
			       t->peer.ep->kind == ENDPOINT_SENTINEL);
}

/* Not because of an answer. */
static void ask_again(struct target *t, struct question *q)
{
	q->again++;
	q->asking = q->elsewhere = false;
	prepend(t, q);
}

/* Asks again, in their order, what the broken connection owes: its last answer
 * was not the fault of these. false: nothing. */
static bool others_again(struct target *t)
{
	const struct conn *c = &t->session.conn;
	bool any = false;

	for (unsigned int i = c->asked; i != c->taken;) {
		struct sent *owed = &t->session.owed[--i % OWED_MAX];

		if (!owed->question)
			continue;
		ask_again(t, owed->question);
		owed->question = NULL;
		any = true;
	}
	return any;
}

/* Its answer was too long to read. */
static bool is_overlong(struct target *t)
{
	if (!t->session.conn.too_long)
		return false;
	t->session.conn.too_long = false;
	(void)others_again(t);
	return true;
}

/* Some proxies close the connection at a command that they do not know, and
 * what was asked before it is not answered either. To find out which question
 * it was, asks them all again, one at a time. false: it was this one. */
static bool hung_up_at_another(struct target *t)
{
	if (!t->session.conn.hung_up || !others_again(t))
		return false;
	t->singly = true;
	return true;
}

static void say_hung_up(const struct target *t, const struct question *q,
			struct fail *why)
{
	int n = (int)q->words.len[0];
	const char *command = q->words.at[0];

	if (t->peer.heard)
		(void)fail(why, FAIL_UNAVAILABLE,
			   "%s: the server, or a proxy in front of it, closes "
			   "the connection at %.*s",
			   t->peer.name, n, command);
	else
		(void)fail(why, FAIL_UNAVAILABLE,
			   "%.300s, or does not know %.*s",
			   t->session.conn.why.text, n, command);
}

/* The connection broke: another address or node may answer, or the question
 * never left. */
static bool retried(struct target *t, struct question *q)
{
	bool starts = t->peer.ep->kind == ENDPOINT_LOCAL &&
		      !t->session.started && !t->peer.heard;

	if (hung_up_at_another(t)) {
		ask_again(t, q);
		return true;
	}
	/* the address that was left early may only be slow */
	if (t->hurried && !t->patient && !q->elsewhere &&
	    !t->session.conn.heard) {
		t->patient = true;
		q->elsewhere = true;
	}
	if (q->again >= AGAIN_MAX || t->session.conn.misled ||
	    (!may_move(t) && !starts && !q->elsewhere))
		return false;
	ask_again(t, q);
	return true;
}

static void answer(struct fanout *s, const struct target *t, struct question *q,
		   struct got *out)
{
	free(s->taken);
	s->taken = q;
	out->node = t->node;
	out->tag = q->tag;
	out->ran = q->ran;
	out->asked = &q->words;
	out->sent = q->sent;
	out->came = now();
}

/* Takes an answer. true: it is for the caller. */
static bool take_answer(struct fanout *s, struct target *t, struct got *out)
{
	struct conn *c = &t->session.conn;
	unsigned int before = c->taken;
	struct session_news o;
	enum session_got got = session_next(&t->session, &o);
	struct question *q;

	out->reply = NULL;
	out->overlong = out->hung_up = false;
	out->why.kind = FAIL_NONE;
	out->told = (struct error_told){0};
	if (c->taken != before)
		t->deadline = session_awaits(&t->session)
				      ? after(now(), s->timeout_ms)
				      : NEVER;
	if (got == SESSION_NOTHING)
		return false;
	q = o.sent.question;
	if (got == SESSION_AGAIN) {
		if (c->state == CONN_CLOSED) /* it was left */
			(void)others_again(t);
		q->again = o.sent.again;
		q->asking = o.sent.asking;
		q->sha = o.unknown ? NULL : q->sha;
		prepend(t, q);
		return false;
	}
	q->ran |= got == SESSION_BROKEN && o.ran;
	if (c->state == CONN_CLOSED) {
		out->overlong = is_overlong(t);
		if (!out->overlong && retried(t, q))
			return false;
		out->hung_up = c->hung_up;
	} else {
		out->reply = conn_whole(c);
		begin_anew(t);
	}
	if (got == SESSION_BROKEN && out->hung_up) {
		say_hung_up(t, q, &out->why);
	} else if (got == SESSION_BROKEN) {
		out->why = c->why;
	} else if (got != SESSION_REPLY) {
		out->told = o.told;
		(void)fail(&out->why, o.kind, "%s: %s", t->peer.name,
			   s->nodes > 1 ? o.brief : o.text);
	} else if (!out->reply) {
		(void)fail_memory(&out->why);
	}
	if (out->overlong)
		out->why.kind = FAIL_CONFIG;
	/* a wrong password is tried once: servers count that, and some lock the
	 * user out */
	if (c->refused && is_limited(s) && out->why.kind == FAIL_REFUSED)
		t->down = out->why;
	answer(s, t, q, out);
	return true;
}

/* Fails the questions that wait for a server that cannot be reached. */
static bool take_unsent(struct fanout *s, struct target *t, struct got *out)
{
	struct question *q;

	if (t->down.kind == FAIL_NONE)
		return false;
	if (!t->first) {
		if (!is_limited(s))
			t->down.kind = FAIL_NONE; /* may be tried again later */
		return false;
	}
	q = take_first(t);
	out->reply = NULL;
	out->overlong = out->hung_up = false;
	out->why = t->down;
	out->told = (struct error_told){0};
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
			before = t->session.conn.taken;
			if (take_answer(s, t, out))
				return true;
		} while (t->session.conn.taken != before);
		pump(s, t);
		if (take_unsent(s, t, out))
			return true;
	}
	return false;
}

static bool awaits(const struct fanout *s)
{
	for (int i = 0; i < s->targets; i++)
		if (is_asked(s->target[i]))
			return true;
	return false;
}

/* `over`: the time for all questions is over. */
static void say_silent(const struct fanout *s, const struct target *t,
		       bool over, char *buf, size_t size)
{
	const struct conn *c = &t->session.conn;
	char limit[32];

	(void)format_duration(over ? s->limit_ms : s->timeout_ms, limit,
			      sizeof(limit));
	if (!over)
		(void)snprintf(buf, size, "%s within %s (--node-timeout)%s",
			       conn_awaits(c), limit, conn_suspects(c));
	else if (c->heard)
		(void)snprintf(buf, size, "gave up after %s", limit);
	else
		(void)snprintf(buf, size, "%s%s", conn_awaits(c),
			       conn_suspects(c));
}

enum silence {
	SILENT_FOR_LONG, /* for the time-out */
	SILENT_SO_FAR,   /* and there is another address or node */
	SILENT_TO_THE_END
};

/* Does not wait the whole time-out for one silent address, as the lease does
 * not (question_due()), if the server may be elsewhere: at another address of
 * the name, or other nodes or Sentinels may know. What was left early gets its
 * full time after that. */
static bool leaves_early(const struct target *t)
{
	const struct conn *c = &t->session.conn;

	if (t->patient || c->heard)
		return false;
	switch (c->state) {
	case CONN_UNKNOWN:
		return !t->hurried && peer_asks_names(&t->peer);
	case CONN_CONNECTING:
	case CONN_OPEN:
		return peer_has_other(&t->peer);
	case CONN_CLOSED:
	case CONN_DIALING:
		break;
	}
	return false;
}

static struct instant early(const struct fanout *s, const struct target *t)
{
	return t->deadline.ms == NEVER.ms || !leaves_early(t)
		       ? NEVER
		       : after(t->deadline, s->timeout_ms / 4 - s->timeout_ms);
}

static void hurry_on(struct target *t)
{
	t->hurried = true;
	if (t->session.conn.state == CONN_UNKNOWN)
		return; /* the next search begins with other addresses */
	/* of a Cluster, another node that answers may lead back to this one */
	t->patient = !peer_pass(&t->peer);
}

/* The name has another address: this one leads nowhere, or to a server that was
 * silent from the start. */
static bool has_next_address(struct target *t)
{
	const struct conn *c = &t->session.conn;
	bool silent = c->state == CONN_OPEN && !c->heard;

	if (c->state != CONN_CONNECTING && !silent)
		return false;
	t->patient = true;
	if (!(silent && peer_has_nodes(&t->peer)) &&
	    ++t->tried < t->peer.address.n) {
		peer_turn(&t->peer);
		return true;
	}
	t->tried = 0;
	peer_doubt(&t->peer);
	return false;
}

static void give_up(struct fanout *s, struct target *t, enum silence how)
{
	bool over = how == SILENT_TO_THE_END, next = how == SILENT_SO_FAR;
	bool ends;
	char text[200];

	if (next)
		hurry_on(t);
	else
		next = !over && has_next_address(t);
	ends = over || (!next && !may_move(t));
	say_silent(s, t, over, text, sizeof(text));
	session_leave(&t->session, text);
	t->deadline = NEVER;
	if (ends)
		(void)fail(&t->down, FAIL_UNAVAILABLE, "%s: %s", t->peer.name,
			   text);
	else if (!next)
		peer_doubt(&t->peer);
	for (int i = 0; i < OWED_MAX; i++) {
		struct question *q = t->session.owed[i].question;

		if (!q)
			continue;
		q->elsewhere = next;
		if (!next) /* not asked again, or once, of another server */
			q->again += ends ? AGAIN_MAX : AGAIN_MAX / 2;
	}
}

static void see_silence(struct fanout *s, struct target *t, struct instant at)
{
	if (!before(at, t->deadline))
		give_up(s, t, SILENT_FOR_LONG);
	else if (!before(at, early(s, t)))
		give_up(s, t, SILENT_SO_FAR);
}

void fanout_poll(struct fanout *s, struct pollfd *extra, int n_extra,
		 struct instant limit)
{
	size_t n = (size_t)n_extra + (size_t)s->targets;
	struct pollfd *fds = calloc(n, sizeof(*fds));
	struct instant at;

	if (!fds)
		return;
	if (before(now(), s->until)) /* once it is over, all have been told */
		limit = sooner(limit, s->until);
	for (int i = 0; i < n_extra; i++)
		fds[i] = extra[i];
	for (int i = 0; i < s->targets; i++) {
		struct target *t = s->target[i];

		pump(s, t);
		fds[n_extra + i] =
			(struct pollfd){.fd = session_fd(&t->session),
					.events = session_events(&t->session)};
		limit = sooner(limit, sooner(t->deadline, early(s, t)));
		/* it broke while it was asked */
		if ((t->first && t->down.kind != FAIL_NONE) ||
		    (t->session.conn.state == CONN_CLOSED &&
		     session_awaits(&t->session)))
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

		session_step(&t->session, fds[n_extra + i].revents);
		if (!before(at, s->until) && t->down.kind == FAIL_NONE)
			give_up(s, t, SILENT_TO_THE_END);
		else if (fds[n_extra + i].revents == 0)
			see_silence(s, t, at);
	}
	free(fds);
}

bool fanout_get(struct fanout *s, struct got *out)
{
	while (!fanout_next(s, out)) {
		if (!awaits(s))
			return false;
		fanout_poll(s, NULL, 0, NEVER);
	}
	return true;
}
