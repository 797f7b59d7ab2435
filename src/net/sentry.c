/* SPDX-License-Identifier: MIT */
/* Asks the Sentinels for the master. */
#include "net/sentry.h"

#include <stdlib.h>
#include <sys/epoll.h>

#include "base/units.h"
#include "net/bundle.h"
#include "net/conn.h"
#include "net/member.h"
#include "net/place.h"
#include "net/scout.h"

#define COUNTED MEMBER_SENTINELS

/* One Sentinel. The URL names it, or another one does. */
struct witness {
	struct endpoint ep;
	struct peer peer;
	struct conn conn;
	struct instant sent[OWED_MAX]; /* by the question's number */
	bool lists[OWED_MAX];          /* the question was for the others */
	uint64_t id;                   /* that others know it by; 0: named */
	int others;               /* how many it knows; -1: it does not say */
	uint64_t other[COUNTED];  /* their ids */
	struct place at[COUNTED]; /* and where they are */
	bool knows;
	struct place master; /* its answer to the question asked at ... */
	struct instant told; /* ... then */
	struct fail why;     /* the last question that told nothing */
};

struct sentry {
	const struct endpoint *group;
	int epoll; /* all of them as one descriptor */
	int named; /* by the URL: they come first */
	int n;
	struct instant asked; /* the arguments of the last sentry_ask() */
	int64_t patience_ms;
	struct witness at[PLACES_MAX];
};

static void begin_witness(struct witness *w)
{
	w->others = -1;
	peer_init(&w->peer, &w->ep);
	conn_init(&w->conn, &w->peer, NULL);
	w->conn.whole = true;
}

struct sentry *sentry_open(const struct endpoint *group, struct fail *why)
{
	struct sentry *s = calloc(1, sizeof(*s));

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
	s->named = s->n = group->places;
	for (int i = 0; i < s->n; i++) {
		scout_member(group, &group->at[i], &s->at[i].ep);
		begin_witness(&s->at[i]);
	}
	return s;
}

static bool lists(const struct witness *w, uint64_t id)
{
	for (int i = 0; i < w->others && i < COUNTED; i++)
		if (w->other[i] == id)
			return true;
	return false;
}

/* Whether this Sentinel is not one of those in the URL, as far as those have
 * answered. A Sentinel lists all but itself, and may have several addresses. */
static bool is_another(const struct sentry *s, uint64_t id)
{
	for (int i = 0; i < s->named; i++)
		if (s->at[i].knows && !lists(&s->at[i], id))
			return false;
	return true;
}

/* Whether the witness is, or will be, connected to that place. */
static bool is_at(const struct witness *w, const struct place *at)
{
	const struct peer *p = &w->peer;
	struct address its = {.n = 0}, there;

	if (place_same(&w->ep.at[0], at))
		return true;
	if (p->try < p->address.n) {
		its.at[0] = p->address.at[p->try];
		its.len[0] = p->address.len[p->try];
		its.n = 1;
	}
	return its.n > 0 && address_fixed(&there, &w->ep, at) &&
	       !address_left(&its, &there);
}

/* One that is listed, and that we do not ask yet. */
static void add_witness(struct sentry *s, uint64_t id, const struct place *at)
{
	struct witness *w = &s->at[s->n];

	if (at->host[0] == '\0' || s->n == PLACES_MAX || !is_another(s, id))
		return;
	for (int i = 0; i < s->n; i++)
		if (s->at[i].id == id || is_at(&s->at[i], at))
			return;
	scout_member(s->group, at, &w->ep);
	begin_witness(w);
	w->id = id;
	s->n++;
}

static void note_others(struct witness *w)
{
	const struct reply *r = conn_whole(&w->conn);

	w->others = r ? member_sentinels(r, w->other, w->at) : -1;
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
			if (w->lists[number % OWED_MAX])
				note_others(w);
			else
				note_answer(w, &reply, number % OWED_MAX);
			break;
		case CONN_ERROR:
			/* some users may not ask for the others */
			if (w->lists[number % OWED_MAX])
				w->others = -1;
			else
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

static void ask_one(struct sentry *s, struct witness *w, bool lists)
{
	struct conn *c = &w->conn;
	struct words question = {0};
	unsigned int before_it = c->asked;

	words_add_text(&question, "SENTINEL");
	words_add_text(&question,
		       lists ? "sentinels" : "get-master-addr-by-name");
	words_add_text(&question, s->group->group);
	(void)conn_ask(c, &question);
	if (c->asked == before_it) {
		w->why = c->why;
		return;
	}
	w->sent[before_it % OWED_MAX] = s->asked;
	w->lists[before_it % OWED_MAX] = lists;
}

static void ask_witness(struct sentry *s, struct witness *w)
{
	struct conn *c = &w->conn;
	struct instant oldest = w->sent[c->taken % OWED_MAX];

	/* one that was never heard may be frozen: try the next of a name's
	 * addresses, if there is one */
	if (owes(w) &&
	    (c->asked - c->taken > OWED_MAX - 2 ||
	     before(after(oldest, s->patience_ms), s->asked) ||
	     (!w->peer.heard && w->peer.try + 1 < w->peer.address.n)))
		conn_close(c);
	/* first: its vote counts only with the number of those who vote */
	ask_one(s, w, true);
	if (c->state != CONN_CLOSED)
		ask_one(s, w, false);
	take_answers(w);
	watch(s, w);
}

/* What one has listed since the others were asked. */
static void ask_others(struct sentry *s)
{
	int asked = s->n;

	for (int i = 0; i < asked; i++)
		for (int k = 0; k < s->at[i].others && k < COUNTED; k++)
			add_witness(s, s->at[i].other[k], &s->at[i].at[k]);
	for (int i = asked; i < s->n; i++)
		ask_witness(s, &s->at[i]);
}

void sentry_ask(struct sentry *s, struct instant at, int64_t patience_ms)
{
	s->asked = at;
	s->patience_ms = patience_ms;
	for (int i = 0; i < s->n; i++)
		if (s->at[i].id == 0 || is_another(s, s->at[i].id))
			ask_witness(s, &s->at[i]);
	ask_others(s);
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
	ask_others(s);
}

static bool has_told(const struct witness *w, struct instant since)
{
	return w->knows && !before(w->told, since);
}

/* Two names of one Sentinel have the same list. (So do two Sentinels that do
 * not know each other yet, unless their lists are empty.) */
static bool is_twin(const struct witness *a, const struct witness *b)
{
	if (a->others <= 0 || a->others > COUNTED || a->others != b->others)
		return false;
	for (int i = 0; i < a->others; i++)
		if (!lists(b, a->other[i]))
			return false;
	return true;
}

/* Whether it has told, and as a Sentinel of its own. */
static bool counts(const struct sentry *s, const struct witness *w,
		   struct instant since)
{
	if (!has_told(w, since))
		return false;
	if (w->id != 0)
		return is_another(s, w->id);
	for (const struct witness *x = s->at; x < w; x++)
		if (has_told(x, since) && is_twin(x, w) &&
		    place_same(&x->master, &w->master))
			return false;
	return true;
}

/* How many of those that count agree with this one. */
static int who_agree(const struct sentry *s, const struct witness *w,
		     struct instant since)
{
	int same = 0;

	for (int i = 0; i < s->n; i++)
		same += counts(s, &s->at[i], since) &&
			place_same(&s->at[i].master, &w->master);
	return same;
}

/* How many Sentinels there are, as those say who have told, or did before; else
 * as the URL says. */
static int how_many(const struct sentry *s, struct instant since)
{
	int told = 0, most = -1, before_it = -1;

	for (int i = 0; i < s->n; i++) {
		const struct witness *w = &s->at[i];

		told += counts(s, w, since);
		if (w->others > before_it)
			before_it = w->others;
		if (has_told(w, since) && w->others > most)
			most = w->others;
	}
	if (told == 0)
		most = before_it;
	if (most < 0)
		return s->named;
	return most + 1 > told ? most + 1 : told;
}

static void say_unsure(const struct sentry *s, int told, int all,
		       struct fail *why)
{
	int needed = all / 2 + 1;

	if (told >= needed) {
		(void)fail(
			why, FAIL_UNAVAILABLE,
			"its Sentinels disagree on which server is the master");
		return;
	}
	(void)fail(why, FAIL_UNAVAILABLE,
		   "fewer than %d of its %d Sentinels say whether it is the "
		   "master",
		   needed, all);
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
	const struct witness *chosen = NULL;
	int all = how_many(s, since), told = 0, open = 0, most = 0;
	bool agreed = true;

	for (int i = 0; i < s->n; i++) {
		const struct witness *w = &s->at[i];
		int agree;

		open += !has_told(w, since) && owes(w) &&
			(w->id == 0 || is_another(s, w->id));
		if (!counts(s, w, since))
			continue;
		told++;
		agree = who_agree(s, w, since);
		most = agree > most ? agree : most;
		if (2 * agree <= all)
			continue;
		agreed = !chosen || place_same(&chosen->master, &w->master);
		chosen = w;
	}
	if (chosen && agreed) {
		*other = chosen->master;
		return place_same(other, master) ? SENTRY_SAME : SENTRY_OTHER;
	}
	say_unsure(s, told, all, why);
	return 2 * (most + open) > all ? SENTRY_OPEN : SENTRY_UNSURE;
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
