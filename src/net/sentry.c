/* SPDX-License-Identifier: MIT */
/* Asks the Sentinels for the master. */
#include "net/sentry.h"

#include <stdlib.h>
#include <sys/epoll.h>

#include "base/units.h"
#include "net/bundle.h"
#include "net/conn.h"
#include "net/place.h"
#include "net/scout.h"

/* One Sentinel. */
struct witness {
	struct endpoint ep;
	struct peer peer;
	struct conn conn;
	struct instant sent[OWED_MAX]; /* by the question's number */
	bool knows;
	struct place master; /* its answer to the question asked at ... */
	struct instant told; /* ... then */
	struct fail why;     /* the last question that told nothing */
};

struct sentry {
	const struct endpoint *group;
	int epoll; /* all of them as one descriptor */
	int n;
	struct witness at[];
};

struct sentry *sentry_open(const struct endpoint *group, struct fail *why)
{
	size_t n = (size_t)group->places;
	struct sentry *s = calloc(1, sizeof(*s) + n * sizeof(s->at[0]));

	if (!s) {
		(void)fail(why, FAIL_INTERNAL, "out of memory");
		return NULL;
	}
	s->epoll = bundle_open(why);
	if (s->epoll < 0) {
		free(s);
		return NULL;
	}
	s->group = group;
	s->n = group->places;
	for (int i = 0; i < s->n; i++) {
		struct witness *w = &s->at[i];

		scout_member(group, i, &w->ep);
		peer_init(&w->peer, &w->ep);
		conn_init(&w->conn, &w->peer, NULL);
	}
	return s;
}

static void note_answer(struct witness *w, const struct words *reply,
			unsigned int number)
{
	w->knows = reply->n == 2 &&
		   place_told(&w->master,
			      (struct span){reply->at[0], reply->len[0]},
			      (struct span){reply->at[1], reply->len[1]}) == 0;
	w->told = w->sent[number];
	w->why.kind = FAIL_NONE;
	if (!w->knows)
		(void)fail(&w->why, FAIL_UNAVAILABLE,
			   "%s gives no address of the master", w->ep.name);
}

static void note_error(struct witness *w, const struct words *error)
{
	char text[200];

	(void)fail(
		&w->why, FAIL_UNAVAILABLE, "%s: %s", w->ep.name,
		format_bytes(error->at[0], error->len[0], text, sizeof(text)));
}

static void take_answers(struct witness *w)
{
	unsigned int number;
	struct words reply;
	bool ran;

	for (;;)
		switch (conn_next(&w->conn, &number, &reply, &ran)) {
		case CONN_NOTHING:
			return;
		case CONN_REPLY:
			note_answer(w, &reply, number);
			break;
		case CONN_ERROR:
			note_error(w, &reply);
			break;
		case CONN_REFUSED:
		case CONN_BROKEN:
			w->why = w->conn.why;
			break;
		}
}

static void watch(const struct sentry *s, struct witness *w)
{
	bundle_watch(s->epoll, conn_fd(&w->conn), conn_events(&w->conn), w);
}

static bool owes(const struct witness *w)
{
	return w->conn.asked != w->conn.taken;
}

static void ask_witness(struct sentry *s, struct witness *w, struct instant at,
			int64_t patience_ms)
{
	struct conn *c = &w->conn;
	struct instant oldest = w->sent[c->taken % OWED_MAX];
	struct words question = {0};
	unsigned int before_it;

	/* one that was never heard may be frozen: try the next of a name's
	 * addresses, if there is one */
	if (owes(w) &&
	    (c->asked - c->taken == OWED_MAX ||
	     before(after(oldest, patience_ms), at) ||
	     (!w->peer.heard && w->peer.try + 1 < w->peer.address.n)))
		conn_close(c);
	words_add_text(&question, "SENTINEL");
	words_add_text(&question, "get-master-addr-by-name");
	words_add_text(&question, s->group->group);
	before_it = c->asked;
	(void)conn_ask(c, &question);
	if (c->asked != before_it)
		w->sent[before_it % OWED_MAX] = at;
	else
		w->why = c->why;
	take_answers(w);
	watch(s, w);
}

void sentry_ask(struct sentry *s, struct instant at, int64_t patience_ms)
{
	for (int i = 0; i < s->n; i++)
		ask_witness(s, &s->at[i], at, patience_ms);
}

int sentry_fd(const struct sentry *s)
{
	return s->epoll;
}

void sentry_step(struct sentry *s)
{
	struct epoll_event came[PLACES_MAX];
	int n = epoll_wait(s->epoll, came, PLACES_MAX, 0);

	for (int i = 0; i < n; i++) {
		struct witness *w = came[i].data.ptr;

		conn_step(&w->conn, (short)came[i].events);
		take_answers(w);
		watch(s, w);
	}
}

static bool has_told(const struct witness *w, struct instant since)
{
	return w->knows && !before(w->told, since);
}

/* How many of those that answered agree with this one. */
static int who_agree(const struct sentry *s, const struct witness *w,
		     struct instant since)
{
	int same = 0;

	for (int i = 0; i < s->n; i++)
		same += has_told(&s->at[i], since) &&
			place_same(&s->at[i].master, &w->master);
	return same;
}

static void say_unsure(const struct sentry *s, int told, struct fail *why)
{
	int needed = s->n / 2 + 1;

	if (told >= needed) {
		(void)fail(
			why, FAIL_UNAVAILABLE,
			"its Sentinels disagree on which server is the master");
		return;
	}
	(void)fail(why, FAIL_UNAVAILABLE,
		   "fewer than %d of its %d Sentinels say whether it is the "
		   "master",
		   needed, s->n);
	for (int i = 0; i < s->n; i++)
		if (s->at[i].why.kind != FAIL_NONE) {
			struct fail one = *why;

			(void)fail(why, FAIL_UNAVAILABLE, "%.150s; %.250s",
				   one.text, s->at[i].why.text);
			return;
		}
}

enum sentry_says sentry_says(const struct sentry *s, const struct place *master,
			     struct instant since, struct place *other,
			     struct fail *why)
{
	int told = 0, open = 0, most = 0;

	for (int i = 0; i < s->n; i++) {
		const struct witness *w = &s->at[i];
		int agree;

		open += !has_told(w, since) && owes(w);
		if (!has_told(w, since))
			continue;
		told++;
		agree = who_agree(s, w, since);
		most = agree > most ? agree : most;
		if (2 * agree <= s->n)
			continue;
		*other = w->master;
		return place_same(other, master) ? SENTRY_SAME : SENTRY_OTHER;
	}
	say_unsure(s, told, why);
	return 2 * (most + open) > s->n ? SENTRY_OPEN : SENTRY_UNSURE;
}

int sentry_sockets(const struct sentry *s, int fds[SENTRY_FDS_MAX])
{
	int n = 0;

	fds[n++] = s->epoll;
	for (int i = 0; i < s->n; i++)
		if (conn_fd(&s->at[i].conn) >= 0)
			fds[n++] = conn_fd(&s->at[i].conn);
	return n;
}
