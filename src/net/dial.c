/* SPDX-License-Identifier: MIT */
/* Getting connected. */
#include "net/inside.h"

static enum dial_got lost(struct dial *d, enum fail_kind kind, const char *what)
{
	(void)fail(&d->why, kind, "%s: %s", d->peer->name, what);
	return DIAL_LOST;
}

static enum dial_got lost_sys(struct dial *d, const char *what)
{
	(void)fail_sys(&d->why, FAIL_UNAVAILABLE, "%s: %s", d->peer->name,
		       what);
	return DIAL_LOST;
}

/* The nodes of a Cluster that were not tried yet. */
static bool more_nodes(struct dial *d)
{
	return d->peer->ep->kind == ENDPOINT_CLUSTER && !d->peer->fixed &&
	       ++d->nodes <= d->peer->ep->places;
}

/* Looks a name up the first time, and when every address has failed. */
static enum dial_got find(struct dial *d)
{
	bool known = peer_known(d->peer);

	d->moves = d->peer->moves;
	if (known)
		return DIAL_READY;
	d->lookup = lookup_start(&d->peer->place);
	return d->lookup ? DIAL_BUSY : lost_sys(d, "cannot look up the name");
}

static enum dial_got go_on(struct dial *d, struct stream *s)
{
	enum dial_got got = find(d);

	return got == DIAL_READY ? dial_open(d, s) : got;
}

/* Tries the addresses one by one, beginning with the one that worked last; in a
 * Cluster, then the other nodes of the URL. */
enum dial_got dial_open(struct dial *d, struct stream *s)
{
	struct peer *p = d->peer;

	for (; p->try < p->address.n; p->try++) {
		const struct sockaddr_storage *to = &p->address.at[p->try];

		if (p->ep->shared_scope && address_is_local(to))
			return lost(d, FAIL_CONFIG,
				    "an address of this machine only, which "
				    "--shared-scope does not allow");
		if (stream_open(s, (const struct sockaddr *)to,
				p->address.len[p->try]) == 0) {
			/* the name may lead elsewhere by now */
			if (p->ep->kind != ENDPOINT_LOCAL || stream_is_ours(s))
				return DIAL_OPEN;
			stream_close(s);
			return lost(d, FAIL_CONFIG,
				    "the server there belongs to another user");
		}
		stream_close(s);
	}
	if (more_nodes(d))
		return go_on(d, s);
	(void)lost_sys(d, "cannot connect");
	peer_doubt(p);
	return DIAL_LOST;
}

enum dial_got dial_next(struct dial *d, struct stream *s)
{
	stream_close(s);
	d->peer->try++;
	return dial_open(d, s);
}

/* The old addresses remain in use while the resolver fails. */
enum dial_got dial_step(struct dial *d, struct stream *s)
{
	struct address fresh = {.n = 0};
	struct fail why;
	struct peer *p = d->peer;
	int rc = lookup_take(d->lookup, &fresh, &why);

	d->lookup = NULL;
	if (rc == 0 && address_left(&p->address, &fresh))
		d->moves =
			++p->moves; /* the name leads to another server now */
	if (rc == 0 && p->first > 0) {
		address_rotate(&fresh, p->first);
		p->first = 0;
	}
	if (rc == 0)
		p->address = fresh;
	else if (p->address.n == 0 && ++p->try && more_nodes(d))
		return go_on(d, s);
	else if (p->address.n == 0)
		return lost(d, FAIL_UNAVAILABLE, why.text);
	return dial_open(d, s);
}

enum dial_got dial_start(struct dial *d)
{
	struct peer *p = d->peer;
	bool silent = peer_is_silent(p);

	d->nodes = 0;
	p->silent++;
	if (p->ep->kind == ENDPOINT_SENTINEL || silent || !peer_is_known(p))
		return DIAL_UNKNOWN;
	return find(d);
}

enum dial_got dial_found(struct dial *d, const struct place *at)
{
	struct peer *p = d->peer;
	bool known = peer_is_known(p);

	p->sought--; /* this turn was good: begin with it next time */
	if (p->ep->kind == ENDPOINT_CLUSTER && known)
		peer_leave(p, at);
	else
		peer_move(p, at);
	if (!known)
		peer_trust(p);
	/* all addresses of the same place have failed: begin anew with them */
	if (p->try >= p->address.n)
		p->try = 0;
	return find(d);
}

void dial_close(struct dial *d)
{
	lookup_abandon(d->lookup);
	d->lookup = NULL;
}
