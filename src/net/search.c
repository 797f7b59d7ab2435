/* SPDX-License-Identifier: MIT */
/* Asks others which server it is. */
#include "net/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "net/errors.h"
#include "net/member.h"
#include "net/place.h"

enum wanted {
	WANT_MASTER, /* the master of a group of Sentinels */
	WANT_ANY,    /* any node of the Cluster that answers */
	WANT_KNOWN   /* whether they know a node of it */
};

struct search {
	const struct endpoint *group;
	enum wanted wanted;
	struct members all;
	int open;      /* have not answered */
	int strangers; /* number of Sentinels that do not know the group, or
			  nodes that do not know the other node */
	struct place place; /* WANT_KNOWN: the other node */
	struct place doubted;
	int insist;      /* number that say it is still the master */
	struct fail why; /* the most important failure */
	struct member member[];
};

static bool is_cluster(const struct search *s)
{
	return s->wanted != WANT_MASTER;
}

/* A refusal says more than another server that is down. */
static void blame(struct search *s, enum fail_kind kind, const char *name,
		  const char *text)
{
	if (s->why.kind == FAIL_NONE || s->why.kind == FAIL_UNAVAILABLE)
		(void)fail(&s->why, kind, "%s%s%s%s",
			   is_cluster(s) ? "" : "Sentinel ", name,
			   name[0] ? ": " : "", text);
}

static void refused(struct search *s, const struct member *m, const char *text)
{
	struct error_told told;
	char said[300];

	error_explain(&told, text,
		      is_cluster(s) ? ERROR_FROM_CLUSTER : ERROR_FROM_SENTINEL);
	blame(s, told.kind, m->ep.name,
	      error_say(&told, true, said, sizeof(said)));
}

/* Host and port, or nothing if the name is unknown. */
static bool told(struct search *s, const struct member *m,
		 const struct words *reply, struct place *found)
{
	if (reply->n != 2) {
		s->strangers++;
		return false;
	}
	if (member_master(found, reply) == 0)
		return true;
	blame(s, FAIL_CONFIG, m->ep.name,
	      "the master's address that it reports is not a host and port");
	return false;
}

static bool is_member(struct search *s, const struct member *m)
{
	const struct reply *r = conn_whole(&m->conn);
	bool is = r && (member_in_nodes(r, &s->place) ||
			member_in_slots(r, m->ep.at[0].host, &s->place));

	s->strangers += !is && m->conn.asked == m->conn.taken;
	return is;
}

/* The place that it names. */
static bool learns(struct search *s, const struct member *m,
		   const struct words *reply, struct place *found)
{
	switch (s->wanted) {
	case WANT_MASTER:
		return told(s, m, reply, found);
	case WANT_ANY:
		*found = m->ep.at[0];
		return true;
	case WANT_KNOWN:
		*found = s->place;
		return is_member(s, m);
	}
	return false;
}

static void over(struct search *s, struct member *m)
{
	s->open--;
	conn_close(&m->conn);
}

static bool take_answer(struct search *s, struct member *m, struct place *found)
{
	char text[200];
	unsigned int number;
	struct words reply;
	bool ran, knows = false;

	switch (conn_next(&m->conn, &number, &reply, &ran)) {
	case CONN_NOTHING:
		return false;
	case CONN_REPLY:
		knows = learns(s, m, &reply, found);
		break;
	case CONN_ERROR:
		refused(s, m,
			format_bytes(reply.at[0], reply.len[0], text,
				     sizeof(text)));
		/* an error, but the server is alive: it will tell us again */
		knows = s->wanted == WANT_ANY && learns(s, m, &reply, found);
		break;
	case CONN_REFUSED:
	case CONN_BROKEN:
		if (m->conn.refused)
			refused(s, m, m->conn.why.text);
		else
			blame(s, m->conn.why.kind, "", m->conn.why.text);
		break;
	}
	if (!knows && m->conn.asked != m->conn.taken)
		return take_answer(s, m, found);
	over(s, m);
	if (!knows || !place_same(found, &s->doubted) ||
	    s->wanted == WANT_KNOWN)
		return knows;
	s->insist++;
	return 2 * s->insist >= s->all.n;
}

static int ask(struct search *s, struct member *m)
{
	switch (s->wanted) {
	case WANT_MASTER:
		return member_ask_master(m, s->group->group);
	case WANT_ANY:
		return member_ask(m, "PING", NULL, NULL);
	case WANT_KNOWN:
		return member_ask(m, "CLUSTER", "NODES", NULL) < 0
			       ? -1
			       : member_ask(m, "CLUSTER", "SLOTS", NULL);
	}
	return -1;
}

static void add(struct search *s, const struct place *at, int turn)
{
	struct member *m = &s->member[s->all.n];

	member_endpoint(s->group, at, &m->ep);
	if (s->wanted == WANT_KNOWN)
		m->ep.secret = s->group->secret;
	members_add(&s->all, m);
	m->peer.first = turn;
	m->conn.whole = s->wanted == WANT_KNOWN;
	/* it may fail before there is anything to be answered */
	if (ask(s, m) < 0 && m->conn.asked == m->conn.taken) {
		blame(s, m->conn.why.kind, "", m->conn.why.text);
		over(s, m);
	} else {
		members_watch(&s->all, m);
	}
}

static enum wanted wanted_of(const struct peer *p)
{
	if (p->ep->kind == ENDPOINT_SENTINEL)
		return WANT_MASTER;
	return peer_is_known(p) ? WANT_ANY : WANT_KNOWN;
}

struct search *search_start(const struct peer *p, struct fail *why)
{
	enum wanted wanted = wanted_of(p);
	struct place each[KNOWN_NODES_MAX];
	int n = wanted == WANT_KNOWN ? peer_known_nodes(p, each)
				     : p->ep->places;
	struct search *s =
		calloc(1, sizeof(*s) + (size_t)n * sizeof(s->member[0]));

	if (!s) {
		(void)fail_memory(why);
		return NULL;
	}
	if (members_open(&s->all, why) < 0) {
		free(s);
		return NULL;
	}
	s->group = p->ep;
	s->wanted = wanted;
	s->place = p->place;
	s->doubted = p->doubted;
	s->open = n;
	for (int i = 0; i < n; i++)
		add(s, wanted == WANT_KNOWN ? &each[i] : &p->ep->at[i],
		    p->sought);
	return s;
}

void search_close(struct search *s)
{
	members_close(&s->all);
	free(s);
}

int search_sockets(const struct search *s, int fds[MEMBER_FDS_MAX])
{
	return members_sockets(&s->all, fds);
}

/* All have answered, or cannot be reached. The name is certainly wrong only if
 * all of them say so: a new Sentinel knows nothing yet. */
static void lost_master(const struct search *s, struct fail *why)
{
	const char *group = s->group->group;

	if (s->strangers == s->all.n)
		(void)fail(why, FAIL_CONFIG,
			   "the Sentinels do not know '%.100s'; use the name "
			   "from their configuration (sentinel monitor NAME)",
			   group);
	else if (s->strangers > 0 && s->why.kind != FAIL_NONE)
		(void)fail(why, FAIL_UNAVAILABLE,
			   "%d of %d Sentinels do not know '%.100s', and the "
			   "others do not answer: %.200s",
			   s->strangers, s->all.n, group, s->why.text);
	else if (s->why.kind == FAIL_UNAVAILABLE)
		(void)fail(why, FAIL_UNAVAILABLE, "no Sentinel answers: %.300s",
			   s->why.text);
	else if (s->why.kind != FAIL_NONE)
		*why = s->why;
	else
		(void)fail(why, FAIL_UNAVAILABLE,
			   "the Sentinels give no address for '%.100s'", group);
}

static void lost_member(const struct search *s, struct fail *why)
{
	char at[PLACE_TEXT_MAX];

	(void)place_text(&s->place, at);
	if (s->strangers > 0)
		(void)fail(why, FAIL_UNAVAILABLE,
			   "the Cluster redirects to %.200s, which is not one "
			   "of its nodes (see CLUSTER NODES); not sending the "
			   "password there",
			   at);
	else
		(void)fail(why, s->why.kind,
			   "cannot find out whether %.100s is a node of the "
			   "Cluster: %.200s",
			   at, s->why.text);
}

static enum search_got lost(const struct search *s, struct fail *why)
{
	switch (s->wanted) {
	case WANT_MASTER:
		lost_master(s, why);
		break;
	case WANT_ANY:
		(void)fail(why, FAIL_UNAVAILABLE, "no node answers: %.300s",
			   s->why.text);
		break;
	case WANT_KNOWN:
		lost_member(s, why);
		break;
	}
	return SEARCH_LOST;
}

enum search_got search_step(struct search *s, struct place *found,
			    struct fail *why)
{
	struct member *stepped[MEMBERS_MAX];

	(void)members_step(&s->all, stepped);
	for (int i = 0; i < s->all.n; i++) {
		struct member *m = &s->member[i];

		if (take_answer(s, m, found))
			return SEARCH_FOUND;
		members_watch(&s->all, m);
	}
	if (s->open > 0)
		return SEARCH_GOING;
	if (s->insist == 0)
		return lost(s, why);
	*found = s->doubted;
	return SEARCH_FOUND;
}
