/* SPDX-License-Identifier: MIT */
/* The command line. */
#include "cli/optrows.h"

#include <getopt.h>
#include <stdlib.h>

#include "cli/command.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 20
#define HOURS ((int64_t)3600000)

/* argv as main() gets it: writable, NULL at its end. */
struct line {
	char *argv[ARGS_MAX + 2];
	int argc;
	struct opts o;
	struct fail why;
};

static int parse(struct line *l, const char *const args[ARGS_MAX])
{
	memset(l, 0, sizeof(*l));
	l->argv[l->argc++] = strdup("redlock");
	for (int i = 0; i < ARGS_MAX && args[i]; i++)
		l->argv[l->argc++] = strdup(args[i]);
	optind = 0; /* getopt(3) keeps its place between calls */
	opts_init(&l->o);
	return cmdline_parse(&l->o, l->argc, l->argv, &l->why);
}

static void forget(struct line *l)
{
	for (int i = 0; i < l->argc; i++)
		free(l->argv[i]);
	opts_close(&l->o);
}

static const char *joined(const char *const args[ARGS_MAX])
{
	static char text[300];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < ARGS_MAX && args[i]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%.40s", i ? " " : "",
					 *args[i] ? args[i] : "''");
	return text;
}

/* Must be the first test of this program. */
static void test_order(void)
{
	struct line l;

	is_int(parse(&l, (const char *[ARGS_MAX]){"-k", "job", "ls", "-n",
						  "--nosuch"}),
	       0, "options end at the first word that is not one");
	ok(l.o.wait_ms == INT64_MAX && l.o.command == l.argv + 3,
	   "what follows is the command's, and in its order");
	forget(&l);
}

static void test_defaults(void)
{
	struct line l;

	is_int(parse(&l, (const char *[ARGS_MAX]){"-k", "job", "true"}), 0,
	       "a key and a command are enough");
	ok(l.o.verb == &cmd_run, "the default is to run the command");
	is_int(l.o.show, SHOW_NOTHING, "and not to show anything else");
	is_text(l.o.key[0], "job", "the key is as given");
	is_int(l.o.ttl_ms, 30000, "the lease is 30 s by default");
	is_int(l.o.wait_ms, INT64_MAX, "redlock waits for ever by default");
	is_int(l.o.grace_ms, 4500, "-K is 0.15 of -t by default");
	is_int(l.o.conflict_status, 75, "-E is 75 by default");
	is_int(l.o.node_timeout_ms, 0, "how long a node has is not said");
	is_int(l.o.guard_ms, GUARD_AUTO, "nor how long one is not believed");
	is_int(l.o.loudness, 0, "redlock is neither quiet nor verbose");
	ok(l.o.urls == 0 && !l.o.user && !l.o.password_file && !l.o.reason &&
		   !l.o.result_file && !l.o.shell_command,
	   "no text is set that was not given");
	ok(!l.o.no_describe && !l.o.run_anyway && !l.o.allow_long_ttl &&
		   !l.o.once_any,
	   "no switch is on that was not given");
	is_text(l.o.command[0], "true", "the command is what follows");
	ok(!l.o.command[1], "the command ends with NULL");
	ok(l.o.command == l.argv + 3, "the command's words are argv's own");
	forget(&l);
}

/* What an option sets: a number, a switch or a text of struct opts. (That a
 * value may stand behind a blank or a sign is getopt's: -t shows it.) */
enum kind { I64, INT, BOOL, STRING };

static const struct option_row {
	const char *args[ARGS_MAX]; /* then come "-k job true" */
	enum kind kind;
	size_t at;
	int64_t number;
	const char *text;
} each[] = {
#define N(k, f, n, ...)                                                        \
	{                                                                      \
		{__VA_ARGS__}, k, offsetof(struct opts, f), n, NULL            \
	}
#define T(f, t, ...)                                                           \
	{                                                                      \
		{__VA_ARGS__}, STRING, offsetof(struct opts, f), 0, t          \
	}
	N(BOOL, shared, 1, "-s"),
	N(BOOL, shared, 1, "--exclusive", "--shared"),
	N(BOOL, shared, 0, "-s", "-x"),
	N(INT, slots, 1000, "-N", "1000"),
	N(INT, slots, 3, "--slots=3"),
	N(I64, max_hold_ms, 90000, "--max-hold", "1m30s"),
	N(INT, max_renewals, 0, "--max-renewals", "0"),
	N(INT, max_renewals, 7, "--max-renewals", "7"),
	N(I64, min_hold_ms, 60000, "--min-hold", "60"),
	N(I64, min_hold_ms, 0, "--min-hold", "0"),
	N(I64, min_hold_ms, 48 * HOURS, "--min-hold", "2d", "--allow-long-ttl"),
	N(I64, once_ms, 24 * HOURS, "--once-per", "1d"),
	N(I64, revision, 0, "--revision", "0"),
	N(I64, revision, INT64_C(9007199254740991), "--revision",
	  "9007199254740991"),
	N(I64, revision, -1, "-n"),
	N(BOOL, replace, 1, "--replace"),
	N(I64, force_grace_ms, 10000, "--replace"),
	N(I64, force_grace_ms, 60000, "--replace", "--grace", "1m"),
	N(BOOL, high, 1, "--priority=high", "-n"),
	N(BOOL, high, 0, "--priority=high", "--priority=normal"),
	N(BOOL, high, 0, "--priority=normal", "--supersede"),
	N(BOOL, once_any, 1, "--once-counts", "any"),
	N(BOOL, once_any, 0, "--once-counts=any", "--once-counts=success"),
	N(INT, orphans, ORPHANS_WAIT, "--orphans", "wait"),
	N(INT, orphans, ORPHANS_LEAVE, "--orphans", "kill", "--orphans",
	  "leave"),
	N(I64, grace_ms, 60000, "-K", "1m", "--max-hold", "1h"),
	N(INT, keys, 1, "-k", "job"),
	N(INT, keys, 3, "-k", "b", "-k", "a", "-k", "b"),
	N(I64, ttl_ms, 1500, "-t", "1.5s"),
	N(I64, ttl_ms, 1500, "-t1.5s"),
	N(I64, ttl_ms, 60000, "--ttl=1m"),
	N(I64, ttl_ms, 200, "-t", "200ms"),
	N(I64, ttl_ms, 24 * HOURS, "-t", "24h"),
	N(I64, ttl_ms, 5000, "-t", "1h", "-t", "5"),
	N(I64, ttl_ms, 48 * HOURS, "--allow-long-ttl", "-t", "2d"),
	N(I64, ttl_ms, 48 * HOURS, "-t", "2d", "--allow-long-ttl"),
	N(BOOL, allow_long_ttl, 1, "--allow-long-ttl"),
	N(I64, grace_ms, 225, "-t", "1.5s"),
	N(I64, grace_ms, 30, "-t", "200ms"),
	N(I64, grace_ms, 2000, "-K", "2s"),
	N(I64, grace_ms, 0, "-K", "0"),
	N(I64, grace_ms, 15000, "-K", "15s"),
	N(I64, grace_ms, 5000, "-K", "5s", "-t", "10s"),
	N(I64, wait_ms, 10000, "-w", "10"),
	N(I64, wait_ms, 0, "-w", "0"),
	N(I64, wait_ms, 0, "-n"),
	N(I64, wait_ms, 0, "-w", "9", "-n"),
	N(I64, wait_ms, 0, "-n", "-w", "9"),
	N(INT, conflict_status, 0, "-E", "0"),
	N(INT, conflict_status, 255, "-E255"),
	N(INT, conflict_status, 3, "--conflict-exit-code=3"),
	N(I64, node_timeout_ms, 250, "--node-timeout", "250ms"),
	N(I64, guard_ms, 90000, "--restart-guard", "1m30s"),
	N(I64, guard_ms, 0, "--restart-guard=off"),
	N(I64, guard_ms, 0, "--restart-guard=0"),
	N(I64, guard_ms, GUARD_AUTO, "--restart-guard=off",
	  "--restart-guard=auto"),
	N(BOOL, run_anyway, 1, "--on-unavailable", "run"),
	N(BOOL, run_anyway, 0, "--on-unavailable=fail"),
	N(BOOL, run_anyway, 0, "--on-unavailable=run", "--on-unavailable=fail"),
	N(BOOL, no_describe, 1, "--no-describe"),
	N(BOOL, askpass, 1, "--askpass"),
	N(BOOL, shared_scope, 1, "--shared-scope"),
	N(INT, tls_verify, TLS_CA, "--tls-verify", "ca"),
	N(INT, tls_verify, TLS_FULL, "--tls-verify=none", "--tls-verify=full"),
	N(INT, wait_replicas, 0, "--wait-replicas", "0"),
	N(INT, wait_replicas, 100, "--wait-replicas=100"),
	N(INT, color, COLOR_NEVER, "--color", "never"),
	N(BOOL, log_json, 1, "--log-format", "json"),
	N(BOOL, log_json, 0, "--log-format=json", "--log-format=text"),
	N(INT, loudness, -1, "-q"),
	N(INT, loudness, 1, "-v"),
	N(INT, loudness, 1, "-q", "-v"),
	N(INT, loudness, -1, "-vq"),
	N(I64, wait_ms, 0, "-nq"),
	N(INT, conflict_status, 7, "-nqE7"),
	N(INT, conflict_status, 7, "-nqE", "7"),
	T(url, "redis://a:1", "-u", "redis://a:1"),
	T(url, "redis://:pw@a", "--url=redis://:pw@a"),
	T(url, "", "-u", ""),
	T(url, "", "-u", "  "),
	T(url, "redis://a", "-u", " redis://a "),
	T(url, "redis://a b", "-u", "redis://a b"),
	T(url, " redis://:p w@h", "-u", " redis://:p w@h"),
	N(INT, urls, 1, "-u", "redis://:p w@h"),
	N(INT, urls, 2, "-u", "redis://a", "-u", "redis://a"),
	N(INT, urls, 3, "-u", "local: redis://a\tvalkey-cluster://b\n"),
	N(INT, urls, 3, "-u", "redis://a", "--url=unix:///b rediss://c"),
	N(BOOL, more_urls, 0, "-u", "a://1 a://2 a://3 a://4 a://5", "-u",
	  "a://6 a://7 a://8 a://9"),
	N(INT, urls, 9, "-u", "a://1 a://2 a://3 a://4 a://5", "-u",
	  "a://6 a://7 a://8 a://9 a://10 a://11"),
	N(BOOL, more_urls, 1, "-u", "a://1 a://2 a://3 a://4 a://5", "-u",
	  "a://6 a://7 a://8 a://9 a://10 a://11"),
	T(user, "me", "--user", "me"),
	T(password_file, "/p w", "--password-file", "/p w"),
	T(cacert, "ca.pem", "--cacert", "ca.pem"),
	T(cacertdir, "/etc/ssl/certs", "--cacertdir=/etc/ssl/certs"),
	T(cert, "me.pem", "--cert", "me.pem"),
	T(key_file, "me.key", "--key-file", "me.key"),
	T(sni, "redis.example", "--sni", "redis.example"),
	T(reason, "a=b", "--reason", "a=b"),
	T(reason, "", "--reason="),
	T(reason, "-q", "--reason", "-q"),
	T(result_file, "/f", "--result-file", "/f"),
	T(key, "job", "-k", "job"),
	T(key, "job", "--key=job"),
	T(key, "--", "--key=--"),
	T(key, "=job", "--key==job"),
	T(result_file, "--", "--result-file=--"),
	T(reason, "--", "--reason=--"),
	T(slot_names, "gpu0", "-N", "gpu0"),
	T(slot_names, "gpu0", "-N", "gpu0,"),
	T(slot_names, "3", "--slots=3,"),
	T(slot_names, "a,b", "-N", "a,b,"),
	N(INT, slots, 1, "-N", "gpu0,"),
	N(INT, slots, 2, "-N", "a,b,"),
	T(slot_names, NULL, "-N", "gpu0", "-N", "2"),
};

static void check_row(const struct option_row *row, const struct line *l)
{
	const char *field = (const char *)&l->o + row->at;
	const char *text;
	int64_t wide;
	bool on;
	int n;

	switch (row->kind) {
	case I64:
		memcpy(&wide, field, sizeof(wide));
		is_int(wide, row->number, "%s is read", joined(row->args));
		break;
	case INT:
		memcpy(&n, field, sizeof(n));
		is_int(n, row->number, "%s is read", joined(row->args));
		break;
	case BOOL:
		memcpy(&on, field, sizeof(on));
		is_int(on, row->number, "%s is read", joined(row->args));
		break;
	case STRING:
		memcpy(&text, field, sizeof(text));
		is_text(text, row->text, "%s is read", joined(row->args));
		break;
	}
}

static void test_each(void)
{
	for (size_t i = 0; i < COUNT(each); i++) {
		const char *args[ARGS_MAX] = {0};
		struct line l;
		int n = 0;

		for (; each[i].args[n]; n++)
			args[n] = each[i].args[n];
		args[n++] = "-k";
		args[n++] = "job";
		args[n] = "true";
		if (is_int(parse(&l, args), 0, "%s is accepted", joined(args)))
			check_row(&each[i], &l);
		else
			printf("# %s\n", l.why.text);
		forget(&l);
	}
}

/* The last text is part of the message: it must name what is wrong. */
static const struct {
	const char *args[ARGS_MAX];
	const char *says;
} refused[] = {
	{{NULL}, "no key and no command"},
	{{"true"}, "unknown verb 'true'"},
	{{"run", "-k", "job", "true"}, "unknown verb 'run'"},
	{{""}, "unknown verb ''"},
	{{"--"}, "no key"},
	{{"-"}, "no key"},
	{{"-n", "true"}, "no key"},
	{{"-k", "job"}, "no command"},
	{{"-k", "job", "--"}, "no command"},
	{{"-k"}, "'-k' needs a value"},
	{{"--key"}, "'--key' needs a value"},
	{{"-k", "job", "-nt"}, "'-t' needs a value"},
	{{"-k", "job", "--ttl"}, "'--ttl' needs a value"},
	{{"-k", "job", "--password-file"}, "'--password-file' needs a value"},
	{{"-k", "job", "--reason"}, "'--reason' needs a value"},
	{{"-k", "", "true"}, "the key is empty"},
	{{"--key=", "true"}, "the key is empty"},
	{{"-ka", "-kb", "-kc", "-kd", "-ke", "-kf", "-kg", "-kh", "-ki", "-kj",
	  "-kk", "-kl", "-km", "-kn", "-ko", "-kp", "-kq", "true"},
	 "more than 16 keys"},
	{{"-N", "0", "-k", "job", "true"}, "-N '0': must be a number from"},
	{{"-N", "1001", "-k", "job", "true"},
	 "must be a number from 1 to 1000"},
	{{"--slots", "2x", "-k", "job", "true"},
	 "-N '2x': must be a number from 1 to 1000, or names with commas"},
	{{"-N", "-3", "-k", "job", "true"}, "-N '-3': must be a number"},
	{{"-N", ",", "-k", "job", "true"}, "-N ',': a name is empty"},
	{{"-N", "a,,", "-k", "job", "true"}, "-N 'a,,': a name is empty"},
	{{"-s", "-N", "gpu0", "-k", "job", "true"},
	 "-s and -N cannot be combined"},
	{{"--replace", "-n", "-k", "job", "true"}, "not with -n or -w 0"},
	{{"-w", "0", "--replace", "-k", "job", "true"}, "not with -n or -w 0"},
	{{"-s", "--replace", "-k", "job", "true"},
	 "--replace and -s cannot be combined"},
	{{"--replace", "-N", "2", "-k", "job", "true"},
	 "--replace and -N cannot be combined"},
	{{"--max-hold", "0", "-k", "job", "true"}, "must be greater than 0"},
	{{"--max-hold", "x", "-k", "job", "true"}, "--max-hold 'x'"},
	{{"--max-renewals", "-1", "-k", "job", "true"}, "--max-renewals '-1'"},
	{{"--min-hold", "2d", "-k", "job", "true"},
	 "over 24h needs --allow-long-ttl"},
	{{"--min-hold", "2s", "--max-hold", "1s", "-k", "job", "true"},
	 "--min-hold is longer than --max-hold"},
	{{"--once-per", "0", "-k", "job", "true"},
	 "--once-per: must be greater than 0"},
	{{"--once-for", "", "-k", "job", "true"}, "--once-for: empty value"},
	{{"--once-for", "a\nb", "-k", "job", "true"},
	 "--once-for 'a\\x0ab': must not have control characters"},
	{{"--once-for", "-k", "job", "true"}, "--once-for: the value is '-k'"},
	{{"--revision", "-1", "-k", "job", "true"}, "--revision '-1': must be"},
	{{"--revision", "", "-k", "job", "true"}, "--revision ''"},
	{{"--revision", "9007199254740992", "-k", "job", "true"},
	 "a number from 0 to 9007199254740991"},
	{{"--max-waiters", "x", "-k", "job", "true"},
	 "--max-waiters 'x': must be a number"},
	{{"--max-waiters=-1", "-k", "job", "true"}, "--max-waiters '-1'"},
	{{"--color", "sometimes", "-k", "job", "true"},
	 "--color 'sometimes': must be one of auto|always|never"},
	{{"--log-format", "xml", "-k", "job", "true"},
	 "--log-format 'xml': must be one of text|json"},
	{{"--priority", "low", "-k", "job", "true"},
	 "must be one of normal|high"},
	{{"--priority=high", "--supersede", "-k", "job", "true"},
	 "--priority high and --supersede cannot be combined"},
	{{"--replace", "--priority=high", "-k", "job", "true"},
	 "--priority high and --replace cannot be combined"},
	{{"--orphans", "eat", "-k", "job", "true"},
	 "must be one of leave|wait|kill"},
	{{"-k", "a", "-k", "", "true"}, "-k"},
	{{"-y", "-k", "job", "true"}, "unknown option '-y'"},
	{{"-k", "job", "-Z", "true"}, "unknown option '-Z'"},
	{{"-k", "job", "-qZ", "true"}, "unknown option '-Z'"},
	{{"-k", "job", "-\033", "true"}, "unknown option '-\\x1b'"},
	{{"-k", "job", "--nosuch", "true"}, "unknown option '--nosuch'"},
	{{"--ke", "job", "true"}, "unknown option '--ke'"},
	{{"-k", "job", "--tt", "5", "true"}, "unknown option '--tt'"},
	{{"-k", "job", "--no", "true"}, "unknown option '--no'"},
	{{"-k", "job", "--ttlx", "5", "true"}, "unknown option '--ttlx'"},
	{{"-k", "job", "-ttl", "5", "true"}, "-t 'tl'"},
	{{"-k", "job", "--no-wait=1", "true"}, "'--no-wait' takes no value"},
	{{"-k", "job", "--help=x", "true"}, "'--help' takes no value"},
	{{"-k", "job", "-t", "soon", "true"}, "-t 'soon'"},
	{{"-k", "job", "-t", "1e3", "true"}, "not a duration"},
	{{"-k", "job", "-t", "0", "true"}, "must be at least 200ms"},
	{{"-k", "job", "-t", "199ms", "true"}, "must be at least 200ms"},
	{{"--allow-long-ttl", "-k", "job", "-t", "0.1", "x"}, "at least 200"},
	{{"-k", "job", "-t", "24h1ms", "true"}, "--allow-long-ttl"},
	{{"-k", "job", "-t", "10001d", "--allow-long-ttl", "x"}, "-t '10001d"},
	{{"-k", "job", "-w", "inf", "true"}, "-w 'inf'"},
	{{"-k", "job", "-K", "1 s", "true"}, "-K '1 s'"},
	{{"-k", "job", "-K", "2s", "-t", "3s", "true"}, "of -t (1.5s)"},
	{{"-k", "job", "-K", "15001ms", "true"}, "of -t (15s)"},
	{{"-k", "job", "-E", "256", "true"}, "-E '256'"},
	{{"-k", "job", "-E", "", "true"}, "-E ''"},
	{{"-k", "job", "-E", "0x4b", "true"}, "-E '0x4b'"},
	{{"-k", "job", "--node-timeout", "0", "true"}, "--node-timeout"},
	{{"-k", "job", "--node-timeout=x", "true"}, "--node-timeout 'x'"},
	{{"-k", "job", "--on-unavailable", "wait", "x"},
	 "must be one of fail|run"},
	{{"-k", "job", "--on-unavailable=", "x"}, "must be one of fail|run"},
	{{"-k", "job", "--user", "", "true"}, "--user"},
	{{"-k", "job", "--restart-guard", "on", "x"}, "must be auto, off or"},
	{{"-k", "job", "--restart-guard=", "x"}, "--restart-guard ''"},
	{{"-k", "job", "-c", "true", "false"}, "('false') cannot be combined"},
	/* a variable that was empty and not quoted */
	{{"-k", "--", "./deploy.sh"},
	 "-k: the key is '--': is a variable empty? quote it: -k \"$KEY\"; for "
	 "this very key write --key=--"},
	{{"--key", "--", "true"}, "-k: the key is '--'"},
	{{"-qk", "-t", "5s", "true"}, "-k: the key is '-t'"},
	{{"-k-", "true"}, "-k: the key is '-'"},
	{{"inspect", "-k", "--json"}, "-k: the key is '--json'"},
	{{"-t", "-k", "job", "true"},
	 "-t: the value is '-k': is a variable empty?"},
	{{"-k", "job", "--wait", "--", "true"}, "-w: the value is '--'"},
	{{"-k", "job", "-E", "--quiet", "x"}, "-E: the value is '--quiet'"},
	{{"-u", "--", "-k", "job", "true"},
	 "-u: the value is '--': is a variable empty?"},
	{{"-k", "job", "-N", "--", "true"}, "-N: the value is '--'"},
	{{"-k", "job", "-c", "--"}, "-c: the command is '--': is a variable"},
	{{"-k", "job", "-c", "-q"}, "this very command write --command=-q"},
	{{"-k", "job", "--result-file", "-q", "true"},
	 "for this very value write --result-file=-q"},
	{{"-k", "job", "--reason", "--", "x"}, "--reason: the value is '--'"},
	{{"-k", "job", "-c", ""}, "-c: the command is empty"},
	{{"-k", "job", "-c", " \t\n"}, "-c: the command is empty"},
	{{"-k", "job", "--", ""}, "the command is an empty word"},
	/* a short option has no "=" */
	{{"-k=job", "true"}, "the key is '=job': write -k job or --key=job"},
	{{"-k", "=job", "true"}, "write -k job or --key=job"},
	{{"--key", "=job", "true"}, "write -k job or --key=job"},
	{{"-k=", "true"}, "the key is '=': write -k KEY or --key=KEY"},
	{{"-N=3", "-k", "job", "true"},
	 "-N: the value is '=3': write -N 3 or --slots=3"},
	{{"-t=5s", "-k", "job", "true"}, "write -t 5s or --ttl=5s"},
	{{"-u=redis://:hush@h", "-k", "job", "true"},
	 "-u: the value is '***@h': write -u URL or --url=URL"},
	{{"-k", "job", "-c=true"}, "write -c true or --command=true"},
	/* verbs run nothing */
	{{"lock", "job", "-w", "3", "--", "./x", "-v"},
	 "runs no command; to run one under the lock: redlock -k job -- ./x"},
	{{"lock", "-k", "a b", "--", "true"}, "redlock -k 'a b' -- true"},
	{{"lock", "true", "--", "true"}, "runs no command"},
	{{"lock", "a", "b"}, "'redlock lock' takes one key and runs no"},
	{{"wait", "job", "--", "./x"}, "redlock -k job -- ./x"},
	{{"unlock", "a", "b"}, "more than one key: 'redlock unlock' takes"},
	{{"-h", "--nosuch"}, "unknown option '--nosuch'"},
	{{"--no-wiat", "-k", "job", "true"}, "did you mean '--no-wait'?"},
	{{"--no_wait", "-k", "job", "true"}, "did you mean '--no-wait'?"},
	{{"--cacertdri=/x", "-k", "job", "x"}, "did you mean '--cacertdir'?"},
	{{"--wait-replicas", "101", "-k", "job", "x"}, "from 0 to 100"},
	{{"--wait-replicas=-1", "-k", "job", "x"}, "--wait-replicas '-1'"},
	{{"--tls-verify", "yes", "-k", "job", "x"}, "of full|ca|none"},
	{{"--cacert", "", "-k", "job", "x"}, "--cacert: empty value"},
	{{"--sni=", "-k", "job", "x"}, "--sni: empty value"},
	{{"redis://:hunter@h", "-k", "job", "x"}, "verb 'redis://***@h'"},
	{{"-t", "redis://:hunter@h", "-k", "job", "x"}, "-t 'redis://***@h'"},
	{{"-k", "job", "-c", "x", "redis://:pw@h"}, "('redis://***@h')"},
};

static void test_refused(void)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct line l;
		bool good = parse(&l, refused[i].args) == -1 &&
			    l.why.kind == FAIL_USAGE;

		for (const char *p = l.why.text; good && *p; p++)
			good = (unsigned char)*p >= ' ' && *p != 0x7f;
		if (!ok(good && strstr(l.why.text, refused[i].says),
			"[%s] is refused: %s", joined(refused[i].args),
			refused[i].says))
			printf("# said: %s\n", l.why.text);
		forget(&l);
	}
}

/* The command's words are its own, even those that look like ours. */
static const struct {
	const char *args[ARGS_MAX];
	const char *command[ARGS_MAX];
} command_lines[] = {
	{{"-k", "job", "ls", "-k", "x"}, {"ls", "-k", "x"}},
	{{"-k", "job", "ls", "-t", "bad", "-Z"}, {"ls", "-t", "bad", "-Z"}},
	{{"-k", "job", "ls", "--", "-n"}, {"ls", "--", "-n"}},
	{{"-k", "job", "--", "ls", "--key=b"}, {"ls", "--key=b"}},
	{{"-k", "job", "--", "-ls", "--"}, {"-ls", "--"}},
	{{"-k", "job", "--", "--", "ls"}, {"--", "ls"}},
	{{"-k", "job", "-", "-n"}, {"-", "-n"}},
	{{"-k", "job", "ls", "", "a"}, {"ls", "", "a"}},
	{{"--key=--", "ls", "-q"}, {"ls", "-q"}},
	{{"-k", "job", "-k", "job", "ls"}, {"ls"}},
	{{"-k", "job", "ls", "-u", "redis://:pw@h"},
	 {"ls", "-u", "redis://:pw@h"}},
};

static void test_commands(void)
{
	for (size_t i = 0; i < COUNT(command_lines); i++) {
		struct line l;
		bool same = parse(&l, command_lines[i].args) == 0;

		for (int n = 0; same && n < ARGS_MAX; n++) {
			const char *want = command_lines[i].command[n];
			const char *got = l.o.command[n];

			same = got && want ? strcmp(got, want) == 0
					   : got == want;
			if (!want)
				break;
		}
		ok(same && l.o.wait_ms == INT64_MAX && l.o.loudness == 0 &&
			   l.o.urls == 0,
		   "[%s] leaves the command's words alone",
		   joined(command_lines[i].args));
		forget(&l);
	}
}

static void test_shell_command(void)
{
	static const char *const forms[][ARGS_MAX] = {
		{"-k", "job", "-c", "ls -l"},
		{"-k", "job", "--command", "ls -l"},
		{"-c", "ls -l", "-k", "job", "--"},
		{"--command=ls -l", "-kjob"},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct line l;

		is_int(parse(&l, forms[i]), 0, "[%s] is accepted",
		       joined(forms[i]));
		is_text(l.o.shell_command, "ls -l", "-c is kept as one text");
		ok(!l.o.command, "with -c there is no list of words");
		forget(&l);
	}
}

static void test_shows(void)
{
	static const struct {
		const char *args[ARGS_MAX];
		enum show show;
	} forms[] = {
		{{"-h"}, SHOW_HELP},
		{{"--help"}, SHOW_HELP},
		{{"-V"}, SHOW_VERSION},
		{{"--version"}, SHOW_VERSION},
		{{"-k", "job", "-h"}, SHOW_HELP},
		{{"-t", "1ms", "--help", "ls"}, SHOW_HELP},
		{{"-k", "job", "ls", "-h"}, SHOW_NOTHING},
		{{"-k", "job", "--", "--version"}, SHOW_NOTHING},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct line l;

		is_int(parse(&l, forms[i].args), 0, "[%s] is accepted",
		       joined(forms[i].args));
		is_int(l.o.show, forms[i].show, "[%s] asks for what it says",
		       joined(forms[i].args));
		forget(&l);
	}
}

static void test_verbs(void)
{
	static const char *const good[][ARGS_MAX] = {
		{"inspect", "job"},
		{"inspect", "-k", "job"},
		{"inspect", "job", "--json"},
		{"inspect", "--json", "job", "-v"},
		{"inspect", "--", "job"},
		{"inspect", "job", "--", "-v"},
	};
	static const struct {
		const char *args[ARGS_MAX], *text;
	} bad[] = {
		{{"inspekt"}, "did you mean 'inspect'?"},
		{{"inspect"}, "no key"},
		{{"inspect", ""}, "the key is empty"},
		{{"inspect", "job", "-t", "3"}, "'redlock inspect'"},
		{{"inspect", "job", "--jso"}, "did you mean '--json'"},
		{{"inspect", "job", "--max-age"}, "see redlock inspect --help"},
		{{"list", "--quite-another"}, "see redlock list --help"},
		{{"-k", "job", "-w"}, "needs a value; see redlock --help"},
		{{"-k", "job", "--json", "ls"},
		 "'redlock' has no option '--json'"},
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		struct line l;

		is_int(parse(&l, good[i]), 0, "[%s] is accepted",
		       joined(good[i]));
		ok(l.o.verb == &cmd_inspect, "it is the verb");
		is_text(l.o.key[0], "job", "with its key");
		forget(&l);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct line l;

		is_int(parse(&l, bad[i].args), -1, "[%s] is refused",
		       joined(bad[i].args));
		is_int(l.why.kind, FAIL_USAGE, "as a mistake of usage");
		ok(strstr(l.why.text, bad[i].text), "and says why: %s",
		   l.why.text);
		forget(&l);
	}
}

/* ps(1) shows argv. */
static void test_secrets(void)
{
	static const struct {
		const char *args[ARGS_MAX];
		int word;
		const char *left;
	} forms[] = {
		{{"-u", "redis://me:pw@h:1/2"}, 2, "redis://*****@h:1/2"},
		{{"-uredis://:pw@h"}, 1, "-uredis://***@h"},
		{{"--url", "redis://pw@h"}, 2, "redis://**@h"},
		{{"--url=redis://:p@w@h"}, 1, "--url=redis://****@h"},
		{{"-u", "redis://h/0"}, 2, "redis://h/0"},
		{{"-u", "me:pw@h"}, 2, "*****@h"},
		{{"-u", "redis://a", "-u", "redis://:pw@b"},
		 4,
		 "redis://***@b"},
		{{"-u", "redis://:pw@a redis://b"},
		 2,
		 "redis://***@a redis://b"},
		{{"-u", "redis://a redis://:pw@b"},
		 2,
		 "redis://*************@b"},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		const char *args[ARGS_MAX] = {0};
		struct line l;
		int n = 0;

		for (; forms[i].args[n]; n++)
			args[n] = forms[i].args[n];
		args[n++] = "-kjob";
		args[n] = "ls";
		is_int(parse(&l, args), 0, "[%s] is accepted", joined(args));
		is_text(l.argv[forms[i].word], forms[i].left,
			"[%s] is hidden from ps", joined(args));
		ok(l.o.urls > 0 && strstr(args[forms[i].word - 1],
					  l.o.url[l.o.urls - 1]),
		   "[%s] is kept for redlock itself", joined(args));
		forget(&l);
	}
}

/* A text of n bytes in front of what is given. */
static int parse_long(struct line *l, const char *option, size_t n)
{
	char *text = malloc(n + 1);
	int rc;

	memset(text, 'x', n);
	text[n] = '\0';
	rc = parse(l, (const char *[ARGS_MAX]){option, text, "-k", text, "ls"});
	if (rc == 0)
		ok(l->o.key[0] && strlen(l->o.key[0]) == n,
		   "a key of %zu bytes is kept whole", n);
	free(text);
	return rc;
}

static void test_lengths(void)
{
	static const struct {
		const char *option;
		size_t n;
		int rc;
	} forms[] = {
		{"-k", 1, 0},
		{"-k", 65536, 0},
		{"-k", 65537, -1},
		{"--user", 255, 0},
		{"--user", 256, -1},
		{"-t", 60000, -1},
		{"-E", 60000, -1},
		{"--on-unavailable", 60000, -1},
		{"--result-file", 60000, 0},
		{"--cacert", 511, 0},
		{"--cacert", 512, -1},
		{"--sni", 255, 0},
		{"--sni", 256, -1},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct line l;

		is_int(parse_long(&l, forms[i].option, forms[i].n), forms[i].rc,
		       "a value of %zu bytes for %s is %s", forms[i].n,
		       forms[i].option, forms[i].rc ? "refused" : "accepted");
		forget(&l);
	}
}

int main(void)
{
	TEST(order);
	TEST(defaults);
	TEST(each);
	TEST(refused);
	TEST(commands);
	TEST(shell_command);
	TEST(shows);
	TEST(verbs);
	TEST(secrets);
	TEST(lengths);
	return done();
}
