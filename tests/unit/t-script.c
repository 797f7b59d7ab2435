/* SPDX-License-Identifier: MIT */
/* Questions as requests, replies as answers. */
#include "lock/wire/answer.h"
#include "lock/wire/request.h"

#include <limits.h>
#include <stdlib.h>

#include "base/units.h"
#include "lock/wire/admin.h"
#include "lock/wire/history.h"
#include "lock/core/timing.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TOKEN "0b9e6c8a-6f1e-4c57-9a3b-1d2c3e4f5a6b"
#define FORM_MAX 18

static const struct holder who = {{[ABOUT_HOST] = "web1",
				   [ABOUT_PID] = "42",
				   [ABOUT_USER] = "me",
				   [ABOUT_COMMAND] = "backup.sh",
				   [ABOUT_REASON] = "",
				   [ABOUT_CI] = NULL}};

#define ABOUT "host web1\npid 42\nuser me\ncommand backup.sh\n"

#define OUTER "3f1c2d4e-0000-4111-8222-333344445555"
#define STANDS "1500 1 -\n" ABOUT

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): texts of several lines */

/* What must stand behind the keys. (In columns, twenty words are no easier to
 * compare.) */
/* clang-format off */
static const struct {
	enum verb verb;
	int db;
	struct lease_conf conf;
	struct ask ask;
	const char *args[23]; /* "1" behind the token: it is plain */
} requests[] = {
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1},
	 {.seq = 3, .fence = 7, .seen = 8, .longest_ms = 1500},
	 {TOKEN, "3", "8", "1500", "1", STANDS, "1", "1500", "0", "-1", "", "0",
	  "0", "0", "-1", "0", "-1", "-1", "0", "-1", "", "0"}},
	{VERB_ACQUIRE,
	 5,
	 {.nodes = 3,
	  .once_ms = 1,
	  .revision = 9007199254740992,
	  .guard_ms = 30000,
	  .ticket = 77},
	 {.seq = 4,
	  .fence = 7,
	  .guard_ms = 30000,
	  .longest_ms = 9000,
	  .acquire =
		  {.ticket = -1, .looks = true, .newcomer = true, .only = 3}},
	 {TOKEN, "4", "0", "9000", "0", "1500 1 -\nticket 77\n" ABOUT, "0",
	  "1500", "-1", "-1", "", "0", "0", "1", "9007199254740991", "1", "2",
	  "30000", "1", "-1", "", "5"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .shared = true, .slots = 1},
	 {.acquire.ticket = 1700000000123456, .slot = 3},
	 {TOKEN, "0", "0", "0", "1", "1500 1 r\n" ABOUT, "0", "1500",
	  "1700000000123456", "-1", "", "0", "0", "0", "-1", "0", "-1", "-1",
	  "0", "-1", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .revision = 1},
	 {.seq = 3},
	 {TOKEN, "3", "0", "0", "1", STANDS, "0", "1500", "0", "-1", "", "0",
	  "0", "0", "0", "0", "-1", "-1", "0", "-1", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .slots = 3, .supersede = true},
	 {.acquire.ticket = 1},
	 {TOKEN, "0", "0", "0", "1", "1500 3 s\n" ABOUT, "0", "1500", "1", "-1",
	  "", "0", "0", "0", "-1", "0", "-1", "-1", "0", "-1", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .high = true},
	 {.seq = 3},
	 {TOKEN, "3", "0", "0", "1", "1500 1 p\n" ABOUT, "1", "1500", "0", "-1",
	  "", "0", "0", "0", "-1", "0", "-1", "-1", "0", "-1", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 3, .high = true, .shared = true, .ticket = 77},
	 {.acquire = {.ticket = 77, .newcomer = true}},
	 {TOKEN, "0", "0", "0", "0", "1500 1 rp\nticket 77\n" ABOUT, "0",
	  "1500", "77", "-1", "", "0", "0", "0", "-1", "1", "-1", "0", "0",
	  "-1", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .supersede = true, .replaces = true, .replace_ms = 9000},
	 {.acquire = {.ticket = 1, .replaces = true}},
	 {TOKEN, "0", "0", "0", "1", "1500 1 s\n" ABOUT, "0", "1500", "1", "-1",
	  "", "0", "0", "0", "-1", "0", "-1", "-1", "0", "9000", "", "0"}},
	{VERB_ACQUIRE,
	 2,
	 {.nodes = 1, .outer = {OUTER, 2, 17, 7, 1500, true}},
	 {.joins = true, .seen = 7},
	 {TOKEN, "0", "7", "0", "1", STANDS, "0", "1500", "0", "-1", OUTER, "2",
	  "7", "0", "-1", "0", "-1", "-1", "0", "-1", "", "2"}},
	{VERB_CONFIRM,
	 0,
	 {.nodes = 1},
	 {.seq = 5, .fence = 7, .seen = 8},
	 {TOKEN, "5", "8", "0", "1", STANDS, "1", "1500", TOKEN, "0", "7", "0",
	  "0", "0", "0"}},
	{VERB_CONFIRM,
	 1000000,
	 {.nodes = 5, .shared = true, .guard_ms = 9},
	 {.fence = 9007199254740993,
	  .confirm = {.until_ms = 8, .repairs = true},
	  .guard_ms = 9,
	  .longest_ms = 30000},
	 {TOKEN, "0", "0", "30000", "0", "1500 1 r\nticket 0\n" ABOUT, "0",
	  "1500", "shared:", "0", "9007199254740993", "8", "1", "9",
	  "1000000"}},
	{VERB_CONFIRM,
	 0,
	 {.nodes = 3, .shared = true},
	 {.confirm = {.reads = true}},
	 {TOKEN, "0", "0", "0", "0", "1500 1 r\nticket 0\n" ABOUT, "0", "1500",
	  "shared:", "0", "0", "0", "2", "0", "0"}},
	{VERB_CONFIRM,
	 0,
	 {.nodes = 1, .outer = {OUTER, 0, 0, 7, 1500, false}},
	 {.joins = true, .fence = 7, .slot = 4},
	 {TOKEN, "0", "0", "0", "1", STANDS, "0", "1500", OUTER, "4", "7", "0",
	  "0", "0", "0"}},
	/* a reader in a run that writes is in the family of that run */
	{VERB_CONFIRM,
	 0,
	 {.nodes = 1, .shared = true, .outer = {OUTER, 0, 0, 7, 1500, false}},
	 {.joins = true, .fence = 7},
	 {TOKEN, "0", "0", "0", "1", "1500 1 r\n" ABOUT, "0", "1500", OUTER, "0",
	  "7", "0", "0", "0", "0"}},
	{VERB_CONFIRM,
	 0,
	 {.nodes = 1, .outer = {OUTER, 0, 17, 7, 1500, false}},
	 {.joins = true, .fence = 7},
	 {TOKEN, "0", "0", "0", "1", STANDS, "0", "1500", "shared:", "0", "7",
	  "0", "0", "0", "0"}},
	{VERB_RELEASE,
	 0,
	 {.nodes = 1},
	 {.seq = 6, .fence = 7, .seen = 8, .release = {.ran = true}},
	 {TOKEN, "6", "8", "0", "1", STANDS, "1", "7", "0", "1", "0", "-1", "",
	  "0", "", "", "0", "", "0"}},
	{VERB_RELEASE,
	 0,
	 {.nodes = 1},
	 {.seq = 6, .fence = 7, .release = {.ran = true, .revision = 18}},
	 {TOKEN, "6", "0", "0", "1", STANDS, "0", "7", "0", "1", "0", "17", "",
	  "0", "", "", "0", "", "0"}},
	{VERB_ACQUIRE,
	 0,
	 {.nodes = 1, .label = "v1"},
	 {.seq = 3},
	 {TOKEN, "3", "0", "0", "1", STANDS, "0", "1500", "0", "-1", "", "0",
	  "0", "0", "-1", "0", "-1", "-1", "0", "-1", "v1", "0"}},
	{VERB_RELEASE,
	 0,
	 {.nodes = 1, .label = "v1"},
	 {.seq = 6, .fence = 7, .release = {.ran = true}},
	 {TOKEN, "6", "0", "0", "1", STANDS, "1", "7", "0", "1", "0", "-1", "",
	  "0", "", "", "0", "", "0"}},
	{VERB_RELEASE,
	 0,
	 {.nodes = 1, .label = "v1"},
	 {.seq = 6, .fence = 7, .release = {.ran = true, .labels = true}},
	 {TOKEN, "6", "0", "0", "1", STANDS, "0", "7", "0", "1", "0", "-1", "",
	  "0", "", "", "0", "v1", "0"}},
	{VERB_RELEASE,
	 9,
	 {.nodes = 3},
	 {.fence = INT64_MAX,
	  .longest_ms = 6,
	  .release = {.least_ms = 5, .once_ms = 3, .withheld = true}},
	 {TOKEN, "0", "0", "6", "0", "1500 1 -\nticket 0\n" ABOUT, "0",
	  "9223372036854775807", "5", "0", "3", "-1", "", "1", "", "",
	  "0", "", "9"}},
};
/* clang-format on */

/* The words from `from` on, but for `less` at the end. */
static void check_words(const struct words *w, int from, int less,
			const char *const want[22], int verb)
{
	int n = 0, wrong = -1;

	while (n < 22 && want[n])
		n++;
	if (!is_int(w->n - less, from + n, "a request of verb %d has %d words",
		    verb, from + n))
		return;
	for (int i = 0; i < n; i++)
		if (w->len[from + i] != strlen(want[i]) ||
		    memcmp(w->at[from + i], want[i], w->len[from + i]) != 0)
			wrong = i;
	is_int(wrong, -1, "verb %d: the arguments are what the script reads",
	       verb);
}

/* The names of the companion keys, beginning with `part`, from word `at` on. */
static void check_names(const struct words *w, int at, const struct keys *k,
			int part, int n)
{
	int wrong = -1;

	for (int i = 0; i < n; i++)
		if (w->at[at + i] != k->part[part + i] ||
		    w->len[at + i] != k->part_len[part + i])
			wrong = part + i;
	is_int(wrong, -1, "the companion keys are named in their order");
}

static void test_request(size_t i)
{
	struct ask ask = requests[i].ask;
	struct lease_conf conf = requests[i].conf;
	char identity[IDENTITY_SIZE];
	struct request r;
	struct keys k;

	conf.ttl_ms = 1500;
	conf.max_waiters = -1;
	ask.verb = requests[i].verb;
	if (keys_init(&k, "a\0b", 3, TOKEN) < 0)
		exit(99);
	record_identity(&conf, &who, identity);
	memset(&r, 0x55, sizeof(r));
	request_ask(&r, &ask, &conf, &k, TOKEN, identity, requests[i].db);
	check_words(&r.words, 8, 0, requests[i].args, (int)ask.verb);
	ok(r.words.len[0] == 4 && memcmp(r.words.at[0], "EVAL", 4) == 0,
	   "a request is an EVAL");
	is_text(r.words.at[2], "5", "it declares all its keys");
	ok(r.words.at[3] == k.lock && r.words.len[3] == 3,
	   "the first is the lock, whole");
	check_names(&r.words, 4, &k, PART_STATE, PART_LOG - PART_STATE + 1);
	if (requests[i].db == 0) {
		bool moves = ask.verb == VERB_CONFIRM;

		request_ask(&r, &ask, &conf, &k, TOKEN, identity,
			    REQUEST_CLUSTER);
		check_words(&r.words, moves ? 5 : 8, moves ? 3 : 0,
			    requests[i].args, (int)ask.verb);
		is_text(r.words.at[2], moves ? "2" : "5",
			"in a Cluster, a renewal declares what it must have");
		check_names(&r.words, 4, &k, PART_STATE, moves ? 1 : 4);
		if (moves)
			check_names(&r.words, r.words.n - 3, &k, PART_QUEUE, 3);
	}
	keys_close(&k);
}

/* Of another client, which knows the token alone. */
static void test_token_op(void)
{
	static const char *const unlock[22] = {TOKEN, "9007199254740991",
					       "0",   "0",
					       "0",   "",
					       "0",   "0",
					       "0",   "1",
					       "0",   "-1",
					       "",    "0",
					       "",    "",
					       "1",   "",
					       "4"};
	static const char *const extend[22] = {TOKEN, "0", "0",    "0", "1",
					       "",    "0", "9000", "",  "0",
					       "0",   "0", "0",    "0", "4"};
	struct token_op op = {.token = TOKEN, .tell = true};
	struct request r;
	struct keys k;

	if (keys_init(&k, "job", 3, TOKEN) < 0)
		exit(99);
	token_op_request(&r, &op, &k, 4);
	check_words(&r.words, 8, 0, unlock, VERB_RELEASE);
	op = (struct token_op){
		.token = TOKEN, .extend = true, .ttl_ms = 9000, .alone = true};
	token_op_request(&r, &op, &k, 4);
	check_words(&r.words, 8, 0, extend, VERB_CONFIRM);
	keys_close(&k);
}

/* Each verb has its script, with the common beginning and no NUL. */
static void test_scripts(void)
{
	static const char *const marks[] = {
		[VERB_ACQUIRE] = "'granted'",
		[VERB_CONFIRM] = "'healed'",
		[VERB_RELEASE] = "handed=serve(L)",
	};

	for (int v = VERB_ACQUIRE; v <= VERB_RELEASE; v++) {
		if (v == VERB_LISTEN || v == VERB_REPLICATE)
			continue;
		struct ask ask = {.verb = (enum verb)v};
		struct lease_conf conf = {.nodes = 1, .ttl_ms = 1500};
		struct request r;
		const struct words *w = &r.words;
		struct keys k;

		if (keys_init(&k, "job", 3, TOKEN) < 0)
			exit(99);
		request_ask(&r, &ask, &conf, &k, TOKEN, "1500 1 -\n", 0);
		is_int((int64_t)w->len[1], (int64_t)strlen(w->at[1]),
		       "verb %d: the script is sent whole", v);
		ok(strstr(w->at[1], marks[v]), "verb %d: it is its own script",
		   v);
		ok(strstr(w->at[1], "local K,S,Q,I,H"),
		   "verb %d: it names its keys", v);
		ok(strstr(w->at[1], "call('select',ARGV["),
		   "verb %d: it selects the database", v);
		ok(w->len[1] < 20500, "verb %d: it is no long text", v);
		keys_close(&k);
	}
}

static bool same_words(const struct words *a, const struct words *b)
{
	bool same = a->n == b->n;

	for (int i = 0; same && i < a->n; i++)
		same = a->at[i] == b->at[i] && a->len[i] == b->len[i];
	return same;
}

/* What became of a hold goes with the release, and with nothing else. */
static void test_history_entry(void)
{
	static const struct {
		struct history_entry entry;
		int slot;
		const char *text;
	} entries[] = {
		{{"ran", 0, 0, 5, 6, NULL},
		 -1,
		 "fence 7\nwaited_ms 5\nheld_ms 6\noutcome ran\nexit 0\n"},
		{{"failed", -1, 15, 0, 1, NULL},
		 3,
		 "fence 7\nslot 3\nwaited_ms 0\nheld_ms 1\n"
		 "outcome failed\nsignal 15\n"},
		{{"lost", -1, 0, 0, 1, NULL},
		 0,
		 "fence 7\nslot 0\nslot_name a\nwaited_ms 0\nheld_ms 1\n"
		 "outcome lost\n"},
		{{"forced", 3, 0, 0, 1, "web2 (pid 1)"},
		 -1,
		 "fence 7\nwaited_ms 0\nheld_ms 1\noutcome forced\nexit 3\n"
		 "by web2 (pid 1)\n"},
	};
	static char name[2 * HISTORY_BY_MAX], longest_name[128];
	static const struct history_entry longest = {
		"max-hold", INT32_MIN, INT32_MAX, INT64_MIN, INT64_MIN, name};
	struct lease_conf conf = {.nodes = 1, .ttl_ms = 1500};
	char text[HISTORY_ENTRY_SIZE];
	struct request r;
	struct keys k;

	for (size_t i = 0; i < COUNT(entries); i++) {
		history_entry_text(&entries[i].entry, 7, entries[i].slot,
				   "a,b c,d", text);
		is_text(text, entries[i].text,
			"an entry has all fields of the hold");
	}
	memset(name, 'x', sizeof(name) - 1);
	memset(longest_name, 'x', sizeof(longest_name) - 1);
	history_entry_text(&longest, INT64_MIN, 0, longest_name, text);
	ok(text[strlen(text) - 1] == '\n', "the longest story fits");
	if (keys_init(&k, "job", 3, TOKEN) < 0)
		exit(99);
	for (int v = VERB_ACQUIRE; v <= VERB_RELEASE; v++) {
		static const char told[] = "fence 7\nheld_ms 1\n";
		struct ask ask = {.verb = (enum verb)v};
		struct words before;

		if (v == VERB_LISTEN || v == VERB_REPLICATE)
			continue;
		request_ask(&r, &ask, &conf, &k, TOKEN, "1500 1 -\npid 12\n",
			    9);
		before = r.words;
		request_tell(&r, &ask,
			     &(struct release_words){told, "", "who did it"});
		if (v == VERB_RELEASE) {
			int at = r.words.n - 5;

			is_text(before.at[at], "", "at first it has none");
			is_text(r.words.at[at], told, "a release tells it");
			r.words.at[at] = before.at[at];
			r.words.len[at] = 0;
		}
		ok(same_words(&r.words, &before), "verb %d: nothing else does",
		   v);
	}
	keys_close(&k);
}

/* A time-out in seconds, never 0, which would be for ever. */
static void test_listen(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} times[] = {{1, "1"}, {30000, "30"}, {1234, "2"}};

	for (size_t i = 0; i < COUNT(times); i++) {
		struct ask ask = {.verb = VERB_LISTEN,
				  .listen_ms = times[i].ms};
		struct lease_conf conf = {.nodes = 1};
		struct request r;
		struct keys k;

		if (keys_init(&k, "job", 3, TOKEN) < 0)
			exit(99);
		request_ask(&r, &ask, &conf, &k, TOKEN, "1500 1 -\n", 3);
		is_int(r.words.n, 3, "to listen takes three words");
		is_text(r.words.at[0], "BLPOP", "it is a BLPOP");
		ok(r.words.at[1] == k.part[PART_GRANT],
		   "of the client's own grant list");
		is_text(r.words.at[2], times[i].text,
			"the timeout, in seconds");
		keys_close(&k);
	}
}

/* Two lines of one text must stay two lines. */
static void test_identity(void)
{
	static const struct holder odd = {
		{[ABOUT_HOST] = "a\nuser x", [ABOUT_REASON] = "\xff\n\n"}};
	struct lease_conf conf = {.ttl_ms = 90, .supersede = true};
	static char big[5000];
	struct holder all;
	char text[IDENTITY_SIZE];

	record_identity(&conf, &odd, text);
	is_text(text, "90 1 s\nhost a user x\nreason \xff  \n",
		"what would end a line is blanked");
	memset(big, 'x', sizeof(big) - 1);
	for (int i = 0; i < ABOUT_COUNT; i++)
		all.about[i] = big;
	record_identity(&conf, &all, text);
	ok(strlen(text) < IDENTITY_SIZE && text[strlen(text) - 1] == '\n',
	   "long fields are cut, and the lines stay whole");
}

/* ---- answers ---- */

#define BUSY(what, left, ttl, at, at_place, other)                             \
	{                                                                      \
		.said = (what), .counter = 7, .busy = {                        \
			.pttl_ms = (left),                                     \
			.holder_ttl_ms = (ttl),                                \
			.ticket = (at),                                        \
			.place = (at_place),                                   \
			.foreign = (other)                                     \
		}                                                              \
	}
#define PLAIN(what, value, left)                                               \
	{                                                                      \
		.said = (what), .counter = (value), .busy = {                  \
			.pttl_ms = (left)                                      \
		}                                                              \
	}
#define RENEWED(what, value, left)                                             \
	{                                                                      \
		.said = (what), .counter = (value), .confirm = {               \
			.pttl_ms = (left)                                      \
		}                                                              \
	}
/* A holder: its token, how many they are, T, fence, since, standing, age. */
#define HELD(ttl)                                                              \
	TOKEN, "1", ttl, "7", "1700000000999", "3000 1 -\nhost web1\n", "40"
#define NOBODY "", "0", "0", "0", "0", "", "0"

/* A reply with its words, and the answer it is. */
static const struct form {
	const char *words[FORM_MAX];
	int least; /* fewer words are not an answer */
	struct answer want;
} forms[] = {
	{{"granted", "7", "6", "5", "30000", "0", "-1", "", ""},
	 5,
	 {.said = SAID_GRANTED,
	  .counter = 7,
	  .granted.fence = 6,
	  .at_ms = 5,
	  .longest_ms = 30000}},
	{{"granted", "9007199254740993", "6", "5", "1", "12", "-1", "",
	  "ab cluster"},
	 5,
	 {.said = SAID_GRANTED,
	  .counter = 9007199254740993,
	  .granted = {.slot = 12, .fence = 6}}},
	{{"inside", "7"}, 2, PLAIN(SAID_INSIDE, 7, 0)},
	{{"vanished", "7"}, 2, PLAIN(SAID_VANISHED, 7, 0)},
	{{"done", "7", "900", "host b\n"}, 4, PLAIN(SAID_DONE, 7, 900)},
	{{"done", "7", "-1", "host b\n"}, 4, PLAIN(SAID_DONE, 7, -1)},
	{{"older", "7", "9007199254740991", "host b\n"},
	 4,
	 {.said = SAID_OLDER, .counter = 7, .busy.revision = 9007199254740991}},
	{{"busy", "7", "1500", "value", "string", "-1", "0", "9", "", NOBODY},
	 16,
	 BUSY(SAID_BUSY, 1500, 0, 0, 0, true)},
	{{"busy", "7", "90", TOKEN, "", "0", "1700000000123456", "3000", "",
	  HELD("3000")},
	 16,
	 BUSY(SAID_BUSY, 90, 3000, 1700000000123456, 1, false)},
	{{"busy", "7", "90", TOKEN, "", "12", "5", "3000", "lost", HELD("x")},
	 16,
	 BUSY(SAID_BUSY, 90, 0, 5, 13, false)},
	{{"busy", "7", "90", " ", "list", "0", "5", "0", "", NOBODY},
	 16,
	 BUSY(SAID_BUSY, 90, 0, 5, 1, true)},
	{{"busy", "7", "40", "", "", "3", "5", "0", "lost", NOBODY},
	 16,
	 BUSY(SAID_LOSS, 40, 0, 5, 4, false)},
	{{"busy", "7", "40", "", "", "3", "5", "0", "young", NOBODY},
	 16,
	 BUSY(SAID_GUARDED, 40, 0, 5, 4, false)},
	{{"full", "7", "3"}, 3, PLAIN(SAID_FULL, 7, 3)},
	{{"superseded", "7", "host b\n"}, 3, PLAIN(SAID_SUPERSEDED, 7, 0)},
	{{"yes", "7", "1200", "5", "30000", "0", "-1", ""},
	 5,
	 {.said = SAID_YES,
	  .counter = 7,
	  .at_ms = 5,
	  .longest_ms = 30000,
	  .confirm = {.pttl_ms = 1200}}},
	{{"healed", "7", "0", "5", "1", "1", "-1", ""},
	 5,
	 RENEWED(SAID_HEALED, 7, 0)},
	{{"no", "7", "0", "0", "-1", ""}, 2, RENEWED(SAID_NO, 7, 0)},
};

/* NOLINTEND(bugprone-suspicious-missing-comma): as above */

static int count(const char *const texts[FORM_MAX])
{
	int n = 0;

	while (n < FORM_MAX && texts[n])
		n++;
	return n;
}

/* Bytes after the last word do not count. */
static void end_words(struct words *w)
{
	if (w->n < WORDS_MAX) {
		w->at[w->n] = "behind";
		w->len[w->n] = 6;
	}
}

static struct words words_of(const char *const texts[FORM_MAX], int n)
{
	struct words w = {0};

	for (int i = 0; i < n; i++)
		words_add_text(&w, texts[i]);
	end_words(&w);
	return w;
}

static const char *joined(const char *const texts[FORM_MAX])
{
	static char text[400];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < count(texts); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%.60s", i ? " " : "",
					 *texts[i] ? texts[i] : "''");
	return text;
}

static bool same_answer(const struct answer *a, const struct answer *b)
{
	return a->said == b->said && a->counter == b->counter &&
	       a->granted.slot == b->granted.slot &&
	       a->granted.fence == b->granted.fence &&
	       a->busy.pttl_ms == b->busy.pttl_ms &&
	       a->busy.holder_ttl_ms == b->busy.holder_ttl_ms &&
	       a->busy.ticket == b->busy.ticket &&
	       a->busy.revision == b->busy.revision &&
	       a->busy.place == b->busy.place &&
	       a->busy.foreign == b->busy.foreign &&
	       a->confirm.pttl_ms == b->confirm.pttl_ms &&
	       a->handed_ms == b->handed_ms;
}

static void test_answers(void)
{
	for (size_t i = 0; i < COUNT(forms); i++) {
		const struct form *f = &forms[i];
		struct words w = words_of(f->words, count(f->words));
		struct sight sight = {.pttl_ms = 99};
		struct fail why = {0};
		struct answer a;
		int rc;

		memset(&a, 0x55, sizeof(a));
		rc = answer_read(f->want.said >= SAID_YES ? VERB_CONFIRM
							  : VERB_ACQUIRE,
				 &w, &a, &sight, &why);
		if (!ok(rc == 0 && same_answer(&a, &f->want),
			"[%s] is an answer", joined(f->words)))
			printf("# rc %d said %d counter %" PRId64
			       " pttl %" PRId64 " holder %" PRId64 "\n",
			       rc, a.said, a.counter, a.busy.pttl_ms,
			       a.busy.holder_ttl_ms);
		is_int(sight.seen,
		       a.said == SAID_BUSY || a.said == SAID_SUPERSEDED ||
			       a.said == SAID_DONE || a.said == SAID_OLDER,
		       "[%s] shows whether there is a holder",
		       joined(f->words));
	}
}

/* Cut behind every word, and in every word: an answer may become another one
 * ("10" becomes "1"), but never from fewer words than it needs. */
static void test_prefixes(void)
{
	for (size_t i = 0; i < COUNT(forms); i++) {
		const struct form *f = &forms[i];
		int wrong = -1;

		for (int n = 0; n < f->least; n++) {
			struct words w = words_of(f->words, n);
			struct fail why = {0};
			struct sight sight;
			struct answer a;

			if (answer_read(VERB_ACQUIRE, &w, &a, &sight, &why) !=
				    -1 ||
			    why.kind != FAIL_UNAVAILABLE)
				wrong = n;
		}
		for (size_t n = 0; n < strlen(f->words[0]); n++) {
			struct words w = words_of(f->words, count(f->words));
			struct fail why = {0};
			struct sight sight;
			struct answer a;

			w.len[0] = n;
			if (answer_read(VERB_ACQUIRE, &w, &a, &sight, &why) !=
				    -1 ||
			    why.kind != FAIL_UNAVAILABLE)
				wrong = (int)n;
		}
		is_int(wrong, -1, "no short form of [%s] is an answer",
		       joined(f->words));
	}
}

/* What its numbers may be is tested in t-units.c, and noise by fuzz-reply.c. */
static const struct {
	const char *words[FORM_MAX];
	const char *says; /* of FAIL_CONFIG; NULL: it is not an answer */
} bad[] = {
	{{NULL}, NULL},
	{{""}, NULL},
	{{"OK"}, NULL},
	{{"1"}, NULL},
	{{"Granted", "7", "1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"grantedx", "7", "7", "5", "1", "0", "-1", "", ""}, NULL},
	{{" granted", "7", "1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"7", "granted"}, NULL},
	{{"granted", "", "1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"granted", "x", "1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"granted", "-1", "1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"granted", "7", "-1", "5", "1", "0", "-1", "", ""}, NULL},
	{{"granted", "7", "7", "5", "1", "x", "-1", "", ""}, NULL},
	{{"granted", "7", "7", "5", "1", "1000", "-1", "", ""}, NULL},
	{{"busy", "x", "5", "v", "", "0", "5", "0", "", NOBODY}, NULL},
	{{"busy", "-2", "5", "v", "", "0", "5", "0", "", NOBODY}, NULL},
	{{"yes", "", "5"}, NULL},
	{{"newer", "9"}, "a newer redlock"},
	{{"busy", "7", "-1", " ", "list", "0", "5", "0", "", NOBODY},
	 "holds a list without"},
	{{"busy", "7", "", " ", "zset", "0", "5", "0", "", NOBODY},
	 "holds a zset without"},
	{{"busy", "7", "-1", " ", "\033[2J", "0", "5", "0", "", NOBODY},
	 "a \\x1b[2J without"},
};

static void test_bad_answers(void)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct words w = words_of(bad[i].words, count(bad[i].words));
		struct fail why = {0};
		struct sight sight;
		struct answer a;
		const char *says =
			bad[i].says ? bad[i].says : "unexpected reply";

		ok(answer_read(VERB_ACQUIRE, &w, &a, &sight, &why) == -1 &&
			   why.kind == (bad[i].says ? FAIL_CONFIG
						    : FAIL_UNAVAILABLE) &&
			   strstr(why.text, says),
		   "[%s] is refused: %s", joined(bad[i].words), says);
	}
}

/* Anybody may set an expiry by hand, or write a record: times are multiplied,
 * and added to others. */
static void test_ages(void)
{
	static const char ages[] = "4611686018427387903";
	const char *const busy[FORM_MAX] =
		{"busy", "7",  ages, TOKEN, "",
		 ages,   ages, ages, "",    TOKEN,
		 ages,   ages, "7",  ages,  "5000 1 r\nhost web1\n",
		 ages},
			  *const yes[FORM_MAX] = {"yes", "7", ages, ages,
						  ages,  "0", ages, ""};
	struct words w = words_of(busy, 16);
	struct sight sight;
	struct fail why;
	struct answer a;

	is_int(answer_read(VERB_ACQUIRE, &w, &a, &sight, &why), 0,
	       "a lease of ages is one");
	is_int(a.busy.pttl_ms, AGES_MS, "what is left of it is limited");
	is_int(a.busy.holder_ttl_ms, AGES_MS, "its length is limited, too");
	is_int(a.busy.age_ms, AGES_MS, "its age is limited, too");
	is_int(sight.since, AGES_MS / 1000, "its beginning is limited, too");
	is_int(a.busy.place, INT_MAX, "so is our place");
	is_int(sight.readers, INT_MAX - 1, "so are the readers");
	ok(a.longest_ms <= INT64_C(2592000000), "so is the longest lease");
	w = words_of(yes, 8);
	is_int(answer_read(VERB_CONFIRM, &w, &a, &sight, &why), 0,
	       "a renewal tells times, too");
	is_int(a.at_ms, AGES_MS, "the server's clock is limited");
	ok(a.stops, "we are asked to stop");
	is_int(a.stop_ms, AGES_MS, "in ages");
	is_int(timing_kill((struct instant){0}, a.stop_ms).ms, AGES_MS / 10 * 8,
	       "which can be reckoned with");
}

/* As many words as a reply can have. */
static void test_most_words(void)
{
	struct words w = {0};
	struct sight sight;
	struct fail why;
	struct answer a;

	words_add_text(&w, "busy");
	while (w.n < WORDS_MAX)
		words_add_text(&w, "7");
	is_int(answer_read(VERB_ACQUIRE, &w, &a, &sight, &why), 0,
	       "a reply may have as many words as the list");
	w.at[0] = "granted";
	w.len[0] = 7;
	is_int(answer_read(VERB_ACQUIRE, &w, &a, &sight, &why), 0,
	       "words behind those we know are no error");
	is_int(a.counter, 7, "the counter is still read");
}

/* ---- the holder ---- */

static struct sight sight_of(const char *pttl, const char *value,
			     const char *type, const char *holder,
			     const char *since, const char *identity)
{
	const char *const texts[] = {
		"busy", "7",    pttl, value,  type, "0",   "5",      "0",
		"",     holder, "1",  "3000", "7",  since, identity, "40"};
	struct words w = {0};
	struct sight s;
	struct fail why;
	struct answer a;

	for (size_t i = 0; i < COUNT(texts); i++)
		words_add_text(&w, texts[i]);
	end_words(&w);
	memset(&s, 0x55, sizeof(s));
	if (answer_read(VERB_ACQUIRE, &w, &a, &s, &why) < 0)
		ok(false, "a busy answer is understood");
	return s;
}

static void test_sight(void)
{
	static const char *const about[ABOUT_COUNT] = {
		[ABOUT_HOST] = "web1",
		[ABOUT_PID] = "42",
		[ABOUT_USER] = "me",
		[ABOUT_COMMAND] = "backup.sh",
		[ABOUT_REASON] = "nightly",
		[ABOUT_CI] = "https://ci/1",
		[ABOUT_PROCESS] = "0011223344556677",
	};
	static const char identity[] =
		"3000 1 -\nhost web1\npid 42\nuser me\n"
		"command backup.sh\nreason nightly\nci_url https://ci/1\n"
		"process 0011223344556677\n";
	struct words w = {0};
	struct sight s;
	struct answer a;
	struct fail why;

	s = sight_of("1500", TOKEN, "", TOKEN, "1700000000999", identity);
	ok(s.seen && !s.foreign, "a holder with an entry is one of ours");
	is_text(s.token, TOKEN, "its token is read");
	is_text(s.type, "", "a lock has no odd type");
	is_int(s.since, 1700000000, "its start is read, in seconds");
	is_int(s.pttl_ms, 1500, "the rest of its lease is read");
	is_int(s.readers, 0, "it does not read");
	for (int i = 0; i < ABOUT_COUNT; i++)
		is_text(s.about[i], about[i], "the entry says '%s'", about[i]);
	s = sight_of("1500", "shared:7", "", TOKEN, "5", "3000 1 r\n");
	is_int(s.readers, 1, "readers are counted");
	words_add_text(&w, "superseded");
	words_add_text(&w, "7");
	words_add_text(&w, "host b\nci_url https://ci/1\n");
	is_int(answer_read(VERB_ACQUIRE, &w, &a, &s, &why), 0, "superseded");
	ok(s.seen, "the one that superseded us is read");
	is_text(s.about[ABOUT_CI], "https://ci/1", "its CI job is read");
}

static void test_foreign(void)
{
	struct sight s = sight_of("-1", "v\033[2J", "string", "", "0", "");

	ok(s.seen && s.foreign, "a value without an entry is foreign");
	is_text(s.token, "v\\x1b[2J", "its value is made printable");
	is_int(s.pttl_ms, -1, "no expiry is read");
	is_text(s.about[ABOUT_HOST], "", "nothing is known of its host");
	is_int(s.since, 0, "nothing is known of its start");
	s = sight_of("5", TOKEN, "", TOKEN, "-5", "3000 1 -\nhost");
	is_int(s.since, 0, "an odd time is no time");
	is_text(s.about[ABOUT_HOST], "", "a field without a value is empty");
	s = sight_of("5", " ", "zset", "", "0", "");
	ok(s.seen && s.foreign, "another type is foreign");
	is_text(s.type, "zset", "the type is read");
}

/* A value is any bytes; ours to show, at most so many. */
static void test_long_texts(void)
{
	static char big[5000], identity[sizeof(big)];
	const char *const behind[] = {"", "0", "5", "0", ""};
	const char *const rest[] = {"1", "3000", "7", "0"};
	struct words w = {0};
	struct sight s;
	struct fail why;
	struct answer a;
	int n;

	memset(big, '\xff', sizeof(big) - 1);
	n = snprintf(identity, sizeof(identity), "3000 1 -\nhost %.2000s\n",
		     big);
	words_add_text(&w, "busy");
	words_add_text(&w, "7");
	words_add_text(&w, "5");
	words_add(&w, big, 2000);
	for (size_t i = 0; i < COUNT(behind); i++)
		words_add_text(&w, behind[i]);
	words_add(&w, big, 2000);
	for (size_t i = 0; i < COUNT(rest); i++)
		words_add_text(&w, rest[i]);
	words_add(&w, identity, (size_t)n);
	words_add_text(&w, "0");
	is_int(answer_read(VERB_ACQUIRE, &w, &a, &s, &why), 0,
	       "long binary texts are no error");
	ok(!s.foreign, "it is one of ours");
	ok(strlen(s.token) > 120 && strlen(s.token) < sizeof(s.token) &&
		   strcmp(s.token + strlen(s.token) - 3, "...") == 0,
	   "a long token is cut");
	ok(strlen(s.about[ABOUT_HOST]) > 100 &&
		   strncmp(s.about[ABOUT_HOST], "\\xff\\xff", 8) == 0,
	   "a long text is cut and printable");
}

/* What follows a yes or a no depends on the question. */
static void test_released(void)
{
	const char *const words[FORM_MAX] = {"yes", "8", "1200"},
			  *const no[FORM_MAX] = {"no", "8"};
	struct words w = words_of(words, 3);
	struct sight s;
	struct fail why;
	struct answer a;

	ok(answer_read(VERB_RELEASE, &w, &a, &s, &why) == 0 &&
		   a.said == SAID_YES && a.handed_ms == 1200,
	   "a release tells for how long it handed the lock on");
	w = words_of(words, 2);
	ok(answer_read(VERB_RELEASE, &w, &a, &s, &why) == 0 && a.handed_ms == 0,
	   "or that it did not");
	w = words_of(no, 2);
	ok(answer_read(VERB_ACQUIRE, &w, &a, &s, &why) == 0 &&
		   a.busy.pttl_ms == 0 && a.confirm.pttl_ms == 0,
	   "a run that cannot join gets no lease");
}

/* Listening is no script: whatever comes is a word for us, or none. */
static void test_listened(void)
{
	struct words woken = {0}, nil = {0};
	struct sight s;
	struct fail why;
	struct answer a;

	words_add_text(&woken, "job:redlock:{job}:grant:T");
	words_add_text(&woken, "1700000000123456");
	words_add_text(&nil, "");
	ok(answer_read(VERB_LISTEN, &woken, &a, &s, &why) == 0 &&
		   a.said == SAID_WOKEN,
	   "a word in the list wakes");
	ok(answer_read(VERB_LISTEN, &nil, &a, &s, &why) == 0 &&
		   a.said == SAID_QUIET,
	   "nil does not");
}

/* The one that asks us to stop. */
static void test_stop(void)
{
	static const struct {
		const char *words[10];
		enum said said;
		bool stops;
		int64_t ms;
		const char *host;
	} rows[] = {
		{{"yes", "7", "9", "5", "1", "0", "-1", ""},
		 SAID_YES,
		 0,
		 0,
		 ""},
		{{"yes", "7", "9", "5", "1", "0", "0", "host a\n"},
		 SAID_YES,
		 true,
		 0,
		 "a"},
		{{"healed", "7", "0", "5", "1", "0", "99", "x\nhost \x1b\n"},
		 SAID_HEALED,
		 true,
		 99,
		 "\\x1b"},
		{{"no", "7", "1", "0", "-1", ""}, SAID_NO, false, 0, ""},
		{{"no", "7", "1", "0", "0", "host a\n"}, SAID_NO, true, 0, "a"},
		{{"no", "7", "1", "0", "soon", "host a\n"},
		 SAID_NO,
		 false,
		 0,
		 ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct words w = {0};
		struct sight s = {0};
		struct answer a;
		struct fail why;

		for (int k = 0; rows[i].words[k]; k++)
			words_add_text(&w, rows[i].words[k]);
		is_int(answer_read(VERB_CONFIRM, &w, &a, &s, &why), 0,
		       "an answer");
		is_int(a.said, rows[i].said, "says what it says");
		is_int(a.stops, rows[i].stops, "and whether we are to stop");
		is_int(a.stop_ms, rows[i].ms, "in how many ms");
		is_text(s.about[ABOUT_HOST], rows[i].host, "and by whom");
	}
}

static void test_replicate(void)
{
	struct lease_conf conf = {.replicas = 2};
	struct ask ask = {.verb = VERB_REPLICATE, .listen_ms = 250};
	struct request r;
	struct words two = {0}, odd = {0};
	struct sight s = {0};
	struct answer a;
	struct fail why;
	struct keys k;

	if (keys_init(&k, "job", 3, TOKEN) < 0)
		exit(99);
	request_ask(&r, &ask, &conf, &k, TOKEN, "", 7);
	ok(!r.sha, "it calls no script");
	is_int(r.words.n, 3, "replicas are asked for in three words");
	is_text(r.words.at[0], "WAIT", "WAIT");
	is_text(r.words.at[1], "2", "the number of replicas");
	is_text(r.words.at[2], "250", "the timeout, in ms");
	words_add_text(&two, "2");
	ok(answer_read(VERB_REPLICATE, &two, &a, &s, &why) == 0 &&
		   a.said == SAID_YES && a.counter == 2,
	   "the answer is how many have it");
	words_add_text(&odd, "many");
	is_int(answer_read(VERB_REPLICATE, &odd, &a, &s, &why), -1,
	       "and nothing else is");
	keys_close(&k);
}

int main(void)
{
	for (size_t i = 0; i < COUNT(requests); i++)
		TEST(request, i);
	TEST(token_op);
	TEST(scripts);
	TEST(history_entry);
	TEST(listen);
	TEST(identity);
	TEST(answers);
	TEST(prefixes);
	TEST(bad_answers);
	TEST(ages);
	TEST(most_words);
	TEST(sight);
	TEST(foreign);
	TEST(long_texts);
	TEST(released);
	TEST(listened);
	TEST(replicate);
	TEST(stop);
	return done();
}
