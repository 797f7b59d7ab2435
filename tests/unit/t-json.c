/* SPDX-License-Identifier: MIT */
/* JSON: quoting, and bytes that are not text. */
#include "base/json.h"

#include <stdlib.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT(s) s, sizeof(s) - 1

struct out {
	struct json j;
	char *text;
	size_t n;
};

static void open_out(struct out *o)
{
	o->j = (struct json){.f = open_memstream(&o->text, &o->n)};
	if (!o->j.f)
		exit(99);
}

static void check_out(struct out *o, const char *want, const char *what)
{
	(void)fclose(o->j.f);
	is_text(o->text, want, "%s", what);
	is_int((int64_t)o->n, (int64_t)strlen(want), "%s, without a byte more",
	       what);
	free(o->text);
}

/* What json_bytes() adds behind the first value, or nothing. */
static const struct {
	const char *bytes;
	size_t n;
	const char *want;
	const char *what;
} strings[] = {
	{TEXT(""), "{\"k\":\"\"", "an empty string"},
	{TEXT("job"), "{\"k\":\"job\"", "plain text"},
	{TEXT("a\"b"), "{\"k\":\"a\\\"b\"", "a quote is escaped"},
	{TEXT("a\\b"), "{\"k\":\"a\\\\b\"", "a backslash is escaped"},
	{TEXT("\\\""), "{\"k\":\"\\\\\\\"\"",
	 "quotes and backslashes are each escaped"},
	{TEXT("a/b"), "{\"k\":\"a/b\"", "a slash is not escaped"},
	{TEXT("a\nb\tc"), "{\"k\":\"a\\u000ab\\u0009c\"",
	 "line feed and tab are escaped"},
	{TEXT("\x1b[2J"), "{\"k\":\"\\u001b[2J\"", "ESC is escaped"},
	{TEXT("\x1f \x7f"), "{\"k\":\"\\u001f \\u007f\"",
	 "the last control, blank and DEL"},
	{TEXT("a\0b"), "{\"k\":\"a\\u0000b\"",
	 "NUL is escaped, and does not end the text"},
	{TEXT("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92"),
	 "{\"k\":\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92\"", "UTF-8 is kept"},
	{TEXT("\xc2\x9b \xc2\x80"), "{\"k\":\"\\u009b \\u0080\"",
	 "C1 controls are escaped, and text"},
	/* NOLINTNEXTLINE(misc-misleading-bidirectional) */
	{TEXT("\xe2\x80\xae\xe2\x80\x8b"), "{\"k\":\"\\u202e\\u200b\"",
	 "invisible characters are escaped"},
	{TEXT("\xff"), "{\"k\":\"\\ufffd\",\"k_b64\":\"/w==\"",
	 "one bad byte gives _b64 with two pads"},
	{TEXT("\xff\xfe"), "{\"k\":\"\\ufffd\\ufffd\",\"k_b64\":\"//4=\"",
	 "two bad bytes give _b64 with one pad"},
	{TEXT("\xfb\xff\xfe"),
	 "{\"k\":\"\\ufffd\\ufffd\\ufffd\",\"k_b64\":\"+//+\"",
	 "three bad bytes give _b64 without a pad"},
	{TEXT("ab\xc3"), "{\"k\":\"ab\\ufffd\",\"k_b64\":\"YWLD\"",
	 "half a character at the end"},
	{TEXT("\xc3(\""), "{\"k\":\"\\ufffd(\\\"\",\"k_b64\":\"wygi\"",
	 "half a character swallows nothing after it"},
	{TEXT("\xe2\x82z"), "{\"k\":\"\\ufffd\\ufffdz\",\"k_b64\":\"4oJ6\"",
	 "two bytes of three"},
	{TEXT("\xc0\x80"), "{\"k\":\"\\ufffd\\ufffd\",\"k_b64\":\"wIA=\"",
	 "an overlong NUL is not UTF-8"},
	{TEXT("\xed\xa0\x80"),
	 "{\"k\":\"\\ufffd\\ufffd\\ufffd\",\"k_b64\":\"7aCA\"",
	 "a surrogate is not UTF-8"},
	{TEXT("\xff\0\xff\0"),
	 "{\"k\":\"\\ufffd\\u0000\\ufffd\\u0000\",\"k_b64\":\"/wD/AA==\"",
	 "NUL is in _b64, too"},
};

static void test_bytes(void)
{
	for (size_t i = 0; i < COUNT(strings); i++) {
		/* the exact length, for the sanitizer */
		char *copy = malloc(strings[i].n ? strings[i].n : 1);
		struct out o;

		memcpy(copy, strings[i].bytes, strings[i].n);
		open_out(&o);
		json_bytes(&o.j, "k", copy, strings[i].n);
		check_out(&o, strings[i].want, strings[i].what);
		free(copy);
	}
}

static void test_text(void)
{
	struct out o;

	open_out(&o);
	json_text(&o.j, "reason", "a\xff\"b");
	check_out(&o, "{\"reason\":\"a\\ufffd\\\"b\"",
		  "text that is not UTF-8 gets no _b64");
}

static void test_numbers(void)
{
	struct out o;

	open_out(&o);
	json_number(&o.j, "zero", 0);
	json_number(&o.j, "most", INT64_MAX);
	json_number(&o.j, "least", INT64_MIN);
	check_out(&o,
		  "{\"zero\":0,\"most\":9223372036854775807,"
		  "\"least\":-9223372036854775808",
		  "numbers are written to the last digit");
}

static void test_times(void)
{
	struct out o;

	open_out(&o);
	json_time(&o.j, "a", 0);
	json_time(&o.j, "b", 1);
	json_time(&o.j, "c", 253402300799999);
	json_time(&o.j, "d", 253402300800000);
	json_time(&o.j, "e", INT64_MAX);
	check_out(&o,
		  "{\"a\":null,\"b\":\"1970-01-01T00:00:00.001Z\","
		  "\"c\":\"9999-12-31T23:59:59.999Z\",\"d\":null,\"e\":null",
		  "a year of five digits is written as null");
}

static void test_commas(void)
{
	struct out o;

	open_out(&o);
	json_bytes(&o.j, "key", TEXT("\xff"));
	json_text(&o.j, "a", "");
	json_number(&o.j, "n", -1);
	json_bytes(&o.j, "b", TEXT("x"));
	check_out(&o,
		  "{\"key\":\"\\ufffd\",\"key_b64\":\"/w==\",\"a\":\"\","
		  "\"n\":-1,\"b\":\"x\"",
		  "the first member opens the object, the others follow a "
		  "comma");
}

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : 0;
}

/* Base 64 taken back: all bytes there are, at every length. */
static void test_base64(void)
{
	char all[258];
	int wrong = -1;

	for (int i = 0; i < 258; i++)
		all[i] = (char)(255 - i % 256);
	for (int n = 1; n <= 258; n++) {
		struct out o;
		const char *p;

		open_out(&o);
		json_bytes(&o.j, "k", all, (size_t)n);
		(void)fclose(o.j.f);
		p = strstr(o.text, "\"k_b64\":\"");
		if (!p || strlen(p + 9) != (size_t)(n + 2) / 3 * 4 + 1)
			wrong = n;
		for (int i = 0; wrong < 0 && i < n; i++) {
			int at = 9 + i / 3 * 4 + i % 3;
			const char *q = p + at;
			int two = digit(q[0]) << 6 | digit(q[1]);

			if ((two >> (4 - 2 * (i % 3)) & 255) !=
			    (unsigned char)all[i])
				wrong = n;
		}
		free(o.text);
	}
	is_int(wrong, -1, "_b64 has the exact bytes, whatever their number");
}

int main(void)
{
	TEST(bytes);
	TEST(text);
	TEST(numbers);
	TEST(times);
	TEST(commas);
	TEST(base64);
	return done();
}
