/* SPDX-License-Identifier: MIT */
/* Error replies: what they mean, and what was said. */
#include "net/errors.h"

#include <stdio.h>
#include <string.h>

#include "net/error-rows.h"

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const struct error_row *row_of(const char *text, enum error_from from)
{
	for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++)
		if (error_rows[i].from & from &&
		    begins(text, error_rows[i].prefix) &&
		    strcasestr(text, error_rows[i].part))
			return &error_rows[i];
	return NULL;
}

/* Where Redis 7.0 and later say in which script it was: " script: SHA, on
 * @user_script:9." */
static size_t script_at(const char *text)
{
	static const char name[] = " script: ";
	const char *end = strstr(text, ", on @user_script:");
	size_t at = end ? (size_t)(end - text) : strlen(text);

	for (size_t i = at; end && i-- > 0;)
		if (begins(text + i, name))
			return i;
	return at;
}

/* The server's first sentence. Behind it are hints for other programs, our own
 * arguments, and a place in a script that the user does not have. */
static void first_words(const char *text, char *buf, size_t size)
{
	static const char *const ends[] = {". ", ", with args "};
	size_t n = script_at(text);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *end = strstr(text, ends[i]);

		if (end && (size_t)(end - text) < n)
			n = (size_t)(end - text);
	}
	while (n > 0 && strchr(". ,", text[n - 1]))
		n--;
	(void)snprintf(buf, size, "%.*s%s", (int)(n < size ? n : size - 4),
		       text, n < size ? "" : "...");
}

void error_explain(struct error_told *out, const char *text,
		   enum error_from from)
{
	const struct error_row *row = row_of(text, from);

	out->kind = row ? row->kind : FAIL_UNAVAILABLE;
	out->means = row ? row->means : NULL;
	out->cure = row ? row->cure : NULL;
	first_words(text, out->words, sizeof(out->words));
}

const char *error_say(const struct error_told *e, bool with_cure, char *buf,
		      size_t size)
{
	bool cure = with_cure && e->cure;

	(void)snprintf(buf, size, "%s%s%s%s%s%s",
		       e->means ? e->means : e->words, cure ? "; " : "",
		       cure ? e->cure : "", e->means ? " (" : "",
		       e->means ? e->words : "", e->means ? ")" : "");
	return buf;
}

const char *error_of_login(const char *text)
{
	static const struct {
		const char *prefix, *said;
	} known[] = {
		{"WRONGPASS",
		 "WRONGPASS invalid username-password pair or user is "
		 "disabled"},
		{"NOAUTH", "NOAUTH Authentication required"},
		{"NOPERM", "NOPERM this user may not log in"},
		{"DENIED",
		 "DENIED the server is in protected mode, because no password "
		 "is set"},
		{"ERR Protocol error: unauthenticated",
		 "ERR Protocol error: unauthenticated request too long"},
		{"ERR invalid password", "ERR invalid password"},
		{"ERR wrong number of arguments for 'auth'",
		 "ERR wrong number of arguments for 'auth' command"},
		{"ERR AUTH",
		 "ERR AUTH <password> called without any password configured "
		 "for the default user"},
		{"ERR Client sent AUTH",
		 "ERR Client sent AUTH, but no password is set"},
		{"ERR unknown command",
		 "ERR unknown command: AUTH was refused; the text is not "
		 "shown, because it may repeat the password"},
		{"ERR max number of clients",
		 "ERR max number of clients reached"},
		{"LOADING", "LOADING the server is loading its data"},
		{"MASTERDOWN", "MASTERDOWN"},
		{"CLUSTERDOWN", "CLUSTERDOWN the Cluster is down"},
		{"BUSY", "BUSY the server is running a script"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (begins(text, known[i].prefix))
			return known[i].said;
	return "AUTH was refused; the text is not shown, because it may repeat "
	       "the password";
}

bool error_missing(const char *text)
{
	return begins(text, "NOSCRIPT") || strcasestr(text, "evalsha");
}

bool error_waits(const char *text)
{
	return begins(text, "LOADING") || begins(text, "MASTERDOWN") ||
	       begins(text, "CLUSTERDOWN") || begins(text, "BUSY ");
}

bool error_begun(const char *text)
{
	const struct error_row *row = row_of(text, ERROR_FROM_SERVER);

	return row && row->kind == FAIL_REFUSED && !begins(text, "NOAUTH") &&
	       !begins(text, "ERR Protocol error: unauthenticated");
}

/* Skips "@user_script:475: " or "@user_script: 475: " at text + at. */
static size_t past_line(const char *text, size_t len, size_t at)
{
	static const char name[] = "@user_script:";
	size_t to = at + sizeof(name) - 1;

	if (to > len || memcmp(text + at, name, sizeof(name) - 1) != 0)
		return at;
	while (to < len && (text[to] == ' ' || text[to] == ':' ||
			    (text[to] >= '0' && text[to] <= '9')))
		to++;
	return to;
}

size_t error_wrap(const char *text, size_t len)
{
	static const char wrap[] = "ERR Error running script (call to f_";
	size_t n = sizeof(wrap) - 1, at;
	const char *end;

	if (len < n || memcmp(text, wrap, n) != 0)
		return 0;
	end = memmem(text, len, "): ", 3);
	if (!end)
		return 0;
	n = (size_t)(end - text) + 3;
	at = past_line(text, len, n);
	if (at == n)
		return 0;
	at = past_line(text, len, at);
	return at + (at < len && text[at] == '-');
}
