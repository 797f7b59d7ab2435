/* SPDX-License-Identifier: MIT */
/* Where a node is now. */
#include "net/peer.h"

#include <stdio.h>
#include <string.h>

#include "net/place.h"

/* Messages about a server that others led us to include its own address. */
static void set_name(struct peer *p)
{
	bool v6 = strchr(p->place.host, ':') != NULL;
	const char *group =
		p->ep->kind == ENDPOINT_SENTINEL ? p->ep->group : "";

	p->name = p->shown;
	(void)snprintf(p->shown, sizeof(p->shown), "%s%s%s%s%s:%s", group,
		       group[0] ? " at " : "", v6 ? "[" : "", p->place.host,
		       v6 ? "]" : "", p->place.port);
}

void peer_init(struct peer *p, const struct endpoint *ep)
{
	p->ep = ep;
	p->name = ep->name;
	if (ep->kind == ENDPOINT_TCP || ep->kind == ENDPOINT_CLUSTER)
		p->place = ep->at[0];
	if (ep->kind == ENDPOINT_CLUSTER) {
		p->next = 1;
		set_name(p);
	}
}

void peer_init_at(struct peer *p, const struct endpoint *cluster,
		  const struct place *at)
{
	p->ep = cluster;
	p->fixed = true;
	p->place = *at;
	set_name(p);
}

static void go_to(struct peer *p, const struct place *to)
{
	p->place = *to;
	p->address.n = 0;
	p->try = 0;
	p->moves++;
	set_name(p);
}

void peer_move(struct peer *p, const struct place *to)
{
	if (!place_same(to, &p->place))
		go_to(p, to);
}

void peer_leave(struct peer *p, const struct place *to)
{
	if (place_same(to, &p->place))
		return;
	p->unheard = p->place;
	go_to(p, to);
}

void peer_follow(struct peer *p, const struct peer *other,
		 const struct place *to)
{
	if (!p->ep)
		peer_init(p, other->ep);
	memcpy(p->trusted, other->trusted, sizeof(p->trusted));
	p->trusts = other->trusts;
	peer_move(p, to);
}

static bool is_among(const struct place *each, int n, const struct place *at)
{
	for (int i = 0; i < n; i++)
		if (place_same(&each[i], at))
			return true;
	return false;
}

static int trusts(const struct peer *p)
{
	return p->trusts < TRUSTED_MAX ? p->trusts : TRUSTED_MAX;
}

bool peer_is_known(const struct peer *p)
{
	return p->ep->kind != ENDPOINT_CLUSTER || p->fixed ||
	       is_among(p->ep->at, p->ep->places, &p->place) ||
	       is_among(p->trusted, trusts(p), &p->place);
}

void peer_trust(struct peer *p)
{
	if (!peer_is_known(p))
		p->trusted[p->trusts++ % TRUSTED_MAX] = p->place;
}

void peer_return(struct peer *p)
{
	go_to(p, &p->ep->at[p->next++ % p->ep->places]);
}

int peer_known_nodes(const struct peer *p, struct place out[KNOWN_NODES_MAX])
{
	int n = 0;

	for (int i = 0; i < p->ep->places; i++)
		out[n++] = p->ep->at[i];
	for (int i = 0; i < trusts(p); i++)
		out[n++] = p->trusted[i];
	return n;
}

void peer_doubt(struct peer *p)
{
	p->try = p->address.n;
	p->doubted = p->place;
}

bool peer_next(struct peer *p)
{
	if (p->try + 1 >= p->address.n)
		return false;
	p->try++;
	return true;
}

void peer_turn(struct peer *p)
{
	if (!peer_next(p))
		p->try = 0;
}

bool peer_has_nodes(const struct peer *p)
{
	return p->ep->kind == ENDPOINT_CLUSTER && !p->fixed &&
	       p->ep->places > 1;
}

bool peer_has_other(const struct peer *p)
{
	return peer_has_nodes(p) || p->try + 1 < p->address.n;
}

bool peer_asks_names(const struct peer *p)
{
	struct address any;

	for (int i = 0; p->ep->kind == ENDPOINT_SENTINEL && i < p->ep->places;
	     i++)
		if (!address_fixed(&any, p->ep, &p->ep->at[i]))
			return true;
	return false;
}

/* (Of a Cluster, another node is asked that the URL names.) */
bool peer_pass(struct peer *p)
{
	if (!peer_has_nodes(p) && peer_next(p))
		return true;
	peer_doubt(p);
	return false;
}

bool peer_is_silent(const struct peer *p)
{
	bool doubted = p->try > 0 && p->try >= p->address.n;

	return peer_has_nodes(p) && (doubted || p->silent > 0);
}

bool peer_known(struct peer *p)
{
	/* another connection hears nothing at this address */
	if (p->silent > 1 && p->try + 1 < p->address.n)
		p->try++;
	if (p->try < p->address.n)
		return true;
	if (p->ep->kind == ENDPOINT_CLUSTER && !p->fixed && p->try > 0) {
		p->unheard = p->place;
		go_to(p, &p->ep->at[p->next++ % p->ep->places]);
	}
	p->try = 0;
	return address_fixed(&p->address, p->ep, &p->place);
}

static bool is_redirection(const char *error)
{
	return strncmp(error, "ASK ", 4) == 0 ||
	       strncmp(error, "MOVED ", 6) == 0;
}

bool peer_redirected(const struct peer *p, const char *error, bool *ask,
		     struct place *to)
{
	const char *at, *colon;
	struct span host;

	*ask = error[0] == 'A';
	if (!is_redirection(error))
		return false;
	at = strchr(error, ' ') + 1;
	at += strspn(at, "0123456789");
	if (*at++ != ' ')
		return false;
	colon = strrchr(at, ':');
	if (!colon)
		return false;
	host = (struct span){at, (size_t)(colon - at)};
	if (host.n == 0)
		host = (struct span){p->place.host, strlen(p->place.host)};
	return place_told(to, host,
			  (struct span){colon + 1, strlen(colon + 1)}) == 0;
}

const char *peer_not_followed(const struct peer *p, const char *error)
{
	struct place to;
	bool ask;

	if (p->ep->kind != ENDPOINT_CLUSTER || !is_redirection(error))
		return NULL;
	if (strstr(error, " ?:"))
		return "the Cluster does not tell the address of that node "
		       "(cluster-announce-hostname, or "
		       "cluster-preferred-endpoint-type ip)";
	if (!peer_redirected(p, error, &ask, &to))
		return "not a host and port";
	if (!place_same(&to, &p->unheard))
		return "too many redirections";
	return strspn(to.host, "0123456789.") == strlen(to.host) ||
			       strchr(to.host, ':')
		       ? "that node cannot be reached"
		       : "that node cannot be reached: is it down, or is its "
			 "name unknown here (cluster-announce-hostname)?";
}
