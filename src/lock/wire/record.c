/* SPDX-License-Identifier: MIT */
/* What a server stores about a client. */
#include "lock/wire/record.h"

#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "lock/wire/keys.h"

#define MEMBER_TTL_MAX 1000000000000

/* "NAME VALUE", up to the end of the line. */
struct line {
	const char *name, *value;
	size_t name_len, value_len;
};

/* Returns the start of the next line. */
static const char *read_line(const char *from, const char *end,
			     struct line *out)
{
	const char *stop = memchr(from, '\n', (size_t)(end - from));
	const char *blank;

	*out = (struct line){.name = "", .value = ""};
	if (!stop)
		return end;
	blank = memchr(from, ' ', (size_t)(stop - from));
	if (blank)
		*out = (struct line){from, blank + 1, (size_t)(blank - from),
				     (size_t)(stop - blank - 1)};
	return stop + 1;
}

static bool is_name(const struct line *l, const char *name)
{
	return strlen(name) == l->name_len &&
	       memcmp(l->name, name, l->name_len) == 0;
}

/* Returns -1 if it is not a number. */
static int64_t number(const char *bytes, size_t n)
{
	char text[24];

	if (n >= sizeof(text) || memchr(bytes, '\0', n))
		return -1;
	memcpy(text, bytes, n);
	text[n] = '\0';
	return parse_number(text, 0, INT64_MAX / 2);
}

static int64_t or_zero(int64_t n)
{
	return n > 0 ? n : 0;
}

static int64_t a_time(int64_t n)
{
	return at_most(or_zero(n), AGES_MS);
}

static int how_many(int64_t n)
{
	return (int)at_most(or_zero(n), INT_MAX);
}

void about_take(enum about what, const char *bytes, size_t n,
		char out[ABOUT_MAX])
{
	char shown[1024], masked[sizeof(shown) + sizeof("***")];

	if (what == ABOUT_CI) {
		/* a longer one is not ours: cut, it would not be masked */
		n = n < sizeof(shown) / 4 ? n : 0;
		(void)format_bytes(bytes, n, shown, sizeof(shown));
		bytes = mask_link(shown, masked, sizeof(masked));
		n = strlen(masked);
	}
	(void)format_bytes(bytes, n, out, ABOUT_MAX);
}

static void take_line(struct record *r, const struct line *l)
{
	int64_t n = number(l->value, l->value_len);

	if (is_name(l, "token")) {
		r->token = l->value;
		r->token_len = l->value_len;
	} else if (is_name(l, "ttl")) {
		r->ttl_ms = a_time(n);
	} else if (is_name(l, "fence")) {
		r->fence = or_zero(n);
	} else if (is_name(l, "since")) {
		r->since_ms = a_time(n);
	} else if (is_name(l, "ticket")) {
		r->ticket = or_zero(n);
	} else if (is_name(l, "renewed")) {
		r->renewed = n;
	} else if (is_name(l, "readers")) {
		r->readers = how_many(n);
	}
	for (int i = 0; i < ABOUT_COUNT; i++)
		if (is_name(l, about_name((enum about)i)))
			about_take((enum about)i, l->value, l->value_len,
				   r->about[i]);
}

static void read_lines(struct record *r, const char *from, const char *end)
{
	while (from < end) {
		struct line l;

		from = read_line(from, end, &l);
		take_line(r, &l);
	}
}

void record_read(struct record *r, const char *bytes, size_t n)
{
	*r = (struct record){.identity = "", .renewed = -1, .slots = 1};
	read_lines(r, bytes, bytes + n);
}

static size_t word(const char **from, const char *end)
{
	const char *p = *from;

	while (p < end && *p != ' ' && *p != '\n')
		p++;
	return (size_t)(p - *from);
}

void record_read_standing(struct record *r, const char *bytes, size_t n)
{
	const char *p = bytes, *end = bytes + n, *lines;
	size_t len = word(&p, end);

	record_read(r, "", 0);
	r->identity = bytes;
	r->identity_len = n;
	r->ttl_ms = a_time(number(p, len));
	p += p + len < end ? len + 1 : len;
	len = word(&p, end);
	r->slots = how_many(number(p, len));
	p += p + len < end ? len + 1 : len;
	len = word(&p, end);
	r->reads = memchr(p, 'r', len) != NULL;
	r->supersedes = memchr(p, 's', len) != NULL;
	lines = n > 0 ? memchr(bytes, '\n', n) : NULL;
	if (lines)
		read_lines(r, lines + 1, end);
}

void record_read_member(struct record *r, const char *bytes, size_t n)
{
	const char *p = bytes;
	size_t len = word(&p, bytes + n);

	record_read_standing(r, bytes + (len < n ? len + 1 : len),
			     n - (len < n ? len + 1 : len));
	r->token = bytes;
	r->token_len = len;
}

/* Takes a word that ends with `blank`, and that byte, too. Returns the length
 * of the word; 0: there is none. */
static size_t take_word(const char **from, const char *end, char blank)
{
	const char *p = *from;
	size_t n;

	while (p < end && !(*p == ' ' || (*p >= '\t' && *p <= '\r')))
		p++;
	n = (size_t)(p - *from);
	if (p == end || *p != blank)
		return 0;
	*from = p + 1;
	return n;
}

static bool take_number(const char **from, const char *end, int64_t most)
{
	const char *digits = *from;
	size_t n = take_word(from, end, ' ');
	int64_t value = n > 0 ? number(digits, n) : -1;

	return value > 0 && value <= most && digits[0] != '0';
}

bool record_is_member(const char *bytes, size_t n)
{
	const char *p = bytes, *end = bytes + n;

	return take_word(&p, end, ' ') > 0 &&
	       take_number(&p, end, MEMBER_TTL_MAX) &&
	       take_number(&p, end, SLOTS_MAX) && take_word(&p, end, '\n') > 0;
}

void json_about_flat(struct json *j, const char about[ABOUT_COUNT][ABOUT_MAX])
{
	for (int i = 0; i < ABOUT_SHOWN; i++) {
		const char *field = about_name((enum about)i);
		int64_t pid = i == ABOUT_PID
				      ? parse_number(about[i], 0, INT64_MAX / 2)
				      : -1;

		if (pid >= 0)
			json_number(j, field, pid);
		else if (i != ABOUT_PID && about[i][0] != '\0')
			json_text(j, field, about[i]);
	}
}

void json_about(struct json *j, const char *name,
		const char about[ABOUT_COUNT][ABOUT_MAX])
{
	json_open(j, name);
	json_about_flat(j, about);
	json_close(j);
}
