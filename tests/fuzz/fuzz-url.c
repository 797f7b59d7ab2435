/* SPDX-License-Identifier: MIT */
/* Any text as a URL: it is refused, or means one thing, and shows no password.
 */
#include "cli/mask.h"
#include "cli/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define URL_MAX 8000
/* in lower case, as hosts become: found wherever it might turn up */
#define SECRET "s3cr3tm4rk"

const char fuzz_name[] = "url";

static void must(bool holds, const char *what, const char *url)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s: ", what);
	for (; *url; url++)
		(void)fprintf(stderr,
			      isprint((unsigned char)*url) ? "%c" : "\\x%02x",
			      (unsigned char)*url);
	(void)fputc('\n', stderr);
	abort();
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static void check_places(const struct endpoint *ep, const char *url)
{
	bool none = ep->kind == ENDPOINT_UNIX || ep->kind == ENDPOINT_LOCAL;

	must(none == (ep->places == 0), "there are hosts", url);
	must(ep->places >= 0 && ep->places <= PLACES_MAX, "not too many", url);
	for (int i = 0; i < ep->places; i++) {
		const char *host = ep->at[i].host, *port = ep->at[i].port;

		must(host[0] != '\0', "a host has a name", url);
		for (const char *p = host; *p; p++)
			must(*p > ' ' && *p < 0x7f && !strchr("@/?#%,[]", *p),
			     "a host is a host", url);
		must(atoi(port) >= 1 && atoi(port) <= 65535 && port[0] != '0' &&
			     strspn(port, "0123456789") == strlen(port),
		     "a port is a port", url);
		for (int k = 0; k < i; k++)
			must(strcmp(host, ep->at[k].host) != 0 ||
				     strcmp(port, ep->at[k].port) != 0,
			     "no host is there twice", url);
	}
}

static void check_form(const struct endpoint *ep, const char *url)
{
	static char form[ENDPOINT_URL_MAX], again[ENDPOINT_URL_MAX];
	static struct endpoint other;
	struct fail why;

	endpoint_url(ep, form);
	for (const char *p = form; *p; p++)
		must(*p > ' ' && *p < 0x7f, "the one form is plain", url);
	must(endpoint_parse(&other, form, &why) == 0, "the one form is one",
	     url);
	/* NOLINTNEXTLINE(*-memory-comparison): zeroed before */
	must(memcmp(&other, ep, sizeof(other)) == 0,
	     "the one form means the same", url);
	endpoint_url(&other, again);
	must(strcmp(form, again) == 0, "there is one form", url);
}

static void check_accepted(const struct endpoint *ep, const char *url)
{
	must(ep->name[0] != '\0' && !has_control(ep->name),
	     "the name can be shown", url);
	must(ep->db >= 0 && ep->db <= 1000000, "the database is one", url);
	must(ep->kind != ENDPOINT_CLUSTER || ep->db == 0,
	     "a Cluster has one database", url);
	must(ep->timeout_ms >= 0 && ep->idle_ms >= 0, "times are times", url);
	must(ep->kind != ENDPOINT_UNIX || ep->path[0] == '/',
	     "a socket has a path", url);
	must(ep->kind != ENDPOINT_SENTINEL || ep->group[0] != '\0',
	     "a master has a name", url);
	must(ep->kind != ENDPOINT_LOCAL || !ep->secret.has_password,
	     "local: has no password", url);
	must(ep->dir[0] == '\0' ||
		     (ep->kind == ENDPOINT_LOCAL && ep->dir[0] == '/'),
	     "only local: has a directory, with its full path", url);
	must(!ep->tls_conf.cert[0] == !ep->tls_conf.key[0],
	     "a certificate has its key", url);
	must(ep->secret.has_password == (ep->secret.password[0] != '\0') &&
		     !(ep->secret.has_password && ep->secret.file[0]),
	     "a password is given in one way", url);
	check_places(ep, url);
	check_form(ep, url);
}

/* Whether it was accepted. */
static bool parse(struct endpoint *ep, const char *url, struct fail *why)
{
	bool accepted = endpoint_parse(ep, url, why) == 0;
	char shown[160];

	must(endpoint_masked(url, shown) == shown && strlen(shown) < 160 &&
		     !has_control(shown),
	     "what was typed can be shown", url);
	must(!strstr(shown, SECRET), "what is shown has no password", url);
	if (accepted)
		must(!strstr(ep->name, SECRET), "the name has no password",
		     url);
	else
		must(why->kind == FAIL_USAGE && strlen(why->text) > 10 &&
			     !has_control(why->text),
		     "a refusal says why", url);
	must(!strstr(why->text, SECRET), "no message has the password", url);
	return accepted;
}

static void check(const char *url)
{
	static struct endpoint ep, other;
	struct fail why = {0}, also = {0};
	bool accepted;

	memset(&ep, 0x11, sizeof(ep));
	memset(&other, 0xee, sizeof(other));
	accepted = parse(&ep, url, &why);
	must(parse(&other, url, &also) == accepted &&
		     strcmp(why.text, also.text) == 0,
	     "a URL says one thing", url);
	if (!accepted)
		return;
	/* NOLINTNEXTLINE(*-memory-comparison): zeroed before */
	must(memcmp(&ep, &other, sizeof(ep)) == 0, "a URL means one thing",
	     url);
	check_accepted(&ep, url);
}

/* The same text with a password in it, at each place a user might put one. */
static void check_secret(const char *url)
{
	static char text[URL_MAX + 100];
	static struct endpoint ep;
	struct fail why = {0};
	const char *colon = strstr(url, "://"), *at = strrchr(url, '@');
	int head = colon ? (int)(colon - url) + 3 : 0;

	(void)snprintf(text, sizeof(text), "%.*sme:" SECRET "@%s", head, url,
		       url + head);
	(void)parse(&ep, text, &why);
	(void)snprintf(text, sizeof(text), "%.*s" SECRET "@%s", head, url,
		       url + head);
	(void)parse(&ep, text, &why);
	(void)snprintf(text, sizeof(text), "%s%cpassword=" SECRET, url,
		       strchr(url, '?') ? '&' : '?');
	must(!parse(&ep, text, &why), "a password in the query is refused",
	     text);
	/* unix:///a@b has none, but a path */
	if (!at || strncmp(url, "unix:///", 8) == 0)
		return;
	(void)snprintf(text, sizeof(text), "%.*s" SECRET "%s", (int)(at - url),
		       url, at);
	(void)parse(&ep, text, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char url[URL_MAX];

	if (size >= sizeof(url))
		return 0;
	memcpy(url, data, size);
	url[size] = '\0';
	if (strcasestr(url, SECRET)) /* found out by the fuzzer */
		return 0;
	check(url);
	check_secret(url);
	return 0;
}
