/* SPDX-License-Identifier: MIT */
/*
 * The lease by hand: this file is the caller, the nodes and the clock. Times
 * are ms from the first question; a "round trip" is whatever the scenario says.
 *
 * With an argument it also checks what is promised and not true yet.
 */
#include "lock/core/lease.h"

#include <unistd.h>

#include "lock/core/timing.h"
#include "tap.h"

#define T 30000     /* unless a scenario needs another */
#define LONG 150000 /* another client's T */
#define NODE_TIMEOUT 1000
#define KEEP 1000 /* a minority, for a moment: 1 s, or T/4 */
#define FOREVER INT64_MAX
#define TOO_MUCH 9000000000000000 /* as a memory: above every counter */

static struct lease l;
static struct ask q[64]; /* what the last asks() was given */
static int n_q;
static struct ask listening; /* a lone waiter listens, too */

/* ---- the world ---- */

static struct instant ms(int64_t t)
{
	return (struct instant){1000000 + t};
}

static void begin(int nodes, int64_t ttl, int64_t wait)
{
	struct lease_conf conf = {.nodes = nodes,
				  .ttl_ms = ttl,
				  .node_timeout_ms = NODE_TIMEOUT,
				  .wait_ms = wait,
				  .ticket = 700,
				  .seed = 20};

	lease_init(&l, &conf, ms(0));
}

/* All that is to be asked now. A machine that never has enough fails. */
static int asks(int64_t t)
{
	n_q = 0;
	listening.verb = VERB_NONE;
	while (n_q < 64 && lease_next(&l, ms(t), &q[n_q]))
		if (q[n_q].verb == VERB_LISTEN)
			listening = q[n_q];
		else
			n_q++;
	return n_q;
}

/* Runs the clock to the next questions; -1: there will be none. */
static int64_t next(int64_t t)
{
	while (asks(t) == 0) {
		struct instant wake = lease_wake(&l);

		if (wake.ms == NEVER.ms)
			return -1;
		if (!before(ms(t), wake))
			return -2; /* it would spin */
		t = between(ms(0), wake);
	}
	return t;
}

static void reply(const struct ask *a, enum said said, int64_t counter,
		  int64_t t)
{
	struct answer answer = {
		.said = said, .counter = counter, .granted.fence = counter};

	if (a->verb == VERB_ACQUIRE)
		answer.busy =
			(struct busy){.pttl_ms = said == SAID_BUSY ? T : 0,
				      .place = a->acquire.ticket >= 0};
	if (said == SAID_GRANTED || said == SAID_YES)
		answer.at_ms = 1 + t;
	answer.confirm.raised = counter > l.node[a->node].grant.counter;
	/* what is left is what the last credited question left */
	if (said == SAID_YES)
		answer.confirm.pttl_ms =
			l.conf.ttl_ms -
			between(l.node[a->node].grant.credited_at, ms(t));
	lease_answer(&l, a, &answer, ms(t));
}

/* Held by `whose`, granted so long ago to one with that ticket. */
static void held_by(const struct ask *a, uint64_t whose, int64_t ticket,
		    int64_t age, int64_t t)
{
	struct answer answer = {.said = SAID_BUSY,
				.counter = 100,
				.busy = {.pttl_ms = T,
					 .holder = whose,
					 .holder_ticket = ticket,
					 .age_ms = age,
					 .place = a->acquire.ticket >= 0}};

	lease_answer(&l, a, &answer, ms(t));
}

/* The first of those asked says that. */
static void busy(int place, int64_t pttl, bool foreign, int64_t t)
{
	const struct answer answer = {.said = SAID_BUSY,
				      .counter = 100,
				      .busy = {.pttl_ms = pttl,
					       .ticket = 77,
					       .place = place,
					       .foreign = foreign}};

	lease_answer(&l, &q[0], &answer, ms(t));
}

static void granted_in(const struct ask *a, int slot, int64_t fence, int64_t t)
{
	struct answer answer = {.said = SAID_GRANTED,
				.counter = fence,
				.granted = {.slot = slot, .fence = fence}};

	lease_answer(&l, a, &answer, ms(t));
}

/* Granted by that server, in that slot. */
static void granted_by(const struct ask *a, uint64_t server, int slot,
		       int64_t t)
{
	struct answer answer = {.said = SAID_GRANTED,
				.counter = 100,
				.granted = {.slot = slot, .server = server}};

	lease_answer(&l, a, &answer, ms(t));
}

static void broke(const struct ask *a, bool ran, int64_t t)
{
	lease_failed(&l, a, FAIL_UNAVAILABLE, ran, ms(t));
}

/* Every node grants 100, after a round trip; and something runs on it. */
static void hold(int nodes, int64_t ttl, int64_t rtt)
{
	begin(nodes, ttl, FOREVER);
	asks(0);
	for (int i = 0; i < n_q; i++)
		reply(&q[i], SAID_GRANTED, 100, rtt);
	lease_use(&l);
	asks(rtt);
}

static int64_t credited_at(void)
{
	return between(ms(0), lease_credited_at(&l));
}

/* How many of the last questions are this one: chan -1 is either. */
static int count(enum verb verb, int node, int chan)
{
	int sum = 0;

	for (int i = 0; i < n_q; i++)
		sum += q[i].verb == verb && q[i].node == node &&
		       (chan < 0 || q[i].chan == chan);
	return sum;
}

/* The last question to that node; an empty one: there is none. */
static struct ask question_to(int node)
{
	struct ask ask = {.verb = VERB_NONE};

	for (int i = 0; i < n_q; i++)
		if (q[i].node == node)
			ask = q[i];
	return ask;
}

/* Nodes 0 and 1 are asked to confirm a claim, at *t. Each is asked once more on
 * its other connection before it answers; then it is held. Returns the copy to
 * node 0, whose answer may lose the lock before anything runs. */
static struct ask held_and_asked(int64_t *t)
{
	struct ask claim[2], copy;

	asks(*t);
	for (int node = 0; node < 2; node++)
		claim[node] = question_to(node);
	*t = next(*t);
	copy = question_to(0);
	for (int node = 0; node < 2; node++)
		reply(&claim[node], SAID_YES, l.fence, *t);
	is_int(l.state, LEASE_HELD, "held");
	is_int(copy.verb, VERB_CONFIRM, "and one more answer is to come");
	return copy;
}

/* The same from the start. *slow: the question to node 2. */
static struct ask begin_held_and_asked(int64_t *t, struct ask *slow)
{
	begin(3, T, FOREVER);
	asks(0);
	*slow = question_to(2);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 103, 1);
	*t = 1;
	return held_and_asked(t);
}

/* ---- one grant, and what it is worth ---- */

static void test_first(void)
{
	static const int nodes[] = {1, 2, 3, 4, 5, 9};
	static const int quorum[] = {1, 2, 2, 3, 3, 5};
	uint64_t seq;

	for (int i = 0; i < 6; i++) {
		int asked = 0;

		begin(nodes[i], T, FOREVER);
		is_int(asks(0), nodes[i], "%d nodes: all are asked at once",
		       nodes[i]);
		for (int k = 0; k < n_q; k++)
			asked += count(VERB_ACQUIRE, k, 0) == 1 &&
				 q[k].sent.ms == ms(0).ms && q[k].seen == 0;
		is_int(asked, nodes[i], "each once, without a memory");
		is_int(lease_quorum(nodes[i]), quorum[i], "%d are a quorum",
		       quorum[i]);
	}
	begin(1, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	is_int(l.state, LEASE_HELD, "one node: its grant is the lease");
	is_int(l.fence, 100, "and its counter the fence");
	is_int(asks(1), 0, "nothing more is asked");

	begin(1, T, FOREVER);
	asks(0);
	seq = q[0].seq;
	lease_init(&l, &l.conf, ms(1));
	asks(1);
	ok(q[0].seq > seq, "a process that starts later has larger numbers");
}

static void test_stamp(void)
{
	struct ask first, second;

	begin(1, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 999);
	is_int(credited_at(), 0, "validity counts from before the send");
	lease_use(&l);
	is_int(next(999), T / 6, "and so does the next renewal");
	first = q[0];
	reply(&first, SAID_YES, 100, 20000);
	is_int(credited_at(), T / 6, "however late the reply comes");

	hold(1, T, 1);
	next(1);
	first = q[0];
	next(T / 6);
	second = q[0];
	ok(second.sent.ms > first.sent.ms, "a renewal and its repetition");
	reply(&second, SAID_YES, 100, 6000);
	reply(&first, SAID_YES, 100, 6001);
	is_int(credited_at(), between(ms(0), second.sent),
	       "an older question's answer does not move the stamp back");
}

static void test_repeat(void)
{
	struct ask first;
	int64_t t;

	begin(1, T, FOREVER);
	asks(0);
	first = q[0];
	t = next(0);
	ok(t >= NODE_TIMEOUT && t < NODE_TIMEOUT + 500,
	   "an unanswered acquire is repeated after the node time-out");
	is_int(count(VERB_ACQUIRE, 0, 1), 1, "on the second connection");
	ok(!q[0].fresh && q[0].seq != first.seq,
	   "the first connection is not given up for it");
	reply(&first, SAID_GRANTED, 100, t + 5);
	is_int(l.state, LEASE_HELD, "the first answer is as good");
	is_int(credited_at(), 0, "and counts from its own send");
	reply(&q[0], SAID_GRANTED, 100, t + 6);
	is_int(credited_at(), t, "the second one's answer is credited as well");
	is_int(l.state, LEASE_HELD, "and changes nothing else");

	begin(1, T, FOREVER);
	asks(0);
	broke(&q[0], true, 3);
	t = next(3);
	ok(t > 3 && t < 50, "a broken connection: asked again soon");
	is_int(count(VERB_ACQUIRE, 0, -1), 1,
	       "by the same question, for it may have been granted");
}

/* Before anything runs: the fence is that of the grant which stands. */
static void test_refresh(void)
{
	struct ask old;

	begin(1, T, FOREVER);
	next(0);
	old = q[0];
	reply(&q[0], SAID_GRANTED, 100, 1);
	is_int(between(ms(0), lease_wake(&l)), T / 3,
	       "held, and nothing runs, until too old to start on");
	lease_hurry(&l, -1, ms(T / 3));
	next(T / 3);
	is_int(count(VERB_ACQUIRE, 0, -1), 1, "by another acquire");
	reply(&q[0], SAID_GRANTED, 103, T / 3 + 1);
	is_int(l.fence, 103, "granted again, since ours had ended: its fence");
	is_int(credited_at(), T / 3, "and its stamp");
	lease_hurry(&l, -1, ms(T / 3 + 2));
	is_int(l.state, LEASE_ASKING, "hurried: it may not be started on yet");
	is_int(next(T / 3 + 2), T / 3 + 2, "at once");
	reply(&old, SAID_GRANTED, 100, T / 3 + 3);
	is_int(l.fence, 103, "an old answer, come late, changes no fence");
	reply(&q[0], SAID_BUSY, 104, T / 3 + 4);
	next(T / 3 + 4);
	lease_hurry(&l, -1, ms(T / 3 + 5));
	asks(T / 3 + 5);
	reply(&q[0], SAID_BUSY, 104, T / 3 + 6);
	is_int(l.state, LEASE_WAITING, "somebody else's by now: back in line");

	hold(1, T, 1);
	next(1);
	is_int(count(VERB_CONFIRM, 0, -1), 1, "something runs: renewed");
	lease_answer(&l, &old,
		     &(struct answer){.said = SAID_GRANTED, .counter = 120},
		     ms(T / 3 + 1));
	is_int(l.fence, 100, "and its fence stays");

	begin(1, T, 1);
	l.conf.min_hold_ms = 500;
	next(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	lease_hurry(&l, -1, ms(T / 3));
	asks(T / 3);
	asks(T / 3 + 49);
	is_int(l.state, LEASE_ASKING, "when -w is over, a look has a moment");
	asks(T / 3 + 50);
	is_int(l.end, END_UNAVAILABLE, "and no longer");
	ok(count(VERB_RELEASE, 0, -1) && q[0].release.least_ms == 0,
	   "nothing ran: --min-hold does not apply");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_FULL, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	reply(&q[2], SAID_GRANTED, 100, 1);
	lease_hurry(&l, -1, ms(T / 3));
	asks(T / 3);
	for (int k = 0; k < n_q; k++)
		if (q[k].node > 0)
			held_by(&q[k], 8, 600, 5000, T / 3 + 1);
	is_int(l.state, LEASE_WAITING, "a line that was full may not be now");

	/* two copies of one question, granted one after the other */
	begin(1, T, FOREVER);
	asks(0);
	old = q[0];
	next(0);
	reply(&old, SAID_GRANTED, 100, NODE_TIMEOUT + 1);
	reply(&q[0], SAID_GRANTED, 105, NODE_TIMEOUT + 2);
	is_int(l.fence, 105, "granted again: the last grant's fence counts");

	begin(2, T, FOREVER);
	l.conf.slots = 2;
	asks(0);
	granted_by(&q[0], 0, 1, 1);
	granted_by(&q[1], 0, 1, 1);
	lease_hurry(&l, -1, ms(T / 3));
	is_int(asks(T / 3), 2, "both of two nodes are asked again");
	ok(q[0].acquire.only == 1 + 1 && q[1].acquire.only == 1 + 1,
	   "for the slot that we have");
}

/* The longest lease that any node tells is how long one may have forgotten. */
static void test_guard(void)
{
	const struct answer longer = {.said = SAID_BUSY,
				      .counter = 100,
				      .busy = {.pttl_ms = T,
					       .holder_ttl_ms = (int64_t)30 * T,
					       .place = 1}};
	struct ask third, again;

	begin(3, T, FOREVER);
	l.guard_ms = T;
	asks(0);
	is_int(q[0].guard_ms, T, "a server up for less than T has no vote");
	reply(&q[0], SAID_GRANTED, 100, 1);
	lease_answer(&l, &q[2], &longer, ms(2));
	is_int(l.state, LEASE_ASKING, "one tells of a longer lease");
	reply(&q[1], SAID_GRANTED, 100, 3);
	is_int(l.state, LEASE_ASKING, "two grants, but by the shorter guard");
	is_int(asks(3), 2, "are asked for again");
	ok(q[0].guard_ms == (int64_t)30 * T && q[1].guard_ms == q[0].guard_ms,
	   "by the longer one");
	lease_release(&l, ms(4));
	asks(4);
	is_int(count(VERB_RELEASE, 0, -1) + count(VERB_RELEASE, 1, -1), 2,
	       "and given back, should we leave");

	/* a grant that is asked for again has no say in the fence */
	begin(5, T, FOREVER);
	l.guard_ms = T;
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	lease_answer(&l, &q[4], &longer, ms(2));
	for (int k = 1; k < 4; k++)
		reply(&q[k], SAID_GRANTED, 100, 3);
	is_int(asks(3), 4, "all who granted are asked again");
	for (int k = 1; k < 4; k++) {
		again = question_to(k);
		reply(&again, SAID_GRANTED, k == 3 ? 101 : 100, 4);
	}
	is_int(l.state, LEASE_CLAIMING, "three of five, but two by one value");

	/* the others decided the round, so the third is asked no more */
	begin(3, T, FOREVER);
	l.guard_ms = T;
	asks(0);
	third = q[2];
	for (int i = 0; i < 2; i++)
		lease_answer(&l, &q[i], &longer, ms(1));
	asks(1);
	lease_answer(&l, &listening, &(struct answer){.said = SAID_WOKEN},
		     ms(2));
	is_int(asks(2), 1, "the one that woke us is asked");
	reply(&third, SAID_GRANTED, 100, 3);
	is_int(asks(3), 1, "the third grants, but by the shorter guard");
	ok(q[0].node == 2 && q[0].guard_ms == (int64_t)30 * T,
	   "and is asked again at once");
}

/* A server that starts again may have forgotten the longest lease: each is told
 * of it. */
static void test_longest(void)
{
	struct answer answer = {.said = SAID_BUSY,
				.counter = 100,
				.longest_ms = LONG,
				.busy = {.pttl_ms = T, .place = 1}};
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	lease_answer(&l, &q[0], &answer, ms(1));
	reply(&q[1], SAID_BUSY, 100, 1);
	next(1);
	is_int(question_to(1).longest_ms, LONG, "all hear of the longest");

	begin(1, T, FOREVER);
	asks(0);
	lease_answer(&l, &q[0], &answer, ms(1));
	t = next(1);
	is_int(q[0].longest_ms, LONG, "so does a lone node");
	answer.said = SAID_GRANTED;
	answer.longest_ms = T;
	lease_answer(&l, &q[0], &answer, ms(t));
	lease_use(&l);
	next(t);
	is_int(q[0].longest_ms, T, "until that lease is over");
}

/* ---- renewal ---- */

static void test_renew(void)
{
	static const int64_t lengths[] = {200, 1000, 30000, 86400000};

	for (int i = 0; i < 4; i++) {
		int64_t ttl = lengths[i], t = 1, late = 0, early = 0;
		int64_t most = ttl / 6 < 5000 ? ttl / 6 : 5000;

		hold(1, ttl, 1);
		for (int k = 0; k < 200; k++) {
			int64_t from = credited_at();

			t = next(t);
			late += t - from > most;
			early += t - from < most - most / 10 - 1;
			reply(&q[0], SAID_YES, 100, t + 1);
		}
		is_int(late, 0,
		       "T %" PRId64 ": renewed at s + T/6, or 5 s, at the "
		       "latest",
		       ttl);
		is_int(early, 0, "and not a tenth of that earlier");
		is_int(l.state, LEASE_HELD, "200 times");
	}
}

/* ---- asked to stop ---- */

static void told_to_stop(const struct ask *a, enum said said, int64_t stop_ms,
			 int64_t t)
{
	struct answer answer = {.said = said,
				.counter = 100,
				.confirm.pttl_ms = T - 5000,
				.stops = true,
				.stop_ms = stop_ms};

	lease_answer(&l, a, &answer, ms(t));
}

static void test_stop(void)
{
	int64_t t, first;
	struct ask copy, slow;

	hold(1, T, 1);
	is_int(l.stop_by.ms, NEVER.ms, "nobody asks us to stop");
	t = next(1);
	told_to_stop(&q[0], SAID_YES, 10000, t + 40);
	is_int(between(ms(t), l.stop_by), 8000,
	       "asked to: dead when 0.80 of that is over, from the question");
	is_int(between(ms(t), l.stop_dead), 8200, "or the kernel kills");
	ok(l.stop_dead.ms - ms(t).ms < 10000 * 1000 / 1180,
	   "before a clock that runs 1.18 times as fast shows the deadline");
	is_int(l.state, LEASE_HELD, "the lock is ours until then");
	first = l.stop_by.ms;
	t = next(t + 40);
	ok(t > 0 && q[0].verb == VERB_CONFIRM, "and is renewed");
	told_to_stop(&q[0], SAID_YES, 10000, t + 1);
	is_int(l.stop_by.ms, first, "a later word gives no more time");
	told_to_stop(&q[0], SAID_YES, 1000, t + 2);
	is_int(between(ms(t), l.stop_by), 800, "a sooner one gives less");

	hold(3, T, 1);
	t = next(1);
	reply(&q[0], SAID_YES, 100, t + 1);
	told_to_stop(&q[1], SAID_YES, 4000, t + 2);
	is_int(between(ms(0), l.stop_by), between(ms(0), q[1].sent) + 3200,
	       "of three nodes one is enough");

	copy = begin_held_and_asked(&t, &slow);
	told_to_stop(&copy, SAID_NO, 0, t + 1);
	is_int(l.state, LEASE_LOST, "taken away before anything runs");
	ok(!before(ms(t + 1), l.stop_by), "and by whom is known");
	lease_again(&l, ms(t + 2));
	is_int(l.stop_by.ms, NEVER.ms, "the next time nobody asks");
}

static void test_late_renewal(void)
{
	struct ask old;
	int64_t t;

	hold(3, T, 1);
	t = next(1);
	old = q[0];
	old.fence--;
	old.slot = 1;
	reply(&q[0], SAID_YES, 100, t + 1);
	reply(&old, SAID_YES, 100, t + 2);
	is_int(l.node[old.node].grant.slot, 0,
	       "the answer to an earlier claim says nothing of our slot");
	reply(&old, SAID_NO, 100, t + 2);
	ok(node_is_ours(&l.node[old.node]), "and takes nothing away");
}

static void test_retry(void)
{
	static const struct {
		int64_t ttl, retry;
	} rows[] = {{200, 20},     {600, 20},     {900, 30},       {3000, 100},
		    {30000, 1000}, {60000, 1000}, {86400000, 1000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t t;

		hold(1, rows[i].ttl, 1);
		t = next(1) + 2;
		broke(&q[0], true, t);
		is_int(next(t) - t, rows[i].retry,
		       "T %" PRId64 ": a failed renewal is retried after "
		       "%" PRId64 " ms",
		       rows[i].ttl, rows[i].retry);
		is_int(count(VERB_CONFIRM, 0, -1), 1, "once");
	}
}

static void test_hedge(void)
{
	static const struct {
		int64_t ttl, rtt, wait;
	} rows[] = {{T, 0, 50},  {T, 1, 50},    {T, 12, 50},
		    {T, 20, 80}, {T, 100, 400}, {1200, 100, 200}};
	int64_t t, from;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hold(1, rows[i].ttl, rows[i].rtt);
		t = next(rows[i].rtt);
		is_int(next(t) - t, rows[i].wait,
		       "round trips of %" PRId64 " ms: an unanswered renewal "
		       "is repeated after %" PRId64 " ms",
		       rows[i].rtt, rows[i].wait);
		is_int(count(VERB_CONFIRM, 0, 1), 1,
		       "once, on the other connection");
	}
	hold(1, T, 1);
	from = next(1);
	t = next(next(from));
	ok(q[0].fresh, "if neither is answered, on a new connection");
	is_int(t - from, 1000, "after a retry's time");
}

/* R62: a renewal and its repetition, which overtakes it: only the answer to the
 * newer one counts, whatever the older one says. */
static void test_overtaken(void)
{
	struct ask first;
	int64_t t;

	hold(1, T, 1);
	t = next(1);
	first = q[0];
	t = next(t);
	is_int(count(VERB_CONFIRM, 0, -1), 1, "the renewal is repeated");
	reply(&q[0], SAID_YES, 100, t + 1);
	reply(&first, SAID_NO, 100, t + 2);
	is_int(l.state, LEASE_HELD, "a late no to the first one ends nothing");

	hold(3, T, 1);
	t = next(1);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 2)
			first = q[k];
		else
			reply(&q[k], SAID_YES, 100, t + 1);
	t = next(t + 1);
	is_int(count(VERB_CONFIRM, 2, -1), 1, "on one of three nodes as well");
	reply(&q[0], SAID_NO, 100, t + 1);
	reply(&first, SAID_YES, 100, t + 2);
	ok(!node_is_ours(&l.node[2]), "a late yes does not bring it back");
}

/* Questions in a minute, when the given channels do not answer, or not until
 * they are a new connection. *hasty: so many came before the one before had
 * been waited for. */
static int in_a_minute(bool deaf0, bool deaf1, bool curable, int *hasty)
{
	bool no_blpop[CHANNELS] = {deaf0, deaf1};
	int64_t last = -1000;
	int sum = 0;

	*hasty = 0;
	hold(1, T, 1);
	for (int64_t t = 1; (t = next(t)) >= 0 && t < 60000;) {
		sum += n_q;
		*hasty += n_q - 1 + (t - last < 50);
		last = t;
		for (int i = 0; i < n_q; i++) {
			no_blpop[q[i].chan] &= !(curable && q[i].fresh);
			if (!no_blpop[q[i].chan])
				reply(&q[i], SAID_YES, 100, t + 1);
		}
		t++;
	}
	return sum;
}

static void test_storm(void)
{
	int hasty, quiet = in_a_minute(false, false, false, &hasty);

	ok(quiet >= 11 && quiet <= 14, "12 renewals in a minute");
	ok(in_a_minute(true, false, true, &hasty) <= quiet + 2,
	   "one connection stuck: repeated once, and once on a new one");
	is_int(l.state, LEASE_HELD, "and the lease is kept");
	ok(in_a_minute(true, false, false, &hasty) <= 2 * quiet,
	   "it stays stuck: one try of a new connection for each renewal");
	is_int(l.state, LEASE_HELD, "and the lease is kept");
	ok(in_a_minute(false, true, false, &hasty) <= quiet,
	   "the spare one stuck: nobody notices");
	/* T/30 = 1 s between tries, on each of two connections */
	ok(in_a_minute(true, true, false, &hasty) <= 2 * 61,
	   "both stuck: no more than the retries");
}

static void test_hurry(void)
{
	hold(3, T, 1);
	is_int(asks(100), 0, "nothing is due yet");
	lease_hurry(&l, -1, ms(100));
	is_int(asks(100), 3, "in a hurry all are renewed now");
	for (int i = 0; i < 3; i++)
		reply(&q[i], SAID_YES, 100, 101);
	is_int(credited_at(), 100, "which makes the stamp new");
	is_int(asks(101), 0, "once");
	lease_hurry(&l, 0, ms(200));
	is_int(asks(200), 1, "or one of them,");
	is_int(q[0].node, 0, "that one");

	begin(1, T, FOREVER);
	asks(0);
	lease_use(&l);
	reply(&q[0], SAID_GRANTED, 100, 1);
	is_int(next(1), T / 6, "what runs before the grant: renewed as well");
}

/* ---- how waiting ends ---- */

static void test_one_try(void)
{
	begin(1, T, 0);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	is_int(asks(1), 0, "-n: a held lock is asked for once");
	is_int(l.state, LEASE_OVER, "and that is all");
	is_int(l.end, END_BUSY, "it is somebody else's");

	begin(1, T, 0);
	asks(0);
	broke(&q[0], false, 1);
	is_int(asks(1), 0, "-n: nobody there: asked once");
	is_int(l.state, LEASE_OVER, "and that is all");
	is_int(l.end, END_UNAVAILABLE, "nobody answered");

	begin(1, T, 0);
	asks(0);
	is_int(next(0), NODE_TIMEOUT, "-n: no answer in time");
	is_int(count(VERB_RELEASE, 0, 0), 1,
	       "what it may yet grant is released behind it");
	is_int(l.end, END_UNAVAILABLE, "nobody answered");
	is_int(n_q, 1, "and nothing else is asked");

	begin(3, T, 0);
	asks(0);
	for (int i = 0; i < 3; i++)
		if (i == 0)
			reply(&q[i], SAID_GRANTED, 100, 1);
		else
			held_by(&q[i], 8, 600, 5000, 1);
	is_int(asks(1), 1, "-n on three: one try");
	is_int(count(VERB_RELEASE, 0, 0), 1, "whose one grant is given back");
	is_int(l.end, END_BUSY, "the quorum is somebody else's");

	begin(3, T, 0);
	asks(0);
	broke(&q[0], false, 1);
	reply(&q[1], SAID_BUSY, 100, 1);
	is_int(l.state, LEASE_ASKING, "one of three down, one says busy:");
	reply(&q[2], SAID_BUSY, 100, 2);
	is_int(l.end, END_BUSY, "the third tells whether it is somebody's");

	begin(1, T, 0);
	asks(0);
	busy(3, T, false, 1);
	is_int(lease_place(&l), 0,
	       "-n does not stand in line, even if others do");
}

/* Every question gets this at once, or (`said` < 0) fails; until it ends. */
static int64_t end_of(int said)
{
	int64_t t = 0;

	while (l.state == LEASE_ASKING || l.state == LEASE_WAITING) {
		t = next(t);
		if (t < 0)
			break;
		for (int i = 0; i < n_q; i++)
			if (said < 0)
				broke(&q[i], false, t);
			else
				reply(&q[i], (enum said)said, 100, t);
	}
	return t;
}

static void test_wait(void)
{
	static const int64_t waits[] = {1, 99, 100, 1000, 12345};

	for (int i = 0; i < 5; i++)
		for (int nodes = 1; nodes <= 5; nodes += 2) {
			begin(nodes, T, waits[i]);
			is_int(end_of(SAID_BUSY), waits[i],
			       "-w: %d nodes are waited for exactly so long",
			       nodes);
			is_int(l.end, END_BUSY, "it is somebody else's");
		}
	for (int i = 0; i < 2; i++) {
		begin(1, T, i ? 300 : 1);
		asks(0);
		asks((i ? 300 : LAST_LOOK_MS) - 1);
		is_int(l.end, END_NONE, "-w, and nobody answers:");
		asks(i ? 300 : LAST_LOOK_MS);
		is_int(l.end, END_UNAVAILABLE,
		       "given up then, or after 100 ms");
	}
	begin(1, T, FOREVER);
	for (int64_t t = 0; t < 3600000; t++) {
		t = next(t);
		if (t < 0 || l.state != LEASE_ASKING)
			break;
		reply(&q[0], SAID_BUSY, 100, t);
	}
	ok(l.state == LEASE_WAITING, "without -w there is no end, in an hour");
	reply(&q[0], SAID_BUSY, 100, 3600000);
	lease_release(&l, ms(3600001));
	is_int(asks(3600001), 1, "a waiter that must stop");
	ok(q[0].verb == VERB_RELEASE && q[0].release.queued &&
		   !q[0].release.ran && q[0].seen == 0,
	   "leaves the line");
	reply(&q[0], SAID_NO, 100, 3600002);
	is_int(asks(3600002), 0, "no more than that");
	is_int(l.state, LEASE_OVER, "is over");
	is_int(l.end, END_RELEASED, "and ends by request");
}

static void test_unreachable(void)
{
	static const struct {
		int64_t wait, end;
	} rows[] = {{0, 0},
		    {700, 700},
		    {5000, 5000},
		    {60000, 60000},
		    {FOREVER, 5000}};
	int64_t from = 0, longest = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int nodes = 1; nodes <= 3; nodes += 2) {
			begin(nodes, T, rows[i].wait);
			is_int(end_of(-1), rows[i].end,
			       "%d nodes, none there: -w, or 5 s without it, "
			       "which is %" PRId64,
			       nodes, rows[i].end);
			is_int(l.end, END_UNAVAILABLE, "nobody answered");
		}
	begin(1, T, 20000);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	is_int(end_of(-1), 20000,
	       "a client that was answered once waits for -w");
	is_int(l.end, END_UNAVAILABLE, "and says that the server is away now");

	begin(1, T, 60000);
	for (int64_t t = 0; (t = next(from)) >= 0 && t < 50000; from = t) {
		longest = t - from > longest ? t - from : longest;
		broke(&q[0], false, t);
	}
	ok(longest > 500 && longest < 750, "pauses grow to 500 ms, about");
}

/* ---- in line ---- */

static void heard(enum said said, int64_t t)
{
	const struct answer answer = {.said = said};

	lease_answer(&l, &listening, &answer, ms(t));
}

/* First in line since 1, and listening. */
static void stand_in_line(int64_t wait)
{
	begin(1, T, wait);
	asks(0);
	busy(1, T, false, 1);
	asks(1);
}

static void test_listening(void)
{
	static const struct {
		int64_t pttl, from, to;
		int place;
		bool foreign;
		const char *what;
	} rows[] = {
		{T, 5000, 5000, 1, false, "the first, once a heartbeat"},
		{T, 1900, 1900, 2, false, "the second, within a grant"},
		{T, 3500, 3500, 3, false, "a waiter that may be second soon"},
		{T, 3500, 3500, 10, false, "the tenth, too"},
		{T, 5000, 5000, 11, false, "those behind, once a heartbeat"},
		{T, 5000, 5000, 501, false, "however far behind"},
		{800, 805, 805, 1, false, "the first in line, at the end"},
		{800, 905, 905, 3, false, "the third, a little later"},
		{-1, 5000, 5000, 1, false, "a lock without end"},
		{T, 230, 250, 1, true, "a foreign lock, often"},
		{90, 95, 95, 1, true, "a foreign lock, at its end"},
		{T, 690, 750, 3, true, "the third behind it"},
		{90, 195, 195, 3, true, "the third at its end"},
		{T, 5000, 5000, 100, true, "far behind it"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool no_blpop = rows[i].place == 1 && rows[i].foreign;
		int64_t t;

		begin(1, T, FOREVER);
		asks(0);
		is_int(q[0].acquire.ticket, 0,
		       "the first question has no ticket");
		busy(rows[i].place, rows[i].pttl, rows[i].foreign, 1);
		is_int(asks(1), 0, "a waiter asks nothing,");
		ok(no_blpop ? listening.verb == VERB_NONE
			    : listening.verb == VERB_LISTEN &&
				      listening.listen_ms == 30000,
		   no_blpop ? "and nobody would wake it" : "but listens");
		t = next(1) - 1;
		ok(t >= rows[i].from && t <= rows[i].to &&
			   q[0].verb == VERB_ACQUIRE && !q[0].fresh,
		   "and asks again: %s", rows[i].what);
	}
	begin(1, T, FOREVER);
	asks(0);
	busy(1, 10, false, 1);
	is_int(asks(1), 0, "so near the end");
	is_int(listening.verb, VERB_NONE, "listening is not worth it");

	for (int i = 0; i < 2; i++) {
		begin(1, T, FOREVER);
		asks(0);
		lease_answer(
			&l, &q[0],
			&(struct answer){.said = i ? SAID_LOSS : SAID_GUARDED,
					 .counter = 100,
					 .busy.pttl_ms = 100},
			ms(1));
		is_int(next(1), 1 + 105, "asked again when %s",
		       i ? "what was lost must have ended"
			 : "the server has a vote");
	}
}

static void test_woken(void)
{
	struct ask first, second;
	int64_t t;

	stand_in_line(FOREVER);
	heard(SAID_WOKEN, 300);
	is_int(asks(300), 1, "a woken waiter asks at once");
	ok(q[0].verb == VERB_ACQUIRE && q[0].acquire.ticket == 77 &&
		   !q[0].fresh,
	   "with its ticket, where it listened");
	reply(&q[0], SAID_GRANTED, 101, 301);
	is_int(l.state, LEASE_HELD, "a grant is claimed by asking");
	is_int(credited_at(), 300, "and counts from then, not from the word");
	lease_use(&l);
	is_int(next(301), 1300,
	       "it is renewed while the server would still have the grant");
	is_int(q[0].verb, VERB_CONFIRM, "if it forgot the claim");
	reply(&q[0], SAID_YES, 101, 1301);
	is_int(next(1301) - 1300 > T / 7, 1, "and every T/6 from then on");
	reply(&q[0], SAID_YES, 101, 7000);
	lease_release(&l, ms(7001));
	is_int(asks(7001), 1, "what was held is given back");
	ok(!q[0].release.queued && q[0].release.ran,
	   "and is in no line any more");

	stand_in_line(FOREVER);
	is_int(next(1), 5001, "a waiter that listens also looks by itself");
	ok(!lease_hangs_up(&l, 0, listening.chan), "goes on listening");
	reply(&q[0], SAID_GRANTED, 101, 5002);
	ok(lease_hangs_up(&l, 0, listening.chan) &&
		   !lease_hangs_up(&l, 0, !listening.chan),
	   "until it has the lock: then it hangs up there");
	ok(!lease_hangs_up(&l, 0, listening.chan), "once");

	stand_in_line(FOREVER);
	first = listening;
	next(1);
	reply(&q[0], SAID_GRANTED, 101, 5002);
	lease_use(&l);
	next(next(5002));
	ok(q[0].chan == first.chan && q[0].fresh,
	   "or, if it is to be asked there, connects anew");
	ok(!lease_hangs_up(&l, 0, first.chan), "which ends the old one");
	reply(&q[0], SAID_YES, 101, 7000);
	next(7000);
	ok(q[0].chan == first.chan && !q[0].fresh, "once");

	stand_in_line(FOREVER);
	heard(SAID_WOKEN, 300);
	asks(300);
	t = next(301);
	ok(t > 301 && q[0].verb == VERB_ACQUIRE,
	   "an answer that is late is asked for once more");
	reply(&q[0], SAID_GRANTED, 101, t + 1);
	lease_use(&l);
	is_int(asks(t + 1), 1, "the first one may have claimed it: renewed");
	is_int(q[0].verb, VERB_CONFIRM, "at once");

	stand_in_line(FOREVER);
	heard(SAID_WOKEN, 300);
	asks(300);
	reply(&q[0], SAID_GRANTED, 101, 301);
	lease_use(&l);
	is_int(asks(1400), 1, "a waiter that starts late asks");
	is_int(q[0].verb, VERB_CONFIRM, "renews at once");

	stand_in_line(FOREVER);
	heard(SAID_WOKEN, 300);
	asks(300);
	busy(1, T, false, 301);
	is_int(l.state, LEASE_WAITING,
	       "a word that comes too late is no grant");
	asks(301);
	is_int(listening.verb, VERB_LISTEN, "it listens on");
	heard(SAID_QUIET, 302);
	is_int(asks(302), 0, "a server that will not wait is not asked faster");
	is_int(next(302), 5301, "than once a heartbeat");

	stand_in_line(FOREVER);
	first = listening;
	is_int(next(1), 5001, "while it asks once more");
	listening = first;
	heard(SAID_WOKEN, 5002);
	is_int(asks(5002), 0, "a word may come");
	busy(1, T, false, 5003);
	is_int(asks(5003), 1, "and is not forgotten");
	is_int(q[0].verb, VERB_ACQUIRE, "the answer was older than the word");

	stand_in_line(FOREVER);
	first = listening;
	is_int(next(1), 5001, "it asks once more");
	listening = first;
	heard(SAID_WOKEN, 5002);
	reply(&q[0], SAID_LOSS, 100, 5003);
	is_int(asks(5003), 1,
	       "a word is not forgotten if data were lost either");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	reply(&q[1], SAID_BUSY, 100, 1);
	asks(1);
	first = listening;
	t = next(1);
	lease_answer(&l, &first, &(struct answer){.said = SAID_WOKEN}, ms(t));
	second = question_to(first.node);
	reply(&second, SAID_BUSY, 100, t + 1);
	is_int(l.state, LEASE_ASKING, "the others may still decide");
	is_int(asks(t + 1), 1, "the node that sent a word meanwhile");
	ok(q[0].verb == VERB_ACQUIRE && q[0].node == first.node,
	   "is asked again");
}

static void test_no_blpop(void)
{
	struct ask first;
	int64_t again;
	int cut_off = 0;

	stand_in_line(FOREVER);
	first = listening;
	is_int(next(1), 5001, "a waiter that listens asks");
	ok(q[0].verb == VERB_ACQUIRE && q[0].chan != first.chan &&
		   !q[0].fresh && q[0].acquire.ticket == 77,
	   "beside that, with its ticket");
	for (int64_t t = 5002; t < 40000; t = next(t)) {
		busy(1, T, false, t);
		asks(t);
		if (listening.verb == VERB_LISTEN) {
			ok(t > 35000 && (listening.fresh ||
					 listening.chan != first.chan),
			   "whom nobody answers listens anew, at %" PRId64, t);
			break;
		}
	}
	is_int(listening.verb, VERB_LISTEN, "in the end");

	stand_in_line(FOREVER);
	heard(SAID_QUIET, 30000);
	is_int(asks(30000), 1, "a server that has waited for long enough");
	ok(listening.verb == VERB_NONE, "is asked first");
	busy(1, T, false, 30001);
	asks(30001);
	ok(listening.verb == VERB_LISTEN && !listening.fresh,
	   "and listened to again");

	stand_in_line(FOREVER);
	broke(&listening, true, 50);
	ok(next(50) <= 150, "a waiter that is cut off comes back soon");
	is_int(q[0].acquire.ticket, 77, "with its ticket");

	stand_in_line(FOREVER);
	for (int64_t t = 1; listening.verb == VERB_LISTEN && cut_off < 9;
	     cut_off++) {
		broke(&listening, true, t + 1);
		t = next(t + 1);
		busy(1, T, false, t);
		asks(t);
	}
	is_int(cut_off, 3, "one that is cut off each time listens no more");

	stand_in_line(FOREVER);
	lease_failed(&l, &listening, FAIL_REFUSED, true, ms(50));
	again = next(50);
	ok(again > 50 + 150 && again <= 50 + 250,
	   "nor one who may not, but looks often");

	stand_in_line(FOREVER);
	lease_release(&l, ms(60));
	is_int(asks(60), 1, "a waiter that gives up");
	ok(q[0].verb == VERB_RELEASE && q[0].fresh && q[0].release.queued,
	   "leaves the line, and not where it listens");

	stand_in_line(3000);
	is_int(next(1), 3000, "at the end of -w the lock is looked at once");
	busy(1, T, false, 3001);
	is_int(l.end, END_BUSY, "and given up");
	is_int(asks(3001), 1, "not without");
	ok(q[0].verb == VERB_RELEASE && q[0].release.queued,
	   "leaving the line");

	stand_in_line(3000);
	is_int(next(1), 3000, "a look that is not answered");
	next(3000);
	is_int(l.end, END_BUSY, "in the little time it has, proves nothing");

	begin(1, T, FOREVER);
	asks(0);
	is_int(next(0) > 0, 1, "no answer, for now");
	is_int(l.state, LEASE_ASKING, "it is asked for again");
	lease_answer(&l, &q[0],
		     &(struct answer){.said = SAID_BUSY,
				      .busy = {.ticket = 5, .place = 1}},
		     ms(9000));
	lease_release(&l, ms(9001));
	asks(9001);
	ok(n_q > 0 && q[n_q - 1].verb == VERB_RELEASE &&
		   q[n_q - 1].release.queued,
	   "an answer that comes late has put us in line: we leave it");
}

static void test_turned_away(void)
{
	begin(1, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_FULL, 100, 1);
	is_int(asks(1), 0, "a line that is full is not joined");
	is_int(l.end, END_FULL, "and that is said");

	stand_in_line(FOREVER);
	heard(SAID_WOKEN, 2);
	asks(2);
	reply(&q[0], SAID_SUPERSEDED, 100, 3);
	is_int(asks(3), 0,
	       "a newer one has our place: nothing is left of ours");
	is_int(l.end, END_SUPERSEDED, "and that is said");

	begin(1, T, 0);
	asks(0);
	is_int(q[0].acquire.ticket, -1, "-n does not stand in line");
	begin(3, T, FOREVER);
	asks(0);
	ok(q[0].acquire.ticket == 700 && q[2].acquire.ticket == 700 &&
		   q[1].acquire.newcomer,
	   "on several nodes the ticket is ours");
	is_int(queue_ticket(1700000000000000, false), 1700000000000000,
	       "it is the time when we came");
	is_int(queue_ticket(1700000000000000, true), 1699999940000000,
	       "with priority, a minute before");
	is_int(queue_ticket(60000000, true), 1, "and it is one, in any case");
}

/* A newer revision was done. */
static void older(const struct ask *a, int64_t t)
{
	lease_answer(&l, a,
		     &(struct answer){.said = SAID_OLDER,
				      .counter = 100,
				      .busy.revision = 21},
		     ms(t));
}

static void test_older(void)
{
	stand_in_line(FOREVER);
	l.conf.revision = 17 + 1;
	heard(SAID_WOKEN, 2);
	asks(2);
	older(&q[0], 3);
	is_int(l.end, END_OLDER, "an older revision ends the waiting");
	is_int(l.newest, 21, "and it is known which is newer");
	lease_release(&l, ms(3));
	is_int(l.end, END_OLDER, "giving up afterwards does not change why");
	is_int(asks(3), 1, "what was handed to us");
	ok(q[0].verb == VERB_RELEASE && !q[0].release.ran &&
		   q[0].release.revision == 0,
	   "is passed on, without a mark");

	begin(3, T, FOREVER);
	l.conf.revision = 17 + 1;
	asks(0);
	older(&q[1], 1);
	is_int(l.end, END_OLDER, "of several nodes, one is enough");
	asks(1);
	is_int(n_q, 2, "the others hear it");
	for (int i = 0; i < n_q; i++)
		ok(q[i].verb == VERB_RELEASE && q[i].release.mends &&
			   q[i].release.revision == 21 + 1 &&
			   q[i].release.once_ms == 0,
		   "node %d gets the mark of the newer one", q[i].node);
}

static void same_label(const struct ask *a, int64_t t)
{
	lease_answer(&l, a,
		     &(struct answer){.said = SAID_DONE,
				      .counter = 100,
				      .busy.pttl_ms = -1},
		     ms(t));
}

/* A label changes, so a node may have that of an earlier run. */
static void test_label(void)
{
	struct ask first;
	int64_t t;

	stand_in_line(FOREVER);
	l.conf.label = "v1";
	heard(SAID_WOKEN, 2);
	asks(2);
	same_label(&q[0], 3);
	is_int(l.end, END_DONE, "the work of our label ends the waiting");
	ok(asks(3) == 1 && q[0].verb == VERB_RELEASE && !q[0].release.labels,
	   "what was handed to us is passed on, without a mark");

	begin(3, T, FOREVER);
	l.conf.label = "v1";
	asks(0);
	same_label(&q[1], 1);
	is_int(l.end, END_NONE, "of three nodes, one is not enough");
	same_label(&q[0], 1);
	is_int(l.end, END_DONE, "two are");
	is_int(asks(1), 1, "the third one hears it");
	ok(q[0].verb == VERB_RELEASE && q[0].release.mends &&
		   q[0].release.labels && q[0].release.once_ms == 0 &&
		   q[0].release.revision == 0,
	   "and gets the mark");

	begin(3, T, FOREVER);
	l.conf.label = "v1";
	asks(0);
	same_label(&q[1], 1);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[2], SAID_GRANTED, 100, 1);
	ok(l.end == END_NONE && l.state != LEASE_ASKING &&
		   l.state != LEASE_WAITING,
	   "if two grant it, the one knows an earlier run");

	begin(3, T, FOREVER);
	asks(0);
	same_label(&q[1], 1);
	is_int(l.end, END_DONE, "without a label, one is enough");

	begin(2, T, FOREVER);
	l.conf.label = "v1";
	asks(0);
	same_label(&q[1], 1);
	is_int(l.end, END_NONE, "of two nodes, one is not enough either");

	begin(3, T, FOREVER);
	l.conf.label = "v1";
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	held_by(&q[2], 8, 600, 5000, 1);
	same_label(&q[1], 1);
	is_int(l.end, END_NONE, "nor if the others do not know that work");

	begin(5, T, FOREVER);
	l.conf.label = "v1";
	l.conf.replicas = 1;
	asks(0);
	for (int k = 1; k < 5; k++)
		held_by(&q[k], 8, 600, 5000, 1);
	same_label(&q[0], 1);
	t = next(1);
	for (int k = 0; k < 4; k++)
		reply(&q[k], SAID_GRANTED, 100, t + 1);
	asks(t + 1);
	is_int(l.state, LEASE_REPLICATING, "granted later, for another work");
	first = question_to(0);
	reply(&first, SAID_YES, 0, t + 2);
	asks(t + 1 + NODE_TIMEOUT + NODE_TIMEOUT);
	is_int(l.state, LEASE_WAITING, "but not replicated in time");
	is_int(l.end, END_NONE, "that label says nothing any more");
}

/* A copy of an old question learns nothing of a loss in between. */
static void test_unaware(void)
{
	struct ask old;
	int64_t t;

	begin(1, 3000, FOREVER);
	asks(0);
	old = q[0];
	t = next(0);
	is_int(q[0].chan, !old.chan, "asked on both connections");
	reply(&q[0], SAID_BUSY, 500, t + 1);
	is_int(l.state, LEASE_WAITING, "busy: we know a counter");
	reply(&old, SAID_GRANTED, 900, t + 400);
	ok(l.state != LEASE_HELD, "a grant to the first question, which told "
				  "of none, is not started on");
	is_int(asks(t + 400), 1, "but the node is asked at once");
	is_int(q[0].seen, 500, "and told what we saw");
	reply(&q[0], SAID_GRANTED, 900, t + 401);
	is_int(l.state, LEASE_HELD, "that grant counts");
}

/* Whatever is asked for, each node grants a slot of its own: they are wrong,
 * for there is only one. */
static void test_slots_apart(void)
{
	int64_t t = 0;

	begin(3, T, 20000);
	for (int64_t at = 0; (at = next(t)) >= 0;) {
		t = at + 1;
		for (int i = 0; i < n_q; i++) {
			struct answer a = {.said = q[i].verb == VERB_ACQUIRE
							   ? SAID_GRANTED
							   : SAID_YES,
					   .counter = 100,
					   .granted.slot = q[i].node};

			lease_answer(&l, &q[i], &a, ms(t));
		}
	}
	is_int(l.end, END_BUSY, "three slots of one are no quorum");
	ok(t >= 20000, "it is tried again until the time is up");
	is_int(l.only, 0, "for any slot: there is only one");
}

/* ---- losing ---- */

static void test_lost(void)
{
	struct ask copy, slow;
	int64_t t;

	hold(1, T, 1);
	next(1);
	reply(&q[0], SAID_NO, 105, 5001);
	is_int(l.state, LEASE_LOST, "\"no\" while held is lost, at once");
	is_int(asks(5001), 0, "nothing is asked any more");
	is_int(asks(60000), 0, "ever");
	lease_release(&l, ms(60001));
	is_int(asks(60001), 0, "there is nothing to give back");
	is_int(l.state, LEASE_OVER, "so that is the end");

	copy = begin_held_and_asked(&t, &slow);
	reply(&copy, SAID_NO, 105, t);
	is_int(l.state, LEASE_LOST, "lost before anything runs");
	lease_again(&l, ms(t));
	asks(t);
	is_int(question_to(0).verb, VERB_ACQUIRE, "asked for again");
	is_int(question_to(0).seen, 0, "without the counter of what is lost");

	for (int nodes = 3; nodes <= 5; nodes += 2) {
		int spare = nodes - lease_quorum(nodes);

		hold(nodes, T, 1);
		next(1);
		for (int i = 0; i < spare; i++)
			reply(&q[i], SAID_NO, 105, 5001);
		is_int(l.state, LEASE_HELD, "%d nodes: %d may be lost", nodes,
		       spare);
		is_int(credited_at(), 0, "the rest is what counts");
		reply(&q[0], SAID_NO, 105, 5002);
		is_int(l.state, LEASE_HELD, "one is not lost twice");
		reply(&q[spare], SAID_NO, 105, 5003);
		is_int(l.state, LEASE_LOST, "with one more it is lost");
	}
}

/* Messages go to the nodes that said yes before. */
static void test_lost_and_told(void)
{
	for (int nodes = 1; nodes <= 3; nodes += 2) {
		int lost = nodes - lease_quorum(nodes) + 1, to_those = 0;

		hold(nodes, T, 1);
		lease_hurry(&l, -1, ms(5000));
		asks(5000);
		for (int i = 0; i < n_q; i++)
			reply(&q[i], i < nodes - lost ? SAID_YES : SAID_NO, 105,
			      5001);
		is_int(l.state, LEASE_LOST, "%d nodes: %d are lost", nodes,
		       lost);
		lease_end(&l, HOW_TOLD, ms(5002));
		is_int(asks(5002), nodes, "%d nodes: lost, and all hear it",
		       nodes);
		for (int i = 0; i < n_q; i++)
			to_those += q[i].verb == VERB_RELEASE &&
				    !q[i].release.queued;
		is_int(to_those, nodes, "with a release");
		for (int i = 0; i < nodes; i++)
			reply(&q[i], SAID_NO, 105, 5003);
		is_int(asks(5003), 0, "once");
		is_int(l.state, LEASE_OVER, "and that is the end");
	}
	/* a node that is gone has no say in how long that takes */
	hold(3, T, 1);
	lease_hurry(&l, 0, ms(2));
	asks(2);
	reply(&q[0], SAID_NO, 105, 3);
	lease_end(&l, HOW_TOLD, ms(5002));
	is_int(asks(5002), 2, "still held: a node that lost it is not asked");
}

static void test_heal(void)
{
	hold(1, T, 1);
	next(1);
	is_int(q[0].seen, 100, "the renewal tells the counter last seen");
	is_int(q[0].fence, 100, "and the fence");
	reply(&q[0], SAID_HEALED, 177, 5001);
	is_int(l.state, LEASE_HELD, "a vanished lock that was set again holds");
	is_int(l.healed, 1, "that is counted");
	is_int(credited_at(), 5000, "and credited");
	is_int(l.fence, 100, "the fence stays: others may move the counter");
	next(5001);
	is_int(q[0].seen, 177, "the next heal goes by the newest counter");
}

static void test_refused(void)
{
	struct ask first;
	int64_t t;

	begin(1, T, FOREVER);
	asks(0);
	lease_failed(&l, &q[0], FAIL_REFUSED, false, ms(1));
	is_int(asks(1), 0, "refused while acquiring: not asked again");
	is_int(l.state, LEASE_OVER, "that is the end, at once");
	is_int(l.end, END_REFUSED, "for that reason");
	is_int(l.refusal, FAIL_REFUSED, "which is kept");

	hold(1, T, 1);
	t = next(1);
	lease_failed(&l, &q[0], FAIL_REFUSED, false, ms(t + 1));
	is_int(l.state, LEASE_HELD, "refused while held: nothing is lost yet");
	is_int(next(t + 1), t + 1 + 1000, "it is retried as any failure");
	reply(&q[0], SAID_YES, 100, t + 1002);
	is_int(credited_at(), t + 1001, "and may be put right");

	begin(1, T, FOREVER);
	asks(0);
	first = q[0];
	asks(NODE_TIMEOUT);
	is_int(l.state, LEASE_WAITING, "an answer is late");
	lease_failed(&l, &first, FAIL_REFUSED, false, ms(NODE_TIMEOUT + 1));
	is_int(l.end, END_REFUSED, "and says that we are refused");

	begin(3, T, FOREVER);
	asks(0);
	lease_failed(&l, &q[0], FAIL_REFUSED, false, ms(1));
	is_int(l.end, END_NONE, "one of three refuses: it counts as down");
	lease_failed(&l, &q[1], FAIL_REFUSED, false, ms(1));
	is_int(l.end, END_REFUSED, "two are too many");
	is_int(l.refusal, FAIL_REFUSED, "for that reason, too");
}

static void test_step(void)
{
	struct ask late;
	int64_t t, from, wrong = 0, rare = 0;

	hold(1, T, 1);
	t = next(1);
	reply(&q[0], SAID_YES, 100, t + 1);
	is_int(l.stepped, 0, "a lease that ran as fast as our clock");
	t = next(t + 1);
	lease_answer(&l, &q[0],
		     &(struct answer){.said = SAID_YES,
				      .counter = 100,
				      .confirm.pttl_ms = 15000},
		     ms(t + 1));
	is_int(l.stepped, 1, "10 s too short: the server's clock was set");
	is_int(l.state, LEASE_HELD, "nothing is lost by that");
	from = t;
	while (t < from + 3590000) {
		int64_t s = t;

		t = next(t);
		wrong += t - s > T / 24 || t - s < T / 24 - T / 240 - 1;
		reply(&q[0], SAID_YES, 100, t + 1);
	}
	is_int(wrong, 0, "for an hour it is renewed four times as often");
	while (t < from + 3610000) {
		t = next(t);
		reply(&q[0], SAID_YES, 100, t + 1);
	}
	rare = next(t) - t;
	ok(rare > T / 7, "then as ever");
	is_int(l.stepped, 1, "one step is reported once");

	/* a packet was lost: the question is asked again, on another
	 * connection, and then the first answer comes after all */
	hold(1, T, 1);
	t = next(1);
	late = q[0];
	from = t;
	t = next(t + 1);
	ok(n_q == 1 && q[0].chan != late.chan, "a renewal is asked for again");
	lease_answer(&l, &q[0],
		     &(struct answer){.said = SAID_YES,
				      .counter = 100,
				      .confirm.pttl_ms = T - (t - from)},
		     ms(t + 1));
	is_int(credited_at(), t, "and that is answered");
	lease_answer(&l, &late,
		     &(struct answer){.said = SAID_YES,
				      .counter = 100,
				      .confirm.pttl_ms = T - from - 1},
		     ms(t + 2000));
	is_int(l.stepped, 0,
	       "what an earlier renewal found left says nothing of the clock");
}

/* ---- giving back ---- */

static void test_release(void)
{
	hold(1, T, 1);
	lease_release(&l, ms(100));
	is_int(asks(100), 1, "one node: one release");
	is_int(q[0].fence, 100, "which tells the fence");
	is_int(q[0].seen, 100, "and the counter last seen");
	reply(&q[0], SAID_YES, 101, 101);
	is_int(asks(101), 0, "answered");
	ok(l.state == LEASE_OVER && l.end == END_RELEASED && l.freed,
	   "and over: it is free");
	is_int(lease_wake(&l).ms, NEVER.ms, "for good");

	hold(1, T, 1);
	lease_release(&l, ms(100));
	for (int64_t t = 100; (t = next(t)) >= 0;)
		t++;
	is_int(between(ms(0), l.release_by), 1100,
	       "a release is waited for for 1 s");
	ok(l.state == LEASE_OVER && !l.freed, "then it is left to expire");

	hold(3, T, 1);
	lease_release(&l, ms(100));
	is_int(asks(100), 3, "three nodes: three releases");
	reply(&q[0], SAID_YES, 101, 101);
	reply(&q[1], SAID_NO, 101, 101);
	is_int(asks(101), 0, "a quorum answered");
	ok(l.state == LEASE_RELEASING && l.freed, "the third has a moment");
	is_int(next(101), 150, "and is asked once more");
	is_int(between(ms(0), lease_wake(&l)), 151, "that time ends by itself");
	asks(151);
	ok(l.state == LEASE_OVER, "and over: nobody waits for more");

	hold(1, T, 1);
	lease_release(&l, ms(100));
	asks(100);
	broke(&q[0], true, 101);
	next(101);
	is_int(count(VERB_RELEASE, 0, -1), 1, "a lost release is repeated");
}

static void test_release_behind(void)
{
	struct ask first;
	int64_t t;

	begin(1, T, FOREVER);
	asks(0);
	lease_release(&l, ms(5));
	is_int(asks(5), 1, "given up before an answer:");
	ok(count(VERB_RELEASE, 0, 0) == 1 && !q[0].fresh,
	   "a release behind the acquire, on its connection");

	begin(1, T, FOREVER);
	asks(0);
	t = next(0);
	lease_release(&l, ms(t + 5));
	is_int(asks(t + 5), 2, "two acquires without an answer:");
	ok(count(VERB_RELEASE, 0, 0) == 1 && count(VERB_RELEASE, 0, 1) == 1 &&
		   !q[0].fresh && !q[1].fresh,
	   "a release behind each");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	is_int(l.state, LEASE_HELD, "held while one node is silent:");
	lease_release(&l, ms(5));
	is_int(asks(5), 3, "it is released everywhere");
	ok(count(VERB_RELEASE, 2, 0) == 1, "there behind the acquire, too");

	hold(1, T, 1);
	t = next(1);
	first = q[0];
	lease_release(&l, ms(t + 1));
	t = next(t + 1);
	ok(count(VERB_RELEASE, 0, !first.chan) == 1 && t <= 5050,
	   "not behind a renewal: soon, on the other connection");
}

static void test_release_unsure(void)
{
	for (int ran = 0; ran < 2; ran++) {
		begin(1, T, FOREVER);
		asks(0);
		broke(&q[0], ran, 3);
		lease_release(&l, ms(4));
		is_int(asks(4), ran, "given up after a broken acquire that %s",
		       ran ? "may have run: released"
			   : "never left: nothing to release");
		is_int(count(VERB_RELEASE, 0, -1), ran, "that is all");
	}
}

/* -n, and one of three has not answered yet what the others have refused. */
static void refused_by_two(int64_t t)
{
	begin(3, T, 0);
	asks(0);
	held_by(&q[0], 8, 600, 5000, t);
	held_by(&q[1], 8, 600, 5000, t);
	asks(t);
}
static void test_release_unanswered(void)
{
	refused_by_two(1);
	is_int(count(VERB_RELEASE, 2, 0), 1, "released behind an acquire");
	is_int(l.state, LEASE_RELEASING, "which may be running now");
	is_int(asks(49), 0, "it has a moment");
	is_int(l.state, LEASE_RELEASING, "as long as it may be running");
	asks(50);
	is_int(l.state, LEASE_OVER, "and no longer");

	refused_by_two(1);
	reply(&q[0], SAID_NO, 100, 9);
	asks(9);
	is_int(l.state, LEASE_OVER, "its answer is enough");

	refused_by_two(60);
	is_int(l.state, LEASE_OVER, "one that has long been silent has none");
}

static void test_late_grant(void)
{
	struct ask acquire[2], release[2];
	int64_t t;

	begin(1, T, FOREVER);
	asks(0);
	acquire[0] = q[0];
	t = next(0);
	acquire[1] = q[0];
	lease_release(&l, ms(t + 1));
	asks(t + 1);
	release[0] = q[q[0].chan == 0 ? 0 : 1];
	release[1] = q[q[0].chan == 0 ? 1 : 0];
	reply(&acquire[1], SAID_BUSY, 100, t + 2);
	reply(&release[1], SAID_NO, 100, t + 2);
	reply(&acquire[0], SAID_GRANTED, 101, t + 3);
	is_int(l.state, LEASE_RELEASING, "a late grant is not kept");
	broke(&release[0], false, t + 4);
	t = next(t + 4);
	is_int(count(VERB_RELEASE, 0, -1), 1, "one more release is sent");
	reply(&q[0], SAID_YES, 102, t + 1);
	is_int(asks(t + 1), 0, "one");
	is_int(l.state, LEASE_OVER, "and then it is over");
}

static void test_inherit(void)
{
	for (int nodes = 1; nodes <= 5; nodes += 2) {
		int right = 0;

		hold(nodes, T, 1);
		lease_inherit(&l, &l.conf, true, ms(50));
		is_int(asks(50), nodes, "inherited: %d releases at once",
		       nodes);
		for (int i = 0; i < nodes; i++)
			right += count(VERB_RELEASE, i, -1) == 1;
		is_int(right, nodes, "one for each node");
		ok(q[0].seq > 1000000000,
		   "by a number that the holder does not reach");
		ok(q[0].release.queued, "which also leave the line");
		for (int i = 0; i < lease_quorum(nodes); i++)
			reply(&q[i], i % 2 ? SAID_YES : SAID_NO, 100, 51);
		is_int(asks(51), 0, "a quorum answered");
		ok(l.state == LEASE_OVER && l.freed, "and over");
	}
	for (int any = 0; any < 2; any++) {
		hold(1, T, 1);
		l.conf.min_hold_ms = 500;
		l.conf.once_ms = 60000;
		l.conf.once_any = any;
		lease_inherit(&l, &l.conf, true, ms(50));
		asks(50);
		is_int(q[0].release.least_ms, 500, "--min-hold applies");
		is_int(q[0].release.once_ms, any ? 60000 : 0,
		       any ? "and --once-per, if a failure counts"
			   : "and --once-per does not");
	}
}

/* The release was not answered for as long as the holder waits. */
static void test_go_on(void)
{
	int64_t t;

	for (int nodes = 1; nodes <= 3; nodes += 2) {
		hold(nodes, T, 1);
		lease_release(&l, ms(50));
		(void)asks(50);
		(void)asks(1050);
		is_int(l.state, LEASE_OVER, "go on: given up after 1 s");
		ok(lease_go_on(&l, ms(1060)), "%d nodes: goes on", nodes);
		is_int(asks(1060), nodes, "and asks at once");
		(void)asks(T - 1);
		is_int(l.state, LEASE_RELEASING, "until the lease is over");
		(void)asks(T);
		is_int(l.state, LEASE_OVER, "and no longer");
		ok(!lease_go_on(&l, ms(T)), "then nothing is left to do");
		hold(nodes, T, 1);
		lease_release(&l, ms(50));
		(void)asks(50);
		for (int i = 0; i < nodes; i++)
			reply(&q[i], SAID_YES, 100, 51);
		(void)asks(51);
		ok(!lease_go_on(&l, ms(60)), "all was released: nor here");
	}

	/* a renewal that was not answered may have run */
	hold(1, T, 1);
	t = next(1);
	lease_release(&l, ms(t + 1));
	(void)asks(t + 51);
	(void)asks(t + 1001);
	is_int(l.state, LEASE_OVER, "given up while a renewal is unanswered");
	ok(lease_go_on(&l, ms(t + 1100)), "goes on");
	(void)asks(t + T - 1);
	is_int(l.state, LEASE_RELEASING, "until the renewed lease is over");
	(void)asks(t + T);
	is_int(l.state, LEASE_OVER, "and no longer");
}

/* Nobody answers: the command is dead already, so there is time; and other
 * connections do not change by when. */
static void test_inherit_late(void)
{
	static const int64_t ttls[][2] = {{300, 1000}, {T, T}, {60000, 60000}};

	for (int i = 0; i < 3; i++) {
		int64_t end = 50 + ttls[i][1];

		hold(1, ttls[i][0], 1);
		lease_inherit(&l, &l.conf, true, ms(50));
		(void)asks(50);
		ok(lease_go_on(&l, ms(950)), "inherited: goes on");
		is_int(asks(950), 1, "and asks at once");
		(void)asks(end - 1);
		is_int(l.state, LEASE_RELEASING, "inherited: still tried");
		(void)asks(end);
		is_int(l.state, LEASE_OVER, "until the lease is over");
	}
}

/* ---- several nodes ---- */

static void test_fast(void)
{
	begin(3, T, FOREVER);
	asks(0);
	reply(&q[2], SAID_GRANTED, 100, 1);
	is_int(l.state, LEASE_ASKING, "one of three is too few");
	reply(&q[0], SAID_GRANTED, 100, 2);
	is_int(l.state, LEASE_HELD, "two of three with one value: held");
	is_int(l.fence, 100, "by that fence");
	is_int(asks(2), 0, "with no further question");
	reply(&q[1], SAID_BUSY, 99, 3);
	is_int(l.state, LEASE_HELD, "the third does not matter");
	lease_use(&l);
	is_int(next(3), T / 6, "until the renewal");
	is_int(n_q, 3, "which asks all three");
	reply(&q[1], SAID_NO, 99, 5001);
	is_int(l.state, LEASE_HELD, "and may find the third still foreign");
	is_int(asks(5002), 0, "which is not asked again");
	for (int64_t t = 5002; (t = next(t)) < 9000;)
		is_int(count(VERB_CONFIRM, 1, -1), 0, "soon");

	begin(5, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 101, 1);
	is_int(l.state, LEASE_ASKING, "two of five are too few");
	reply(&q[2], SAID_GRANTED, 100, 1);
	is_int(l.state, LEASE_CLAIMING, "three, but only two agree");
}

static void test_claim(void)
{
	struct ask third;
	int64_t t, from;

	begin(3, T, FOREVER);
	asks(0);
	third = q[2];
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 103, 10);
	is_int(l.state, LEASE_CLAIMING, "differing values are no fence yet");
	is_int(asks(10), 2, "those who granted are asked to confirm");
	ok(count(VERB_CONFIRM, 0, -1) && count(VERB_CONFIRM, 1, -1), "both");
	ok(q[0].fence == 103 && q[1].fence == 103, "the largest value");
	ok(q[0].confirm.until_ms == 0 && q[1].confirm.until_ms == 0,
	   "nothing heals before the claim");
	reply(&q[0], SAID_YES, 103, 11);
	is_int(l.state, LEASE_CLAIMING, "one is too few");
	reply(&q[1], SAID_YES, 103, 12);
	is_int(l.state, LEASE_HELD, "a quorum stored it: held");
	is_int(l.fence, 103, "by that fence");
	is_int(credited_at(), 10, "from the send of the confirmation");
	reply(&third, SAID_BUSY, 99, 12);
	lease_use(&l);
	is_int(next(12), T / 6, "the third is asked at T/6");
	is_int(n_q, 1, "alone");
	is_int(next(T / 6 + 1), T / 6 + 10, "those two T/6 after their stamp");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 103, 10);
	asks(10);
	reply(&q[1], SAID_YES, 103, 11);
	reply(&q[0], SAID_YES, 100, 11);
	ok(l.state != LEASE_HELD, "a counter that was not raised is no yes");
	is_int(asks(11), 2, "a larger one is tried");
	ok(q[0].fence == 104 && q[1].fence == 104 && q[0].verb == VERB_CONFIRM,
	   "on both");
	reply(&q[0], SAID_NO, 104, 12);
	reply(&q[1], SAID_YES, 104, 12);
	is_int(l.state, LEASE_WAITING, "the claim has failed");
	is_int(next(12) < 12 + KEEP, 1,
	       "what was granted is kept for a moment");
	ok(count(VERB_ACQUIRE, 0, -1), "and the others are asked for again");

	begin(3, T, FOREVER);
	asks(0);
	for (int k = 0; k < 3; k++)
		held_by(&q[k], 8, 600, 5000, 1);
	t = next(1);
	for (int k = 0; k < 2; k++)
		reply(&q[k], SAID_GRANTED, 100 + 3 * k, t + 1);
	asks(t + 1);
	for (int k = 0; k < 2; k++)
		reply(&q[k], SAID_NO, 100, t + 2);
	is_int(l.state, LEASE_WAITING, "a claim in vain");
	from = t + 2;
	t = next(from);
	ok(t > from && t <= from + 250,
	   "asked again soon: an earlier holder does not matter");

	/* a node that granted another slot has another counter */
	begin(3, T, FOREVER);
	l.conf.slots = 2;
	asks(0);
	third = q[2];
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 103, 1);
	asks(1);
	lease_answer(&l, &third,
		     &(struct answer){.said = SAID_GRANTED,
				      .counter = 500,
				      .granted = {.slot = 1, .fence = 500}},
		     ms(1));
	for (int k = 0; k < n_q; k++)
		if (q[k].node < 2)
			reply(&q[k], SAID_YES, 104, 2);
	asks(2);
	is_int(question_to(0).fence, 105,
	       "the counter of another slot does not move our fence");

	begin(3, T, 0);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 103, 10);
	is_int(asks(10), 2, "-n: the claim");
	is_int(asks(10 + NODE_TIMEOUT - 1), 2,
	       "which has the time of a round, and is repeated");
	ok(l.state == LEASE_CLAIMING && l.fence == 103, "to the end of it");
}

/* One of three is ours, the others are somebody's. */
static void split(uint64_t whose, uint64_t other, int64_t ticket, int64_t age)
{
	begin(3, T, FOREVER);
	asks(0);
	held_by(&q[0], whose, ticket, age, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	held_by(&q[2], other, ticket, age, 1);
}

static void test_minority(void)
{
	struct ask word;

	split(8, 8, 900, 5000);
	is_int(asks(1), 1, "somebody has a quorum:");
	ok(count(VERB_RELEASE, 1, 0) && !q[0].release.queued,
	   "what was granted is given back, and nothing else");
	is_int(next(1) < 60, 1, "soon all are asked again");
	ok(count(VERB_ACQUIRE, 1, 1) && n_q == 3,
	   "that one, too, though the release is not answered");

	split(8, 9, 600, 5);
	asks(1);
	ok(n_q == 1 && count(VERB_RELEASE, 1, 0),
	   "an earlier client gets it: released");
	split(8, 9, 600, KEEP + 1);
	is_int(asks(1), 0, "not to one that had it long ago");
	split(8, 9, 900, 5);
	is_int(asks(1), 0, "nor to one that came after us: it is kept");
	ok(listening.verb == VERB_LISTEN, "while we listen to the others");
	word = listening;
	lease_answer(&l, &word, &(struct answer){.said = SAID_WOKEN}, ms(9));
	is_int(asks(9), 1, "woken by one of them");
	ok(count(VERB_ACQUIRE, word.node, -1) == 1, "that one is asked alone");
	reply(&q[0], SAID_GRANTED, 100, 10);
	is_int(l.state, LEASE_HELD, "and that makes a quorum");

	split(8, 9, 900, 5);
	is_int(next(1), 1 + KEEP, "nobody wakes us: all are looked at");
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 1)
			reply(&q[k], SAID_GRANTED, 100, 1 + KEEP);
		else
			held_by(&q[k], 8 + (unsigned int)k, 900, KEEP,
				1 + KEEP);
	asks(1 + KEEP);
	ok(count(VERB_RELEASE, 1, -1) == 1, "and it is given back then");
	for (int64_t t = 1 + KEEP; l.state != LEASE_HELD && t > 0 && t < T;) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			reply(&q[k],
			      q[k].verb == VERB_ACQUIRE ? SAID_GRANTED
							: SAID_YES,
			      100, t);
	}
	is_int(l.split_ms, 0, "once it is held, pauses begin anew");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	begin(3, T, 0);
	asks(0);
	held_by(&q[0], 8, 900, 5, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	held_by(&q[2], 9, 900, 5, 1);
	is_int(next(1) < 60, 1, "-n: of several at a time the first goes on");
	is_int(n_q, 3, "for the others give back");
	begin(3, T, 0);
	asks(0);
	held_by(&q[0], 8, 600, 5, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	held_by(&q[2], 9, 900, 5, 1);
	is_int(l.end, END_BUSY, "and hears that the lock is not free");
	begin(3, T, 1);
	asks(0);
	held_by(&q[0], 8, 900, 5, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	held_by(&q[2], 9, 900, 5, 1);
	is_int(next(1), 1 + KEEP,
	       "-w 1ms: it is in line, and waits to be woken");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	is_int(asks(NODE_TIMEOUT - 1), 0, "the third may still decide");
	is_int(l.state, LEASE_ASKING, "until its time is over");
	asks(NODE_TIMEOUT);
	is_int(l.state, LEASE_WAITING, "then the one is kept for a moment");

	begin(3, T, 0);
	asks(0);
	held_by(&q[0], 8, 600, 5000, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	asks(NODE_TIMEOUT);
	is_int(l.end, END_BUSY, "-n: the two have answered nevertheless");

	begin(3, T, 0);
	asks(0);
	reply(&q[0], SAID_GUARDED, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	reply(&q[2], SAID_GUARDED, 100, 1);
	is_int(l.end, END_BUSY, "-n: those without a vote give nothing back");
}

static void in_line(const struct ask *a, int64_t ticket, int64_t t)
{
	struct answer answer = {.said = SAID_BUSY,
				.counter = 100,
				.busy = {.pttl_ms = T,
					 .holder = 8 + (unsigned int)a->node,
					 .age_ms = 5000,
					 .ticket = ticket,
					 .place = 1}};

	lease_answer(&l, a, &answer, ms(t));
}

/* A copy was granted, and then the first question was answered: it had put us
 * in line. The grant is given back. */
static void test_minority_in_line(void)
{
	struct ask first, copy;
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	first = q[1];
	t = next(0);
	copy = question_to(1);
	reply(&copy, SAID_GRANTED, 100, t);
	reply(&first, SAID_BUSY, 100, t);
	for (int k = 0; k < n_q; k++)
		if (q[k].node != 1)
			held_by(&q[k], 8, 900, 5000, t);
	asks(t);
	is_int(count(VERB_RELEASE, 1, -1), 1, "a minority is given back");
	copy = question_to(1);
	ok(!copy.release.queued, "but not our place in its line");
	reply(&copy, SAID_YES, 101, t + 1);
	lease_release(&l, ms(t + 1));
	asks(t + 1);
	copy = question_to(1);
	ok(copy.verb == VERB_RELEASE && copy.release.queued,
	   "which we leave at the end");
}

/* A grant that is asked for once more, on both connections, and given back. */
static void test_minority_asked_twice(void)
{
	struct ask first, third;
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	first = q[1];
	held_by(&q[0], 8, 900, 5, 1);
	asks(NODE_TIMEOUT);
	t = next(NODE_TIMEOUT);
	is_int(count(VERB_ACQUIRE, 1, 1), 1, "asked on both connections");
	third = question_to(2);
	reply(&first, SAID_GRANTED, 100, t + 1);
	asks(t + NODE_TIMEOUT);
	t = next(t + NODE_TIMEOUT);
	is_int(count(VERB_ACQUIRE, 1, 0), 1, "one grants, and is asked again");
	held_by(&q[0], 8, 900, 5000, t + 1);
	held_by(&third, 8, 900, 5000, t + 1);
	asks(t + 1);
	ok(count(VERB_RELEASE, 1, 0) == 1 && count(VERB_RELEASE, 1, 1) == 1,
	   "given back behind each of the two questions");
}

/* The copy of a question whose grant we gave back is granted. */
static void test_copy_given_back(void)
{
	struct ask first, copy;
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	first = q[1];
	t = next(0);
	copy = question_to(1);
	reply(&first, SAID_GRANTED, 100, t);
	for (int k = 0; k < n_q; k++)
		if (q[k].node != 1)
			held_by(&q[k], 8, 900, 5000, t);
	asks(t);
	is_int(count(VERB_RELEASE, 1, copy.chan), 1, "given back behind it");
	reply(&copy, SAID_GRANTED, 100, t + 1);
	ok(!node_is_ours(&l.node[1]) && l.state == LEASE_WAITING,
	   "what the copy was granted is not ours either");
}

/* A silent server wakes nobody: we listen to it no more. */
static void test_silent_listener(void)
{
	struct ask to_third;

	begin(3, T, FOREVER);
	asks(0);
	for (int k = 0; k < 3; k++)
		reply(&q[k], SAID_BUSY, 100, 1);
	asks(1);
	to_third = listening;
	is_int(to_third.node, 2, "we listen to the third as well");
	next(1);
	for (int k = 2; k >= 0; k--)
		if (q[k].node == 2)
			broke(&q[k], false, 5002);
		else
			reply(&q[k], SAID_BUSY, 100, 5002);
	ok(lease_hangs_up(&l, 2, to_third.chan), "until it is down");
	for (int k = 0; k < 2; k++)
		ok(!lease_hangs_up(&l, k, 0) && !lease_hangs_up(&l, k, 1),
		   "and go on listening to node %d", k);
}

/* A first question that is answered late, after its copy. */
static void test_granted_twice(void)
{
	struct ask first;
	int64_t t;

	begin(1, T, FOREVER);
	asks(0);
	first = q[0];
	t = next(0);
	reply(&q[0], SAID_GRANTED, 100, t + 1);
	reply(&first, SAID_GRANTED, 100, t + 2);
	lease_use(&l);
	t = next(t + 2);
	reply(&q[0], SAID_NO, 105, t + 1);
	is_int(l.state, LEASE_LOST, "granted twice, and lost");
	lease_release(&l, ms(t + 2));
	is_int(asks(t + 2), 0, "there is nothing to give back");
}

/* One of three was granted, and is given back. */
static void test_minority_given_back(void)
{
	struct ask release;
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	in_line(&q[0], 5000, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	held_by(&q[2], 8, 900, 5000, 1);
	asks(1);
	is_int(count(VERB_RELEASE, 1, -1), 1, "one line has us further back");
	next(1);
	ok(question_to(1).acquire.newcomer &&
		   question_to(1).acquire.ticket == 700,
	   "where we were in no line we come anew");

	split(8, 8, 900, 5000);
	asks(1);
	release = q[0];
	t = next(1);
	is_int(count(VERB_ACQUIRE, 1, -1), 1, "asked for again");
	broke(&release, true, t);
	asks(t + NODE_TIMEOUT);
	is_int(count(VERB_RELEASE, 1, -1), 0,
	       "a release that was lost before that is not repeated");

	split(8, 8, 900, 5000);
	asks(1);
	t = next(1);
	for (int k = 0; k < n_q; k++)
		if (q[k].node != 1)
			held_by(&q[k], 8, 900, 5000, t);
	asks(t);
	lease_answer(&l, &listening, &(struct answer){.said = SAID_WOKEN},
		     ms(t + 1));
	is_int(asks(t + 1), 1, "one of them has news");
	held_by(&q[0], 8, 900, 5000, t + 2);
	is_int(asks(t + 2), 0, "which says nothing of the others");
	(void)next(t + 2);
	ok(question_to(1).acquire.looks,
	   "what we left to the holder stays theirs");
}

/* A run inside the holder that does not know of it ends after its first look,
 * and must have asked nobody to stop. */
static void test_replaces(void)
{
	struct answer granted = {.said = SAID_GRANTED,
				 .counter = 100,
				 .granted = {.fence = 100},
				 .stops = true,
				 .stop_ms = 2000};

	begin(1, T, FOREVER);
	l.conf.replaces = true;
	asks(0);
	is_int(q[0].acquire.replaces, 0, "the first look replaces nobody");
	reply(&q[0], SAID_BUSY, 100, 1);
	is_int(next(1), 251, "the second one comes soon");
	asks(251);
	is_int(q[0].acquire.replaces, 1, "and does");
	reply(&q[0], SAID_BUSY, 100, 252);
	ok(next(252) > 252 + 250, "after that it is a wait like any other");

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 1);
	lease_answer(&l, &q[1], &granted, ms(1));
	ok(l.stop_by.ms != NEVER.ms, "one of three grants, and is to stop");
	reply(&q[2], SAID_BUSY, 100, 1);
	for (int64_t t = 2; l.node[1].vote != VOTE_BACK && t < T; t += 10)
		asks(t);
	is_int(l.node[1].vote, VOTE_BACK, "what is given back");
	ok(l.stop_by.ms == NEVER.ms, "is not to stop any more");
}

static int64_t waited_us; /* of stood_back(): since the first answer */

/* Node 0 gave us that ticket, the others 700. Node 1 is ours for a moment: at
 * once, or from the second round on. Its line and that of node 0 may have
 * different clients in front. Returns how far we stand back on a node then. */
static int64_t stood_back(int64_t ticket, bool at_once, bool supersede,
			  int node)
{
	int64_t t = 1;

	begin(3, T, FOREVER);
	l.conf.supersede = supersede;
	asks(0);
	for (int round = 0; !count(VERB_RELEASE, 1, -1) && round < 9; round++) {
		for (int k = 0; k < n_q; k++)
			if ((at_once || round > 0) && q[k].node == 1)
				reply(&q[k], SAID_GRANTED, 100, t);
			else
				in_line(&q[k], q[k].node == 0 ? ticket : 700,
					t);
		t = next(t);
	}
	ok(count(VERB_RELEASE, 1, -1), "a minority was kept in vain");
	waited_us = (t - 1) * 1000;
	while (count(VERB_RELEASE, 1, -1)) {
		reply(&q[0], SAID_YES, 101, t);
		t = next(t);
	}
	is_int(n_q, 3, "all three are asked again");
	for (int k = 0; k < n_q; k++)
		if (q[k].node == node)
			return q[k].acquire.ticket - (node == 0 ? ticket : 700);
	return -1;
}

static void test_stand_back(void)
{
	static const int64_t tickets[] = {5000, 300, 3600000000};

	for (int i = 0; i < 3; i++)
		for (int node = 0; node < 3; node++) {
			int64_t back =
				stood_back(tickets[i], false, false, node);

			is_int(back, waited_us,
			       "where one differs, we go to the end of all");
		}
	is_int(stood_back(700, false, false, 1), 0,
	       "where all are the same, we stay where we are");
	is_int(stood_back(700, true, false, 2), 0,
	       "one that has given us none does not differ");
	is_int(stood_back(5000, false, true, 1), 0,
	       "a superseding waiter stays there");
}

/* What a node granted before and has given to somebody since. */
static void test_taken_since(void)
{
	split(8, 9, 900, 5);
	is_int(next(1), 1 + KEEP, "a minority is kept, then all are asked");
	is_int(n_q, 3, "also the one that granted");
	for (int k = 0; k < n_q; k++)
		held_by(&q[k], q[k].node == 2 ? 9 : 8, 900, 5000, 1 + KEEP);
	ok(!node_is_ours(&l.node[1]), "somebody has that as well by now");
	asks(1 + KEEP);
	is_int(count(VERB_RELEASE, 1, -1), 0, "it is not ours to give back");
}

/* Each node grants the first slot that is free there, and node 0 the other one
 * when it is asked for that, with this fence. */
static int64_t granted_alike(int64_t fence)
{
	int64_t t;

	begin(3, T, FOREVER);
	l.conf.slots = 3;
	asks(0);
	is_int(q[0].acquire.only + q[1].acquire.only + q[2].acquire.only, 0,
	       "any slot will do");
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 1, 1);
	held_by(&q[2], 8, 600, 5000, 1);
	is_int(l.state, LEASE_WAITING, "two of three, of different slots");
	t = next(1);
	is_int(count(VERB_RELEASE, 0, -1), 1, "the lower one is given back");
	for (int k = 0; k < n_q; k++)
		if (q[k].verb == VERB_RELEASE)
			reply(&q[k], SAID_YES, 101, t + 1);
	t = next(t + 1);
	is_int(count(VERB_ACQUIRE, 0, -1), 1, "and that node asked again");
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 0)
			is_int(q[k].acquire.only, 1 + 1,
			       "for the slot that was given "
			       "on the other");
	for (int k = 0; k < n_q; k++)
		if (q[k].verb != VERB_ACQUIRE)
			continue;
		else if (q[k].node == 2)
			held_by(&q[k], 8, 600, 5000, t + 1);
		else
			granted_in(&q[k], 1, q[k].node ? 100 : fence, t + 1);
	return t + 1;
}

static void test_slots(void)
{
	int64_t t = granted_alike(100);
	struct ask copy;

	is_int(l.state, LEASE_HELD, "a quorum of one slot: held");
	is_int(l.slot, 1, "that one");
	lease_use(&l);
	t = next(t);
	is_int(question_to(2).slot, 1, "for which the third is asked as well");

	t = granted_alike(103);
	copy = held_and_asked(&t);
	reply(&copy, SAID_NO, 105, t);
	is_int(l.state, LEASE_LOST, "lost before anything runs");
	lease_again(&l, ms(t));
	asks(t);
	is_int(count(VERB_ACQUIRE, 0, -1), 1, "asked for again");
	is_int(question_to(0).acquire.only, 0, "in any slot");
}

/* One of three grants, and is given back: the release is not answered. The node
 * is asked again all the same, with a larger number, by which it knows that the
 * release must not undo that. */
static void test_number(void)
{
	struct ask release = {0}, again = {0};
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	held_by(&q[1], 8, 600, 5000, 1);
	held_by(&q[2], 8, 600, 5000, 1);
	t = next(1);
	is_int(count(VERB_RELEASE, 0, -1), 1, "a minority: given back");
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 0 && q[k].verb == VERB_RELEASE)
			release = q[k];
	for (int n = 0; again.verb == VERB_NONE && n < 20; n++) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].verb == VERB_ACQUIRE && q[k].node == 0)
				again = q[k];
			else if (q[k].verb == VERB_ACQUIRE)
				reply(&q[k], SAID_GRANTED, 200, t);
	}
	ok(again.seq > release.seq, "asked again, by a larger number");
	ok(again.chan != release.chan, "on the other connection");
	is_int(l.state, LEASE_HELD, "the others grant");
	lease_use(&l);
	reply(&again, SAID_GRANTED, 200, t + 1);
	ok(node_is_ours(&l.node[0]), "and so does that one");
	reply(&release, SAID_NO, 200, t + 2);
	ok(node_is_ours(&l.node[0]), "the release is answered too late");
}

/* The same, but the node is not asked again before the lock is held: then it is
 * renewed like any that is not ours. And the release is lost. */
static void test_given_back_lost(void)
{
	struct ask release = {0};
	int64_t t;

	begin(3, T, FOREVER);
	l.conf.slots = 2;
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 0, 1);
	lease_use(&l);
	granted_by(&q[2], 0, 1, 1);
	asks(1);
	is_int(count(VERB_RELEASE, 2, -1), 1, "another slot: given back");
	for (int k = 0; k < n_q; k++)
		if (q[k].verb == VERB_RELEASE)
			release = q[k];
	broke(&release, true, 2);
	t = next(2);
	is_int(count(VERB_RELEASE, 2, -1), 1, "and once more if that is lost");
	for (int n = 0; count(VERB_CONFIRM, 2, -1) == 0 && n < 20; n++) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
	}
	is_int(count(VERB_CONFIRM, 2, -1), 1, "then the node is asked again");
	ok(t <= T / 6 + 1100, "a period later");
}

/* What was asked before a node was given back is about a grant that is no
 * longer ours, also if it was a renewal. */
static void test_late_yes(void)
{
	struct ask late = {0};

	begin(3, T, FOREVER);
	l.conf.slots = 2;
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 0, 1);
	held_by(&q[2], 8, 600, 5000, 1);
	is_int(l.state, LEASE_HELD, "two of three");
	lease_use(&l);
	for (int64_t t = 1; late.verb != VERB_CONFIRM && t > 0;) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node == 2 && q[k].verb == VERB_CONFIRM)
				late = q[k];
			else if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
	}
	l.node[2].settled = late.seq + 1;
	reply(&late, SAID_YES, 100, T + 1);
	ok(!node_is_ours(&l.node[2]), "a yes from before it was given back");
}

static void two_of_three(void)
{
	reply(&q[0], SAID_GRANTED, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 1);
	lease_use(&l);
}

/* One of three is frozen, and the renewals have taken both of its connections:
 * its acquire, which it runs when it wakes, is not forgotten. */
static void test_acquire_given_up(void)
{
	struct ask acquire;
	int64_t t = 1;
	bool fresh = false;

	begin(3, T, FOREVER);
	asks(0);
	acquire = q[2];
	two_of_three();
	while (!fresh && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
			else
				fresh |=
					q[k].fresh && q[k].chan == acquire.chan;
	}
	broke(&acquire, true, t);
	lease_release(&l, ms(t));
	asks(t);
	is_int(count(VERB_RELEASE, 2, -1), 1, "released there at once");
	ok(q[n_q - 1].node == 2 && q[n_q - 1].release.queued &&
		   !q[n_q - 1].fresh,
	   "behind a renewal, and its place in line, too");
	reply(&q[0], SAID_YES, 101, t + 1);
	reply(&q[1], SAID_YES, 101, t + 1);
	asks(t + 1);
	is_int(l.state, LEASE_OVER, "and nobody waits for it");
}

/* One of three has us in line. One renewal goes unanswered; its copy is
 * answered. */
static void test_silent_renewal(void)
{
	struct ask silent = {0}, copy = {0};
	int64_t t = 1;

	begin(3, T, FOREVER);
	asks(0);
	reply(&q[2], SAID_BUSY, 90, 1);
	two_of_three();
	while (copy.verb == VERB_NONE && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
			else if (silent.verb == VERB_NONE)
				silent = q[k];
			else
				copy = q[k];
	}
	reply(&copy, SAID_NO, 90, t + 1);
	lease_release(&l, ms(t + 2));
	asks(t + 2);
	is_int(count(VERB_RELEASE, 2, copy.chan), 1,
	       "a release goes where it was answered last, and at once");
	is_int(count(VERB_RELEASE, 2, silent.chan), 0, "and only there");
}

/* It is waited for if it can heal: no release may follow it. */
static void test_healing_renewal(void)
{
	int64_t t = 1;
	struct ask silent = {0};

	hold(3, T, 1);
	while (silent.verb == VERB_NONE && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
			else
				silent = q[k];
	}
	ok(silent.seen > 0 && silent.confirm.until_ms > 0,
	   "a renewal that can heal");
	lease_release(&l, ms(t));
	asks(t);
	is_int(count(VERB_RELEASE, 2, -1), 0, "no release passes it");
	is_int(count(VERB_RELEASE, 0, -1), 1, "others are released at once");
}

/* Two of three grant, and one of them loses it. Returns the question that the
 * third one has not answered, and in *t when it is lost. */
static struct ask lost_by_two(int64_t *t)
{
	struct ask slow;

	begin(3, T, FOREVER);
	asks(0);
	slow = q[2];
	two_of_three();
	for (*t = 1; l.state == LEASE_HELD && *t >= 0;) {
		*t = next(*t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], q[k].node ? SAID_YES : SAID_NO,
				      100, *t);
	}
	is_int(l.state, LEASE_LOST, "lost");
	return slow;
}

/* One of three is slow: it grants after the hold was lost. */
static void test_granted_when_lost(void)
{
	int64_t t;
	struct ask slow = lost_by_two(&t);

	reply(&slow, SAID_GRANTED, 100, t + 1);
	lease_end(&l, HOW_RAN, ms(t + T));
	asks(t + T);
	is_int(count(VERB_RELEASE, 2, -1), 1,
	       "what was granted since is given back");
}

/* Lost before anything ran: a late answer to a question from before counts. */
static void test_again(void)
{
	int64_t t;
	struct ask slow, copy = begin_held_and_asked(&t, &slow);

	reply(&copy, SAID_NO, 105, t);
	is_int(l.state, LEASE_LOST, "lost");
	lease_again(&l, ms(t + 1));
	reply(&slow, SAID_GRANTED, 100, t + 1);
	ok(node_is_ours(&l.node[2]), "asked for again: a late grant counts");

	begin(3, T, FOREVER);
	l.conf.slots = 2;
	asks(0);
	slow = q[2];
	two_of_three();
	t = next(1);
	granted_by(&slow, 0, 1, t);
	for (int k = 0; k < n_q; k++)
		if (q[k].node < 2)
			reply(&q[k], SAID_NO, 100, t);
	is_int(l.state, LEASE_LOST, "lost, and the third gave another slot:");
	next(t);
	is_int(count(VERB_RELEASE, 2, -1), 1, "given back all the same");
}

/* A reader on two of three joins those on the third, which does not answer. */
static void test_joins_readers_unheard(bool broken)
{
	int64_t t = 1;
	struct ask joins = {0};
	struct answer granted = {.said = SAID_GRANTED, .counter = 100};

	begin(3, T, FOREVER);
	l.conf.shared = true;
	asks(0);
	broke(&q[2], false, 1);
	for (int i = 0; i < 2; i++)
		lease_answer(&l, &q[i], &granted, ms(1));
	lease_use(&l);
	while (joins.verb == VERB_NONE && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].verb == VERB_CONFIRM && q[k].node == 2)
				joins = q[k];
	}
	ok(joins.confirm.reads, "a reader joins the readers on a third node");
	if (broken)
		broke(&joins, true, t);
	lease_release(&l, ms(t + 1));
	asks(t + 1);
	is_int(count(VERB_RELEASE, 2, broken ? -1 : joins.chan), 1,
	       broken ? "released, though the connection broke"
		      : "the release follows right behind");
}

/* A reader was lost on the third node, and joins those who read there now. That
 * cannot set the lock again, so the release does not wait for it; it goes
 * behind the later of two. */
static void test_reader_again(void)
{
	int64_t t = 1;
	struct ask joins = {0};
	int copies = 0;

	begin(3, T, FOREVER);
	l.conf.shared = true;
	asks(0);
	for (int i = 0; i < 3; i++)
		reply(&q[i], SAID_GRANTED, 100, 1);
	lease_use(&l);
	t = next(1);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 2)
			lease_answer(&l, &q[k],
				     &(struct answer){.said = SAID_NO,
						      .counter = 100,
						      .confirm.pttl_ms = T},
				     ms(t));
	while (copies < 2 && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node < 2)
				reply(&q[k], SAID_YES, 100, t);
			else {
				joins = q[k];
				copies++;
			}
	}
	ok(joins.confirm.reads && joins.confirm.until_ms > 0 && joins.seen == 0,
	   "a reader joins the readers where it was lost");
	lease_release(&l, ms(t + 1));
	asks(t + 1);
	is_int(count(VERB_RELEASE, 2, joins.chan), 1,
	       "the release follows right behind");
}

/* Two clients met: each has slot 0 on one node and slot 1 on the other, and the
 * third node is down. */
static void meet(int64_t wait)
{
	begin(3, T, wait);
	l.conf.slots = 2;
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 1, 1);
	broke(&q[2], false, 1);
}

/* The other client gets slot 1. Then slot 0 is free, and must be asked for. */
static void test_slots_met(void)
{
	int64_t t = 1;
	bool any = false;

	meet(FOREVER);
	while (!any && (t = next(t)) >= 0 && t < KEEP + KEEP)
		for (int k = 0; k < n_q; k++)
			if (q[k].verb == VERB_RELEASE)
				reply(&q[k], SAID_YES, 101, t);
			else if (q[k].node == 2)
				broke(&q[k], false, t);
			else if ((any = q[k].acquire.only == 0))
				break;
			else if (q[k].node == 0)
				held_by(&q[k], 8, 600, 5, t);
			else
				granted_by(&q[k], 0, 1, t);
	ok(any, "in vain for one slot: any other will do");
	ok(t >= 0 && t < KEEP + KEEP, "as soon as the minority is given back");
}

/* One node grants a slot, and somebody has it when we ask again. */
static int64_t slot_in_vain(int slot, int node, int64_t t)
{
	for (int k = 0; k < n_q; k++)
		if (q[k].node == node)
			granted_by(&q[k], 0, slot, t);
		else
			held_by(&q[k], 8 + (unsigned int)k, 800, 5, t);
	t = next(t);
	is_int(n_q, 3, "all are asked");
	is_int(q[0].acquire.only, slot + 1, "for the slot that one granted");
	for (int k = 0; k < n_q; k++)
		held_by(&q[k], 8 + (unsigned int)k, 800, 5, t);
	is_int(l.only, 0, "it is taken: any slot will do");
	return t;
}

static void test_slots_taken(void)
{
	int64_t t, from;

	begin(3, T, FOREVER);
	l.conf.slots = 3;
	asks(0);
	from = slot_in_vain(2, 0, 1);
	t = next(from);
	ok(t <= from + 20, "soon");
	from = slot_in_vain(0, 1, t);
	ok(next(from) <= from + 40, "the lowest slot, too");
}

/* One node, which is to join us to an outer hold of half a second. */
static void begin_inside_one(void)
{
	struct lease_conf conf = {.nodes = 1,
				  .ttl_ms = T,
				  .node_timeout_ms = NODE_TIMEOUT,
				  .wait_ms = FOREVER,
				  .seed = 20,
				  .outer = {.token = "outer",
					    .fence = 50,
					    .ttl_ms = 500,
					    .here = true}};

	lease_init(&l, &conf, ms(0));
	asks(0);
	ok(q[0].joins, "one node is asked to join the outer hold");
}

static void test_joins_one(void)
{
	struct ask first, second;
	int64_t t;

	begin_inside_one();
	is_int(q[0].seen, 50, "data may be lost: it is told the outer fence");
	reply(&q[0], SAID_GUARDED, 60, 1);
	next(1);
	is_int(q[0].seen, 60, "later the counter that it told us");

	begin_inside_one();
	reply(&q[0], SAID_NO, 60, 1);
	is_int(asks(1), 1, "there is no outer hold: it is asked at once");
	ok(!q[0].joins, "for a hold of our own");

	begin_inside_one();
	reply(&q[0], SAID_VANISHED, 60, 1);
	is_int(next(1), 1 + 25, "it vanished: its holder may set it again");
	ok(q[0].joins, "and we join then");
	reply(&q[0], SAID_GRANTED, 60, 27);
	ok(l.state == LEASE_HELD && l.nest == NEST_JOINED, "as we do");
	lease_hurry(&l, -1, ms(T / 3));
	asks(T / 3);
	reply(&q[0], SAID_VANISHED, 60, T / 3);
	is_int(next(T / 3), T / 3 + 25, "it vanishes once more");
	ok(q[0].joins, "and its holder has as much time as before");

	begin_inside_one();
	for (t = 1; t >= 0 && t < 2000 && q[0].joins; t = next(t))
		reply(&q[0], SAID_VANISHED, 60, t);
	ok(t > 500 && t < 550,
	   "the outer holder has its lease's time for that");

	begin_inside_one();
	first = q[0];
	asks(NODE_TIMEOUT);
	t = next(NODE_TIMEOUT);
	second = q[0];
	ok(second.joins && second.seq != first.seq, "it is asked once more");
	reply(&first, SAID_NO, 60, t + 1);
	ok(!lease_joins(&l), "the first answer is no");
	reply(&second, SAID_GRANTED, 60, t + 2);
	ok(l.state == LEASE_HELD && l.nest == NEST_JOINED,
	   "the second one joins us all the same");

	begin_inside_one();
	l.conf.replicas = 1;
	first = q[0];
	asks(NODE_TIMEOUT);
	t = next(NODE_TIMEOUT);
	second = q[0];
	reply(&first, SAID_GRANTED, 60, t + 1);
	is_int(l.state, LEASE_REPLICATING, "the first one joins us");
	reply(&second, SAID_NO, 60, t + 2);
	ok(lease_joins(&l), "a no to its copy, late, asks for nothing else");
}

static void begin_inside(int64_t wait) /* a run that holds the lock */
{
	struct lease_conf conf = {.nodes = 3,
				  .ttl_ms = T,
				  .node_timeout_ms = NODE_TIMEOUT,
				  .wait_ms = wait,
				  .slots = 3,
				  .outer = {.token = "outer", .ttl_ms = T}};

	lease_init(&l, &conf, ms(0));
	is_int(asks(0), 3, "three are asked");
	for (int k = 0; k < 3; k++)
		ok(q[k].joins, "to join the hold of the run around us");
}

/* The outer hold is gone, and one node of three has granted us the lock. */
static void test_joins_in_vain(void)
{
	int64_t t = 2, rounds = 0, joined = 0;

	begin_inside(FOREVER);
	for (int k = 0; k < 3; k++)
		reply(&q[k], SAID_NO, 100, 1);
	is_int(asks(1), 3, "none has it: they are asked");
	for (int k = 0; k < 3; k++) {
		ok(!q[k].joins, "for a hold of our own");
		if (q[k].node == 0)
			granted_by(&q[k], 0, 1, 2);
		else
			held_by(&q[k], 8 + (unsigned int)k, 600, 5000, 2);
	}
	while ((t = next(t)) > 0 && !count(VERB_RELEASE, 0, -1) && rounds < 9) {
		for (int k = 0; k < n_q; k++) {
			joined += q[k].joins;
			if (q[k].node == 0)
				granted_by(&q[k], 0, 1, t + 1);
			else
				held_by(&q[k], 8, 600, 5000, t + 1);
		}
		rounds++;
	}
	ok(joined == 0 && rounds < 9,
	   "what one has granted is kept for a while");
	ok(t < KEEP + KEEP, "and given back");
	reply(&q[0], SAID_YES, 101, t);
	next(t);
	ok(n_q > 0 && q[0].joins, "then they are asked to join once more");
}

/* A node whose state began after the grant takes it for lost. Without waiting,
 * too, the last of the others tells that it has ended. */
static void test_joins_what_ended(void)
{
	begin_inside(0);
	reply(&q[2], SAID_VANISHED, 100, 1);
	reply(&q[0], SAID_NO, 100, 1);
	is_int(l.state, LEASE_ASKING, "two of three do not decide");
	reply(&q[1], SAID_NO, 100, 1);
	is_int(asks(1), 3, "it has ended: all are asked");
	ok(!q[0].joins, "for a hold of our own");

	/* that round has as much time as the nodes need */
	begin_inside(0);
	for (int k = 0; k < 3; k++)
		reply(&q[k], SAID_NO, 100, 200);
	is_int(asks(200), 3, "slow nodes: all are asked");
	asks(400);
	is_int(l.state, LEASE_ASKING, "and waited for");
}

/* One has it, one is down, and one answers when the round is over. */
static void test_joins_late(void)
{
	struct ask slow;
	int64_t t = 1, asked = 0;

	begin_inside(FOREVER);
	slow = q[1];
	granted_by(&q[0], 0, 0, 1);
	broke(&q[2], false, 1);
	for (; t < NODE_TIMEOUT + 500 && l.state != LEASE_HELD; t++) {
		asks(t);
		for (int k = 0; k < n_q; k++) {
			asked += q[k].verb == VERB_ACQUIRE;
			if (q[k].node == 0)
				granted_by(&q[k], 0, 0, t);
			else if (q[k].node == 2)
				broke(&q[k], false, t);
		}
		if (t == NODE_TIMEOUT + 50)
			granted_by(&slow, 0, 0, t);
	}
	ok(l.state == LEASE_HELD && l.nest == NEST_JOINED,
	   "a late answer makes it two");
	is_int(t, NODE_TIMEOUT + 50 + 1, "at once");
	ok(asked < 20, "and nobody is asked again and again");
}

/* A joined grant was kept for a moment when the others say that there is no
 * outer hold. */
static void test_joined_minority(void)
{
	int64_t t;

	begin_inside(FOREVER);
	granted_by(&q[0], 0, 0, 1);
	broke(&q[1], false, 1);
	broke(&q[2], false, 1);
	ok(l.keep_until.ms != NEVER.ms, "one of three is kept for a moment");
	t = next(1);
	for (int k = 0; k < n_q; k++)
		if (q[k].node > 0)
			reply(&q[k], SAID_NO, 100, t);
		else
			granted_by(&q[k], 0, 0, t);
	ok(!lease_joins(&l), "the others have no outer hold");
	is_int(l.keep_until.ms, NEVER.ms,
	       "what we get by ourselves has its own time");
}

/* Counters may differ where we join: the fence is that of the outer hold. */
static void test_joined_fence(void)
{
	begin_inside(FOREVER);
	l.conf.outer.fence = 50;
	reply(&q[0], SAID_VANISHED, 100, 1);
	reply(&q[1], SAID_GRANTED, 100, 2);
	is_int(between(ms(0), l.outer_by), 1 + T,
	       "one has it: its holder has no more time to set it again");
	reply(&q[2], SAID_GRANTED, 103, 3);
	ok(l.state == LEASE_HELD && l.fence == 50, "two: joined, by its fence");
}

/* One node said that the outer hold vanished, later that there is none. */
static void test_outer_ended(void)
{
	int64_t t;

	begin_inside(FOREVER);
	reply(&q[0], SAID_VANISHED, 100, 1);
	asks(NODE_TIMEOUT);
	is_int(l.state, LEASE_WAITING, "the others are silent");
	t = next(NODE_TIMEOUT);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 0)
			reply(&q[k], SAID_NO, 100, t);
	asks(t + NODE_TIMEOUT);
	ok(!lease_joins(&l), "nobody will set it again");
}

/* A copy of a question to join is granted when we ask for our own. */
static void test_joined_late(void)
{
	struct ask copy, own;
	int64_t t;

	begin_inside(FOREVER);
	copy = q[1];
	reply(&q[0], SAID_NO, 60, 1);
	reply(&q[2], SAID_NO, 60, 1);
	asks(1);
	ok(!lease_joins(&l), "we ask for our own");
	granted_by(&copy, 0, 0, 2);
	asks(2);
	is_int(count(VERB_RELEASE, 1, -1), 1, "what we joined is given back");

	/* or after our own was granted there */
	begin_inside(FOREVER);
	for (int k = 0; k < 3; k++)
		reply(&q[k], SAID_NO, 60, 1);
	asks(1);
	own = question_to(2);
	for (int k = 0; k < n_q; k++)
		if (q[k].node < 2)
			held_by(&q[k], 7, 600, 5000, 2);
	t = next(2);
	copy = question_to(2);
	ok(copy.joins, "asked to join once more");
	for (int k = 0; k < n_q; k++)
		if (q[k].node < 2)
			reply(&q[k], SAID_NO, 60, t + 1);
	granted_by(&own, 0, 0, t + 2);
	granted_by(&copy, 0, 0, t + 3);
	ok(node_is_ours(&l.node[2]), "a join beside our own changes nothing");

	begin_inside(FOREVER);
	copy = q[2];
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 0, 1);
	is_int(l.state, LEASE_HELD, "two of three: joined");
	reply(&copy, SAID_VANISHED, 60, 2);
	is_int(l.state, LEASE_HELD, "where it vanished does not matter");
}

/* ---- every reason to wait, and every end of it ---- */

/* What a node says, for as long as it is asked. */
static const struct reason {
	const char *name;
	enum said said; /* SAID_NO: it is down; SAID_HEALED: it is silent */
	int64_t pttl_ms;
	bool foreign;
	int64_t outer_ttl_ms; /* we are inside a hold of that lease; 0: no */
} reasons[] = {
	{"a holder that renews", SAID_BUSY, T, false, 0},
	{"another program's lock without an expiry", SAID_BUSY, -1, true, 0},
	{"data that were lost", SAID_LOSS, T, false, 0},
	{"a server that has just started", SAID_GUARDED, T, false, 0},
	{"an outer hold that vanished", SAID_VANISHED, 0, false, 3600000},
	{"an outer hold that vanished, with a short lease", SAID_VANISHED, 0,
	 false, 500},
	{"a server that is down", SAID_NO, 0, false, 0},
	{"a server that is silent", SAID_HEALED, 0, false, 0},
};

/* Asked and answered at t; those who are silent are not. */
static void refuse_all(const struct reason *why, int64_t t)
{
	for (asks(t); n_q > 0; asks(t))
		for (int k = 0; k < n_q; k++) {
			struct answer a = {.said = why->said,
					   .counter = 100,
					   .busy = {.pttl_ms = why->pttl_ms,
						    .holder = 8,
						    .foreign = why->foreign}};

			if (q[k].verb == VERB_RELEASE)
				a.said = SAID_NO;
			else if (why->said == SAID_VANISHED && !q[k].joins)
				a.said = SAID_BUSY;
			if (why->said == SAID_NO)
				broke(&q[k], false, t);
			else if (why->said != SAID_HEALED)
				lease_answer(&l, &q[k], &a, ms(t));
		}
}

/* Until it has stopped waiting, or `most`. */
static int64_t ends_at(const struct reason *why, int64_t t, int64_t most)
{
	refuse_all(why, t);
	while (t < most && l.state != LEASE_RELEASING &&
	       l.state != LEASE_OVER) {
		struct instant wake = lease_wake(&l);

		if (!before(ms(t), wake))
			return -1; /* it would spin */
		t = between(ms(0), wake);
		refuse_all(why, t);
	}
	return t;
}

static void begin_waiting(const struct reason *why, int nodes, int64_t wait)
{
	struct lease_conf conf = {.nodes = nodes,
				  .ttl_ms = T,
				  .node_timeout_ms = NODE_TIMEOUT,
				  .wait_ms = wait,
				  .guard_ms = nodes > 1 ? T : 0,
				  .seed = 20};

	if (why->outer_ttl_ms > 0)
		conf.outer = (struct lease_outer){.token = "outer",
						  .ttl_ms = why->outer_ttl_ms};
	lease_init(&l, &conf, ms(0));
}

/* One look more than -w is allowed: to an answer that is on its way, and the
 * first look has its full time. */
static void test_ends(void)
{
	static const struct {
		const char *name;
		int64_t wait, most;
	} ways[] = {{"-n", 0, NODE_TIMEOUT},
		    {"-w 300ms", 300, NODE_TIMEOUT},
		    {"-w 3s", 3000, 3000 + 100}};

	for (size_t r = 0; r < sizeof(reasons) / sizeof(reasons[0]); r++)
		for (int nodes = 1; nodes <= 3; nodes += 2) {
			const struct reason *why = &reasons[r];
			int64_t t;

			for (size_t w = 0; w < 3; w++) {
				begin_waiting(why, nodes, ways[w].wait);
				t = ends_at(why, 1, 60000);
				ok(t >= 0 && t <= ways[w].most,
				   "%s, %d nodes: %s ends the wait (%lld ms)",
				   why->name, nodes, ways[w].name,
				   (long long)t);
			}
			begin_waiting(why, nodes, FOREVER);
			if (ends_at(why, 1, 2000) < 2000)
				continue; /* it gives up by itself */
			lease_release(&l, ms(2500));
			ok(l.state == LEASE_RELEASING || l.state == LEASE_OVER,
			   "%s, %d nodes: TERM ends the wait", why->name,
			   nodes);
			t = ends_at(why, 2500, 2500);
			while (l.state != LEASE_OVER && t < 5000)
				refuse_all(why, ++t);
			ok(t <= 2500 + 1000 + 1, "and it is over soon");
		}
}

/* The only one that has the outer hold tells that its holder is to stop. */
static void test_joins_a_stop(void)
{
	struct answer joined = {.said = SAID_GRANTED,
				.counter = 100,
				.stops = true,
				.stop_ms = 1000};

	begin_inside(FOREVER);
	lease_answer(&l, &q[0], &joined, ms(1));
	reply(&q[1], SAID_NO, 100, 1);
	reply(&q[2], SAID_NO, 100, 1);
	asks(1);
	for (int k = 0; k < n_q; k++)
		if (q[k].verb == VERB_ACQUIRE && !q[k].joins)
			granted_by(&q[k], 0, 0, 2);
	ok(l.state == LEASE_HELD && l.nest != NEST_JOINED,
	   "it gets a hold of its own");
	is_int(l.stop_by.ms, NEVER.ms, "which nobody has asked to stop");
}

/* One of three does not answer whether we join there, and the others say no. */
static void test_join_unheard(bool broken)
{
	struct ask join;

	begin_inside(FOREVER);
	join = q[2];
	reply(&q[0], SAID_NO, 60, 1);
	reply(&q[1], SAID_NO, 60, 1);
	asks(2);
	granted_by(&q[0], 0, 0, 3);
	granted_by(&q[1], 0, 0, 3);
	ok(l.state == LEASE_HELD && l.nest != NEST_JOINED, "a hold of our own");
	lease_use(&l);
	if (broken)
		broke(&join, true, 3);
	lease_end(&l, HOW_RAN, ms(4));
	asks(4);
	is_int(count(VERB_RELEASE, 2, -1), 1, "the third hears of the end");
	ok(q[n_q - 1].node == 2 && q[n_q - 1].joins,
	   "and that we may have joined there");
}

/* The other way round: a grant of our own comes after we have joined. */
static void test_own_grant_late(void)
{
	const struct answer no = {.said = SAID_NO, .counter = 60};
	struct ask own = {0}, join = {0};
	int64_t t = 2;

	begin_inside(FOREVER);
	for (int k = 0; k < 3; k++)
		lease_answer(&l, &q[k], &no, ms(1));
	asks(2);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 2)
			own = q[k];
		else
			held_by(&q[k], 7, 600, 5000, 3);
	ok(own.verb == VERB_ACQUIRE && !own.joins, "asked for our own");
	while (l.state != LEASE_HELD && t >= 0) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node == 2)
				join = q[k];
			else if (q[k].joins)
				granted_by(&q[k], 0, 0, t);
	}
	ok(l.nest == NEST_JOINED, "joined");
	lease_use(&l);
	granted_by(&own, 0, 0, t + 1);
	lease_answer(&l, &join, &no, ms(t + 1));
	lease_end(&l, HOW_RAN, ms(t + 2));
	asks(t + 2);
	is_int(count(VERB_RELEASE, 2, -1), 1, "our own is given back");
}

/* Three nodes of five granted different slots: one is kept, and all nodes are
 * asked for that one, so that their answers tell who else has it. */
static void test_slots_narrow(void)
{
	int64_t t = 1;

	begin(5, T, FOREVER);
	l.conf.slots = 4;
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 2, 1);
	granted_by(&q[2], 0, 3, 1);
	held_by(&q[3], 8, 600, 5, 1);
	held_by(&q[4], 8, 600, 5, 1);
	next(1);
	is_int(count(VERB_RELEASE, 0, -1) + count(VERB_RELEASE, 1, -1), 2,
	       "the lower ones are given back");
	is_int(n_q, 2, "nobody is asked yet");
	reply(&q[0], SAID_YES, 101, 2);
	is_int(next(2), 1 + 50, "nor when one of them has answered");
	is_int(n_q, 5, "but after a moment, all");
	for (int k = 0; k < n_q; k++)
		is_int(q[k].acquire.only, 1 + 3, "for the slot that is kept");
	t = 52;
	for (int k = 0; k < n_q; k++)
		granted_by(&q[k], 0, q[k].node == 0 ? 1 : 3, t);
	is_int(l.state, LEASE_HELD, "a quorum: held");
}

/* One that needs longer than a round does not make us wait longer than that. */
static void test_slots_slow(void)
{
	begin(5, T, FOREVER);
	l.conf.slots = 4;
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	l.node[0].link.srtt_ms = 4000;
	granted_by(&q[1], 0, 2, 1);
	granted_by(&q[2], 0, 3, 1);
	held_by(&q[3], 8, 600, 5, 1);
	held_by(&q[4], 8, 600, 5, 1);
	next(1);
	is_int(next(2), 1 + NODE_TIMEOUT,
	       "a slow node is not waited for longer than a round lasts");
}

/* A node that had put us in line gave us another slot meanwhile. */
static void test_slots_handed(void)
{
	int64_t t;

	begin(5, T, FOREVER);
	l.conf.slots = 4;
	asks(0);
	granted_by(&q[0], 0, 1, 1);
	for (int k = 1; k < 5; k++)
		held_by(&q[k], 8 + (unsigned int)k, 800, 5, 1);
	t = next(1);
	is_int(n_q, 5, "all are asked for the slot that one has granted");
	for (int k = 0; k < n_q; k++) {
		is_int(q[k].acquire.only, 1 + 1, "for that one alone");
		if (q[k].node < 2)
			granted_by(&q[k], 0, q[k].node == 0 ? 1 : 3, t + 1);
		else
			held_by(&q[k], 8 + (unsigned int)k, 800, 5, t + 1);
	}
	next(t + 1);
	is_int(count(VERB_RELEASE, 1, -1), 1, "another one is given back");
	is_int(count(VERB_RELEASE, 0, -1), 0, "and that one kept");
	reply(&q[0], SAID_YES, 101, t + 2);
	is_int(next(t + 2), t + 1 + 50, "after a moment all are asked");
}

/* What was given back is owed until a node has answered. */
static void test_slots_left(void)
{
	int nodes = 0;

	meet(0);
	is_int(l.state, LEASE_RELEASING, "one try: no slot");
	asks(1);
	for (int k = 0; k < n_q; k++)
		nodes |= q[k].verb == VERB_RELEASE ? 1 << q[k].node : 0;
	ok((nodes & 3) == 3, "both grants are given back");
}

/* Two names of one server count once, also when that shows late: a name may
 * lead elsewhere on a second connection. */
static void test_twins(void)
{
	struct ask first = {0};
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	granted_by(&q[0], 11, 0, 1);
	granted_by(&q[2], 11, 0, 1);
	is_int(l.end, END_REFUSED, "one server twice: refused");
	ok(l.refusal == FAIL_CONFIG && l.twin[0] == 0 && l.twin[1] == 2,
	   "and which ones is known");

	begin(3, T, FOREVER);
	asks(0);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 2)
			first = q[k];
	t = next(0);
	is_int(n_q, 3, "nobody answers: each is asked once more");
	for (int k = 0; k < 3; k++)
		granted_by(&q[k], 11 * (1 + (uint64_t)q[k].node), 0, t + 1);
	is_int(l.state, LEASE_HELD, "three servers: held");
	lease_use(&l);
	granted_by(&first, 11, 0, t + 2);
	is_int(l.state, LEASE_HELD, "one turns out to be another's twin");
	ok(l.twin[0] == 0 && l.twin[1] == 2, "which is reported");
	t = next(t + 2);
	for (int k = 0; k < n_q; k++)
		if (q[k].node == 1)
			reply(&q[k], SAID_NO, 105, t + 1);
	is_int(l.state, LEASE_LOST, "and counts no more: one server is left");

	begin(3, T, FOREVER);
	asks(0);
	granted_by(&q[2], 11, 0, 1);
	granted_by(&q[1], 11, 0, 1);
	ok(l.twin[0] == 1 && l.twin[1] == 2, "they are told in order");
}

/* --max-renewals: from when something runs. */
static void test_max_leases(void)
{
	int64_t t = 0;

	begin(1, T, FOREVER);
	l.conf.max_leases = 3;
	for (int i = 0; i < 4; i++) {
		t = next(t);
		reply(&q[0], SAID_GRANTED, 100, t + 1);
	}
	ok(!lease_spent(&l), "granted again before anything runs: not counted");
	lease_use(&l);
	ok(!lease_spent(&l), "nor afterwards");
	for (int i = 0; i < 2; i++) {
		t = next(t);
		is_int(count(VERB_CONFIRM, 0, -1), 1, "from then on: renewed");
		reply(&q[0], SAID_YES, 100, t + 1);
	}
	ok(lease_spent(&l), "three leases are over");
	is_int(next(t + 1), -1, "no more renewals");
	is_int(l.state, LEASE_HELD, "it is held to the end");

	begin(1, T, FOREVER);
	l.conf.max_leases = 1;
	next(0);
	reply(&q[0], SAID_GRANTED, 100, 1);
	lease_use(&l);
	is_int(next(1), -1, "one lease: it is not renewed at all");
}

/* Node 1 says that it is gone, the others renew, until a question repairs:
 * that is left in q[0]. Returns which of the others were asked after that. */
static int until_repaired(int64_t *t, int64_t counter, bool taken)
{
	int64_t found = INT64_MAX;
	int asked = 0;

	for (int i = 0; i < 12; i++) {
		*t = next(*t);
		for (int k = 0; k < n_q; k++) {
			if (q[k].confirm.repairs) {
				q[0] = q[k];
				return asked;
			}
			if (q[k].node != 1) {
				asked |= *t > found ? 1 << q[k].node : 0;
				reply(&q[k], SAID_YES, 100, *t);
				continue;
			}
			if (found == INT64_MAX)
				found = *t;
			lease_answer(&l, &q[k],
				     &(struct answer){.said = SAID_NO,
						      .counter = counter,
						      .confirm.pttl_ms = taken},
				     ms(*t));
		}
	}
	return -1;
}

static void test_repair(void)
{
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	for (int k = 0; k < 3; k++)
		lease_answer(&l, &q[k],
			     &(struct answer){.said = SAID_GRANTED,
					      .counter = 100,
					      .at_ms = 5000},
			     ms(1));
	lease_use(&l);
	t = next(1);
	is_int(q[0].confirm.until_ms, 5000 + T,
	       "a vanished lock is set again until it would have ended there");
	l.node[1].grant.state = GRANT_NONE;
	is_int(until_repaired(&t, 107, false), 1 << 0 | 1 << 2,
	       "gone on one node: set again once a quorum was renewed after");
	ok(t < T / 3, "at once, and not with the next renewal");
	is_int(q[0].seen, 107, "by the counter that was found");
	lease_answer(&l, &q[0],
		     &(struct answer){.said = SAID_HEALED, .counter = 108},
		     ms(t));
	ok(node_is_ours(&l.node[1]) && l.state == LEASE_HELD,
	   "and is ours there again");

	hold(3, T, 1);
	l.node[1].grant.state = GRANT_NONE;
	t = 1;
	is_int(until_repaired(&t, 107, true), -1,
	       "not where somebody else has it");

	begin(1, T, FOREVER);
	asks(0);
	granted_by(&q[0], 0, 0, 1);
	lease_use(&l);
	next(1);
	ok(q[0].verb == VERB_CONFIRM && q[0].confirm.until_ms == 0,
	   "a server that does not tell its time sets nothing again");
}

/* We wait on three nodes, and start when two have handed us the lock. The
 * release is late on the third one: its grant would end after 2 s. */
static void test_handed_late(void)
{
	const struct answer held = {
		.said = SAID_BUSY,
		.counter = 99,
		.busy = {.pttl_ms = T, .ticket = 77, .place = 1, .holder = 5}};
	int64_t t = 1;
	int asked = 0;

	begin(3, T, FOREVER);
	asks(0);
	for (int i = 0; i < 3; i++)
		lease_answer(&l, &q[i], &held, ms(1));
	while (l.state != LEASE_HELD && t < T) {
		t = next(t);
		for (int i = 0; i < n_q; i++)
			if (q[i].verb == VERB_ACQUIRE && q[i].node < 2)
				reply(&q[i], SAID_GRANTED, 100, t);
			else if (q[i].verb == VERB_ACQUIRE)
				lease_answer(&l, &q[i], &held, ms(t));
	}
	is_int(l.state, LEASE_HELD, "two of three hand it over");
	lease_use(&l);
	for (int64_t from = t; t <= from + 2100; t++) {
		asks(t);
		for (int i = 0; i < n_q; i++)
			if (q[i].verb == VERB_CONFIRM && q[i].node == 2) {
				asked++;
				reply(&q[i], SAID_NO, 99, t);
			}
	}
	is_int(asked, 3,
	       "the third is asked at once, after 1 s, and after 2 s");
}

/* The same, but the third one has granted it, and the answer is late. */
static void test_granted_late_in_line(void)
{
	struct ask slow;
	int64_t t;

	begin(3, T, FOREVER);
	asks(0);
	for (int k = 0; k < 3; k++)
		in_line(&q[k], 700, 1);
	t = next(1);
	slow = question_to(2);
	for (int k = 0; k < n_q; k++)
		if (q[k].node < 2)
			reply(&q[k], SAID_GRANTED, 100, t);
	lease_use(&l);
	asks(t);
	reply(&slow, SAID_GRANTED, 100, t + 10);
	is_int(next(t + 10), t + 10, "the third is renewed at once");
	is_int(count(VERB_CONFIRM, 2, -1), 1, "it may forget the claim");
}

static void test_down(void)
{
	static const struct {
		int nodes, down;
		bool held;
	} rows[] = {{3, 1, true},
		    {3, 2, false},
		    {5, 1, true},
		    {5, 2, true},
		    {5, 3, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = rows[i].nodes;

		begin(n, T, FOREVER);
		asks(0);
		for (int k = 0; k < n; k++)
			if (k < rows[i].down)
				broke(&q[k], false, 1);
			else
				reply(&q[k], SAID_GRANTED, 100, 2);
		is_int(l.state == LEASE_HELD, rows[i].held, "%d of %d down: %s",
		       rows[i].down, n,
		       rows[i].held ? "does not matter" : "too many");
		if (rows[i].held)
			is_int(credited_at(), 0, "the others' stamps count");
	}
	hold(3, T, 1);
	for (int64_t t = 1; t >= 0 && t < INT64_C(10) * T;) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node == 1)
				broke(&q[k], false, t + 1);
			else
				reply(&q[k], SAID_YES, 100, t + 1);
		t++;
	}
	ok(l.state == LEASE_HELD && credited_at() > 10 * T - T / 5,
	   "one that goes down under the lease does not matter");
}

/* Node 0 is renewed first, node 1 a retry later, and so on; then how the stamp
 * of the whole has moved. */
static int64_t staggered(int nodes, int renewed)
{
	int64_t t = 1;

	hold(nodes, T, 1);
	for (int i = 0; i < renewed; i++) {
		t = next(t);
		for (int k = 0; k < n_q; k++)
			if (q[k].node == i)
				reply(&q[k], SAID_YES, 100, t);
			else
				broke(&q[k], true, t);
	}
	return credited_at();
}

static void test_qth(void)
{
	static const struct {
		int nodes, renewed;
		int64_t credited_at;
	} rows[] = {{3, 0, 0}, {3, 1, 0},    {3, 2, 5000}, {3, 3, 6000},
		    {5, 2, 0}, {5, 3, 5000}, {5, 4, 6000}, {5, 5, 7000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(staggered(rows[i].nodes, rows[i].renewed),
		       rows[i].credited_at,
		       "%d nodes, %d renewed one by one: the q-th newest "
		       "stamp counts",
		       rows[i].nodes, rows[i].renewed);
}

/* ---- what is not there yet ---- */

/* A renewal's answer is waited for before it is repeated, also when another
 * connection has been silent for longer. */
static void test_hasty(void)
{
	int hasty;

	(void)in_a_minute(true, false, false, &hasty);
	is_int(hasty, 0,
	       "one connection stuck: no renewal goes out twice "
	       "at once");
}

/* A node that accepts and never answers must not prolong the wait. */
static void test_frozen(void)
{
	static const struct {
		int64_t wait, end;
	} rows[] = {{1500, 1500}, {FOREVER, 5000}};

	for (int i = 0; i < 2; i++) {
		int64_t t = 0;

		begin(1, T, rows[i].wait);
		while (l.end == END_NONE && t >= 0)
			t = next(t + 1);
		ok(t >= 0 && l.end == END_UNAVAILABLE &&
			   t <= rows[i].end + LAST_LOOK_MS,
		   "frozen from the start: given up after %" PRId64 " ms",
		   rows[i].end);
		printf("# after %" PRId64 " ms\n", t);
	}
}

/* ---- replicas ---- */

static void begin_with_replicas(int replicas)
{
	begin(1, T, FOREVER);
	l.conf.replicas = replicas;
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 5);
}

static void test_replicas(void)
{
	struct ask first[2], copy;
	int64_t t;

	begin_with_replicas(2);
	is_int(asks(5), 1, "after the grant there is one more question");
	is_int(q[0].verb, VERB_REPLICATE, "how many replicas have it");
	is_int(q[0].listen_ms, NODE_TIMEOUT, "the server is to wait so long");
	is_int(q[0].chan, 0, "on the connection that granted it");
	is_int(l.state, LEASE_REPLICATING, "until then it is not held");
	is_int(asks(900), 0, "and is not asked on another connection");
	reply(&q[0], SAID_YES, 2, 950);
	is_int(l.state, LEASE_HELD, "two of two: held");
	is_int(credited_at(), 0, "from before the grant was asked for");
	is_int(l.node[0].link.srtt_ms, 5, "that wait is no round trip");
	is_int(l.fence, 100, "under its fence");

	begin_with_replicas(2);
	asks(5);
	reply(&q[0], SAID_YES, 1, 1005);
	is_int(l.end, END_REFUSED, "one of two: given back, and over");
	is_int(l.refusal, FAIL_UNAVAILABLE, "for want of servers");
	asks(1005);
	is_int(count(VERB_RELEASE, 0, -1), 1, "the lock is released");

	begin_with_replicas(1);
	asks(5);
	broke(&q[0], true, 50);
	is_int(l.state, LEASE_WAITING, "a broken connection: another round");
	is_int(next(50) >= 0 && q[0].verb == VERB_ACQUIRE, 1,
	       "which asks for the lock again");
	reply(&q[0], SAID_GRANTED, 100, 400);
	asks(400);
	is_int(q[0].verb, VERB_REPLICATE, "and then for the replicas");

	begin(3, T, FOREVER);
	l.conf.replicas = 1;
	asks(0);
	for (int k = 0; k < 2; k++)
		first[k] = q[k];
	t = next(0);
	copy = question_to(0);
	for (int k = 0; k < 2; k++)
		reply(&first[k], SAID_GRANTED, 100, t + 1);
	is_int(asks(t + 1), 2,
	       "two of three granted, and are asked for replicas");
	first[0] = question_to(0);
	reply(&first[0], SAID_YES, 1, t + 2);
	reply(&copy, SAID_GRANTED, 100, t + 3);
	is_int(asks(t + 3), 0, "each once, though one grants once more");

	/* only the slot that we hold is to have replicas */
	begin(3, T, FOREVER);
	l.conf.replicas = 1;
	l.conf.slots = 2;
	asks(0);
	copy = q[2];
	granted_by(&q[0], 0, 0, 1);
	granted_by(&q[1], 0, 0, 1);
	asks(1);
	granted_by(&copy, 0, 1, 2);
	asks(2);
	is_int(count(VERB_REPLICATE, 2, -1), 0, "not for another slot");
	is_int(count(VERB_RELEASE, 2, -1), 1, "which is given back");

	begin_inside(FOREVER);
	l.conf.replicas = l.conf.slots = 1;
	copy = q[1];
	granted_by(&q[0], 0, 2, 1);
	granted_by(&q[2], 0, 1, 1);
	granted_by(&copy, 0, 2, 2);
	is_int(l.state, LEASE_REPLICATING, "two have joined us in one slot");
	asks(2);
	is_int(count(VERB_REPLICATE, 2, -1), 0, "and the third in another");

	begin(1, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_GRANTED, 100, 5);
	asks(5);
	is_int(count(VERB_REPLICATE, 0, -1), 0,
	       "without the option nobody is asked");
}

/* ---- a node that is one of several servers ---- */

static void test_may_move(void)
{
	struct ask first, second;

	begin(1, T, 0);
	l.conf.may_move = true;
	asks(0);
	first = q[0];
	is_int(asks(NODE_TIMEOUT / 4 - 1), 0,
	       "one silent server is waited for");
	is_int(asks(NODE_TIMEOUT / 4), 1, "but not for long: another is asked");
	second = q[0];
	is_int(second.chan != first.chan, 1, "on the other connection");
	broke(&first, false, 300);
	is_int(l.state, LEASE_ASKING, "the first breaks: the other may answer");
	reply(&second, SAID_GRANTED, 100, 400);
	is_int(l.state, LEASE_HELD, "and does");

	begin(1, T, 0);
	asks(0);
	is_int(asks(NODE_TIMEOUT - 1), 0, "a lone server has its time");
}

static void test_unsent(void)
{
	begin(1, T, 0);
	asks(0);
	asks(NODE_TIMEOUT);
	is_int(l.state, LEASE_RELEASING, "one try, and nobody answered");
	lease_unsent(&l, 0, 0);
	lease_unsent(&l, 0, 1);
	is_int(asks(NODE_TIMEOUT), 0, "what never left need not be given back");
	is_int(l.state, LEASE_OVER, "and that is the end");

	begin(1, T, FOREVER);
	asks(0);
	reply(&q[0], SAID_BUSY, 100, 5);
	lease_release(&l, ms(10));
	lease_unsent(&l, 0, 0);
	asks(10);
	is_int(count(VERB_RELEASE, 0, -1), 1,
	       "a waiter in line leaves it nevertheless");
}

/* ---- the timing rule ---- */

static void test_timing(void)
{
	static const struct {
		int64_t ttl, renew, hand_over, start, term, kill, dead;
	} rows[] = {
		{200, 33, 29, 66, 130, 160, 164},
		{3000, 500, 450, 1000, 1950, 2400, 2460},
		{30000, 5000, 4500, 10000, 19500, 24000, 24600},
		{86400000, 5000, 4500, 28800000, 56160000, 69120000, 70848000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ttl = rows[i].ttl;

		printf("# T %" PRId64 "\n", ttl);
		is_int(between(ms(0), timing_renew(ms(0), ttl)), rows[i].renew,
		       "renewed at T/6, or 5 s");
		is_int(between(ms(0), timing_hand_over(ms(0), ttl)),
		       rows[i].hand_over, "somebody is ready a tenth before");
		is_int(between(ms(0), timing_start(ms(0), ttl)), rows[i].start,
		       "started before T/3");
		is_int(between(ms(0),
			       timing_term(ms(0), ttl, timing_grace(ttl))),
		       rows[i].term, "asked to end at 0.65 T");
		is_int(between(ms(0), timing_kill(ms(0), ttl)), rows[i].kill,
		       "killed at 0.80 T");
		is_int(between(ms(0), timing_dead(ms(0), ttl)), rows[i].dead,
		       "by the kernel at 0.82 T");
	}
	is_int(timing_outage(3000), 1450, "survived: 0.65 T less a period");
	is_int(timing_outage(86400000), 56155000, "also of a long lease");
	is_int(timing_mute(200), 1000, "mute: five times the time-out");
	is_int(timing_last(30000), 600, "the last moment: 0.02 T");
}

int main(void)
{
	(void)alarm(20); /* a broken machine may ask for ever */
	TEST(first);
	TEST(stamp);
	TEST(repeat);
	TEST(refresh);
	TEST(guard);
	TEST(longest);
	TEST(renew);
	TEST(stop);
	TEST(late_renewal);
	TEST(retry);
	TEST(hedge);
	TEST(overtaken);
	TEST(storm);
	TEST(hurry);
	TEST(one_try);
	TEST(wait);
	TEST(unreachable);
	TEST(listening);
	TEST(woken);
	TEST(no_blpop);
	TEST(turned_away);
	TEST(older);
	TEST(label);
	TEST(unaware);
	TEST(slots_apart);
	TEST(lost);
	TEST(lost_and_told);
	TEST(heal);
	TEST(refused);
	TEST(step);
	TEST(release);
	TEST(release_behind);
	TEST(release_unsure);
	TEST(release_unanswered);
	TEST(late_grant);
	TEST(inherit);
	TEST(go_on);
	TEST(inherit_late);
	TEST(fast);
	TEST(claim);
	TEST(minority);
	TEST(minority_in_line);
	TEST(minority_asked_twice);
	TEST(copy_given_back);
	TEST(silent_listener);
	TEST(granted_twice);
	TEST(minority_given_back);
	TEST(stand_back);
	TEST(taken_since);
	TEST(slots);
	TEST(number);
	TEST(given_back_lost);
	TEST(late_yes);
	TEST(acquire_given_up);
	TEST(silent_renewal);
	TEST(healing_renewal);
	TEST(granted_when_lost);
	TEST(again);
	TEST(joins_readers_unheard, false);
	TEST(joins_readers_unheard, true);
	TEST(reader_again);
	TEST(slots_met);
	TEST(slots_taken);
	TEST(joins_one);
	TEST(joins_in_vain);
	TEST(ends);
	TEST(joins_what_ended);
	TEST(joins_late);
	TEST(joined_minority);
	TEST(joined_fence);
	TEST(outer_ended);
	TEST(joined_late);
	TEST(joins_a_stop);
	TEST(join_unheard, false);
	TEST(join_unheard, true);
	TEST(own_grant_late);
	TEST(slots_narrow);
	TEST(slots_slow);
	TEST(slots_handed);
	TEST(slots_left);
	TEST(twins);
	TEST(max_leases);
	TEST(repair);
	TEST(handed_late);
	TEST(granted_late_in_line);
	TEST(down);
	TEST(qth);
	TEST(hasty);
	TEST(frozen);
	TEST(replaces);
	TEST(replicas);
	TEST(may_move);
	TEST(unsent);
	TEST(timing);
	return done();
}
