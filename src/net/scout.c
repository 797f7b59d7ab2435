/* SPDX-License-Identifier: MIT */
/* Several servers asked at once. */
#include "net/scout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/units.h"
#include "net/conn.h"
#include "net/place.h"

struct seeker {
	struct endpoint ep;
	struct peer peer;
	struct conn conn;
	bool over;
};

struct scout {
	const struct endpoint *group;
	int epoll; /* all of them as one descriptor */
	int n, open;
	int strangers; /* Sentinels that do not know the group */
	struct place doubted;
	int insist;      /* so many say that it is there all the same */
	struct fail why; /* the weightiest failure */
	struct seeker at[];
};

static bool is_cluster(const struct scout *s)
{
	return s->group->kind == ENDPOINT_CLUSTER;
}

/* What a refusal says is of more use than that another one is down. */
static void blame(struct scout *s, enum fail_kind kind, const char *name,
		  const char *text, const char *advice)
{
	if (s->why.kind == FAIL_NONE || s->why.kind == FAIL_UNAVAILABLE)
		(void)fail(&s->why, kind, "%s%s%s%s%s",
			   is_cluster(s) ? "" : "Sentinel ", name,
			   name[0] ? ": " : "", text, advice);
}

static void refused(struct scout *s, const struct seeker *k, const char *text)
{
	static const struct {
		const char *prefix;
		enum fail_kind kind;
		const char *advice;
	} classes[] = {
		{"NOAUTH", FAIL_REFUSED,
		 "; give its password with ?sentinel-password-file="},
		{"WRONGPASS", FAIL_REFUSED, ""},
		{"NOPERM", FAIL_REFUSED, ""},
		{"ERR AUTH", FAIL_REFUSED, ""},
		{"ERR invalid password", FAIL_REFUSED, ""},
		{"DENIED", FAIL_REFUSED, ""},
		{"ERR unknown command", FAIL_CONFIG,
		 "; that is no Sentinel (they listen on 26379)"},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strncmp(text, classes[i].prefix,
			    strlen(classes[i].prefix)) == 0) {
			blame(s, classes[i].kind, k->ep.name, text,
			      classes[i].advice);
			return;
		}
	blame(s, FAIL_UNAVAILABLE, k->ep.name, text, "");
}

/* Host and port, or nothing where the name is not known. */
static bool told(struct scout *s, const struct seeker *k,
		 const struct words *reply, struct place *found)
{
	if (reply->n != 2) {
		s->strangers++;
		return false;
	}
	if (place_told(found, (struct span){reply->at[0], reply->len[0]},
		       (struct span){reply->at[1], reply->len[1]}) == 0)
		return true;
	blame(s, FAIL_CONFIG, k->ep.name,
	      "the master's address that it tells is no host and port", "");
	return false;
}

static void over(struct scout *s, struct seeker *k)
{
	k->over = true;
	s->open--;
	conn_close(&k->conn);
}

static bool take(struct scout *s, struct seeker *k, struct place *found)
{
	char text[200];
	unsigned int number;
	struct words reply;
	bool ran, knows = false;

	switch (conn_next(&k->conn, &number, &reply, &ran)) {
	case CONN_NOTHING:
		return false;
	case CONN_REPLY:
		knows = is_cluster(s) || told(s, k, &reply, found);
		break;
	case CONN_ERROR:
		/* whatever is wrong, it lives: it will say so again */
		knows = is_cluster(s);
		refused(s, k,
			format_bytes(reply.at[0], reply.len[0], text,
				     sizeof(text)));
		break;
	case CONN_REFUSED:
	case CONN_BROKEN:
		if (k->conn.refused)
			refused(s, k, k->conn.why.text);
		else
			blame(s, k->conn.why.kind, "", k->conn.why.text, "");
		break;
	}
	if (knows && is_cluster(s))
		*found = k->ep.at[0];
	over(s, k);
	if (!knows || strcmp(found->host, s->doubted.host) != 0 ||
	    strcmp(found->port, s->doubted.port) != 0)
		return knows;
	s->insist++;
	return 2 * s->insist >= s->n;
}

/* A closed descriptor leaves the epoll by itself. */
static void watch(struct scout *s, struct seeker *k)
{
	struct epoll_event e = {.events = (uint32_t)conn_events(&k->conn),
				.data.ptr = k};
	int fd = conn_fd(&k->conn);

	if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &e) < 0 &&
	    errno == ENOENT)
		(void)epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
}

void scout_member(const struct endpoint *group, int i, struct endpoint *out)
{
	const struct place *at = &group->at[i];
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

static void ask(struct scout *s, int i)
{
	struct seeker *k = &s->at[i];
	struct words question = {0};

	scout_member(s->group, i, &k->ep);
	peer_init(&k->peer, &k->ep);
	conn_init(&k->conn, &k->peer);
	if (is_cluster(s)) {
		words_add_text(&question, "PING");
	} else {
		words_add_text(&question, "SENTINEL");
		words_add_text(&question, "get-master-addr-by-name");
		words_add_text(&question, s->group->group);
	}
	/* it may fail before there is anything to be answered */
	if (conn_ask(&k->conn, &question) < 0 &&
	    k->conn.asked == k->conn.taken) {
		blame(s, k->conn.why.kind, "", k->conn.why.text, "");
		over(s, k);
	} else {
		watch(s, k);
	}
}

struct scout *scout_start(const struct endpoint *group,
			  const struct place *doubted, struct fail *why)
{
	size_t n = (size_t)group->places;
	struct scout *s = calloc(1, sizeof(*s) + n * sizeof(s->at[0]));

	if (!s) {
		(void)fail(why, FAIL_INTERNAL, "out of memory");
		return NULL;
	}
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		(void)fail_sys(why, FAIL_INTERNAL, "cannot make an epoll");
		free(s);
		return NULL;
	}
	s->group = group;
	s->doubted = *doubted;
	s->n = s->open = group->places;
	for (int i = 0; i < s->n; i++)
		ask(s, i);
	return s;
}

void scout_close(struct scout *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n; i++)
		conn_close(&s->at[i].conn);
	close(s->epoll);
	free(s);
}

int scout_fd(const struct scout *s)
{
	return s->epoll;
}

int scout_sockets(const struct scout *s, int fds[SCOUT_FDS_MAX])
{
	int n = 0;

	fds[n++] = s->epoll;
	for (int i = 0; i < s->n; i++)
		if (conn_fd(&s->at[i].conn) >= 0)
			fds[n++] = conn_fd(&s->at[i].conn);
	return n;
}

/* All have spoken, or cannot be reached. That the name is wrong is certain only
 * if all of them say so: one that was just set up knows nothing yet. */
static enum scout_got lost(const struct scout *s, struct fail *why)
{
	const char *group = s->group->group;

	if (is_cluster(s))
		(void)fail(why, FAIL_UNAVAILABLE, "no node answers: %.300s",
			   s->why.text);
	else if (s->strangers == s->n)
		(void)fail(
			why, FAIL_CONFIG,
			"the Sentinels do not know '%.100s'; the name stands "
			"in their configuration (sentinel monitor NAME)",
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
			   "the Sentinels give no address of '%.100s'", group);
	return SCOUT_LOST;
}

enum scout_got scout_step(struct scout *s, struct place *found,
			  struct fail *why)
{
	struct epoll_event came[PLACES_MAX];
	int n = epoll_wait(s->epoll, came, PLACES_MAX, 0);

	for (int i = 0; i < n; i++) {
		struct seeker *k = came[i].data.ptr;

		if (!k->over)
			conn_step(&k->conn, (short)came[i].events);
	}
	for (int i = 0; i < s->n; i++) {
		struct seeker *k = &s->at[i];

		if (k->over)
			continue;
		if (take(s, k, found))
			return SCOUT_FOUND;
		if (!k->over)
			watch(s, k);
	}
	if (s->open > 0)
		return SCOUT_SEEKING;
	if (s->insist == 0)
		return lost(s, why);
	*found = s->doubted;
	return SCOUT_FOUND;
}
