/* SPDX-License-Identifier: MIT */
/* One conversation with one node. */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

void conn_init(struct conn *c, struct peer *peer)
{
	memset(c, 0, sizeof(*c));
	c->peer = peer;
	c->fd = -1;
}

static void drop(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	lookup_abandon(c->lookup);
	resp_close(c->reader);
	c->fd = -1;
	c->lookup = NULL;
	c->reader = NULL;
	c->greetings = 0;
	c->state = CONN_CLOSED;
}

void conn_close(struct conn *c)
{
	/* given up while connecting: this address may be a black hole */
	if (c->state == CONN_CONNECTING)
		c->peer->try++;
	drop(c);
	free(c->out);
	conn_init(c, c->peer);
}

/* The cause stays in `why`; conn_next() then reports what was owed. */
static int broken(struct conn *c)
{
	drop(c);
	return -1;
}

static int broken_by(struct conn *c, const char *what)
{
	(void)fail(&c->why, FAIL_UNAVAILABLE, "%s: %s", c->peer->ep->name,
		   what);
	return broken(c);
}

static int broken_sys(struct conn *c, const char *what)
{
	(void)fail_sys(&c->why, FAIL_UNAVAILABLE, "%s: %s", c->peer->ep->name,
		       what);
	return broken(c);
}

static int queue(struct conn *c, const struct words *w)
{
	char *bytes = NULL;
	long n = resp_format(w, &bytes);

	if (n < 0)
		return broken_by(c, "out of memory");
	if (c->used + (size_t)n > c->room) {
		size_t room = (c->used + (size_t)n) * 2;
		char *more = realloc(c->out, room);

		if (!more) {
			resp_free(bytes);
			return broken_by(c, "out of memory");
		}
		c->out = more;
		c->room = room;
	}
	memcpy(c->out + c->used, bytes, (size_t)n);
	c->used += (size_t)n;
	resp_free(bytes);
	return 0;
}

/* AUTH and SELECT travel ahead of the first question, in the same send. */
static int greet(struct conn *c)
{
	const struct endpoint *ep = c->peer->ep;
	char password[PASSWORD_MAX], db[12];
	struct words w = {0};
	bool has;

	if (secret_password(&ep->secret, password, &has, &c->why) < 0) {
		c->refused = true;
		return broken(c);
	}
	if (has) {
		words_add_text(&w, "AUTH");
		if (ep->secret.user[0] != '\0')
			words_add_text(&w, ep->secret.user);
		words_add_text(&w, password);
		if (queue(c, &w) < 0)
			return -1;
		c->greetings++;
	}
	if (ep->db != 0) {
		(void)snprintf(db, sizeof(db), "%d", ep->db);
		w = (struct words){0};
		words_add_text(&w, "SELECT");
		words_add_text(&w, db);
		if (queue(c, &w) < 0)
			return -1;
		c->greetings++;
	}
	return 0;
}

static int connect_next(struct conn *c);

static int give_address_up(struct conn *c)
{
	int saved = errno;

	close(c->fd);
	c->fd = -1;
	c->peer->try++;
	errno = saved;
	return connect_next(c);
}

/* A server may close while we write: that must not be a signal. */
static int flush(struct conn *c)
{
	while (c->sent < c->used) {
		ssize_t n = send(c->fd, c->out + c->sent, c->used - c->sent,
				 MSG_NOSIGNAL);

		/* ENOTCONN: still connecting, as poll(2) will tell */
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK ||
			      errno == EINTR || errno == ENOTCONN))
			return 0;
		if (n < 0 && errno == EPIPE && c->state == CONN_CONNECTING) {
			/* turned away at the door: it may have said why */
			c->state = CONN_OPEN;
			c->sent = c->used;
			return 0;
		}
		if (n < 0 && c->state == CONN_CONNECTING)
			return give_address_up(c);
		if (n < 0)
			return broken_sys(c, "connection lost");
		c->sent += (size_t)n;
		c->state = CONN_OPEN;
	}
	return 0;
}

static int open_socket(struct conn *c)
{
	const struct address *a = &c->peer->address;
	int family = a->at[c->peer->try].ss_family;
	int one = 1;

	c->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -1;
	if (family != AF_UNIX)
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
	c->state = CONN_CONNECTING;
	if (connect(c->fd, (const struct sockaddr *)&a->at[c->peer->try],
		    a->len[c->peer->try]) < 0 &&
	    errno != EINPROGRESS)
		return -1;
	return 0;
}

/* From the address that worked last, one after the other. */
static int connect_next(struct conn *c)
{
	int saved = errno;

	if (c->peer->try < c->peer->address.n) {
		if (open_socket(c) == 0)
			return flush(c);
		if (c->fd >= 0)
			return give_address_up(c);
		saved = errno;
	}
	errno = saved;
	return broken_sys(c, "cannot connect");
}

/* The old answer serves on while the resolver is out. */
static int resolved(struct conn *c)
{
	struct address fresh = {.n = 0};
	struct fail why;
	int rc = lookup_take(c->lookup, &fresh, &why);

	c->lookup = NULL;
	if (rc == 0)
		c->peer->address = fresh;
	else if (c->peer->address.n == 0)
		return broken_by(c, why.text);
	c->state = CONN_CONNECTING;
	return connect_next(c);
}

/* Begins a connection; nothing is sent before the first question is queued.
 * A name is looked up the first time, and when every address has failed. */
static int conn_open(struct conn *c)
{
	struct peer *p = c->peer;
	bool all_failed = p->try >= p->address.n;

	c->used = c->sent = 0;
	c->refused = false;
	c->reader = resp_open();
	if (!c->reader)
		return broken_by(c, "out of memory");
	if (greet(c) < 0)
		return -1;
	c->state = CONN_CONNECTING;
	if (!all_failed)
		return 0;
	p->try = 0;
	if (address_fixed(&p->address, p->ep))
		return 0;
	c->lookup = lookup_start(p->ep);
	if (!c->lookup)
		return broken_sys(c, "cannot look the name up");
	c->state = CONN_RESOLVING;
	return 0;
}

int conn_ask(struct conn *c, const struct words *question)
{
	bool opened = c->state == CONN_CLOSED;

	if (c->asked - c->taken >= OWED_MAX)
		return broken_by(c, "too many questions unanswered");
	/* what the old connection owed must be taken before a new one opens */
	assert(!opened || c->asked == c->taken);
	if (opened && conn_open(c) < 0)
		return -1;
	c->starts[c->asked++ % OWED_MAX] = c->used;
	if (queue(c, question) < 0)
		return -1;
	if (opened && c->state == CONN_CONNECTING) {
		if (connect_next(c) < 0)
			return -1;
	} else if (c->state != CONN_RESOLVING && flush(c) < 0) {
		return -1;
	}
	return (int)((c->asked - 1) % OWED_MAX);
}

int conn_fd(const struct conn *c)
{
	return c->state == CONN_RESOLVING ? lookup_fd(c->lookup) : c->fd;
}

short conn_events(const struct conn *c)
{
	if (c->state == CONN_RESOLVING)
		return POLLIN;
	if (c->state == CONN_CONNECTING)
		return POLLOUT;
	return c->sent < c->used ? POLLIN | POLLOUT : POLLIN;
}

static int connected(struct conn *c)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	    error == 0) {
		c->state = CONN_OPEN;
		return flush(c);
	}
	errno = error;
	return give_address_up(c);
}

static int receive(struct conn *c)
{
	char bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return broken_sys(c, "connection lost");
	if (n == 0)
		return broken_by(c, "the server closed the connection");
	if (resp_feed(c->reader, bytes, (size_t)n) < 0)
		return broken_by(c, "too long a reply");
	return 0;
}

void conn_step(struct conn *c, short revents)
{
	if (revents == 0 || c->state == CONN_CLOSED)
		return;
	if (c->state == CONN_RESOLVING)
		(void)resolved(c);
	else if (c->state == CONN_CONNECTING)
		(void)connected(c);
	else if (revents & POLLOUT && flush(c) < 0)
		return;
	if (c->state == CONN_OPEN && revents & (POLLIN | POLLHUP | POLLERR))
		(void)receive(c);
}

/* An error reply to AUTH or SELECT ends the connection: what came behind it
 * was refused, or would go to another database. */
static void greeting_failed(struct conn *c, const struct words *reply)
{
	char text[200];

	(void)fail(
		&c->why, FAIL_UNAVAILABLE, "%s",
		format_bytes(reply->at[0], reply->len[0], text, sizeof(text)));
	c->refused = true;
	(void)broken(c);
}

enum conn_got conn_next(struct conn *c, unsigned int *number,
			struct words *reply, bool *ran)
{
	enum resp_got got = RESP_NOTHING;

	while (c->state == CONN_OPEN) {
		got = resp_next(c->reader, reply);
		if (got == RESP_BROKEN)
			(void)broken_by(c, "not a Redis server (no RESP)");
		else if (got == RESP_ERROR && c->greetings > 0)
			greeting_failed(c, reply);
		else if (got == RESP_REPLY && c->greetings > 0)
			c->greetings--;
		else
			break;
	}
	*number = c->taken % OWED_MAX;
	if (c->state == CONN_CLOSED) {
		if (c->asked == c->taken)
			return CONN_NOTHING;
		*ran = c->starts[*number] < c->sent;
		c->taken++;
		return CONN_BROKEN;
	}
	if (c->state != CONN_OPEN || got == RESP_NOTHING)
		return CONN_NOTHING;
	if (c->asked == c->taken) {
		(void)broken_by(c, "a reply to no question");
		return CONN_NOTHING;
	}
	c->taken++;
	/* all answered: the bytes are not needed again */
	if (c->asked == c->taken && c->sent == c->used)
		c->used = c->sent = 0;
	return got == RESP_ERROR ? CONN_ERROR : CONN_REPLY;
}
