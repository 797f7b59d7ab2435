/* SPDX-License-Identifier: MIT */
/*
 * Where a server is, and how we identify ourselves to it: its URL, and what
 * other options add. For servers.h, which has the list of servers.
 *
 * An option on the command line overrides the URL; one in a file counts only if
 * the URL does not say. Options that belong together (cacert and cacertdir;
 * cert and key-file) are taken from one place. SSL_CERT_FILE and SSL_CERT_DIR
 * come last.
 */
#include "cli/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/askpass.h"
#include "cli/optrows.h"
#include "cli/url.h"
#include "net/address.h"
#include "net/place.h"
#include "net/password.h"

bool server_has_tls(const struct endpoint *ep)
{
	return ep->tls || (ep->kind == ENDPOINT_SENTINEL && ep->sentinel_tls);
}

/* Where the URL was given; NULL: nowhere, it is the default. */
static const struct given *given_at(const struct opts *o, int at)
{
	return at < o->urls ? &o->url_from[at] : NULL;
}

static enum source source_of(const struct opts *o, const void *field)
{
	const struct given *g = opt_given(o, field);

	return g ? g->source : FROM_NOWHERE;
}

/* Whether an option counts, given that the URL sets it as well or does not. */
static bool counts(const struct opts *o, const void *field, bool url_says)
{
	enum source s = source_of(o, field);

	return s == FROM_TYPED || (s != FROM_NOWHERE && !url_says);
}

/* ---- TLS ---- */

/* Takes options that belong together from one place: a named CA must not be
 * joined by all those of a directory. */
static const char *const groups[][2] = {
	{"cacert", "cacertdir"}, {"cert", "key-file"}, {"sni", "sni"}};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static void merge_group(struct endpoint *ep, const struct opts *o,
			const char *const group[2])
{
	const struct opt_row *row[2];
	enum source from[2], top;
	char *field[2];

	for (int i = 0; i < 2; i++) {
		row[i] = opt_named(group[i], strlen(group[i]));
		from[i] = o->given[row[i] - opt_rows].source;
		field[i] = (char *)ep + row[i]->ep_at;
	}
	top = from[0] > from[1] ? from[0] : from[1];
	if (top == FROM_NOWHERE ||
	    (top != FROM_TYPED && (*field[0] || *field[1])))
		return;
	for (int i = 0; i < 2; i++) {
		const char *option;

		memcpy(&option, (const char *)o + row[i]->at, sizeof(option));
		(void)snprintf(field[i], row[i]->ep_size, "%s",
			       from[i] == top ? option : "");
	}
}

static int merge_trust(struct tls_conf *t, struct fail *why)
{
	const char *file = getenv("SSL_CERT_FILE");
	const char *dir = getenv("SSL_CERT_DIR");

	if (t->cacert[0] || t->cacertdir[0])
		return 0;
	if ((file && strlen(file) >= sizeof(t->cacert)) ||
	    (dir && strlen(dir) >= sizeof(t->cacertdir)))
		return fail(why, FAIL_CONFIG,
			    "SSL_CERT_FILE or SSL_CERT_DIR: longer than %d "
			    "bytes; give --cacert",
			    FILE_NAME_MAX - 1);
	(void)snprintf(t->cacert, sizeof(t->cacert), "%s", file ? file : "");
	(void)snprintf(t->cacertdir, sizeof(t->cacertdir), "%s",
		       dir ? dir : "");
	return 0;
}

static int merge_tls(struct endpoint *ep, const struct opts *o, int at,
		     struct fail *why)
{
	struct tls_conf *t = &ep->tls_conf;

	if (!server_has_tls(ep))
		return 0;
	for (size_t i = 0; i < GROUPS; i++)
		merge_group(ep, o, groups[i]);
	if (t->sni[0] && !place_is_host(t->sni)) {
		(void)fail(why, FAIL_USAGE, "--sni: not a host name");
		return opt_blame(o, opt_given(o, &o->sni), why);
	}
	if (counts(o, &o->tls_verify,
		   at < o->urls && strstr(o->url[at], "tls-verify=")))
		t->verify = o->tls_verify;
	if (merge_trust(t, why) < 0)
		return -1;
	if (!t->cert[0] == !t->key[0])
		return 0;
	(void)fail(why, FAIL_USAGE,
		   "--cert and --key-file must be used together");
	return opt_blame(o, opt_given(o, t->cert[0] ? &o->cert : &o->key_file),
			 why);
}

/* ---- credentials ---- */

/* Asked once, for all servers that need one. */
static int ask_for(const struct endpoint *ep, const struct opts *o,
		   char typed[PASSWORD_MAX], struct fail *why)
{
	char where[sizeof(ep->name) + 16];

	(void)snprintf(where, sizeof(where), "%s%s", ep->name,
		       o->urls > 1 ? " and others" : "");
	return askpass(ep->secret.user, where, typed, why);
}

/* The command may be for the server of a nested run, whose URL has the user: in
 * the environment it counts unless the URL has a password. */
static int use_command(struct endpoint *ep, const struct opts *o, bool url_says,
		       struct fail *why)
{
	struct secret *s = &ep->secret;
	const struct given *g = opt_given(o, &o->password_command);
	static bool known;

	if (g->source == FROM_ENV)
		url_says = s->has_password || s->file[0];
	if (!counts(o, &o->password_command, url_says))
		return 0;
	/* for nested runs */
	if (!known && g->source == FROM_TYPED &&
	    setenv(VARIABLES "PASSWORD_COMMAND", o->password_command, 1) < 0)
		return fail_memory(why);
	if (!known && password_command(o->password_command, environ, why) < 0)
		return opt_blame(o, g, why);
	known = true;
	s->has_password = false;
	s->password[0] = s->file[0] = '\0';
	s->by_command = true;
	return 0;
}

/* --askpass, --password-file or --password-command, whichever comes from a
 * later source. */
static int use_secret(struct endpoint *ep, const struct opts *o, bool url_says,
		      char typed[PASSWORD_MAX], struct fail *why)
{
	struct secret *s = &ep->secret;
	enum source ask = o->askpass ? source_of(o, &o->askpass) : FROM_NOWHERE;
	enum source file = source_of(o, &o->password_file);
	enum source command = source_of(o, &o->password_command);

	if (command != FROM_NOWHERE && (command == ask || command == file)) {
		(void)fail(why, FAIL_USAGE,
			   "--password-command and %s cannot be combined",
			   command == ask ? "--askpass" : "--password-file");
		return opt_blame(o, opt_given(o, &o->password_command), why);
	}
	if (command > ask && command > file)
		return use_command(ep, o, url_says, why) < 0
			       ? -1
			       : secret_take(s, why);
	if (ask != FROM_NOWHERE && ask == file) {
		(void)fail(why, FAIL_USAGE,
			   "--askpass and --password-file cannot be combined");
		return opt_blame(o, opt_given(o, &o->askpass), why);
	}
	if (ask > file && counts(o, &o->askpass, url_says)) {
		s->file[0] = '\0';
		s->has_password = true;
		if (typed[0] == '\0' && ask_for(ep, o, typed, why) < 0)
			return -1;
		memcpy(s->password, typed, strlen(typed) + 1);
		return 0;
	}
	if (counts(o, &o->password_file, url_says)) {
		s->has_password = false;
		s->password[0] = '\0';
		(void)snprintf(s->file, sizeof(s->file), "%s",
			       o->password_file);
		if (typed[0] == '\0') {
			if (secret_take(s, why) < 0)
				return -1;
			memcpy(typed, s->password, strlen(s->password) + 1);
		} else {
			s->file[0] = '\0';
			s->has_password = true;
			memcpy(s->password, typed, strlen(typed) + 1);
		}
	}
	return secret_take(s, why);
}

static int merge_secret(struct endpoint *ep, const struct opts *o,
			char typed[PASSWORD_MAX], struct fail *why)
{
	struct secret *s = &ep->secret;
	bool url_says = s->user[0] || s->has_password || s->file[0];

	if (ep->kind == ENDPOINT_LOCAL) {
		/* it has no users; settings in a file are for other servers */
		if (opt_typed(o, &o->user) || opt_typed(o, &o->password_file) ||
		    opt_typed(o, &o->password_command) ||
		    (o->askpass && opt_typed(o, &o->askpass)))
			return fail(why, FAIL_USAGE,
				    "local: has no users and no passwords; "
				    "only its owner can use it");
		return 0;
	}
	if (counts(o, &o->user, url_says))
		(void)snprintf(s->user, sizeof(s->user), "%s", o->user);
	return use_secret(ep, o, url_says, typed, why);
}

static int use_variable(struct secret *s, struct fail *why)
{
	const char *variable = getenv("REDISCLI_AUTH");

	if (s->has_password || s->file[0] || s->by_command || !variable ||
	    variable[0] == '\0')
		return 0;
	if (strlen(variable) >= PASSWORD_MAX)
		return fail(why, FAIL_CONFIG,
			    "REDISCLI_AUTH: longer than %d bytes",
			    PASSWORD_MAX - 1);
	if (strpbrk(variable, "\r\n"))
		return fail(why, FAIL_CONFIG,
			    "REDISCLI_AUTH has a line break in it: set it with "
			    "REDISCLI_AUTH=$(cat FILE), which drops the last "
			    "one, or use --password-file");
	memcpy(s->password, variable, strlen(variable) + 1);
	s->has_password = true;
	return 0;
}

/* Reports an unreadable file before anything else. */
static int check_secret(const struct secret *s, const char *ways,
			struct instant limit, struct fail *why)
{
	static char password[PASSWORD_MAX]; /* not on the stack: base/page.h */
	bool has;
	int rc;

	if (s->by_command)
		return password_first(limit, why);
	if (s->file[0]) {
		rc = secret_password(s, password, &has, why);
		explicit_bzero(password, sizeof(password));
		return rc;
	}
	if (s->user[0] && !s->has_password)
		return fail(why, FAIL_CONFIG,
			    "user '%s' without a password: give %s", s->user,
			    ways);
	return 0;
}

/* ---- paths ---- */

/* For nested runs, wherever they are. Not resolved: a secret that is rotated is
 * often behind a symbolic link. */
static int make_full(char path[FILE_NAME_MAX], struct fail *why)
{
	char given[FILE_NAME_MAX], here[FILE_NAME_MAX];

	if (path[0] == '\0' || path[0] == '/')
		return 0;
	memcpy(given, path, sizeof(given));
	if (!getcwd(here, sizeof(here)) ||
	    snprintf(path, FILE_NAME_MAX, "%s/%s", here, given) >=
		    FILE_NAME_MAX)
		return fail(why, FAIL_CONFIG,
			    "'%.200s': the full path of this file is unknown "
			    "or too long",
			    given);
	return 0;
}

/* Path i of an endpoint; NULL: it has no such path. */
static char *path_in(struct endpoint *ep, int i)
{
	return opt_rows[i].url && opt_rows[i].shape == PATH
		       ? (char *)ep + opt_rows[i].ep_at
		       : NULL;
}

static int make_all_full(struct endpoint *ep, struct fail *why)
{
	for (int i = 0; i < opt_rows_n; i++)
		if (path_in(ep, i) && make_full(path_in(ep, i), why) < 0)
			return -1;
	return 0;
}

/* A user who may choose the directory must not choose the file. */
static int check_paths(struct endpoint *ep, const struct opts *o, int at,
		       struct fail *why)
{
	enum source from = source_of(o, &o->url);

	if (from != FROM_SYSTEM && from != FROM_USER)
		return 0;
	for (int i = 0; i < opt_rows_n; i++) {
		const char *path = path_in(ep, i);

		if (!path || path[0] == '\0' || path[0] == '/')
			continue;
		(void)fail(why, FAIL_CONFIG,
			   "'%.150s': not a full path; a configuration "
			   "file needs one",
			   path);
		return opt_blame(o, given_at(o, at), why);
	}
	return 0;
}

/* ---- --shared-scope ---- */

/* Names are resolved later, and checked again by the connection. */
static int check_scope(struct endpoint *ep, const struct opts *o, int at,
		       struct fail *why)
{
	bool here = ep->kind == ENDPOINT_LOCAL || ep->kind == ENDPOINT_UNIX;

	ep->shared_scope = o->shared_scope;
	for (int i = 0; i < ep->places; i++)
		here |= address_names_local(ep, &ep->at[i]);
	if (!here || !o->shared_scope)
		return 0;
	(void)fail(why, FAIL_USAGE,
		   "'%.150s' covers this machine only; --shared-scope requires "
		   "a server that other machines can use",
		   ep->name);
	return opt_blame(o, given_at(o, at), why);
}

/* ---- all ---- */

int server_parse(struct endpoint *ep, const struct opts *o, int at,
		 struct fail *why)
{
	const char *url = at < o->urls ? o->url[at] : DEFAULT_URL;

	if (endpoint_parse(ep, url, why) < 0)
		return opt_blame(o, given_at(o, at), why);
	if (check_paths(ep, o, at, why) < 0)
		return -1;
	return check_scope(ep, o, at, why);
}

int server_merge(struct endpoint *ep, const struct opts *o, int at,
		 char typed[PASSWORD_MAX], struct fail *why)
{
	if (merge_tls(ep, o, at, why) < 0)
		return -1;
	if (counts(o, &o->node_timeout_ms, ep->timeout_ms > 0))
		ep->timeout_ms = o->node_timeout_ms;
	if (merge_secret(ep, o, typed, why) < 0)
		return -1;
	return make_all_full(ep, why);
}

size_t server_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX])
{
	size_t n;

	endpoint_url(ep, url);
	n = strlen(url);
	if (server_has_tls(ep) && ep->tls_conf.verify == TLS_FULL)
		n += (size_t)snprintf(url + n, ENDPOINT_URL_MAX - n,
				      "%ctls-verify=full",
				      strchr(url, '?') ? '&' : '?');
	return n;
}

int server_login(struct endpoint *ep, struct instant limit, struct fail *why)
{
	if (ep->kind == ENDPOINT_LOCAL)
		return 0; /* it has no users: see merge_secret() */
	if (use_variable(&ep->secret, why) < 0 ||
	    check_secret(&ep->sentinel, "?sentinel-password-file=", limit,
			 why) < 0)
		return -1;
	return check_secret(&ep->secret,
			    "--password-file, --password-command, --askpass or "
			    "REDISCLI_AUTH",
			    limit, why);
}
