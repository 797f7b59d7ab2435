/* SPDX-License-Identifier: MIT */
/* The schemes of URLs. */
#include "net/scheme.h"

#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "net/options.h"
#include "net/place.h"

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

const struct scheme *scheme_of(enum endpoint_kind kind, bool tls)
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

/* Never guesses what a text might mean, but the advice does. Does not repeat
 * what may be a password. */
static int no_scheme(const char *text, struct fail *why)
{
	const struct scheme *guess = NULL;
	struct span host = {text, strlen(text)};
	struct place p;
	char shown[120];

	(void)format_bytes(text, host.n, shown, sizeof(shown));
	if (strcmp(text, "local") == 0)
		return fail(why, FAIL_USAGE, "write local:");
	if (place_parse(&p, host, "6379", why) == 0)
		return fail(why, FAIL_USAGE, "not a URL: write redis://%s",
			    shown);
	if (text[0] == '/' && text[1] != '/' && !strchr(text, '@') &&
	    options_shown(text) == host.n)
		return fail(why, FAIL_USAGE, "not a URL: write unix://%s",
			    shown);
	if (strchr(text, ':'))
		guess = scheme_suggest(text);
	if (guess)
		return fail(why, FAIL_USAGE,
			    "unsupported URL; did you mean %s%s?", guess->name,
			    guess->colon);
	return fail(why, FAIL_USAGE, "unsupported URL: write " FORMS);
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

const struct scheme *scheme_take(const char **text, struct fail *why)
{
	if (**text == '\0')
		(void)fail(why, FAIL_USAGE, "empty URL: write " FORMS);
	else if (**text == '"' || **text == '\'')
		(void)fail(why, FAIL_USAGE,
			   "the URL is in quotes: leave them out (in a file of "
			   "variables, nobody removes them)");
	else if (has_blank(*text))
		(void)fail(why, FAIL_USAGE,
			   "contains a space or a control character (write a "
			   "space as %%20)");
	else
		return find(text, why);
	return NULL;
}
