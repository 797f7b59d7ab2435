/* SPDX-License-Identifier: MIT */
/* The options: the table, and where a value was given. To add one: a row, a
 * line in the manual, a test; `make lint` finds what is missing. */
#include "cli/optrows.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "lock/core/lease.h"
#include "lock/wire/keys.h"

const struct opts opts_default = {.ttl_ms = 30000,
				  .wait_ms = INT64_MAX,
				  .wait_behind_ms = INT64_MAX,
				  .grace_ms = -1,
				  .max_waiters = -1,
				  .max_renewals = -1,
				  .revision = -1,
				  .slots = 1,
				  .signal = SIGTERM,
				  .guard_ms = GUARD_AUTO,
				  .force_grace_ms = 10000,
				  .conflict_status = STATUS_BUSY};

void opts_init(struct opts *o)
{
	*o = opts_default;
}

void opts_close(struct opts *o)
{
	free(o->slot_names);
	free(o->once_for);
	for (int i = 0; i < o->keys; i++)
		free(o->key[i]);
	for (int i = 0; i < NODES_MAX; i++)
		free(o->url[i]);
	for (int i = 0; i < SOURCES; i++) {
		free(o->file[i].path);
		free(o->file[i].text);
	}
}

/* ---- the table ---- */

#define AT(field)                                                              \
	offsetof(struct opts, field), sizeof(((struct opts *)0)->field)
#define IN_ENDPOINT(field)                                                     \
	offsetof(struct endpoint, field), sizeof(((struct endpoint *)0)->field)
/* Where an option may stand: on the command line alone; also in files and in
 * variables; also in a URL, under this name; only there. */
#define TYPED true, NULL, IN_NONE, 0, 0
#define SETTING false, NULL, IN_NONE, 0, 0
#define OR_URL(name, in, field) false, name, in, IN_ENDPOINT(field)
#define ONLY_URL(name, in, field) true, name, in, IN_ENDPOINT(field), 0, 0, 0
#define FILE_MAX (FILE_NAME_MAX - 1)
#define REVISION_MAX INT64_C(9007199254740991) /* Lua counts that far */

/* clang-format off */
const struct opt_row opt_rows[] = {
	{'k', "key",	"KEY", KEY, TYPED, ~(BY_LIST | BY_TOP) & BY_ALL, AT(keys), 1, KEY_MAX,		"the Redis key that is the lock"},
	{'t', "ttl",	"DUR", DURATION, SETTING, BY_TAKING | BY_EXTEND | BY_DOCTOR, AT(ttl_ms), 0, 0,		"lease length, 200ms..24h (30s)"},
	{ 0, "allow-long-ttl",	NULL, SWITCH, SETTING, BY_TAKING | BY_EXTEND | BY_DOCTOR, AT(allow_long_ttl), true, 0, "let -t exceed 24h"},
	{'w', "wait",	"DUR", DURATION, SETTING, BY_TAKING | BY_WAIT | BY_UNLOCK | BY_EXTEND, AT(wait_ms), 0, 0,	"give up after DUR (wait forever)"},
	{'n', "no-wait",	NULL, SWITCH, SETTING, BY_TAKING, AT(wait_ms), 0, 0,		"fail rather than wait"},
	{'s', "shared",	NULL, SWITCH, SETTING, BY_TAKING, AT(shared), true, 0,		"share the lock with other readers"},
	{'x', "exclusive",	NULL, SWITCH, SETTING, BY_TAKING, AT(shared), false, 0,		"hold the lock alone (the default)"},
	{'N', "slots",	"N", SLOTS, SETTING, BY_TAKING, AT(slots), 1, SLOTS_MAX,	"allow N holders at a time; or a,b,c (1)"},
	{ 0, "max-waiters",	"N", NUMBER, SETTING, BY_TAKING, AT(max_waiters), 0, 1000000,	"give up if N others are already waiting"},
	{ 0, "supersede",	NULL, SWITCH, SETTING, BY_TAKING, AT(supersede), true, 0,		"replace older waiters that also use this"},
	{ 0, "replace",	NULL, SWITCH, SETTING, BY_TAKING, AT(replace), true, 0,		"ask the holder to stop; the newest runs"},
	{ 0, "priority",	"normal|high", WORD, SETTING, BY_TAKING, AT(high), 0, 0,	"high: pass those who wait less than 1m"},
	{ 0, "grace",	"DUR", DURATION, SETTING, BY_TAKING | BY_FORCE, AT(force_grace_ms), 0, 0, "time for the holder to stop (10s)"},
	{'E', "conflict-exit-code",	"N", NUMBER, SETTING, BY_TAKING | BY_WAIT, AT(conflict_status), 0, 255, "status when not acquired (75)"},
	{'c', "command",	"TEXT", TEXT, TYPED, BY_RUN, AT(shell_command), 0, 0,	"run TEXT with $SHELL -c"},
	{ 0, "max-hold",	"DUR", DURATION, SETTING, BY_TAKING, AT(max_hold_ms), 1, 0,	"end the command after DUR, status 124"},
	{ 0, "max-renewals",	"N", NUMBER, SETTING, BY_TAKING, AT(max_renewals), 0, INT32_MAX, "same, after N renewals"},
	{ 0, "min-hold",	"DUR", DURATION, SETTING, BY_RUN, AT(min_hold_ms), 0, 0,	"keep the lock for at least DUR"},
	{ 0, "once-per",	"DUR", DURATION, SETTING, BY_RUN, AT(once_ms), 1, 0,		"skip the run if one succeeded within DUR"},
	{ 0, "once-for",	"LABEL", LABEL, SETTING, BY_RUN, AT(once_for), 1, LABEL_MAX,	"skip the run if the last success had LABEL"},
	{ 0, "revision",	"N", NUMBER, SETTING, BY_RUN, AT(revision), 0, REVISION_MAX,	"skip the run if a larger N succeeded before"},
	{ 0, "once-counts",	"success|any", WORD, SETTING, BY_RUN, AT(once_any), 0, 0,	"which runs leave these marks (success)"},
	{'K', "kill-after",	"DUR", DURATION, SETTING, BY_TAKING, AT(grace_ms), 0, 0,		"time from TERM to KILL (0.15 of -t)"},
	{ 0, "signal",	"SIGNAL", SIGNAL, SETTING, BY_RUN, AT(signal), 0, 0,	"what to end the command with (TERM)"},
	{ 0, "orphans",	"leave|wait|kill", WORD, SETTING, BY_RUN, AT(orphans), 0, 0,	"what to do with leftover processes (leave)"},
	{'u', "url",	"URL", URL, SETTING, BY_ALL, AT(url), 0, 0,			"redis://..., local:; repeat for a quorum"},
	{ 0,  NULL,	NULL, DATABASE, ONLY_URL("db", IN_SERVERS, db), 0, 1000000, NULL},
	{ 0,  NULL,	NULL, DIR, ONLY_URL("dir", IN_LOCAL, dir), 1, 0, NULL},
	{ 0,  NULL,	NULL, DURATION, ONLY_URL("idle", IN_LOCAL, idle_ms), 0, 0, NULL},
	{ 0, "node-timeout",	"DUR", DURATION, OR_URL("timeout", IN_ANY, timeout_ms), BY_ALL, AT(node_timeout_ms), 1, 0, "time to connect and to get an answer"},
	{ 0, "user",	"NAME", TEXT, SETTING, BY_ALL, AT(user), 1, 255,		"ACL user"},
	{ 0, "password-file",	"FILE", PATH, OR_URL("password-file", IN_SERVERS, secret.file), BY_ALL, AT(password_file), 1, FILE_MAX, "read the password from FILE"},
	{ 0, "password-command",	"COMMAND", TEXT, SETTING, BY_ALL, AT(password_command), 1, 0, "run COMMAND, which prints the password"},
	{ 0, "askpass",	NULL, SWITCH, SETTING, BY_ALL, AT(askpass), true, 0,		"ask for the password on the terminal"},
	{ 0, "cacert",	"FILE", PATH, OR_URL("cacert", IN_TLS, tls_conf.cacert), BY_ALL, AT(cacert), 1, FILE_MAX,	"TLS: the CA certificates to trust"},
	{ 0, "cacertdir",	"DIR", PATH, OR_URL("cacertdir", IN_TLS, tls_conf.cacertdir), BY_ALL, AT(cacertdir), 1, FILE_MAX,	"same, a directory with hashed names"},
	{ 0, "cert",	"FILE", PATH, OR_URL("cert", IN_TLS, tls_conf.cert), BY_ALL, AT(cert), 1, FILE_MAX,		"TLS: the client certificate"},
	{ 0, "key-file",	"FILE", PATH, OR_URL("key", IN_TLS, tls_conf.key), BY_ALL, AT(key_file), 1, FILE_MAX,	"TLS: its private key"},
	{ 0, "sni",	"NAME", HOST, OR_URL("sni", IN_TLS, tls_conf.sni), BY_ALL, AT(sni), 1, 255,		"TLS: the name to ask for and verify"},
	{ 0, "tls-verify",	"full|ca|none", WORD, OR_URL("tls-verify", IN_TLS, tls_conf.verify), BY_ALL, AT(tls_verify), 0, 0,	"TLS: what to verify (full)"},
	{ 0,  NULL,	NULL, TEXT, ONLY_URL("sentinel-user", IN_SENTINEL, sentinel.user), 1, 255, NULL},
	{ 0,  NULL,	NULL, PATH, ONLY_URL("sentinel-password-file", IN_SENTINEL, sentinel.file), 1, FILE_MAX, NULL},
	{ 0,  NULL,	NULL, SWITCH, ONLY_URL("sentinel-tls", IN_SENTINEL, sentinel_tls), true, 0, NULL},
	{ 0, "restart-guard",	"auto|off|DUR", GUARD, SETTING, BY_TAKING | BY_DOCTOR, AT(guard_ms), 0, 0, "ignore servers up for less than DUR (auto)"},
	{ 0, "shared-scope",	NULL, SWITCH, SETTING, BY_ALL, AT(shared_scope), true, 0,	"refuse servers only this machine can reach"},
	{ 0, "wait-replicas",	"N", NUMBER, SETTING, BY_TAKING | BY_DOCTOR, AT(wait_replicas), 0, 100,	"require N replicas to have the lock (0)"},
	{ 0, "on-unavailable",	"fail|run", WORD, SETTING, BY_RUN, AT(run_anyway), 0, 0,	"what to do if no server answers (fail)"},
	{ 0, "reason",	"TEXT", TEXT, SETTING, BY_TAKING | BY_FORCE, AT(reason), 0, 0,		"shown to others while the lock is held"},
	{ 0, "no-describe",	NULL, SWITCH, SETTING, BY_TAKING, AT(no_describe), true, 0,	"do not tell others who holds the lock"},
	{ 0, "no-history",	NULL, SWITCH, SETTING, BY_TAKING | BY_UNLOCK, AT(no_history), true, 0,	"do not record this in the lock's history"},
	{ 0, "result-file",	"FILE", PATH, SETTING, BY_RUN, AT(result_file), 1, 0,	"write the outcome to FILE as one JSON line"},
	{'q', "quiet",	NULL, SWITCH, SETTING, BY_ALL, AT(loudness), -1, 0,		"errors only"},
	{'v', "verbose",	NULL, SWITCH, SETTING, BY_ALL, AT(loudness), 1, 2,		"say what happens; -vv: every server answer"},
	{ 0, "color",	"auto|always|never", WORD, SETTING, BY_ALL, AT(color), 0, 0,	"color in messages (auto)"},
	{ 0, "log-format",	"text|json", WORD, SETTING, BY_ALL, AT(log_json), 0, 0,	"form of the messages (text)"},
	{ 0, "hold",	NULL, SWITCH, TYPED, BY_LOCK, AT(hold), true, 0,	"stay, and renew it until Ctrl-C"},
	{ 0, "keep-for",	"PID", NUMBER, TYPED, BY_LOCK, AT(keep_for), 1, INT32_MAX, "renew it while process PID lives"},
	{ 0, "on-lost",	"SIGNAL", TEXT, TYPED, BY_LOCK, AT(on_lost), 1, 16,	"signal it before the lease is lost (TERM)"},
	{ 0, "export",	NULL, SWITCH, TYPED, BY_LOCK, AT(export), true, 0,	"print shell code that sets REDLOCK_TOKEN..."},
	{ 0, "token",	"TOKEN", TEXT, TYPED, BY_UNLOCK | BY_EXTEND | BY_INSPECT | BY_FORCE, AT(token), 1, 64, "of a hold, as lock prints it"},
	{ 0, "since",	"DUR", DURATION, TYPED, BY_HISTORY, AT(since_ms), 1, 0,	"only holds that ended within DUR"},
	{ 0, "max-age",	"DUR", DURATION, TYPED, BY_INSPECT, AT(max_age_ms), 1, 0,	"check: status 2 if it is held for longer"},
	{ 0, "last-success",	"DUR", DURATION, TYPED, BY_HISTORY, AT(last_success_ms), 1, 0, "check: status 2 if no success within DUR"},
	{ 0, "svg",	NULL, SWITCH, TYPED, BY_HISTORY, AT(svg), true, 0,	"print a picture, in SVG"},
	{ 0, "config",	NULL, SWITCH, TYPED, BY_DOCTOR, AT(config), true, 0,	"only check and print the settings"},
	{ 0, "json",	NULL, SWITCH, TYPED, BY_LOOKING, AT(json), true, 0,	"print JSON"},
	{ 0, "prometheus",	NULL, SWITCH, TYPED, BY_LIST, AT(prometheus), true, 0,	"print metrics in Prometheus text format"},
	{ 0, "held",	NULL, SWITCH, TYPED, BY_LIST | BY_TOP, AT(held), true, 0,	"only locks that somebody holds"},
	{ 0, "waiting",	NULL, SWITCH, TYPED, BY_LIST | BY_TOP, AT(waiting), true, 0,	"only locks that somebody waits for"},
	{ 0, "confirm",	"KEY", TEXT, TYPED, BY_FORCE, AT(confirm), 0, 0,	"the key again, to confirm"},
	{ 0, "slot",	"N|NAME", TEXT, TYPED, BY_FORCE, AT(slot), 1, 0,	"only the holder of this slot"},
	{ 0, "marks",	NULL, SWITCH, TYPED, BY_FORCE, AT(marks), true, 0,	"forget --once-per, --once-for, --revision"},
	{ 0, "now",	NULL, SWITCH, TYPED, BY_FORCE, AT(now), true, 0,	"take it without asking"},
	{ 0, "foreign",	NULL, SWITCH, TYPED, BY_FORCE, AT(foreign), true, 0,	"also delete a key that is not a redlock lock"},
	{'h', "help",	NULL, SWITCH, TYPED, BY_ALL, AT(show), SHOW_HELP, 0,		"show this"},
	{'V', "version",	NULL, SWITCH, TYPED, BY_ALL, AT(show), SHOW_VERSION, 0,	"show versions; with -v, also settings"},
};
/* clang-format on */
const int opt_rows_n = sizeof(opt_rows) / sizeof(opt_rows[0]);
_Static_assert(sizeof(opt_rows) / sizeof(opt_rows[0]) <= OPTIONS_MAX,
	       "OPTIONS_MAX is too small");

const struct opt_row *opt_named(const char *name, size_t n)
{
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].name && strlen(opt_rows[i].name) == n &&
		    memcmp(opt_rows[i].name, name, n) == 0)
			return &opt_rows[i];
	return NULL;
}

const struct opt_row *opt_in_url(const char *name, size_t n)
{
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].url && strlen(opt_rows[i].url) == n &&
		    memcmp(opt_rows[i].url, name, n) == 0)
			return &opt_rows[i];
	return NULL;
}

const char *opt_suggest(const char *name, size_t n)
{
	const char *names[OPTIONS_MAX];
	int known = 0;

	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].name)
			names[known++] = opt_rows[i].name;
	return suggest(name, n, names, known);
}

const struct given *opt_given(const struct opts *o, const void *field)
{
	size_t at = (size_t)((const char *)field - (const char *)o);

	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].at == at && o->given[i].source != FROM_NOWHERE)
			return &o->given[i];
	return NULL;
}

bool opt_typed(const struct opts *o, const void *field)
{
	const struct given *g = opt_given(o, field);

	return g && g->source == FROM_TYPED;
}

const char *opt_variable(const struct opt_row *r, char buf[200])
{
	char *p = buf + snprintf(buf, 200, VARIABLES);

	for (const char *c = r->name; *c; c++)
		*p++ = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
	*p = '\0';
	return buf;
}

const char *opt_where(const struct opts *o, const struct given *g,
		      char buf[200])
{
	const char *path = o->file[g->source].path;

	if (g->source == FROM_ENV && g->row)
		return opt_variable(g->row, buf);
	if (path)
		(void)snprintf(buf, 200, "%.180s:%d", path, g->line);
	else
		(void)snprintf(buf, 200, "%s",
			       g->source == FROM_ENV         ? "REDLOCK_URL"
			       : g->source == FROM_REDIS_URL ? "REDIS_URL"
							     : "command line");
	return buf;
}

int opt_blame(const struct opts *o, const struct given *g, struct fail *why)
{
	char text[sizeof(why->text)], buf[200];

	if (why->kind != FAIL_USAGE || (g && g->source == FROM_TYPED))
		return -1;
	memcpy(text, why->text, sizeof(text));
	return fail(why, FAIL_CONFIG, "%s%s%.300s",
		    g ? opt_where(o, g, buf) : "", g ? ": " : "", text);
}
