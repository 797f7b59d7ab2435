/* SPDX-License-Identifier: MIT */
/* What a server stores about a client. */
#include "lock/wire/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "lock/wire/keys.h"

#define IDENTITY_TTL_MAX 1000000000000 /* as in src/lua/line.lua */

static const char *const about_names[ABOUT_COUNT] = {
	[ABOUT_HOST] = "host",       [ABOUT_PID] = "pid",
	[ABOUT_USER] = "user",       [ABOUT_COMMAND] = "command",
	[ABOUT_REASON] = "reason",   [ABOUT_CI] = "ci_url",
	[ABOUT_PROCESS] = "process",
};

const char *about_name(enum about field)
{
	return about_names[field];
}

/* ---- writing ---- */

/* One line per field: a newline in a value becomes a blank. */
static void add_about(const struct holder *who, char text[IDENTITY_SIZE],
		      size_t used)
{
	for (int i = 0; i < ABOUT_COUNT; i++) {
		const char *value = who->about[i];
		char *from = text + used;

		if (!value || value[0] == '\0')
			continue;
		used += (size_t)snprintf(from, IDENTITY_SIZE - used,
					 "%s %.*s\n", about_name((enum about)i),
					 ABOUT_MAX - 1, value);
		for (char *p = from; p < text + used - 1; p++)
			if (*p == '\n')
				*p = ' ';
	}
}

void record_about(const struct holder *who, char text[IDENTITY_SIZE])
{
	text[0] = '\0';
	add_about(who, text, 0);
}

void record_identity(const struct lease_conf *conf, const struct holder *who,
		     char text[IDENTITY_SIZE])
{
	static const char *const flags[] = {"-", "s",  "r",  "sr",
					    "p", "sp", "rp", "srp"};
	const char *names = conf->slot_names;
	size_t used = (size_t)snprintf(
		text, IDENTITY_SIZE, "%" PRId64 " %d %s\n", conf->ttl_ms,
		lease_slots(conf),
		flags[conf->supersede + 2 * conf->shared + 4 * conf->high]);

	if (conf->nodes > 1) /* for clients that get other nodes */
		used += (size_t)snprintf(text + used, IDENTITY_SIZE - used,
					 "ticket %" PRId64 "\n", conf->ticket);
	if (conf->unrecorded)
		used += (size_t)snprintf(text + used, IDENTITY_SIZE - used,
					 "unrecorded 1\n");
	add_about(who, text, used);
	/* the last, because it is the longest: see src/lua/state.lua */
	used += strlen(text + used);
	if (names && strlen(names) < SLOT_NAMES_MOST - 8) {
		(void)snprintf(text + used, IDENTITY_SIZE - used, "names %s\n",
			       names);
		for (char *p = text + used; p[0] && p[1]; p++)
			if (*p == '\n')
				*p = ' ';
	}
}

const char *slot_name(const char *names, int slot, size_t *len)
{
	for (int i = 0; names && i < slot; i++) {
		names = strchr(names, ',');
		names += names != NULL;
	}
	*len = names ? strcspn(names, ",") : 0;
	return names;
}

/* ---- reading ---- */

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

int64_t record_number(const char *bytes, size_t n)
{
	char text[24];

	if (n >= sizeof(text) || memchr(bytes, '\0', n))
		return -1;
	memcpy(text, bytes, n);
	text[n] = '\0';
	return parse_number(text, 0, INT64_MAX / 2);
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
	int64_t n = record_number(l->value, l->value_len);

	if (is_name(l, "since") && n > 0)
		r->since_ms = at_most(n, AGES_MS);
	else if (is_name(l, "ticket") && n > 0)
		r->ticket = n;
	else if (is_name(l, "replaces"))
		r->replaces = true;
	else if (is_name(l, "outcome") &&
		 !(l->value_len == 3 && memcmp(l->value, "ran", 3) == 0))
		(void)format_bytes(l->value, l->value_len, r->end.outcome,
				   sizeof(r->end.outcome));
	else if (is_name(l, "exit"))
		r->end.status = n;
	else if (is_name(l, "signal"))
		r->end.signal = n;
	for (int i = 0; i < ABOUT_COUNT; i++)
		if (is_name(l, about_name((enum about)i)))
			about_take((enum about)i, l->value, l->value_len,
				   r->about[i]);
}

void record_read(struct record *r, const char *bytes, size_t n)
{
	const char *from = bytes, *end = bytes + n;

	*r = (struct record){.slots = 1, .end = {.status = -1, .signal = -1}};
	while (from < end) {
		struct line l;

		from = read_line(from, end, &l);
		take_line(r, &l);
	}
}

const char *record_failure(const struct record_end *end,
			   char buf[RECORD_FAILURE_SIZE])
{
	char how[32] = "";

	buf[0] = '\0';
	if (end->outcome[0] == '\0')
		return buf;
	if (end->signal > 0)
		(void)snprintf(how, sizeof(how), ", signal %" PRId64,
			       end->signal);
	else if (end->status > 0)
		(void)snprintf(how, sizeof(how), ", exit %" PRId64,
			       end->status);
	(void)snprintf(buf, RECORD_FAILURE_SIZE, " (%s%s)", end->outcome, how);
	return buf;
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

/* -1: there is none, from 1 to `most`. */
static int64_t take_number(const char **from, const char *end, int64_t most)
{
	const char *digits = *from;
	size_t n = take_word(from, end, ' ');
	int64_t value = n > 0 ? record_number(digits, n) : -1;

	return value > 0 && value <= most && digits[0] != '0' ? value : -1;
}

bool record_read_identity(struct record *r, const char *bytes, size_t n)
{
	const char *p = bytes, *end = bytes + n, *flags;
	int64_t ttl = take_number(&p, end, IDENTITY_TTL_MAX);
	int64_t slots = ttl > 0 ? take_number(&p, end, SLOTS_MAX) : -1;
	size_t len;

	flags = p;
	len = slots > 0 ? take_word(&p, end, '\n') : 0;
	record_read(r, p, len > 0 ? (size_t)(end - p) : 0);
	if (len == 0)
		return false;
	r->ttl_ms = ttl;
	r->slots = (int)slots;
	r->reads = memchr(flags, 'r', len) != NULL;
	r->supersedes = memchr(flags, 's', len) != NULL;
	r->high = memchr(flags, 'p', len) != NULL;
	return true;
}

bool record_read_member(struct record *r, const char *bytes, size_t n)
{
	const char *p = bytes;
	size_t len = take_word(&p, bytes + n, ' ');
	bool ours = record_read_identity(r, p, (size_t)(bytes + n - p));

	r->token = bytes;
	r->token_len = len > 0 ? len : n;
	return len > 0 && ours;
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
