/* SPDX-License-Identifier: MIT */
/* A conversation with a node. */
#include "client/session.h"

#include <string.h>

#include "base/units.h"
#include "lock/wire/request.h"
#include "net/scout.h"
#include "local/local.h"

void session_init(struct session *s, struct peer *peer)
{
	conn_init(&s->conn, peer, &scout_finder);
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

/* ---- questions ---- */

/* Nobody serves the socket: start the private server. */
static bool started_local(struct session *s)
{
	const struct endpoint *ep = s->conn.peer->ep;
	struct fail why;

	s->started = true;
	if (local_start(ep->path, ep->idle_ms, &why) == 0)
		return true;
	s->conn.why = why;
	return false;
}

int session_ask(struct session *s, const struct words *request, const char *sha,
		const struct errand *e, bool start)
{
	struct conn *c = &s->conn;
	struct words w = *request;
	unsigned int number = c->asked;

	if (sha) {
		w.at[0] = "EVALSHA";
		w.len[0] = strlen(w.at[0]);
		w.at[1] = sha;
		w.len[1] = strlen(sha);
	}
	if (conn_ask(c, &w) < 0 && start &&
	    c->peer->ep->kind == ENDPOINT_LOCAL && c->asked - c->taken == 1 &&
	    started_local(s)) {
		conn_close(c);
		number = c->asked;
		(void)conn_ask(c, &w);
	}
	if (c->asked == number)
		return -1;
	s->owed[number % OWED_MAX] = *e;
	s->owed[number % OWED_MAX].by_hash = sha != NULL;
	return 0;
}

/* ---- answers ---- */

static const char *show(struct session_news *out)
{
	return format_bytes(out->reply.at[0], out->reply.len[0], out->shown,
			    sizeof(out->shown));
}

static void explain(const struct peer *peer, const char *text,
		    struct session_news *out)
{
	const char *astray = peer_astray(peer, text);
	struct error_told *told = &out->told;

	error_explain(told, text,
		      peer->ep->kind == ENDPOINT_CLUSTER ? ERROR_FROM_CLUSTER
							 : ERROR_FROM_SERVER);
	if (astray) {
		told->kind = FAIL_UNAVAILABLE;
		told->cure = astray;
	}
	out->kind = told->kind;
	out->text = error_say(told, true, out->said[0], sizeof(out->said[0]));
	out->brief = error_say(told, astray != NULL, out->said[1],
			       sizeof(out->said[1]));
}

static enum session_got read_error(const struct peer *peer,
				   struct session_news *out)
{
	bool ask;

	if (out->errand.by_hash && error_missing(out->shown))
		return SESSION_UNKNOWN;
	explain(peer, out->shown, out);
	if (peer->ep->kind == ENDPOINT_CLUSTER && !peer->fixed &&
	    peer_redirected(peer, out->shown, &ask, &out->to))
		return ask ? SESSION_ASK : SESSION_MOVED;
	out->ran = error_begun(out->shown);
	return SESSION_ERROR;
}

static enum session_got read_answer(const struct conn *c, enum conn_got got,
				    struct session_news *out)
{
	switch (got) {
	case CONN_NOTHING:
		return SESSION_NOTHING;
	case CONN_REPLY:
		return SESSION_REPLY;
	case CONN_ERROR:
		(void)show(out);
		return read_error(c->peer, out);
	case CONN_REFUSED:
		if (!out->ran)
			out->ran = error_begun(show(out));
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
		out->errand = s->owed[number];
		s->owed[number] = (struct errand){0};
		if (out->errand.ask.verb != VERB_NONE || out->errand.question)
			return read_answer(&s->conn, got, out);
	}
}

bool session_follow(struct session *s, struct peer *peer, enum session_got got,
		    const struct session_news *o, bool aside)
{
	if (got == SESSION_ASK && aside)
		return false;
	peer_move(peer, &o->to);
	conn_leave(&s->conn, o->text);
	return true;
}
