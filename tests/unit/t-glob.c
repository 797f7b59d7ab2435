/* SPDX-License-Identifier: MIT */
/* Patterns as Redis has them; tests/list.bats compares with a server. */
#include "base/glob.h"

#include <stdlib.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *pattern, *text;
	bool matches;
} cases[] = {
	{"job", "job", true},
	{"job", "jo", false},
	{"job", "jobs", false},
	{"", "job", false},
	{"*", "job", true},
	{"**", "job", true},
	{"j*", "job", true},
	{"*b", "job", true},
	{"*o*", "job", true},
	{"*x*", "job", false},
	{"job*", "job", true},
	{"*job", "job", true},
	{"a*b*c", "a-b-b-c", true},
	{"a*b*c", "a-c-b", false},
	{"*ab", "aab", true},
	{"*aab*", "aaaab", true},
	{"j?b", "job", true},
	{"???", "job", true},
	{"??", "job", false},
	{"????", "job", false},
	{"j[a-z]b", "job", true},
	{"j[z-a]b", "job", true},
	{"j[op]b", "job", true},
	{"j[^o]b", "job", false},
	{"j[^x]b", "job", true},
	{"j[\\o]b", "job", true},
	{"a[\\]]b", "a]b", true},
	{"a[]b", "a]b", false},
	{"a[]]b", "a]b", false},
	{"a[^]b", "axb", true},
	{"a[-x]b", "a-b", true},
	{"a[x-]b", "a-b", false},
	{"jo[b", "job", true},
	{"jo[a-c", "job", true},
	{"jo[", "job", false},
	{"jo[^", "job", true},
	{"jo[b*", "job", true},
	{"\\job", "job", true},
	{"\\*", "*", true},
	{"\\*", "x", false},
	{"\\?b", "?b", true},
	{"\\[a]", "[a]", true},
	{"a\\\\b", "a\\b", true},
	{"a\\", "a\\", true},
	{"*[ab]", "xxb", true},
	{"JOB", "job", false},
	{"deploy:*", "deploy:web", true},
	{"\xc3\xa4", "\xc3\xa4", true},
	{"?", "\xc3\xa4", false},
	{"[\x80-\xff]", "\xc3", true},
};

static void test_cases(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		bool got =
			glob_match(cases[i].pattern, strlen(cases[i].pattern),
				   cases[i].text, strlen(cases[i].text));

		ok(got == cases[i].matches, "'%s' %s '%s'", cases[i].pattern,
		   cases[i].matches ? "matches" : "does not match",
		   cases[i].text);
	}
	ok(glob_match("a?b", 3, "a\0b", 3), "a zero is a byte like any other");
	ok(!glob_match("a", 1, "a\0", 2), "and does not end a key");
}

/* Redis' own way needs more than a lifetime for this. */
static void test_many_stars(void)
{
	char text[20000], pattern[200];
	size_t n = 0;

	memset(text, 'a', sizeof(text));
	while (n + 2 < sizeof(pattern)) {
		pattern[n++] = '*';
		pattern[n++] = 'a';
	}
	pattern[n++] = 'b';
	ok(!glob_match(pattern, n, text, sizeof(text)),
	   "a hundred stars are no more than one");
}

int main(void)
{
	TEST(cases);
	TEST(many_stars);
	return done();
}
