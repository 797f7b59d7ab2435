/* SPDX-License-Identifier: MIT */
/* A real Cluster. Read cluster.h first. */
#include "cluster.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/wire/keys.h"
#include "server.h"

#define REDIRECTIONS 5
#define LINE_MAX_BYTES 512

static struct node {
	char id[41], host[64], port[8];
} nodes[PRIMARIES];

/* The words point into `copy`. */
static struct words split(const char *text, char copy[LINE_MAX_BYTES])
{
	struct words w = {0};
	char *rest;

	(void)snprintf(copy, LINE_MAX_BYTES, "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		words_add_text(&w, word);
	return w;
}

/* At this node. The words of the reply live until the next question. */
static void must(int node, const struct words *request, struct words *reply)
{
	server_take(node);
	if (!server_ask(request, reply))
		bail("node %d: %.*s: %.*s", node, (int)request->len[0],
		     request->at[0], (int)reply->len[0], reply->at[0]);
}

static void say(int node, const char *text, struct words *reply)
{
	char copy[LINE_MAX_BYTES];
	struct words w = split(text, copy);

	must(node, &w, reply);
}

long cluster_say(int node, const char *text)
{
	struct words reply;

	say(node, "ASKING", &reply);
	say(node, text, &reply);
	return reply.n > 0 ? strtol(reply.at[0], NULL, 10) : 0;
}

int cluster_count(int node)
{
	return (int)cluster_say(node, "DBSIZE");
}

/* "ID HOST:PORT@PORT myself,master - 0 0 EPOCH connected SLOTS..." */
static const char *self(int node)
{
	static char copy[4096];
	struct words reply;
	char *rest, *line;

	say(node, "CLUSTER NODES", &reply);
	(void)snprintf(copy, sizeof(copy), "%.*s", (int)reply.len[0],
		       reply.at[0]);
	for (line = strtok_r(copy, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, "myself"))
			return line;
	bail("node %d does not know itself", node);
}

void cluster_wait(int node)
{
	struct words reply;

	for (int i = 0; i < 1000; i++) {
		say(node, "CLUSTER INFO", &reply);
		if (strncmp(reply.at[0], "cluster_state:ok", 16) == 0)
			return;
		(void)poll(NULL, 0, 10);
	}
	bail("node %d does not serve", node);
}

int cluster_slot(int node, int but)
{
	char copy[LINE_MAX_BYTES];
	struct words w = split(self(node), copy);
	int from, to;

	for (int i = 8; i < w.n; i++) {
		int n = sscanf(w.at[i], "%d-%d", &from, &to);

		if (n >= 1 && from != but)
			return from;
		if (n == 2)
			return to;
	}
	bail("node %d has one slot", node);
}

void cluster_dial(char **sockets)
{
	for (int i = 0; i < PRIMARIES; i++) {
		struct node *n = &nodes[i];

		server_dial(sockets[i]);
		if (sscanf(self(i), "%40s %63[^:]:%7[0-9]", n->id, n->host,
			   n->port) != 3)
			bail("node %d: its address is odd", i);
	}
	server_dial(sockets[PRIMARIES]);
}

void cluster_flush(void)
{
	for (int i = 0; i < PRIMARIES; i++)
		(void)cluster_say(i, "FLUSHALL");
}

/* "MOVED SLOT HOST:PORT", "ASK ..."; -1: another error. */
static int redirected(const struct words *error, bool *asking)
{
	char text[128], host[64], port[8];
	int skip = 0;

	(void)snprintf(text, sizeof(text), "%.*s", (int)error->len[0],
		       error->at[0]);
	*asking = strncmp(text, "ASK ", 4) == 0;
	if (!*asking && strncmp(text, "MOVED ", 6) != 0)
		return -1;
	if (sscanf(text, "%*s %*d %n%63[^:]:%7[0-9]", &skip, host, port) == 2)
		for (int i = 0; i < PRIMARIES; i++)
			if (strcmp(host, nodes[i].host) == 0 &&
			    strcmp(port, nodes[i].port) == 0)
				return i;
	bail("sent to a strange node: %s", text);
}

bool cluster_ask(int node, const struct words *request, struct words *reply)
{
	bool asking = false;

	for (int i = 0; i <= REDIRECTIONS; i++) {
		if (asking)
			say(node, "ASKING", reply);
		server_take(node);
		if (server_ask(request, reply))
			return true;
		node = redirected(reply, &asking);
		if (node < 0)
			return false;
	}
	bail("sent from node to node: %.*s", (int)reply->len[0], reply->at[0]);
}

int cluster_owner(const char *key, size_t len)
{
	struct words get = {0}, reply;
	bool asking;
	int node;

	words_add_text(&get, "EXISTS");
	words_add(&get, key, len);
	server_take(0);
	if (server_ask(&get, &reply))
		return 0;
	node = redirected(&reply, &asking);
	if (node < 0)
		bail("nobody has the key: %.*s", (int)reply.len[0],
		     reply.at[0]);
	return node;
}

static void set_slot(const struct move *m, int node, const char *what, int peer)
{
	char text[LINE_MAX_BYTES];

	(void)snprintf(text, sizeof(text), "CLUSTER SETSLOT %s %s %s", m->slot,
		       what, nodes[peer].id);
	(void)cluster_say(node, text);
}

void cluster_begin(struct move *m, const char *key, size_t len)
{
	m->from = cluster_owner(key, len);
	m->to = (m->from + 1) % PRIMARIES;
	(void)snprintf(m->slot, sizeof(m->slot), "%d", key_slot(key, len));
	set_slot(m, m->to, "IMPORTING", m->from);
	set_slot(m, m->from, "MIGRATING", m->to);
}

static void carry(const struct move *m, const char *name, size_t len)
{
	const struct node *to = &nodes[m->to];
	struct words w = {0}, reply;

	words_add_text(&w, "MIGRATE");
	words_add_text(&w, to->host);
	words_add_text(&w, to->port);
	words_add(&w, name, len);
	words_add_text(&w, "0");
	words_add_text(&w, "5000");
	must(m->from, &w, &reply);
	if (reply.len[0] != 2)
		bail("%.*s is not there to be carried", (int)len, name);
}

void cluster_carry(const struct move *m, const char *name)
{
	carry(m, name, strlen(name));
}

void cluster_carry_all(const struct move *m)
{
	char text[64], name[256];
	struct words reply;

	(void)snprintf(text, sizeof(text), "CLUSTER GETKEYSINSLOT %s 1",
		       m->slot);
	for (say(m->from, text, &reply); reply.n > 0 && reply.len[0] > 0;
	     say(m->from, text, &reply)) {
		size_t len = reply.len[0];

		if (len > sizeof(name))
			bail("the name of a key is too long");
		memcpy(name, reply.at[0], len);
		carry(m, name, len);
	}
}

void cluster_end(const struct move *m)
{
	set_slot(m, m->to, "NODE", m->to);
	for (int i = 0; i < PRIMARIES; i++)
		set_slot(m, i, "NODE", m->to);
}
