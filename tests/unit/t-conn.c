/* SPDX-License-Identifier: MIT */
/*
 * One conversation, the server's part played by this program: both ends are
 * moved by hand, so that nothing waits and each step is known.
 */
#include "net/conn.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"
#include "cli/url.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PING "*1\r\n$4\r\nPING\r\n"
#define AUTH_PW "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n"

struct rig {
	char dir[40], path[60];
	int listener, server; /* -1: none */
	struct endpoint ep;
	struct peer peer;
	struct conn c;
	char heard[4000]; /* what conn_next() gave, as text */
};

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	return un;
}

static int listen_at(const char *path, int backlog)
{
	struct sockaddr_un un = address_of(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ||
	    listen(fd, backlog) < 0)
		exit(99);
	return fd;
}

/* `options`: what stands behind the path in the URL. */
static void rig_open(struct rig *r, const char *options)
{
	struct fail why;
	char url[100];

	memset(r, 0, sizeof(*r));
	SET(r->dir, "/tmp/t-conn.XXXXXX");
	if (!mkdtemp(r->dir))
		exit(99);
	(void)snprintf(r->path, sizeof(r->path), "%s/s", r->dir);
	(void)snprintf(url, sizeof(url), "unix://%s%s", r->path, options);
	if (endpoint_parse(&r->ep, url, &why) < 0)
		exit(99);
	peer_init(&r->peer, &r->ep);
	conn_init(&r->c, &r->peer);
	r->listener = listen_at(r->path, 20);
	r->server = -1;
}

static void use_password(struct rig *r, const char *user, const char *password)
{
	(void)snprintf(r->ep.secret.user, sizeof(r->ep.secret.user), "%s",
		       user);
	(void)snprintf(r->ep.secret.password, sizeof(r->ep.secret.password),
		       "%s", password);
	r->ep.secret.has_password = true;
}

static void server_hang_up(struct rig *r)
{
	if (r->server >= 0)
		close(r->server);
	r->server = -1;
}

static void server_go(struct rig *r)
{
	server_hang_up(r);
	if (r->listener >= 0)
		close(r->listener);
	r->listener = -1;
	(void)unlink(r->path);
}

static void rig_close(struct rig *r)
{
	conn_close(&r->c);
	server_go(r);
	if (rmdir(r->dir) < 0)
		ok(false, "the directory is empty at the end");
}

static int ask_words(struct rig *r, const char *const *texts)
{
	struct words w = {0};

	while (*texts)
		words_add_text(&w, *texts++);
	return conn_ask(&r->c, &w);
}

static int ask(struct rig *r)
{
	return ask_words(r, (const char *[]){"PING", NULL});
}

static void server_accept(struct rig *r)
{
	server_hang_up(r);
	r->server =
		accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void say_bytes(struct rig *r, const char *bytes, size_t n)
{
	if (send(r->server, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		exit(99);
}

static void say(struct rig *r, const char *text)
{
	say_bytes(r, text, strlen(text));
}

/* All that has arrived at the server, as one text. */
static const char *server_reads(struct rig *r)
{
	static char bytes[4000];
	ssize_t n = recv(r->server, bytes, sizeof(bytes) - 1, 0);

	bytes[n > 0 ? n : 0] = '\0';
	return bytes;
}

static void hear_one(struct rig *r, enum conn_got got, unsigned int number,
		     const struct words *w, bool ran)
{
	char *p = r->heard + strlen(r->heard);
	char *end = r->heard + sizeof(r->heard);

	if (got == CONN_BROKEN) {
		(void)snprintf(p, (size_t)(end - p), "B%u%s ", number,
			       ran ? "ran" : "");
		return;
	}
	p += snprintf(p, (size_t)(end - p), "%s%u%s",
		      got == CONN_REPLY   ? "R"
		      : got == CONN_ERROR ? "E"
					  : "D",
		      number, got == CONN_REFUSED && ran ? "ran" : "");
	for (int i = 0; i < w->n; i++)
		p += snprintf(p, (size_t)(end - p), "[%.*s]",
			      w->len[i] < 40 ? (int)w->len[i] : 40, w->at[i]);
	(void)snprintf(p, (size_t)(end - p), " ");
}

/* All there is to take: R replies, E errors, D what came behind an AUTH that
 * was refused, B what will not be answered. */
static const char *hear(struct rig *r)
{
	unsigned int number;
	enum conn_got got;
	struct words w;
	bool ran = false; /* set for what is broken only */

	r->heard[0] = '\0';
	while ((got = conn_next(&r->c, &number, &w, &ran)) != CONN_NOTHING)
		hear_one(r, got, number, &w, ran);
	if (r->heard[0] != '\0')
		r->heard[strlen(r->heard) - 1] = '\0';
	return r->heard;
}

/* One turn of the caller's loop; false: there was nothing to do. */
static bool step(struct rig *r)
{
	struct pollfd p = {.fd = conn_fd(&r->c), .events = conn_events(&r->c)};

	if (p.fd < 0 || poll(&p, 1, 0) != 1)
		return false;
	conn_step(&r->c, p.revents);
	return true;
}

static const char *step_and_hear(struct rig *r)
{
	(void)step(r);
	return hear(r);
}

static bool why_says(const struct rig *r, const char *text)
{
	if (strstr(r->c.why.text, text))
		return true;
	printf("# why: %s\n", r->c.why.text);
	return false;
}

/* ---- replies ---- */

static const struct {
	const char *bytes;
	const char *heard;
} replies[] = {
	{"+OK\r\n", "R0[OK]"},
	{"+\r\n", "R0[]"},
	{":7\r\n", "R0[7]"},
	{":-1\r\n", "R0[-1]"},
	{":9223372036854775807\r\n", "R0[9223372036854775807]"},
	{"$-1\r\n", "R0[]"},
	{"$0\r\n\r\n", "R0[]"},
	{"$4\r\na\r\nb\r\n", "R0[a\r\nb]"},
	{"$5\r\n*1\r\n:\r\n", "R0[*1\r\n:]"},
	{"*-1\r\n", "R0[]"},
	{"*0\r\n", "R0"},
	{"*3\r\n$7\r\ngranted\r\n:7\r\n+x\r\n", "R0[granted][7][x]"},
	{"*2\r\n*1\r\n:1\r\n:2\r\n", "R0[][2]"},
	{"*2\r\n-ERR in\r\n$-1\r\n", "R0[ERR in][]"},
	{"-ERR no\r\n", "E0[ERR no]"},
	{"-\r\n", "E0[]"},
};

static void test_replies_in_bytes(void)
{
	for (size_t i = 0; i < COUNT(replies); i++) {
		size_t n = strlen(replies[i].bytes);
		bool early = false;
		struct rig r;

		rig_open(&r, "");
		is_int(ask(&r), 0, "the first question has number 0");
		server_accept(&r);
		for (size_t k = 0; k + 1 < n; k++) {
			say_bytes(&r, replies[i].bytes + k, 1);
			if (*step_and_hear(&r) != '\0')
				early = true;
		}
		ok(!early, "no part of '%s' is a reply", replies[i].bytes);
		say_bytes(&r, replies[i].bytes + n - 1, 1);
		is_text(step_and_hear(&r), replies[i].heard,
			"'%s', byte by byte, is one reply", replies[i].bytes);
		is_int(r.c.state, CONN_OPEN, "the connection stays open");
		rig_close(&r);
	}
}

/* Cut at every place and closed there: always the end, never a reply. */
static void test_half_replies(void)
{
	for (size_t i = 0; i < COUNT(replies); i++) {
		int wrong = -1;

		for (size_t n = 0; n < strlen(replies[i].bytes); n++) {
			struct rig r;

			rig_open(&r, "");
			(void)ask(&r);
			server_accept(&r);
			/* what was asked is read: else a close is a reset */
			(void)server_reads(&r);
			if (n > 0)
				say_bytes(&r, replies[i].bytes, n);
			server_hang_up(&r);
			while (step(&r) && *hear(&r) == '\0')
				;
			if (strcmp(r.heard, "B0ran") != 0 ||
			    !strstr(r.c.why.text, "closed the connection") ||
			    r.c.why.kind != FAIL_UNAVAILABLE)
				wrong = (int)n;
			rig_close(&r);
		}
		is_int(wrong, -1, "a part of '%s', then the end: broken",
		       replies[i].bytes);
	}
}

static void test_several_in_one_read(void)
{
	struct rig r;

	rig_open(&r, "");
	for (int i = 0; i < 4; i++)
		is_int(ask(&r), i, "question %d has its number", i);
	server_accept(&r);
	is_text(server_reads(&r), PING PING PING PING,
		"four questions are sent without waiting for a reply");
	say(&r, "+a\r\n-b\r\n*1\r\n:3\r\n$9\r\nhal");
	is_text(step_and_hear(&r), "R0[a] E1[b] R2[3]",
		"three replies and a half in one read are three replies");
	say(&r, "f-four\r\n");
	is_text(step_and_hear(&r), "R3[half-four]", "the other half follows");
	ok(!step(&r), "then there is nothing left to do");
	server_hang_up(&r);
	is_text(step_and_hear(&r), "", "an idle connection's end is no news");
	is_int(r.c.state, CONN_CLOSED, "but it is noticed");
	is_int(conn_fd(&r.c), -1, "a closed connection has nothing to poll");
	rig_close(&r);
}

static void test_reply_then_end(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	(void)ask(&r);
	server_accept(&r);
	(void)server_reads(&r);
	say(&r, "+a\r\n");
	server_hang_up(&r);
	is_text(step_and_hear(&r), "R0[a]", "what came before the end counts");
	is_text(step_and_hear(&r), "B1ran", "the end breaks the rest");
	is_text(hear(&r), "", "each is reported once");
	rig_close(&r);
}

static void test_garbage(void)
{
	static const char *const noise[] = {
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		"SSH-2.0-x\r\n",
		"\x15\x03\x01",
		"\r\n",
		"OK\r\n",
		"*x\r\n",
		"$-7\r\n",
		"*-7\r\n",
		":x\r\n",
		"*1\r\nx",
		" +OK\r\n",
	};

	for (size_t i = 0; i < COUNT(noise); i++) {
		struct rig r;

		rig_open(&r, "");
		(void)ask(&r);
		(void)ask(&r);
		server_accept(&r);
		say(&r, noise[i]);
		is_text(step_and_hear(&r), "B0ran B1ran", "'%s' is no reply",
			noise[i]);
		ok(why_says(&r, noise[i][0] == 0x15 ? "write rediss://"
						    : "not a Redis server") &&
			   why_says(&r, r.path) && !r.c.refused,
		   "'%s': the message says so, and of whom", noise[i]);
		rig_close(&r);
	}
}

/* RESP3 begins with HELLO, which nobody sends: hiredis reads it from 1.0 on. */
static void test_resp3(void)
{
	static const char *const noise[] = {
		"%1\r\n+a\r\n+b\r\n",
		"%0\r\n",
		"~2\r\n+a\r\n+b\r\n",
		">2\r\n+a\r\n+b\r\n",
		"#t\r\n",
		",1.5\r\n",
		"(123456789012345678901234567890\r\n",
		"=8\r\ntxt:text\r\n",
		"*1\r\n#f\r\n",
		"*2\r\n+a\r\n*1\r\n%1\r\n+a\r\n#t\r\n",
	};

	for (size_t i = 0; i < 2 * COUNT(noise); i++) {
		const char *bytes = noise[i / 2];
		struct rig r;

		rig_open(&r, "");
		r.c.whole = i % 2 == 1;
		(void)ask(&r);
		server_accept(&r);
		say(&r, bytes);
		is_text(step_and_hear(&r), "B0ran", "'%s' is no reply%s", bytes,
			r.c.whole ? ", whole" : "");
		ok(why_says(&r, "not a Redis server"),
		   "'%s': the message says so", bytes);
		rig_close(&r);
	}
}

static void draw(const struct reply *p, char **at, const char *end)
{
	static const char *const marks[] = {"_", "$", ":", "-", "*"};

	if (p->bytes[p->len] != '\0')
		*at += snprintf(*at, (size_t)(end - *at), "no end");
	*at += snprintf(*at, (size_t)(end - *at), "%s%s", marks[p->kind],
			p->bytes);
	if (p->kind != REPLY_LIST)
		return;
	*at += snprintf(*at, (size_t)(end - *at), "(");
	for (size_t i = 0; i < p->items; i++)
		draw(reply_item(p, i), at, end);
	*at += snprintf(*at, (size_t)(end - *at), ")");
}

static void test_whole_replies(void)
{
	static const struct {
		const char *bytes, *drawn;
	} each[] = {
		{"+OK\r\n", "$OK"},
		{":-9223372036854775808\r\n", ":-9223372036854775808"},
		{"$-1\r\n", "_"},
		{"*-1\r\n", "_"},
		{"*0\r\n", "*()"},
		{"-ERR no\r\n", "-ERR no"},
		{"*3\r\n*2\r\n:1\r\n$1\r\na\r\n*0\r\n:22\r\n",
		 "*(*(:1$a)*():22)"},
		{"*2\r\n-ERR in\r\n$-1\r\n", "*(-ERR in_)"},
	};

	for (size_t i = 0; i < COUNT(each); i++) {
		const struct reply *whole;
		char drawn[200] = "", *at = drawn;
		unsigned int number;
		struct words w;
		struct rig r;
		bool ran;

		rig_open(&r, "");
		r.c.whole = true;
		(void)ask(&r);
		server_accept(&r);
		say(&r, each[i].bytes);
		(void)step(&r);
		(void)conn_next(&r.c, &number, &w, &ran);
		whole = conn_whole(&r.c);
		ok(whole != NULL, "'%s': there is a whole reply",
		   each[i].bytes);
		if (whole)
			draw(whole, &at, drawn + sizeof(drawn));
		is_text(drawn, each[i].drawn, "'%s' is that in full",
			each[i].bytes);
		rig_close(&r);
	}
}

/* hiredis reads any depth from 1.0 on, and we would go through it by recursion.
 */
static void test_depth(void)
{
	static const struct {
		int levels;
		const char *heard;
	} each[] = {{8, "R0[]"}, {9, "B0ran"}, {15000, "B0ran"}};

	for (size_t i = 0; i < 2 * COUNT(each); i++) {
		static char bytes[4 * 15000 + 5];
		int levels = each[i / 2].levels;
		struct rig r;

		for (int k = 0; k < levels; k++)
			(void)snprintf(bytes + 4 * (size_t)k, 5, "*1\r\n");
		(void)snprintf(bytes + 4 * (size_t)levels, 5, ":1\r\n");
		rig_open(&r, "");
		r.c.whole = i % 2 == 1;
		(void)ask(&r);
		server_accept(&r);
		say(&r, bytes);
		while (step(&r) && *hear(&r) == '\0')
			;
		is_text(r.heard, each[i / 2].heard, "%d lists%s", levels,
			r.c.whole ? ", whole" : "");
		rig_close(&r);
	}
}

static void test_reply_then_garbage(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	(void)ask(&r);
	server_accept(&r);
	say(&r, "+a\r\nnonsense\r\n+b\r\n");
	is_text(step_and_hear(&r), "R0[a] B1ran",
		"a reply before garbage counts, none behind it does");
	rig_close(&r);
}

static void test_reply_to_no_question(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	server_accept(&r);
	say(&r, "+a\r\n+b\r\n");
	is_text(step_and_hear(&r), "R0[a]", "the answer is taken");
	ok(r.c.state == CONN_CLOSED && why_says(&r, "an unexpected reply"),
	   "an unexpected reply breaks the connection");
	is_int(ask(&r), 1, "it may be asked again");
	server_accept(&r);
	is_text(server_reads(&r), PING, "on a new connection");
	say(&r, "+c\r\n");
	is_text(step_and_hear(&r), "R1[c]", "with an answer of its own");
	say(&r, "+late\r\n");
	is_text(step_and_hear(&r), "", "a stray reply by itself is not given");
	ok(r.c.state == CONN_CLOSED && why_says(&r, "an unexpected reply"),
	   "it breaks the connection, too");
	rig_close(&r);
}

/* Feeds n bytes, taking what there is as often as the caller would. */
static const char *say_much(struct rig *r, const char *head, size_t n)
{
	static char block[1024];
	static char heard[100];
	size_t part;

	memset(block, 'x', sizeof(block));
	heard[0] = '\0';
	say(r, head);
	for (; n > 0 && r->c.state == CONN_OPEN; n -= part) {
		part = n < sizeof(block) ? n : sizeof(block);
		say_bytes(r, block, part);
		while (step(r))
			if (*hear(r) != '\0')
				(void)snprintf(heard, sizeof(heard), "%.90s",
					       r->heard);
	}
	return heard;
}

static void test_limit(void)
{
	static const char *const heads[] = {"$1000000\r\n", "+", "-",
					    "*2\r\n$1\r\na\r\n$500000\r\n",
					    "$2147483647\r\n"};
	struct rig r;

	for (size_t i = 0; i < COUNT(heads); i++) {
		rig_open(&r, "");
		(void)ask(&r);
		server_accept(&r);
		is_text(say_much(&r, heads[i], 60000), "",
			"60000 bytes behind '%s' are no reply yet", heads[i]);
		is_int(r.c.state, CONN_OPEN, "nor too many");
		is_text(say_much(&r, "", 10000), "B0ran", "70000 are");
		ok(why_says(&r, "reply too long"), "the message says so");
		rig_close(&r);
	}
	rig_open(&r, "");
	for (int i = 0; i < 10; i++) {
		(void)ask(&r);
		if (i == 0)
			server_accept(&r);
		(void)server_reads(&r);
		(void)say_much(&r, "$60000\r\n", 60000);
		say(&r, "\r\n");
		if (strncmp(step_and_hear(&r), "R", 1) != 0)
			ok(false, "reply %d of 60000 bytes is taken", i);
	}
	is_int(r.c.state, CONN_OPEN, "the limit is for one reply, not for all");
	rig_close(&r);
}

/* ---- AUTH and SELECT ---- */

static void test_greeting_words(void)
{
	struct rig r;

	rig_open(&r, "?db=3");
	use_password(&r, "", "pw");
	(void)ask(&r);
	server_accept(&r);
	is_text(server_reads(&r),
		AUTH_PW "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n" PING,
		"AUTH and SELECT leave with the first question");
	say(&r, "+OK\r\n");
	is_text(step_and_hear(&r), "", "the reply to AUTH is not given");
	say(&r, "+OK\r\n+PONG\r\n");
	is_text(step_and_hear(&r), "R0[PONG]", "nor is the one to SELECT");
	(void)ask(&r);
	is_text(server_reads(&r), PING, "a second question is not greeted");
	say(&r, "-ERR no\r\n");
	is_text(step_and_hear(&r), "E1[ERR no]",
		"an error to a question is the question's");
	ok(r.c.state == CONN_OPEN && !r.c.refused, "and breaks nothing");
	rig_close(&r);
}

static void test_greeting_user(void)
{
	struct rig r;

	rig_open(&r, "");
	use_password(&r, "me", "p w\r\n");
	(void)ask(&r);
	server_accept(&r);
	is_text(server_reads(&r),
		"*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$5\r\np w\r\n\r\n" PING,
		"a user goes with AUTH, and any byte in a password");
	rig_close(&r);
}

static const struct {
	const char *password, *options;
	const char *says, *heard;
	const char *why;
	bool refused;
} greetings[] = {
	{"pw", "", "-WRONGPASS invalid\r\n+PONG\r\n+PONG\r\n", "B0ran B1ran",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 true},
	{"pw", "?db=3", "-WRONGPASS invalid\r\n-NOAUTH\r\n-NOAUTH\r\n",
	 "B0ran B1ran",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 true},
	{"pw", "?db=3", "+OK\r\n-ERR DB index\r\n+PONG\r\n", "B0ran B1ran",
	 "ERR DB index", true},
	{NULL, "?db=3", "-ERR DB index\r\n+PONG\r\n+PONG\r\n", "B0ran B1ran",
	 "ERR DB index", true},
	{NULL, "?db=3", "-ERR \033[2J\r\n", "B0ran B1ran", "ERR \\x1b[2J",
	 true},
	{"pw", "", "-ERR unknown command 'AUTH', with args: 'pw'\r\n",
	 "B0ran B1ran",
	 "ERR unknown command: AUTH was refused; the text is not shown, "
	 "because it may repeat the password",
	 true},
	{"pw", "", "-pw\r\n", "B0ran B1ran",
	 "AUTH was refused; the text is not shown, because it may repeat the "
	 "password",
	 true},
	{"pw", "", "garbage\r\n", "B0ran B1ran", NULL, false},
	{"pw", "?db=3", "+OK\r\ngarbage\r\n", "B0ran B1ran", NULL, false},
	{"pw", "?db=3", "+OK\r\n+OK\r\n+a\r\n-ERR b\r\n", "R0[a] E1[ERR b]",
	 NULL, false},
	{NULL, "", "-NOAUTH x\r\n-NOAUTH y\r\n", "E0[NOAUTH x] E1[NOAUTH y]",
	 NULL, false},
};

static void test_greetings(void)
{
	for (size_t i = 0; i < COUNT(greetings); i++) {
		const char *want = greetings[i].why;
		struct rig r;

		rig_open(&r, greetings[i].options);
		if (greetings[i].password)
			use_password(&r, "", greetings[i].password);
		(void)ask(&r);
		(void)ask(&r);
		server_accept(&r);
		say(&r, greetings[i].says);
		is_text(step_and_hear(&r), greetings[i].heard,
			"behind a greeting: '%s'", greetings[i].says);
		is_int(r.c.refused, greetings[i].refused,
		       "it is known whether the server refused us");
		if (want)
			is_text(r.c.why.text, want,
				"the server's words are kept bare");
		rig_close(&r);
	}
}

/* Who hears it out learns what became of the questions behind the greeting. */
static const struct {
	const char *options, *says, *heard;
	const char *why;
	bool open;
} doubts[] = {
	{"", "-WRONGPASS a\r\n-NOAUTH b\r\n-ERR c\r\n",
	 "D0[NOAUTH b] D1[ERR c]",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 false},
	{"", "-WRONGPASS a\r\n+PONG\r\n-ERR c\r\n", "D0ran[PONG] D1[ERR c]",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 true},
	{"", "-WRONGPASS a\r\n-ERR b\r\n+PONG\r\n", "D0[ERR b] D1ran[PONG]",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 true},
	{"?db=3", "-WRONGPASS a\r\n-NOAUTH b\r\n-NOAUTH c\r\n-NOAUTH d\r\n",
	 "D0[NOAUTH c] D1[NOAUTH d]",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 false},
	{"?db=3", "+OK\r\n-ERR DB index\r\n-ERR b\r\n-ERR c\r\n",
	 "D0[ERR b] D1[ERR c]", "ERR DB index", false},
	{"", "+OK\r\n+PONG\r\n-NOAUTH b\r\n", "R0[PONG] E1[NOAUTH b]", NULL,
	 true},
	{"", "-WRONGPASS a\r\ngarbage\r\n", "B0ran B1ran",
	 "WRONGPASS invalid username-password pair or user is "
	 "disabled",
	 false},
};

static void test_heard_out(void)
{
	for (size_t i = 0; i < COUNT(doubts); i++) {
		struct rig r;

		rig_open(&r, doubts[i].options);
		r.c.hear_out = true;
		use_password(&r, "", "pw");
		(void)ask(&r);
		(void)ask(&r);
		server_accept(&r);
		say(&r, doubts[i].says);
		is_text(step_and_hear(&r), doubts[i].heard, "heard out: '%s'",
			doubts[i].says);
		is_int(r.c.refused, doubts[i].why != NULL,
		       "it is known whether the server refused us");
		if (doubts[i].why)
			is_text(r.c.why.text, doubts[i].why,
				"and why is not forgotten");
		is_int(r.c.state == CONN_OPEN, doubts[i].open,
		       "it stays open %s",
		       doubts[i].open ? "to take back what was done"
				      : "only for that");
		rig_close(&r);
	}
}

/* The connection on which a question was answered behind a refused AUTH. */
static void test_refused_and_served(void)
{
	struct rig r;

	rig_open(&r, "");
	r.c.hear_out = true;
	use_password(&r, "", "pw");
	(void)ask(&r);
	server_accept(&r);
	say(&r, "-WRONGPASS\r\n");
	is_text(step_and_hear(&r), "", "refused, and the question is open");
	say(&r, "+PONG\r\n");
	is_text(step_and_hear(&r), "D0ran[PONG]", "it was run nevertheless");
	(void)server_reads(&r);
	(void)ask(&r);
	is_text(server_reads(&r), PING, "the next one comes without AUTH");
	say(&r, "+PONG\r\n");
	is_text(step_and_hear(&r), "R1[PONG]", "and its answer counts");
	conn_close(&r.c);
	ok(r.c.hear_out && !r.c.refused, "closed, it is to be heard out again");
	rig_close(&r);

	rig_open(&r, "");
	r.c.hear_out = true;
	use_password(&r, "", "pw");
	(void)ask(&r);
	server_accept(&r);
	say(&r, "-DENIED go\r\n");
	is_text(step_and_hear(&r), "", "turned away at the door");
	server_hang_up(&r);
	is_text(step_and_hear(&r), "B0ran", "and cut off: no answer comes");
	is_text(r.c.why.text,
		"DENIED the server is in protected mode, because no password "
		"is "
		"set",
		"why is not forgotten");
	rig_close(&r);
}

/* What was refused may be right next time. */
static void test_greeted_anew(void)
{
	struct rig r;

	rig_open(&r, "");
	use_password(&r, "", "old");
	(void)ask(&r);
	server_accept(&r);
	say(&r, "-WRONGPASS\r\n");
	is_text(step_and_hear(&r), "B0ran", "the password is refused");
	use_password(&r, "", "pw");
	(void)ask(&r);
	ok(!r.c.refused, "a new connection is not refused yet");
	server_accept(&r);
	is_text(server_reads(&r), AUTH_PW PING, "it is greeted anew");
	say(&r, "+OK\r\n+PONG\r\n");
	is_text(step_and_hear(&r), "R1[PONG]", "and accepted");
	rig_close(&r);
}

static void write_secret(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(99);
	close(fd);
}

static void test_password_file(void)
{
	char path[80];
	struct rig r;

	rig_open(&r, "");
	(void)snprintf(path, sizeof(path), "%s/secret", r.dir);
	(void)snprintf(r.ep.secret.file, sizeof(r.ep.secret.file), "%s", path);
	is_int(ask(&r), -1, "without its password file nothing is asked");
	is_text(hear(&r), "", "so nothing is owed");
	ok(!r.c.refused && r.c.why.kind == FAIL_UNAVAILABLE &&
		   why_says(&r, path),
	   "the message names the file, which may be there soon");
	write_secret(path, "pw\n");
	is_int(ask(&r), 0, "it is read when it is there");
	server_accept(&r);
	is_text(server_reads(&r), AUTH_PW PING, "its first line is sent");
	server_hang_up(&r);
	is_text(step_and_hear(&r), "B0ran", "the connection breaks");
	write_secret(path, "new\n");
	(void)ask(&r);
	server_accept(&r);
	is_text(server_reads(&r), "*2\r\n$4\r\nAUTH\r\n$3\r\nnew\r\n" PING,
		"the next connection reads the file again");
	(void)unlink(path);
	rig_close(&r);
}

/* ---- questions ---- */

static void test_owed_max(void)
{
	int wrong = -1;
	struct rig r;

	rig_open(&r, "");
	for (int i = 0; i < OWED_MAX; i++)
		if (ask(&r) != i)
			wrong = i;
	is_int(wrong, -1, "%d questions may be open", OWED_MAX);
	server_accept(&r);
	(void)server_reads(&r);
	for (int i = 0; i < 5; i++)
		say(&r, "+x\r\n");
	is_text(step_and_hear(&r), "R0[x] R1[x] R2[x] R3[x] R4[x]",
		"answers come in the order of the questions");
	for (int i = 0; i < 5; i++)
		if (ask(&r) != i)
			wrong = i;
	is_int(wrong, -1, "numbers are used again once answered");
	is_int(ask(&r), -1, "question %d is one too many", OWED_MAX + 1);
	ok(why_says(&r, "too many requests"), "the message says so");
	is_text(hear(&r),
		"B5ran B6ran B7ran B8ran B9ran B10ran B11ran B12ran B13ran "
		"B14ran B15ran B0ran B1ran B2ran B3ran B4ran",
		"those before it are broken, each once, in order");
	is_int(ask(&r), 5, "then a new connection may be used");
	rig_close(&r);
}

/* Numbers and what is kept to send, over and over. */
static void test_long_talk(void)
{
	char want[40];
	int wrong = -1;
	struct rig r;

	rig_open(&r, "");
	for (int i = 0; i < 1000; i++) {
		int number = ask(&r);

		if (i == 0)
			server_accept(&r);
		if (strcmp(server_reads(&r), PING) != 0)
			wrong = i;
		say(&r, ":12\r\n");
		(void)snprintf(want, sizeof(want), "R%d[12]", i % OWED_MAX);
		if (number != i % OWED_MAX ||
		    strcmp(step_and_hear(&r), want) != 0)
			wrong = i;
	}
	is_int(wrong, -1, "1000 questions get 1000 answers");
	ok(r.c.room < 1000, "what was sent is not kept");
	rig_close(&r);
}

static void test_refused_connection(void)
{
	struct rig r;

	rig_open(&r, "");
	server_go(&r);
	is_int(ask(&r), -1, "without a socket nothing can be asked");
	is_text(hear(&r), "B0", "the question is owed, and did not run");
	ok(why_says(&r, "cannot connect: No such file") &&
		   why_says(&r, r.path) && r.c.why.kind == FAIL_UNAVAILABLE,
	   "the message says why, and where");
	r.listener = listen_at(r.path, 1);
	close(r.listener);
	r.listener = -1;
	is_int(ask(&r), -1, "nor where nobody listens");
	is_text(hear(&r), "B1", "that question did not run either");
	ok(why_says(&r, "cannot connect: Connection refused"),
	   "the message says that it was refused");
	(void)unlink(r.path);
	r.listener = listen_at(r.path, 1);
	is_int(ask(&r), 2, "when the server is back it is asked");
	server_accept(&r);
	say(&r, "+PONG\r\n");
	is_text(step_and_hear(&r), "R2[PONG]", "and it answers");
	rig_close(&r);
}

/* A peer keeps several addresses and the one that worked. */
static void test_addresses(void)
{
	struct sockaddr_un un[2];
	char other[70];
	struct rig r;

	rig_open(&r, "");
	(void)snprintf(other, sizeof(other), "%s/gone", r.dir);
	un[0] = address_of(other);
	un[1] = address_of(r.path);
	r.peer.address.n = 2;
	for (int i = 0; i < 2; i++) {
		memcpy(&r.peer.address.at[i], &un[i], sizeof(un[i]));
		r.peer.address.len[i] = sizeof(un[i]);
	}
	is_int(ask(&r), 0, "a dead address is passed over");
	is_int(r.peer.try, 1, "the one that worked is remembered");
	server_accept(&r);
	is_text(server_reads(&r), PING, "the question went there");
	server_hang_up(&r);
	(void)step_and_hear(&r);
	is_int(ask(&r), 1, "the next connection begins with it");
	is_int(r.peer.try, 1, "and stays with it");
	conn_close(&r.c);
	server_go(&r);
	is_int(ask(&r), -1, "when all are dead that is an error");
	is_text(hear(&r), "B0", "told once, however many there are");
	r.listener = listen_at(r.path, 1);
	is_int(ask(&r), 1, "and then they are looked up anew");
	rig_close(&r);
}

/* No signal may come of it: it would end the command's keeper. */
static void test_write_to_the_dead(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	server_accept(&r);
	(void)server_reads(&r);
	say(&r, "+a\r\n");
	is_text(step_and_hear(&r), "R0[a]", "the server answers");
	server_hang_up(&r);
	is_int(ask(&r), -1, "a question to a server that went is an error");
	ok(why_says(&r, "connection lost"), "the message says so");
	is_text(hear(&r), "B1", "it did not leave");
	rig_close(&r);
}

/* ---- more than fits a socket ---- */

#define BIG ((size_t)2 * 1024 * 1024)

static int ask_big(struct rig *r)
{
	char *text = malloc(BIG + 1);
	int number;

	for (size_t i = 0; i < BIG; i++)
		text[i] = (char)('a' + i % 23);
	text[BIG] = '\0';
	number = ask_words(r, (const char *[]){"ECHO", text, NULL});
	free(text);
	return number;
}

static void test_ran(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	is_int(ask_big(&r), 1, "a question may be larger than the socket");
	is_int(ask(&r), 2, "and another behind it");
	ok(conn_events(&r.c) & POLLOUT, "there is something left to send");
	server_accept(&r);
	server_hang_up(&r);
	while (step(&r))
		;
	is_text(hear(&r), "B0ran B1ran B2",
		"what began to leave may have run; what waited did not");
	rig_close(&r);
}

static void test_big_question(void)
{
	size_t got = 0, wrong = 0,
	       data = strlen("*2\r\n$4\r\nECHO\r\n"
			     "$2097152\r\n");
	static char bytes[65536];
	struct rig r;

	rig_open(&r, "");
	(void)ask_big(&r);
	server_accept(&r);
	for (int turn = 0; turn < 100000 && got < BIG + data + 2; turn++) {
		ssize_t n = recv(r.server, bytes, sizeof(bytes), 0);

		for (ssize_t i = 0; i < n; i++, got++)
			if (got >= data && got < data + BIG &&
			    bytes[i] != (char)('a' + (got - data) % 23))
				wrong++;
		(void)step(&r);
	}
	is_int((int64_t)got, (int64_t)(BIG + data + 2),
	       "a large question arrives whole, in many steps");
	is_int((int64_t)wrong, 0, "and no byte of it is another");
	ok(!(conn_events(&r.c) & POLLOUT), "then nothing is left to send");
	say(&r, "+thanks\r\n");
	is_text(step_and_hear(&r), "R0[thanks]", "it is answered like any");
	rig_close(&r);
}

/* ---- beginnings and ends ---- */

static void test_close(void)
{
	struct rig r;

	rig_open(&r, "");
	is_int(conn_fd(&r.c), -1, "before the first question there is nothing");
	is_text(hear(&r), "", "and nothing to hear");
	conn_step(&r.c, POLLIN);
	is_int(r.c.state, CONN_CLOSED,
	       "a step without an event changes nothing");
	(void)ask(&r);
	(void)ask(&r);
	server_accept(&r);
	say(&r, "$9\r\nhalf");
	(void)step_and_hear(&r);
	conn_close(&r.c);
	is_text(hear(&r), "", "closing forgets what was owed");
	(void)server_reads(&r);
	is_int((int)recv(r.server, (char[1]){0}, 1, 0), 0,
	       "the server sees the end");
	is_int(ask(&r), 0, "numbers begin again");
	server_accept(&r);
	say(&r, "+whole\r\n");
	is_text(step_and_hear(&r), "R0[whole]",
		"half a reply of the old connection is not in the new one");
	conn_close(&r.c);
	conn_close(&r.c);
	is_int(conn_fd(&r.c), -1, "closing twice does no harm");
	rig_close(&r);
}

/* The command must not inherit the connection. */
static void test_descriptor(void)
{
	struct rig r;

	rig_open(&r, "");
	(void)ask(&r);
	ok(fcntl(conn_fd(&r.c), F_GETFD) & FD_CLOEXEC,
	   "the connection is closed in an exec'ed child");
	ok(fcntl(conn_fd(&r.c), F_GETFL) & O_NONBLOCK,
	   "the connection never waits");
	is_int(conn_events(&r.c), POLLIN, "when all is sent it is only read");
	rig_close(&r);
}

/* ---- TCP ---- */

/* A port of the kernel's choice; -1: this machine has no loopback. */
static int tcp_bound(struct endpoint *ep)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct fail why;
	char url[60];

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0) {
		close(fd);
		return -1;
	}
	(void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d",
		       ntohs(in.sin_port));
	if (endpoint_parse(ep, url, &why) < 0)
		exit(99);
	return fd;
}

/* A loopback is as good as at once, but poll(2) may be asked to wait. */
static void turn(struct rig *r)
{
	struct pollfd p = {.fd = conn_fd(&r->c), .events = conn_events(&r->c)};

	if (p.fd >= 0 && poll(&p, 1, 2000) == 1)
		conn_step(&r->c, p.revents);
}

static void test_tcp(void)
{
	struct rig r;
	int fd;

	rig_open(&r, "");
	fd = tcp_bound(&r.ep);
	peer_init(&r.peer, &r.ep);
	if (fd < 0) {
		ok(true, "TCP is not tried: no loopback");
		rig_close(&r);
		return;
	}
	/* bound, but nobody listens */
	(void)ask(&r);
	while (*hear(&r) == '\0' && conn_fd(&r.c) >= 0)
		turn(&r);
	is_text(r.heard, "B0", "a refused TCP connection asks nothing");
	ok(why_says(&r, "cannot connect: Connection refused") &&
		   why_says(&r, "127.0.0.1:"),
	   "the message says so, and where");
	if (listen(fd, 5) < 0)
		exit(99);
	is_int(ask(&r), 1, "when somebody listens it is asked again");
	while (r.c.state == CONN_CONNECTING || r.c.sent < r.c.used)
		turn(&r);
	is_int(r.c.state, CONN_OPEN, "it connects");
	r.server = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	is_text(server_reads(&r), PING, "the question arrives");
	say(&r, "+PONG\r\n");
	turn(&r);
	is_text(hear(&r), "R1[PONG]", "and is answered");
	close(fd);
	rig_close(&r);
}

int main(void)
{
	TEST(replies_in_bytes);
	TEST(half_replies);
	TEST(several_in_one_read);
	TEST(reply_then_end);
	TEST(garbage);
	TEST(resp3);
	TEST(whole_replies);
	TEST(depth);
	TEST(reply_then_garbage);
	TEST(reply_to_no_question);
	TEST(limit);
	TEST(greeting_words);
	TEST(greeting_user);
	TEST(greetings);
	TEST(heard_out);
	TEST(refused_and_served);
	TEST(greeted_anew);
	TEST(password_file);
	TEST(owed_max);
	TEST(long_talk);
	TEST(refused_connection);
	TEST(addresses);
	TEST(write_to_the_dead);
	TEST(ran);
	TEST(big_question);
	TEST(close);
	TEST(descriptor);
	TEST(tcp);
	return done();
}
