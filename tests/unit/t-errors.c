/* SPDX-License-Identifier: MIT */
/* Errors as what to do. */
#include "net/errors.h"

#include <string.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): texts of several lines */

static const struct {
	const char *text;
	enum fail_kind kind;
	const char *means, *cure; /* parts of them; NULL: none */
} errors[] = {
	{"NOAUTH Authentication required.", FAIL_REFUSED, "password",
	 "--password-file"},
	{"NOAUTH HELLO must be called with the client already authenticated",
	 FAIL_REFUSED, "password", "--password-file"},
	{"ERR Protocol error: unauthenticated bulk length", FAIL_REFUSED,
	 "password", "--password-file"},
	{"ERR Protocol error: unauthenticated multibulk length", FAIL_REFUSED,
	 "password", "--password-file"},
	{"WRONGPASS invalid username-password pair or user is disabled.",
	 FAIL_REFUSED, "wrong user name or password", NULL},
	{"DENIED Redis is running in protected mode because protected mode is "
	 "enabled",
	 FAIL_REFUSED, "protected mode", "set a password"},
	{"NOPERM this user has no permissions to run the 'eval' command",
	 FAIL_REFUSED, "lacks a right", "doctor"},
	{"NOPERM this user has no permissions to run the 'scan' command",
	 FAIL_REFUSED, "look for locks", "+scan"},
	{"NOPERM No permissions to access a key", FAIL_REFUSED,
	 "right to a key", "~KEY:redlock:"},
	{"ERR The user executing the script can't run this command",
	 FAIL_REFUSED, "lacks a right", "doctor"},
	{"The user executing the script can't run this command or subcommand",
	 FAIL_REFUSED, "lacks a right", "doctor"},
	{"ERR ACL failure in script: User joe has no permissions to run the "
	 "'zadd' command script: 6e1b, on @user_script:9.",
	 FAIL_REFUSED, "lacks a right", "doctor"},
	{"ERR ACL failure in script: No permissions to access a key "
	 "script: 6e1b, on @user_script:9.",
	 FAIL_REFUSED, "right to a key", "~KEY:redlock:"},
	{"ERR wrong number of arguments for 'auth' command", FAIL_REFUSED,
	 "no users", "leave out"},
	{"Unknown Redis command called from Lua script", FAIL_CONFIG, "renamed",
	 NULL},
	{"ERR Unknown Redis command called from script script: 6e1b, on "
	 "@user_script:9.",
	 FAIL_CONFIG, "renamed", NULL},
	{"ERR Unknown command called from script", FAIL_CONFIG, "renamed",
	 NULL},
	{"script tried accessing undeclared key", FAIL_CONFIG,
	 "that they declare", "undeclared keys"},
	{"ERR Unable to execute command 'exists' in script because undeclared "
	 "keys were accessed during rehashing of the slot script: 1336, on "
	 "@user_script:9.",
	 FAIL_UNAVAILABLE, "moving", "passes"},
	{"ERR Error running script (call to f_12ab): @user_script:5: oops",
	 FAIL_UNAVAILABLE, NULL, NULL},
	{"ERR invalid password", FAIL_REFUSED, "wrong password", NULL},
	{"ERR AUTH <password> called without any password configured for the "
	 "default user.",
	 FAIL_REFUSED, "has none", "leave it out"},
	{"ERR Client sent AUTH, but no password is set", FAIL_REFUSED,
	 "has none", "leave it out"},
	{"ERR unknown command 'EVAL', with args beginning with: 'local x = 1' ",
	 FAIL_CONFIG, "runs no scripts", "Garnet"},
	{"ERR unknown command `EVALSHA`", FAIL_CONFIG, "runs no scripts",
	 "for a Sentinel, write redis-sentinel://"},
	{"ERR unknown command 'eval'", FAIL_CONFIG, "runs no scripts",
	 "Garnet"},
	{"ERR unknown command `SCAN`", FAIL_CONFIG, "a Sentinel, which keeps",
	 "redis-sentinel://"},
	{"ERR unknown command `LINDEX`", FAIL_CONFIG, "lacks a command",
	 "Valkey"},
	{"ERR DB index is out of range", FAIL_CONFIG, "no such database",
	 "databases"},
	{"ERR invalid DB index", FAIL_CONFIG, "no such database", "databases"},
	{"ERR SELECT is not allowed in cluster mode", FAIL_CONFIG,
	 "only database 0", "leave out"},
	{"CROSSSLOT Keys in request don't hash to the same slot", FAIL_CONFIG,
	 "Cluster", "redis-cluster://"},
	{"WRONGTYPE Operation against a key holding the wrong kind of value",
	 FAIL_CONFIG, "not redlock's", "doctor"},
	{"LOADING Redis is loading the dataset in memory", FAIL_UNAVAILABLE,
	 "loads its data", "passes"},
	{"BUSY Redis is busy running a script. You can only call SCRIPT KILL "
	 "or SHUTDOWN NOSAVE.",
	 FAIL_UNAVAILABLE, "script", "SCRIPT KILL"},
	{"READONLY You can't write against a read only replica.",
	 FAIL_UNAVAILABLE, "replica", "redis-sentinel://"},
	{"READONLY You can't write against a read only replica. script: 6e1b, "
	 "on @user_script:842.",
	 FAIL_UNAVAILABLE, "replica", "redis-sentinel://"},
	{"OOM command not allowed when used memory > 'maxmemory'. script: "
	 "d18e, on @user_script:842.",
	 FAIL_UNAVAILABLE, "memory is full", "noeviction"},
	{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is "
	 "set to 'no'.",
	 FAIL_UNAVAILABLE, "master is down", "redis-sentinel://"},
	{"MISCONF Redis is configured to save RDB snapshots, but it's "
	 "currently unable to persist to disk. Commands that may modify the "
	 "data set are disabled",
	 FAIL_UNAVAILABLE, "disk", "log"},
	{"MISCONF Errors writing to the AOF file: No space left on device",
	 FAIL_UNAVAILABLE, "disk", "log"},
	{"NOREPLICAS Not enough good replicas to write.", FAIL_UNAVAILABLE,
	 "replicas", "min-replicas-to-write"},
	{"CLUSTERDOWN Hash slot not served", FAIL_UNAVAILABLE, "Cluster",
	 "redis-cluster://"},
	{"TRYAGAIN Multiple keys request during rehashing of slot",
	 FAIL_UNAVAILABLE, "moving", "passes"},
	{"MOVED 866 127.0.0.1:7001", FAIL_CONFIG, "Cluster",
	 "redis-cluster://"},
	{"ASK 866 127.0.0.1:7001", FAIL_CONFIG, "Cluster", "redis-cluster://"},
	{"ERR max number of clients reached", FAIL_UNAVAILABLE,
	 "no more connections", "maxclients"},
	{"ERR max number of clients + cluster connections reached",
	 FAIL_UNAVAILABLE, "no more connections", "maxclients"},
	{"ERR", FAIL_UNAVAILABLE, NULL, NULL},
	{"BUSYKEY Target key name already exists.", FAIL_UNAVAILABLE, NULL,
	 NULL},
	{"", FAIL_UNAVAILABLE, NULL, NULL},
	{"noauth", FAIL_UNAVAILABLE, NULL, NULL},
	{"the user said NOAUTH", FAIL_UNAVAILABLE, NULL, NULL},
};

/* Neither our scripts nor the place in a script are shown. */
static bool is_tidy(const char *said)
{
	static const char *const ours[] = {"on @user_script", " script: 6",
					   "with args", "local x"};

	for (size_t i = 0; i < COUNT(ours); i++)
		if (strstr(said, ours[i]))
			return false;
	return true;
}

static bool has(const char *text, const char *part)
{
	return part ? text && strstr(text, part) != NULL : text == NULL;
}

static void test_errors(void)
{
	static const char *const kinds[] = {
		[FAIL_CONFIG] = "configuration",
		[FAIL_UNAVAILABLE] = "worth another try",
		[FAIL_REFUSED] = "a refusal",
	};

	for (size_t i = 0; i < COUNT(errors); i++) {
		const char *text = errors[i].text;
		struct error_told e;
		char said[400], brief[400];

		error_explain(&e, text, ERROR_FROM_SERVER);
		is_int(e.kind, errors[i].kind, "'%s' is %s", text,
		       kinds[errors[i].kind]);
		ok(has(e.means, errors[i].means), "'%s' means: %s", text,
		   e.means ? e.means : "-");
		ok(has(e.cure, errors[i].cure), "'%s' is mended: %s", text,
		   e.cure ? e.cure : "-");
		(void)error_say(&e, true, said, sizeof(said));
		(void)error_say(&e, false, brief, sizeof(brief));
		ok(is_tidy(said) && strstr(said, e.words) &&
			   strstr(brief, e.words),
		   "it is said as: %s", said);
		ok(strlen(said) <= 300 && strlen(brief) <= 220,
		   "with room for a name: %zu, %zu", strlen(said),
		   strlen(brief));
		ok(!e.cure || (strstr(said, e.cure) && !strstr(brief, e.cure)),
		   "what to do is left out of what is brief");
	}
}

/* Of the server's text the first sentence is shown. */
static void test_words(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"OOM command not allowed when used memory > 'maxmemory'. "
		 "script: d18e, on @user_script:842.",
		 "OOM command not allowed when used memory > 'maxmemory'"},
		{"MISCONF Redis is configured to save RDB snapshots, but it's "
		 "currently unable to persist to disk. Commands that",
		 "MISCONF Redis is configured to save RDB snapshots, but it's "
		 "currently unable to persist to disk"},
		{"ERR unknown command `EVAL`, with args beginning with: `x`",
		 "ERR unknown command `EVAL`"},
		{"READONLY You can't write against a read only replica. ",
		 "READONLY You can't write against a read only replica"},
		{"MOVED 866 127.0.0.1:7001", "MOVED 866 127.0.0.1:7001"},
		{"ERR 7.2.4 is too old", "ERR 7.2.4 is too old"},
		{"...", ""},
		{"", ""},
	};
	char text[600];
	struct error_told e;

	for (size_t i = 0; i < COUNT(rows); i++) {
		error_explain(&e, rows[i].text, ERROR_FROM_SERVER);
		ok(strcmp(e.words, rows[i].words) == 0, "'%s' says '%s'",
		   rows[i].text, e.words);
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_explain(&e, text, ERROR_FROM_SERVER);
	ok(strcmp(e.words + strlen(e.words) - 3, "...") == 0,
	   "what is too long ends with dots");
}

/* The same error means something else where a Cluster is expected. */
static void test_cluster(void)
{
	struct error_told e;

	error_explain(&e, "CLUSTERDOWN Hash slot not served",
		      ERROR_FROM_CLUSTER);
	ok(e.cure && !strstr(e.cure, "redis-cluster://"),
	   "who wrote redis-cluster:// is not told to write it");
	error_explain(&e, "MOVED 866 127.0.0.1:7001", ERROR_FROM_CLUSTER);
	ok(!e.means && !e.cure, "a redirection has neither meaning nor cure");
}

/* What a server may have done before it refused the rest. */
static void test_begun(void)
{
	static const struct {
		const char *text;
		bool begun;
	} rows[] = {
		{"NOAUTH Authentication required.", false},
		{"ERR Protocol error: unauthenticated bulk length", false},
		{"ERR Protocol error: unauthenticated multibulk length", false},
		{"OOM command not allowed when used memory > 'maxmemory'.",
		 false},
		{"NOSCRIPT No matching script. Please use EVAL.", false},
		{"ERR DB index is out of range script: 6e1b, on @user_script:1",
		 false},
		{"ERR The user executing the script can't run this command or "
		 "subcommand script: 6e1b, on @user_script:9.",
		 true},
		{"The user executing the script can't run this command", true},
		{"ERR ACL failure in script: User joe has no permissions to "
		 "run "
		 "the 'zadd' command",
		 true},
		{"NOPERM this user has no permissions to run the 'set' command",
		 true},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		is_int(error_begun(rows[i].text), rows[i].begun, "'%s': %s",
		       rows[i].text,
		       rows[i].begun ? "a part of it may have run"
				     : "nothing was done");
}

/* What is in front of an error of a script. */
static void test_wraps(void)
{
#define SHA "0123456789012345678901234567890123456789"
#define CALL "ERR Error running script (call to f_" SHA "): "
	static const struct {
		const char *text, *plain;
	} rows[] = {
		{CALL "@user_script:475: @user_script: 475: -READONLY You "
		      "can't write against a read only replica. ",
		 "READONLY You can't write against a read only replica. "},
		{CALL "@user_script:1: WRONGTYPE Operation against a key",
		 "WRONGTYPE Operation against a key"},
		{CALL "@user_script:12: @user_script: 12: The user executing "
		      "the script can't run this command or subcommand",
		 "The user executing the script can't run this command or "
		 "subcommand"},
		{CALL "@user_script:12: @user_script: 12: Unknown Redis "
		      "command called from Lua script",
		 "Unknown Redis command called from Lua script"},
		{"@user_script: 186: -READONLY You can't write against a read "
		 "only replica. ",
		 "READONLY You can't write against a read only replica. "},
		{"READONLY You can't write against a read only replica. "
		 "script: " SHA ", on @user_script:1.",
		 NULL},
		{CALL "oops", NULL},
		{"ERR Error running script (call to f_" SHA, NULL},
		{"ERR Error running script (call to f_" SHA "): @user_scr",
		 NULL},
		{"ERR Error compiling script (new function): user_script:1",
		 NULL},
		{CALL "@user_script:", ""},
		{"", NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *text = rows[i].text;
		const char *plain = rows[i].plain ? rows[i].plain : text;

		ok(strcmp(text + error_wrap(text, strlen(text)), plain) == 0,
		   "'%s' says '%s'", text, plain);
	}
}

/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* Whom we ask is no master, but who watches them. */
static void test_sentinels(void)
{
	struct error_told e;

	error_explain(&e, "NOAUTH Authentication required.",
		      ERROR_FROM_SENTINEL);
	is_int(e.kind, FAIL_REFUSED,
	       "a Sentinel that wants a password refuses");
	ok(has(e.cure, "sentinel-password-file"), "and is to be given one");
	error_explain(&e, "ERR unknown command `SENTINEL`",
		      ERROR_FROM_SENTINEL);
	is_int(e.kind, FAIL_CONFIG, "one that knows no SENTINEL");
	ok(has(e.means, "not a Sentinel"), "it is not a Sentinel");
	error_explain(&e, "IDONTKNOW that", ERROR_FROM_SENTINEL);
	is_int(e.kind, FAIL_UNAVAILABLE, "all else may pass");
	ok(!e.means && !e.cure, "and is not explained");
}

int main(void)
{
	TEST(errors);
	TEST(words);
	TEST(cluster);
	TEST(begun);
	TEST(wraps);
	TEST(sentinels);
	return done();
}
