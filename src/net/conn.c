/* SPDX-License-Identifier: MIT */
/* One conversation with one node. */
#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "net/errors.h"
#include "net/inside.h"
#include "net/endpoint.h"
#include "net/password.h"
#include "net/place.h"

/* In the order in which they are sent. */
enum greeting {
	GREET_AUTH = 1,
	GREET_SELECT = 2,
	GREET_ROLE = 4,
	GREET_CLUSTER = 8
};

void conn_init(struct conn *c, struct peer *peer)
{
	memset(c, 0, sizeof(*c));
	c->peer = peer;
	c->dial = (struct dial){.peer = peer};
	c->stream = STREAM_NONE;
	c->password_fd = -1;
}

static void drop(struct conn *c)
{
	if (c->password_fd >= 0) /* not dialed yet */
		password_leave(c->password_fd);
	else if (c->state != CONN_CLOSED && !c->heard)
		c->peer->silent--;
	c->password_fd = -1;
	stream_close(&c->stream);
	dial_close(&c->dial);
	resp_close(c->reader);
	c->reader = NULL;
	c->greetings = 0;
	c->state = CONN_CLOSED;
}

void conn_forget(struct conn *c)
{
	resp_close(c->reader);
	free(c->out);
	c->reader = NULL;
	c->out = NULL;
}

void conn_close(struct conn *c)
{
	bool whole = c->whole, hear_out = c->hear_out;

	/* given up while connecting: this address may be a black hole */
	if (c->dial.moves != c->peer->moves)
		; /* the peer has moved, so this address no longer matters */
	else if (c->state == CONN_CONNECTING)
		c->peer->try++;
	/* silent: in a Cluster, others may know of a new primary; and a name
	 * may lead to another server by now */
	else if (c->state == CONN_OPEN && c->asked != c->taken)
		(void)peer_pass(c->peer);
	drop(c);
	free(c->out);
	conn_init(c, c->peer);
	c->whole = whole;
	c->hear_out = hear_out;
}

/* The cause stays in `why`; conn_next() then reports what was owed. */
static int broken(struct conn *c)
{
	drop(c);
	return -1;
}

static int broken_by(struct conn *c, enum fail_kind kind, const char *what)
{
	if (c->refused) /* which is why */
		return broken(c);
	(void)fail(&c->why, kind, "%s: %s", c->peer->name, what);
	return broken(c);
}

/* errno says why, unless TLS does. */
static int broken_sys(struct conn *c, const char *what)
{
	struct fail why;

	c->hung_up = errno == ECONNRESET || errno == EPIPE;
	if (c->refused)
		return broken(c);
	if (stream_refused(&c->stream, &why))
		return broken_by(c, why.kind, why.text);
	(void)fail_sys(&c->why, FAIL_UNAVAILABLE, "%s: %s", c->peer->name,
		       what);
	return broken(c);
}

void conn_leave(struct conn *c, const char *what)
{
	if (c->state != CONN_CLOSED)
		(void)broken_by(c, FAIL_UNAVAILABLE, what);
}

/* Behind what is queued. NULL: out of memory; the connection is broken. */
static char *room_for(struct conn *c, size_t n)
{
	size_t room = (c->used + n) * 2;
	char *more;

	if (c->used + n <= c->room)
		return c->out + c->used;
	more = realloc(c->out, room);
	if (!more) {
		(void)broken_by(c, FAIL_INTERNAL, "out of memory");
		return NULL;
	}
	c->out = more;
	c->room = room;
	return c->out + c->used;
}

static int append(struct conn *c, const char *bytes, size_t n)
{
	char *to = room_for(c, n);

	if (!to)
		return -1;
	memcpy(to, bytes, n);
	c->used += n;
	return 0;
}

static int queue(struct conn *c, const struct words *w)
{
	char *to = room_for(c, resp_room(w));

	if (!to)
		return -1;
	c->used += resp_format(w, to);
	return 0;
}

static int greet_with(struct conn *c, enum greeting what, const struct words *w)
{
	if (queue(c, w) < 0)
		return -1;
	c->greetings |= what;
	return 0;
}

static int log_in(struct conn *c, const char *password)
{
	const struct secret *secret = &c->peer->ep->secret;
	struct words w = {0};

	words_add_text(&w, "AUTH");
	if (secret->user[0] != '\0')
		words_add_text(&w, secret->user);
	words_add_text(&w, password);
	return greet_with(c, GREET_AUTH, &w);
}

/* (A frame of its own: see base/page.h.) */
__attribute__((noinline)) static int greet_with_password(struct conn *c)
{
	char password[PASSWORD_MAX];
	struct fail why;
	bool has;
	int rc = 0;

	if (secret_password(&c->peer->ep->secret, password, &has, &why) < 0)
		return broken_by(c, FAIL_UNAVAILABLE, why.text);
	if (has)
		rc = log_in(c, password);
	explicit_bzero(password, strlen(password));
	return rc;
}

/* A file or a token may be about to be replaced: its faults are no reason to
 * give up. */
static int greet_auth(struct conn *c)
{
	const struct secret *secret = &c->peer->ep->secret;
	struct fail why;
	char *token;
	int rc;

	if (!secret->by_command)
		return secret->has_password || secret->file[0] != '\0'
			       ? greet_with_password(c)
			       : 0;
	token = password_take(&why);
	if (!token)
		return broken_by(c, FAIL_UNAVAILABLE, why.text);
	rc = log_in(c, token);
	password_free(token);
	return rc;
}

/* The greetings go before the first question, in the same send. */
static int greet(struct conn *c)
{
	const struct endpoint *ep = c->peer->ep;
	struct words w = {0};
	char db[12];

	if (greet_auth(c) < 0)
		return -1;
	(void)snprintf(db, sizeof(db), "%d", ep->db);
	words_add_text(&w, "SELECT");
	words_add_text(&w, db);
	if (ep->db != 0 && greet_with(c, GREET_SELECT, &w) < 0)
		return -1;
	w = (struct words){0};
	words_add_text(&w, "ROLE");
	if (ep->kind == ENDPOINT_SENTINEL && greet_with(c, GREET_ROLE, &w) < 0)
		return -1;
	/* a server outside a Cluster refuses this command, and several such
	 * servers would be several locks. (Some of them answer READWRITE with
	 * OK, and Valkey 9 tells the slot of a key) */
	w = (struct words){0};
	words_add_text(&w, "CLUSTER");
	words_add_text(&w, "MYID");
	if (ep->kind == ENDPOINT_CLUSTER &&
	    greet_with(c, GREET_CLUSTER, &w) < 0)
		return -1;
	return 0;
}

#define NOWHERE 1 /* the server cannot be reached at this address */

/* A server may close while we write: that must not raise a signal. */
static int flush(struct conn *c)
{
	while (c->sent < c->used) {
		ssize_t n = stream_send(&c->stream, c->out + c->sent,
					c->used - c->sent);

		/* ENOTCONN: still connecting, as poll(2) will tell */
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK ||
			      errno == EINTR || errno == ENOTCONN))
			return 0;
		if (n < 0 && errno == EPIPE && c->state == CONN_CONNECTING) {
			/* the server closed on us: it may have said why */
			c->state = CONN_OPEN;
			c->sent = c->used;
			return 0;
		}
		if (n < 0 && c->state == CONN_CONNECTING && errno != EPROTO)
			return NOWHERE;
		if (n < 0)
			return broken_sys(c, "connection lost");
		c->sent += (size_t)n;
		c->state = CONN_OPEN;
	}
	return 0;
}

/* Goes on from there: sends, as soon as there is a socket. */
static int dialed(struct conn *c, enum dial_got got)
{
	int rc = NOWHERE;

	while (rc == NOWHERE && got == DIAL_OPEN) {
		c->state = CONN_CONNECTING;
		/* (loads OpenSSL only once connected: by then the guard is
		 * forked, and does not have it) */
		rc = c->peer->ep->tls || c->asked == c->taken ? 0 : flush(c);
		if (rc == NOWHERE)
			got = dial_next(&c->dial, &c->stream);
	}
	switch (got) {
	case DIAL_OPEN:
		return rc;
	case DIAL_UNKNOWN:
		c->state = CONN_UNKNOWN;
		return 0;
	case DIAL_BUSY:
		c->state = CONN_DIALING;
		return 0;
	case DIAL_READY:
		c->state = CONN_CONNECTING;
		return 0;
	case DIAL_LOST:
		break;
	}
	c->why = c->dial.why;
	return broken(c);
}

static int send_queued(struct conn *c)
{
	int rc = flush(c);

	return rc == NOWHERE ? dialed(c, dial_next(&c->dial, &c->stream)) : rc;
}

static int connected(struct conn *c)
{
	if (stream_connected(&c->stream) < 0)
		return dialed(c, dial_next(&c->dial, &c->stream));
	c->state = CONN_OPEN;
	if (c->peer->ep->tls &&
	    stream_secure(&c->stream, &c->peer->ep->tls_conf,
			  c->peer->place.host, &c->why) < 0)
		return broken(c);
	return send_queued(c);
}

/* Sends, if there is something to send. */
static int go(struct conn *c, enum dial_got got)
{
	return dialed(c, got == DIAL_READY ? dial_open(&c->dial, &c->stream)
					   : got);
}

void conn_found(struct conn *c, const struct place *at)
{
	(void)go(c, dial_found(&c->dial, at));
}

void conn_lost(struct conn *c, const struct fail *why)
{
	bool misled = !peer_is_known(c->peer);

	(void)broken_by(c, why->kind, why->text);
	c->misled = misled;
	if (misled)
		peer_return(c->peer);
}

/* The password is known. */
static int begin(struct conn *c)
{
	if (greet(c) < 0)
		return -1;
	c->state = CONN_DIALING; /* from now on it counts as silent */
	return dialed(c, dial_start(&c->dial));
}

/* What was asked meanwhile goes behind the greetings. */
static int begin_late(struct conn *c)
{
	char *asked = c->out;
	size_t n = c->used, first;

	password_leave(c->password_fd);
	c->password_fd = -1;
	c->state = CONN_CLOSED; /* as before dialing */
	c->out = NULL;
	c->used = c->room = 0;
	if (greet(c) == 0 && n > 0 && append(c, asked, n) == 0) {
		first = c->used - n;
		for (unsigned int i = c->taken; i != c->asked; i++)
			c->starts[i % OWED_MAX] += first;
		c->state = CONN_DIALING;
	}
	free(asked);
	if (c->state != CONN_DIALING)
		return -1;
	return go(c, dial_start(&c->dial));
}

/* Begins a connection; nothing is sent before the first question is queued. */
static int conn_open(struct conn *c)
{
	c->used = c->sent = 0;
	c->misled = c->refused = c->too_long = c->heard = c->speaks_tls = false;
	c->hung_up = false;
	c->reader = resp_open(c->whole);
	if (!c->reader)
		return broken_by(c, FAIL_INTERNAL, "out of memory");
	if (c->peer->ep->secret.by_command)
		c->password_fd = password_ask();
	if (c->password_fd < 0)
		return begin(c);
	c->dial.moves = c->peer->moves;
	c->state = CONN_DIALING;
	return 0;
}

void conn_begin(struct conn *c)
{
	if (conn_open(c) == 0 && c->state == CONN_CONNECTING)
		(void)dialed(c, dial_open(&c->dial, &c->stream));
}

int conn_ask(struct conn *c, const struct words *question)
{
	bool opened = c->state == CONN_CLOSED;

	if (c->asked - c->taken >= OWED_MAX)
		return broken_by(c, FAIL_UNAVAILABLE,
				 "too many requests unanswered");
	/* what the old connection owed must be taken before a new one opens */
	assert(!opened || c->asked == c->taken);
	if (opened && conn_open(c) < 0)
		return -1;
	c->starts[c->asked++ % OWED_MAX] = c->used;
	if (queue(c, question) < 0)
		return -1;
	if (opened && c->state == CONN_CONNECTING) {
		if (dialed(c, dial_open(&c->dial, &c->stream)) < 0)
			return -1;
	} else if ((c->state == CONN_OPEN ||
		    (c->state == CONN_CONNECTING && !c->peer->ep->tls)) &&
		   send_queued(c) < 0) {
		return -1;
	}
	return (int)((c->asked - 1) % OWED_MAX);
}

bool conn_sent(const struct conn *c, unsigned int number)
{
	return c->starts[number % OWED_MAX] < c->sent;
}

int conn_fd(const struct conn *c)
{
	if (c->state != CONN_DIALING)
		return c->stream.fd;
	return c->password_fd >= 0 ? c->password_fd : lookup_fd(c->dial.lookup);
}

short conn_events(const struct conn *c)
{
	if (c->state == CONN_DIALING)
		return POLLIN;
	if (c->state == CONN_CONNECTING)
		return POLLOUT;
	return stream_events(&c->stream, c->sent < c->used);
}

const char *conn_awaits(const struct conn *c)
{
	switch (c->state) {
	case CONN_UNKNOWN:
		return c->peer->ep->kind == ENDPOINT_SENTINEL
			       ? "no answer from the Sentinels"
			       : "no answer from the Cluster";
	case CONN_DIALING:
		return c->password_fd >= 0
			       ? "no answer from the password command"
			       : "no answer from the resolver";
	case CONN_CONNECTING:
		return "no connection";
	case CONN_CLOSED:
	case CONN_OPEN:
		break;
	}
	return stream_shaking(&c->stream)
		       ? "no answer to the TLS handshake (if the port does not "
			 "use TLS, write redis://, not rediss://)"
		       : "no answer";
}

const char *conn_suspects(const struct conn *c)
{
	const struct endpoint *ep = c->peer->ep;

	return c->state == CONN_CONNECTING && ep->kind != ENDPOINT_UNIX &&
			       ep->kind != ENDPOINT_LOCAL
		       ? ": the host is down, or a firewall drops the packets"
		       : "";
}

/* A TLS port closes connections without TLS, and a proxy those for which it has
 * no server. */
static int closed(struct conn *c)
{
	const struct endpoint *ep = c->peer->ep;

	c->hung_up = true;
	return broken_by(c, FAIL_UNAVAILABLE,
			 !c->peer->heard && !ep->tls &&
					 ep->kind != ENDPOINT_UNIX &&
					 ep->kind != ENDPOINT_LOCAL
				 ? "the server closed the connection "
				   "without a reply (if the port uses "
				   "TLS, write rediss://, not redis://); a "
				   "proxy does that when its server is down"
				 : "the server closed the connection");
}

static int receive(struct conn *c)
{
	bool fed = false;

	/* more than all replies that are owed, and nobody has taken one */
	if (resp_is_full(c->reader))
		return broken_by(c, FAIL_UNAVAILABLE, "reply too long");
	do {
		char bytes[4096];
		ssize_t n = stream_recv(&c->stream, bytes, sizeof(bytes));

		/* first read what came before the end; poll(2) will show the
		 * end again */
		if (n <= 0 && fed)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n == 0 || (n < 0 && errno == ECONNRESET && !c->heard))
			return closed(c);
		if (n < 0)
			return broken_sys(c, "connection lost");
		/* 0x15: an alert, 0x16: a handshake */
		c->speaks_tls |= !c->heard && bytes[0] >> 1 == 0x15 >> 1;
		/* nobody would read it before the next question */
		if (c->asked == c->taken && c->greetings == 0)
			return broken_by(c, FAIL_UNAVAILABLE,
					 "an unexpected reply");
		if (!c->heard)
			c->peer->silent--;
		if (!c->heard && place_same(&c->peer->place, &c->peer->unheard))
			c->peer->unheard.host[0] = '\0';
		c->heard = c->peer->heard = true;
		fed = true;
		if (resp_feed(c->reader, bytes, (size_t)n) < 0)
			return broken_by(c, FAIL_INTERNAL, "out of memory");
		/* poll(2) does not see what TLS has already read. The loop is
		 * bounded: this is more than all replies that are owed */
	} while (c->stream.tls && !resp_is_full(c->reader));
	return 0;
}

/* The peer has become another server. */
static void leave_behind(struct conn *c)
{
	const struct place *from = &c->peer->unheard;
	char at[PLACE_TEXT_MAX], text[PLACE_TEXT_MAX + 64] =
					 "has taken over from another server";

	if (from->host[0] != '\0')
		(void)snprintf(text, sizeof(text),
			       "is asked because %s cannot be reached",
			       place_text(from, at));
	conn_leave(c, text);
}

void conn_step(struct conn *c, short revents)
{
	if (c->state == CONN_CLOSED || c->state == CONN_UNKNOWN)
		return;
	/* an answer of the former server means nothing now */
	if (c->dial.moves != c->peer->moves) {
		leave_behind(c);
		return;
	}
	if (revents == 0)
		return;
	if (c->password_fd >= 0)
		(void)begin_late(c);
	else if (c->state == CONN_DIALING)
		(void)dialed(c, dial_step(&c->dial, &c->stream));
	else if (c->state == CONN_CONNECTING)
		(void)connected(c);
	else if (c->sent < c->used && send_queued(c) < 0)
		return;
	if (c->state == CONN_OPEN &&
	    (c->stream.tls || revents & (POLLIN | POLLHUP | POLLERR)) &&
	    receive(c) == 0 && c->sent < c->used)
		(void)send_queued(c); /* that may have ended the handshake */
}

/* An error reply to AUTH or SELECT ends the connection, at the latest when
 * everything sent after it is answered: that was refused as well, or ran as the
 * default user, or would go to another database. */
static void greeting_failed(struct conn *c, enum greeting which,
			    const struct words *reply)
{
	char text[200], doubt[DOUBT_SIZE] = "";
	const char *said = text;

	(void)format_bytes(reply->at[0], reply->len[0], text, sizeof(text));
	if (which == GREET_AUTH) {
		said = error_of_login(text);
		if (strncmp(said, "WRONGPASS", 9) == 0)
			(void)password_doubt(&c->peer->ep->secret, doubt);
	}
	/* (our own words instead of the server's) */
	(void)fail(&c->why, FAIL_UNAVAILABLE, "%s%s",
		   doubt[0] ? "WRONGPASS: " : said, doubt);
	c->refused = true;
	c->doubtful = c->asked;
	c->served = false;
	if (!c->hear_out)
		(void)broken(c);
}

static void greeted(struct conn *c, bool well, const struct words *reply)
{
	unsigned int first = c->greetings & -c->greetings;

	c->greetings &= ~first;
	if (c->refused)
		return;
	if (!well &&
	    (first < GREET_ROLE ||
	     (reply->len[0] >= 6 && memcmp(reply->at[0], "NOAUTH", 6) == 0)))
		greeting_failed(c, (enum greeting)first, reply);
	else if (!well && first == GREET_CLUSTER &&
		 memmem(reply->at[0], reply->len[0], "support disabled", 16))
		(void)broken_by(c, FAIL_CONFIG,
				"not a member of a Cluster: write "
				"redis://, not redis-cluster://");
	/* if an ACL forbids ROLE, rely on the Sentinels */
	else if (well && first == GREET_ROLE &&
		 !(reply->len[0] == 6 &&
		   memcmp(reply->at[0], "master", 6) == 0)) {
		peer_doubt(c->peer);
		(void)broken_by(
			c, FAIL_UNAVAILABLE,
			"it is not the master, although its Sentinels say so");
	}
}

/* Whether nothing ran after the refused AUTH. */
static bool is_useless(const struct conn *c)
{
	return c->refused && c->taken == c->doubtful && !c->served;
}

static void overlong(struct conn *c)
{
	c->too_long = c->greetings == 0;
	(void)broken_by(c, FAIL_UNAVAILABLE, "reply too long");
}

enum conn_got conn_next(struct conn *c, unsigned int *number,
			struct words *reply, bool *ran)
{
	enum resp_got got = RESP_NOTHING;

	if (c->state == CONN_OPEN && is_useless(c))
		(void)broken(c);
	while (c->state == CONN_OPEN) {
		got = resp_next(c->reader, reply);
		if (got == RESP_BROKEN)
			(void)broken_by(
				c, FAIL_UNAVAILABLE,
				c->speaks_tls ? "the server uses TLS: write "
						"rediss://, not redis://"
					      : "not a Redis server (the reply "
						"is not RESP)");
		else if (got == RESP_TOO_LONG)
			overlong(c);
		else if (got != RESP_NOTHING && c->greetings != 0)
			greeted(c, got == RESP_REPLY, reply);
		else
			break;
	}
	*number = c->taken % OWED_MAX;
	if (c->state == CONN_CLOSED) {
		if (c->asked == c->taken)
			return CONN_NOTHING;
		*ran = conn_sent(c, *number);
		c->taken++;
		return CONN_BROKEN;
	}
	if (c->state != CONN_OPEN || got == RESP_NOTHING)
		return CONN_NOTHING;
	if (c->asked == c->taken) {
		(void)broken_by(c, FAIL_UNAVAILABLE, "an unexpected reply");
		return CONN_NOTHING;
	}
	c->taken++;
	/* all answered: the bytes are not needed again */
	if (c->asked == c->taken && c->sent == c->used)
		c->used = c->sent = 0;
	if (c->refused && c->taken <= c->doubtful) {
		*ran = got == RESP_REPLY;
		c->served |= *ran;
		return CONN_REFUSED;
	}
	return got == RESP_ERROR ? CONN_ERROR : CONN_REPLY;
}

const struct reply *conn_whole(const struct conn *c)
{
	return c->reader ? resp_whole(c->reader) : NULL;
}
