/* SPDX-License-Identifier: MIT */
/* The options: the table, and how a value is taken and shown. To add one: a
 * row, a line in the manual and in each completion, a test; `make lint` finds
 * what is missing. */
#include "cli/optrows.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/url.h"
#include "lock/wire/keys.h"
#include "net/place.h"
#include "proc/signals.h"
#include "proc/title.h"

const struct opts opts_default = {.ttl_ms = 30000,
				  .wait_ms = INT64_MAX,
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
#define BLANKS " \t\r\n"                       /* between URLs */
#define REVISION_MAX INT64_C(9007199254740991) /* Lua counts that far */

/* clang-format off */
const struct opt_row opt_rows[] = {
	{'k', "key",	"KEY", KEY, TYPED, ~(BY_LIST | BY_TOP) & BY_ALL, AT(keys), 1, KEY_MAX,		"the Redis key that is the lock"},
	{'t', "ttl",	"DUR", DURATION, SETTING, BY_TAKING | BY_EXTEND | BY_DOCTOR, AT(ttl_ms), 0, 0,		"lease length, 200ms..24h (30s)"},
	{ 0, "allow-long-ttl",	NULL, SWITCH, SETTING, BY_TAKING | BY_EXTEND | BY_DOCTOR, AT(allow_long_ttl), true, 0, "let -t exceed 24h"},
	{'w', "wait",	"DUR", DURATION, SETTING, BY_TAKING | BY_WAIT, AT(wait_ms), 0, 0,		"give up after DUR (wait forever)"},
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
	{ 0, "token",	"TOKEN", TEXT, TYPED, BY_UNLOCK | BY_EXTEND, AT(token), 1, 64, "what lock printed ($REDLOCK_TOKEN)"},
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

const char *opt_suggest(const char *name, size_t n)
{
	const char *names[OPTIONS_MAX];
	int known = 0;

	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].name)
			names[known++] = opt_rows[i].name;
	return suggest(name, n, names, known);
}

/* ---- a value ---- */

/* A value on its way into the options, or into an endpoint. */
struct taking {
	struct opts *o;
	struct endpoint *ep; /* it stands in a URL; else NULL */
	const struct opt_row *r;
	enum source source;
	int line;
	const char *label; /* the option's name there */
	struct fail *why;
};

/* (a message about a URL shows all of it) */
static int bad_value(const struct taking *t, const char *value,
		     const char *what)
{
	char shown[160];

	if (t->ep)
		return fail(t->why, FAIL_USAGE, "%s: %s", t->label, what);
	if (t->source != FROM_TYPED &&
	    (strstr(value, " #") || strstr(value, "\t#")))
		what = COMMENT_ALONE;
	return fail(t->why, FAIL_USAGE, "%s '%.60s': %s", t->label,
		    endpoint_masked(value, shown), what);
}

/* bool, int and enum, or int64_t */
static void set_number(void *at, size_t size, int64_t n)
{
	if (size == sizeof(bool))
		*(bool *)at = n != 0;
	else if (size == sizeof(int))
		*(int *)at = (int)n;
	else
		*(int64_t *)at = n;
}

static int64_t number_in(const void *at, size_t size)
{
	if (size == sizeof(bool))
		return *(const bool *)at;
	if (size == sizeof(int))
		return *(const int *)at;
	return *(const int64_t *)at;
}

static void store(const struct taking *t, int64_t n)
{
	const struct opt_row *r = t->r;

	if (t->ep)
		set_number((char *)t->ep + r->ep_at, r->ep_size, n);
	else
		set_number((char *)t->o + r->at, r->size, n);
}

static int64_t stored(const struct opts *o, const struct opt_row *r)
{
	return number_in((const char *)o + r->at, r->size);
}

static int take_duration(const struct taking *t, char *value)
{
	int64_t ms = parse_duration(value);

	if (ms < 0)
		return bad_value(t, value,
				 t->ep ? "not a duration (such as 30s)"
				       : "not a duration (write 250ms, 30s, "
					 "5m, 1h30m; a bare number means "
					 "seconds)");
	if (ms < t->r->lo)
		return fail(t->why, FAIL_USAGE, "%s: must be greater than 0",
			    t->label);
	store(t, ms);
	return 0;
}

static int take_guard(const struct taking *t, char *value)
{
	int64_t ms = parse_duration(value);

	if (strcmp(value, "auto") == 0)
		ms = GUARD_AUTO;
	else if (strcmp(value, "off") == 0)
		ms = 0;
	else if (ms < 0)
		return bad_value(t, value,
				 "must be auto, off or a duration (30s, 5m; a "
				 "bare number means seconds)");
	store(t, ms);
	return 0;
}

static int take_signal(const struct taking *t, char *value)
{
	int sig = signal_number(value);

	if (sig < 0)
		return bad_value(t, value,
				 "not a signal (write TERM, INT, USR1, 10)");
	if (sig == SIGKILL || sig == SIGSTOP)
		return bad_value(t, value,
				 "no program can catch it; SIGKILL comes "
				 "anyway, after the time of -K");
	store(t, sig);
	return 0;
}

static int take_number(const struct taking *t, char *value)
{
	int64_t n = parse_number(value, t->r->lo, t->r->hi);
	char what[80];

	if (n < 0) {
		(void)snprintf(what, sizeof(what),
			       "must be a number from %lld to %lld",
			       (long long)t->r->lo, (long long)t->r->hi);
		return bad_value(t, value, what);
	}
	store(t, n);
	return 0;
}

/* As people write it in files and variables; -1: as nobody does. */
static int yes_or_no(const char *value)
{
	static const char *const words[][4] = {{"no", "off", "false", "0"},
					       {"yes", "on", "true", "1"}};

	for (int yes = 0; yes < 2; yes++)
		for (int i = 0; i < 4; i++)
			if (strcasecmp(value, words[yes][i]) == 0)
				return yes;
	return -1;
}

/* "no" takes back what an earlier source said with the same option. */
static int take_switch(const struct taking *t, char *value)
{
	const struct opt_row *r = t->r;
	int yes = value ? yes_or_no(value) : 1;
	char *at;

	/* (in a URL nothing else means the same) */
	if (yes < 0 ||
	    (t->ep && value && strcmp(value, yes ? "yes" : "no") != 0))
		return bad_value(t, value, "must be yes or no");
	if (t->ep) {
		store(t, yes);
		return 0;
	}
	at = (char *)t->o + r->at;
	if (!value && r->hi > 0 && opt_typed(t->o, at) &&
	    stored(t->o, r) == r->lo)
		store(t, r->hi);
	else if (yes)
		store(t, r->lo);
	else if (stored(t->o, r) == r->lo)
		memcpy(at, (const char *)&opts_default + r->at, r->size);
	return 0;
}

static int take_word(const struct taking *t, char *value)
{
	const char *words = t->r->value;
	char what[80];

	for (int i = 0;; i++) {
		size_t n = strcspn(words, "|");

		if (strlen(value) == n && memcmp(words, value, n) == 0) {
			store(t, i);
			return 0;
		}
		if (words[n] == '\0')
			break;
		words += n + 1;
	}
	(void)snprintf(what, sizeof(what), "must be one of %s", t->r->value);
	return bad_value(t, value, what);
}

/* In an endpoint is a copy. */
static int take_text(const struct taking *t, char *value)
{
	const struct opt_row *r = t->r;
	int64_t n = (int64_t)strlen(value), most = r->hi;
	const char *text = value;

	if (t->ep)
		most = (int64_t)r->ep_size - 1;
	if (n < r->lo || (most > 0 && n > most))
		return fail(t->why, FAIL_USAGE,
			    n == 0 ? "%s: empty value"
				   : "%s: longer than %lld bytes",
			    t->label, (long long)most);
	if (t->ep)
		memcpy((char *)t->ep + r->ep_at, value, (size_t)n + 1);
	else
		memcpy((char *)t->o + r->at, &text, sizeof(text));
	return 0;
}

/* A settings file applies in every directory. */
static int take_path(const struct taking *t, char *value)
{
	if (!t->ep && t->source != FROM_TYPED && value[0] != '/' &&
	    value[0] != '\0')
		return bad_value(t, value, "write the full path");
	return take_text(t, value);
}

/* The canonical form. */
static int take_dir(const struct taking *t, char *value)
{
	size_t n = strlen(value);

	if (value[0] != '/')
		return bad_value(t, value, "not a full path (such as /run/me)");
	while (n > 1 && value[n - 1] == '/')
		value[--n] = '\0';
	return take_text(t, value);
}

/* (one that was not in a URL is checked when we know that it is used) */
static int take_host(const struct taking *t, char *value)
{
	if (t->ep && !place_is_host(value))
		return bad_value(t, value, "not a host name");
	return take_text(t, value);
}

/* It may stand in the path as well. */
static int take_database(const struct taking *t, char *value)
{
	int db = (int)parse_number(value, t->r->lo, t->r->hi);

	if (db < 0)
		return fail(t->why, FAIL_USAGE,
			    "db: the database must be a number from 0 to %d",
			    (int)t->r->hi);
	if (t->ep->db >= 0 && t->ep->db != db)
		return fail(t->why, FAIL_USAGE,
			    "the path and db= name different databases");
	t->ep->db = db;
	return 0;
}

/* A copy: the guard renames itself, over its arguments. */
static int keep(char **to, const char *value, struct fail *why)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : fail(why, FAIL_INTERNAL, "out of memory");
}

/* Else it is a list of one name. */
static bool is_number_of_slots(const char *value)
{
	return !strchr(value, ',') &&
	       (*value == '\0' || strchr(" \t+-.0123456789", *value));
}

/* One name, and no other that is the same. */
static bool is_slot_name(const char *names, const char *name, size_t n)
{
	for (const char *p = names; p < name; p += strcspn(p, ",") + 1)
		if (strcspn(p, ",") == n && memcmp(p, name, n) == 0)
			return false;
	return n > 0 && n <= SLOT_NAME_MAX;
}

/* The guard needs the names: see keep(). */
static int take_slots(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	char what[80];
	size_t last = strlen(value);
	int n = 0;

	if (is_number_of_slots(value)) {
		n = (int)parse_number(value, t->r->lo, t->r->hi);
		if (n < 0) {
			(void)snprintf(what, sizeof(what),
				       "must be a number from %lld to %lld, or "
				       "names with commas",
				       (long long)t->r->lo,
				       (long long)t->r->hi);
			return bad_value(t, value, what);
		}
		free(o->slot_names);
		o->slot_names = NULL;
		store(t, n);
		return 0;
	}
	for (const char *p = value; p; p = strchr(p, ',')) {
		p += p != value;
		/* a comma may end the list, so that "3," is one name */
		if (n > 0 && *p == '\0')
			break;
		if (n++ == t->r->hi)
			return bad_value(t, value, "too many names");
		if (!is_slot_name(value, p, strcspn(p, ",")))
			return bad_value(t, value,
					 "a name is empty, longer than 127 "
					 "bytes, or there twice");
	}
	store(t, n);
	if (keep(&o->slot_names, value, t->why) < 0)
		return -1;
	if (last > 0 && value[last - 1] == ',')
		o->slot_names[last - 1] = '\0';
	return 0;
}

static int take_key(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	size_t n = strlen(value);

	if (n < 1 || n > KEY_MAX)
		return fail(t->why, FAIL_USAGE,
			    n < 1 ? "-k: the key is empty"
				  : "-k: the key has %zu bytes; at most %d "
				    "are allowed",
			    n, KEY_MAX);
	for (int i = 0; i < o->keys; i++)
		if (strcmp(o->key[i], value) == 0)
			return 0;
	if (o->keys == LOCKS_MAX)
		return fail(t->why, FAIL_USAGE, "-k: more than %d keys",
			    LOCKS_MAX);
	return keep(&o->key[o->keys++], value, t->why);
}

/* ps(1) must not show a password. */
static void overwrite_secret(char *url)
{
	char *from = strstr(url, "://");
	char *at = strrchr(url, '@');

	from = from ? from + 3 : url;
	if (!at || from >= at)
		return;
	title_hide(from, (size_t)(at - from));
	memset(from, '*', (size_t)(at - from));
}

/* Each URL of a list begins like this. */
static bool begins_url(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz-");

	return strncmp(word + n, "://", 3) == 0 ||
	       strncmp(word, "local:", 6) == 0;
}

/* A blank may be a mistake within one URL. A message must not show half of its
 * password, so the URL stays whole and is refused. */
static bool is_list(const char *value)
{
	for (value += strspn(value, BLANKS); *value;
	     value += strspn(value, BLANKS)) {
		if (!begins_url(value))
			return false;
		value += strcspn(value, BLANKS);
	}
	return true;
}

static int add_url(const struct taking *t, const char *url, size_t n)
{
	struct opts *o = t->o;
	char *copy;

	o->more_urls = o->urls == NODES_MAX;
	if (o->more_urls)
		return 0; /* reported once we know that this list is used */
	copy = strndup(url, n);
	if (!copy)
		return fail(t->why, FAIL_INTERNAL, "out of memory");
	free(o->url[o->urls]);
	o->url[o->urls] = copy;
	o->url_from[o->urls++] = (struct given){t->source, t->line, NULL, t->r};
	return 0;
}

/* Adds to the values of the same source, replaces those of another. */
static int take_urls(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	const char *blanks = is_list(value) ? BLANKS : "";
	const char *word = value + strspn(value, blanks);
	int rc;

	if (o->urls > 0 && o->url_from[0].source != t->source)
		o->urls = 0;
	do {
		size_t n = strcspn(word, blanks);

		rc = add_url(t, word, n);
		word += n;
		word += strspn(word, blanks);
	} while (rc == 0 && *word);
	if (t->source == FROM_TYPED)
		overwrite_secret(value);
	return rc;
}

/* ---- an option ---- */

/* -n wins over a -w beside it, as in flock(1). */
static bool no_wait_stands(const struct opts *o, const struct opt_row *r,
			   enum source source)
{
	const struct given *g;

	if (strcmp(r->name, "wait") != 0)
		return false;
	g = &o->given[opt_named("no-wait", 7) - opt_rows];
	return g->source == source && strcmp(g->value, "no") != 0;
}

static int (*const take[])(const struct taking *, char *) = {
	[DURATION] = take_duration, [NUMBER] = take_number,
	[SWITCH] = take_switch,     [WORD] = take_word,
	[TEXT] = take_text,         [PATH] = take_path,
	[DIR] = take_dir,           [HOST] = take_host,
	[GUARD] = take_guard,       [SIGNAL] = take_signal,
	[SLOTS] = take_slots,       [DATABASE] = take_database,
	[KEY] = take_key,           [URL] = take_urls};

int opt_take_url(struct endpoint *ep, const struct opt_row *r, char *value,
		 struct fail *why)
{
	const struct taking t = {.ep = ep, .r = r, .label = r->url, .why = why};

	return take[r->shape](&t, value);
}

int opt_take(struct opts *o, const struct opt_row *r, char *value,
	     enum source source, int line, struct fail *why)
{
	struct given now = {source, line, value ? value : "yes", r};
	char label[40];
	int64_t was;
	const struct taking t = {o, NULL, r, source, line, label, why};

	if (source != FROM_TYPED)
		(void)snprintf(label, sizeof(label), "%s", r->name);
	else if (r->letter)
		(void)snprintf(label, sizeof(label), "-%c", r->letter);
	else
		(void)snprintf(label, sizeof(label), "--%s", r->name);
	was = o->wait_ms;
	if (take[r->shape](&t, value) < 0)
		return opt_blame(o, &now, why);
	if (r->shape == SWITCH)
		now.value = yes_or_no(now.value) ? "yes" : "no";
	if (no_wait_stands(o, r, source)) {
		o->wait_ms = was;
		return 0;
	}
	/* -n replaces -w; "no-wait = no" does not */
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].at == r->at && strcmp(now.value, "no") != 0)
			o->given[i] = (struct given){0};
	o->given[r - opt_rows] = now;
	return 0;
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

/* ---- a value as text ---- */

/* The word that means n. */
static void word_text(const char *words, int64_t n, char *buf, size_t size)
{
	for (; n > 0; n--)
		words += strcspn(words, "|") + 1;
	(void)snprintf(buf, size, "%.*s", (int)strcspn(words, "|"), words);
}

const char *opt_url_text(const struct endpoint *ep,
			 const struct endpoint *usual, const struct opt_row *r,
			 char buf[32])
{
	const char *at = (const char *)ep + r->ep_at;
	int64_t n;

	if (r->shape == TEXT || r->shape == PATH || r->shape == DIR ||
	    r->shape == HOST)
		return at[0] != '\0' ? at : NULL;
	n = number_in(at, r->ep_size);
	if (n == number_in((const char *)usual + r->ep_at, r->ep_size))
		return NULL;
	if (r->shape == WORD)
		word_text(r->value, n, buf, 32);
	else if (r->shape == SWITCH)
		(void)snprintf(buf, 32, "%s", n ? "yes" : "no");
	else
		(void)snprintf(buf, 32, "%lld%s", (long long)n,
			       r->shape == DURATION ? "ms" : "");
	return buf;
}

static void duration_text(const struct opt_row *r, int64_t ms, char *buf,
			  size_t size)
{
	if (ms == INT64_MAX)
		(void)snprintf(buf, size, "forever");
	else if (ms == 0 && r->lo > 0)
		(void)snprintf(buf, size, "not set");
	else
		(void)format_limit(ms, buf, size);
}

/* The value as it would be written, or "not set". */
static void default_text(const struct opts *o, const struct opt_row *r,
			 char *buf, size_t size)
{
	const char *text = NULL;
	char name[SIGNAL_TEXT];
	int64_t n;

	if (r->shape == TEXT || r->shape == PATH || r->shape == HOST) {
		memcpy(&text, (const char *)o + r->at, sizeof(text));
		(void)snprintf(buf, size, "%s", text ? text : "not set");
		return;
	}
	n = stored(o, r);
	if (r->shape == SWITCH)
		(void)snprintf(buf, size, "%s", n == r->lo ? "yes" : "no");
	else if (r->shape == GUARD)
		(void)snprintf(buf, size, "auto");
	else if (r->shape == DURATION)
		duration_text(r, n, buf, size);
	else if (r->shape == NUMBER && n < r->lo)
		(void)snprintf(buf, size, "not set");
	else if (r->shape == SIGNAL)
		(void)snprintf(buf, size, "%s",
			       signal_text((int)n, name) + strlen("SIG"));
	else if (r->shape == NUMBER || r->shape == SLOTS)
		(void)snprintf(buf, size, "%lld", (long long)n);
	else if (r->shape == WORD)
		word_text(r->value, n, buf, size);
}

void opt_show_defaults(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];
		bool given = r->typed || r->shape == URL;
		char text[400];

		for (int k = 0; k < opt_rows_n; k++)
			given |= opt_rows[k].at == r->at &&
				 o->given[k].source != FROM_NOWHERE;
		if (given)
			continue;
		default_text(o, r, text, sizeof(text));
		(void)fprintf(out, "%s = %s  (default)\n", r->name, text);
	}
}

static void show(const struct opts *o, const struct opt_row *r,
		 const struct given *g, const char *value, FILE *out)
{
	char shown[400], buf[200];

	(void)fprintf(out, "%s = %s  (%s)\n", r->name,
		      format_bytes(value, strlen(value), shown, sizeof(shown)),
		      opt_where(o, g, buf));
}

void opt_show(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct given *g = &o->given[i];
		const struct opt_row *r = &opt_rows[i];
		char masked[160];

		if (g->source == FROM_NOWHERE ||
		    r->at == offsetof(struct opts, show) ||
		    r->at == offsetof(struct opts, config))
			continue;
		if (r->shape != URL)
			show(o, r, g, g->value, out);
		for (int k = 0; r->shape == URL && k < o->urls; k++)
			show(o, r, &o->url_from[k],
			     endpoint_masked(o->url[k], masked), out);
	}
}
