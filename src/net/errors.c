/* SPDX-License-Identifier: MIT */
/* Error replies: what they mean, and what was said. */
#include "net/errors.h"

#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

/*
 * What a server's errors mean for a lock, and what to do. The first row that
 * matches counts. A row:
 *
 *	{source, the error's beginning, "" or a text somewhere in it, kind,
 *	 meaning, what to do},
 *
 * A user reads "MEANING; WHAT TO DO (the server's first sentence)" or, without
 * a meaning, only the server's words. The source is a server that grants locks
 * (in a Cluster or not: BOTH), or a Sentinel. The kind decides the exit status;
 * FAIL_UNAVAILABLE is worth another try.
 */
#define ONE ERROR_FROM_SERVER
#define MEMBER ERROR_FROM_CLUSTER
#define BOTH (ERROR_FROM_SERVER | ERROR_FROM_CLUSTER)
#define SENTINEL ERROR_FROM_SENTINEL
#define ALL (BOTH | SENTINEL)

/* what it means */
#define NO_RIGHT "the user lacks a right"
#define NO_RIGHT_TO_KEY "the user has no right to a key of this lock"
#define MAY_NOT_LOOK "the user may not look for locks"
#define WANTS_PASSWORD "the server requires a password"
#define HAS_NO_PASSWORD "a password was given, but the server has none"
#define NO_DATABASE "the server has no such database"
#define IS_MOVING "the lock is moving to another node of the Cluster"
#define NO_COMMAND                                                             \
	"a command that redlock's scripts need is unknown, renamed or "        \
	"forbidden there, so it cannot hold redlock's locks"

/* what to do */
#define LEAVE_IT_OUT "leave it out: see --password-file and REDISCLI_AUTH"
#define ALLOW_TO_LOOK "to allow it: ACL SETUSER NAME +scan +info"
#define OTHER_DATABASE                                                         \
	"give a lower number, or raise `databases` in its configuration"
#define GIVE_MASTER "give its master, or redis-sentinel://"
#define THIS_PASSES "this passes"
#define GIVE_PASSWORD "see --password-file and REDISCLI_AUTH"
#define RIGHTS "redlock doctor KEY prints the rights that redlock needs"
#define KEYS                                                                   \
	"it needs ~KEY ~KEY:redlock:* (redlock doctor KEY prints the whole "   \
	"line)"
#define NEED_CLUSTER "write redis-cluster://, not redis://"

struct error_row {
	enum error_from from; /* several: ored */
	const char *prefix, *part;
	enum fail_kind kind;
	const char *means, *cure; /* NULL: none */
};

/* clang-format off */
static const struct error_row error_rows[] = {

/* ---- passwords and rights ---- */

{SENTINEL, "NOAUTH", "", FAIL_REFUSED, "it requires a password",
 "give it with ?sentinel-password-file="},
{BOTH, "NOAUTH", "", FAIL_REFUSED, WANTS_PASSWORD, GIVE_PASSWORD},
/* Redis 7 limits the length of requests before AUTH */
{ALL, "ERR Protocol error: unauthenticated", "", FAIL_REFUSED,
 WANTS_PASSWORD, GIVE_PASSWORD},
{ALL, "WRONGPASS", "", FAIL_REFUSED,
 "wrong user name or password, or the user is disabled", NULL},
{ALL, "ERR invalid password", "", FAIL_REFUSED, "wrong password", NULL},
{ALL, "DENIED", "", FAIL_REFUSED,
 "the server is in protected mode and lets in only its own machine",
 "set a password there, or connect from there"},
{BOTH, "NOPERM", "'scan'", FAIL_REFUSED, MAY_NOT_LOOK, ALLOW_TO_LOOK},
{BOTH, "NOPERM", "'info'", FAIL_REFUSED, MAY_NOT_LOOK, ALLOW_TO_LOOK},
{BOTH, "NOPERM", " access ", FAIL_REFUSED, NO_RIGHT_TO_KEY, KEYS},
{BOTH, "NOPERM", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{SENTINEL, "NOPERM", "", FAIL_REFUSED, NO_RIGHT, NULL},
/* in a script: up to 6.2, 7.0, and from 7.2 on */
{BOTH, "The user executing the script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "ERR The user executing the script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "ERR ACL failure in script", " access ", FAIL_REFUSED,
 NO_RIGHT_TO_KEY, KEYS},
{BOTH, "The user executing the script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{BOTH, "ERR The user executing the script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
{BOTH, "ERR ACL failure in script", "", FAIL_REFUSED, NO_RIGHT, RIGHTS},
/* before 6.0 (Sentinels: 6.2), there are no users */
{ALL, "ERR wrong number of arguments for 'auth'", "", FAIL_REFUSED,
 "it has no users (servers have them since 6.0, Sentinels since 6.2)",
 "leave out the user name"},
{ALL, "ERR AUTH <password> called without", "", FAIL_REFUSED,
 HAS_NO_PASSWORD, LEAVE_IT_OUT},
{ALL, "ERR Client sent AUTH", "", FAIL_REFUSED, HAS_NO_PASSWORD, LEAVE_IT_OUT},
{ALL, "ERR AUTH", "", FAIL_REFUSED, NULL, NULL},

/* ---- servers that redlock cannot use ---- */

{SENTINEL, "ERR unknown command", "", FAIL_CONFIG, "it is not a Sentinel",
 "they usually listen on port 26379"},
{BOTH, "ERR unknown command: AUTH was refused", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "ERR unknown command", "eval", FAIL_CONFIG,
 "a Sentinel, which keeps no locks, or another server that runs no scripts, so "
 "redlock cannot lock there",
 "for a Sentinel, write redis-sentinel://HOST:PORT/NAME; start Garnet with "
 "--lua"},
{BOTH, "ERR unknown command", "scan", FAIL_CONFIG,
 "a Sentinel, which keeps no locks, or another server without SCAN",
 "for a Sentinel, write redis-sentinel://HOST:PORT/NAME"},
{BOTH, "ERR unknown command", "", FAIL_CONFIG,
 "the server lacks a command that redlock needs",
 "use Redis 6.0, Valkey 7.2, or later"},
{BOTH, "Unknown ", "called from", FAIL_CONFIG, NO_COMMAND, NULL},
{BOTH, "ERR Unknown ", "called from", FAIL_CONFIG, NO_COMMAND, NULL},
/* Redis 8, for readers and nested runs while a slot moves */
{BOTH, "", "during rehashing", FAIL_UNAVAILABLE, IS_MOVING, THIS_PASSES},
{BOTH, "", "undeclared key", FAIL_CONFIG,
 "its scripts may only use the keys that they declare",
 "allow undeclared keys (Dragonfly: "
 "--default_lua_flags=allow-undeclared-keys)"},
{BOTH, "ERR DB index", "", FAIL_CONFIG, NO_DATABASE, OTHER_DATABASE},
{BOTH, "ERR invalid DB index", "", FAIL_CONFIG, NO_DATABASE, OTHER_DATABASE},
{BOTH, "ERR SELECT is not allowed", "", FAIL_CONFIG,
 "the server has only database 0", "leave out the number"},
{ONE, "CROSSSLOT", "", FAIL_CONFIG, "the server belongs to a Cluster",
 NEED_CLUSTER},
/* (with a Cluster URL, redirections are followed) */
{ONE, "MOVED ", "", FAIL_CONFIG,
 "the server belongs to a Cluster, and the lock is on another of its nodes",
 NEED_CLUSTER},
{ONE, "ASK ", "", FAIL_CONFIG,
 "the server belongs to a Cluster, and the lock moves to another of its nodes",
 NEED_CLUSTER},
{BOTH, "CROSSSLOT", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "MOVED ", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "ASK ", "", FAIL_CONFIG, NULL, NULL},
{BOTH, "WRONGTYPE", "", FAIL_CONFIG,
 "a key of this lock holds something that is not redlock's",
 "redlock doctor KEY says which"},

/* ---- what passes, or must be mended there ---- */

{ONE, "CLUSTERDOWN", "", FAIL_UNAVAILABLE,
 "the server belongs to a Cluster, which does not serve this lock",
 NEED_CLUSTER ", and see CLUSTER INFO"},
{MEMBER, "CLUSTERDOWN", "", FAIL_UNAVAILABLE,
 "the Cluster does not serve this lock: a node is down, or slots have none",
 "see CLUSTER INFO"},
{BOTH, "TRYAGAIN", "", FAIL_UNAVAILABLE, IS_MOVING, THIS_PASSES},
{BOTH, "OOM", "", FAIL_UNAVAILABLE,
 "the server's memory is full: it grants no new lock, but renews those that "
 "are held",
 "raise maxmemory or delete keys, and keep maxmemory-policy noeviction"},
{BOTH, "READONLY", "", FAIL_UNAVAILABLE,
 "the server is a replica, which grants no lock",
 GIVE_MASTER},
{BOTH, "MASTERDOWN", "", FAIL_UNAVAILABLE,
 "the server is a replica whose master is down",
 GIVE_MASTER},
{BOTH, "NOREPLICAS", "", FAIL_UNAVAILABLE,
 "the server grants nothing until it has enough replicas",
 "start them again, or lower min-replicas-to-write"},
{BOTH, "MISCONF", "", FAIL_UNAVAILABLE,
 "the server cannot write to its disk, and so grants nothing",
 "free space on its disk and see its log"},
{BOTH, "LOADING", "", FAIL_UNAVAILABLE,
 "the server has started and still loads its data", THIS_PASSES},
{BOTH, "BUSY ", "", FAIL_UNAVAILABLE,
 "a script keeps the server from answering anybody",
 "wait for it to end, or stop it with SCRIPT KILL"},
{ALL, "ERR max number of clients", "", FAIL_UNAVAILABLE,
 "the server takes no more connections",
 "end idle clients, or raise maxclients (CONFIG SET maxclients N, from a "
 "client that is still connected)"},
/* all other errors may pass */
};
/* clang-format on */

/* ---- looking errors up ---- */

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

bool error_readonly(const char *text)
{
	return begins(text, "READONLY");
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
	size_t n = sizeof(wrap) - 1, call = 0, at;
	const char *end;

	if (len >= n && memcmp(text, wrap, n) == 0) {
		end = memmem(text, len, "): ", 3);
		call = end ? (size_t)(end - text) + 3 : 0;
	}
	at = past_line(text, len, call);
	if (at == call)
		return 0;
	at = past_line(text, len, at);
	return at + (at < len && text[at] == '-');
}
