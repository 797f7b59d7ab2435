/* SPDX-License-Identifier: MIT */
/* URLs and passwords. */
#include "net/endpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MINUTE ((int64_t)60000)

/* NULL: "". The port is 6379 unless given; a password of "" is none. */
static const struct good {
	const char *url;
	enum endpoint_kind kind;
	const char *host, *port, *path, *user, *password;
	int db;
	const char *name;
} good[] = {
#define TCP(u, h, p, us, pw, d, n)                                             \
	{                                                                      \
		u, ENDPOINT_TCP, h, p, "", us, pw, d, n                        \
	}
#define UNIX(u, p, d)                                                          \
	{                                                                      \
		u, ENDPOINT_UNIX, "", "", p, "", "", d, p                      \
	}
	TCP("redis://h", "h", "6379", "", "", 0, "h:6379"),
	TCP("valkey://h", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://h/", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://h:1", "h", "1", "", "", 0, "h:1"),
	TCP("redis://h:65535", "h", "65535", "", "", 0, "h:65535"),
	TCP("redis://h/0", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://h/15", "h", "6379", "", "", 15, "h:6379"),
	TCP("redis://h:2/1000000", "h", "2", "", "", 1000000, "h:2"),
	TCP("redis://h?db=3", "h", "6379", "", "", 3, "h:6379"),
	TCP("redis://h/?db=3", "h", "6379", "", "", 3, "h:6379"),
	TCP("redis://h/3?db=3", "h", "6379", "", "", 3, "h:6379"),
	TCP("redis://h?db=3&db=3", "h", "6379", "", "", 3, "h:6379"),
	TCP("redis://h?", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://127.0.0.1:7", "127.0.0.1", "7", "", "", 0, "127.0.0.1:7"),
	TCP("redis://[::1]", "::1", "6379", "", "", 0, "[::1]:6379"),
	TCP("redis://[::1]:7/2", "::1", "7", "", "", 2, "[::1]:7"),
	TCP("redis://u:p@[fe80::1]:7", "fe80::1", "7", "u", "p", 0,
	    "[fe80::1]:7"),
	TCP("redis://word@h", "h", "6379", "", "word", 0, "h:6379"),
	TCP("redis://:word@h", "h", "6379", "", "word", 0, "h:6379"),
	TCP("redis://me:word@h", "h", "6379", "me", "word", 0, "h:6379"),
	TCP("redis://me:@h", "h", "6379", "me", "", 0, "h:6379"),
	TCP("redis://@h", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://:@h", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://me:a:b@h", "h", "6379", "me", "a:b", 0, "h:6379"),
	TCP("redis://:%40%2F%3f%3A%25@h", "h", "6379", "", "@/?:%", 0,
	    "h:6379"),
	TCP("redis://m%3ae:p+q@h", "h", "6379", "m:e", "p+q", 0, "h:6379"),
	TCP("redis://:a#b&c=d@h", "h", "6379", "", "a#b&c=d", 0, "h:6379"),
	TCP("redis://:%c3%a9@h", "h", "6379", "", "\xc3\xa9", 0, "h:6379"),
	TCP("redis://:%0a@h", "h", "6379", "", "\n", 0, "h:6379"),
	UNIX("unix:///s", "/s", 0),
	UNIX("unix:///run/r.sock?db=2", "/run/r.sock", 2),
	UNIX("unix:///s?db=0", "/s", 0),
	{"unix:///a%20b%3fc%25", ENDPOINT_UNIX, "", "", "/a b?c%", "", "", 0,
	 "/a b?c%"},
	UNIX("unix:///a@b:c", "/a@b:c", 0),
	{"local:", ENDPOINT_LOCAL, "", "", "", "", "", 0, "local:"},
	{"local:?", ENDPOINT_LOCAL, "", "", "", "", "", 0, "local:"},
};

static void test_good(void)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		const struct good *g = &good[i];
		struct endpoint ep;
		struct fail why = {0};

		memset(&ep, 0x55, sizeof(ep));
		if (!is_int(endpoint_parse(&ep, g->url, &why), 0,
			    "%s is accepted", g->url)) {
			printf("# %s\n", why.text);
			continue;
		}
		is_int(ep.kind, g->kind, "%s: its kind", g->url);
		is_text(ep.at[0].host, g->host, "%s: its host", g->url);
		is_text(ep.at[0].port, g->port, "%s: its port", g->url);
		is_text(ep.path, g->path, "%s: its path", g->url);
		is_text(ep.secret.user, g->user, "%s: its user", g->url);
		is_text(ep.secret.password, g->password, "%s: its password",
			g->url);
		is_int(ep.secret.has_password, g->password[0] != '\0',
		       "%s: whether it has a password", g->url);
		is_int(ep.db, g->db, "%s: its database", g->url);
		is_text(ep.name, g->name, "%s: its name", g->url);
		ok(ep.secret.file[0] == '\0', "%s: no password file", g->url);
	}
}

static void test_idle(void)
{
	static const struct {
		const char *url;
		int64_t ms;
	} forms[] = {
		{"local:", MINUTE},
		{"local:?idle=90", 90000},
		{"local:?idle=1h30m", 90 * MINUTE},
		{"local:?idle=0", 0},
		{"local:?idle=250ms", 250},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct endpoint ep;
		struct fail why;

		is_int(endpoint_parse(&ep, forms[i].url, &why), 0,
		       "%s is accepted", forms[i].url);
		is_int(ep.idle_ms, forms[i].ms, "%s: its idle time",
		       forms[i].url);
	}
}

/* `SECRET` stands where a password would: no message may have it. */
static const struct {
	const char *url, *says;
} bad[] = {
	{"", "an empty URL"},
	{"h", "not a URL of ours"},
	{"h:6379", "not a URL of ours"},
	{"//h", "not a URL of ours"},
	{"redis:", "not a URL of ours"},
	{"redis:/h", "not a URL of ours"},
	{"REDIS://h", "not a URL of ours"},
	{" redis://h", "not a URL of ours"},
	{"ftp://h", "not a URL of ours"},
	{"tcp://:SECRET@h", "not a URL of ours"},
	{"me:SECRET@h", "not a URL of ours"},
	{"rediss://:SECRET@h", "TLS"},
	{"valkeys://h", "TLS"},
	{"redis-sentinel://:SECRET@h/m", "Sentinel"},
	{"redis-cluster://h", "Cluster"},
	{"http://h", "REST"},
	{"https://:SECRET@h", "REST"},
	{"redis://", "no host"},
	{"redis:///0", "no host"},
	{"redis://:1", "no host"},
	{"redis://:SECRET@", "no host"},
	{"redis://:SECRET@:1", "no host"},
	{"redis://[]", "no host"},
	{"redis://[::1", "'[' without ']'"},
	{"redis://[::1]x", "text behind ']'"},
	{"redis://:SECRET@[::1]1", "text behind ']'"},
	{"redis://::1", "brackets"},
	{"redis://:SECRET@fe80::1:6379", "brackets"},
	{"redis://a b", "the host is not valid"},
	{"redis://a%62", "the host is not valid"},
	{"redis://a\n", "the host is not valid"},
	{"redis://a\x7f", "the host is not valid"},
	{"redis://[fe80::1%25eth0]", "the host is not valid"},
	{"redis://h:", "port"},
	{"redis://h:/0", "port"},
	{"redis://h:0", "port"},
	{"redis://h:65536", "port"},
	{"redis://h:99999", "port"},
	{"redis://h:123456", "port"},
	{"redis://h:-1", "port"},
	{"redis://h:+1", "port"},
	{"redis://h:1x", "port"},
	{"redis://h: 1", "port"},
	{"redis://[::1]:", "port"},
	{"redis://[::1]:x", "port"},
	{"redis://:SECRET@h:x", "port"},
	{"redis://h/x", "database"},
	{"redis://h/-1", "database"},
	{"redis://h/1/", "database"},
	{"redis://h/1/2", "database"},
	{"redis://h/1000001", "database"},
	{"redis://h/18446744073709551617", "database"},
	{"redis://h?db=x", "database"},
	{"redis://h/1?db=2", "two different databases"},
	{"redis://h/0?db=2", "two different databases"},
	{"redis://h?db=1&db=2", "two different databases"},
	{"redis://h?db=", "unknown option"},
	{"redis://h?d=1", "unknown option"},
	{"redis://h?idle=1s", "unknown option"},
	{"redis://h?timeout=1", "unknown option"},
	{"redis://h?db=1&&db=1", "unknown option"},
	{"redis://:SE@CRET@h", "%40"},
	{"redis://:SE/CRET@h", "%40"},
	{"redis://:SE?CRET@h", "%40"},
	{"redis://me:SECRET@h/0@x", "%40"},
	{"redis://:SECRET%@h", "%25"},
	{"redis://:SECRET%2@h", "%25"},
	{"redis://:SECRET%zz@h", "%25"},
	{"redis://:SECRET%2x@h", "%25"},
	{"redis://:SECRET%00@h", "%25"},
	{"redis://m%e:SECRET@h", "the user is not valid"},
	{"redis://m%00:SECRET@h", "the user is not valid"},
	{"unix://", "unix:///full/path"},
	{"unix://s", "unix:///full/path"},
	{"unix://?db=1", "unix:///full/path"},
	{"unix:/s", "not a URL of ours"},
	{"unix:///a%", "the path is not valid"},
	{"unix:///a%00b", "the path is not valid"},
	{"unix:///a?idle=1s", "known: db=NUMBER"},
	{"unix:///a?db=-1", "database"},
	{"local:x", "nothing goes behind"},
	{"local://", "nothing goes behind"},
	{"local:/s", "nothing goes behind"},
	{"local:?db=1", "known: idle=DURATION"},
	{"local:?idle=", "known: idle=DURATION"},
	{"local:?idle=soon", "idle is not a duration"},
	{"local:?idle=-1s", "idle is not a duration"},
	{"local:?idle=1s&x", "known: idle=DURATION"},
	{"local:?idle=00000000000000000000000000000000001s", "unknown option"},
};

static void test_bad(void)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct endpoint ep;
		struct fail why = {0};
		bool refused = endpoint_parse(&ep, bad[i].url, &why) == -1;

		if (!ok(refused && why.kind == FAIL_USAGE &&
				strstr(why.text, bad[i].says),
			"'%s' is refused: %s", bad[i].url, bad[i].says))
			printf("# said: %s\n", why.text);
		if (strchr(bad[i].url, '@'))
			ok(!strstr(why.text, "SE") && !strstr(why.text, "CRET"),
			   "'%s': the message shows no password", bad[i].url);
	}
}

/* A URL of `head`, n times `c`, and `tail`. */
static int parse_padded(struct endpoint *ep, const char *head, char c, size_t n,
			const char *tail)
{
	char *url = malloc(strlen(head) + n + strlen(tail) + 1);
	struct fail why;
	int rc;

	strcpy(url, head);
	memset(url + strlen(head), c, n);
	strcpy(url + strlen(head) + n, tail);
	rc = endpoint_parse(ep, url, &why);
	free(url);
	return rc;
}

static void test_lengths(void)
{
	static const struct {
		const char *head, *tail, *what;
		char c;
		size_t most;
	} forms[] = {
		{"redis://", "", "a host", 'h', 255},
		{"redis://[", "]:1", "a host in brackets", ':', 255},
		{"redis://", ":pw@h", "a user", 'u', 255},
		{"redis://", "@h", "a password", 'p', PASSWORD_MAX - 1},
		{"redis://me:", "@h", "a password of a user", 'p',
		 PASSWORD_MAX - 1},
		{"unix:///", "", "a path but for its slash", 'p', 106},
		{"unix:///%41", "?db=1", "a path but for two bytes", 'p', 105},
		{"redis://h/", "1", "zeros of a database", '0', 10},
		{"redis://h:", "1", "zeros of a port", '0', 4},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct endpoint ep;

		is_int(parse_padded(&ep, forms[i].head, forms[i].c,
				    forms[i].most, forms[i].tail),
		       0, "%s may have %zu bytes", forms[i].what,
		       forms[i].most);
		is_int(parse_padded(&ep, forms[i].head, forms[i].c,
				    forms[i].most + 1, forms[i].tail),
		       -1, "%s has no more than %zu bytes", forms[i].what,
		       forms[i].most);
		is_int(parse_padded(&ep, forms[i].head, forms[i].c, 100000,
				    forms[i].tail),
		       -1, "%s of 100000 bytes is refused", forms[i].what);
	}
}

/* Whatever is in the password, and wherever a URL breaks behind it. */
static void test_name_is_safe(void)
{
	static const char *const tails[] = {"h",      "[::1]:7",    "h:7/3",
					    "h?db=1", "h:x",        "h/x",
					    "[::1",   "h?nosuch=1", ""};
	static const char *const heads[] = {
		"redis://me:", "redis://:", "valkey://", "redis://"};
	int shown = 0, tried = 0;
	char url[100];

	for (int c = 1; c < 256; c++)
		for (size_t i = 0; i < COUNT(tails) * COUNT(heads); i++) {
			struct endpoint ep;
			struct fail why = {0};

			(void)snprintf(url, sizeof(url), "%sTOP%cSECRET@%s",
				       heads[i % COUNT(heads)], c,
				       tails[i / COUNT(heads)]);
			(void)endpoint_parse(&ep, url, &why);
			tried++;
			if (strstr(ep.name, "TOP") || strstr(why.text, "TOP") ||
			    strstr(ep.name, "SECRET") ||
			    strstr(why.text, "SECRET"))
				shown++;
		}
	is_int(shown, 0, "%d URLs, good and bad, show no password", tried);
}

static void write_file(const char *path, const char *bytes, size_t n, int mode)
{
	int fd;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || fchmod(fd, 0) < 0 ||
	    fchmod(fd, (mode_t)mode) < 0)
		exit(99);
	close(fd);
}

static void test_url_password(void)
{
	static const struct {
		const char *url, *password;
		bool has;
	} forms[] = {
		{"redis://word@h", "word", true},
		{"redis://me:w%40@h", "w@", true},
		{"redis://h", "", false},
		{"redis://me:@h", "", false},
		{"unix:///s", "", false},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		char password[PASSWORD_MAX] = "old";
		struct endpoint ep;
		struct fail why;
		bool has = !forms[i].has;

		(void)endpoint_parse(&ep, forms[i].url, &why);
		is_int(secret_password(&ep.secret, password, &has, &why), 0,
		       "%s: its password can be had", forms[i].url);
		is_text(password, forms[i].password, "%s: it is '%s'",
			forms[i].url, forms[i].password);
		is_int(has, forms[i].has, "%s: whether there is one",
		       forms[i].url);
	}
}

static void test_file_contents(const char *path)
{
	static const struct {
		const char *bytes, *password;
	} forms[] = {
		{"secret", "secret"},
		{"secret\n", "secret"},
		{"secret\r\n", "secret"},
		{"one\ntwo\n", "one"},
		{" blank \n", " blank "},
		{"%41#\n", "%41#"},
		{"", NULL},
		{"\n", NULL},
		{"\nsecret\n", NULL},
		{"\r\n", NULL},
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		char password[PASSWORD_MAX];
		struct endpoint ep;
		struct fail why = {0};
		bool has = false;
		int rc;

		write_file(path, forms[i].bytes, strlen(forms[i].bytes), 0600);
		(void)endpoint_parse(&ep, "redis://url@h", &why);
		(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "%s",
			       path);
		rc = secret_password(&ep.secret, password, &has, &why);
		is_int(rc, forms[i].password ? 0 : -1,
		       "a password file of '%s' is %s", forms[i].bytes,
		       forms[i].password ? "read" : "refused");
		if (rc < 0)
			ok(why.kind == FAIL_CONFIG && strstr(why.text, path),
			   "'%s': the message names the file", forms[i].bytes);
		else
			is_text(password, forms[i].password,
				"'%s': its first line is used, not the URL's",
				forms[i].bytes);
	}
}

/* Every mode: what group or others may do with it is refused. */
static void test_file_modes(const char *path)
{
	char password[PASSWORD_MAX];
	struct endpoint ep;
	struct fail why;
	int wrong = -1;
	bool has;

	(void)endpoint_parse(&ep, "redis://h", &why);
	(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "%s", path);
	for (int mode = 0400; mode < 01000; mode++) {
		int want = mode & 077 ? -1 : 0;

		if (!(mode & 0400))
			continue;
		write_file(path, "secret\n", 7, mode);
		if (secret_password(&ep.secret, password, &has, &why) != want)
			wrong = mode;
		if (want < 0 &&
		    (why.kind != FAIL_CONFIG || !strstr(why.text, "chmod 600")))
			wrong = mode;
	}
	is_int(wrong, -1, "a file is refused if any bit of 077 is set");
}

static void test_file_afresh(const char *path)
{
	char password[PASSWORD_MAX];
	struct endpoint ep;
	struct fail why;
	bool has;

	(void)endpoint_parse(&ep, "redis://h", &why);
	(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "%s", path);
	write_file(path, "one\n", 4, 0600);
	(void)secret_password(&ep.secret, password, &has, &why);
	is_text(password, "one", "the password is read from the file");
	write_file(path, "two\n", 4, 0600);
	(void)secret_password(&ep.secret, password, &has, &why);
	is_text(password, "two", "it is read again each time");
	ok(has, "a file means that there is a password");
	(void)unlink(path);
	is_int(secret_password(&ep.secret, password, &has, &why), -1,
	       "a file that went away is an error");
	is_int(why.kind, FAIL_CONFIG, "a missing file is configuration");
	ok(strstr(why.text, path) && strstr(why.text, "No such file"),
	   "a missing file is named, and what is wrong with it");
	(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "/");
	is_int(secret_password(&ep.secret, password, &has, &why), -1,
	       "a directory is no password file");
}

static void test_file_length(const char *path)
{
	char password[PASSWORD_MAX], bytes[PASSWORD_MAX];
	struct endpoint ep;
	struct fail why;
	bool has;

	memset(bytes, 'p', sizeof(bytes));
	bytes[PASSWORD_MAX - 2] = '\n';
	write_file(path, bytes, PASSWORD_MAX - 1, 0600);
	(void)endpoint_parse(&ep, "redis://h", &why);
	(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "%s", path);
	is_int(secret_password(&ep.secret, password, &has, &why), 0,
	       "a long password is read");
	is_int((int64_t)strlen(password), PASSWORD_MAX - 2,
	       "a long password is read whole");
}

int main(void)
{
	char dir[] = "/tmp/t-endpoint.XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 99;
	(void)snprintf(path, sizeof(path), "%s/secret", dir);
	test_good();
	test_idle();
	test_bad();
	test_lengths();
	test_name_is_safe();
	test_url_password();
	test_file_contents(path);
	test_file_modes(path);
	test_file_afresh(path);
	test_file_length(path);
	(void)unlink(path);
	(void)rmdir(dir);
	return done();
}
