/* SPDX-License-Identifier: MIT */
/* Getting connected. Read conn.h first. */
#include "net/dial.h"

#include <errno.h>

static int connect_next(struct conn *c);

int dial_on(struct conn *c)
{
	stream_close(&c->stream);
	c->peer->try++;
	return connect_next(c);
}

static int refuse_local(struct conn *c)
{
	return conn_broken_by(c, FAIL_CONFIG,
			      "an address of this machine only, which "
			      "--shared-scope does not allow");
}

/* The nodes of a Cluster that were not tried yet. */
static bool more_nodes(struct conn *c)
{
	return c->peer->ep->kind == ENDPOINT_CLUSTER && !c->peer->fixed &&
	       ++c->nodes <= c->peer->ep->places;
}

static int go_on(struct conn *c);

/* Tries the addresses one by one, beginning with the one that worked last; in a
 * Cluster, then the other nodes of the URL. */
static int connect_next(struct conn *c)
{
	struct peer *p = c->peer;

	for (; p->try < p->address.n; p->try++) {
		const struct sockaddr_storage *to = &p->address.at[p->try];

		if (p->ep->shared_scope && address_is_local(to))
			return refuse_local(c);
		c->state = CONN_CONNECTING;
		if (stream_open(&c->stream, (const struct sockaddr *)to,
				p->address.len[p->try]) < 0) {
			stream_close(&c->stream);
			continue;
		}
		/* (loads OpenSSL only once connected: by then the guard is
		 * forked, and does not have it) */
		return p->ep->tls ? 0 : conn_flush(c);
	}
	if (more_nodes(c))
		return go_on(c);
	(void)conn_broken_sys(c, "cannot connect");
	peer_doubt(p);
	return -1;
}

/* The old addresses remain in use while the resolver fails. */
static int resolved(struct conn *c)
{
	struct address fresh = {.n = 0};
	struct fail why;
	struct peer *p = c->peer;
	int rc = lookup_take(c->lookup, &fresh, &why);

	c->lookup = NULL;
	if (rc == 0 && address_left(&p->address, &fresh))
		c->moves =
			++p->moves; /* the name leads to another server now */
	if (rc == 0)
		p->address = fresh;
	else if (p->address.n == 0 && ++p->try && more_nodes(c))
		return go_on(c);
	else if (p->address.n == 0)
		return conn_broken_by(c, FAIL_UNAVAILABLE, why.text);
	return connect_next(c);
}

/* Looks a name up the first time, and when every address has failed. */
static int find(struct conn *c)
{
	bool known = peer_known(c->peer);

	c->moves = c->peer->moves;
	if (known) {
		c->state = CONN_CONNECTING;
		return 0;
	}
	c->lookup = lookup_start(&c->peer->place);
	if (!c->lookup)
		return conn_broken_sys(c, "cannot look up the name");
	c->state = CONN_RESOLVING;
	return 0;
}

static int go_on(struct conn *c)
{
	if (find(c) < 0)
		return -1;
	return c->state == CONN_CONNECTING ? connect_next(c) : 0;
}

static int seek(struct conn *c)
{
	bool known = peer_is_known(c->peer);
	struct place found;
	struct fail why;

	switch (scout_step(c->scout, &found, &why)) {
	case SCOUT_SEEKING:
		return 0;
	case SCOUT_LOST:
		(void)conn_broken_by(c, why.kind, why.text);
		c->misled = !known;
		if (!known)
			peer_return(c->peer);
		return -1;
	case SCOUT_FOUND:
		break;
	}
	scout_close(c->scout);
	c->scout = NULL;
	peer_move(c->peer, &found);
	if (!known)
		peer_trust(c->peer);
	c->peer->try = 0;
	return find(c);
}

static int connected(struct conn *c)
{
	if (stream_connected(&c->stream) < 0)
		return dial_on(c);
	c->state = CONN_OPEN;
	if (c->peer->ep->tls &&
	    stream_secure(&c->stream, &c->peer->ep->tls_conf,
			  c->peer->place.host, &c->why) < 0)
		return conn_broken(c);
	return conn_flush(c);
}

int dial_start(struct conn *c)
{
	struct peer *p = c->peer;
	bool silent = peer_is_silent(p);

	c->nodes = 0;
	c->state = CONN_RESOLVING; /* from now on it counts as silent */
	p->silent++;
	if (p->ep->kind != ENDPOINT_SENTINEL && !silent && peer_is_known(p))
		return find(c);
	c->state = CONN_SEEKING;
	c->scout = scout_start(p, &c->why);
	if (!c->scout)
		return conn_broken(c);
	return seek(c);
}

int dial_now(struct conn *c)
{
	return connect_next(c);
}

int dial_step(struct conn *c)
{
	if (c->state == CONN_SEEKING)
		return seek(c) < 0                   ? -1
		       : c->state == CONN_CONNECTING ? connect_next(c)
						     : 0;
	return c->state == CONN_RESOLVING ? resolved(c) : connected(c);
}
