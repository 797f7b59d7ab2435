/* SPDX-License-Identifier: MIT */
/* Several servers asked at once. */
#include "net/member.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/units.h"

/* ---- asking ---- */

void member_endpoint(const struct endpoint *group, const struct place *at,
		     struct endpoint *out)
{
	bool v6 = strchr(at->host, ':') != NULL;
	bool cluster = group->kind == ENDPOINT_CLUSTER;

	*out = (struct endpoint){.kind = ENDPOINT_TCP,
				 .tls = cluster ? group->tls
						: group->sentinel_tls,
				 .tls_conf = group->tls_conf,
				 .shared_scope = group->shared_scope,
				 .at[0] = *at,
				 .places = 1};
	(void)snprintf(out->name, sizeof(out->name), v6 ? "[%s]:%s" : "%s:%s",
		       at->host, at->port);
	if (!cluster)
		out->secret = group->sentinel;
}

int members_open(struct members *all, struct fail *why)
{
	all->n = 0;
	all->epoll = epoll_create1(EPOLL_CLOEXEC);
	return all->epoll >= 0 ? 0
			       : fail_sys(why, FAIL_INTERNAL,
					  "cannot create an epoll instance");
}

void members_close(struct members *all)
{
	for (int i = 0; i < all->n; i++)
		conn_close(&all->at[i]->conn);
	close(all->epoll);
}

void members_add(struct members *all, struct member *m)
{
	peer_init(&m->peer, &m->ep);
	conn_init(&m->conn, &m->peer);
	all->at[all->n++] = m;
}

int member_ask(struct member *m, const char *a, const char *b, const char *c)
{
	const char *const each[] = {a, b, c};
	struct words question = {0};

	for (int i = 0; i < 3 && each[i]; i++)
		words_add_text(&question, each[i]);
	return conn_ask(&m->conn, &question);
}

void members_watch(const struct members *all, struct member *m)
{
	struct epoll_event e = {.events = (uint32_t)conn_events(&m->conn),
				.data.ptr = m};
	int fd = conn_fd(&m->conn);

	/* (a descriptor leaves the set when it is closed) */
	if (fd >= 0 && epoll_ctl(all->epoll, EPOLL_CTL_MOD, fd, &e) < 0 &&
	    errno == ENOENT)
		(void)epoll_ctl(all->epoll, EPOLL_CTL_ADD, fd, &e);
}

int members_step(const struct members *all, struct member *out[MEMBERS_MAX])
{
	struct epoll_event came[MEMBERS_MAX];
	int n = epoll_wait(all->epoll, came, MEMBERS_MAX, 0);

	for (int i = 0; i < n; i++) {
		out[i] = came[i].data.ptr;
		conn_step(&out[i]->conn, (short)came[i].events);
	}
	return n > 0 ? n : 0;
}

int members_sockets(const struct members *all, int fds[MEMBER_FDS_MAX])
{
	int n = 0;

	fds[n++] = all->epoll;
	for (int i = 0; i < all->n; i++)
		if (conn_fd(&all->at[i]->conn) >= 0)
			fds[n++] = conn_fd(&all->at[i]->conn);
	return n;
}

/* ---- what they say ---- */

int member_ask_master(struct member *m, const char *group)
{
	return member_ask(m, "SENTINEL", "get-master-addr-by-name", group);
}

int member_master(struct place *p, const struct words *reply)
{
	if (reply->n != 2)
		return -1;
	return place_told(p, (struct span){reply->at[0], reply->len[0]},
			  (struct span){reply->at[1], reply->len[1]});
}

static struct span field_of(const struct reply *r, const char *name)
{
	for (size_t i = 0; i + 1 < r->items; i += 2)
		if (strcmp(reply_item(r, i)->bytes, name) == 0)
			return (struct span){reply_item(r, i + 1)->bytes,
					     reply_item(r, i + 1)->len};
	return (struct span){"", 0};
}

int member_sentinels(const struct reply *r, uint64_t id[MEMBER_SENTINELS],
		     struct place at[MEMBER_SENTINELS])
{
	if (!reply_is(r, "[[s*]*]"))
		return -1;
	for (size_t i = 0; i < r->items && i < MEMBER_SENTINELS; i++) {
		const struct reply *its = reply_item(r, i);
		struct span name = field_of(its, "runid");

		id[i] = hash_bytes(name.at, name.n);
		if (place_told(&at[i], field_of(its, "ip"),
			       field_of(its, "port")) < 0)
			at[i].host[0] = '\0';
	}
	return (int)at_most((int64_t)r->items, INT_MAX - 1);
}

int member_in_range(const struct reply *range, size_t n, const char *here,
		    struct place *at)
{
	/* {first, last, {host, port, ...} of the primary, ... of replicas} */
	const struct reply *node = reply_item(range, 2 + n);
	const struct reply *host = reply_item(node, 0);
	const struct reply *port = reply_item(node, 1);
	struct span name = {host->bytes, host->len};

	if (name.n == 0)
		name = (struct span){here, strlen(here)};
	return place_told(at, name, (struct span){port->bytes, port->len});
}

bool member_in_slots(const struct reply *r, const char *here,
		     const struct place *wanted)
{
	struct place at;

	for (size_t i = 0; i < r->items; i++)
		for (size_t n = 0; n + 2 < reply_item(r, i)->items; n++)
			if (member_in_range(reply_item(r, i), n, here, &at) ==
				    0 &&
			    place_same(&at, wanted))
				return true;
	return false;
}

static bool names(struct span host, struct span port,
		  const struct place *wanted)
{
	struct place p;

	return place_told(&p, host, port) == 0 && place_same(&p, wanted);
}

/* "ID HOST:PORT@BUS,NAME,... FLAGS ...": by its address or its name. */
static bool is_in_line(struct span line, const struct place *wanted)
{
	struct span at, port, host, name;

	(void)span_cut(&line, ' ');
	at = span_cut(&line, ' ');
	host = span_cut(&at, '@');
	(void)span_cut(&at, ',');
	name = span_cut(&at, ',');
	port = host;
	while (memchr(port.at, ':', port.n))
		(void)span_cut(&port, ':');
	if (port.n == host.n)
		return false;
	host.n -= port.n + 1;
	return names(host, port, wanted) || names(name, port, wanted);
}

bool member_in_nodes(const struct reply *r, const struct place *wanted)
{
	struct span rest = {r->bytes, r->len};

	while (rest.n > 0)
		if (is_in_line(span_cut(&rest, '\n'), wanted))
			return true;
	return false;
}
