/* SPDX-License-Identifier: MIT */
/* Between the lease and the connections. */
#include "run/drive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "lock/core/timing.h"
#include "net/errors.h"
#include "run/local.h"

#define HOPS_MAX 5
#define SEEN_MS 1000  /* whoever was seen is still there */
#define BEHIND_MS 500 /* so long a Sentinel may be that runs */

static void start_conns(struct drive *d, int node)
{
	for (int c = 0; c < CONNS; c++) {
		conn_init(&d->conn[node][c],
			  c == ASIDE ? &d->aside[node] : &d->peer[node]);
		d->conn[node][c].hear_out = true;
	}
}

int drive_init(struct drive *d, const struct endpoint *eps, const char *key,
	       size_t key_len, const struct holder *who,
	       const struct lease_conf *conf, struct fail *why)
{
	struct lease_conf seeded = *conf;

	d->key = key;
	d->key_len = key_len;
	token_generate(d->token);
	if (keys_init(&d->keys, key, key_len, d->token) < 0)
		return fail(why, FAIL_INTERNAL, "out of memory");
	(void)format_bytes(key, key_len, d->shown_key, sizeof(d->shown_key));
	script_identity(conf, who, d->identity);
	for (int i = 0; i < conf->nodes; i++) {
		d->asked[i] = NEVER;
		peer_init(&d->peer[i], &eps[i]);
		start_conns(d, i);
	}
	memcpy(&seeded.seed, d->token, sizeof(seeded.seed));
	lease_init(&d->lease, &seeded, now());
	return 0;
}

void drive_close(struct drive *d)
{
	for (int i = 0; i < NODES_MAX; i++)
		for (int c = 0; c < CONNS && d->peer[i].ep; c++)
			conn_close(&d->conn[i][c]);
	for (int i = 0; i < NODES_MAX; i++)
		sentry_close(d->sentry[i]);
	keys_close(&d->keys);
}

int drive_again(struct drive *d, int64_t wait_ms)
{
	struct lease_conf conf = d->lease.conf;

	token_generate(d->token);
	keys_close(&d->keys);
	if (keys_init(&d->keys, d->key, d->key_len, d->token) < 0)
		return -1;
	/* what is still owed there would answer another question */
	for (int i = 0; i < conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			if (d->conn[i][c].asked != d->conn[i][c].taken)
				conn_close(&d->conn[i][c]);
	memcpy(&conf.seed, d->token, sizeof(conf.seed));
	conf.wait_ms = wait_ms;
	conf.reached = lease_reached(&d->lease);
	for (int i = 0; i < conf.nodes; i++)
		d->asked[i] = NEVER;
	memset(d->unproven, 0, sizeof(d->unproven));
	d->why.kind = FAIL_NONE;
	memset(d->troubled, 0, sizeof(d->troubled));
	d->healed = d->stepped = 0;
	d->renewed = (struct instant){0};
	lease_init(&d->lease, &conf, now());
	return 0;
}

void drive_tell(struct drive *d, const struct history_entry *entry,
		int64_t fence, int slot)
{
	history_entry_text(entry, fence, d->lease.conf.slots > 1 ? slot : -1,
			   d->entry);
}

int drive_sockets(const struct drive *d, int fds[DRIVE_SOCKETS_MAX])
{
	int n = 0;

	for (int i = 0; i < d->lease.conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			n += conn_sockets(&d->conn[i][c], fds + n);
	for (int i = 0; i < d->lease.conf.nodes; i++)
		if (d->sentry[i])
			n += sentry_sockets(d->sentry[i], fds + n);
	return n;
}

/* "; the command is killed in 22s unless the server answers" */
static const char *tell_stake(const struct drive *d, char *buf, size_t size)
{
	const struct lease *l = &d->lease;
	struct instant kill = timing_kill(lease_credited_at(l), l->conf.ttl_ms);
	int64_t ms = between(now(), kill);
	char left[32];

	buf[0] = '\0';
	if (d->stake && ms > 0)
		(void)snprintf(
			buf, size, "; %s in %s unless %s answers", d->stake,
			ms < 10000 ? format_duration(ms, left, sizeof(left))
				   : format_seconds(ms, left, sizeof(left)),
			l->conf.nodes > 1 ? "a majority" : "the server");
	return buf;
}

/* Held: the first failure and the recovery are worth a line each. */
static void tell_trouble(struct drive *d, int node)
{
	const struct lease *l = &d->lease;
	char others[64] = "", stake[96] = "";
	int good = 0;

	if (l->state != LEASE_HELD || d->troubled[node]) {
		log_detail("trouble", "%s", d->why.text);
		return;
	}
	d->troubled[node] = true;
	for (int i = 0; i < l->conf.nodes; i++)
		good += i != node && l->node[i].mine && !d->troubled[i];
	if (l->conf.nodes > 1)
		(void)snprintf(others, sizeof(others),
			       "; %d of %d other servers hold the lock", good,
			       l->conf.nodes - 1);
	if (good < lease_quorum(l->conf.nodes))
		(void)tell_stake(d, stake, sizeof(stake));
	log_notice("not-renewed", "%scannot renew: %s%s; retrying%s", d->whose,
		   d->why.text, others, stake);
}

static void tell_renewal(struct drive *d, int node)
{
	const struct lease *l = &d->lease;
	bool several = l->conf.nodes > 1;

	if (l->state == LEASE_HELD && !d->troubled[node] &&
	    before(d->renewed, lease_credited_at(l))) {
		if (d->renewed.ms > 0)
			log_detail("renewal", "%srenewed", d->whose);
		d->renewed = lease_credited_at(l);
	}
	if (d->troubled[node] && l->state == LEASE_HELD && l->node[node].mine) {
		log_notice("renewed", "%srenewed again%s%s", d->whose,
			   several ? ": " : "",
			   several ? d->peer[node].name : "");
		d->troubled[node] = false;
	}
	if (l->healed != d->healed)
		log_notice("healed",
			   "%sthe lock was missing%s%s and was restored: "
			   "deleted by hand, evicted (see maxmemory-policy), "
			   "flushed, or lost in a restart; nobody else held it",
			   d->whose, several ? " from " : "",
			   several ? d->peer[node].name : "");
	if (l->stepped != d->stepped)
		log_notice("clock-step",
			   "the lease was shorter than requested: the server's "
			   "clock was set forward; renewing four times as "
			   "often for an hour");
	d->healed = l->healed;
	d->stepped = l->stepped;
}

/* The server has answered, and too few of its Sentinels have. */
static bool is_unproven(const struct drive *d, int node, struct fail *why)
{
	struct place heir;

	for (int c = 0; c < CHANNELS; c++)
		if (d->unproven[node][c].ask.verb != VERB_NONE) {
			(void)sentry_says(d->sentry[node], &d->peer[node].place,
					  d->vouched[node], &heir, why);
			return true;
		}
	return false;
}

/* A question that is never answered fails nowhere. */
static void notice_silence(struct drive *d, int node)
{
	const struct lease *l = &d->lease;
	const struct lease_node *n = &l->node[node];
	struct instant at = now();
	struct instant credited_at = n->mine ? n->credited_at : l->held_from;
	struct fail sentinels;
	char age[32];

	if (l->state != LEASE_HELD || d->troubled[node] ||
	    d->asked[node].ms == NEVER.ms ||
	    before(at, timing_start(credited_at, l->conf.ttl_ms)) ||
	    before(at, timing_renew(d->asked[node], l->conf.ttl_ms)))
		return;
	(void)fail(
		&d->why, FAIL_UNAVAILABLE, "%s: %s for %s", d->peer[node].name,
		is_unproven(d, node, &sentinels) ? sentinels.text : "no answer",
		format_duration(between(credited_at, at), age, sizeof(age)));
	tell_trouble(d, node);
}

/* `who`: named before the text; NULL: it says so itself. */
static void failed(struct drive *d, const struct ask *asked,
		   enum fail_kind kind, bool ran, const char *who,
		   const char *text)
{
	(void)fail(&d->why, kind, "%s%s%s%s", who ? who : "", who ? ": " : "",
		   who ? d->whose : "", text);
	(void)snprintf(d->node_why[asked->node],
		       sizeof(d->node_why[asked->node]), "%.159s", d->why.text);
	/* (of a renewal that was asked for again, and had, nothing need be
	 * said)
	 */
	if (asked->verb == VERB_CONFIRM && d->lease.state == LEASE_HELD &&
	    !before(lease_credited_at(&d->lease), asked->sent))
		log_detail("trouble", "%s", d->why.text);
	else if (asked->verb != VERB_LISTEN)
		tell_trouble(d, asked->node);
	else if (kind != FAIL_UNAVAILABLE && !d->told_no_blpop) {
		d->told_no_blpop = true;
		log_notice("deaf",
			   "the server refuses BLPOP: %s; polling four times a "
			   "second instead",
			   d->why.text);
	}
	lease_failed(&d->lease, asked, kind, ran, now());
}

/* What the servers of a list must not be, and what is not known of them. */
static int check_server(struct drive *d, const struct ask *asked,
			const struct answer *a, struct fail *why)
{
	const struct endpoint *ep = d->peer[asked->node].ep;

	if (a->said != SAID_GRANTED || asked->joins ||
	    (d->lease.conf.nodes == 1 && d->lease.conf.guard_ms == 0))
		return 0;
	if (a->in_cluster && ep->kind != ENDPOINT_CLUSTER)
		return fail(why, FAIL_CONFIG,
			    "a node of a Cluster: write redis-cluster://, not "
			    "redis://");
	if (a->is_active)
		return fail(why, FAIL_CONFIG,
			    "an active replica (KeyDB): it and its master can "
			    "both grant the same lock");
	if (a->server == 0 && !d->told_blind[asked->node]) {
		d->told_blind[asked->node] = true;
		log_detail("blind",
			   "%s: INFO is refused: cannot tell whether it has "
			   "restarted (--restart-guard) or is the same server "
			   "as another",
			   d->peer[asked->node].name);
	}
	return 0;
}

/* Nobody has it: unless somebody was seen a moment ago. */
static void see_nobody(struct drive *d, const struct answer *a)
{
	if ((a->said == SAID_GUARDED || d->lease.conf.nodes > 1) &&
	    d->sight.seen && before(now(), after(d->sight_at, SEEN_MS)))
		return;
	d->sight = (struct sight){.lost = a->said == SAID_LOSS,
				  .guarded = a->said == SAID_GUARDED,
				  .pttl_ms = a->pttl_ms};
	d->sight_at = now();
}

static void notice_twins(struct drive *d)
{
	const int *twin = d->lease.twin;

	if (twin[1] == 0 || d->told_twins)
		return;
	d->told_twins = true;
	(void)fail(&d->why, FAIL_CONFIG,
		   "%s and %s are the same server and would count twice; name "
		   "each server once",
		   d->peer[twin[0]].name, d->peer[twin[1]].name);
	if (d->lease.end != END_REFUSED)
		log_error("twins", "%s", d->why.text);
}

/* ---- answers that count ---- */

static void accept_answer(struct drive *d, const struct ask *asked,
			  const struct answer *said);
static void take(struct drive *d, int node, int chan);

static bool is_yes(const struct ask *asked, const struct answer *a)
{
	return (asked->verb == VERB_ACQUIRE && a->said == SAID_GRANTED) ||
	       (asked->verb == VERB_CONFIRM &&
		(a->said == SAID_YES || a->said == SAID_HEALED));
}

/* Before the server is asked, so that this takes no time of its own. */
static void ask_sentinels(struct drive *d, const struct ask *ask)
{
	const struct endpoint *ep = d->peer[ask->node].ep;
	struct sentry **s = &d->sentry[ask->node];
	int64_t patience = d->lease.conf.ttl_ms / 6;

	/* (what counts on one connection has told which server that is) */
	if (ep->kind != ENDPOINT_SENTINEL || ask->verb == VERB_REPLICATE)
		return;
	if (!*s)
		*s = sentry_open(ep, &d->why);
	if (!*s)
		return;
	d->vouched[ask->node] = ask->sent;
	sentry_ask(*s, ask->sent, patience);
}

/* What is not proven will not be. What it did is not done again, but is to be
 * told. */
static struct ask forget_unproven(struct drive *d, int node, int chan)
{
	struct unproven *u = &d->unproven[node][chan];
	struct ask asked = u->ask;

	if (asked.verb != VERB_NONE)
		d->healed_once[node] |= u->answer.said == SAID_HEALED;
	u->ask.verb = VERB_NONE;
	return asked;
}

static void disprove(struct drive *d, int node, const char *text)
{
	for (int c = 0; c < CHANNELS; c++) {
		struct ask asked = forget_unproven(d, node, c);

		if (asked.verb != VERB_NONE)
			failed(d, &asked, FAIL_UNAVAILABLE, true,
			       d->peer[node].name, text);
	}
}

/* There is another master: on to that one, at once. That the old one is it
 * still is from now on believed of half of them only: see scout.h. */
static void depose(struct drive *d, int node, const struct place *heir)
{
	static const char text[] =
		"no longer the master, according to its Sentinels";

	disprove(d, node, text);
	for (int c = 0; c < CHANNELS; c++) {
		conn_leave(&d->conn[node][c], text);
		take(d, node, c);
	}
	peer_doubt(&d->peer[node]);
	peer_move(&d->peer[node], heir);
	lease_hurry(&d->lease, node, now());
}

/* The first Sentinel that knows of a new master is believed, and the others are
 * a moment behind: back to the old one only if they insist. */
static bool is_behind(struct drive *d, int node, const struct place *heir)
{
	const struct peer *p = &d->peer[node];
	int64_t patience = d->lease.conf.ttl_ms / 6;

	if (d->arrived[node] != p->moves) {
		d->arrived[node] = p->moves;
		d->arrived_at[node] = now();
	}
	if (patience > BEHIND_MS)
		patience = BEHIND_MS;
	return strcmp(heir->host, p->doubted.host) == 0 &&
	       strcmp(heir->port, p->doubted.port) == 0 &&
	       before(d->vouched[node], after(d->arrived_at[node], patience));
}

static void prove(struct drive *d, int node)
{
	const struct place *at = &d->peer[node].place;
	const struct sentry *s = d->sentry[node];
	struct place heir;
	struct fail why;

	if (!s) {
		disprove(d, node, "cannot ask the Sentinels");
		return;
	}
	if (at->host[0] != '\0' &&
	    sentry_says(s, at, d->vouched[node], &heir, &why) == SENTRY_OTHER) {
		if (is_behind(d, node, &heir))
			disprove(d, node,
				 "the new master, but not all of its Sentinels "
				 "know that yet");
		else
			depose(d, node, &heir);
		return;
	}
	for (int c = 0; c < CHANNELS; c++) {
		struct unproven u = d->unproven[node][c];

		if (u.ask.verb == VERB_NONE)
			continue;
		switch (sentry_says(s, at, u.ask.sent, &heir, &why)) {
		case SENTRY_OPEN:
		case SENTRY_OTHER: /* by then; it was asked again since */
			break;
		case SENTRY_SAME:
			d->unproven[node][c].ask.verb = VERB_NONE;
			accept_answer(d, &u.ask, &u.answer);
			break;
		case SENTRY_UNSURE:
			disprove(d, node, why.text);
			return;
		}
	}
}

static void answered(struct drive *d, const struct ask *asked,
		     const struct words *reply)
{
	struct answer answer;
	struct fail why;

	if (script_answer(asked->verb, reply, &answer, &d->sight, &why) < 0 ||
	    check_server(d, asked, &answer, &why) < 0) {
		failed(d, asked, why.kind, true, d->peer[asked->node].name,
		       why.text);
		return;
	}
	d->node_why[asked->node][0] = '\0';
	log_trace("answer", "%s: %.*s after %lld ms", d->peer[asked->node].name,
		  asked->verb == VERB_LISTEN ? 6 : (int)reply->len[0],
		  asked->verb == VERB_LISTEN ? "listen" : reply->at[0],
		  (long long)between(asked->sent, now()));
	if (d->peer[asked->node].ep->kind == ENDPOINT_SENTINEL &&
	    is_yes(asked, &answer)) {
		d->unproven[asked->node][asked->chan] =
			(struct unproven){*asked, answer};
		prove(d, asked->node);
	} else {
		accept_answer(d, asked, &answer);
	}
}

static void accept_answer(struct drive *d, const struct ask *asked,
			  const struct answer *said)
{
	struct answer answer = *said;

	/* what another server has of a lease tells nothing about clocks */
	if (is_yes(asked, &answer)) {
		if (d->credited[asked->node] != d->peer[asked->node].moves)
			answer.pttl_ms = -1;
		if (d->healed_once[asked->node] && answer.said == SAID_YES)
			answer.said = SAID_HEALED;
		d->healed_once[asked->node] = false;
		d->credited[asked->node] = d->peer[asked->node].moves;
	}
	if (answer.said == SAID_BUSY)
		d->sight_at = now();
	if (answer.said == SAID_LOSS || answer.said == SAID_GUARDED)
		see_nobody(d, &answer);
	if (asked->verb != VERB_LISTEN)
		d->asked[asked->node] = NEVER;
	if (d->lease.state != LEASE_RELEASING)
		d->why.kind = FAIL_NONE;
	if (asked->verb == VERB_REPLICATE &&
	    answer.counter < d->lease.conf.replicas)
		(void)fail(&d->why, FAIL_UNAVAILABLE,
			   "%s: %lld of %d replicas have the lock (see "
			   "--wait-replicas)",
			   d->peer[asked->node].name, (long long)answer.counter,
			   d->lease.conf.replicas);
	lease_answer(&d->lease, asked, &answer, now());
	notice_twins(d);
	tell_renewal(d, asked->node);
}

/* ---- questions ---- */

/* What nobody waits for must not be in vain: a frozen server runs it when it
 * wakes, and we are gone by then. */
static bool goes_whole(const struct drive *d, const struct ask *ask)
{
	const struct lease *l = &d->lease;

	return d->whole[ask->node] ||
	       (l->conf.nodes > 1 && ask->verb == VERB_RELEASE &&
		!l->node[ask->node].answered);
}

/* Sends it on connection `chan` of its node. */
static void send_on(struct drive *d, int chan, const struct pending *p)
{
	const struct ask *ask = &p->ask;
	struct conn *c = &d->conn[ask->node][chan];
	const struct endpoint *ep = c->peer->ep;
	struct script_scratch scratch = {0};
	struct words request;
	struct fail why;
	unsigned int before;
	int number;

	script_request(ask, &d->lease.conf, &d->keys, d->token, d->identity,
		       ep->db, &scratch, &request);
	script_tell(ask, d->entry, &request);
	if (!goes_whole(d, ask))
		script_by_hash(ask, &request);
	/* it is good for giving back what was taken on it */
	if (c->refused && ask->verb != VERB_RELEASE)
		conn_close(c);
	before = c->asked;
	number = conn_ask(c, &request);
	if (number < 0 && ep->kind == ENDPOINT_LOCAL && !d->heir &&
	    c->asked - c->taken == 1) {
		/* nobody serves the socket: start the private server */
		if (local_start(ep->path, ep->idle_ms, &why) == 0) {
			conn_close(c);
			before = c->asked;
			number = conn_ask(c, &request);
		} else {
			c->why = why;
		}
	}
	if (c->asked != before)
		d->pending[ask->node][chan][(c->asked - 1) % OWED_MAX] = *p;
	else
		failed(d, ask, c->why.kind, false, NULL, c->why.text);
	if (number < 0)
		take(d, ask->node, chan);
}

static void send_one(struct drive *d, const struct ask *ask)
{
	struct conn *c = &d->conn[ask->node][ask->chan];
	struct pending p = {.ask = *ask};

	if (ask->verb == VERB_CONFIRM)
		d->asked[ask->node] = sooner(d->asked[ask->node], ask->sent);
	/* and what it still owes */
	if (ask->fresh) {
		conn_close(c);
		(void)forget_unproven(d, ask->node, ask->chan);
	}
	ask_sentinels(d, ask);
	/* it counts what was written on its own connection */
	if (ask->verb == VERB_REPLICATE && c->state == CONN_CLOSED)
		failed(d, ask, FAIL_UNAVAILABLE, false, c->peer->name,
		       "the server closed the connection");
	else
		send_on(d, ask->chan, &p);
}

/* Nothing was asked behind it: a release is not to be overtaken. */
static bool is_last(const struct drive *d, const struct ask *asked)
{
	return d->lease.node[asked->node].chan[asked->chan].ask.seq ==
	       asked->seq;
}

/* To the node that it names, with ASKING before it, and to that one only as
 * long as its answer is awaited. */
static bool send_aside(struct drive *d, const struct pending *p,
		       const struct place *to)
{
	const struct ask *ask = &p->ask;
	struct peer *peer = &d->aside[ask->node];
	struct conn *c = &d->conn[ask->node][ASIDE];
	struct words asking = {0};

	if (c->asked != c->taken) {
		const struct pending *old =
			&d->pending[ask->node][ASIDE]
				   [(c->asked - 1) % OWED_MAX];

		if (is_last(d, &old->ask))
			return false;
		conn_close(c);
	}
	peer_follow(peer, &d->peer[ask->node], to);
	if (c->moves != peer->moves)
		conn_close(c);
	words_add_text(&asking, "ASKING");
	if (conn_ask(c, &asking) < 0) {
		conn_close(c);
		return false;
	}
	d->pending[ask->node][ASIDE][(c->asked - 1) % OWED_MAX] =
		(struct pending){.ask.verb = VERB_NONE};
	send_on(d, ASIDE, p);
	return true;
}

/* A node of a Cluster sends us elsewhere. */
static void follow(struct drive *d, int chan, const struct pending *p, bool ask,
		   const struct place *to, const char *text)
{
	const struct ask *asked = &p->ask;
	struct peer *peer = &d->peer[asked->node];
	struct conn *c = &d->conn[asked->node][chan];
	struct pending again = {.ask = *asked, .hops = p->hops + 1};
	bool listens = asked->verb == VERB_LISTEN;
	char who[sizeof(peer->shown)];

	(void)snprintf(who, sizeof(who), "%s", c->peer->name);
	again.ask.fresh = false;
	if (!ask) {
		peer_move(peer, to);
		/* what else it owes, it does not have either */
		conn_leave(c, text);
	}
	if (again.hops > HOPS_MAX || !is_last(d, asked) || (ask && listens) ||
	    (ask && !send_aside(d, &again, to)))
		failed(d, asked, FAIL_UNAVAILABLE, false, who, text);
	else if (!ask)
		d->moved[asked->node][asked->chan] = again;
}

/* ---- answers ---- */

/* In a list of servers, and not one that has been demoted meanwhile. */
static bool is_replica(const struct drive *d, const struct endpoint *ep,
		       const char *error)
{
	return d->lease.conf.nodes > 1 && !d->lease.held &&
	       ep->kind != ENDPOINT_SENTINEL && ep->kind != ENDPOINT_CLUSTER &&
	       strncmp(error, "READONLY", 8) == 0;
}

static void refused(struct drive *d, int chan, const struct pending *p,
		    const struct words *reply)
{
	const struct ask *asked = &p->ask;
	struct conn *c = &d->conn[asked->node][chan];
	struct pending again = *p;
	enum fail_kind kind;
	const char *advice;
	char text[200], line[300];
	struct place to;
	bool ask;

	(void)format_bytes(reply->at[0], reply->len[0], text, sizeof(text));
	if (error_missing(text) && p->hops < HOPS_MAX) {
		d->whole[asked->node] = true;
		again.ask.fresh = false;
		again.hops++;
		if (is_last(d, asked))
			send_on(d, chan, &again);
		return;
	}
	if (c->peer->ep->kind == ENDPOINT_CLUSTER &&
	    peer_redirected(c->peer, text, &ask, &to)) {
		follow(d, chan, p, ask, &to, text);
		return;
	}
	kind = error_kind(text, &advice);
	if (peer_astray(c->peer, text)) {
		kind = FAIL_UNAVAILABLE;
		advice = peer_astray(c->peer, text);
	}
	if (is_replica(d, c->peer->ep, text)) {
		kind = FAIL_CONFIG;
		advice = "; with several servers, each must accept writes";
	}
	d->refused |= !error_waits(text);
	(void)snprintf(line, sizeof(line), "%s%s", text, advice);
	failed(d, asked, kind, error_begun(text), c->peer->name, line);
	/* a demoted master: the name may lead to another by now */
	if (strncmp(text, "READONLY", 8) == 0) {
		conn_leave(c, text);
		peer_doubt(c->peer);
	}
}

/* By an error reply to AUTH or the like. `ran`: see conn_next(). */
static void turned_away(struct drive *d, const struct ask *asked,
			const struct conn *c, bool ran,
			const struct words *error)
{
	const char *advice;
	enum fail_kind kind = error_kind(c->why.text, &advice);
	char text[200], line[500];

	if (error && !ran)
		ran = error_begun(format_bytes(error->at[0], error->len[0],
					       text, sizeof(text)));
	(void)snprintf(line, sizeof(line), "%s%s", c->why.text, advice);
	failed(d, asked, kind, ran, c->peer->name, line);
}

static void take(struct drive *d, int node, int chan)
{
	struct conn *c = &d->conn[node][chan];
	unsigned int number;
	struct words reply;
	bool ran;

	for (;;) {
		enum conn_got got = conn_next(c, &number, &reply, &ran);
		const struct pending p = d->pending[node][chan][number];

		if (got == CONN_NOTHING)
			break;
		if (p.ask.verb == VERB_NONE)
			continue;
		if (got == CONN_REPLY && chan == ASIDE &&
		    p.ask.verb == VERB_ACQUIRE && d->lease.conf.replicas > 0)
			failed(d, &p.ask, FAIL_UNAVAILABLE, true, c->peer->name,
			       "the slot is moving; until it has moved, "
			       "--wait-replicas cannot be met");
		else if (got == CONN_REPLY)
			answered(d, &p.ask, &reply);
		else if (got == CONN_ERROR)
			refused(d, chan, &p, &reply);
		else if (got == CONN_REFUSED)
			turned_away(d, &p.ask, c, ran, &reply);
		else if (c->refused)
			turned_away(d, &p.ask, c, ran, NULL);
		else
			failed(d, &p.ask, c->why.kind, ran, NULL, c->why.text);
	}
	for (int i = 0; i < CHANNELS; i++) {
		struct pending p = d->moved[node][i];

		if (p.ask.verb == VERB_NONE)
			continue;
		d->moved[node][i].ask.verb = VERB_NONE;
		send_on(d, i, &p);
	}
}

/* What never left takes nothing, and need not be given back. */
static void forget_unsent(struct drive *d)
{
	for (int i = 0; i < d->lease.conf.nodes; i++)
		for (int k = 0; k < CHANNELS; k++) {
			struct conn *c = &d->conn[i][k];

			if (c->state == CONN_CLOSED || c->state == CONN_OPEN)
				continue;
			(void)drive_why(d); /* while it can be told */
			conn_close(c);
			lease_unsent(&d->lease, i, k);
		}
}

void drive_send(struct drive *d)
{
	struct ask ask;

	if (d->lease.state == LEASE_RELEASING && !lease_reached(&d->lease))
		forget_unsent(d);
	while (lease_next(&d->lease, now(), &ask))
		send_one(d, &ask);
}

int drive_fds(const struct drive *d)
{
	return d->lease.conf.nodes * (CONNS + 1);
}

int drive_watch(const struct drive *d, struct pollfd fds[DRIVE_FDS_MAX])
{
	int n = 0;

	for (int i = 0; i < d->lease.conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			fds[n++] = (struct pollfd){
				.fd = conn_fd(&d->conn[i][c]),
				.events = conn_events(&d->conn[i][c])};
	for (int i = 0; i < d->lease.conf.nodes; i++)
		fds[n++] = (struct pollfd){
			.fd = d->sentry[i] ? sentry_fd(d->sentry[i]) : -1,
			.events = POLLIN};
	return n;
}

void drive_serve(struct drive *d, const struct pollfd fds[DRIVE_FDS_MAX])
{
	for (int i = 0; i < d->lease.conf.nodes * CONNS; i++) {
		int node = i / CONNS, chan = i % CONNS;
		struct conn *c = &d->conn[node][chan];
		bool idle = fds[i].revents && c->asked == c->taken;

		conn_step(c, fds[i].revents);
		take(d, node, chan);
		/* cut while nobody asked: look at once what else happened */
		if (idle && c->state == CONN_CLOSED)
			lease_hurry(&d->lease, node, now());
	}
	for (int i = 0; i < d->lease.conf.nodes; i++) {
		if (d->sentry[i] &&
		    fds[d->lease.conf.nodes * CONNS + i].revents)
			sentry_step(d->sentry[i]);
		if (d->sentry[i])
			prove(d, i);
		notice_silence(d, i);
	}
	drive_send(d);
}

static void say_awaited(const struct drive *d, int node, char *buf, size_t size)
{
	const struct lease_node *n = &d->lease.node[node];
	struct fail sentinels;
	char limit[32];

	(void)snprintf(buf, size, "%s: %s within %s", d->peer[node].name,
		       is_unproven(d, node, &sentinels)
			       ? sentinels.text
			       : conn_awaits(&d->conn[node][n->good]),
		       format_duration(d->lease.conf.node_timeout_ms, limit,
				       sizeof(limit)));
}

/* How many of several answered, and what is wrong with the others. */
static void say_missing(struct drive *d)
{
	const struct lease *l = &d->lease;
	char text[sizeof(d->why.text)], one[600];
	size_t used = 0;
	int good = 0, open = lease_votes(l, VOTE_OPEN);

	for (int i = 0; i < l->conf.nodes; i++)
		good += lease_heard(l, i);
	/* those that were not waited for would be too few */
	used = (size_t)snprintf(text, sizeof(text),
				"%s%s%d of %d servers answered, %d are needed",
				d->whose, open ? "at most " : "", good + open,
				l->conf.nodes, lease_quorum(l->conf.nodes));
	for (int i = 0; i < l->conf.nodes && used < sizeof(text); i++) {
		if (lease_heard(l, i) || l->node[i].vote == VOTE_OPEN)
			continue;
		say_awaited(d, i, one, sizeof(one));
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "; %s",
			d->node_why[i][0] ? d->node_why[i] : one);
	}
	(void)fail(&d->why,
		   l->refusal != FAIL_NONE ? l->refusal : FAIL_UNAVAILABLE,
		   "%s", text);
}

const struct fail *drive_why(struct drive *d)
{
	const struct lease *l = &d->lease;
	char text[600];

	/* too few replicas */
	if (l->end == END_REFUSED && l->refusal == FAIL_UNAVAILABLE &&
	    d->why.kind != FAIL_NONE)
		return &d->why;
	if (l->conf.nodes > 1 && !d->told_twins &&
	    (l->refusal != FAIL_CONFIG || d->why.kind != FAIL_CONFIG)) {
		say_missing(d);
	} else if (d->why.kind == FAIL_NONE) {
		say_awaited(d, 0, text, sizeof(text));
		(void)fail(&d->why, FAIL_UNAVAILABLE, "%s", text);
	}
	return &d->why;
}

void drive_inherit(struct drive *d, bool ran)
{
	const struct lease_conf conf = d->lease.conf;

	/* the old connections were the parent's */
	for (int i = 0; i < conf.nodes; i++) {
		start_conns(d, i);
		d->peer[i].silent = d->aside[i].silent = 0;
		d->sentry[i] = NULL; /* likewise */
	}
	d->heir = true;
	lease_inherit(&d->lease, &conf, ran, now());
}
