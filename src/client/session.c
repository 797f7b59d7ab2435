/* SPDX-License-Identifier: MIT */
/* A conversation with a node. */
#include "client/session.h"

#include <poll.h>
#include <string.h>

#include "base/units.h"
#include "lock/wire/request.h"
#include "local/local.h"

void session_init(struct session *s, struct peer *peer)
{
	conn_init(&s->conn, peer);
	s->search = NULL;
	s->started = false;
}

int session_db(const struct endpoint *ep)
{
	return ep->kind == ENDPOINT_CLUSTER ? REQUEST_CLUSTER : ep->db;
}

bool session_awaits(const struct session *s)
{
	return s->conn.asked != s->conn.taken;
}

/* ---- which server it is ---- */

static void end_search(struct session *s)
{
	if (s->search)
		search_close(s->search);
	s->search = NULL;
}

static void begin_search(struct session *s)
{
	struct peer *peer = s->conn.peer;
	struct fail why;

	s->search = search_start(peer, &why);
	peer->sought++;
	if (!s->search)
		conn_lost(&s->conn, &why);
}

/* After each step of the connection. */
static void seek(struct session *s)
{
	struct place at;
	struct fail why;

	if (s->conn.state == CONN_UNKNOWN && !s->search)
		begin_search(s);
	if (s->conn.state == CONN_UNKNOWN)
		switch (search_step(s->search, &at, &why)) {
		case SEARCH_GOING:
			return;
		case SEARCH_FOUND:
			conn_found(&s->conn, &at);
			break;
		case SEARCH_LOST:
			conn_lost(&s->conn, &why);
			break;
		}
	end_search(s);
}

void session_close(struct session *s)
{
	end_search(s);
	conn_close(&s->conn);
}

void session_begin(struct session *s)
{
	conn_begin(&s->conn);
	seek(s);
}

void session_leave(struct session *s, const char *what)
{
	end_search(s);
	conn_leave(&s->conn, what);
}

int session_sockets(const struct session *s, int fds[SESSION_FDS_MAX])
{
	if (s->search)
		return search_sockets(s->search, fds);
	fds[0] = conn_fd(&s->conn);
	return fds[0] >= 0;
}

int session_fd(const struct session *s)
{
	int fds[SESSION_FDS_MAX];

	return session_sockets(s, fds) > 0 ? fds[0] : -1;
}

short session_events(const struct session *s)
{
	if (s->search)
		return POLLIN;
	return conn_events(&s->conn);
}

void session_step(struct session *s, short revents)
{
	if (s->search && revents == 0)
		return;
	conn_step(&s->conn, revents);
	seek(s);
}

/* ---- questions ---- */

/* Nobody serves the socket: start the private server. */
static bool started_local(struct session *s, struct instant by)
{
	const struct endpoint *ep = s->conn.peer->ep;
	struct fail why;

	s->started = true;
	if (local_start(ep->path, ep->idle_ms, by, &why) == 0)
		return true;
	s->conn.why = why;
	return false;
}

int session_ask(struct session *s, const struct words *request, const char *sha,
		const struct sent *q, struct instant start_by)
{
	const struct sent nobodys = {.again = 0};
	struct conn *c = &s->conn;
	struct words w = *request;
	unsigned int number;

	if (q->asking) {
		struct words asking = {0};

		words_add_text(&asking, "ASKING");
		if (session_ask(s, &asking, NULL, &nobodys, LONG_AGO) < 0 ||
		    c->state == CONN_CLOSED)
			return -1;
	}
	number = c->asked;
	if (sha) {
		w.at[0] = "EVALSHA";
		w.len[0] = strlen(w.at[0]);
		w.at[1] = sha;
		w.len[1] = strlen(sha);
	}
	if (conn_ask(c, &w) < 0 && start_by.ms != LONG_AGO.ms &&
	    c->peer->ep->kind == ENDPOINT_LOCAL && c->asked - c->taken == 1 &&
	    started_local(s, start_by)) {
		conn_close(c);
		number = c->asked;
		(void)conn_ask(c, &w);
	}
	seek(s);
	if (c->asked == number)
		return -1;
	s->owed[number % OWED_MAX] = *q;
	s->owed[number % OWED_MAX].by_hash = sha != NULL;
	return 0;
}

/* ---- answers ---- */

static const char *format_reply(struct session_news *out)
{
	return format_bytes(out->reply.at[0], out->reply.len[0], out->shown,
			    sizeof(out->shown));
}

static void explain(const struct peer *peer, const char *text,
		    struct session_news *out)
{
	const char *not_followed = peer_not_followed(peer, text);
	struct error_told *told = &out->told;

	error_explain(told, text,
		      peer->ep->kind == ENDPOINT_CLUSTER ? ERROR_FROM_CLUSTER
							 : ERROR_FROM_SERVER);
	if (not_followed) {
		told->kind = FAIL_UNAVAILABLE;
		told->cure = not_followed;
	}
	out->kind = told->kind;
	out->text = error_say(told, true, out->said[0], sizeof(out->said[0]));
	out->brief = error_say(told, not_followed != NULL, out->said[1],
			       sizeof(out->said[1]));
}

/* A node of a Cluster sends us to another. */
static enum session_got redirected(struct session *s, bool ask,
				   struct session_news *out)
{
	if (out->sent.again >= AGAIN_MAX) { /* in a circle */
		out->ran = false;
		out->kind = FAIL_UNAVAILABLE;
		return SESSION_ERROR;
	}
	out->sent.again++;
	out->sent.asking = ask;
	out->detour = ask && s->has_detour;
	if (!out->detour) {
		peer_move(s->conn.peer, &out->to);
		session_leave(s, out->text);
	}
	return SESSION_AGAIN;
}

static enum session_got read_error(struct session *s, struct session_news *out)
{
	struct peer *peer = s->conn.peer;
	bool ask;

	if (out->sent.by_hash && error_missing(out->shown)) {
		out->sent.again++;
		out->unknown = true;
		return SESSION_AGAIN;
	}
	explain(peer, out->shown, out);
	if (peer->ep->kind == ENDPOINT_CLUSTER && !peer->fixed &&
	    peer_redirected(peer, out->shown, &ask, &out->to))
		return redirected(s, ask, out);
	/* a name may lead to the master and to its replicas */
	if (error_readonly(out->shown) && out->sent.again < AGAIN_MAX &&
	    peer_pass(peer)) {
		out->sent.again++;
		session_leave(s, out->brief);
		return SESSION_AGAIN;
	}
	out->ran = error_begun(out->shown);
	return SESSION_ERROR;
}

static enum session_got read_answer(struct session *s, enum conn_got got,
				    struct session_news *out)
{
	const struct conn *c = &s->conn;

	switch (got) {
	case CONN_NOTHING:
		return SESSION_NOTHING;
	case CONN_REPLY:
		return SESSION_REPLY;
	case CONN_ERROR:
		(void)format_reply(out);
		return read_error(s, out);
	case CONN_REFUSED:
		if (!out->ran)
			out->ran = error_begun(format_reply(out));
		explain(c->peer, c->why.text, out);
		return SESSION_REFUSED;
	case CONN_BROKEN:
		break;
	}
	if (c->refused) {
		explain(c->peer, c->why.text, out);
		return SESSION_REFUSED;
	}
	out->kind = c->why.kind;
	out->text = out->brief = c->why.text;
	out->told = (struct error_told){.kind = c->why.kind};
	return SESSION_BROKEN;
}

enum session_got session_next(struct session *s, struct session_news *out)
{
	for (;;) {
		unsigned int number = 0;
		enum conn_got got =
			conn_next(&s->conn, &number, &out->reply, &out->ran);

		if (got == CONN_NOTHING)
			return SESSION_NOTHING;
		out->sent = s->owed[number];
		s->owed[number] = (struct sent){0};
		out->unknown = out->detour = false;
		if (out->sent.ask.verb != VERB_NONE || out->sent.question)
			return read_answer(s, got, out);
	}
}
