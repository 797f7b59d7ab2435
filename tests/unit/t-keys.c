/* SPDX-License-Identifier: MIT */
/* Slots, and the names of companion keys. */
#include "lock/wire/keys.h"

#include <stdlib.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT(s) s, sizeof(s) - 1

/* What CLUSTER KEYSLOT says. */
static const struct {
	const char *key;
	size_t len;
	uint16_t slot;
} slots[] = {
	{TEXT(""), 0},
	{TEXT("foo"), 12182},
	{TEXT("bar"), 5061},
	{TEXT("hello"), 866},
	{TEXT("somekey"), 11058},
	{TEXT("foo{hash_tag}"), 2515},
	{TEXT("hash_tag"), 2515},
	{TEXT("123456789"), 12739}, /* CRC16/XMODEM: 0x31c3 */
	{TEXT("user1000"), 3443},
	{TEXT("{user1000}.following"), 3443},
	{TEXT("{user1000}.followers"), 3443},
};

static void test_slots(void)
{
	for (size_t i = 0; i < COUNT(slots); i++)
		is_int(key_slot(slots[i].key, slots[i].len), slots[i].slot,
		       "'%s' is in slot %d", slots[i].key, slots[i].slot);
}

/* Which bytes are hashed: a key, and those bytes as a key of their own. */
static const struct {
	const char *key, *same;
	const char *why;
} tags[] = {
	{"foo{bar}{zap}", "bar", "only the first tag counts"},
	{"{bar}", "bar", "a key may be all tag"},
	{"foo{{bar}}zap", "{bar", "a tag may begin with a brace"},
	{"a}{b}", "b", "a brace shut before the first is opened is no tag"},
	{"x{ y}", " y", "a tag may have blanks"},
};

static void test_tags(void)
{
	for (size_t i = 0; i < COUNT(tags); i++)
		is_int(key_slot(tags[i].key, strlen(tags[i].key)),
		       key_slot(tags[i].same, strlen(tags[i].same)), "'%s': %s",
		       tags[i].key, tags[i].why);
	ok(key_slot("foo{}{bar}", 10) != key_slot("bar", 3),
	   "an empty tag hides those behind it");
	is_int(key_slot("{}", 2), 15257, "an empty tag is hashed itself");
	is_int(key_slot("foo{}{bar}", 10), 8363,
	       "a key with an empty tag is hashed whole");
}

/* The documented names: other versions, and people, rely on them. */
static const struct {
	const char *key;
	size_t len;
	const char *part[PART_COUNT]; /* NULL: as the first lock shows */
} names[] = {
	{TEXT("job"),
	 {"job:redlock:{job}:state", "job:redlock:{job}:queue",
	  "job:redlock:{job}:grant:T", "job:redlock:{job}:log"}},
	{TEXT("shop:nightly"), {"shop:nightly:redlock:{shop:nightly}:state"}},
	{TEXT("{a}b"), {"{a}b:redlock:state"}},
	{TEXT("a{b}c{d}"), {"a{b}c{d}:redlock:state"}},
	{TEXT("a b\n"), {"a b\n:redlock:{a b\n}:state"}},
	{TEXT("x:redlock:{x}:state"), {"x:redlock:{x}:state:redlock:state"}},
	{TEXT("x:redlock:state"),
	 {"x:redlock:state:redlock:{x:redlock:state}:state"}},
};

static void test_names(void)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		struct keys k;

		if (keys_init(&k, names[i].key, names[i].len, "T") < 0)
			exit(99);
		for (int p = 0; p < PART_COUNT && names[i].part[p]; p++) {
			char *text = strndup(k.part[p], k.part_len[p]);

			is_text(text, names[i].part[p],
				"a companion of '%s' is '%s'", names[i].key,
				names[i].part[p]);
			free(text);
		}
		ok(k.lock == names[i].key && k.lock_len == names[i].len,
		   "the lock of '%s' is the key itself", names[i].key);
		keys_close(&k);
	}
}

/* Every string of 0..3 letters over this alphabet, and a few longer ones. */
#define ALPHABET "{}ab"
#define STRINGS (1 + 4 + 16 + 64)

static int every_string(char all[STRINGS][4])
{
	int n = 0;

	memset(all, 0, STRINGS * sizeof(all[0]));
	for (int len = 0; len <= 3; len++)
		for (int code = 0; code < 1 << (2 * len); code++, n++)
			for (int i = 0; i < 4; i++)
				if (i < len)
					all[n][i] =
						ALPHABET[code >> (2 * i) & 3];
	return n;
}

/* The name of a state by its rule, as slowly as can be: with all tags of n
 * letters in the order of a dictionary, then those of n + 1. */
static void first_name(const char *key, char name[64])
{
	const char *open = strchr(key, '{');
	uint16_t slot = key_slot(key, strlen(key));
	char tag[8];

	for (int len = 1, words = 26; len < 5; len++, words *= 26)
		for (int w = 0; w < words; w++) {
			for (int i = len, rest = w; i-- > 0; rest /= 26)
				tag[i] = (char)('a' + rest % 26);
			tag[len] = '\0';
			if (open && open[1] == '}')
				(void)snprintf(name, 64,
					       "redlock:{%s}:%s::state", tag,
					       key);
			else
				(void)snprintf(name, 64,
					       "%s:redlock:{%s}:state", key,
					       tag);
			if (key_slot(name, strlen(name)) == slot)
				return;
		}
	name[0] = '\0';
}

static bool has_tag(const char *key)
{
	const char *open = strchr(key, '{');
	const char *shut = open ? strchr(open, '}') : NULL;

	return shut && shut != open + 1;
}

static void check_string(const struct keys *k, const char *key)
{
	char want[64];
	uint16_t slot = key_slot(key, strlen(key));
	bool same = true;

	for (int p = 0; p < PART_COUNT; p++)
		same = same && key_slot(k->part[p], k->part_len[p]) == slot;
	ok(same, "the companions of '%s' are in its slot", key);
	if (has_tag(key) || !strpbrk(key, "{}"))
		return;
	first_name(key, want);
	ok(k->part_len[PART_STATE] == strlen(want) &&
		   memcmp(k->part[PART_STATE], want, strlen(want)) == 0,
	   "'%s' has no tag; it gets the first one of its slot: '%s'", key,
	   want);
}

/* Two keys with one companion would share their fences and holders. */
static void test_no_two_alike(const struct keys *k, int n)
{
	int alike = 0;

	for (int i = 0; i < n * PART_COUNT; i++)
		for (int j = 0; j < i; j++) {
			const struct keys *a = &k[i / PART_COUNT];
			const struct keys *b = &k[j / PART_COUNT];
			int p = i % PART_COUNT, q = j % PART_COUNT;

			if (a->part_len[p] == b->part_len[q] &&
			    memcmp(a->part[p], b->part[q], a->part_len[p]) == 0)
				alike++;
		}
	is_int(alike, 0, "no two companions of %d keys are alike", n);
}

static void test_every_string(void)
{
	static char all[STRINGS][4];
	static struct keys k[STRINGS];
	int n = every_string(all);

	is_int(n, STRINGS, "all strings of up to 3 letters over %s are here",
	       ALPHABET);
	for (int i = 0; i < n; i++) {
		if (keys_init(&k[i], all[i], strlen(all[i]), "T") < 0)
			exit(99);
		/* the empty string is no key; it must only not crash */
		if (all[i][0] != '\0')
			check_string(&k[i], all[i]);
	}
	test_no_two_alike(k + 1, n - 1);
	for (int i = 0; i < n; i++)
		keys_close(&k[i]);
}

static void test_bytes(void)
{
	static char big[KEY_MAX];
	struct keys k;

	memset(big, 'x', sizeof(big));
	memcpy(big, "}\0\xff{", 4);
	if (keys_init(&k, big, sizeof(big), "T") < 0)
		exit(99);
	ok(key_slot(k.part[PART_STATE], k.part_len[PART_STATE]) ==
		   key_slot(big, sizeof(big)),
	   "the longest key, of any bytes, has companions in its slot");
	ok(memcmp(k.part[PART_STATE], big, sizeof(big)) == 0,
	   "a companion begins with all bytes of the key");
	keys_close(&k);
	ok(!k.part[0], "keys are gone when closed");
	keys_close(&k);
}

/* ---- the other way round ---- */

static const struct {
	const char *name;
	size_t len;
	enum key_part kind;
	const char *key;
	size_t key_len;
} companions[] = {
	{TEXT("job:redlock:{job}:state"), PART_STATE, TEXT("job")},
	{TEXT("job:redlock:{job}:queue"), PART_QUEUE, TEXT("job")},
	{TEXT("job:redlock:{job}:log"), PART_LOG, TEXT("job")},
	{TEXT("x:{a}:y:redlock:state"), PART_STATE, TEXT("x:{a}:y")},
	{TEXT("{a}:sharers:x:redlock:state"), PART_STATE,
	 TEXT("{a}:sharers:x")},
	{TEXT("a\0b\n:redlock:{a\0b\n}:queue"), PART_QUEUE, TEXT("a\0b\n")},
	{TEXT("x:redlock:{x}:state:redlock:state"), PART_STATE,
	 TEXT("x:redlock:{x}:state")},
	{TEXT("x:redlock:state:redlock:{x:redlock:state}:log"), PART_LOG,
	 TEXT("x:redlock:state")},
	{TEXT("1:{a}:redlock:{1:{a}}:state"), PART_NONE, TEXT("")},
	/* what is there besides, and is in the way of nobody */
	{TEXT("job:redlock:{job}:grant:T"), PART_NONE, TEXT("")},
	/* no companions */
	{TEXT("job"), PART_NONE, TEXT("")},
	{TEXT(""), PART_NONE, TEXT("")},
	{TEXT(":redlock:"), PART_NONE, TEXT("")},
	{TEXT(":redlock:{}:state"), PART_NONE, TEXT("")},
	{TEXT(":redlock:state"), PART_NONE, TEXT("")},
	{TEXT("redlock:{x}:::state"), PART_NONE, TEXT("")},
	{TEXT("redlock:{x}:job::state"), PART_NONE, TEXT("")},
	{TEXT("state"), PART_NONE, TEXT("")},
	{TEXT("::state"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:{job}"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:{job}:"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:state"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:{other}:state"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:{jo}:state"), PART_NONE, TEXT("")},
	{TEXT("job:redlock:{job}:states"), PART_NONE, TEXT("")},
	{TEXT("job:Redlock:{job}:state"), PART_NONE, TEXT("")},
};

static void test_companions(void)
{
	for (size_t i = 0; i < COUNT(companions); i++) {
		struct key_read read;
		enum key_part got =
			keys_read(companions[i].name, companions[i].len, &read);

		is_int(got, (int64_t)companions[i].kind, "what '%s' tells",
		       companions[i].name);
		if (got != PART_NONE)
			ok(read.len == companions[i].key_len &&
				   memcmp(read.key, companions[i].key,
					  read.len) == 0,
			   "and of which key");
	}
}

static void test_there_and_back(void)
{
	char all[STRINGS][4];
	int n = every_string(all), bad = 0;

	for (int i = 0; i < n; i++) {
		struct keys k;
		struct key_read read;

		if (all[i][0] == '\0')
			continue;
		if (keys_init(&k, all[i], strnlen(all[i], 4), "T") < 0)
			exit(99);
		bad += keys_read(k.part[PART_STATE], k.part_len[PART_STATE],
				 &read) != PART_STATE ||
		       read.len != k.lock_len ||
		       memcmp(read.key, k.lock, read.len) != 0;
		keys_close(&k);
	}
	is_int(bad, 0, "every name leads back to its key");
}

int main(void)
{
	TEST(slots);
	TEST(tags);
	TEST(names);
	TEST(every_string);
	TEST(bytes);
	TEST(companions);
	TEST(there_and_back);
	return done();
}
