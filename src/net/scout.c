/* SPDX-License-Identifier: MIT */
/* Several servers asked at once. */
#include "net/scout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/units.h"
#include "net/bundle.h"
#include "net/conn.h"
#include "net/errors.h"
#include "net/member.h"
#include "net/place.h"

enum quest {
	QUEST_MASTER, /* the master of a group of Sentinels */
	QUEST_ALIVE,  /* any node of the Cluster */
	QUEST_MEMBER  /* whether they know a node of it */
};

struct seeker {
	struct endpoint ep;
	struct peer peer;
	struct conn conn;
	bool over;
};

struct scout {
	const struct endpoint *group;
	enum quest quest;
	int epoll; /* all of them as one descriptor */
	int n, open;
	int turn;      /* of the addresses of their names */
	int strangers; /* number of Sentinels that do not know the group, or
			  nodes that do not know the other node */
	struct place wanted; /* QUEST_MEMBER */
	struct place doubted;
	int insist;      /* number that say it is still the master */
	struct fail why; /* the most important failure */
	struct seeker at[];
};

static bool is_cluster(const struct scout *s)
{
	return s->quest != QUEST_MASTER;
}

/* A refusal says more than another server that is down. */
static void blame(struct scout *s, enum fail_kind kind, const char *name,
		  const char *text)
{
	if (s->why.kind == FAIL_NONE || s->why.kind == FAIL_UNAVAILABLE)
		(void)fail(&s->why, kind, "%s%s%s%s",
			   is_cluster(s) ? "" : "Sentinel ", name,
			   name[0] ? ": " : "", text);
}

static void refused(struct scout *s, const struct seeker *k, const char *text)
{
	struct error_told told;
	char said[300];

	error_explain(&told, text,
		      is_cluster(s) ? ERROR_FROM_CLUSTER : ERROR_FROM_SENTINEL);
	blame(s, told.kind, k->ep.name,
	      error_say(&told, true, said, sizeof(said)));
}

/* Host and port, or nothing if the name is unknown. */
static bool told(struct scout *s, const struct seeker *k,
		 const struct words *reply, struct place *found)
{
	if (reply->n != 2) {
		s->strangers++;
		return false;
	}
	if (member_master(found, reply) == 0)
		return true;
	blame(s, FAIL_CONFIG, k->ep.name,
	      "the master's address that it reports is not a host and port");
	return false;
}

static bool is_member(struct scout *s, const struct seeker *k)
{
	const struct reply *r = conn_whole(&k->conn);
	bool is = r && (member_in_nodes(r, &s->wanted) ||
			member_in_slots(r, k->ep.at[0].host, &s->wanted));

	s->strangers += !is && k->conn.asked == k->conn.taken;
	return is;
}

/* The place that it names. */
static bool learns(struct scout *s, const struct seeker *k,
		   const struct words *reply, struct place *found)
{
	switch (s->quest) {
	case QUEST_MASTER:
		return told(s, k, reply, found);
	case QUEST_ALIVE:
		*found = k->ep.at[0];
		return true;
	case QUEST_MEMBER:
		*found = s->wanted;
		return is_member(s, k);
	}
	return false;
}

static void over(struct scout *s, struct seeker *k)
{
	k->over = true;
	s->open--;
	conn_close(&k->conn);
}

static bool take_answer(struct scout *s, struct seeker *k, struct place *found)
{
	char text[200];
	unsigned int number;
	struct words reply;
	bool ran, knows = false;

	switch (conn_next(&k->conn, &number, &reply, &ran)) {
	case CONN_NOTHING:
		return false;
	case CONN_REPLY:
		knows = learns(s, k, &reply, found);
		break;
	case CONN_ERROR:
		refused(s, k,
			format_bytes(reply.at[0], reply.len[0], text,
				     sizeof(text)));
		/* an error, but the server is alive: it will tell us again */
		knows = s->quest == QUEST_ALIVE && learns(s, k, &reply, found);
		break;
	case CONN_REFUSED:
	case CONN_BROKEN:
		if (k->conn.refused)
			refused(s, k, k->conn.why.text);
		else
			blame(s, k->conn.why.kind, "", k->conn.why.text);
		break;
	}
	if (!knows && k->conn.asked != k->conn.taken)
		return take_answer(s, k, found);
	over(s, k);
	if (!knows || !place_same(found, &s->doubted) ||
	    s->quest == QUEST_MEMBER)
		return knows;
	s->insist++;
	return 2 * s->insist >= s->n;
}

static void watch(const struct scout *s, struct seeker *k)
{
	bundle_watch(s->epoll, conn_fd(&k->conn), conn_events(&k->conn), k);
}

void scout_member(const struct endpoint *group, const struct place *at,
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

static int ask_words(struct seeker *k, const char *const words[3])
{
	struct words question = {0};

	for (int i = 0; i < 3 && words[i]; i++)
		words_add_text(&question, words[i]);
	return conn_ask(&k->conn, &question);
}

static int ask_quest(struct scout *s, struct seeker *k)
{
	const char *const master[3] = {"SENTINEL", "get-master-addr-by-name",
				       s->group->group};
	const char *const alive[3] = {"PING"};
	const char *const nodes[3] = {"CLUSTER", "NODES"};
	const char *const slots[3] = {"CLUSTER", "SLOTS"};

	switch (s->quest) {
	case QUEST_MASTER:
		return ask_words(k, master);
	case QUEST_ALIVE:
		return ask_words(k, alive);
	case QUEST_MEMBER:
		return ask_words(k, nodes) < 0 ? -1 : ask_words(k, slots);
	}
	return -1;
}

static void ask_member_at(struct scout *s, int i, const struct place *at)
{
	struct seeker *k = &s->at[i];

	scout_member(s->group, at, &k->ep);
	if (s->quest == QUEST_MEMBER)
		k->ep.secret = s->group->secret;
	peer_init(&k->peer, &k->ep);
	k->peer.first = s->turn;
	conn_init(&k->conn, &k->peer, NULL);
	k->conn.whole = s->quest == QUEST_MEMBER;
	/* it may fail before there is anything to be answered */
	if (ask_quest(s, k) < 0 && k->conn.asked == k->conn.taken) {
		blame(s, k->conn.why.kind, "", k->conn.why.text);
		over(s, k);
	} else {
		watch(s, k);
	}
}

static enum quest quest_of(const struct peer *p)
{
	if (p->ep->kind == ENDPOINT_SENTINEL)
		return QUEST_MASTER;
	return peer_is_known(p) ? QUEST_ALIVE : QUEST_MEMBER;
}

static struct scout *start(const struct peer *p, struct fail *why)
{
	enum quest quest = quest_of(p);
	struct place each[SENIORS_MAX];
	int n = quest == QUEST_MEMBER ? peer_seniors(p, each) : p->ep->places;
	struct scout *s = calloc(1, sizeof(*s) + (size_t)n * sizeof(s->at[0]));

	if (!s) {
		(void)fail(why, FAIL_INTERNAL, "out of memory");
		return NULL;
	}
	s->epoll = bundle_open(why);
	if (s->epoll < 0) {
		free(s);
		return NULL;
	}
	s->group = p->ep;
	s->quest = quest;
	s->turn = p->sought;
	s->wanted = p->place;
	s->doubted = p->doubted;
	s->n = s->open = n;
	for (int i = 0; i < n; i++)
		ask_member_at(s, i,
			      quest == QUEST_MEMBER ? &each[i] : &p->ep->at[i]);
	return s;
}

static void stop(struct scout *s)
{
	for (int i = 0; i < s->n; i++)
		conn_close(&s->at[i].conn);
	close(s->epoll);
	free(s);
}

static int sockets_of(const struct scout *s, int fds[FINDER_FDS_MAX])
{
	int n = 0;

	fds[n++] = s->epoll;
	for (int i = 0; i < s->n; i++)
		if (conn_fd(&s->at[i].conn) >= 0)
			fds[n++] = conn_fd(&s->at[i].conn);
	return n;
}

/* All have answered, or cannot be reached. The name is certainly wrong only if
 * all of them say so: a new Sentinel knows nothing yet. */
static void lost_master(const struct scout *s, struct fail *why)
{
	const char *group = s->group->group;

	if (s->strangers == s->n)
		(void)fail(why, FAIL_CONFIG,
			   "the Sentinels do not know '%.100s'; use the name "
			   "from their configuration (sentinel monitor NAME)",
			   group);
	else if (s->strangers > 0 && s->why.kind != FAIL_NONE)
		(void)fail(why, FAIL_UNAVAILABLE,
			   "%d of %d Sentinels do not know '%.100s', and the "
			   "others do not answer: %.200s",
			   s->strangers, s->n, group, s->why.text);
	else if (s->why.kind == FAIL_UNAVAILABLE)
		(void)fail(why, FAIL_UNAVAILABLE, "no Sentinel answers: %.300s",
			   s->why.text);
	else if (s->why.kind != FAIL_NONE)
		*why = s->why;
	else
		(void)fail(why, FAIL_UNAVAILABLE,
			   "the Sentinels give no address for '%.100s'", group);
}

static void lost_member(const struct scout *s, struct fail *why)
{
	char at[PLACE_TEXT_MAX];

	(void)place_text(&s->wanted, at);
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

static enum finder_got lost(const struct scout *s, struct fail *why)
{
	switch (s->quest) {
	case QUEST_MASTER:
		lost_master(s, why);
		break;
	case QUEST_ALIVE:
		(void)fail(why, FAIL_UNAVAILABLE, "no node answers: %.300s",
			   s->why.text);
		break;
	case QUEST_MEMBER:
		lost_member(s, why);
		break;
	}
	return FINDER_LOST;
}

static enum finder_got step(struct scout *s, struct place *found,
			    struct fail *why)
{
	struct epoll_event came[SENIORS_MAX];
	int n = epoll_wait(s->epoll, came, SENIORS_MAX, 0);

	for (int i = 0; i < n; i++) {
		struct seeker *k = came[i].data.ptr;

		if (!k->over)
			conn_step(&k->conn, (short)came[i].events);
	}
	for (int i = 0; i < s->n; i++) {
		struct seeker *k = &s->at[i];

		if (k->over)
			continue;
		if (take_answer(s, k, found))
			return FINDER_FOUND;
		if (!k->over)
			watch(s, k);
	}
	if (s->open > 0)
		return FINDER_GOING;
	if (s->insist == 0)
		return lost(s, why);
	*found = s->doubted;
	return FINDER_FOUND;
}

const struct finder scout_finder = {
	.start = start, .close = stop, .step = step, .sockets = sockets_of};
