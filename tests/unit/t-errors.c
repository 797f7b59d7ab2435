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
	bool advice;
} errors[] = {
	{"NOAUTH Authentication required.", FAIL_REFUSED, true},
	{"NOAUTH HELLO must be called with the client already authenticated",
	 FAIL_REFUSED, true},
	{"ERR Protocol error: unauthenticated bulk length", FAIL_REFUSED, true},
	{"ERR Protocol error: unauthenticated multibulk length", FAIL_REFUSED,
	 true},
	{"WRONGPASS invalid username-password pair or user is disabled.",
	 FAIL_REFUSED, false},
	{"NOPERM this user has no permissions to run the 'eval' command",
	 FAIL_REFUSED, false},
	{"ERR The user executing the script can't run this command",
	 FAIL_REFUSED, true},
	{"The user executing the script can't run this command or subcommand",
	 FAIL_REFUSED, true},
	{"ERR ACL failure in script: User joe has no permissions to run the "
	 "'zadd' command script: 6e1b, on @user_script:9.",
	 FAIL_REFUSED, true},
	{"NOPERM No permissions to access a key", FAIL_REFUSED, true},
	{"ERR ACL failure in script: No permissions to access a key "
	 "script: 6e1b, on @user_script:9.",
	 FAIL_REFUSED, true},
	{"ERR wrong number of arguments for 'auth' command", FAIL_REFUSED,
	 true},
	{"Unknown Redis command called from Lua script", FAIL_CONFIG, true},
	{"ERR Unknown Redis command called from script script: 6e1b, on "
	 "@user_script:9.",
	 FAIL_CONFIG, true},
	{"ERR Unknown command called from script", FAIL_CONFIG, true},
	{"script tried accessing undeclared key", FAIL_CONFIG, true},
	{"ERR Error running script (call to f_12ab): @user_script:5: oops",
	 FAIL_UNAVAILABLE, false},
	{"ERR invalid password", FAIL_REFUSED, false},
	{"ERR AUTH <password> called without any password configured for the "
	 "default user.",
	 FAIL_REFUSED, false},
	{"ERR Client sent AUTH, but no password is set", FAIL_REFUSED, false},
	{"ERR unknown command 'EVAL', with args beginning with: ", FAIL_CONFIG,
	 false},
	{"ERR unknown command `EVAL`", FAIL_CONFIG, false},
	{"ERR DB index is out of range", FAIL_CONFIG, false},
	{"ERR invalid DB index", FAIL_CONFIG, false},
	{"ERR SELECT is not allowed in cluster mode", FAIL_CONFIG, false},
	{"CROSSSLOT Keys in request don't hash to the same slot", FAIL_CONFIG,
	 false},
	{"WRONGTYPE Operation against a key holding the wrong kind of value",
	 FAIL_CONFIG, false},
	{"LOADING Redis is loading the dataset in memory", FAIL_UNAVAILABLE,
	 false},
	{"BUSY Redis is busy running a script.", FAIL_UNAVAILABLE, false},
	{"READONLY You can't write against a read only replica.",
	 FAIL_UNAVAILABLE, false},
	{"OOM command not allowed when used memory > 'maxmemory'.",
	 FAIL_UNAVAILABLE, false},
	{"MASTERDOWN Link with MASTER is down", FAIL_UNAVAILABLE, false},
	{"MISCONF Redis is configured to save RDB snapshots", FAIL_UNAVAILABLE,
	 false},
	{"NOREPLICAS Not enough good replicas to write.", FAIL_UNAVAILABLE,
	 false},
	{"CLUSTERDOWN The cluster is down", FAIL_UNAVAILABLE, false},
	{"TRYAGAIN Multiple keys request during rehashing of slot",
	 FAIL_UNAVAILABLE, false},
	{"MOVED 866 127.0.0.1:7001", FAIL_CONFIG, true},
	{"ASK 866 127.0.0.1:7001", FAIL_CONFIG, true},
	{"ERR max number of clients reached", FAIL_UNAVAILABLE, false},
	{"ERR", FAIL_UNAVAILABLE, false},
	{"", FAIL_UNAVAILABLE, false},
	{"noauth", FAIL_UNAVAILABLE, false},
	{"the user said NOAUTH", FAIL_UNAVAILABLE, false},
};

static void test_errors(void)
{
	static const char *const kinds[] = {
		[FAIL_CONFIG] = "configuration",
		[FAIL_UNAVAILABLE] = "worth another try",
		[FAIL_REFUSED] = "a refusal",
	};

	for (size_t i = 0; i < COUNT(errors); i++) {
		const char *advice = NULL;

		is_int(error_kind(errors[i].text, &advice), errors[i].kind,
		       "'%s' is %s", errors[i].text, kinds[errors[i].kind]);
		ok(advice && (advice[0] != '\0') == errors[i].advice,
		   "'%s' has %s advice", errors[i].text,
		   errors[i].advice ? "some" : "no");
	}
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
	const char *advice;

	is_int(error_of_sentinel("NOAUTH Authentication required.", &advice),
	       FAIL_REFUSED, "a Sentinel that wants a password refuses");
	ok(strstr(advice, "sentinel-password-file"), "and is to be given one");
	is_int(error_of_sentinel("ERR unknown command `SENTINEL`", &advice),
	       FAIL_CONFIG, "one that knows no SENTINEL");
	ok(strstr(advice, "not a Sentinel"), "is none");
	is_int(error_of_sentinel("IDONTKNOW that", &advice), FAIL_UNAVAILABLE,
	       "all else may pass");
}

int main(void)
{
	test_errors();
	test_begun();
	test_wraps();
	test_sentinels();
	return done();
}
