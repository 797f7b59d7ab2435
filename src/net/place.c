/* SPDX-License-Identifier: MIT */
/* Hosts and ports. */
#include "net/place.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

struct span span_cut(struct span *rest, char c)
{
	const char *end = memchr(rest->at, c, rest->n);
	struct span first = *rest;

	if (end) {
		first.n = (size_t)(end - rest->at);
		rest->at = end + 1;
		rest->n -= first.n + 1;
	} else {
		rest->at += rest->n;
		rest->n = 0;
	}
	return first;
}

static bool all_of(const char *text, const char *set)
{
	return text[strspn(text, set)] == '\0';
}

/* Some parsers take "1.2.3.4." and "127.1" for addresses, others for names. */
static bool ends_in_number(const char *host)
{
	char label[256];
	size_t n = strlen(host);
	const char *dot;

	(void)snprintf(label, sizeof(label), "%s", host);
	if (n > 0 && label[n - 1] == '.')
		label[n - 1] = '\0';
	dot = strrchr(label, '.');
	dot = dot ? dot + 1 : label;
	return all_of(dot, "0123456789") ||
	       (strncmp(dot, "0x", 2) == 0 &&
		all_of(dot + 2, "0123456789abcdef"));
}

/* The canonical form: lower case. */
static int take_name(struct place *p, struct span text, struct fail *why)
{
	struct in_addr in;

	if (text.n == 0)
		return fail(why, FAIL_USAGE, "missing host");
	if (text.n >= sizeof(p->host))
		return fail(why, FAIL_USAGE,
			    "the host is longer than %zu bytes",
			    sizeof(p->host) - 1);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.at[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		p->host[i] = c;
	}
	if (!all_of(p->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") ||
	    strlen(p->host) != text.n || p->host[0] == '.' ||
	    strstr(p->host, ".."))
		return fail(why, FAIL_USAGE, "the host is not valid");
	if (ends_in_number(p->host) && inet_pton(AF_INET, p->host, &in) != 1)
		return fail(why, FAIL_USAGE,
			    "the host is neither an address nor a name");
	return 0;
}

static int take_ipv6(struct place *p, struct span text, struct fail *why)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	(void)snprintf(copy, sizeof(copy), "%.*s", (int)text.n, text.at);
	if (strlen(copy) != text.n || inet_pton(AF_INET6, copy, &in6) != 1)
		return fail(why, FAIL_USAGE,
			    "not an IPv6 address in the brackets");
	(void)inet_ntop(AF_INET6, &in6, p->host, sizeof(p->host));
	return 0;
}

int place_parse(struct place *p, struct span text, const char *usual_port,
		struct fail *why)
{
	bool brackets = text.n > 0 && text.at[0] == '[';
	struct span host;
	char digits[6];
	bool port;

	memset(p, 0, sizeof(*p));
	if (brackets) {
		if (!memchr(text.at, ']', text.n))
			return fail(why, FAIL_USAGE, "missing ']'");
		host = span_cut(&text, ']');
		host.at++;
		host.n--;
		if (text.n > 0 && text.at[0] != ':')
			return fail(why, FAIL_USAGE,
				    "unexpected text after ']'");
		port = text.n > 0;
		(void)span_cut(&text, ':');
	} else {
		port = memchr(text.at, ':', text.n);
		host = span_cut(&text, ':');
		if (memchr(text.at, ':', text.n))
			return fail(why, FAIL_USAGE,
				    "more than one ':' (an IPv6 address goes "
				    "in brackets)");
	}
	if ((brackets ? take_ipv6 : take_name)(p, host, why) < 0)
		return -1;
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)text.n, text.at);
	if (port &&
	    (text.n >= sizeof(digits) || parse_number(digits, 1, 65535) < 0))
		return fail(why, FAIL_USAGE,
			    "the port must be from 1 to 65535");
	(void)snprintf(p->port, sizeof(p->port), "%d",
		       (int)parse_number(port ? digits : usual_port, 1, 65535));
	return 0;
}

int place_told(struct place *p, struct span host, struct span port)
{
	bool v6 = memchr(host.at, ':', host.n);
	char digits[6];
	struct fail why = {0};

	memset(p, 0, sizeof(*p));
	if ((v6 ? take_ipv6 : take_name)(p, host, &why) < 0 ||
	    port.n >= sizeof(digits))
		return -1;
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)port.n, port.at);
	if (strlen(digits) != port.n || parse_number(digits, 1, 65535) < 0)
		return -1;
	(void)snprintf(p->port, sizeof(p->port), "%d",
		       (int)parse_number(digits, 1, 65535));
	return 0;
}

bool place_same(const struct place *a, const struct place *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

bool place_is_host(const char *text)
{
	struct place p;

	return place_told(&p, (struct span){text, strlen(text)},
			  (struct span){"1", 1}) == 0;
}

const char *place_text(const struct place *p, char buf[PLACE_TEXT_MAX])
{
	(void)snprintf(buf, PLACE_TEXT_MAX,
		       strchr(p->host, ':') ? "[%s]:%s" : "%s:%s", p->host,
		       p->port);
	return buf;
}
