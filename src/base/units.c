/* SPDX-License-Identifier: MIT */
/* Durations, numbers and foreign bytes as text. */
#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DURATION_MAX_MS ((int64_t)10000 * 86400000)

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
	/* "ms" before "m": the first match counts */
	{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static const struct unit *unit_at(const char *text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
			return &units[i];
	return NULL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads one "12.5m" and moves *at past it. A number without a unit means
 * seconds and must be the whole text. */
static int64_t parse_part(const char **at, bool only)
{
	double value = 0, scale = 1;
	const struct unit *u;
	const char *p = *at;

	/* ".5", as in flock and timeout */
	if (!is_digit(*p) && *p != '.')
		return -1;
	for (; is_digit(*p); p++)
		value = value * 10 + (*p - '0');
	if (*p == '.') {
		if (!is_digit(*++p))
			return -1;
		for (; is_digit(*p); p++)
			value += (*p - '0') * (scale /= 10);
	}
	u = *p == '\0' && only ? &units[1] : unit_at(p);
	if (!u)
		return -1;
	if (*p != '\0')
		p += strlen(u->name);
	*at = p;
	value *= (double)u->ms;
	if (value > (double)DURATION_MAX_MS)
		return -1;
	return value > 0 && value < 1 ? 1 : (int64_t)(value + 1e-6);
}

int64_t parse_duration(const char *text)
{
	const char *p = text;
	int64_t total = 0;

	do {
		int64_t part = parse_part(&p, p == text);

		if (part < 0 || total + part > DURATION_MAX_MS)
			return -1;
		total += part;
	} while (*p != '\0');
	return total;
}

int64_t parse_number(const char *text, int64_t lo, int64_t hi)
{
	int64_t value = 0;

	if (*text == '\0')
		return -1;
	for (; *text != '\0'; text++) {
		if (!is_digit(*text) || *text - '0' > hi ||
		    value > (hi - (*text - '0')) / 10)
			return -1;
		value = value * 10 + (*text - '0');
	}
	return value < lo ? -1 : value;
}

int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

const char *format_duration(int64_t ms, char *buf, size_t size)
{
	int64_t s = ms / 1000;

	if (ms < 1000)
		(void)snprintf(buf, size, "%" PRId64 "ms", ms);
	else if (ms < 60000)
		(void)snprintf(buf, size, "%" PRId64 ".%" PRId64 "s", s,
			       ms % 1000 / 100);
	else if (s < 3600)
		(void)snprintf(buf, size, "%" PRId64 "m%02" PRId64 "s", s / 60,
			       s % 60);
	else if (s < 86400)
		(void)snprintf(buf, size, "%" PRId64 "h%02" PRId64 "m",
			       s / 3600, s / 60 % 60);
	else
		(void)snprintf(buf, size, "%" PRId64 "d%02" PRId64 "h",
			       s / 86400, s / 3600 % 24);
	return buf;
}

const char *format_seconds(int64_t ms, char *buf, size_t size)
{
	if (ms >= 60000)
		return format_duration(ms, buf, size);
	(void)snprintf(buf, size, "%" PRId64 "s", ms / 1000);
	return buf;
}

size_t utf8_code(const char *bytes, size_t left, uint32_t *code)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0, 0},
		     {0xe0, 0xc0, 0x80},
		     {0xf0, 0xe0, 0x800},
		     {0xf8, 0xf0, 0x10000}};
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t n = 1; n <= 4 && n <= left; n++) {
		*code = p[0] & (unsigned char)~forms[n - 1].mask;
		if ((p[0] & forms[n - 1].mask) != forms[n - 1].lead)
			continue;
		for (size_t i = 1; i < n; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			*code = *code << 6 | (p[i] & 0x3fU);
		}
		if (*code < forms[n - 1].least || *code > 0x10ffff ||
		    (*code >= 0xd800 && *code < 0xe000))
			return 0;
		return n;
	}
	return 0;
}

static bool is_unseen(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} blocks[] = {
		{0x80, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x2069},
		{0xfeff, 0xfeff},
	};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (code >= blocks[i].first && code <= blocks[i].last)
			return true;
	return false;
}

size_t utf8_length(const char *bytes, size_t left)
{
	uint32_t code;
	size_t n = utf8_code(bytes, left, &code);

	return n > 0 && is_unseen(code) ? 0 : n;
}

const char *format_limit(int64_t ms, char *buf, size_t size)
{
	static const struct {
		int64_t ms;
		char unit;
	} parts[] = {
		{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
	size_t used = 0;

	(void)snprintf(buf, size, "0s");
	if (ms == 0)
		return buf;
	if (ms < 1000 || ms % 1000 != 0)
		return format_duration(ms, buf, size);
	for (size_t i = 0; i < 4 && used < size; i++) {
		if (ms >= parts[i].ms)
			used += (size_t)snprintf(
				buf + used, size - used, "%lld%c",
				(long long)(ms / parts[i].ms), parts[i].unit);
		ms %= parts[i].ms;
	}
	return buf;
}

const char *format_bytes(const char *bytes, size_t n, char *buf, size_t size)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t used = 0, kept = 0; /* kept: how much fits before "..." */

	for (size_t i = 0; i < n;) {
		size_t len = p[i] < 0x20 || p[i] == 0x7f
				     ? 0
				     : utf8_length(bytes + i, n - i);
		size_t need = len ? len : 4;

		if (used + need >= size) {
			(void)snprintf(buf + kept, size - kept, "...");
			return buf;
		}
		if (len)
			memcpy(buf + used, p + i, len);
		else
			(void)snprintf(buf + used, 5, "\\x%02x", p[i]);
		used += need;
		if (used + 3 < size)
			kept = used;
		i += len ? len : 1;
	}
	buf[used] = '\0';
	return buf;
}

const char *format_word(const char *text, char *buf, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:@%+,-";
	const char *quote = *text && !text[strspn(text, plain)] ? "" : "'";
	size_t n = strlen(text), used = strlen(quote);

	if (strcmp(format_bytes(text, n, buf, size), text) != 0)
		return NULL;
	(void)snprintf(buf, size, "%s", quote);
	for (const char *p = text; *p; p++) {
		const char one[2] = {*p, '\0'};
		const char *put = *p == '\'' ? "'\\''" : one;

		if (used + strlen(put) + strlen(quote) >= size)
			return NULL;
		used += (size_t)snprintf(buf + used, size - used, "%s", put);
	}
	(void)snprintf(buf + used, size - used, "%s", quote);
	return buf;
}

/* Whether HOST or HOST:PORT ends there, or a password that has a raw slash. */
static bool is_host(const char *text, const char *end)
{
	const char *colon = memchr(text, ':', (size_t)(end - text));

	return text[0] == '[' || !colon ||
	       colon + 1 + strspn(colon + 1, "0123456789") == end;
}

const char *mask_link(const char *link, char *buf, size_t size)
{
	const char *from = strstr(link, "://"), *end, *at;
	bool host;

	/* (not one in the path) */
	if (from && strcspn(link, "/?#@") < (size_t)(from + 1 - link))
		from = NULL;
	from = from ? from + 3 : link;
	end = from + strcspn(from, "/?#");
	host = is_host(from, end);
	if (!memchr(from, '@', (size_t)(end - from)) && !host)
		end = from + strlen(from);
	at = memrchr(from, '@', (size_t)(end - from));
	if (at)
		(void)snprintf(buf, size, "%.*s***%s", (int)(from - link), link,
			       at);
	else if (!host) /* "user:password", and no host */
		(void)snprintf(buf, size, "%.*s***", (int)(from - link), link);
	else
		(void)snprintf(buf, size, "%s", link);
	return buf;
}

char *add_text(char *to, const char *text)
{
	size_t n = strlen(text);

	memcpy(to, text, n + 1);
	return to + n;
}

char *add_number(char *to, int64_t n)
{
	char digits[20];
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
	int used = 0;

	if (n < 0)
		*to++ = '-';
	do
		digits[used++] = (char)('0' + left % 10);
	while (left /= 10);
	while (used > 0)
		*to++ = digits[--used];
	*to = '\0';
	return to;
}

char *add_hash(char *to, uint64_t n)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[n >> shift & 15];
	*to = '\0';
	return to;
}
