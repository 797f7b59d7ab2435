/* SPDX-License-Identifier: MIT */
/* Sends questions, and sorts out the answers that count. */
#include "client/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/errors.h"

#define SEEN_MS 1000 /* a holder seen this recently is still there */

/* `who` goes before the text; NULL: the text names the node itself. `brief` is
 * for a line about several nodes. */
static void failed_briefly(struct client *cl, const struct ask *asked,
			   enum fail_kind kind, bool ran, const char *who,
			   const char *text, const char *brief)
{
	const char *colon = who ? ": " : "", *whose = who ? cl->whose : "";

	who = who ? who : "";
	(void)fail(&cl->why, kind, "%s%s%s%s", who, colon, whose, text);
	(void)snprintf(cl->node_why[asked->node],
		       sizeof(cl->node_why[asked->node]), "%s%s%s%s", who,
		       colon, whose, brief);
	/* (a renewal that failed and succeeded since needs no message) */
	if (asked->verb == VERB_CONFIRM && cl->lease.state == LEASE_HELD &&
	    !before(lease_credited_at(&cl->lease), asked->sent))
		log_detail("trouble", "%s", cl->why.text);
	else if (asked->verb != VERB_LISTEN)
		report_trouble(cl, asked->node);
	else if (kind != FAIL_UNAVAILABLE && !cl->told_no_blpop) {
		cl->told_no_blpop = true;
		log_notice("deaf",
			   "the server refuses BLPOP: %s; polling four times a "
			   "second instead",
			   cl->why.text);
	}
	lease_failed(&cl->lease, asked, kind, ran, now());
}

static void failed(struct client *cl, const struct ask *asked,
		   enum fail_kind kind, bool ran, const char *who,
		   const char *text)
{
	failed_briefly(cl, asked, kind, ran, who, text, text);
}

/* We are not let in. If we were before, a password or a CA is being replaced,
 * and our file may follow: that passes, like an outage, but is no reason to say
 * that the server cannot be reached. */
static void shut_out(struct client *cl, const struct ask *asked,
		     const struct fail *why, bool ran, const char *who,
		     const char *brief)
{
	bool passes = why->kind != FAIL_INTERNAL &&
		      (cl->lease.node[asked->node].link.answered ||
		       cl->lease.conf.reached || cl->releases_only);

	failed_briefly(cl, asked, passes ? FAIL_UNAVAILABLE : why->kind, ran,
		       who, why->text, brief);
	cl->why.kind = why->kind;
}

/* Refuses servers that must not be in a list, and notes what is unknown. */
static int check_server(struct client *cl, const struct ask *asked,
			const struct answer *a, struct fail *why)
{
	const struct endpoint *ep = cl->peer[asked->node].ep;

	if (a->said != SAID_GRANTED || asked->joins ||
	    (cl->lease.conf.nodes == 1 && cl->lease.conf.guard_ms == 0))
		return 0;
	if (a->granted.in_cluster && ep->kind != ENDPOINT_CLUSTER)
		return fail(why, FAIL_CONFIG,
			    "a node of a Cluster: write redis-cluster://, not "
			    "redis://");
	if (a->granted.is_active)
		return fail(why, FAIL_CONFIG,
			    "an active replica (KeyDB): it and its master can "
			    "both grant the same lock");
	if (a->granted.server == 0 && !cl->told_blind[asked->node]) {
		cl->told_blind[asked->node] = true;
		log_detail("blind",
			   "%s: INFO is refused: cannot tell whether it has "
			   "restarted (--restart-guard) or is the same server "
			   "as another",
			   cl->peer[asked->node].name);
	}
	return 0;
}

/* Notes that nobody has it, unless a holder was seen a moment ago. */
static void see_nobody(struct client *cl, const struct answer *a)
{
	if ((a->said == SAID_GUARDED || cl->lease.conf.nodes > 1) &&
	    cl->sight.seen && before(now(), after(cl->sight_at, SEEN_MS)))
		return;
	cl->sight = (struct sight){.lost = a->said == SAID_LOSS,
				   .guarded = a->said == SAID_GUARDED,
				   .vanished = a->said == SAID_VANISHED,
				   .pttl_ms = a->busy.pttl_ms};
	cl->sight_at = now();
}

/* Even a release that nobody waits for goes by hash: a frozen server that wakes
 * reads 16 kB before it learns that we are gone, and a whole script does not
 * fit behind an acquire. */
static bool goes_whole(const struct client *cl, const struct ask *ask)
{
	return cl->whole[ask->node] & (ALWAYS_WHOLE | 1U << ask->verb);
}

/* Whether nothing was asked after it: an old question must not overtake a
 * release. */
static bool is_last(const struct client *cl, const struct ask *asked)
{
	return cl->lease.node[asked->node].link.chan[asked->chan].ask.seq ==
	       asked->seq;
}

/* ---- answers that count ---- */

static void accept_answer(struct client *cl, const struct ask *asked,
			  const struct answer *said);
static void send_on(struct client *cl, int chan, const struct sent *q);

static bool is_yes(const struct ask *asked, const struct answer *a)
{
	return (asked->verb == VERB_ACQUIRE && a->said == SAID_GRANTED) ||
	       (asked->verb == VERB_CONFIRM &&
		(a->said == SAID_YES || a->said == SAID_HEALED));
}

static void disprove(struct client *cl, int node, const char *text)
{
	for (int c = 0; c < CHANNELS; c++) {
		struct ask asked = proof_forget(cl, node, c);

		if (asked.verb != VERB_NONE)
			failed(cl, &asked, FAIL_UNAVAILABLE, true,
			       cl->peer[node].name, text);
	}
}

/* Releases what a server that is not the master granted, or our place in its
 * line: they would delay clients that still believe in it. Nobody waits for the
 * answer. */
static void give_back(struct client *cl, const struct ask *asked,
		      const struct answer *a)
{
	struct session *s = &cl->session[asked->node][asked->chan];
	struct request request;
	struct ask release = {.verb = VERB_RELEASE,
			      .node = asked->node,
			      .chan = asked->chan,
			      .fence = a->counter,
			      .seq = asked->seq + 1,
			      .joins = asked->joins,
			      .release.queued = true};

	if (s->conn.state != CONN_OPEN)
		return;
	request_ask(&request, &release, &cl->lease.conf, &cl->keys, cl->token,
		    cl->identity, session_db(s->conn.peer->ep));
	(void)session_ask(s, &request.words,
			  goes_whole(cl, &release) ? NULL : request.sha,
			  &(struct sent){0}, LONG_AGO);
}

/* The acquire of a channel, answered or not, for which the Sentinels were
 * asked; it is no longer owed. VERB_NONE: there is none. */
static struct ask take_acquire(struct client *cl, int node, int chan)
{
	struct session *s = &cl->session[node][chan];
	struct unproven *u = &cl->unproven[node][chan];
	struct ask found = {.verb = VERB_NONE};

	if (u->ask.verb == VERB_ACQUIRE) {
		give_back(cl, &u->ask, &u->answer);
		return proof_forget(cl, node, chan);
	}
	for (unsigned int i = s->conn.taken; i != s->conn.asked; i++)
		if (s->owed[i % OWED_MAX].ask.verb == VERB_ACQUIRE) {
			found = s->owed[i % OWED_MAX].ask;
			s->owed[i % OWED_MAX].ask.verb = VERB_NONE;
		}
	if (found.verb != VERB_NONE)
		give_back(cl, &found, &(struct answer){.counter = 0});
	return found;
}

/* There is another master: go to it at once. From now on, more than half of the
 * Sentinels must say so before we believe in the old one again: see search.c.
 * An acquire is asked again there, as if it had been redirected. */
static void change_master(struct client *cl, int node,
			  const struct place *master)
{
	static const char text[] =
		"no longer the master, according to its Sentinels";
	struct sent again[CHANNELS] = {{.again = 0}};

	for (int c = 0; c < CHANNELS; c++) {
		again[c].ask = take_acquire(cl, node, c);
		again[c].ask.fresh = false;
	}
	disprove(cl, node, text);
	for (int c = 0; c < CHANNELS; c++) {
		session_leave(&cl->session[node][c], text);
		exchange_take(cl, node, c);
	}
	peer_doubt(&cl->peer[node]);
	peer_move(&cl->peer[node], master);
	lease_hurry(&cl->lease, node, now());
	for (int c = 0; c < CHANNELS; c++)
		if (again[c].ask.verb != VERB_NONE &&
		    is_last(cl, &again[c].ask))
			send_on(cl, c, &again[c]);
}

void exchange_prove(struct client *cl, int node)
{
	struct proof p;

	for (;;)
		switch (proof_next(cl, node, &p)) {
		case PROOF_OPEN:
			return;
		case PROOF_COUNTS:
			accept_answer(cl, &p.yes.ask, &p.yes.answer);
			break;
		case PROOF_FAILED:
			disprove(cl, node, p.why.text);
			return;
		case PROOF_OTHER:
			change_master(cl, node, &p.master);
			return;
		}
}

static void answered(struct client *cl, const struct ask *asked,
		     const struct words *reply)
{
	struct answer answer;
	struct fail why;

	if (answer_read(asked->verb, reply, &answer, &cl->sight, &why) < 0 ||
	    check_server(cl, asked, &answer, &why) < 0) {
		failed(cl, asked, why.kind, true, cl->peer[asked->node].name,
		       why.text);
		return;
	}
	cl->node_why[asked->node][0] = '\0';
	cl->replica[asked->node] = false;
	if ((answer.said == SAID_DONE || answer.said == SAID_OLDER) &&
	    cl->lease.end == END_NONE) {
		free(cl->mark);
		cl->mark = strndup(reply->at[3], reply->len[3]);
	}
	log_trace("answer", "%s: %.*s after %lld ms",
		  cl->peer[asked->node].name,
		  asked->verb == VERB_LISTEN ? 6 : (int)reply->len[0],
		  asked->verb == VERB_LISTEN ? "listen" : reply->at[0],
		  (long long)between(asked->sent, now()));
	/* another lock than the master's may be held, too */
	if (cl->peer[asked->node].ep->kind == ENDPOINT_SENTINEL &&
	    (is_yes(asked, &answer) || asked->verb == VERB_ACQUIRE)) {
		cl->unproven[asked->node][asked->chan] = (struct unproven){
			*asked, answer, cl->peer[asked->node].moves};
		exchange_prove(cl, asked->node);
	} else {
		accept_answer(cl, asked, &answer);
	}
}

static void accept_answer(struct client *cl, const struct ask *asked,
			  const struct answer *said)
{
	struct answer answer = *said;

	/* the lease left on another server says nothing about this one's
	 * clock */
	if (is_yes(asked, &answer)) {
		if (asked->verb == VERB_CONFIRM &&
		    cl->credited[asked->node] != cl->peer[asked->node].moves)
			answer.confirm.pttl_ms = -1;
		if (cl->healed_once[asked->node] && answer.said == SAID_YES)
			answer.said = SAID_HEALED;
		cl->healed_once[asked->node] = false;
		cl->credited[asked->node] = cl->peer[asked->node].moves;
	}
	if (answer.said == SAID_BUSY)
		cl->sight_at = now();
	if (answer.said == SAID_LOSS || answer.said == SAID_GUARDED ||
	    answer.said == SAID_VANISHED)
		see_nobody(cl, &answer);
	if (asked->verb != VERB_LISTEN)
		cl->asked[asked->node] = NEVER;
	if (cl->lease.state != LEASE_RELEASING)
		cl->why.kind = FAIL_NONE;
	if (asked->verb == VERB_REPLICATE &&
	    answer.counter < cl->lease.conf.replicas)
		(void)fail(&cl->why, FAIL_UNAVAILABLE,
			   "%s: %lld of %d replicas have the lock (see "
			   "--wait-replicas)",
			   cl->peer[asked->node].name,
			   (long long)answer.counter, cl->lease.conf.replicas);
	lease_answer(&cl->lease, asked, &answer, now());
	report_twins(cl);
	report_renewal(cl, asked->node);
}

/* ---- questions ---- */

static void unheard(struct client *cl, const struct ask *asked, bool ran)
{
	if (asked->verb != VERB_NONE)
		lease_failed(&cl->lease, asked, FAIL_UNAVAILABLE, ran, now());
}

/* Reports these questions as failed: nobody waits for the answers any more,
 * though they may still run. `chan`: only those of that channel; -1: all. */
static void give_up(struct client *cl, const struct session *s, int chan)
{
	const struct conn *c = &s->conn;

	for (unsigned int i = c->taken; i != c->asked; i++) {
		const struct ask *ask = &s->owed[i % OWED_MAX].ask;

		if (chan < 0 || ask->chan == chan)
			unheard(cl, ask, conn_sent(c, i));
	}
}

static void hang_up(struct client *cl, struct session *s)
{
	give_up(cl, s, -1);
	session_close(s);
}

void exchange_hang_up(struct client *cl, int node, int chan)
{
	struct session *s = &cl->session[node][chan];

	give_up(cl, s, -1);
	/* the server is not silent: we do not want to hear it */
	session_leave(s, "not listened to any more");
	session_close(s);
}

/* Sends it on connection `chan` of its node. */
static void send_on(struct client *cl, int chan, const struct sent *q)
{
	const struct ask *ask = &q->ask;
	struct session *s = &cl->session[ask->node][chan];
	struct conn *c = &s->conn;
	struct request request;
	struct fail why;

	request_ask(&request, ask, &cl->lease.conf, &cl->keys, cl->token,
		    cl->identity, session_db(c->peer->ep));
	request_tell(&request, ask,
		     &(struct release_words){cl->entry, cl->ending, cl->mark});
	/* a refused connection is good only for releasing what was taken on
	 * it */
	if (c->refused && ask->verb != VERB_RELEASE)
		hang_up(cl, s);
	if (session_ask(s, &request.words,
			goes_whole(cl, ask) ? NULL : request.sha, q,
			cl->start_by) < 0) {
		why = c->why;
		shut_out(cl, ask, &why, false, NULL, why.text);
	}
	if (c->state == CONN_CLOSED)
		exchange_take(cl, ask->node, chan);
}

void exchange_ask(struct client *cl, const struct ask *ask)
{
	struct session *s = &cl->session[ask->node][ask->chan];
	struct sent q = {.ask = *ask};

	if (ask->verb == VERB_CONFIRM)
		cl->asked[ask->node] = sooner(cl->asked[ask->node], ask->sent);
	if (ask->fresh) {
		struct ask unproven = proof_forget(cl, ask->node, ask->chan);

		unheard(cl, &unproven, true);
		hang_up(cl, s);
		give_up(cl, &cl->session[ask->node][DETOUR], ask->chan);
	}
	proof_ask(cl, ask);
	/* WAIT counts what was written on its own connection */
	if (ask->verb == VERB_REPLICATE && s->conn.state == CONN_CLOSED)
		failed(cl, ask, FAIL_UNAVAILABLE, false, s->conn.peer->name,
		       "the server closed the connection");
	else
		send_on(cl, ask->chan, &q);
}

/* Whether the detour can take a question for the node at `to`: one at
 * a time. */
static bool open_detour(struct client *cl, int node, const struct place *to)
{
	struct session *s = &cl->session[node][DETOUR];
	struct conn *c = &s->conn;

	if (session_awaits(s)) {
		if (is_last(cl, &s->owed[(c->asked - 1) % OWED_MAX].ask))
			return false;
		hang_up(cl, s);
	}
	peer_follow(&cl->detour[node], &cl->peer[node], to);
	if (c->dial.moves != cl->detour[node].moves)
		session_close(s);
	return true;
}

/* ---- answers ---- */

/* A replica, or a master that is one for the moment, which only time can tell.
 * Once we have held the lock, a server that has answered before is neither: it
 * was a master, and has been demoted. */
static bool is_replica(const struct client *cl, int node, const char *error)
{
	const struct endpoint *ep = cl->peer[node].ep;

	return !(cl->lease.was_held && cl->lease.node[node].link.answered) &&
	       ep->kind != ENDPOINT_SENTINEL && ep->kind != ENDPOINT_CLUSTER &&
	       error_readonly(error);
}

/* Loads the release script: a client that can acquire must be able to release
 * by hash, see goes_whole(). Nobody waits for the answer. */
static void teach_release(struct client *cl, int chan, int node)
{
	struct session *s = &cl->session[node][chan];
	struct request request;

	request_teach(&request, SCRIPT_RELEASE, &cl->keys);
	if (session_ask(s, &request.words, NULL, &(struct sent){0}, LONG_AGO) ==
	    0)
		cl->whole[node] &= ~(1U << VERB_RELEASE);
	if (s->conn.state == CONN_CLOSED)
		session_close(s);
}

/* The server does not know this script by its hash, and perhaps none of the
 * others. Or it has no EVALSHA. */
static void send_whole(struct client *cl, int chan,
		       const struct session_news *o)
{
	const struct ask *asked = &o->sent.ask;
	bool learns = strncmp(o->shown, "NOSCRIPT", 8) == 0;

	cl->whole[asked->node] = learns ? ~ALWAYS_WHOLE : ALWAYS_WHOLE;
	if (learns && asked->verb == VERB_ACQUIRE && is_last(cl, asked))
		teach_release(cl, chan, asked->node);
}

/* Once all that this connection owes was taken: it may have been left. */
static void ask_again(struct client *cl, int chan, const struct session_news *o)
{
	const struct ask *asked = &o->sent.ask;
	struct sent *again = &cl->again[asked->node][asked->chan];

	if (o->unknown)
		send_whole(cl, chan, o);
	if (!is_last(cl, asked)) {
		unheard(cl, asked, false);
	} else if (o->detour && (asked->verb == VERB_LISTEN ||
				 !open_detour(cl, asked->node, &o->to))) {
		failed(cl, asked, FAIL_UNAVAILABLE, false,
		       cl->peer[asked->node].name, o->text);
	} else {
		*again = o->sent;
		again->ask.fresh = false;
	}
}

static void send_again(struct client *cl, int node)
{
	for (int i = 0; i < CHANNELS; i++) {
		struct sent again = cl->again[node][i];

		if (again.ask.verb == VERB_NONE)
			continue;
		cl->again[node][i].ask.verb = VERB_NONE;
		send_on(cl, again.asking ? DETOUR : i, &again);
	}
}

static void refused(struct client *cl, struct conn *c,
		    const struct session_news *o)
{
	int node = o->sent.ask.node;
	struct error_told told = o->told;
	const char *text = o->text;
	char line[400];
	bool replica = is_replica(cl, node, o->shown);

	if (replica && cl->lease.conf.nodes > 1) {
		told.cure = "with several servers, each must accept writes";
		text = error_say(&told, true, line, sizeof(line));
		if (!cl->replica[node])
			log_error("replica", "%s%s: %s; it does not vote",
				  cl->whose, c->peer->name, o->brief);
		/* which is all that is to be said of it */
		cl->troubled[node] |= cl->lease.state == LEASE_HELD;
	}
	cl->replica[node] |= replica;
	/* after a circle of redirections no server has refused us */
	cl->refused |= !error_waits(o->shown) && o->sent.again < AGAIN_MAX;
	failed_briefly(cl, &o->sent.ask, o->kind, o->ran, c->peer->name, text,
		       o->brief);
	/* a demoted master: the name may lead to another by now */
	if (error_readonly(o->shown)) {
		conn_leave(c, o->brief);
		peer_doubt(c->peer);
	}
}

static void take_one(struct client *cl, int chan, enum session_got got,
		     const struct session_news *o)
{
	const struct ask *asked = &o->sent.ask;
	struct conn *c = &cl->session[asked->node][chan].conn;
	struct fail why;

	switch (got) {
	case SESSION_NOTHING:
		break;
	case SESSION_REPLY:
		cl->whole[asked->node] &= ~(1U << asked->verb);
		if (chan == DETOUR && asked->verb == VERB_ACQUIRE &&
		    cl->lease.conf.replicas > 0)
			failed(cl, asked, FAIL_UNAVAILABLE, true, c->peer->name,
			       "the slot is moving; until it has moved, "
			       "--wait-replicas cannot be met");
		else
			answered(cl, asked, &o->reply);
		break;
	case SESSION_AGAIN:
		ask_again(cl, chan, o);
		break;
	case SESSION_ERROR:
		refused(cl, c, o);
		break;
	case SESSION_REFUSED:
		(void)fail(&why, o->kind, "%s", o->text);
		shut_out(cl, asked, &why, o->ran, c->peer->name, o->brief);
		break;
	case SESSION_BROKEN:
		(void)fail(&why, o->kind, "%s", o->text);
		shut_out(cl, asked, &why, o->ran, NULL, o->brief);
		break;
	}
}

void exchange_take(struct client *cl, int node, int chan)
{
	struct session_news outcome;
	enum session_got got;

	while ((got = session_next(&cl->session[node][chan], &outcome)) !=
	       SESSION_NOTHING)
		take_one(cl, chan, got, &outcome);
	send_again(cl, node);
}
