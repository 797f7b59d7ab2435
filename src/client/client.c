/* SPDX-License-Identifier: MIT */
/* A client's life, and its connections. */
#include "client/client.h"

#include <string.h>

#include "base/units.h"
#include "client/inside.h"

static void start_conns(struct client *cl, int node)
{
	for (int c = 0; c < CONNS; c++) {
		struct session *s = &cl->session[node][c];

		session_init(s,
			     c == DETOUR ? &cl->detour[node] : &cl->peer[node]);
		s->conn.hear_out = true;
		s->has_detour = c != DETOUR;
	}
}

int client_init(struct client *cl, const struct endpoint *eps, const char *key,
		size_t key_len, const struct lease_conf *conf, struct fail *why)
{
	struct lease_conf seeded = *conf;

	cl->key = key;
	cl->key_len = key_len;
	token_generate(cl->token);
	if (keys_init(&cl->keys, key, key_len, cl->token) < 0)
		return fail_memory(why);
	(void)format_bytes(key, key_len, cl->shown_key, sizeof(cl->shown_key));
	for (int i = 0; i < conf->nodes; i++) {
		cl->asked[i] = NEVER;
		peer_init(&cl->peer[i], &eps[i]);
		start_conns(cl, i);
	}
	memcpy(&seeded.seed, cl->token, sizeof(seeded.seed));
	lease_init(&cl->lease, &seeded, now());
	return 0;
}

void client_connect(struct client *cl)
{
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		session_begin(&cl->session[i][0]);
}

void client_describe(struct client *cl, const struct holder *who)
{
	record_identity(&cl->lease.conf, who, cl->identity);
}

int client_again(struct client *cl, int64_t wait_ms, bool reached)
{
	struct lease_conf conf = cl->lease.conf;

	token_generate(cl->token);
	keys_close(&cl->keys);
	if (keys_init(&cl->keys, cl->key, cl->key_len, cl->token) < 0)
		return -1;
	/* an answer still owed there would be taken for another question's */
	for (int i = 0; i < conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			if (session_awaits(&cl->session[i][c]))
				session_close(&cl->session[i][c]);
	memcpy(&conf.seed, cl->token, sizeof(conf.seed));
	conf.wait_ms = wait_ms;
	conf.reached = reached;
	conf.guard_ms = cl->lease.guard_ms;
	for (int i = 0; i < conf.nodes; i++)
		cl->asked[i] = NEVER;
	memset(cl->unproven, 0, sizeof(cl->unproven));
	cl->why.kind = FAIL_NONE;
	memset(cl->troubled, 0, sizeof(cl->troubled));
	cl->healed = cl->stepped = 0;
	cl->renewed = (struct instant){0};
	lease_init(&cl->lease, &conf, now());
	return 0;
}

bool client_tell(struct client *cl, const struct history_entry *entry,
		 const struct granted *its)
{
	const struct lease_conf *conf = &cl->lease.conf;
	int slot = conf->slots > 1 || conf->slot_names ? its->slot : -1;

	if (strcmp(entry->outcome, "ran") != 0)
		history_ending_text(entry, cl->ending);
	if (its->joined || conf->unrecorded)
		return false;
	history_entry_text(entry, its->fence, slot, conf->slot_names,
			   cl->entry);
	return true;
}

int client_sockets(const struct client *cl, int fds[CLIENT_SOCKETS_MAX])
{
	int n = 0;

	for (int i = 0; i < cl->lease.conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			n += session_sockets(&cl->session[i][c], fds + n);
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		if (cl->sentinels[i])
			n += sentinels_sockets(cl->sentinels[i], fds + n);
	return n;
}

/* A request that was never sent takes nothing, so there is nothing to
 * release. */
static void forget_unsent(struct client *cl)
{
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		for (int k = 0; k < CHANNELS; k++) {
			struct conn *c = &cl->session[i][k].conn;

			if (c->state == CONN_CLOSED || c->state == CONN_OPEN)
				continue;
			/* while the reason is still known */
			(void)client_why(cl);
			session_close(&cl->session[i][k]);
			lease_unsent(&cl->lease, i, k);
		}
}

void client_send(struct client *cl)
{
	struct ask ask;

	if (cl->lease.state == LEASE_RELEASING && !lease_reached(&cl->lease))
		forget_unsent(cl);
	while (lease_next(&cl->lease, now(), &ask))
		exchange_ask(cl, &ask);
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		for (int c = 0; c < CHANNELS; c++)
			if (lease_hangs_up(&cl->lease, i, c))
				exchange_hang_up(cl, i, c);
}

int client_fds(const struct client *cl)
{
	return cl->lease.conf.nodes * (CONNS + 1);
}

int client_watch(const struct client *cl, struct pollfd fds[CLIENT_FDS_MAX])
{
	int n = 0;

	for (int i = 0; i < cl->lease.conf.nodes; i++)
		for (int c = 0; c < CONNS; c++)
			fds[n++] = (struct pollfd){
				.fd = session_fd(&cl->session[i][c]),
				.events = session_events(&cl->session[i][c])};
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		fds[n++] = (struct pollfd){
			.fd = cl->sentinels[i] ? sentinels_fd(cl->sentinels[i])
					       : -1,
			.events = POLLIN};
	return n;
}

void client_serve(struct client *cl, const struct pollfd fds[CLIENT_FDS_MAX])
{
	for (int i = 0; i < cl->lease.conf.nodes * CONNS; i++) {
		int node = i / CONNS, chan = i % CONNS;
		struct session *s = &cl->session[node][chan];
		bool idle = fds[i].revents && !session_awaits(s);

		session_step(s, fds[i].revents);
		exchange_take(cl, node, chan);
		/* the server closed it while idle: find out at once what else
		 * happened */
		if (idle && s->conn.state == CONN_CLOSED)
			lease_hurry(&cl->lease, node, now());
	}
	for (int i = 0; i < cl->lease.conf.nodes; i++) {
		if (cl->sentinels[i] &&
		    fds[cl->lease.conf.nodes * CONNS + i].revents)
			sentinels_step(cl->sentinels[i]);
		if (cl->sentinels[i])
			exchange_prove(cl, i);
		report_silence(cl, i);
	}
	client_send(cl);
}

/* The connections so far are another process's. */
static void start_anew(struct client *cl)
{
	for (int i = 0; i < cl->lease.conf.nodes; i++) {
		for (int c = 0; c < CONNS; c++)
			conn_forget(&cl->session[i][c].conn);
		start_conns(cl, i);
		cl->peer[i].silent = cl->detour[i].silent = 0;
		sentinels_forget(cl->sentinels[i]);
		cl->sentinels[i] = NULL;
	}
	cl->releases_only = true;
	cl->start_by = LONG_AGO;
}

void client_inherit(struct client *cl, bool ran)
{
	const struct lease_conf conf = cl->lease.conf;

	start_anew(cl);
	lease_inherit(&cl->lease, &conf, ran, now());
}

bool client_go_on(struct client *cl)
{
	bool on = lease_go_on(&cl->lease, now());

	start_anew(cl);
	return on;
}
