/* SPDX-License-Identifier: MIT */
/* URLs. Small, strict, and our own: general parsers guess. */
#include "cli/url.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/mask.h"
#include "cli/optrows.h"
#include "net/place.h"

/* ---- bytes ---- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* -1: a malformed %XX, a NUL, or more than size - 1 bytes; *why names `what` it
 * was. */
static int url_decode(struct span from, char *to, size_t size, const char *what,
		      struct fail *why)
{
	size_t used = 0;

	for (size_t i = 0; i < from.n; i++) {
		int c = (unsigned char)from.at[i];

		if (c == '%') {
			if (i + 2 >= from.n || hex(from.at[i + 1]) < 0 ||
			    hex(from.at[i + 2]) < 0)
				return fail(why, FAIL_USAGE,
					    "%s: write %% as %%25", what);
			c = hex(from.at[i + 1]) * 16 + hex(from.at[i + 2]);
			i += 2;
		}
		if (c == 0)
			return fail(why, FAIL_USAGE, "%s: a NUL byte (%%00)",
				    what);
		if (used + 1 >= size)
			return fail(why, FAIL_USAGE,
				    "%s: longer than %zu bytes", what,
				    size - 1);
		to[used++] = (char)c;
	}
	to[used] = '\0';
	return 0;
}

struct url_out { /* always terminated; asserts that there is room */
	char *at;
	size_t size, used;
};

static void url_put(struct url_out *out, const char *text)
{
	size_t n = strlen(text);

	assert(n < out->size - out->used);
	memcpy(out->at + out->used, text, n + 1);
	out->used += n;
}

/* Writes letters, digits and -._~ as they are, all else as %XX. `path`: slashes
 * stay, too. */
static void url_encode(struct url_out *out, const char *text, bool path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";

	for (; *text != '\0'; text++) {
		char code[4] = {*text};

		if (!strchr(plain, *text) || (*text == '/' && !path))
			(void)snprintf(code, sizeof(code), "%%%02X",
				       (unsigned char)*text);
		url_put(out, code);
	}
}

/* ---- options: the rows of opt_rows[] that have a name in a URL ---- */

#define IDLE_MS 60000

/* Why the option may not stand in this URL; NULL: it may. */
static const char *refusal_of(const struct opt_row *r,
			      const struct endpoint *ep)
{
	static const char *const tls[] = {
		[ENDPOINT_TCP] = "only with rediss://",
		[ENDPOINT_UNIX] = "only with rediss://",
		[ENDPOINT_LOCAL] = "only with rediss://",
		[ENDPOINT_SENTINEL] =
			"only with rediss-sentinel:// or sentinel-tls=yes",
		[ENDPOINT_CLUSTER] = "only with rediss-cluster://",
	};

	switch (r->in) {
	case IN_NONE:
	case IN_ANY:
		break;
	case IN_SERVERS:
		return ep->kind == ENDPOINT_LOCAL ? "not with local:" : NULL;
	case IN_LOCAL:
		return ep->kind != ENDPOINT_LOCAL ? "only with local:" : NULL;
	case IN_SENTINEL:
		return ep->kind != ENDPOINT_SENTINEL
			       ? "only with redis-sentinel://"
			       : NULL;
	case IN_TLS:
		return !ep->tls && !ep->sentinel_tls ? tls[ep->kind] : NULL;
	}
	return NULL;
}

/* Everybody who reads logs would see a password there. */
static bool is_password(struct span name)
{
	static const char word[] = "password";

	return name.n >= sizeof(word) - 1 &&
	       strncasecmp(name.at + name.n - (sizeof(word) - 1), word,
			   sizeof(word) - 1) == 0;
}

static int unknown(const struct endpoint *ep, struct span name,
		   struct fail *why)
{
	const char *names[OPTIONS_MAX], *guess;
	char shown[48], list[200] = "";
	size_t used = 0;
	int n = 0;

	if (is_password(name))
		return fail(why, FAIL_USAGE,
			    "a password cannot follow '?': write "
			    "password-file=PATH, or :PASSWORD@ before the host "
			    "or path");
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];

		if (!r->url)
			continue;
		names[n++] = r->url;
		if (!refusal_of(r, ep))
			used += (size_t)snprintf(list + used,
						 sizeof(list) - used, "%s%s",
						 used ? ", " : "", r->url);
	}
	(void)format_bytes(name.at, name.n, shown, sizeof(shown));
	guess = suggest(name.at, name.n, names, n);
	if (guess)
		return fail(why, FAIL_USAGE,
			    "unknown option '%s'; did you mean '%s'?", shown,
			    guess);
	return fail(why, FAIL_USAGE, "unknown option '%s' (known: %s)", shown,
		    list);
}

/* One "name=value"; seen[] is for each row of the table. */
static int take_option(struct endpoint *ep, struct span item,
		       bool seen[OPTIONS_MAX], struct fail *why)
{
	bool has_value = memchr(item.at, '=', item.n);
	struct span value = item, name = span_cut(&value, '=');
	const struct opt_row *r = opt_in_url(name.at, name.n);
	char text[FILE_NAME_MAX];

	if (item.n == 0)
		return fail(why, FAIL_USAGE, "an empty option after '?'");
	if (!r)
		return unknown(ep, name, why);
	/* only after all options do we know whether TLS is used */
	if (r->in != IN_TLS && refusal_of(r, ep))
		return fail(why, FAIL_USAGE, "%s: %s", r->url,
			    refusal_of(r, ep));
	if (!has_value || value.n == 0)
		return fail(why, FAIL_USAGE, "%s: missing value", r->url);
	if (seen[r - opt_rows])
		return fail(why, FAIL_USAGE, "%s: given twice", r->url);
	seen[r - opt_rows] = true;
	if (url_decode(value, text, sizeof(text), r->url, why) < 0)
		return -1;
	return opt_take_url(ep, r, text, why);
}

/* Sets those defaults that are not zero. The database is -1 until one is
 * given. */
static void init(struct endpoint *ep, enum endpoint_kind kind, bool tls)
{
	ep->kind = kind;
	ep->tls = tls;
	ep->db = -1;
	ep->sentinel_tls = kind == ENDPOINT_SENTINEL && tls;
	ep->idle_ms = kind == ENDPOINT_LOCAL ? IDLE_MS : 0;
}

/* What follows the "?". */
static int take_options(struct endpoint *ep, struct span text, struct fail *why)
{
	const struct tls_conf *tls = &ep->tls_conf;
	bool more = text.n > 0, seen[OPTIONS_MAX] = {false};

	while (more) {
		more = memchr(text.at, '&', text.n);
		if (take_option(ep, span_cut(&text, '&'), seen, why) < 0)
			return -1;
	}
	for (int i = 0; i < opt_rows_n; i++)
		if (seen[i] && refusal_of(&opt_rows[i], ep))
			return fail(why, FAIL_USAGE, "%s: %s", opt_rows[i].url,
				    refusal_of(&opt_rows[i], ep));
	if (!tls->cert[0] != !tls->key[0])
		return fail(why, FAIL_USAGE, "%s: needs %s=PATH as well",
			    tls->cert[0] ? "cert" : "key",
			    tls->cert[0] ? "key" : "cert");
	return 0;
}

/* The database in a path. */
static int take_db(struct endpoint *ep, struct span digits, struct fail *why)
{
	char text[12];

	(void)snprintf(text, sizeof(text), "%.*s", (int)digits.n, digits.at);
	if (digits.n >= sizeof(text))
		text[0] = '\0';
	return opt_take_url(ep, opt_in_url("db", 2), text, why);
}

/* Writes "?" and the options that are not as init() sets them, in a fixed
 * order; nothing if there are none. */
static void put_options(const struct endpoint *ep, struct url_out *out)
{
	static struct endpoint usual; /* the rest stays zero, and untouched */
	const char *before = "?";

	init(&usual, ep->kind, ep->tls);
	usual.db = 0;
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];
		const char *text;
		char buf[32];

		/* (in other URLs the database stands in the path) */
		if (!r->url || refusal_of(r, ep) ||
		    (r->shape == DATABASE && ep->kind != ENDPOINT_UNIX))
			continue;
		text = opt_url_text(ep, &usual, r, buf);
		if (!text)
			continue;
		url_put(out, before);
		url_put(out, r->url);
		url_put(out, "=");
		url_encode(out, text, true);
		before = "&";
	}
}

/* ---- schemes ---- */

struct scheme {
	const char *name, *colon; /* "redis" and "://" */
	enum endpoint_kind kind;
	bool tls;
	const char *refusal; /* why it is refused; NULL: it is accepted */
};

#define FORMS "redis://host:port, unix:///path or local:"

static const char rest_address[] =
	"that is a REST address; redlock needs redis:// (TCP)";

/* of several names for one kind, scheme_of() returns the first */
static const struct scheme schemes[] = {
	{"redis", "://", ENDPOINT_TCP, false, NULL},
	{"rediss", "://", ENDPOINT_TCP, true, NULL},
	{"valkey", "://", ENDPOINT_TCP, false, NULL},
	{"valkeys", "://", ENDPOINT_TCP, true, NULL},
	{"unix", "://", ENDPOINT_UNIX, false, NULL},
	{"local", ":", ENDPOINT_LOCAL, false, NULL},
	{"redis-sentinel", "://", ENDPOINT_SENTINEL, false, NULL},
	{"rediss-sentinel", "://", ENDPOINT_SENTINEL, true, NULL},
	{"valkey-sentinel", "://", ENDPOINT_SENTINEL, false, NULL},
	{"valkeys-sentinel", "://", ENDPOINT_SENTINEL, true, NULL},
	{"redis-cluster", "://", ENDPOINT_CLUSTER, false, NULL},
	{"rediss-cluster", "://", ENDPOINT_CLUSTER, true, NULL},
	{"valkey-cluster", "://", ENDPOINT_CLUSTER, false, NULL},
	{"valkeys-cluster", "://", ENDPOINT_CLUSTER, true, NULL},
	/* the s means TLS, as in https */
	{"reds", "://", ENDPOINT_TCP, true,
	 "unsupported URL; did you mean rediss://?"},
	{"http", "://", ENDPOINT_TCP, false, rest_address},
	{"https", "://", ENDPOINT_TCP, true, rest_address},
};

#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* The scheme with which endpoint_url() begins. */
static const struct scheme *scheme_of(enum endpoint_kind kind, bool tls)
{
	const struct scheme *s = schemes;

	while (s->kind != kind || s->tls != tls)
		s++;
	return s;
}

static const struct scheme *scheme_suggest(const char *text)
{
	const char *names[SCHEMES], *guess;
	int n = 0;

	for (size_t i = 0; i < SCHEMES; i++)
		if (!schemes[i].refusal)
			names[n++] = schemes[i].name;
	guess = suggest(text, strcspn(text, ":"), names, n);
	for (size_t i = 0; i < SCHEMES && guess; i++)
		if (strcmp(schemes[i].name, guess) == 0)
			return &schemes[i];
	return NULL;
}

/* redis//host, redis:/host, unix:/path: the signs after the scheme are wrong.
 * Makes what was meant, without a password. */
static bool rest_of_scheme(const char *text, char shown[160])
{
	char masked[160];

	for (size_t i = 0; i < SCHEMES; i++) {
		const struct scheme *s = &schemes[i];
		size_t n = strlen(s->name);
		bool path = s->kind == ENDPOINT_UNIX;
		const char *rest = text + n;

		if (strncmp(s->name, text, n) != 0 || s->refusal ||
		    !s->colon[1] || !strchr(":/", *rest))
			continue;
		rest += *rest == ':';
		rest += path ? 0 : strspn(rest, "/:");
		if (path ? rest[0] != '/' || rest[1] == '/'
			 : !isalnum((unsigned char)*rest))
			continue;
		(void)snprintf(shown, 160, "%s%s%s", s->name, s->colon,
			       endpoint_masked(rest, masked));
		return true;
	}
	return false;
}

/* Never guesses what a text might mean, but the advice does. Does not repeat
 * what may be a password. */
static int no_scheme(const char *text, struct fail *why)
{
	const struct scheme *guess = NULL;
	struct span host = {text, strlen(text)};
	struct place p;
	char shown[160];

	(void)format_bytes(text, host.n, shown, sizeof(shown));
	if (strcmp(text, "local") == 0)
		return fail(why, FAIL_USAGE, "write local:");
	if (place_parse(&p, host, "6379", why) == 0)
		return fail(why, FAIL_USAGE, "not a URL: write redis://%s",
			    shown);
	if (text[0] == '/' && text[1] != '/' && !strchr(text, '@') &&
	    mask_length(text) == host.n)
		return fail(why, FAIL_USAGE, "not a URL: write unix://%s",
			    shown);
	if (rest_of_scheme(text, shown))
		return fail(why, FAIL_USAGE, "not a URL: write %s", shown);
	if (strchr(text, ':'))
		guess = scheme_suggest(text);
	if (guess)
		return fail(why, FAIL_USAGE,
			    "unsupported URL; did you mean %s%s?", guess->name,
			    guess->colon);
	return fail(why, FAIL_USAGE, "unsupported URL: write " FORMS);
}

/* A comma, and then another URL. */
static bool is_joined(const char *text)
{
	while ((text = strchr(text, ','))) {
		size_t n = strspn(++text, "abcdefghijklmnopqrstuvwxyz-");

		if (n > 0 && strncmp(text + n, "://", 3) == 0)
			return true;
	}
	return false;
}

static bool has_blank(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return true;
	return false;
}

static const struct scheme *find(const char **text, struct fail *why)
{
	size_t n = strcspn(*text, ":");

	for (size_t i = 0; i < SCHEMES; i++) {
		const struct scheme *s = &schemes[i];
		size_t more = strlen(s->colon);

		if (strlen(s->name) != n || strncmp(s->name, *text, n) != 0 ||
		    strncmp(*text + n, s->colon, more) != 0)
			continue;
		*text += n + more;
		if (!s->refusal)
			return s;
		(void)fail(why, FAIL_USAGE, "%s", s->refusal);
		return NULL;
	}
	(void)no_scheme(*text, why);
	return NULL;
}

/* Moves *text past the scheme. NULL: not one of ours; *why says what to
 * write. */
static const struct scheme *scheme_take(const char **text, struct fail *why)
{
	if (**text == '\0')
		(void)fail(why, FAIL_USAGE, "empty URL: write " FORMS);
	else if (**text == '"' || **text == '\'')
		(void)fail(why, FAIL_USAGE,
			   "the URL is in quotes: leave them out (in a file of "
			   "variables, nobody removes them)");
	else if (has_blank(*text))
		(void)fail(why, FAIL_USAGE,
			   strstr(*text, " #") || strstr(*text, "\t#")
				   ? COMMENT_ALONE
				   : "contains a space or a control character "
				     "(write a space as %%20)");
	else if (is_joined(*text))
		(void)fail(why, FAIL_USAGE,
			   "several URLs stand with blanks between, or -u for "
			   "each");
	else
		return find(text, why);
	return NULL;
}

/* ---- the parts of a URL ---- */

static int take_places(struct endpoint *ep, struct span hosts,
		       const char *usual_port, struct fail *why)
{
	bool more = true;

	while (more) {
		struct span item;
		struct place p;
		int i = 0;

		more = memchr(hosts.at, ',', hosts.n);
		item = span_cut(&hosts, ',');
		if (item.n == 0 && (more || ep->places > 0))
			return fail(why, FAIL_USAGE,
				    "an empty host in the list");
		if (place_parse(&p, item, usual_port, why) < 0)
			return -1;
		while (i < ep->places && memcmp(&ep->at[i], &p, sizeof(p)) != 0)
			i++;
		if (i < ep->places)
			continue; /* named twice */
		if (ep->places == PLACES_MAX)
			return fail(why, FAIL_USAGE, "more than %d hosts",
				    PLACES_MAX);
		ep->at[ep->places++] = p;
	}
	return 0;
}

static int take_tcp(struct endpoint *ep, struct span hosts, struct span path,
		    struct fail *why)
{
	if (ep->kind == ENDPOINT_TCP && memchr(hosts.at, ',', hosts.n))
		return fail(why, FAIL_USAGE,
			    "only one host is allowed (for a list: "
			    "redis-sentinel:// or redis-cluster://); several "
			    "independent servers stand with blanks between, or "
			    "-u for each");
	if (take_places(ep, hosts, "6379", why) < 0)
		return -1;
	(void)span_cut(&path, '/');
	return path.n > 0 ? take_db(ep, path, why) : 0;
}

static int take_unix(struct endpoint *ep, struct span hosts, struct span path,
		     struct fail *why)
{
	if (hosts.n > 0 || path.n == 0)
		return fail(why, FAIL_USAGE,
			    "write a socket as unix:///full/path");
	return url_decode(path, ep->path, sizeof(ep->path), "the path", why);
}

static int take_local(struct endpoint *ep, struct span hosts, struct span path,
		      struct fail *why)
{
	(void)ep;
	if (hosts.n > 0 || path.n > 0)
		return fail(why, FAIL_USAGE, "nothing may follow 'local:'");
	return 0;
}

static int take_sentinel(struct endpoint *ep, struct span hosts,
			 struct span path, struct fail *why)
{
	struct span name;

	if (take_places(ep, hosts, "26379", why) < 0)
		return -1;
	(void)span_cut(&path, '/');
	name = span_cut(&path, '/');
	if (name.n == 0)
		return fail(
			why, FAIL_USAGE,
			"missing master name: add /NAME after the Sentinels");
	if (url_decode(name, ep->group, sizeof(ep->group), "the master's NAME",
		       why) < 0)
		return -1;
	return path.n > 0 ? take_db(ep, path, why) : 0;
}

static int (*const takers[])(struct endpoint *, struct span hosts,
			     struct span path, struct fail *) = {
	[ENDPOINT_TCP] = take_tcp,     [ENDPOINT_UNIX] = take_unix,
	[ENDPOINT_LOCAL] = take_local, [ENDPOINT_SENTINEL] = take_sentinel,
	[ENDPOINT_CLUSTER] = take_tcp,
};

static int take_login(struct endpoint *ep, struct span login, struct fail *why)
{
	struct secret *s = &ep->secret;

	if (memchr(login.at, ':', login.n) &&
	    url_decode(span_cut(&login, ':'), s->user, sizeof(s->user),
		       "the user", why) < 0)
		return -1;
	if (url_decode(login, s->password, sizeof(s->password), "the password",
		       why) < 0)
		return -1;
	s->has_password = s->password[0] != '\0';
	return 0;
}

/* [login@]hosts[/path]. A stray "@" may be part of a password, and then all the
 * other parts are misread: refuse it. */
static int take_parts(struct endpoint *ep, struct span text, struct span query,
		      struct fail *why)
{
	struct span path = text, hosts = span_cut(&path, '/');
	const char *at = hosts.n > 0 ? memrchr(hosts.at, '@', hosts.n) : NULL;

	path.at = hosts.at + hosts.n; /* with its slash */
	path.n = text.n - hosts.n;
	/* unix:///a@b: without a login, this is a path */
	if (memchr(query.at, '@', query.n) ||
	    (at && memchr(hosts.at, '@', (size_t)(at - hosts.at))) ||
	    (memchr(path.at, '@', path.n) &&
	     !(ep->kind == ENDPOINT_UNIX && hosts.n == 0)))
		return fail(why, FAIL_USAGE,
			    "in a password, write '@' as %%40, '/' as %%2F and "
			    "'?' as %%3F, or use --password-file");
	if (at && ep->kind != ENDPOINT_LOCAL) {
		struct span login = {hosts.at, (size_t)(at - hosts.at)};

		if (take_login(ep, login, why) < 0)
			return -1;
		hosts.at = at + 1;
		hosts.n -= login.n + 1;
	}
	if (memchr(hosts.at, '#', hosts.n) || memchr(path.at, '#', path.n) ||
	    memchr(query.at, '#', query.n))
		return fail(why, FAIL_USAGE, "write '#' as %%23");
	return takers[ep->kind](ep, hosts, path, why);
}

/* ---- what can only be said of the whole ---- */

/* As many hosts as there is room for; the first always fits. */
static void name_places(struct endpoint *ep, const char *before)
{
	const size_t room = sizeof(ep->name) - sizeof(", and 15 more");
	size_t used = strlen(ep->name);

	for (int i = 0; i < ep->places; i++) {
		char text[PLACE_TEXT_MAX];

		(void)place_text(&ep->at[i], text);
		if (used + strlen(before) + strlen(text) > room) {
			(void)snprintf(ep->name + used, sizeof(ep->name) - used,
				       ", and %d more", ep->places - i);
			return;
		}
		used += (size_t)snprintf(ep->name + used,
					 sizeof(ep->name) - used, "%s%s",
					 before, text);
		before = ", ";
	}
}

static void name_endpoint(struct endpoint *ep)
{
	char group[80];

	switch (ep->kind) {
	case ENDPOINT_TCP:
		name_places(ep, "");
		break;
	case ENDPOINT_UNIX:
		(void)format_bytes(ep->path, strlen(ep->path), ep->name,
				   sizeof(ep->name));
		break;
	case ENDPOINT_LOCAL:
		(void)snprintf(ep->name, sizeof(ep->name), "local:%s",
			       ep->dir[0] ? "?dir=" : "");
		(void)format_bytes(ep->dir, strlen(ep->dir),
				   ep->name + strlen(ep->name),
				   sizeof(ep->name) - strlen(ep->name));
		break;
	case ENDPOINT_SENTINEL:
		(void)snprintf(ep->name, sizeof(ep->name),
			       "%s of the Sentinel%s",
			       format_bytes(ep->group, strlen(ep->group), group,
					    sizeof(group)),
			       ep->places > 1 ? "s" : "");
		name_places(ep, " ");
		break;
	case ENDPOINT_CLUSTER:
		(void)snprintf(ep->name, sizeof(ep->name), "the Cluster at");
		name_places(ep, " ");
		break;
	}
}

static int finish(struct endpoint *ep, struct fail *why)
{
	if (ep->secret.has_password && ep->secret.file[0] != '\0')
		return fail(why, FAIL_USAGE,
			    "password and password-file cannot be combined");
	if (ep->kind == ENDPOINT_CLUSTER && ep->db > 0)
		return fail(why, FAIL_USAGE, "a Cluster has only database 0");
	if (ep->db < 0)
		ep->db = 0;
	name_endpoint(ep);
	return 0;
}

/* ---- reading and writing ---- */

static int parse(struct endpoint *ep, const char *url, struct fail *why)
{
	const struct scheme *s;
	struct span text, query;

	s = scheme_take(&url, why);
	if (!s)
		return -1;
	init(ep, s->kind, s->tls);
	query = (struct span){url, strlen(url)};
	text = span_cut(&query, '?');
	if (take_parts(ep, text, query, why) < 0 ||
	    take_options(ep, query, why) < 0)
		return -1;
	return finish(ep, why);
}

int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why)
{
	char text[sizeof(why->text)], shown[160];

	memset(ep, 0, sizeof(*ep));
	if (parse(ep, url, why) == 0)
		return 0;
	memcpy(text, why->text, sizeof(text));
	return fail(why, FAIL_USAGE, "'%s': %.230s",
		    endpoint_masked(url, shown), text);
}

static void put_login(const struct secret *s, struct url_out *out)
{
	bool password = s->has_password && s->file[0] == '\0';

	if (s->user[0] == '\0' && !password)
		return;
	url_encode(out, s->user, false);
	url_put(out, ":");
	if (password)
		url_encode(out, s->password, false);
	url_put(out, "@");
}

void endpoint_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX])
{
	struct url_out out = {url, ENDPOINT_URL_MAX, 0};
	const struct scheme *s = scheme_of(ep->kind, ep->tls);
	char text[PLACE_TEXT_MAX];

	url_put(&out, s->name);
	url_put(&out, s->colon);
	if (ep->kind != ENDPOINT_LOCAL)
		put_login(&ep->secret, &out);
	for (int i = 0; i < ep->places; i++) {
		url_put(&out, i > 0 ? "," : "");
		url_put(&out, place_text(&ep->at[i], text));
	}
	if (ep->kind == ENDPOINT_UNIX)
		url_encode(&out, ep->path, true);
	if (ep->kind == ENDPOINT_SENTINEL) {
		url_put(&out, "/");
		url_encode(&out, ep->group, false);
	}
	if (ep->db != 0 && ep->places > 0) {
		(void)snprintf(text, sizeof(text), "/%d", ep->db);
		url_put(&out, text);
	}
	put_options(ep, &out);
}
