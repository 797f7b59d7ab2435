/* SPDX-License-Identifier: MIT */
/* Where a node is, and where it is sent on to. */
#include "net/peer.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "net/place.h"
#include "tap.h"
#include "cli/url.h"

static struct endpoint ep;

static void peer_of(struct peer *p, const char *url)
{
	struct fail why;

	memset(p, 0, sizeof(*p));
	if (endpoint_parse(&ep, url, &why) < 0)
		exit(99);
	peer_init(p, &ep);
}

static bool is_at(const struct peer *p, const char *host, const char *port)
{
	return strcmp(p->place.host, host) == 0 &&
	       strcmp(p->place.port, port) == 0;
}

static void test_redirections(void)
{
	static const struct {
		const char *error;
		bool is, ask;
		const char *host, *port;
	} cases[] = {
		{"MOVED 3999 10.0.0.7:6381", true, false, "10.0.0.7", "6381"},
		{"ASK 3999 10.0.0.7:6381", true, true, "10.0.0.7", "6381"},
		{"MOVED 0 node-7.example:1", true, false, "node-7.example",
		 "1"},
		{"MOVED 1 :6381", true, false, "10.0.0.1", "6381"},
		{"MOVED 866 fe80::1:6381", true, false, "fe80::1", "6381"},
		{"MOVED 1 ::1:65535", true, false, "::1", "65535"},
		{"MOVED 99999999999999999999 10.0.0.7:1", true, false,
		 "10.0.0.7", "1"},
		{"MOVED 1 ?:6381", false, false, "", ""},
		{"MOVED 1 a\tb:1", false, false, "", ""},
		{"MOVED 1 \033]0;x\a:1", false, false, "", ""},
		{"MOVED 1 me@evil:1", false, false, "", ""},
		{"MOVED 1 \\x1b[31m:1", false, false, "", ""},
		{"MOVED 1 Node:1", true, false, "node", "1"},
		{"MOVED 1 10.0.0.7", false, false, "", ""},
		{"MOVED 1 10.0.0.7:", false, false, "", ""},
		{"MOVED 1 10.0.0.7:0", false, false, "", ""},
		{"MOVED 1 10.0.0.7:65536", false, false, "", ""},
		{"MOVED 1 10.0.0.7:99999999999", false, false, "", ""},
		{"MOVED x 10.0.0.7:1", false, false, "", ""},
		{"MOVED 1", false, false, "", ""},
		{"MOVED ", false, false, "", ""},
		{"MOVED", false, false, "", ""},
		{"ASK ", false, false, "", ""},
		{"TRYAGAIN Multiple keys request during rehashing of slot",
		 false, false, "", ""},
		{"MOVEDX 1 a:1", false, false, "", ""},
		{"ERR MOVED 1 a:1", false, false, "", ""},
	};
	char long_one[400] = "MOVED 1 ", shown[80];
	struct place to;
	struct peer p;
	bool ask;

	peer_of(&p, "redis-cluster://10.0.0.1,10.0.0.2:7000");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *error = cases[i].error;

		(void)format_bytes(error, strlen(error), shown, sizeof(shown));
		is_int(peer_redirected(&p, error, &ask, &to), cases[i].is,
		       "'%s' is one, or not", shown);
		if (!cases[i].is)
			continue;
		is_int(ask, cases[i].ask, "'%s': MOVED or ASK", shown);
		is_text(to.host, cases[i].host, "'%s': the host", shown);
		is_text(to.port, cases[i].port, "'%s': the port", shown);
	}
	memset(long_one + 8, 'h', 300);
	memcpy(long_one + 308, ":6379", 6);
	ok(!peer_redirected(&p, long_one, &ask, &to),
	   "a host of 300 bytes is refused");
}

static void test_moves(void)
{
	const struct place there = {"10.0.0.7", "6381"};
	struct peer p;

	peer_of(&p, "redis-cluster://10.0.0.1,10.0.0.2:7000");
	ok(is_at(&p, "10.0.0.1", "6379"), "the first node is asked first");
	is_text(p.name, "10.0.0.1:6379", "its name is used in messages");
	ok(peer_known(&p), "its address needs no lookup");
	peer_move(&p, &there);
	is_int(p.moves, 1, "another server is a move");
	is_text(p.name, "10.0.0.7:6381", "its name is used from then on");
	ok(peer_known(&p), "its address is known as well");
	peer_move(&p, &there);
	is_int(p.moves, 1, "the same place again is not a move");
	is_int(p.try, 0, "the address stays in use");
	peer_doubt(&p);
	ok(peer_known(&p) && is_at(&p, "10.0.0.2", "7000"),
	   "silent: the next node is asked");
	is_int(p.moves, 2, "the next node is a move, too");
	peer_doubt(&p);
	ok(peer_known(&p) && is_at(&p, "10.0.0.1", "6379"),
	   "after the last node the first is asked again");
}

static void test_kinds(void)
{
	const struct place there = {"fe80::7", "6381"};
	struct peer p;

	peer_of(&p, "redis://10.0.0.1:7000");
	is_text(p.name, "10.0.0.1:7000",
		"a plain server is named by its address");
	ok(peer_known(&p), "a numeric address is known");
	peer_doubt(&p);
	ok(peer_known(&p) && is_at(&p, "10.0.0.1", "7000"),
	   "a plain server is where it is, even when in doubt");
	peer_of(&p, "redis://cache.example");
	ok(!peer_known(&p), "a name must be looked up");
	peer_of(&p, "redis-sentinel://10.0.0.1,10.0.0.2/web");
	is_text(p.place.host, "", "a group has no place at first");
	peer_move(&p, &there);
	is_text(p.name, "web at [fe80::7]:6381",
		"its name has the group and the master");
	peer_of(&p, "unix:///tmp/x.sock");
	ok(peer_known(&p), "a socket is known");
}

/* What no URL could name is no place. */
static void test_told(void)
{
	static const struct {
		const char *host, *port, *text;
	} cases[] = {
		{"10.0.0.7", "6381", "10.0.0.7:6381"},
		{"Node-7.Example", "1", "node-7.example:1"},
		{"::1", "65535", "[::1]:65535"},
		{"0:0::1", "00001", "[::1]:1"},
		{"", "1", NULL},
		{"?", "1", NULL},
		{"a b", "1", NULL},
		{"\x1b]0;x\a", "1", NULL},
		{"a\nb", "1", NULL},
		{"\xc2\x9b", "1", NULL},
		{"[::1]", "1", NULL},
		{"a:b", "1", NULL},
		{"fe80::1%eth0", "1", NULL},
		{"127.1", "1", NULL},
		{".evil", "1", NULL},
		{"me:word@evil", "1", NULL},
		{"/tmp/x", "1", NULL},
		{"a", "", NULL},
		{"a", "0", NULL},
		{"a", "65536", NULL},
		{"a", "1x", NULL},
		{"a", "-1", NULL},
		{"a", "0000000001", NULL},
	};
	char many[300], text[PLACE_TEXT_MAX], shown[80];
	struct place p;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *host = cases[i].host, *port = cases[i].port;
		int rc = place_told(&p, (struct span){host, strlen(host)},
				    (struct span){port, strlen(port)});

		(void)format_bytes(host, strlen(host), shown, sizeof(shown));
		if (!ok((rc == 0) == (cases[i].text != NULL),
			"'%s', '%s' is a place, or not", shown, port) ||
		    rc < 0)
			continue;
		is_text(place_text(&p, text), cases[i].text, "'%s', '%s'",
			shown, port);
	}
	memset(many, 'h', sizeof(many));
	ok(place_told(&p, (struct span){many, sizeof(many)},
		      (struct span){"1", 1}) < 0,
	   "a host of 300 bytes is refused");
	ok(place_told(&p, (struct span){"::1\0x", 5}, (struct span){"1", 1}) <
			   0 &&
		   place_told(&p, (struct span){"a\0x", 3},
			      (struct span){"1", 1}) < 0 &&
		   place_told(&p, (struct span){"a", 1},
			      (struct span){"1\0x", 3}) < 0,
	   "a host with a NUL is refused");
}

static void test_fixed(void)
{
	const struct place there = {"10.0.0.7", "6381"};
	struct peer p = {0};

	peer_of(&p, "redis-cluster://10.0.0.1,10.0.0.2:7000");
	memset(&p, 0, sizeof(p));
	peer_init_at(&p, &ep, &there);
	is_text(p.name, "10.0.0.7:6381", "a node of a Cluster is named");
	ok(peer_known(&p) && is_at(&p, "10.0.0.7", "6381"),
	   "the address of the node is known");
	peer_doubt(&p);
	ok(!peer_is_silent(&p),
	   "after a doubt a node does not count as silent");
	ok(peer_known(&p) && is_at(&p, "10.0.0.7", "6381"),
	   "after a doubt a node keeps its address");
}

/* A server that we connect to gets the password. */
static void test_known(void)
{
	struct place there = {"10.0.0.7", "6381"}, each[KNOWN_NODES_MAX];
	struct peer p, other = {0};

	peer_of(&p, "redis-cluster://10.0.0.1,10.0.0.2:7000");
	ok(peer_is_known(&p), "a node of the URL is known");
	is_int(peer_known_nodes(&p, each), 2,
	       "known nodes are asked about others");
	peer_move(&p, &there);
	ok(!peer_is_known(&p), "a node that another node names is not known");
	peer_follow(&other, &p, &there);
	ok(!peer_is_known(&other),
	   "a second connection does not know it either");
	peer_return(&p);
	ok(peer_is_known(&p) && is_at(&p, "10.0.0.2", "7000"),
	   "not confirmed: back to the URL");
	peer_move(&p, &there);
	peer_trust(&p);
	ok(peer_is_known(&p), "a confirmed node is known");
	is_int(peer_known_nodes(&p, each), 3, "it is asked about others");
	is_text(each[2].host, "10.0.0.7", "it is asked last");
	peer_follow(&other, &p, &there);
	ok(peer_is_known(&other), "a second connection knows it as well");
	for (int i = 0; i < TRUSTED_MAX; i++) {
		(void)snprintf(there.port, sizeof(there.port), "%d", i + 1);
		peer_move(&p, &there);
		ok(!peer_is_known(&p), "another port is another server");
		peer_trust(&p);
	}
	is_int(peer_known_nodes(&p, each), 2 + TRUSTED_MAX,
	       "the number of known nodes is limited");
	(void)snprintf(there.port, sizeof(there.port), "6381");
	peer_move(&p, &there);
	ok(!peer_is_known(&p), "the oldest node is forgotten first");
	peer_of(&p, "redis-sentinel://10.0.0.1/web");
	peer_move(&p, &there);
	ok(peer_is_known(&p), "a group's master is known from its Sentinels");
}

static void test_local(void)
{
	static const struct {
		const char *host;
		bool local;
	} cases[] = {
		{"127.0.0.1", true},
		{"127.255.1.9", true},
		{"128.0.0.1", false},
		{"10.0.0.1", false},
		{"::1", true},
		{"::2", false},
		{"::", true},
		{"::ffff:127.0.0.1", true},
		{"::ffff:10.0.0.1", false},
		{"fe80::1", false},
		{"0.0.0.0", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct place at = {"", "6379"};
		struct endpoint tcp = {.kind = ENDPOINT_TCP};
		struct address a = {.n = 0};

		(void)snprintf(at.host, sizeof(at.host), "%s", cases[i].host);
		ok(address_fixed(&a, &tcp, &at), "%s is an address", at.host);
		is_int(address_is_local(&a.at[0]), cases[i].local,
		       "%s: of this machine alone, or not", at.host);
	}
}

int main(void)
{
	TEST(redirections);
	TEST(moves);
	TEST(kinds);
	TEST(told);
	TEST(fixed);
	TEST(known);
	TEST(local);
	return done();
}
