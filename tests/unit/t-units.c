/* SPDX-License-Identifier: MIT */
/* Durations, numbers, UTF-8 and printable bytes. */
#include "base/units.h"

#include <stdlib.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DAY_MS ((int64_t)86400000)
#define TEXT(s) s, sizeof(s) - 1

/* -1: refused. What other programs take for a number is in here too: strtod(3)
 * would read 1e3, 0x10 and inf, and a lease of 16 s is not what was meant. */
static const struct {
	const char *text;
	int64_t ms;
} durations[] = {
	{"30", 30000},
	{"0", 0},
	{"007", 7000},
	{"1.5", 1500},
	{"1.5s", 1500},
	{"0.25s", 250},
	{"250ms", 250},
	{"1s", 1000},
	{"5m", 300000},
	{"2h", 7200000},
	{"1d", DAY_MS},
	{"1h30m", 5400000},
	{"1d2h3m4s5ms", DAY_MS + 7384005},
	{"1m1ms", 60001},
	{"1.5h30m", 7200000},
	{"0.1ms", 1},
	{"0.0000001s", 1},
	{"0.000s", 0},
	{"0.001s", 1},
	{"0.3s", 300},
	{"1.001s", 1001},
	{"4.35s", 4350},
	{"1.9ms", 1},
	{"10000d", 10000 * DAY_MS},
	{"9999d24h", 10000 * DAY_MS},
	{"864000000", 10000 * DAY_MS},
	{"0.99999999999999999999999999999999999999d", DAY_MS},
	{"", -1},
	{" ", -1},
	{"s", -1},
	{"ms", -1},
	{".", -1},
	{".5s", 500},
	{"1.", -1},
	{"1.s", -1},
	{"1..5s", -1},
	{"1.5.5s", -1},
	{"1,5s", -1},
	{"1e3", -1},
	{"1e3s", -1},
	{"1E3", -1},
	{"0x10", -1},
	{"0x10s", -1},
	{"30 s", -1},
	{" 30s", -1},
	{"30s ", -1},
	{"30s\n", -1},
	{"-1s", -1},
	{"-1", -1},
	{"-0", -1},
	{"+1s", -1},
	{"1s-", -1},
	{"2s-1s", -1},
	{"inf", -1},
	{"infinity", -1},
	{"nan", -1},
	{"never", -1},
	{"30S", -1},
	{"30M", -1},
	{"1w", -1},
	{"1y", -1},
	{"1us", -1},
	{"30sec", -1},
	{"5min", -1},
	{"1h30", -1},
	{"1h 30m", -1},
	{"1h:30m", -1},
	{"1:30", -1},
	{"1hm", -1},
	{"10000d1ms", -1},
	{"10001d", -1},
	{"5000d5001d", -1},
	{"864000001", -1},
	{"9223372036854775807", -1},
	{"9223372036854775808ms", -1},
	{"9223372036854774000ms", -1},
	{"1d9223372036854774000ms", -1},
	{"18446744073709551617", -1},
	{"18446744073709551617ms", -1},
	{"\xd9\xa3\xd9\xa0s", -1}, /* 30 in Arabic digits */
};

static void test_parse_duration(void)
{
	for (size_t i = 0; i < COUNT(durations); i++)
		is_int(parse_duration(durations[i].text), durations[i].ms,
		       "duration '%s' is %s", durations[i].text,
		       durations[i].ms < 0 ? "refused" : "accepted");
}

/* More digits than any number has: a double becomes infinite on the way. */
static void test_long_durations(void)
{
	char text[5002];

	memset(text, '9', 5000);
	memcpy(text + 5000, "s", 2);
	is_int(parse_duration(text), -1, "5000 digits are too long a time");
	memset(text, '0', 5000);
	memcpy(text + 4999, "1s", 3);
	is_int(parse_duration(text), 1000, "leading zeros do not count");
	text[1] = '.';
	memset(text + 2, '3', 4998);
	memcpy(text + 5000, "s", 2);
	is_int(parse_duration(text), 333, "a fraction may have many digits");
	for (size_t i = 0; i < 2500; i++)
		memcpy(text + 2 * i, "1d", 2);
	text[5000] = '\0';
	is_int(parse_duration(text), 2500 * DAY_MS, "2500 parts add up");
}

static const struct {
	const char *text;
	int64_t lo, hi, want;
} numbers[] = {
	{"0", 0, 255, 0},
	{"255", 0, 255, 255},
	{"256", 0, 255, -1},
	{"260", 0, 255, -1},
	{"1000", 0, 255, -1},
	{"0255", 0, 255, 255},
	{"1", 1, 65535, 1},
	{"0", 1, 65535, -1},
	{"65535", 1, 65535, 65535},
	{"65536", 1, 65535, -1},
	{"9", 10, 20, -1},
	{"10", 10, 20, 10},
	{"20", 10, 20, 20},
	{"21", 10, 20, -1},
	{"9", 0, 9, 9},
	{"5", 0, 0, -1},
	{"6", 0, 5, -1},
	{"9", 0, 8, -1},
	{"10", 0, 9, -1},
	{"", 0, 255, -1},
	{"-1", 0, 255, -1},
	{"+1", 0, 255, -1},
	{" 1", 0, 255, -1},
	{"1 ", 0, 255, -1},
	{"1.0", 0, 255, -1},
	{"1e1", 0, 255, -1},
	{"0x1", 0, 255, -1},
	{"1a", 0, 255, -1},
	{"9223372036854775807", 0, INT64_MAX, INT64_MAX},
	{"9223372036854775808", 0, INT64_MAX, -1},
	{"9223372036854775817", 0, INT64_MAX, -1},
	{"92233720368547758070", 0, INT64_MAX, -1},
	{"18446744073709551617", 0, 255, -1},
	{"99999999999999999999999999999999999999999", 0, INT64_MAX, -1},
};

static void test_parse_number(void)
{
	for (size_t i = 0; i < COUNT(numbers); i++)
		is_int(parse_number(numbers[i].text, numbers[i].lo,
				    numbers[i].hi),
		       numbers[i].want,
		       "number '%s' within %" PRId64 "..%" PRId64 " is %s",
		       numbers[i].text, numbers[i].lo, numbers[i].hi,
		       numbers[i].want < 0 ? "refused" : "accepted");
}

/* A status or port is small: try all, in and out of several bounds. */
static void test_every_number(void)
{
	static const int64_t bounds[] = {9, 10, 11, 99, 100, 255, 1000};
	int64_t wrong = -1;
	char text[8];

	for (size_t b = 0; b < COUNT(bounds); b++)
		for (int n = 0; n < 3000; n++) {
			int64_t want = n <= bounds[b] && n >= 3 ? n : -1;

			(void)snprintf(text, sizeof(text), "%d", n);
			if (parse_number(text, 3, bounds[b]) != want)
				wrong = n;
		}
	is_int(wrong, -1, "every number is taken within its bounds only");
}

static const struct {
	int64_t ms;
	const char *text;
} formatted[] = {
	{0, "0ms"},
	{1, "1ms"},
	{999, "999ms"},
	{1000, "1.0s"},
	{29400, "29.4s"},
	{29499, "29.4s"},
	{59999, "59.9s"},
	{60000, "1m00s"},
	{61999, "1m01s"},
	{3599999, "59m59s"},
	{3600000, "1h00m"},
	{5400000, "1h30m"},
	{86399999, "23h59m"},
	{DAY_MS, "1d00h"},
	{DAY_MS + 3600000, "1d01h"},
	{10000 * DAY_MS, "10000d00h"},
};

static void test_format_duration(void)
{
	char buf[32];

	for (size_t i = 0; i < COUNT(formatted); i++)
		is_text(format_duration(formatted[i].ms, buf, sizeof(buf)),
			formatted[i].text, "%" PRId64 " ms is shown as %s",
			formatted[i].ms, formatted[i].text);
	is_text(format_duration(5400000, buf, 3), "1h",
		"a duration is cut at the buffer's end");
}

static const struct {
	const char *bytes;
	size_t n, want;
	const char *what;
} sequences[] = {
	{TEXT(""), 0, "nothing"},
	{TEXT("a"), 1, "ASCII"},
	{TEXT("\x7f"), 1, "DEL, which is ASCII"},
	{TEXT("\0"), 1, "NUL, which is ASCII"},
	{TEXT("abc"), 1, "the first of several letters"},
	{TEXT("\xc2\xa0"), 2, "U+00A0, the first behind the C1 controls"},
	{TEXT("\xc3\xa9z"), 2, "two bytes"},
	{TEXT("\xdf\xbf"), 2, "the last of two bytes"},
	{TEXT("\xe0\xa0\x80"), 3, "the first of three bytes"},
	{TEXT("\xe2\x82\xac"), 3, "three bytes"},
	{TEXT("\xed\x9f\xbf"), 3, "U+D7FF, the last before the surrogates"},
	{TEXT("\xee\x80\x80"), 3, "U+E000, the first behind the surrogates"},
	{TEXT("\xef\xbf\xbf"), 3, "the last of three bytes"},
	{TEXT("\xf0\x90\x80\x80"), 4, "the first of four bytes"},
	{TEXT("\xf0\x9f\x94\x92"), 4, "four bytes"},
	{TEXT("\xf4\x8f\xbf\xbf"), 4, "U+10FFFF"},
	{TEXT("\xf4\x90\x80\x80"), 0, "U+110000"},
	{TEXT("\xf5\x80\x80\x80"), 0, "a lead byte beyond Unicode"},
	{TEXT("\xf8\x88\x80\x80\x80"), 0, "five bytes"},
	{TEXT("\xff"), 0, "0xff"},
	{TEXT("\x80"), 0, "a continuation byte alone"},
	{TEXT("\xbf\xbf"), 0, "two continuation bytes"},
	{TEXT("\xc0\x80"), 0, "an overlong NUL"},
	{TEXT("\xc1\xbf"), 0, "an overlong DEL"},
	{TEXT("\xe0\x80\xaf"), 0, "an overlong slash in three bytes"},
	{TEXT("\xe0\x9f\xbf"), 0, "overlong in three bytes"},
	{TEXT("\xf0\x80\x80\xaf"), 0, "an overlong slash in four bytes"},
	{TEXT("\xf0\x8f\xbf\xbf"), 0, "overlong in four bytes"},
	{TEXT("\xed\xa0\x80"), 0, "the first surrogate"},
	{TEXT("\xed\xbf\xbf"), 0, "the last surrogate"},
	{TEXT("\xc3"), 0, "one byte of two"},
	{TEXT("\xe2\x82"), 0, "two bytes of three"},
	{TEXT("\xf0\x9f\x94"), 0, "three bytes of four"},
	{TEXT("\xc3("), 0, "a lead byte, then a bracket"},
	{TEXT("\xe2\x82("), 0, "two bytes of three, then a bracket"},
	{TEXT("\xe2(\xac"), 0, "a bracket in the middle"},
	{TEXT("\xf0\x9f\x94("), 0, "three bytes of four, then a bracket"},
	{TEXT("\xc2\x80"), 0, "U+0080, a C1 control"},
	{TEXT("\xc2\x9b"), 0, "U+009B, which begins a terminal command"},
	{TEXT("\xc2\x9f"), 0, "U+009F, the last C1 control"},
	{TEXT("\xe2\x80\xa7"), 3, "U+2027"},
	{TEXT("\xe2\x80\xa8"), 0, "U+2028, the line separator"},
	{TEXT("\xe2\x80\xa9"), 0, "U+2029, the paragraph separator"},
	{TEXT("\xe2\x80\x8a"), 3, "U+200A, a narrow blank"},
	{TEXT("\xe2\x80\x8b"), 0, "U+200B, a blank without a width"},
	{TEXT("\xe2\x80\x8f"), 0, "U+200F, the right-to-left mark"},
	{TEXT("\xe2\x80\x90"), 3, "U+2010"},
	/* NOLINTBEGIN(misc-misleading-bidirectional): what misleads is refused
	 */
	{TEXT("\xe2\x80\xaa"), 0, "U+202A, which begins an embedding"},
	{TEXT("\xe2\x80\xae"), 0, "U+202E, the right-to-left override"},
	{TEXT("\xe2\x80\xaf"), 3, "U+202F"},
	{TEXT("\xe2\x81\xa5"), 3, "U+2065"},
	{TEXT("\xe2\x81\xa6"), 0, "U+2066, which begins an isolate"},
	{TEXT("\xe2\x81\xa9"), 0, "U+2069, which ends one"},
	/* NOLINTEND(misc-misleading-bidirectional): as above */
	{TEXT("\xe2\x81\xaa"), 3, "U+206A"},
};

static void test_utf8(void)
{
	for (size_t i = 0; i < COUNT(sequences); i++) {
		size_t n = sequences[i].n;
		/* the exact length, for the sanitizer to see a byte too far */
		char *copy = malloc(n ? n : 1);

		memcpy(copy, sequences[i].bytes, n);
		is_int((int64_t)utf8_length(copy, n),
		       (int64_t)sequences[i].want, "%s %s", sequences[i].what,
		       sequences[i].want ? "is well-formed" : "is not taken");
		free(copy);
	}
}

static size_t encode(uint32_t code, char *p)
{
	if (code < 0x80) {
		p[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		p[0] = (char)(0xc0 | code >> 6);
		p[1] = (char)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		p[0] = (char)(0xe0 | code >> 12);
		p[1] = (char)(0x80 | (code >> 6 & 63));
		p[2] = (char)(0x80 | (code & 63));
		return 3;
	}
	p[0] = (char)(0xf0 | code >> 18);
	p[1] = (char)(0x80 | (code >> 12 & 63));
	p[2] = (char)(0x80 | (code >> 6 & 63));
	p[3] = (char)(0x80 | (code & 63));
	return 4;
}

static void test_every_code_point(void)
{
	int64_t wrong = -1;
	char bytes[4];

	for (uint32_t c = 0; c < 0x120000; c++) {
		size_t n = encode(c, bytes);
		bool steers = (c >= 0x80 && c < 0xa0) || c == 0x61c ||
			      (c >= 0x200b && c <= 0x200f) ||
			      (c >= 0x2028 && c <= 0x202e) ||
			      (c >= 0x2060 && c <= 0x2064) ||
			      (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
		bool bad = (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff;

		uint32_t code;

		if (utf8_length(bytes, n) != (steers || bad ? 0 : n))
			wrong = c;
		if (utf8_code(bytes, n, &code) != (bad ? 0 : n) ||
		    (!bad && code != c))
			wrong = c;
		/* a byte short is never taken */
		if (n > 1 && utf8_length(bytes, n - 1) != 0)
			wrong = c;
	}
	is_int(wrong, -1, "every code point is judged as Unicode has it");
}

static const struct {
	const char *bytes;
	size_t n;
	const char *shown;
} printable[] = {
	{TEXT(""), ""},
	{TEXT("plain text"), "plain text"},
	{TEXT("back\\slash"), "back\\slash"},
	{TEXT("\\x1b"), "\\x1b"},
	{TEXT("\x1b[2J"), "\\x1b[2J"},
	{TEXT("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d"},
	{TEXT("a\0b"), "a\\x00b"},
	{TEXT("\x7f"), "\\x7f"},
	{TEXT("h\xc3\xa9llo \xf0\x9f\x94\x92"),
	 "h\xc3\xa9llo \xf0\x9f\x94\x92"},
	{TEXT("\xff\xfe"), "\\xff\\xfe"},
	{TEXT("\xc3("), "\\xc3("},
	{TEXT("\xc2\x9bK"), "\\xc2\\x9bK"},
	/* NOLINTNEXTLINE(misc-misleading-bidirectional): as above */
	{TEXT("\xe2\x80\xae"
	      "txt"),
	 "\\xe2\\x80\\xae"
	 "txt"},
	{TEXT("\xe2\x82"), "\\xe2\\x82"},
	{TEXT("\xc0\x80"), "\\xc0\\x80"},
	{TEXT("%s%n"), "%s%n"},
};

static void test_format_bytes(void)
{
	char buf[100];

	for (size_t i = 0; i < COUNT(printable); i++)
		is_text(format_bytes(printable[i].bytes, printable[i].n, buf,
				     sizeof(buf)),
			printable[i].shown, "bytes are shown as %s",
			printable[i].shown);
}

/* Whether `got` is the whole text, or whole characters of it and "...". */
static bool well_cut(const char *bytes, size_t n, const char *whole,
		     const char *got, size_t size)
{
	size_t len = strlen(got), at = 0;

	if (len >= size)
		return false;
	if (strcmp(got, whole) == 0)
		return true;
	/* too small even for the dots */
	if (size < 4)
		return strncmp(got, "...", size - 1) == 0 && len == size - 1;
	if (len < 3 || strcmp(got + len - 3, "...") != 0 ||
	    strncmp(got, whole, len - 3) != 0)
		return false;
	for (size_t i = 0; i < n && at < len - 3;) {
		unsigned char c = (unsigned char)bytes[i];
		size_t step = c < 0x20 || c == 0x7f
				      ? 0
				      : utf8_length(bytes + i, n - i);

		at += step ? step : 4;
		i += step ? step : 1;
	}
	/* nothing is cut in two, and no more is lost than one character */
	return at == len - 3 && len + 4 >= size - 1;
}

/* Every text of the table in a buffer of every size, which ends where its
 * allocation ends. */
static void test_cut(void)
{
	for (size_t i = 0; i < COUNT(printable); i++) {
		size_t room = strlen(printable[i].shown) + 4;
		size_t wrong = 0, whole_from = 0;

		for (size_t size = room; size >= 1; size--) {
			char *buf = malloc(size);

			memset(buf, 'Z', size);
			format_bytes(printable[i].bytes, printable[i].n, buf,
				     size);
			if (!well_cut(printable[i].bytes, printable[i].n,
				      printable[i].shown, buf, size))
				wrong = size;
			if (strcmp(buf, printable[i].shown) == 0)
				whole_from = size;
			free(buf);
		}
		is_int((int64_t)wrong, 0, "%s is cut well at every size",
		       printable[i].shown);
		ok(whole_from <= strlen(printable[i].shown) + 1,
		   "%s is not cut where it fits", printable[i].shown);
	}
}

static const struct {
	const char *link, *masked;
} links[] = {
	{"", ""},
	{"https://ci/7", "https://ci/7"},
	{"https://me:token@ci/7", "https://***@ci/7"},
	{"https://token@ci/7", "https://***@ci/7"},
	{"https://a@b:c@d@ci:1/7?x=@#@", "https://***@ci:1/7?x=@#@"},
	{"https://ci/7@2", "https://ci/7@2"},
	{"https://ci?me@there", "https://ci?me@there"},
	{"https://ci#me@there", "https://ci#me@there"},
	{"me:token@ci/7", "***@ci/7"},
	{"https://me:to/ken@ci/7", "https://***@ci/7"},
	{"https://ci:8443/7@2", "https://ci:8443/7@2"},
	{"https://[::1]:1/7@2", "https://[::1]:1/7@2"},
	{"://me@", "://***@"},
	{"https://me:token@", "https://***@"},
	{"https://me:token", "https://***"},
	{"https://me:token/7", "https://***"},
	{"me:token", "***"},
	{"me:token@ci/7?next=http://ci", "***@ci/7?next=http://ci"},
};

static void test_mask_link(void)
{
	char buf[16];

	for (size_t i = 0; i < COUNT(links); i++) {
		char whole[64];

		is_text(mask_link(links[i].link, whole, sizeof(whole)),
			links[i].masked, "'%s' is masked", links[i].link);
	}
	is_text(mask_link("https://me:a-very-long-token@ci/7", buf,
			  sizeof(buf)),
		"https://***@ci/", "it is masked before it is cut");
}

static void test_without_stdio(void)
{
	static const int64_t some[] = {
		0, 7, 10, -1, INT64_MAX, INT64_MIN, 123456789, -1000000};
	char ours[64], its[64], *end;

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		(void)snprintf(its, sizeof(its), "n=%" PRId64 ":%016" PRIx64,
			       some[i], (uint64_t)some[i]);
		end = add_number(add_text(ours, "n="), some[i]);
		end = add_hash(add_text(end, ":"), (uint64_t)some[i]);
		ok(strcmp(ours, its) == 0 && end == ours + strlen(its),
		   "%s is written as printf does: %s", its, ours);
	}
}

int main(void)
{
	TEST(parse_duration);
	TEST(long_durations);
	TEST(parse_number);
	TEST(every_number);
	TEST(format_duration);
	TEST(utf8);
	TEST(every_code_point);
	TEST(format_bytes);
	TEST(cut);
	TEST(mask_link);
	TEST(without_stdio);
	return done();
}
