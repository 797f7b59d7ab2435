/* SPDX-License-Identifier: MIT */
/* The command line. To add an option: a row, a function, a line in the manual
 * and in each completion, a test; `make lint` finds what was forgotten. */
#include "cli/opts.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"
#include "lock/keys.h"
#include "lock/timing.h"

typedef int take_fn(struct opts *o, char *value, struct fail *why);

struct row {
	int letter; /* 0: none */
	const char *name;
	const char *value; /* NULL: takes none */
	take_fn *take;
	const char *help;
};

static int take_duration(int64_t *to, const char *name, const char *value,
			 struct fail *why)
{
	*to = parse_duration(value);
	if (*to < 0)
		return fail(why, FAIL_USAGE,
			    "%s '%.60s': not a duration (write 250ms, 30s, "
			    "5m, 1h30m; a bare number means seconds)",
			    name, value);
	return 0;
}

/* A copy: the guard renames itself, over its arguments. */
static int keep(char **to, const char *value, struct fail *why)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : fail(why, FAIL_INTERNAL, "out of memory");
}

static int take_key(struct opts *o, char *value, struct fail *why)
{
	size_t n = strlen(value);

	if (n < 1 || n > KEY_MAX)
		return fail(why, FAIL_USAGE,
			    n < 1 ? "-k: the key is empty"
				  : "-k: the key has %zu bytes; at most %d "
				    "are allowed",
			    n, KEY_MAX);
	for (int i = 0; i < o->keys; i++)
		if (strcmp(o->key[i], value) == 0)
			return 0;
	if (o->keys == LOCKS_MAX)
		return fail(why, FAIL_USAGE, "-k: more than %d keys",
			    LOCKS_MAX);
	return keep(&o->key[o->keys++], value, why);
}

static int take_ttl(struct opts *o, char *value, struct fail *why)
{
	return take_duration(&o->ttl_ms, "-t", value, why);
}

static int take_long_ttl(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->allow_long_ttl = true;
	return 0;
}

static int take_wait(struct opts *o, char *value, struct fail *why)
{
	return take_duration(&o->wait_ms, "-w", value, why);
}

static int take_no_wait(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->wait_ms = 0;
	return 0;
}

static int take_max_waiters(struct opts *o, char *value, struct fail *why)
{
	o->max_waiters = parse_number(value, 0, 1000000);
	if (o->max_waiters < 0)
		return fail(why, FAIL_USAGE,
			    "--max-waiters '%.60s': not a number within "
			    "0..1000000",
			    value);
	return 0;
}

static int take_supersede(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->supersede = true;
	return 0;
}

static int take_shared(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->shared = true;
	return 0;
}

static int take_exclusive(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->shared = false;
	return 0;
}

static int take_slots(struct opts *o, char *value, struct fail *why)
{
	o->slots = (int)parse_number(value, 1, SLOTS_MAX);
	if (o->slots < 1)
		return fail(why, FAIL_USAGE,
			    "-N '%.60s': not a number within 1..%d", value,
			    SLOTS_MAX);
	return 0;
}

/* A bound that is no time at all is a mistake. */
static int take_bound(int64_t *to, const char *name, const char *value,
		      struct fail *why)
{
	if (take_duration(to, name, value, why) < 0)
		return -1;
	if (*to == 0)
		return fail(why, FAIL_USAGE, "%s: 0 is no time", name);
	return 0;
}

static int take_max_hold(struct opts *o, char *value, struct fail *why)
{
	return take_bound(&o->max_hold_ms, "--max-hold", value, why);
}

static int take_max_renewals(struct opts *o, char *value, struct fail *why)
{
	o->max_renewals = parse_number(value, 0, INT32_MAX);
	if (o->max_renewals < 0)
		return fail(why, FAIL_USAGE,
			    "--max-renewals '%.60s': not a number from 0 on",
			    value);
	return 0;
}

static int take_min_hold(struct opts *o, char *value, struct fail *why)
{
	return take_duration(&o->min_hold_ms, "--min-hold", value, why);
}

static int take_once_per(struct opts *o, char *value, struct fail *why)
{
	return take_bound(&o->once_ms, "--once-per", value, why);
}

static int take_orphans(struct opts *o, char *value, struct fail *why)
{
	static const char *const words[] = {[ORPHANS_LEAVE] = "leave",
					    [ORPHANS_WAIT] = "wait",
					    [ORPHANS_KILL] = "kill"};

	for (int i = ORPHANS_LEAVE; i <= ORPHANS_KILL; i++)
		if (strcmp(value, words[i]) == 0) {
			o->orphans = (enum orphans)i;
			return 0;
		}
	return fail(why, FAIL_USAGE,
		    "--orphans '%.60s': neither wait, leave nor kill", value);
}

static int take_status(struct opts *o, char *value, struct fail *why)
{
	o->conflict_status = (int)parse_number(value, 0, 255);
	if (o->conflict_status < 0)
		return fail(why, FAIL_USAGE,
			    "-E '%.60s': not a status within 0..255", value);
	return 0;
}

static int take_command(struct opts *o, char *value, struct fail *why)
{
	(void)why;
	o->shell_command = value;
	return 0;
}

static int take_grace(struct opts *o, char *value, struct fail *why)
{
	return take_duration(&o->grace_ms, "-K", value, why);
}

/* ps(1) must not show a password. */
static void overwrite_secret(char *url)
{
	char *from = strstr(url, "://");
	char *at = strrchr(url, '@');

	for (char *p = from ? from + 3 : url; at && p < at; p++)
		*p = '*';
}

static int take_url(struct opts *o, char *value, struct fail *why)
{
	if (o->url)
		return fail(why, FAIL_USAGE,
			    "-u: several servers are not part of this version");
	if (keep(&o->url, value, why) < 0)
		return -1;
	overwrite_secret(value);
	return 0;
}

static int take_user(struct opts *o, char *value, struct fail *why)
{
	if (value[0] == '\0' || strlen(value) > 255)
		return fail(why, FAIL_USAGE,
			    "--user: not a name of 1..255 bytes");
	o->user = value;
	return 0;
}

static int take_password_file(struct opts *o, char *value, struct fail *why)
{
	return keep(&o->password_file, value, why);
}

static int take_node_timeout(struct opts *o, char *value, struct fail *why)
{
	return take_bound(&o->node_timeout_ms, "--node-timeout", value, why);
}

static int take_on_unavailable(struct opts *o, char *value, struct fail *why)
{
	o->run_anyway = strcmp(value, "run") == 0;
	if (!o->run_anyway && strcmp(value, "fail") != 0)
		return fail(why, FAIL_USAGE,
			    "--on-unavailable '%.60s': neither fail nor run",
			    value);
	return 0;
}

static int take_reason(struct opts *o, char *value, struct fail *why)
{
	(void)why;
	o->reason = value;
	return 0;
}

static int take_no_describe(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->no_describe = true;
	return 0;
}

static int take_result_file(struct opts *o, char *value, struct fail *why)
{
	(void)why;
	o->result_file = value;
	return 0;
}

static int take_quiet(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->loudness = -1;
	return 0;
}

static int take_verbose(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->loudness = 1;
	return 0;
}

static int take_color(struct opts *o, char *value, struct fail *why)
{
	static const char *const words[] = {[COLOR_AUTO] = "auto",
					    [COLOR_ALWAYS] = "always",
					    [COLOR_NEVER] = "never"};

	for (int i = COLOR_AUTO; i <= COLOR_NEVER; i++)
		if (strcmp(value, words[i]) == 0) {
			o->color = (enum color)i;
			return 0;
		}
	return fail(why, FAIL_USAGE,
		    "--color '%.60s': neither auto, always nor never", value);
}

static int take_log_format(struct opts *o, char *value, struct fail *why)
{
	o->log_json = strcmp(value, "json") == 0;
	if (!o->log_json && strcmp(value, "text") != 0)
		return fail(why, FAIL_USAGE,
			    "--log-format '%.60s': neither text nor json",
			    value);
	return 0;
}

static int take_help(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->verb = VERB_HELP;
	return 0;
}

static int take_version(struct opts *o, char *value, struct fail *why)
{
	(void)value;
	(void)why;
	o->verb = VERB_VERSION;
	return 0;
}

/* clang-format off */
static const struct row rows[] = {
	{'k', "key",		"KEY",	take_key,	"the Redis key that is the lock (several: all)"},
	{'t', "ttl",		"DUR",	take_ttl,	"lease length, 200ms..24h (30s)"},
	{ 0,  "allow-long-ttl",	NULL,	take_long_ttl,	"let -t exceed 24h"},
	{'w', "wait",		"DUR",	take_wait,	"give up after DUR (wait for ever)"},
	{'n', "no-wait",	NULL,	take_no_wait,	"give up at once if it is held"},
	{'s', "shared",		NULL,	take_shared,	"as one of the readers"},
	{'x', "exclusive",	NULL,	take_exclusive,	"alone (the default)"},
	{'N', "slots",		"N",	take_slots,	"as one of N at a time"},
	{ 0,  "max-waiters",	"N",	take_max_waiters, "give up if N wait already"},
	{ 0,  "supersede",	NULL,	take_supersede,	"older waiters with this option give up"},
	{'E', "conflict-exit-code", "N", take_status,	"status when not acquired (75)"},
	{'c', "command",	"TEXT",	take_command,	"run TEXT with $SHELL -c"},
	{ 0,  "max-hold",	"DUR",	take_max_hold,	"end the command after DUR, status 124"},
	{ 0,  "max-renewals",	"N",	take_max_renewals, "likewise, when renewed N times"},
	{ 0,  "min-hold",	"DUR",	take_min_hold,	"keep the lock for DUR at least"},
	{ 0,  "once-per",	"DUR",	take_once_per,	"not within DUR of a success (status 0)"},
	{'K', "kill-after",	"DUR",	take_grace,	"TERM to KILL (0.15 of -t)"},
	{ 0,  "orphans",	"wait|leave|kill", take_orphans, "what the command leaves running (leave)"},
	{'u', "url",		"URL",	take_url,	"the server: redis://, unix:// or local:"},
	{ 0,  "user",		"NAME",	take_user,	"ACL user"},
	{ 0,  "password-file",	"FILE",	take_password_file, "read the password from FILE"},
	{ 0,  "node-timeout",	"DUR",	take_node_timeout, "to connect and answer at start (1s)"},
	{ 0,  "on-unavailable",	"fail|run", take_on_unavailable, "when no server answers at start (fail)"},
	{ 0,  "reason",		"TEXT",	take_reason,	"shown to others while the lock is held"},
	{ 0,  "no-describe",	NULL,	take_no_describe, "do not tell others who holds the lock"},
	{ 0,  "result-file",	"FILE",	take_result_file, "write the outcome to FILE as one JSON line"},
	{'q', "quiet",		NULL,	take_quiet,	"errors only"},
	{'v', "verbose",	NULL,	take_verbose,	"say more"},
	{ 0,  "color",		"WHEN",	take_color,	"auto, always or never (auto)"},
	{ 0,  "log-format",	"FORM",	take_log_format, "messages as text or json (text)"},
	{'h', "help",		NULL,	take_help,	"show this"},
	{'V', "version",	NULL,	take_version,	"show versions and platform guards"},
};
/* clang-format on */

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define LONG_ONLY 256 /* getopt's value of a row without a letter */

void opts_help(FILE *out)
{
	(void)fputs("usage: redlock [OPTIONS] -k KEY [--] COMMAND [ARG]...\n"
		    "       redlock [OPTIONS] -k KEY -c 'SHELL COMMAND'\n\n"
		    "Runs COMMAND while holding the lock KEY in Redis, on one "
		    "machine or many.\n\n",
		    out);
	for (size_t i = 0; i < ROWS; i++) {
		char left[64];
		int n = snprintf(left, sizeof(left), "  %c%c%s --%s %s",
				 rows[i].letter ? '-' : ' ',
				 rows[i].letter ? rows[i].letter : ' ',
				 rows[i].letter ? "," : " ", rows[i].name,
				 rows[i].value ? rows[i].value : "");

		(void)fprintf(out, "%s%*s%s\n", left, n < 34 ? 34 - n : 1, "",
			      rows[i].help);
	}
	(void)fputs("\nDurations: 250ms 30s 5m 1h30m 1d; a bare number means "
		    "seconds.\nServer: -u, else $REDLOCK_URL, else "
		    "redis://127.0.0.1:6379.\nExit status: COMMAND's own; 75 "
		    "not acquired; 125 lease lost; see redlock(1).\n",
		    out);
}

static void getopt_tables(char letters[3 * ROWS + 2],
			  struct option longs[ROWS + 1])
{
	char *p = letters;

	*p++ = '+'; /* the command's own options are not ours */
	*p++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		longs[i] = (struct option){rows[i].name, rows[i].value != NULL,
					   NULL, LONG_ONLY + (int)i};
		if (rows[i].letter) {
			*p++ = (char)rows[i].letter;
			if (rows[i].value)
				*p++ = ':';
		}
	}
	*p = '\0';
	longs[ROWS] = (struct option){0};
}

/* Abbreviations are refused: they break scripts when an option is added. */
static const struct row *row_of(int found, const char *word, const char **typed)
{
	size_t n = strcspn(word, "=");

	*typed = word;
	if (found >= LONG_ONLY) {
		const struct row *r = &rows[found - LONG_ONLY];

		return n == strlen(r->name) + 2 ? r : NULL;
	}
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter == found)
			return &rows[i];
	return NULL;
}

static int bad_option(int found, const char *word, struct fail *why)
{
	char dash[3] = {'-', (char)optopt, '\0'};
	bool is_long = strncmp(word, "--", 2) == 0;
	char shown[80];

	(void)format_bytes(is_long ? word : dash,
			   is_long ? strcspn(word, "=") : 2, shown,
			   sizeof(shown));
	if (found == ':')
		return fail(why, FAIL_USAGE,
			    "option '%s' needs a value; see redlock --help",
			    shown);
	if (is_long && optopt >= LONG_ONLY)
		return fail(why, FAIL_USAGE, "option '%s' takes no value",
			    shown);
	return fail(why, FAIL_USAGE,
		    "unknown option '%s' (long options are not abbreviated); "
		    "see redlock --help",
		    shown);
}

static int parse_options(struct opts *o, int argc, char **argv,
			 struct fail *why)
{
	struct option longs[ROWS + 1];
	char letters[3 * ROWS + 2];

	getopt_tables(letters, longs);
	opterr = 0;
	for (;;) {
		const char *word = argv[optind], *typed;
		int found = getopt_long(argc, argv, letters, longs, NULL);
		const struct row *r;

		if (found == -1)
			return 0;
		r = found == '?' || found == ':' ? NULL
						 : row_of(found, word, &typed);
		if (!r)
			return bad_option(found, word, why);
		if (r->take(o, optarg, why) < 0)
			return -1;
	}
}

static int check_times(const struct opts *o, struct fail *why)
{
	if (o->ttl_ms < TTL_MIN_MS)
		return fail(why, FAIL_USAGE,
			    "-t: a lease is at least 200ms long");
	if (o->ttl_ms > TTL_MAX_MS && !o->allow_long_ttl)
		return fail(why, FAIL_USAGE,
			    "-t: a crash would block the key for more than "
			    "24h; renewal makes a short lease last as long "
			    "as the command (or give --allow-long-ttl)");
	/* on loss there is no more time than that */
	if (o->grace_ms > o->ttl_ms / 2 && o->max_hold_ms == 0)
		return fail(why, FAIL_USAGE, "-K: at most half of -t (%lldms)",
			    (long long)o->ttl_ms / 2);
	if (o->min_hold_ms > TTL_MAX_MS && !o->allow_long_ttl)
		return fail(why, FAIL_USAGE,
			    "--min-hold: longer than 24h; give "
			    "--allow-long-ttl if that is meant");
	if (o->max_hold_ms > 0 && o->min_hold_ms > o->max_hold_ms)
		return fail(why, FAIL_USAGE,
			    "--min-hold is longer than --max-hold");
	return 0;
}

static int check_command(struct opts *o, int argc, char **argv,
			 struct fail *why)
{
	o->command = optind < argc ? argv + optind : NULL;
	if (o->keys == 0)
		return fail(why, FAIL_USAGE,
			    "no key: redlock -k KEY -- COMMAND; see redlock "
			    "--help");
	if (o->shared && o->slots > 1)
		return fail(why, FAIL_USAGE,
			    "-s and -N exclude each other: readers are not "
			    "counted");
	if (o->shell_command && o->command)
		return fail(why, FAIL_USAGE,
			    "-c and a command ('%.60s') exclude each other",
			    o->command[0]);
	if (!o->shell_command && (!o->command || o->command[0][0] == '\0'))
		return fail(why, FAIL_USAGE,
			    "no command: redlock -k KEY -- COMMAND; see "
			    "redlock --help");
	return 0;
}

int opts_parse(struct opts *o, int argc, char **argv, struct fail *why)
{
	*o = (struct opts){.ttl_ms = 30000,
			   .wait_ms = INT64_MAX,
			   .grace_ms = -1,
			   .max_waiters = -1,
			   .max_renewals = -1,
			   .slots = 1,
			   .conflict_status = STATUS_BUSY,
			   .node_timeout_ms = 1000};
	if (argc < 2)
		return fail(why, FAIL_USAGE,
			    "no key and no command; see redlock --help");
	if (argv[1][0] != '-')
		return fail(why, FAIL_USAGE,
			    "unknown verb '%.60s'; to run a command: redlock "
			    "-k KEY -- COMMAND",
			    argv[1]);
	if (parse_options(o, argc, argv, why) < 0)
		return -1;
	if (o->verb != VERB_RUN)
		return 0;
	if (o->grace_ms < 0)
		o->grace_ms = timing_grace(o->ttl_ms);
	if (check_command(o, argc, argv, why) < 0)
		return -1;
	return check_times(o, why);
}

void opts_close(struct opts *o)
{
	for (int i = 0; i < o->keys; i++)
		free(o->key[i]);
	free(o->url);
	free(o->password_file);
}
