/* SPDX-License-Identifier: MIT */
/* How wide text is on a terminal. */
#include "base/columns.h"

#include "tap.h"

static const struct {
	const char *text;
	int columns;
} widths[] = {
	{"", 0},
	{"job", 3},
	{"\xc3\xa4\xc3\xb6\xc3\xbc", 3}, /* a, o and u with two dots */
	{"\xd0\xb4\xd0\xb0", 2},         /* Cyrillic */
	{"\xe6\x97\xa5\xe6\x9c\xac", 4}, /* Japanese */
	{"\xed\x95\x9c", 2},             /* Korean */
	{"\xf0\x9f\x94\x92", 2},         /* a padlock */
	{"e\xcc\x81", 1},                /* an accent of its own */
	{"\xe2\x96\x88\xe2\x96\x91", 2}, /* parts of a bar */
	{"\xff\xfe", 2},                 /* no UTF-8 */
	{"\xe6\x97", 2},                 /* cut off */
	{"a\xe6\x97\xa5z", 4},
};

static void test_widths(void)
{
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		is_int(columns_of(widths[i].text), widths[i].columns,
		       "the width of '%s'", widths[i].text);
}

static void test_fit(void)
{
	is_int((int64_t)columns_fit("job", 5), 3, "all of it fits");
	is_int((int64_t)columns_fit("job", 2), 2, "as much as fits");
	is_int((int64_t)columns_fit("job", 0), 0,
	       "nothing fits into no columns");
	is_int((int64_t)columns_fit("\xe6\x97\xa5\xe6\x9c\xac", 3), 3,
	       "a wide character is not cut in two");
	is_int((int64_t)columns_fit("e\xcc\x81x", 1), 3,
	       "an accent stays with its letter");
}

int main(void)
{
	TEST(widths);
	TEST(fit);
	return done();
}
