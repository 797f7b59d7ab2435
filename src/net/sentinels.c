/* SPDX-License-Identifier: MIT */
/* Asks the Sentinels for the master. */
#include "net/sentinels.h"

#include <stdlib.h>

#include "base/units.h"
#include "net/place.h"

#define COUNTED MEMBER_SENTINELS

/* The URL names it, or another one does. */
struct sentinel {
	struct member m;               /* comes first: see sentinels_step() */
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

struct sentinels {
	const struct endpoint *group;
	struct members all;
	int named;            /* by the URL: they come first */
	struct instant asked; /* the arguments of the last sentinels_ask() */
	int64_t patience_ms;
	struct sentinel at[PLACES_MAX];
};

static void add(struct sentinels *s, const struct place *at, uint64_t id)
{
	struct sentinel *who = &s->at[s->all.n];

	who->id = id;
	who->others = -1;
	member_endpoint(s->group, at, &who->m.ep);
	members_add(&s->all, &who->m);
	who->m.conn.whole = true;
}

struct sentinels *sentinels_open(const struct endpoint *group, struct fail *why)
{
	struct sentinels *s = calloc(1, sizeof(*s));

	if (!s) {
		(void)fail_memory(why);
		return NULL;
	}
	if (members_open(&s->all, why) < 0) {
		free(s);
		return NULL;
	}
	s->group = group;
	s->named = group->places;
	for (int i = 0; i < s->named; i++)
		add(s, &group->at[i], 0);
	return s;
}

void sentinels_forget(struct sentinels *s)
{
	for (int i = 0; s && i < s->all.n; i++)
		conn_forget(&s->all.at[i]->conn);
	free(s);
}

static bool lists(const struct sentinel *who, uint64_t id)
{
	for (int i = 0; i < who->others && i < COUNTED; i++)
		if (who->other[i] == id)
			return true;
	return false;
}

/* Whether this Sentinel is not one of those in the URL, as far as those have
 * answered. A Sentinel lists all but itself, and may have several addresses. */
static bool is_another(const struct sentinels *s, uint64_t id)
{
	for (int i = 0; i < s->named; i++)
		if (s->at[i].knows && !lists(&s->at[i], id))
			return false;
	return true;
}

/* Whether it is, or will be, connected to that place. */
static bool is_at(const struct sentinel *who, const struct place *at)
{
	const struct peer *p = &who->m.peer;
	struct address its = {.n = 0}, there;

	if (place_same(&who->m.ep.at[0], at))
		return true;
	if (p->try < p->address.n) {
		its.at[0] = p->address.at[p->try];
		its.len[0] = p->address.len[p->try];
		its.n = 1;
	}
	return its.n > 0 && address_fixed(&there, &who->m.ep, at) &&
	       !address_left(&its, &there);
}

/* One that is listed, and that we do not ask yet. */
static void add_another(struct sentinels *s, uint64_t id,
			const struct place *at)
{
	if (at->host[0] == '\0' || s->all.n == PLACES_MAX || !is_another(s, id))
		return;
	for (int i = 0; i < s->all.n; i++)
		if (s->at[i].id == id || is_at(&s->at[i], at))
			return;
	add(s, at, id);
}

static void note_others(struct sentinel *who)
{
	const struct reply *r = conn_whole(&who->m.conn);

	who->others = r ? member_sentinels(r, who->other, who->at) : -1;
}

static void note_answer(struct sentinel *who, const struct words *reply,
			unsigned int number)
{
	who->knows = member_master(&who->master, reply) == 0;
	who->told = who->sent[number];
	who->why.kind = FAIL_NONE;
	if (!who->knows)
		(void)fail(&who->why, FAIL_UNAVAILABLE,
			   "%s gives no address of the master", who->m.ep.name);
}

static void note_error(struct sentinel *who, const struct words *error)
{
	char text[200];

	(void)fail(
		&who->why, FAIL_UNAVAILABLE, "%s: %s", who->m.ep.name,
		format_bytes(error->at[0], error->len[0], text, sizeof(text)));
}

static void take_answers(struct sentinel *who)
{
	unsigned int number;
	struct words reply;
	bool ran;

	for (;;)
		switch (conn_next(&who->m.conn, &number, &reply, &ran)) {
		case CONN_NOTHING:
			return;
		case CONN_REPLY:
			if (who->lists[number % OWED_MAX])
				note_others(who);
			else
				note_answer(who, &reply, number % OWED_MAX);
			break;
		case CONN_ERROR:
			/* some users may not ask for the others */
			if (who->lists[number % OWED_MAX])
				who->others = -1;
			else
				note_error(who, &reply);
			break;
		case CONN_REFUSED:
		case CONN_BROKEN:
			who->why = who->m.conn.why;
			break;
		}
}

static bool owes(const struct sentinel *who)
{
	return who->m.conn.asked != who->m.conn.taken;
}

static void ask_one(struct sentinels *s, struct sentinel *who, bool lists)
{
	struct conn *c = &who->m.conn;
	unsigned int number = c->asked;

	if (lists)
		(void)member_ask(&who->m, "SENTINEL", "sentinels",
				 s->group->group);
	else
		(void)member_ask_master(&who->m, s->group->group);
	if (c->asked == number) {
		who->why = c->why;
		return;
	}
	who->sent[number % OWED_MAX] = s->asked;
	who->lists[number % OWED_MAX] = lists;
}

static void ask_sentinel(struct sentinels *s, struct sentinel *who)
{
	struct conn *c = &who->m.conn;
	struct instant oldest = who->sent[c->taken % OWED_MAX];

	/* one that was never heard may be frozen: try the next of a name's
	 * addresses, if there is one */
	if (owes(who) && (c->asked - c->taken > OWED_MAX - 2 ||
			  before(after(oldest, s->patience_ms), s->asked) ||
			  (!who->m.peer.heard &&
			   who->m.peer.try + 1 < who->m.peer.address.n)))
		conn_close(c);
	/* first: its vote counts only with the number of those who vote */
	ask_one(s, who, true);
	if (c->state != CONN_CLOSED)
		ask_one(s, who, false);
	take_answers(who);
	members_watch(&s->all, &who->m);
}

/* What one has listed since the others were asked. */
static void ask_others(struct sentinels *s)
{
	int asked = s->all.n;

	for (int i = 0; i < asked; i++)
		for (int k = 0; k < s->at[i].others && k < COUNTED; k++)
			add_another(s, s->at[i].other[k], &s->at[i].at[k]);
	for (int i = asked; i < s->all.n; i++)
		ask_sentinel(s, &s->at[i]);
}

void sentinels_ask(struct sentinels *s, struct instant at, int64_t patience_ms)
{
	s->asked = at;
	s->patience_ms = patience_ms;
	for (int i = 0; i < s->all.n; i++)
		if (s->at[i].id == 0 || is_another(s, s->at[i].id))
			ask_sentinel(s, &s->at[i]);
	ask_others(s);
}

int sentinels_fd(const struct sentinels *s)
{
	return s->all.epoll;
}

void sentinels_step(struct sentinels *s)
{
	struct member *stepped[MEMBERS_MAX];
	int n = members_step(&s->all, stepped);

	for (int i = 0; i < n; i++) {
		take_answers((struct sentinel *)stepped[i]);
		members_watch(&s->all, stepped[i]);
	}
	ask_others(s);
}

static bool has_told(const struct sentinel *who, struct instant since)
{
	return who->knows && !before(who->told, since);
}

/* Two names of one Sentinel have the same list. (So do two Sentinels that do
 * not know each other yet, unless their lists are empty.) */
static bool is_same(const struct sentinel *a, const struct sentinel *b)
{
	if (a->others <= 0 || a->others > COUNTED || a->others != b->others)
		return false;
	for (int i = 0; i < a->others; i++)
		if (!lists(b, a->other[i]))
			return false;
	return true;
}

/* Whether it has told, and as a Sentinel of its own. */
static bool counts(const struct sentinels *s, const struct sentinel *who,
		   struct instant since)
{
	if (!has_told(who, since))
		return false;
	if (who->id != 0)
		return is_another(s, who->id);
	for (const struct sentinel *x = s->at; x < who; x++)
		if (has_told(x, since) && is_same(x, who) &&
		    place_same(&x->master, &who->master))
			return false;
	return true;
}

/* How many of those that count agree with this one. */
static int who_agree(const struct sentinels *s, const struct sentinel *who,
		     struct instant since)
{
	int same = 0;

	for (int i = 0; i < s->all.n; i++)
		same += counts(s, &s->at[i], since) &&
			place_same(&s->at[i].master, &who->master);
	return same;
}

/* How many Sentinels there are, as those say who have told, or did before; else
 * as the URL says. */
static int how_many(const struct sentinels *s, struct instant since)
{
	int told = 0, most = -1, before_it = -1;

	for (int i = 0; i < s->all.n; i++) {
		const struct sentinel *who = &s->at[i];

		told += counts(s, who, since);
		if (who->others > before_it)
			before_it = who->others;
		if (has_told(who, since) && who->others > most)
			most = who->others;
	}
	if (told == 0)
		most = before_it;
	if (most < 0)
		return s->named;
	return most + 1 > told ? most + 1 : told;
}

static void say_unsure(const struct sentinels *s, int told, int all,
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
	for (int i = 0; i < s->all.n; i++)
		if (s->at[i].why.kind != FAIL_NONE) {
			struct fail one = *why;

			(void)fail(why, FAIL_UNAVAILABLE, "%.150s; %.250s",
				   one.text, s->at[i].why.text);
			return;
		}
}

enum sentinels_say sentinels_say(const struct sentinels *s,
				 const struct place *master,
				 struct instant since, struct place *other,
				 struct fail *why)
{
	const struct sentinel *chosen = NULL;
	int all = how_many(s, since), told = 0, open = 0, most = 0;
	bool agreed = true;

	for (int i = 0; i < s->all.n; i++) {
		const struct sentinel *who = &s->at[i];
		int agree;

		open += !has_told(who, since) && owes(who) &&
			(who->id == 0 || is_another(s, who->id));
		if (!counts(s, who, since))
			continue;
		told++;
		agree = who_agree(s, who, since);
		most = agree > most ? agree : most;
		if (2 * agree <= all)
			continue;
		agreed = !chosen || place_same(&chosen->master, &who->master);
		chosen = who;
	}
	if (chosen && agreed) {
		*other = chosen->master;
		return place_same(other, master) ? SENTINELS_SAME
						 : SENTINELS_OTHER;
	}
	say_unsure(s, told, all, why);
	return 2 * (most + open) > all ? SENTINELS_OPEN : SENTINELS_UNSURE;
}

int sentinels_sockets(const struct sentinels *s, int fds[MEMBER_FDS_MAX])
{
	return members_sockets(&s->all, fds);
}
