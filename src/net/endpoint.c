/* SPDX-License-Identifier: MIT */
/* URLs. Small, strict, and ours: general parsers guess. */
#include "net/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"

#define IDLE_DEFAULT_MS 60000

/* The URL for a message, its password masked. Everything between the scheme
 * and the last "@" goes: a misread URL must not show half a password. */
const char *endpoint_masked(const char *url, char buf[160])
{
	const char *scheme = strstr(url, "://");
	const char *at = strrchr(url, '@');

	scheme = scheme ? scheme + 3 : url;
	if (at && at >= scheme)
		(void)snprintf(buf, 160, "%.*s***%s", (int)(scheme - url), url,
			       at);
	else
		(void)snprintf(buf, 160, "%s", url);
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return buf;
}

static int bad_url(struct fail *why, const char *url, const char *what)
{
	char shown[160];

	return fail(why, FAIL_USAGE, "'%s': %s", endpoint_masked(url, shown),
		    what);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* -1: a broken %XX, a NUL, or too long. */
static int decode(const char *from, size_t n, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)from[i];

		if (c == '%') {
			if (i + 2 >= n || hex(from[i + 1]) < 0 ||
			    hex(from[i + 2]) < 0)
				return -1;
			c = hex(from[i + 1]) * 16 + hex(from[i + 2]);
			i += 2;
		}
		if (c == 0 || used + 1 >= size)
			return -1;
		to[used++] = (char)c;
	}
	to[used] = '\0';
	return 0;
}

static int parse_credentials(struct endpoint *ep, const char *text, size_t n,
			     const char *url, struct fail *why)
{
	const char *colon = memchr(text, ':', n);
	const char *secret = colon ? colon + 1 : text;

	if (colon && decode(text, (size_t)(colon - text), ep->secret.user,
			    sizeof(ep->secret.user)) < 0)
		return bad_url(why, url, "the user is not valid");
	if (decode(secret, n - (size_t)(secret - text), ep->secret.password,
		   sizeof(ep->secret.password)) < 0)
		return bad_url(why, url,
			       "the password is not valid (write % as %25)");
	ep->secret.has_password = ep->secret.password[0] != '\0';
	return 0;
}

static int parse_host(struct endpoint *ep, const char *text, size_t n,
		      const char *url, struct fail *why)
{
	const char *host = text, *end = text + n;
	const char *host_end, *port;

	if (n > 0 && *text == '[') {
		host++;
		host_end = memchr(text, ']', n);
		if (!host_end)
			return bad_url(why, url, "'[' without ']'");
		port = host_end + 1;
		if (port < end && *port != ':')
			return bad_url(why, url, "text behind ']'");
	} else {
		port = memchr(text, ':', n);
		host_end = port = port ? port : end;
		if (port < end &&
		    memchr(port + 1, ':', (size_t)(end - port) - 1))
			return bad_url(why, url,
				       "an IPv6 address goes in brackets");
	}
	if (host_end == host)
		return bad_url(why, url, "no host");
	for (const char *p = host; p < host_end; p++)
		if (*p == '%' || *p == 0x7f || (*p >= 0 && *p <= ' '))
			return bad_url(why, url, "the host is not valid");
	if ((size_t)(host_end - host) >= sizeof(ep->at[0].host))
		return bad_url(why, url, "the host is not valid");
	memcpy(ep->at[0].host, host, (size_t)(host_end - host));
	(void)snprintf(ep->at[0].port, sizeof(ep->at[0].port), "6379");
	if (port == end)
		return 0;
	port++;
	if (end - port < 1 || (size_t)(end - port) >= sizeof(ep->at[0].port))
		return bad_url(why, url, "the port is not within 1..65535");
	memcpy(ep->at[0].port, port, (size_t)(end - port));
	ep->at[0].port[end - port] = '\0';
	if (parse_number(ep->at[0].port, 1, 65535) < 0)
		return bad_url(why, url, "the port is not within 1..65535");
	return 0;
}

static int parse_db(struct endpoint *ep, const char *text, size_t n,
		    const char *url, struct fail *why)
{
	char digits[12];

	if (n == 0)
		return 0;
	if (n >= sizeof(digits))
		return bad_url(why, url, "the database is not a number");
	memcpy(digits, text, n);
	digits[n] = '\0';
	if (parse_number(digits, 0, 1000000) < 0)
		return bad_url(why, url, "the database is not a number");
	ep->db = (int)parse_number(digits, 0, 1000000);
	return 0;
}

/* Behind the "?": name=value, separated by "&". */
static int parse_options(struct endpoint *ep, const char *text, const char *url,
			 struct fail *why)
{
	int db = ep->db; /* of the path; -1: none */

	while (text && *text) {
		size_t n = strcspn(text, "&");
		char value[32] = "";

		if (n > 3 && strncmp(text, "db=", 3) == 0 &&
		    ep->kind != ENDPOINT_LOCAL) {
			if (parse_db(ep, text + 3, n - 3, url, why) < 0)
				return -1;
			if (db >= 0 && ep->db != db)
				return bad_url(why, url,
					       "two different databases");
			db = ep->db;
		} else if (n > 5 && strncmp(text, "idle=", 5) == 0 &&
			   n - 5 < sizeof(value) &&
			   ep->kind == ENDPOINT_LOCAL) {
			memcpy(value, text + 5, n - 5);
			ep->idle_ms = parse_duration(value);
			if (ep->idle_ms < 0)
				return bad_url(why, url,
					       "idle is not a duration");
		} else {
			return bad_url(why, url,
				       ep->kind == ENDPOINT_LOCAL
					       ? "unknown option behind '?' "
						 "(known: idle=DURATION)"
					       : "unknown option behind '?' "
						 "(known: db=NUMBER)");
		}
		text += n;
		text += *text == '&';
	}
	if (ep->db < 0)
		ep->db = 0;
	return 0;
}

static int parse_tcp(struct endpoint *ep, const char *text, const char *url,
		     struct fail *why)
{
	size_t n = strcspn(text, "/?");
	const char *path = text + n;
	const char *at = memchr(text, '@', n);
	const char *query = strchr(path, '?');

	ep->kind = ENDPOINT_TCP;
	ep->places = 1;
	if (strchr(path, '@') ||
	    (at && memchr(at + 1, '@', n - (size_t)(at + 1 - text))))
		return bad_url(
			why, url,
			"a password with '@', '/' or '?' must be written "
			"with %40, %2F, %3F, or use --password-file");
	if (at) {
		if (parse_credentials(ep, text, (size_t)(at - text), url, why) <
		    0)
			return -1;
		n -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (parse_host(ep, text, n, url, why) < 0)
		return -1;
	if (*path == '/' &&
	    parse_db(ep, path + 1,
		     query ? (size_t)(query - path) - 1 : strlen(path + 1), url,
		     why) < 0)
		return -1;
	(void)snprintf(ep->name, sizeof(ep->name),
		       strchr(ep->at[0].host, ':') ? "[%s]:%s" : "%s:%s",
		       ep->at[0].host, ep->at[0].port);
	return parse_options(ep, query ? query + 1 : NULL, url, why);
}

static int parse_unix(struct endpoint *ep, const char *text, const char *url,
		      struct fail *why)
{
	size_t n = strcspn(text, "?");

	ep->kind = ENDPOINT_UNIX;
	if (*text != '/')
		return bad_url(why, url,
			       "a socket is written unix:///full/path");
	if (decode(text, n, ep->path, sizeof(ep->path)) < 0)
		return bad_url(why, url,
			       "the path is not valid, or longer than 107");
	(void)snprintf(ep->name, sizeof(ep->name), "%s", ep->path);
	return parse_options(ep, text[n] == '?' ? text + n + 1 : NULL, url,
			     why);
}

static int parse_local(struct endpoint *ep, const char *text, const char *url,
		       struct fail *why)
{
	ep->kind = ENDPOINT_LOCAL;
	ep->idle_ms = IDLE_DEFAULT_MS;
	(void)snprintf(ep->name, sizeof(ep->name), "local:");
	if (*text != '\0' && *text != '?')
		return bad_url(why, url, "nothing goes behind 'local:'");
	return parse_options(ep, *text == '?' ? text + 1 : NULL, url, why);
}

static const struct scheme {
	const char *head;
	int (*parse)(struct endpoint *, const char *, const char *,
		     struct fail *);
	const char *refusal;
} schemes[] = {
	{"redis://", parse_tcp, NULL},
	{"valkey://", parse_tcp, NULL},
	{"unix://", parse_unix, NULL},
	{"local:", parse_local, NULL},
	{"rediss://", NULL, "TLS is not part of this version"},
	{"valkeys://", NULL, "TLS is not part of this version"},
	{"redis-sentinel://", NULL, "Sentinel is not part of this version"},
	{"redis-cluster://", NULL, "Cluster is not part of this version"},
	{"http://", NULL,
	 "that is a REST address; redlock needs redis:// (TCP)"},
	{"https://", NULL,
	 "that is a REST address; redlock needs redis:// (TCP)"},
};

int endpoint_parse(struct endpoint *ep, const char *url, struct fail *why)
{
	memset(ep, 0, sizeof(*ep));
	ep->db = -1;
	if (*url == '\0')
		return bad_url(why, url, "an empty URL");
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const struct scheme *s = &schemes[i];

		if (strncmp(url, s->head, strlen(s->head)) != 0)
			continue;
		if (s->refusal)
			return bad_url(why, url, s->refusal);
		return s->parse(ep, url + strlen(s->head), url, why);
	}
	return bad_url(why, url,
		       "not a URL of ours: write redis://host:port, "
		       "unix:///path or local:");
}

void endpoint_url(const struct endpoint *ep, char url[ENDPOINT_URL_MAX])
{
	(void)snprintf(url, ENDPOINT_URL_MAX, "%s", ep->name);
}

static int read_secret(const char *path, char out[PASSWORD_MAX],
		       struct fail *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fail_sys(why, FAIL_CONFIG, "password file '%s'", path);
	/* read at every connect, so no pipe */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail(why, FAIL_CONFIG,
			    "password file '%s' is not a regular file", path);
	}
	if (st.st_mode & 077) {
		close(fd);
		return fail(why, FAIL_CONFIG,
			    "password file '%s' is open to others: chmod 600 "
			    "'%s'",
			    path, path);
	}
	n = read(fd, out, PASSWORD_MAX - 1);
	if (n < 0)
		(void)fail_sys(why, FAIL_CONFIG, "password file '%s'", path);
	close(fd);
	if (n < 0)
		return -1;
	out[n] = '\0';
	if (n == PASSWORD_MAX - 1 && !strpbrk(out, "\r\n"))
		return fail(why, FAIL_CONFIG,
			    "password file '%s': longer than %d bytes", path,
			    PASSWORD_MAX - 2);
	out[strcspn(out, "\r\n")] = '\0';
	if (out[0] == '\0')
		return fail(why, FAIL_CONFIG, "password file '%s' is empty",
			    path);
	return 0;
}

int secret_password(const struct secret *s, char out[PASSWORD_MAX], bool *has,
		    struct fail *why)
{
	*has = s->file[0] != '\0' || s->has_password;
	if (s->file[0] != '\0')
		return read_secret(s->file, out, why);
	memcpy(out, s->password, PASSWORD_MAX);
	return 0;
}
