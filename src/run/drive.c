/* SPDX-License-Identifier: MIT */
/* Between the lease and the connections. */
#include "run/drive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "lock/timing.h"
#include "run/local.h"

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
	script_standing(conf, who, d->standing);
	d->asked = NEVER;
	for (int i = 0; i < conf->nodes; i++) {
		d->peer[i].ep = &eps[i];
		for (int c = 0; c < CHANNELS; c++)
			conn_init(&d->conn[i][c], &d->peer[i]);
	}
	memcpy(&seeded.seed, d->token, sizeof(seeded.seed));
	lease_init(&d->lease, &seeded, now());
	return 0;
}

void drive_close(struct drive *d)
{
	for (int i = 0; i < NODES_MAX; i++)
		for (int c = 0; c < CHANNELS && d->peer[i].ep; c++)
			conn_close(&d->conn[i][c]);
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
		for (int c = 0; c < CHANNELS; c++)
			if (d->conn[i][c].asked != d->conn[i][c].taken)
				conn_close(&d->conn[i][c]);
	memcpy(&conf.seed, d->token, sizeof(conf.seed));
	conf.wait_ms = wait_ms;
	conf.reached = lease_reached(&d->lease);
	d->asked = NEVER;
	d->why.kind = FAIL_NONE;
	d->troubled = false;
	d->healed = d->stepped = 0;
	lease_init(&d->lease, &conf, now());
	return 0;
}

int drive_sockets(const struct drive *d, int fds[DRIVE_FDS_MAX])
{
	int n = 0;

	for (int i = 0; i < d->lease.conf.nodes; i++)
		for (int c = 0; c < CHANNELS; c++)
			if (conn_fd(&d->conn[i][c]) >= 0)
				fds[n++] = conn_fd(&d->conn[i][c]);
	return n;
}

/* Held: the first failure and the recovery are worth a line each. */
static void tell_trouble(struct drive *d)
{
	if (d->lease.state != LEASE_HELD || d->troubled) {
		log_detail("trouble", "%s", d->why.text);
		return;
	}
	d->troubled = true;
	log_notice("not-renewed", "%scannot renew: %s; trying on", d->whose,
		   d->why.text);
}

static void tell_renewal(struct drive *d)
{
	const struct lease *l = &d->lease;

	if (d->troubled && l->state == LEASE_HELD)
		log_notice("renewed", "%srenewed again", d->whose);
	d->troubled = false;
	if (l->healed != d->healed)
		log_notice("healed",
			   "%sthe lock had vanished and was set again: deleted "
			   "by hand, evicted (see maxmemory-policy), flushed, "
			   "or lost in a restart; no other redlock had it",
			   d->whose);
	if (l->stepped != d->stepped)
		log_notice("clock-step",
			   "the lease was shorter than asked: the server's "
			   "clock was set forward; renewing four times as "
			   "often for an hour");
	d->healed = l->healed;
	d->stepped = l->stepped;
}

/* A question that is never answered fails nowhere. */
static void notice_silence(struct drive *d)
{
	const struct lease *l = &d->lease;
	struct instant at = now(), stamp = lease_stamp(l);
	char age[32];

	if (l->state != LEASE_HELD || d->troubled || d->asked.ms == NEVER.ms ||
	    before(at, timing_start(stamp, l->conf.ttl_ms)) ||
	    before(at, timing_renew(d->asked, l->conf.ttl_ms)))
		return;
	(void)fail(&d->why, FAIL_UNAVAILABLE, "%s: no answer for %s",
		   d->peer[0].ep->name,
		   format_duration(between(stamp, at), age, sizeof(age)));
	tell_trouble(d);
}

static void failed(struct drive *d, const struct ask *asked,
		   enum fail_kind kind, bool ran, const char *text)
{
	const struct endpoint *ep = d->peer[asked->node].ep;

	/* a fault told by the connection names the node already */
	if (strncmp(text, ep->name, strlen(ep->name)) == 0)
		(void)fail(&d->why, kind, "%s", text);
	else
		(void)fail(&d->why, kind, "%s: %s%s", ep->name, d->whose, text);
	if (asked->verb != VERB_LISTEN)
		tell_trouble(d);
	else if (kind != FAIL_UNAVAILABLE && !d->told_deaf) {
		d->told_deaf = true;
		log_notice("deaf",
			   "the server does not let us listen (BLPOP): %s; "
			   "looking four times a second instead",
			   d->why.text);
	}
	lease_failed(&d->lease, asked, kind, ran, now());
}

static void answered(struct drive *d, const struct ask *asked,
		     const struct words *reply)
{
	struct answer answer;
	struct fail why;

	if (script_answer(asked->verb, reply, &answer, &d->sight, &why) < 0) {
		failed(d, asked, why.kind, true, why.text);
		return;
	}
	log_detail("answer", "%s: %.*s after %lld ms",
		   d->peer[asked->node].ep->name,
		   asked->verb == VERB_LISTEN ? 6 : (int)reply->len[0],
		   asked->verb == VERB_LISTEN ? "listen" : reply->at[0],
		   (long long)between(asked->sent, now()));
	if (answer.said == SAID_BUSY)
		d->sight_at = now();
	if (answer.said == SAID_LOSS)
		d->sight = (struct sight){.lost = true};
	if (asked->verb != VERB_LISTEN)
		d->asked = NEVER;
	if (d->lease.state != LEASE_RELEASING)
		d->why.kind = FAIL_NONE;
	lease_answer(&d->lease, asked, &answer, now());
	tell_renewal(d);
}

static void send_one(struct drive *d, const struct ask *ask);

/* Again, whole, unless something else was asked behind it: a release is not to
 * be overtaken. */
static void send_whole(struct drive *d, const struct ask *asked)
{
	struct ask again = *asked;

	d->whole = true;
	again.fresh = false;
	if (d->lease.node[asked->node].chan[asked->chan].ask.seq == asked->seq)
		send_one(d, &again);
}

static void refused(struct drive *d, struct conn *c, const struct ask *asked,
		    const struct words *reply)
{
	enum fail_kind kind;
	const char *advice;
	char text[200], line[300];

	(void)format_bytes(reply->at[0], reply->len[0], text, sizeof(text));
	if (script_missing(text)) {
		send_whole(d, asked);
		return;
	}
	kind = script_error(text, &advice);
	(void)snprintf(line, sizeof(line), "%s%s", text, advice);
	failed(d, asked, kind, kind == FAIL_REFUSED, line);
	/* a demoted master: the name may lead to another by now */
	if (strncmp(text, "READONLY", 8) == 0 && c->asked == c->taken) {
		conn_close(c);
		c->peer->try = c->peer->address.n;
	}
}

static void take(struct drive *d, int node, int chan)
{
	struct conn *c = &d->conn[node][chan];
	const char *advice;
	unsigned int number;
	struct words reply;
	bool ran;

	for (;;) {
		enum conn_got got = conn_next(c, &number, &reply, &ran);
		const struct ask asked = d->asks[node][chan][number];

		switch (got) {
		case CONN_NOTHING:
			return;
		case CONN_REPLY:
			answered(d, &asked, &reply);
			break;
		case CONN_ERROR:
			refused(d, c, &asked, &reply);
			break;
		case CONN_BROKEN:
			failed(d, &asked,
			       c->refused ? script_error(c->why.text, &advice)
					  : c->why.kind,
			       ran, c->why.text);
			break;
		}
	}
}

static void send_one(struct drive *d, const struct ask *ask)
{
	struct conn *c = &d->conn[ask->node][ask->chan];
	const struct endpoint *ep = d->peer[ask->node].ep;
	struct script_scratch scratch = {0};
	struct words request;
	struct fail why;
	unsigned int before;
	int number;

	script_request(ask, &d->lease.conf, &d->keys, d->token, d->standing,
		       ep->db, &scratch, &request);
	if (!d->whole)
		script_by_hash(ask, &request);
	if (ask->verb == VERB_CONFIRM)
		d->asked = sooner(d->asked, ask->sent);
	if (ask->fresh)
		conn_close(c); /* and what it still owes */
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
		d->asks[ask->node][ask->chan][(c->asked - 1) % OWED_MAX] = *ask;
	else
		failed(d, ask, c->why.kind, false, c->why.text);
	if (number < 0)
		take(d, ask->node, ask->chan);
}

void drive_send(struct drive *d)
{
	struct ask ask;

	while (lease_next(&d->lease, now(), &ask))
		send_one(d, &ask);
}

int drive_watch(const struct drive *d, struct pollfd fds[DRIVE_FDS_MAX])
{
	int n = 0;

	for (int i = 0; i < d->lease.conf.nodes; i++)
		for (int c = 0; c < CHANNELS; c++)
			fds[n++] = (struct pollfd){
				.fd = conn_fd(&d->conn[i][c]),
				.events = conn_events(&d->conn[i][c])};
	return n;
}

void drive_serve(struct drive *d, const struct pollfd fds[DRIVE_FDS_MAX])
{
	for (int i = 0; i < d->lease.conf.nodes * CHANNELS; i++) {
		int node = i / CHANNELS, chan = i % CHANNELS;
		struct conn *c = &d->conn[node][chan];
		bool idle = fds[i].revents && c->asked == c->taken;

		conn_step(c, fds[i].revents);
		take(d, node, chan);
		/* cut while nobody asked: look at once what else happened */
		if (idle && c->state == CONN_CLOSED)
			lease_hurry(&d->lease, now());
	}
	notice_silence(d);
	drive_send(d);
}

const struct fail *drive_why(struct drive *d)
{
	char limit[32];

	if (d->why.kind == FAIL_NONE)
		(void)fail(&d->why, FAIL_UNAVAILABLE, "%s: no answer within %s",
			   d->peer[0].ep->name,
			   format_duration(d->lease.conf.node_timeout_ms, limit,
					   sizeof(limit)));
	return &d->why;
}

void drive_inherit(struct drive *d, bool ran)
{
	const struct lease_conf conf = d->lease.conf;

	/* the old connections were the parent's */
	for (int i = 0; i < conf.nodes; i++)
		for (int c = 0; c < CHANNELS; c++)
			conn_init(&d->conn[i][c], &d->peer[i]);
	d->heir = true;
	lease_inherit(&d->lease, &conf, ran, now());
}
