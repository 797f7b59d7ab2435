/* SPDX-License-Identifier: MIT */
/*
 * The scripts in a real Cluster, with a client that only asks: names of keys, a
 * slot that is on the move, a Cluster that is down.
 *
 *   slots TEST SOCKET SOCKET SOCKET REPLICA    TEST: names, move, down
 *
 * The sockets are those of the primaries, which must be empty: they are
 * flushed; and of the replica of who has the key "job".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../unit/tap.h"
#include "cluster.h"
#include "lock/wire/keys.h"
#include "people.h"
#include "server.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- names ---- */

static bool in_one_slot(void)
{
	char text[64];
	int keys = cluster_count(owner), all = 0;

	for (int i = 0; i < PRIMARIES; i++)
		all += cluster_count(i);
	(void)snprintf(text, sizeof(text), "CLUSTER COUNTKEYSINSLOT %d",
		       key_slot(key, strlen(key)));
	return keys == all && cluster_say(owner, text) == all;
}

static void plain(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, BUSY);
	CHECK(B->a.busy.place == 1);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, CONFIRM, YES);
	CHECK(A->a.confirm.joined);
	ASKS(C, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
	CHECK(in_one_slot());
	ASKS(A, RELEASE, YES);
	CHECK(A->a.handed_ms > 0);
	ASKS(B, LISTEN, WOKEN);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(B->fence > A->fence);
	ASKS(B, CONFIRM, YES);
	ASKS(B, RELEASE, YES);
}

static void readers(void)
{
	person_is(C, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(A->group > 0 && B->group == A->group);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
	CHECK(in_one_slot());
	ASKS(C, ACQUIRE, BUSY);
	ASKS(B, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
}

static void slots(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(A->slot == 0 && B->slot == 1);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(B, CONFIRM, YES);
	CHECK(in_one_slot());
	ASKS(B, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	CHECK(C->slot == 1);
	ASKS(A, RELEASE, YES);
	ASKS(C, RELEASE, YES);
}

/* Two slots are free at once. C wants the second one, and is served first; D,
 * whose lock has one slot, is handed the first one by the same script. */
static void two_at_once(void)
{
	person_is(D, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(D, ACQUIRE, BUSY);
	(void)cluster_say(owner, "DEL job job:redlock:{job}:slot:1");
	C->only = 1 + 1;
	ASKS(C, ACQUIRE, GRANTED);
	CHECK(C->slot == 1);
	ASKS(D, LISTEN, WOKEN);
	ASKS(D, ACQUIRE, GRANTED);
	CHECK(C->fence != D->fence);
	CHECK(C->fence > B->fence && D->fence > B->fence);
	ASKS(C, RELEASE, YES);
	ASKS(D, RELEASE, YES);
}

/* Its lease ended before the release came, and the renewal comes last. */
static void late_renewal(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	(void)cluster_say(owner, "DEL job");
	ASKS(A, RELEASE, NO);
	ASKS(A, CONFIRM, NO);
	CHECK(A->a.confirm.unlocked);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
}

/* The time for which the lock was to stand is over. */
static void over(const char *value)
{
	char text[80];

	ASKS(D, ACQUIRE, BUSY);
	(void)snprintf(text, sizeof(text),
		       "DEL job job:redlock:{job}:sharers:%s", value);
	(void)cluster_say(owner, text);
}

/* A reader has left, the others have not. */
static void late_renewal_of_reader_who_left(void)
{
	int64_t seen;

	person_is(D, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, CONFIRM, YES);
	seen = B->counter;
	ASKS(B, RELEASE, YES);
	B->counter = seen; /* the renewal was sent before */
	ASKS(B, CONFIRM, NO);
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
	ASKS(D, ACQUIRE, GRANTED);
	ASKS(D, RELEASE, YES);
}

/* A nested run has left, and the hold around it goes on, or is lost. */
static void late_renewal_of_nested_in(bool lost)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
	if (lost)
		(void)cluster_say(owner, "DEL job");
	ASKS(C, CONFIRM, NO);
	if (!lost) {
		ASKS(A, CONFIRM, YES);
		ASKS(A, RELEASE, YES);
	}
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
}

static void late_renewal_of_nested(void)
{
	late_renewal_of_nested_in(false);
}
static void late_renewal_of_nested_lost(void)
{
	late_renewal_of_nested_in(true);
}

/* The run around it has ended; the nested run has not. */
static void late_renewal_of_outer_who_left(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, RELEASE, YES);
	ASKS(A, CONFIRM, NO);
	ASKS(C, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
}

/* One reader has ended and keeps the lock for its --min-hold, when the lock is
 * lost: the other one, which still runs, sets it again. */
static void heals_beside_rest(void)
{
	struct lease_conf long_one = {
		.slots = 1, .shared = true, .min_hold_ms = 10L * T};

	person_is(C, long_one);
	person_is(D, one);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
	(void)cluster_say(owner, "DEL job");
	ASKS(B, CONFIRM, HEALED);
	ASKS(B, RELEASE, YES);
}

/* The run inside it was the last to leave, and had left the lock standing for
 * the rest of its --min-hold. */
static void late_renewal_of_outer(void)
{
	struct lease_conf inside;

	ASKS(A, ACQUIRE, GRANTED);
	inside = person_inside(A);
	inside.min_hold_ms = T;
	person_is(C, inside);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, RELEASE, YES);
	ASKS(C, RELEASE, YES);
	over(A->token);
	ASKS(A, CONFIRM, NO);
	ASKS(D, ACQUIRE, GRANTED);
	ASKS(D, RELEASE, YES);
}

/* The other way round: who had not asked for that is the last to leave. */
static void late_renewal_of_reader(void)
{
	struct lease_conf long_one = {
		.slots = 1, .shared = true, .min_hold_ms = T};
	char value[32];
	int64_t seen;

	person_is(C, long_one);
	person_is(D, one);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
	ASKS(B, CONFIRM, YES);
	seen = B->counter;
	ASKS(B, RELEASE, YES);
	B->counter = seen; /* the renewal was sent before */
	(void)snprintf(value, sizeof(value), "shared:%" PRId64, B->group);
	over(value);
	ASKS(B, CONFIRM, NO);
	ASKS(D, ACQUIRE, GRANTED);
	ASKS(D, RELEASE, YES);
}

/* A is handed the lock, and renews it at once, as on a node that was late. Then
 * a release arrives that A sent before it asked again. */
static void late_release_of_handed(void)
{
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(A, ACQUIRE, BUSY);
	ASKS(B, RELEASE, YES);
	A->number = 2;
	ASKS(A, CONFIRM, YES);
	A->number = 1;
	ASKS(A, RELEASE, NO);
	A->number = 2;
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
}

/* A renews what it was granted, and then a release arrives that A sent in
 * between; and an older renewal does not make it count. */
static void late_release_of_renewed(void)
{
	A->number = 1;
	ASKS(A, ACQUIRE, GRANTED);
	A->number = 4;
	ASKS(A, CONFIRM, YES);
	A->number = 2;
	ASKS(A, CONFIRM, YES);
	A->number = 3;
	ASKS(A, RELEASE, NO);
	A->number = 5;
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
}

/* A run inside A's command sets the lock on a node that A gave back. The
 * release comes late, and then A asks again: the end of the run is not the end
 * of A. `lost`: keys that the server loses in between. */
static void late_release_then(const char *lost)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, RELEASE, YES);
	A->number = 2;
	(void)cluster_say(owner, lost);
	ASKS(A, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
}

static void late_release_beside_nested(void)
{
	late_release_then("DEL job:redlock:{job}:grant:tok-0");
}

/* The record is lost, and its number with it. */
static void late_release_and_lost_record(void)
{
	late_release_then("DEL job:redlock:{job}:grant:tok-0 "
			  "job:redlock:{job}:state");
}

/* As a run inside A's command would do, which knows no number of A. */
static void set_by_nested(void)
{
	static const char *const text[] = {"HSET", "job:redlock:{job}:state",
					   "holder",
					   "token tok-0\nttl 20000\n"
					   "since 1\n"};
	struct words request = {0}, reply;

	(void)cluster_say(owner, "SET job tok-0 PX 20000");
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		words_add_text(&request, text[i]);
	CHECK(cluster_ask(owner, &request, &reply));
}

/* A waits because of a late question, and then a run inside its command sets
 * the lock again. When A gives it up, it must not go to A. */
static void released_to_next(void)
{
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(A, ACQUIRE, BUSY);
	ASKS(C, ACQUIRE, BUSY);
	set_by_nested();
	A->unaware = true;
	ASKS(A, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
}

/* The same, but A asks again first, which takes it out of the line. */
static void late_line_of_holder(void)
{
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(A, ACQUIRE, BUSY);
	set_by_nested();
	ASKS(A, CONFIRM, YES);
	A->number = 2;
	ASKS(A, CONFIRM, YES);
	CHECK(cluster_say(owner, "ZCARD job:redlock:{job}:queue") == 0);
	ASKS(A, RELEASE, YES);
}

/* The server loses who has joined A: their lock outlasts A all the same. */
static void loses_nested(const char *keys)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, CONFIRM, YES);
	CHECK(A->a.confirm.joined);
	(void)cluster_say(owner, keys);
	ASKS(A, RELEASE, YES);
	ASKS(B, ACQUIRE, BUSY);
	ASKS(C, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
}

static void loses_set_of_nested(void)
{
	loses_nested("DEL job:redlock:{job}:sharers:tok-0");
}

static void loses_nested_and_record(void)
{
	loses_nested("DEL job:redlock:{job}:sharers:tok-0 "
		     "job:redlock:{job}:state");
}

static void loses_nested_before_another(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	person_is(D, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	(void)cluster_say(owner, "DEL job:redlock:{job}:sharers:tok-0");
	ASKS(D, ACQUIRE, GRANTED);
	ASKS(D, RELEASE, YES);
	ASKS(A, RELEASE, YES);
	ASKS(B, ACQUIRE, BUSY);
}

/* It comes back without those who joined last. One of them renews. */
static void loses_last_nested(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	person_is(D, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(D, ACQUIRE, GRANTED);
	(void)cluster_say(owner, "ZREMRANGEBYSCORE "
				 "job:redlock:{job}:sharers:tok-0 (0 +inf");
	ASKS(C, CONFIRM, YES);
	ASKS(C, RELEASE, YES);
	ASKS(A, RELEASE, YES);
	ASKS(B, ACQUIRE, BUSY);
}

/* Who comes, and goes before the others renew, does not free their lock. */
static void loses_readers(void)
{
	char text[80];

	person_is(C, one);
	ASKS(A, ACQUIRE, GRANTED);
	(void)snprintf(text, sizeof(text),
		       "DEL job:redlock:{job}:sharers:shared:%" PRId64,
		       A->group);
	CHECK(cluster_say(owner, text) == 1);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(A, CONFIRM, YES);
	ASKS(A, RELEASE, YES);
}

/* Who has ended is not lost: then A's lock is free at once. */
static void outlives_nested(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
	ASKS(A, CONFIRM, YES);
	CHECK(!A->a.confirm.joined);
	ASKS(A, RELEASE, YES);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
}

/* The hold was ended by `redlock unlock`, and then a late copy of its first
 * question is granted the lock: its holder, which may run still, must hear. */
static void late_acquire_of_unlocked(void)
{
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(A, RELEASE, YES);
	(void)cluster_say(owner,
			  "RPUSH job:redlock:{job}:grant:tok-0 unlocked");
	A->counter = A->ticket = 0;
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(A, CONFIRM, NO);
	CHECK(A->a.confirm.unlocked);
	ASKS(A, RELEASE, YES);
}

/* The server loses the lock and the counter. A, who is handed it then, gives it
 * back to nobody before anything has run. B is the next one, and must hear of
 * the loss, too: the last holder may run still. */
static void told_of_old_loss(void)
{
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(A, ACQUIRE, BUSY);
	ASKS(B, ACQUIRE, BUSY);
	(void)cluster_say(owner, "DEL job job:redlock:{job}:state");
	ASKS(D, ACQUIRE, BUSY);
	ASKS(A, ACQUIRE, GRANTED);
	CHECK(A->a.lost);
	A->fence = 0;
	A->withheld = true;
	ASKS(A, RELEASE, YES);
	ASKS(D, ACQUIRE, BUSY);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(B->a.lost);
	ASKS(B, RELEASE, YES);
	ASKS(D, ACQUIRE, GRANTED);
	CHECK(!D->a.lost);
	ASKS(D, RELEASE, YES);
}

/* What comes late, or twice: each begins with empty servers. */
static const struct {
	const char *what;
	void (*play)(void);
	struct lease_conf conf;
} late[] = {
	{"two that are handed out by one script have two fences",
	 two_at_once,
	 {.slots = 2}},
	{"a renewal after the release does not set the lock again",
	 late_renewal,
	 {.slots = 1}},
	{"nor does it bring back a reader",
	 late_renewal_of_reader_who_left,
	 {.slots = 1, .shared = true}},
	{"nor a nested run", late_renewal_of_nested, {.slots = 1}},
	{"nor the lock that was lost since",
	 late_renewal_of_nested_lost,
	 {.slots = 1}},
	{"nor who left a nested run behind",
	 late_renewal_of_outer_who_left,
	 {.slots = 1}},
	{"nor after the rest of a nested run's --min-hold",
	 late_renewal_of_outer,
	 {.slots = 1}},
	{"nor after that of a reader",
	 late_renewal_of_reader,
	 {.slots = 1, .shared = true}},
	{"a late release does not end a hold that was handed over",
	 late_release_of_handed,
	 {.slots = 1}},
	{"nor one that was renewed", late_release_of_renewed, {.slots = 1}},
	{"nor that of a reader",
	 late_release_of_renewed,
	 {.slots = 1, .shared = true}},
	{"nor one of several slots", late_release_of_renewed, {.slots = 3}},
	{"nor does it let a nested run end it",
	 late_release_beside_nested,
	 {.slots = 1}},
	{"who gives the lock up is not handed it",
	 released_to_next,
	 {.slots = 1}},
	{"nor does it stay in line once it has asked again",
	 late_line_of_holder,
	 {.slots = 1}},
	{"nor does a nested run end the hold if the record is lost",
	 late_release_and_lost_record,
	 {.slots = 1}},
	{"nested runs whose set is lost outlast the outer one",
	 loses_set_of_nested,
	 {.slots = 1}},
	{"so they do if the record is lost as well",
	 loses_nested_and_record,
	 {.slots = 1}},
	{"or if another one has joined since",
	 loses_nested_before_another,
	 {.slots = 1}},
	{"or if those who joined last are lost, and one of them has renewed",
	 loses_last_nested,
	 {.slots = 1}},
	{"but not if they have ended", outlives_nested, {.slots = 1}},
	{"readers whose set is lost outlast one who came since",
	 loses_readers,
	 {.slots = 1, .shared = true}},
	{"who was unlocked hears of it, also if a late question took it again",
	 late_acquire_of_unlocked,
	 {.slots = 1}},
	{"a loss is told until somebody has held the lock since",
	 told_of_old_loss,
	 {.slots = 1}},
	{"who runs on beside that sets the lock again",
	 heals_beside_rest,
	 {.slots = 1, .shared = true}},
};

static void test_names(void)
{
	char name[4] = "";
	int keys = 0;

	all_good = true;
	for (int len = 1; len <= 3; len++)
		for (int code = 0; code < 1 << (2 * len); code++, keys++) {
			for (int i = 0; i < len; i++)
				name[i] = "{}ab"[code >> (2 * i) & 3];
			people_begin(name, one);
			plain();
			people_begin(name, (struct lease_conf){.slots = 1,
							       .shared = true});
			readers();
			people_begin(name, (struct lease_conf){.slots = 2});
			slots();
		}
	ok(all_good, "with each of %d keys all scripts run, in one slot", keys);
	is_int(keys, 84, "so many are the keys of up to 3 letters of 4");
	for (size_t i = 0; i < COUNT(late); i++) {
		all_good = true;
		people_begin("job", late[i].conf);
		late[i].play();
		ok(all_good, "%s", late[i].what);
	}
}

/* ---- a slot on the move ---- */

static struct move move;

/* A slot is moved once, and always away from the same node: how soon the nodes
 * agree on more than that is not what is tested. */
static void start(struct lease_conf conf)
{
	static char name[16];
	static int number;

	do
		(void)snprintf(name, sizeof(name), "job%d", ++number);
	while (cluster_owner(name, strlen(name)) != 0);
	people_begin(name, conf);
}

static void on_the_move(void)
{
	cluster_begin(&move, key, strlen(key));
}

static void carry(const char *part)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "%s:redlock:{%s}:%s", key, key,
		       part);
	cluster_carry(&move, name);
}

/* What a script needs in any case. */
static void carry_lock(void)
{
	cluster_carry(&move, key);
	carry("state");
}

static void has_moved(void)
{
	cluster_carry_all(&move);
	cluster_end(&move);
	owner = move.to;
}

static long lease_left(int node)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "PTTL %s", key);
	return cluster_say(node, text);
}

static void lease_is(int node, int ms)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "PEXPIRE %s %d", key, ms);
	(void)cluster_say(node, text);
}

/* The slot stands still with all keys where they were. */
static void stuck(void)
{
	int64_t seen;

	start(one);
	ASKS(A, ACQUIRE, GRANTED);
	on_the_move();
	lease_is(move.from, 5000);
	ASKS(A, CONFIRM, YES);
	CHECK(lease_left(move.from) > 15000);
	seen = A->counter;
	ASKS(A, ACQUIRE, GRANTED); /* as if the answer had been lost */
	CHECK(A->fence > seen); /* it might be that of another slot's by now */
	CHECK(lease_left(move.from) > 15000);
	ASKS(B, ACQUIRE, BUSY);
	CHECK(B->a.busy.place == 0 && B->ticket == 0);
	seen = A->counter;
	ASKS(A, RELEASE, YES);
	CHECK(cluster_count(move.from) == 1 && cluster_count(move.to) == 0);
	ASKS(B, ACQUIRE, LATER);
	ASKS(A, CONFIRM, LATER);
	has_moved();
	A->counter = seen; /* one that comes late does not heal */
	ASKS(A, CONFIRM, NO);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(B->fence > A->fence);
	ASKS(B, RELEASE, YES);
}

/* Where the line is, the lock is handed over. */
static void handed_over(void)
{
	start(one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, BUSY);
	ASKS(C, ACQUIRE, BUSY);
	on_the_move();
	ASKS(C, ACQUIRE, BUSY);
	CHECK(C->a.busy.place == 0);
	ASKS(A, RELEASE, YES);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(B->fence > A->fence);
	ASKS(B, CONFIRM, YES);
	has_moved();
	ASKS(C, ACQUIRE, BUSY);
	CHECK(C->a.busy.place == 1);
	ASKS(B, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	CHECK(C->fence > B->fence);
	ASKS(C, RELEASE, YES);
}

/* The lock is at the new node already, the line is not. */
static void ahead_of_the_line(void)
{
	start(one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, BUSY);
	on_the_move();
	cluster_carry(&move, key);
	ASKS(A, CONFIRM, LATER);
	ASKS(A, RELEASE, LATER);
	carry("state");
	lease_is(move.to, 5000);
	ASKS(A, CONFIRM, YES);
	CHECK(lease_left(move.to) > 15000);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(A, RELEASE, YES);
	CHECK(A->a.handed_ms == 0 && cluster_count(move.to) == 1);
	ASKS(B, ACQUIRE, LATER);
	has_moved();
	ASKS(C, ACQUIRE, BUSY); /* B came before */
	ASKS(B, LISTEN, WOKEN);
	ASKS(B, ACQUIRE, GRANTED);
	CHECK(B->fence > A->fence);
	ASKS(B, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
}

/* Whom others have joined does not forget them, wherever they are. */
static void nested(void)
{
	start(one);
	ASKS(A, ACQUIRE, GRANTED);
	person_is(C, person_inside(A));
	ASKS(C, ACQUIRE, GRANTED);
	on_the_move();
	ASKS(A, CONFIRM, YES);
	CHECK(A->a.confirm.joined);
	ASKS(C, CONFIRM, YES);
	person_is(D, person_inside(A));
	ASKS(D, ACQUIRE, GRANTED);
	carry("sharers:tok-0");
	lease_is(move.from, 60000);
	ASKS(A, CONFIRM, YES);
	CHECK(A->a.confirm.joined && lease_left(move.from) > 55000);
	ASKS(C, CONFIRM, LATER);
	ASKS(A, RELEASE, LATER);
	CHECK(lease_left(move.from) > 0);
	carry_lock();
	ASKS(C, CONFIRM, YES);
	ASKS(D, RELEASE, YES);
	ASKS(A, RELEASE, YES);
	CHECK(lease_left(move.to) > 0);
	ASKS(B, ACQUIRE, BUSY);
	has_moved();
	ASKS(C, RELEASE, YES);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(B, RELEASE, YES);
}

static void moving_readers(void)
{
	start((struct lease_conf){.slots = 1, .shared = true});
	person_is(C, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(C, ACQUIRE, BUSY);
	on_the_move();
	ASKS(A, CONFIRM, YES);
	ASKS(D, ACQUIRE, BUSY);
	ASKS(A, RELEASE, YES);
	carry_lock();
	ASKS(B, CONFIRM, LATER);
	ASKS(B, RELEASE, LATER);
	has_moved();
	ASKS(B, CONFIRM, YES);
	ASKS(B, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	CHECK(C->fence > A->fence && C->fence > B->fence);
	ASKS(C, RELEASE, YES);
}

static void last_reader(void)
{
	int64_t seen;

	start((struct lease_conf){.slots = 1, .shared = true});
	person_is(C, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	on_the_move();
	ASKS(A, RELEASE, YES);
	seen = B->counter;
	ASKS(B, RELEASE, YES);
	CHECK(cluster_count(move.from) == 1); /* the state */
	has_moved();
	B->counter = seen;
	ASKS(B, CONFIRM, NO);
	ASKS(C, ACQUIRE, GRANTED);
	CHECK(C->fence > A->fence && C->fence > B->fence);
	ASKS(C, RELEASE, YES);
}

/* One slot of two is at the new node, and with it one who waits for the other.
 */
static void moving_slots(void)
{
	start((struct lease_conf){.slots = 2});
	person_is(C, one);
	ASKS(A, ACQUIRE, GRANTED);
	ASKS(B, ACQUIRE, GRANTED);
	ASKS(C, ACQUIRE, BUSY);
	on_the_move();
	ASKS(A, CONFIRM, YES);
	ASKS(B, CONFIRM, YES);
	ASKS(D, ACQUIRE, BUSY);
	carry("slot:1");
	carry("state");
	ASKS(A, CONFIRM, LATER);
	ASKS(B, CONFIRM, YES);
	carry("queue");
	ASKS(B, RELEASE, YES);
	has_moved();
	ASKS(A, CONFIRM, YES);
	ASKS(C, ACQUIRE, BUSY);
	ASKS(A, RELEASE, YES);
	ASKS(C, LISTEN, WOKEN);
	ASKS(C, ACQUIRE, GRANTED);
	ASKS(C, RELEASE, YES);
}

static void test_move(void)
{
	static const struct {
		void (*run)(void);
		const char *name;
	} tests[] = {
		{stuck, "a plain lock is renewed and released in a slot that "
			"stands still on the move"},
		{handed_over, "and handed over, if the line is there"},
		{ahead_of_the_line, "a lock that moved before its line is "
				    "freed, and the line keeps its order"},
		{nested, "who has joined is not forgotten"},
		{moving_readers, "readers are renewed where they all are, and "
				 "wait where they are not"},
		{last_reader, "the last reader frees it, and does not heal it"},
		{moving_slots, "a slot is not taken twice when another is on "
			       "the other node"},
	};

	for (size_t i = 0; i < COUNT(tests); i++) {
		all_good = true;
		tests[i].run();
		ok(all_good, "%s", tests[i].name);
	}
}

/* ---- who does not serve, or not any more ---- */

/* Every script fails before it writes, with an error that is worth another try
 * and has this in it. */
static void refuses(const char *text)
{
	static const enum verb verbs[] = {VERB_ACQUIRE, VERB_CONFIRM,
					  VERB_RELEASE};

	for (size_t i = 0; i < 2 * COUNT(verbs); i++) {
		struct person *p = i % 2 ? A : B;

		/* B has nothing to write on these */
		if (p == B && verbs[i / 2] != VERB_ACQUIRE)
			continue;
		person_asks(p, verbs[i / 2], SAID_LATER, text);
		if (!strstr(p->error, text))
			people_check(false, p->error);
	}
}

static void cluster_down(const char *reads, const char *text)
{
	int slot = cluster_slot(owner, key_slot(key, strlen(key)));
	char line[64];

	(void)snprintf(line, sizeof(line),
		       "CONFIG SET cluster-allow-reads-when-down %s", reads);
	(void)cluster_say(owner, line);
	(void)snprintf(line, sizeof(line), "CLUSTER DELSLOTS %d", slot);
	(void)cluster_say(owner, line);
	refuses(text);
	(void)snprintf(line, sizeof(line), "CLUSTER ADDSLOTS %d", slot);
	(void)cluster_say(owner, line);
	(void)cluster_say(owner, "CONFIG SET cluster-allow-reads-when-down no");
	cluster_wait(owner);
}

static void replica(void)
{
	(void)cluster_say(owner, "WAIT 1 5000");
	owner = PRIMARIES;
	(void)cluster_say(owner, "READONLY");
	refuses("READONLY");
	(void)cluster_say(owner, "READWRITE");
	ASKS(A, CONFIRM, YES); /* it says where */
	owner = cluster_owner(key, strlen(key));
}

static void test_down(void)
{
	int64_t counter;

	people_begin("job", one);
	all_good = true;
	ASKS(A, ACQUIRE, GRANTED);
	counter = A->counter;
	cluster_down("no", "CLUSTERDOWN");
	ok(all_good, "a Cluster that is down is asked again");
	all_good = true;
	cluster_down("yes", "the cluster is down");
	ok(all_good, "one that is down, and lets read, too");
	all_good = true;
	replica();
	ok(all_good, "a replica is no place to write, and says who is");
	all_good = true;
	ASKS(A, CONFIRM, YES);
	CHECK(A->a.counter == counter);
	CHECK(cluster_count(owner) == 2);
	ASKS(A, RELEASE, YES);
	ok(all_good, "and nothing has changed");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {{"names", test_names},
		     {"move", test_move},
		     {"down", test_down}};

	if (argc != 3 + PRIMARIES)
		bail("usage: slots TEST SOCKET SOCKET SOCKET REPLICA");
	cluster_dial(argv + 2);
	for (size_t i = 0; i < COUNT(tests); i++)
		if (strcmp(argv[1], tests[i].name) == 0)
			tests[i].run();
	cluster_flush();
	server_hang_up();
	people_end();
	return done();
}
