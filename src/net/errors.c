/* SPDX-License-Identifier: MIT */
/* Classes of error replies. */
#include "net/errors.h"

#include <string.h>

#define GIVE                                                                   \
	"; the server requires a password: see --password-file and "           \
	"REDISCLI_AUTH"
#define CLUSTER                                                                \
	"; the server belongs to a Cluster: write redis-cluster://, not "      \
	"redis://"
#define UNDECLARED                                                             \
	"; its scripts may only use the keys that they declare: it can hold "  \
	"plain locks, but no other kind, unless it allows other keys (see "    \
	"its "                                                                 \
	"manual)"
#define RENAMED                                                                \
	"; a command that redlock's scripts need is unknown, renamed or "      \
	"forbidden there, so it cannot hold redlock's locks"

#define RIGHTS "; redlock doctor prints the rights that redlock needs"

#define KEYS                                                                   \
	"; the user needs ~KEY ~KEY:redlock:* (redlock doctor KEY prints the " \
	"whole line)"

#define USERS                                                                  \
	"; it has no users (servers have them since 6.0, Sentinels since "     \
	"6.2): leave out the user name"

static const struct error_class {
	const char *prefix;
	const char *part; /* and this, somewhere after the beginning */
	enum fail_kind kind;
	const char *advice, *of_sentinel; /* NULL: none */
} classes[] = {
	{"NOAUTH", "", FAIL_REFUSED, GIVE,
	 "; give its password with ?sentinel-password-file="},
	/* Redis 7 limits the length of requests before AUTH */
	{"ERR Protocol error: unauthenticated", "", FAIL_REFUSED, GIVE, NULL},
	{"WRONGPASS", "", FAIL_REFUSED, NULL, NULL},
	{"DENIED", "", FAIL_REFUSED, NULL, NULL}, /* protected mode */
	{"NOPERM", " access ", FAIL_REFUSED, KEYS, NULL},
	{"NOPERM", "", FAIL_REFUSED, NULL, NULL},
	/* in a script: up to 6.2, 7.0, and from 7.2 on */
	{"The user executing the script", " access ", FAIL_REFUSED, KEYS, NULL},
	{"ERR The user executing the script", " access ", FAIL_REFUSED, KEYS,
	 NULL},
	{"ERR ACL failure in script", " access ", FAIL_REFUSED, KEYS, NULL},
	{"The user executing the script", "", FAIL_REFUSED, RIGHTS, NULL},
	{"ERR The user executing the script", "", FAIL_REFUSED, RIGHTS, NULL},
	{"ERR ACL failure in script", "", FAIL_REFUSED, RIGHTS, NULL},
	{"ERR invalid password", "", FAIL_REFUSED, NULL, NULL},
	/* before 6.0, Redis has no users */
	{"ERR wrong number of arguments for 'auth'", "", FAIL_REFUSED, USERS,
	 USERS},
	{"ERR AUTH", "", FAIL_REFUSED, NULL, NULL},
	{"ERR Client sent AUTH", "", FAIL_REFUSED, NULL, NULL},
	{"ERR unknown command", "", FAIL_CONFIG, NULL,
	 "; it is not a Sentinel (they usually listen on port 26379)"},
	{"Unknown ", "called from", FAIL_CONFIG, RENAMED, NULL},
	{"ERR Unknown ", "called from", FAIL_CONFIG, RENAMED, NULL},
	{"", "undeclared key", FAIL_CONFIG, UNDECLARED, NULL},
	{"ERR DB index", "", FAIL_CONFIG, NULL, NULL},
	{"ERR SELECT is not allowed", "", FAIL_CONFIG, NULL, NULL},
	{"ERR invalid DB index", "", FAIL_CONFIG, NULL, NULL},
	{"CROSSSLOT", "", FAIL_CONFIG, NULL, NULL},
	/* (with a Cluster URL, redirections are followed) */
	{"MOVED", "", FAIL_CONFIG, CLUSTER, NULL},
	{"ASK ", "", FAIL_CONFIG, CLUSTER, NULL},
	{"WRONGTYPE", "", FAIL_CONFIG, NULL, NULL},
	/* all other errors may pass: LOADING BUSY READONLY OOM MASTERDOWN
	 * MISCONF NOREPLICAS CLUSTERDOWN TRYAGAIN, "ERR max number of clients
	 * reached" */
};

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const struct error_class *class_of(const char *text)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (begins(text, classes[i].prefix) &&
		    strstr(text, classes[i].part))
			return &classes[i];
	return NULL;
}

enum fail_kind error_kind(const char *text, const char **advice)
{
	const struct error_class *class = class_of(text);

	*advice = class && class->advice ? class->advice : "";
	return class ? class->kind : FAIL_UNAVAILABLE;
}

enum fail_kind error_of_sentinel(const char *text, const char **advice)
{
	const struct error_class *class = class_of(text);

	*advice = class && class->of_sentinel ? class->of_sentinel : "";
	return class ? class->kind : FAIL_UNAVAILABLE;
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
		 "ERR AUTH called, but no password is set for the default "
		 "user"},
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
	       begins(text, "CLUSTERDOWN") || begins(text, "BUSY");
}

bool error_begun(const char *text)
{
	const char *advice;

	return error_kind(text, &advice) == FAIL_REFUSED &&
	       !begins(text, "NOAUTH") &&
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
