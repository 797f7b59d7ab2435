/* SPDX-License-Identifier: MIT */
/* What several nodes tell of the holds of a lock, put together; and in which
 * row and lane of the picture each is. */
#include "lock/wire/history.h"

#include <stdlib.h>

#include "cli/history/history.h"
#include "tap.h"

#define NOW 1000000

/* ---- what a node says ---- */

#define ENTRIES_MAX 150
#define WORDS_OF 24

static struct reply items[ENTRIES_MAX + 3], pairs[ENTRIES_MAX][2],
	fields[ENTRIES_MAX][WORDS_OF];
static char numbers[ENTRIES_MAX][WORDS_OF][24];
static size_t said;

static struct reply text(const char *bytes)
{
	return (struct reply){
		.kind = REPLY_TEXT, .bytes = bytes, .len = strlen(bytes)};
}

static void add(const char *name, struct reply value)
{
	struct reply *list = &pairs[said - 1][1];

	fields[said - 1][list->items++] = text(name);
	fields[said - 1][list->items++] = value;
}

static void add_number(const char *name, int64_t n)
{
	char *at = numbers[said - 1][pairs[said - 1][1].items];

	(void)snprintf(at, 24, "%" PRId64, n);
	add(name, text(at));
}

/* A hold of this host, in s from 0 on. */
static void hold(const char *token, const char *host, int waited, int since,
		 int held, const char *outcome)
{
	pairs[said][0] = text("1");
	pairs[said][1] = (struct reply){
		.kind = REPLY_LIST, .bytes = "", .item = fields[said]};
	items[said + 3] = (struct reply){.kind = REPLY_LIST,
					 .bytes = "",
					 .item = pairs[said],
					 .items = 2};
	said++;
	add("token", text(token));
	add("host", text(host));
	add_number("since", since * INT64_C(1000));
	add_number("waited_ms", waited * INT64_C(1000));
	add_number("held_ms", held * INT64_C(1000));
	add("outcome", text(outcome));
}

static int tell(struct history *h, int node)
{
	const struct reply all = {.kind = REPLY_LIST,
				  .bytes = "",
				  .item = items,
				  .items = said + 3};
	struct fail why;

	items[0] = text("history");
	items[1] = text("1000000");
	items[2] = text("");
	said = 0;
	return history_add(h, &all, node, &why);
}

/* ---- what comes of it ---- */

static void test_merge(void)
{
	struct history h = {0};
	char ending[ENDING_SIZE];

	hold("b", "web1", 0, 20, 5, "ran");
	/* it was frozen, and told late */
	hold("a", "web1", 1, 14, 5, "failed");
	add_number("exit", 3);
	is_int(tell(&h, 0), 0, "the answer of one node is read");
	hold("a", "web1", 1, 10, 5, "failed");
	add_number("exit", 3);
	hold("c", "web2", 0, 15, 1, "lost");
	add_number("signal", 9);
	is_int(tell(&h, 2), 0, "the answer of another node is read");
	hold("c", "web2", 0, 15, 3, "forced");
	add("by", text("ann on desk4"));
	(void)tell(&h, 1);
	history_finish(&h, 0);
	is_int(h.holds, 3, "a hold on both nodes is there once");
	is_int(h.answers, 7, "every node that answered is noted");
	is_int(h.now_ms, NOW, "the server's time is read");
	is_text(h.hold[0].token, "a", "the oldest hold comes first");
	is_int(h.hold[0].since_ms, 10000, "the earliest time is the right one");
	is_int(h.hold[0].ended_ms, 15000,
	       "the end is its start plus its length");
	is_text(hold_ending(&h.hold[0], ending), "failed (exit 3)",
		"the outcome is read");
	is_text(h.hold[1].outcome, "forced",
		"forced on one node counts as forced");
	is_text(hold_ending(&h.hold[1], ending),
		"forced (signal 9) by ann on desk4",
		"the one that forced it is read");
	is_text(h.hold[2].token, "b", "the latest hold comes last");
	history_close(&h);
	is_int(h.holds, 0, "after closing it is empty");
}

static void test_within(void)
{
	struct history h = {0};

	hold("old", "web1", 0, 1, 1, "ran");
	hold("long", "web1", 0, 1, 995, "ran");
	hold("new", "web1", 0, 998, 1, "ran");
	(void)tell(&h, 0);
	history_finish(&h, 5000);
	is_int(h.holds, 2, "--since compares the end of a hold");
	is_text(h.hold[0].token, "long", "--since does not compare its start");
	history_finish(&h, 1);
	is_int(h.holds, 0, "no hold may be left");
	history_close(&h);
}

static void test_most(void)
{
	static char names[ENTRIES_MAX][8];
	struct history h = {0};

	for (int node = 0; node < 2; node++) {
		for (int i = 0; i < HISTORY_MAX; i++) {
			(void)snprintf(names[i], sizeof(names[i]), "%d.%d",
				       node, i);
			hold(names[i], "web1", 0, 1 + 2 * i + node, 1, "ran");
		}
		(void)tell(&h, node);
	}
	history_finish(&h, 0);
	is_int(h.holds, HISTORY_MAX, "at most a hundred holds are kept");
	is_int(h.hold[HISTORY_MAX - 1].since_ms, 200000,
	       "the latest holds are kept");
	history_close(&h);
	for (int i = 0; i < ENTRIES_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d", i);
		hold(names[i], "web1", 0, i, 1, "ran");
	}
	(void)tell(&h, 0);
	is_int(h.holds, HISTORY_MAX,
	       "a longer answer is cut to a hundred holds");
	history_close(&h);
}

/* Anybody may write to the stream. */
static void test_odd(void)
{
	const struct reply no = text("no");
	struct history h = {0};
	struct fail why;

	is_int(history_add(&h, &no, 0, &why), -1,
	       "another kind of answer is not a history");
	is_int(h.answers, 0, "such a node does not count as answered");
	hold("", "web1", 0, 1, 1, "ran");
	hold("t", "a\x1b[1m", 0, 1, 1, "ran");
	add_number("since", INT64_MAX / 2);
	add_number("held_ms", INT64_MAX / 2);
	add_number("waited_ms", INT64_MAX / 2);
	add("fence", text("x"));
	add("exit", text("-1"));
	(void)tell(&h, 0);
	history_finish(&h, 0);
	is_int(h.holds, 1, "an entry without a token is not a hold");
	ok(h.hold[0].ended_ms < INT64_MAX / 4, "an extreme time is limited");
	ok(h.hold[0].waited_ms <= h.hold[0].since_ms,
	   "an extreme length is limited");
	is_int(h.hold[0].fence, 0, "a malformed number counts as 0");
	is_int(h.hold[0].status, -1, "a malformed status counts as unknown");
	is_text(h.hold[0].about[ABOUT_HOST], "a\\x1b[1m",
		"control bytes are escaped");
	history_close(&h);
}

/* ---- rows and lanes ---- */

static void is_in_lane(const struct lanes *l, int i, int host, int lane)
{
	is_int(l->at[i].host, host, "hold %d is in the row of its host", i);
	is_int(l->at[i].lane, lane, "hold %d is in the lane %d", i, lane);
}

static void test_lanes(void)
{
	static struct lanes l;
	struct history h = {0};

	hold("a", "web1", 0, 10, 10, "ran");
	hold("b", "web2", 5, 20, 10, "ran"); /* elsewhere */
	hold("c", "web1", 8, 30, 10, "ran"); /* came when a had ended */
	hold("d", "web1", 5, 40, 10, "ran"); /* came while c held */
	hold("e", "web1", 0, 45, 0, "ran");  /* a slot: beside d */
	hold("f", "", 0, 50, 1, "ran");
	(void)tell(&h, 0);
	history_finish(&h, 0);
	lanes_fill(&l, &h, 500);
	is_int(l.hosts, 3, "each host has a row");
	is_text(l.host[2].name, "(anonymous)", "also a holder without a name");
	is_in_lane(&l, 0, 0, 0);
	is_in_lane(&l, 1, 1, 0);
	is_in_lane(&l, 2, 0, 0);
	is_in_lane(&l, 3, 0, 1);
	is_in_lane(&l, 4, 0, 0);
	is_in_lane(&l, 5, 2, 0);
	is_int(l.rows, 4, "the lanes of all hosts are counted");
	history_close(&h);
}

/* Bars are beside one another; waits are only while that takes few lanes. */
static void test_many_lanes(void)
{
	static struct lanes waiting, holding;
	static char names[ENTRIES_MAX][8];
	struct history h = {0};

	for (int i = 0; i < HISTORY_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d", i);
		hold(names[i], "web1", 2 * i, 1000 + 2 * i, 1, "ran");
	}
	(void)tell(&h, 0);
	history_finish(&h, 0);
	lanes_fill(&waiting, &h, 10);
	ok(waiting.rows > 1 && waiting.rows <= 5,
	   "a hundred holds one after the other have few lanes: %d",
	   waiting.rows);
	history_close(&h);
	for (int i = 0; i < HISTORY_MAX; i++)
		hold(names[i], "web1", 0, 1000, 1, "ran");
	(void)tell(&h, 0);
	history_finish(&h, 0);
	lanes_fill(&holding, &h, 10);
	is_int(holding.rows, LANES_MAX,
	       "a hundred holds at a time have the "
	       "most lanes");
	history_close(&h);
}

int main(void)
{
	TEST(merge);
	TEST(within);
	TEST(most);
	TEST(odd);
	TEST(lanes);
	TEST(many_lanes);
	return done();
}
