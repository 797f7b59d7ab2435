/* SPDX-License-Identifier: MIT */
/*
 * The settings of one call. Later sources override earlier ones, option by
 * option: first the files (settings.c), then the command line (cmdline.c). For
 * the options themselves see optrows.h.
 */
#ifndef CLI_OPTS_H
#define CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"
#include "run/supervise.h"

struct command;

enum show { SHOW_NOTHING, SHOW_HELP, SHOW_VERSION };

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum source {
	FROM_NOWHERE,   /* the default */
	FROM_REDIS_URL, /* only a URL */
	FROM_SYSTEM,
	FROM_USER,
	FROM_ENV, /* REDLOCK_URL, REDLOCK_TTL... */
	FROM_TYPED
};
#define SOURCES (FROM_TYPED + 1)
#define OPTIONS_MAX 80
#define SLOT_NAME_MAX 127
#define GUARD_AUTO (-1)

struct opt_row;

struct given {
	enum source source;
	int line;
	const char *value; /* as it was written */
	const struct opt_row *row;
};

/* Filled in once, then const. Keys and URLs are copies; the other strings point
 * into argv, which the guard overwrites, or into `file`. Keys and URLs are in
 * the order in which they were given, each key once. */
struct opts {
	const struct command *verb;
	enum show show; /* instead of running the verb */
	char *key[LOCKS_MAX];
	int keys;
	const char *pattern;               /* of keys; NULL: all */
	int64_t ttl_ms, wait_ms, grace_ms; /* wait: INT64_MAX: no limit */
	int64_t wait_behind_ms;            /* what -n has replaced */
	bool allow_long_ttl, supersede, replace, shared;
	bool high; /* --priority */
	int slots;
	char *slot_names; /* "a,b,c", a copy; NULL: they have none */
	int64_t max_hold_ms, min_hold_ms, once_ms; /* 0: none */
	char *once_for;                            /* a copy; NULL: none */
	bool once_any;    /* for these marks a failure counts, too */
	int64_t revision; /* -1: none */
	int max_renewals; /* -1: no limit */
	int signal;       /* what asks the command to end */
	enum orphans orphans;
	int max_waiters; /* -1: no limit */
	int conflict_status;
	char *url[NODES_MAX]; /* all from one source */
	struct given url_from[NODES_MAX];
	int urls;
	bool more_urls; /* more than NODES_MAX were given */
	const char *user, *password_file, *password_command;
	bool askpass, shared_scope;
	const char *cacert, *cacertdir, *cert, *key_file, *sni;
	enum tls_verify tls_verify;
	int64_t node_timeout_ms; /* 0: not given */
	int64_t guard_ms;        /* GUARD_AUTO; 0: off */
	int wait_replicas;
	const char *reason, *result_file;
	bool no_describe, no_history, run_anyway;
	int64_t since_ms;                    /* 0: no limit */
	int64_t max_age_ms, last_success_ms; /* checks; 0: not wanted */
	bool svg;
	int loudness; /* -1: -q, 0, 1: -v, 2: -vv */
	bool log_json;
	enum color color;
	bool json, prometheus;
	bool config;        /* doctor */
	bool held, waiting; /* list: only these */
	bool hold, export;  /* lock */
	int keep_for;       /* a pid; 0: none */
	const char *on_lost, *token;
	int64_t force_grace_ms; /* --replace, force-release */
	/* force-release */
	const char *confirm;
	const char *slot; /* of force-release */
	bool now, foreign, marks;
	const char *shell_command;
	char **command; /* NULL-terminated; NULL with -c */

	struct given given[OPTIONS_MAX]; /* for each row of the table */
	struct {
		char *path, *text;
	} file[SOURCES];
};

/* The default of each. */
extern const struct opts opts_default;

/* Sets them. Call opts_close() in the end, whatever failed. */
void opts_init(struct opts *o);
void opts_close(struct opts *o);

/* Where the value of a field (`&o->user`) comes from; NULL: it is the
 * default. */
const struct given *opt_given(const struct opts *o, const void *field);
bool opt_typed(const struct opts *o, const void *field);

/* The variables that we give to commands: "REDLOCK_KEY=" and so on. They set
 * nothing here, but for REDLOCK_URL. */
#define VARIABLES_N 8
extern const char *const variable_names[VARIABLES_N];
/* Whether an entry of the environment is one of them. */
bool variable_is_given(const char *entry);

#endif
