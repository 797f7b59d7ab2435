/* SPDX-License-Identifier: MIT */
/* The name that may have been meant. */
#include "base/suggest.h"

#include <stdlib.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const names[] = {
	"db",  "cacert",     "cacertdir", "cert",    "key",
	"sni", "tls-verify", "timeout",   "wait",    "no-wait",
	"key", "sentinel",   "key-file",  "max-hold"};

/* NULL: nothing is near. */
static const struct {
	const char *typed, *found, *what;
} forms[] = {
	{"cacert", "cacert", "the name itself"},
	{"cacrt", "cacert", "a byte missing"},
	{"acert", "cacert", "the first byte missing"},
	{"cacer", "cacert", "the last byte missing"},
	{"caccert", "cacert", "a byte too many"},
	{"cacert_", "cacert", "a byte too many at the end"},
	{"xcacert", "cacert", "a byte too many at the start"},
	{"cabert", "cacert", "a byte wrong"},
	{"caecrt", "cacert", "neighbours swapped"},
	{"acacert", "cacert", "a byte of its own doubled in front"},
	{"bd", "db", "neighbours swapped, of two bytes"},
	{"d", "db", "one byte of two"},
	{"dbb", "db", "three bytes of two"},
	{"timoeut", "timeout", "a swap is one slip"},
	{"itemuot", NULL, "three swaps in seven bytes"},
	{"tmieuot", "timeout", "two swaps in seven bytes"},
	{"sentniel", "sentinel", "a swap"},
	{"setninle", "sentinel", "two swaps in eight bytes"},
	{"snetinell", "sentinel", "a swap and a byte too many"},
	{"snetniell", "sentinel", "three slips in nine bytes"},
	{"WAIT", "wait", "capitals"},
	{"Cacrt", "cacert", "a capital and a slip"},
	{"waits", "wait", "one slip in five bytes"},
	{"awits", NULL, "two slips in five bytes"},
	{"nowait", "no-wait", "the name with one slip, not that with two"},
	{"no_wait", "no-wait", "a byte wrong in the middle"},
	{"ket", "key", "the first of two equal names"},
	{"cet", "cert", "four bytes from three"},
	{"x", NULL, "one byte in common with none"},
	{"", NULL, "nothing typed"},
	{"frobnicate", NULL, "nothing like it"},
	{"xx", NULL, "two bytes in common with none"},
	{"tls", "tls-verify", "the beginning of a name"},
	{"ca", "cacert", "the beginning of two: the shorter one"},
	{"caecrtdir-of-the-whole-system", NULL, "much too long"},
	{"\xc3\xa9", NULL, "bytes above 127"},
	{"cac\xc3rt", "cacert", "a byte above 127"},
};

static void test_forms(void)
{
	for (size_t i = 0; i < COUNT(forms); i++)
		is_text(suggest(forms[i].typed, strlen(forms[i].typed), names,
				COUNT(names)),
			forms[i].found, "'%s': %s", forms[i].typed,
			forms[i].what);
	ok(suggest("ket", 3, names, COUNT(names)) == names[4],
	   "in a tie the first name is taken");
	is_text(suggest("cacrt=/path", 5, names, COUNT(names)), "cacert",
		"no byte behind the length counts");
	is_text(suggest("cacert", 6, names, 0), NULL, "no names, none near");
}

/* What is typed, and names, may be longer than anything sensible. */
static void test_lengths(void)
{
	char wide[200];
	const char *one[] = {wide};

	memset(wide, 'w', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	is_text(suggest(wide, 199, names, COUNT(names)), NULL,
		"199 bytes are near nothing");
	is_text(suggest("wwww", 4, one, 1), NULL,
		"a name of 199 bytes is near nothing");
	wide[63] = '\0';
	is_text(suggest(wide, 63, one, 1), wide, "63 bytes are compared");
	is_text(suggest(wide, 62, one, 1), wide, "62 bytes are near 63");
	wide[63] = 'w';
	wide[64] = '\0';
	is_text(suggest(wide, 63, one, 1), NULL, "a name has at most 63 bytes");
}

/* Another way to count slips, slow and plain: the two must agree. */
static int plain(const char *a, size_t m, const char *b, size_t n)
{
	int best, other;

	if (m == 0 || n == 0)
		return (int)(m + n);
	best = plain(a, m - 1, b, n - 1) + (a[m - 1] != b[n - 1]);
	other = plain(a, m - 1, b, n) + 1;
	best = other < best ? other : best;
	other = plain(a, m, b, n - 1) + 1;
	best = other < best ? other : best;
	if (m > 1 && n > 1 && a[m - 1] == b[n - 2] && a[m - 2] == b[n - 1]) {
		other = plain(a, m - 2, b, n - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

/* The m-th word over "abc" of up to five letters. */
static size_t word(int m, char text[6])
{
	size_t n = 0;

	for (; m > 0 && n < 5; m = (m - 1) / 3)
		text[n++] = (char)('a' + (m - 1) % 3);
	text[n] = '\0';
	return n;
}

static void test_all_short_words(void)
{
	int wrong = 0, pairs = 0;

	for (int i = 1; i < 364; i += 2)
		for (int j = 1; j < 364; j += 3) {
			char a[6], b[6];
			const char *one[] = {b};
			size_t m = word(i, a), n = word(j, b);
			int far = plain(a, m, b, n);
			bool near = far <= 1 && (size_t)far < (m > n ? m : n);

			near |= m >= 2 && strncmp(a, b, m) == 0;
			pairs++;
			wrong += (suggest(a, m, one, 1) != NULL) != near;
		}
	is_int(wrong, 0, "%d pairs of short words are judged right", pairs);
}

int main(void)
{
	TEST(forms);
	TEST(lengths);
	TEST(all_short_words);
	return done();
}
