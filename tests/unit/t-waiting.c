/* SPDX-License-Identifier: MIT */
/* Which lines a log gets while we wait, and when: without a terminal. */
#include "run/inside.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "run/describe.h"
#include "tap.h"

static struct client client;
static struct locks locks = {.client = &client, .n = 1};
static struct waiting waiting;
static FILE *errors;

/* What was said since the last time, without the newline. */
static const char *said(void)
{
	static char text[4000];
	ssize_t n = pread(fileno(errors), text, sizeof(text) - 1, 0);

	text[n > 0 ? n - 1 : 0] = '\0';
	(void)!ftruncate(fileno(errors), 0);
	(void)lseek(fileno(errors), 0, SEEK_SET);
	return text;
}

static void held_by(const char *user, int place)
{
	struct sight *s = &client.sight;

	*s = (struct sight){.seen = true, .pttl_ms = 20000};
	SET(s->about[ABOUT_HOST], "web1");
	SET(s->about[ABOUT_USER], user);
	SET(s->about[ABOUT_COMMAND], "deploy.sh");
	SET(s->token, user);
	client.sight_at = now();
	client.lease.node[0].last.busy.place = place;
}

static int64_t waited; /* what the lines say does not depend on this machine */

static void begin(void)
{
	waiting_init(&waiting, &locks, now());
	waited = 0;
}

/* ms go by: all that is past is so much longer ago. */
static void pass(int64_t ms)
{
	waited += ms;
	waiting.pace.began = after(now(), -waited);
	waiting.pace.said.ms -= ms;
	if (waiting.pace.silent.ms != NEVER.ms)
		waiting.pace.silent.ms -= ms;
	waiting_tell(&waiting);
}

static void test_changes(void)
{
	begin();
	held_by("ann", 2);
	pass(-60000); /* however slow this machine is */
	is_text(said(), "", "a short wait is not mentioned");
	pass(60100);
	is_text(said(),
		"redlock: waiting up to 30m (place 2): held by ann@web1, "
		"deploy.sh; see: redlock inspect deploy",
		"one line when the wait begins");
	held_by("bob", 1);
	pass(29800);
	is_text(said(), "", "a change is not reported within 30 s of a line");
	ok(!before(after(now(), 300), waiting_next(&waiting)),
	   "a changed holder is due 30 s after that line");
	pass(300);
	is_text(said(),
		"redlock: still waiting after 30s of 30m (place 1): held by "
		"bob@web1, deploy.sh; see: redlock inspect deploy",
		"a changed holder is reported then");
}

static void test_life(void)
{
	pass(299000);
	is_text(said(), "", "without a change there is no line for 5 min");
	pass(1100);
	is_text(said(),
		"redlock: still waiting after 5m30s of 30m (place 1): held by "
		"bob@web1, deploy.sh; see: redlock inspect deploy",
		"a line without a change after 5 min");
	client.lease.conf.wait_ms = INT64_MAX;
	pass(300001);
	is_text(said(),
		"redlock: still waiting after 10m30s (place 1): held by "
		"bob@web1, deploy.sh; see: redlock inspect deploy",
		"the next one after 5 min more, without a limit if there is "
		"none");
	pass(1);
	is_text(said(), "", "it is printed once");
}

static void test_silence(void)
{
	client.lease.node[0].vote = VOTE_DOWN;
	(void)fail(&client.why, FAIL_UNAVAILABLE, "db1: no answer");
	pass(0);
	is_text(said(), "",
		"a server may be silent for a second without a line");
	pass(1000);
	is_text(said(), "redlock: still waiting after 10m31s: db1: no answer",
		"a silent server is reported after a second");
	pass(300001);
	is_text(said(), "redlock: still waiting after 15m31s: db1: no answer",
		"a line after 5 min of silence");
	(void)fail(&client.why, FAIL_UNAVAILABLE, "db1: it loads its data");
	pass(29000);
	is_text(said(), "", "another fault is not reported at once");
	ok(before(waiting_next(&waiting), after(now(), 2000)),
	   "another fault is due 30 s after the latest line");
	pass(1001);
	is_text(said(),
		"redlock: still waiting after 16m01s: db1: it loads its data",
		"another fault is reported then");
	pass(299000);
	is_text(said(), "", "another fault is reported once");
	client.lease.node[0].vote = VOTE_NO;
	pass(0);
	is_text(said(),
		"redlock: the server answers again; still waiting after "
		"21m00s (place 1): held by bob@web1, deploy.sh; see: redlock "
		"inspect deploy",
		"a server that answers again is reported");
}

/* Nobody has answered yet: that has a limit also without -w. */
static void test_start(void)
{
	client.lease.conf.reached = false;
	client.lease.node[0].vote = VOTE_DOWN;
	(void)fail(&client.why, FAIL_UNAVAILABLE, "db1: no answer");
	begin();
	pass(0);
	pass(1001);
	is_text(said(), "redlock: trying for up to 5s: db1: no answer",
		"without -w, a server that never answered is tried for 5 s");
	client.lease.conf.wait_ms = 1800000;
	begin();
	pass(0);
	pass(1001);
	is_text(said(), "redlock: trying for up to 30m: db1: no answer",
		"with -w, for as long as that");
}

static void test_texts(void)
{
	char buf[COMMAND_MAX];

	is_text(describe_next("a b", buf), "; see: redlock inspect 'a b'",
		"a key that the shell would split is quoted");
	is_text(describe_next("it's", buf), "; see: redlock inspect 'it'\\''s'",
		"so is one with a quote");
	is_text(describe_next("-x", buf), "",
		"no hint for a key that looks like an option");
	is_text(describe_waiting(true, 2000, 90000, buf), "waiting 2s of 1m30s",
		"the live line has the limit");
	is_text(describe_waiting(false, 2000, 5000, buf), "trying 2s of 5s",
		"a server that has never answered is tried");
}

int main(void)
{
	int out = dup(STDERR_FILENO);

	errors = tmpfile();
	if (!errors || dup2(fileno(errors), STDERR_FILENO) < 0)
		return 1;
	log_init(&(struct log_conf){.most = LOG_SAY_NOTICE});
	client.lease.conf.nodes = 1;
	client.lease.conf.wait_ms = 1800000;
	client.lease.conf.reached = true;
	client.lease.state = LEASE_WAITING;
	client.lease.node[0].vote = VOTE_NO;
	SET(client.shown_key, "deploy");
	client.key = "deploy";
	TEST(changes);
	TEST(life);
	TEST(silence);
	TEST(start);
	TEST(texts);
	(void)dup2(out, STDERR_FILENO);
	return done();
}
