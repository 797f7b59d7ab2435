/* SPDX-License-Identifier: MIT */
/* The table of the options of a URL. */
#include "net/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/units.h"
#include "net/place.h"

#define IDLE_MS 60000
#define DB_LAST 1000000

#define IN(kind) (1U << (kind))
#define IN_ALL ~0U
#define IN_LOCAL IN(ENDPOINT_LOCAL)
#define IN_SENTINEL IN(ENDPOINT_SENTINEL)

struct option {
	const char *name;
	unsigned int kinds;
	const char *refusal; /* without TLS; NULL: the option needs TLS */
	int (*take)(struct endpoint *, const struct option *, const char *value,
		    struct fail *);
	/* NULL: as without the option. The buffer may be used. */
	const char *(*give)(const struct endpoint *, const struct option *,
			    char buf[32]);
	size_t at, size;      /* in struct endpoint; of a text */
	int64_t least, usual; /* of a duration */
};

static int take_text(struct endpoint *ep, const struct option *o,
		     const char *value, struct fail *why)
{
	if (strlen(value) >= o->size)
		return fail(why, FAIL_USAGE, "%s: longer than %zu bytes",
			    o->name, o->size - 1);
	memcpy((char *)ep + o->at, value, strlen(value) + 1);
	return 0;
}

static int take_name(struct endpoint *ep, const struct option *o,
		     const char *value, struct fail *why)
{
	if (!place_is_host(value))
		return fail(why, FAIL_USAGE, "%s: not a host name", o->name);
	return take_text(ep, o, value, why);
}

static const char *give_text(const struct endpoint *ep, const struct option *o,
			     char buf[32])
{
	const char *text = (const char *)ep + o->at;

	(void)buf;
	return text[0] != '\0' ? text : NULL;
}

/* The canonical form. */
static int take_dir(struct endpoint *ep, const struct option *o,
		    const char *value, struct fail *why)
{
	size_t n = strlen(value);
	char text[FILE_NAME_MAX];

	if (value[0] != '/')
		return fail(why, FAIL_USAGE,
			    "%s: not a full path (such as /run/me)", o->name);
	while (n > 1 && value[n - 1] == '/')
		n--;
	memcpy(text, value, n);
	text[n] = '\0';
	return take_text(ep, o, text, why);
}

static int take_ms(struct endpoint *ep, const struct option *o,
		   const char *value, struct fail *why)
{
	int64_t ms = parse_duration(value);

	if (ms < 0)
		return fail(why, FAIL_USAGE, "%s: not a duration (such as 30s)",
			    o->name);
	if (ms < o->least)
		return fail(why, FAIL_USAGE, "%s: must be greater than 0",
			    o->name);
	memcpy((char *)ep + o->at, &ms, sizeof(ms));
	return 0;
}

static const char *give_ms(const struct endpoint *ep, const struct option *o,
			   char buf[32])
{
	int64_t ms;

	memcpy(&ms, (const char *)ep + o->at, sizeof(ms));
	if (ms == o->usual)
		return NULL;
	(void)snprintf(buf, 32, "%" PRId64 "ms", ms);
	return buf;
}

static int take_db(struct endpoint *ep, const struct option *o,
		   const char *value, struct fail *why)
{
	int db = (int)parse_number(value, 0, DB_LAST);

	(void)o;
	if (db < 0)
		return fail(why, FAIL_USAGE,
			    "db: the database must be a number from 0 to %d",
			    DB_LAST);
	if (ep->db >= 0 && ep->db != db)
		return fail(why, FAIL_USAGE,
			    "the path and db= name different databases");
	ep->db = db;
	return 0;
}

/* In all other URLs it stands in the path. */
static const char *give_db(const struct endpoint *ep, const struct option *o,
			   char buf[32])
{
	(void)o;
	if (ep->db == 0 || ep->kind != ENDPOINT_UNIX)
		return NULL;
	(void)snprintf(buf, 32, "%d", ep->db);
	return buf;
}

static const char *const verify_names[] = {
	[TLS_FULL] = "full", [TLS_CA] = "ca", [TLS_NONE] = "none"};

static int take_verify(struct endpoint *ep, const struct option *o,
		       const char *value, struct fail *why)
{
	for (enum tls_verify v = TLS_FULL; v <= TLS_NONE; v++)
		if (strcmp(value, verify_names[v]) == 0) {
			ep->tls_conf.verify = v;
			return 0;
		}
	return fail(why, FAIL_USAGE, "%s: must be full, ca or none", o->name);
}

static const char *give_verify(const struct endpoint *ep,
			       const struct option *o, char buf[32])
{
	enum tls_verify v = ep->tls_conf.verify;

	(void)o, (void)buf;
	return v == TLS_FULL ? NULL : verify_names[v];
}

static int take_sentinel_tls(struct endpoint *ep, const struct option *o,
			     const char *value, struct fail *why)
{
	ep->sentinel_tls = strcmp(value, "yes") == 0;
	if (!ep->sentinel_tls && strcmp(value, "no") != 0)
		return fail(why, FAIL_USAGE, "%s: must be yes or no", o->name);
	return 0;
}

static const char *give_sentinel_tls(const struct endpoint *ep,
				     const struct option *o, char buf[32])
{
	(void)o, (void)buf;
	if (ep->sentinel_tls == ep->tls)
		return NULL;
	return ep->sentinel_tls ? "yes" : "no";
}

/* clang-format off */
#define TEXT(field) \
	take_text, give_text, offsetof(struct endpoint, field), \
	sizeof(((struct endpoint *)0)->field), 0, 0
#define NAME(field) \
	take_name, give_text, offsetof(struct endpoint, field), \
	sizeof(((struct endpoint *)0)->field), 0, 0
#define DIR(field) \
	take_dir, give_text, offsetof(struct endpoint, field), \
	sizeof(((struct endpoint *)0)->field), 0, 0
#define MS(field, least, usual) \
	take_ms, give_ms, offsetof(struct endpoint, field), 0, least, usual
#define WORD(what) take_##what, give_##what, 0, 0, 0, 0

static const char no_local[] = "not with local:";
static const char local[] = "only with local:";
static const char sentinel[] = "only with redis-sentinel://";

/* in the order in which options_put() writes them */
static const struct option options[] = {
	{"db", IN_ALL & ~IN_LOCAL, no_local, WORD(db)},
	{"dir", IN_LOCAL, local, DIR(dir)},
	{"idle", IN_LOCAL, local, MS(idle_ms, 0, IDLE_MS)},
	{"timeout", IN_ALL, "", MS(timeout_ms, 1, 0)},
	{"password-file", IN_ALL & ~IN_LOCAL, no_local, TEXT(secret.file)},
	{"cacert", IN_ALL, NULL, TEXT(tls_conf.cacert)},
	{"cacertdir", IN_ALL, NULL, TEXT(tls_conf.cacertdir)},
	{"cert", IN_ALL, NULL, TEXT(tls_conf.cert)},
	{"key", IN_ALL, NULL, TEXT(tls_conf.key)},
	{"sni", IN_ALL, NULL, NAME(tls_conf.sni)},
	{"tls-verify", IN_ALL, NULL, WORD(verify)},
	{"sentinel-user", IN_SENTINEL, sentinel, TEXT(sentinel.user)},
	{"sentinel-password-file", IN_SENTINEL, sentinel, TEXT(sentinel.file)},
	{"sentinel-tls", IN_SENTINEL, sentinel, WORD(sentinel_tls)},
};

static const char *const tls_refusals[] = {
	[ENDPOINT_TCP] = "only with rediss://",
	[ENDPOINT_UNIX] = "only with rediss://",
	[ENDPOINT_LOCAL] = "only with rediss://",
	[ENDPOINT_SENTINEL] = "only with rediss-sentinel:// or sentinel-tls=yes",
	[ENDPOINT_CLUSTER] = "only with rediss-cluster://",
};
/* clang-format on */

#define OPTIONS (sizeof(options) / sizeof(options[0]))

static const struct option *option_named(struct span name)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(options[i].name) == name.n &&
		    memcmp(options[i].name, name.at, name.n) == 0)
			return &options[i];
	return NULL;
}

static bool allowed(const struct option *o, const struct endpoint *ep)
{
	return o->kinds & IN(ep->kind) &&
	       (o->refusal || ep->tls || ep->sentinel_tls);
}

static int not_allowed(const struct option *o, const struct endpoint *ep,
		       struct fail *why)
{
	return fail(why, FAIL_USAGE, "%s: %s", o->name,
		    o->refusal ? o->refusal : tls_refusals[ep->kind]);
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
	const char *names[OPTIONS], *guess;
	char shown[48], list[200] = "";

	if (is_password(name))
		return fail(why, FAIL_USAGE,
			    "a password cannot follow '?': write "
			    "password-file=PATH, or :PASSWORD@ before the host "
			    "or path");
	for (size_t i = 0; i < OPTIONS; i++)
		names[i] = options[i].name;
	(void)format_bytes(name.at, name.n, shown, sizeof(shown));
	guess = suggest(name.at, name.n, names, OPTIONS);
	if (guess)
		return fail(why, FAIL_USAGE,
			    "unknown option '%s'; did you mean '%s'?", shown,
			    guess);
	for (size_t i = 0, used = 0; i < OPTIONS; i++)
		if (allowed(&options[i], ep))
			used += (size_t)snprintf(
				list + used, sizeof(list) - used, "%s%s",
				used ? ", " : "", options[i].name);
	return fail(why, FAIL_USAGE, "unknown option '%s' (known: %s)", shown,
		    list);
}

/* One "name=value"; *seen has a bit for each row of the table. */
static int take_option(struct endpoint *ep, struct span item,
		       unsigned int *seen, struct fail *why)
{
	bool has_value = memchr(item.at, '=', item.n);
	struct span value = item, name = span_cut(&value, '=');
	const struct option *o = option_named(name);
	char text[FILE_NAME_MAX];

	if (item.n == 0)
		return fail(why, FAIL_USAGE, "an empty option after '?'");
	if (!o)
		return unknown(ep, name, why);
	/* only after all options do we know whether TLS is used */
	if (!(o->kinds & IN(ep->kind)))
		return not_allowed(o, ep, why);
	if (!has_value || value.n == 0)
		return fail(why, FAIL_USAGE, "%s: missing value", o->name);
	if (*seen & 1U << (o - options))
		return fail(why, FAIL_USAGE, "%s: given twice", o->name);
	*seen |= 1U << (o - options);
	if (url_decode(value, text, sizeof(text), o->name, why) < 0)
		return -1;
	return o->take(ep, o, text, why);
}

void options_init(struct endpoint *ep)
{
	ep->db = -1;
	ep->sentinel_tls = ep->kind == ENDPOINT_SENTINEL && ep->tls;
	ep->idle_ms = ep->kind == ENDPOINT_LOCAL ? IDLE_MS : 0;
}

int options_parse(struct endpoint *ep, struct span text, struct fail *why)
{
	const struct tls_conf *tls = &ep->tls_conf;
	bool more = text.n > 0;
	unsigned int seen = 0;

	while (more) {
		more = memchr(text.at, '&', text.n);
		if (take_option(ep, span_cut(&text, '&'), &seen, why) < 0)
			return -1;
	}
	for (size_t i = 0; i < OPTIONS; i++)
		if (seen & 1U << i && !allowed(&options[i], ep))
			return not_allowed(&options[i], ep, why);
	if (!tls->cert[0] != !tls->key[0])
		return fail(why, FAIL_USAGE, "%s: needs %s=PATH as well",
			    tls->cert[0] ? "cert" : "key",
			    tls->cert[0] ? "key" : "cert");
	return 0;
}

int options_take_db(struct endpoint *ep, struct span digits, struct fail *why)
{
	char text[12];

	(void)snprintf(text, sizeof(text), "%.*s", (int)digits.n, digits.at);
	return take_db(ep, NULL, digits.n < sizeof(text) ? text : "", why);
}

void options_put(const struct endpoint *ep, struct url_out *out)
{
	const char *before = "?";

	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i];
		char buf[32];
		const char *value = allowed(o, ep) ? o->give(ep, o, buf) : NULL;

		if (!value)
			continue;
		url_put(out, before);
		url_put(out, o->name);
		url_put(out, "=");
		url_encode(out, value, true);
		before = "&";
	}
}

size_t options_shown(const char *text)
{
	const char *password = strcasestr(text, "password=");
	size_t shown = password ? (size_t)(password - text) + 9 : strlen(text);
	struct span rest = {text, strlen(text)};

	(void)span_cut(&rest, '?');
	while (rest.n > 0) {
		struct span item = span_cut(&rest, '&');
		struct span value = item, name = span_cut(&value, '=');
		size_t until = (size_t)(value.at - text);

		if (value.n > 0 && !option_named(name))
			return until < shown ? until : shown;
	}
	return shown;
}
