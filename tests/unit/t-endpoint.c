/* SPDX-License-Identifier: MIT */
/* URLs and passwords. */
#include "cli/mask.h"
#include "cli/url.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/password.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MINUTE ((int64_t)60000)
#define THIRTY "123456789012345678901234567890"
#define NINETY THIRTY THIRTY THIRTY

/* NULL: "". The port is 6379 unless given; a password of "" means none. */
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
	TCP("redis://h/?db=%33", "h", "6379", "", "", 3, "h:6379"),
	TCP("redis://h?", "h", "6379", "", "", 0, "h:6379"),
	TCP("redis://127.0.0.1:7", "127.0.0.1", "7", "", "", 0, "127.0.0.1:7"),
	TCP("redis://[::1]", "::1", "6379", "", "", 0, "[::1]:6379"),
	TCP("redis://H.Example:0007", "h.example", "7", "", "", 0,
	    "h.example:7"),
	TCP("redis://h.example.", "h.example.", "6379", "", "", 0,
	    "h.example.:6379"),
	TCP("redis://my_redis-1", "my_redis-1", "6379", "", "", 0,
	    "my_redis-1:6379"),
	TCP("redis://7.example", "7.example", "6379", "", "", 0,
	    "7.example:6379"),
	TCP("redis://[0:0::0:1]", "::1", "6379", "", "", 0, "[::1]:6379"),
	TCP("redis://[FE80::A]", "fe80::a", "6379", "", "", 0,
	    "[fe80::a]:6379"),
	TCP("redis://[::ffff:1.2.3.4]", "::ffff:1.2.3.4", "6379", "", "", 0,
	    "[::ffff:1.2.3.4]:6379"),
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
	UNIX("unix://@/s", "/s", 0),
	{"unix://me:w%2f@/s", ENDPOINT_UNIX, "", "", "/s", "me", "w/", 0, "/s"},
	{"unix://word@/s?db=4", ENDPOINT_UNIX, "", "", "/s", "", "word", 4,
	 "/s"},
	{"unix://:word@/s", ENDPOINT_UNIX, "", "", "/s", "", "word", 0, "/s"},
	{"unix://me:@/s", ENDPOINT_UNIX, "", "", "/s", "me", "", 0, "/s"},
	{"unix:///a%0ab%ff", ENDPOINT_UNIX, "", "", "/a\nb\xff", "", "", 0,
	 "/a\\x0ab\\xff"},
	{"local:", ENDPOINT_LOCAL, "", "", "", "", "", 0, "local:"},
	{"local:?", ENDPOINT_LOCAL, "", "", "", "", "", 0, "local:"},
	{"local:?dir=/", ENDPOINT_LOCAL, "", "", "", "", "", 0, "local:?dir=/"},
	{"local:?dir=/a%20b%0a", ENDPOINT_LOCAL, "", "", "", "", "", 0,
	 "local:?dir=/a b\\x0a"},
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
		{"local:?idle=00000000000000000000000000000000000001s", 1000},
		{"redis://h", 0},
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

/* Servers that are found through others; "at" is all places, by blanks. */
static const struct {
	const char *url;
	enum endpoint_kind kind;
	bool tls;
	const char *at, *group;
	int db;
	const char *name;
} lists[] = {
	{"redis-sentinel://h/m", ENDPOINT_SENTINEL, false, "h:26379", "m", 0,
	 "m of the Sentinel h:26379"},
	{"valkey-sentinel://h/m/", ENDPOINT_SENTINEL, false, "h:26379", "m", 0,
	 "m of the Sentinel h:26379"},
	{"rediss-sentinel://h1:1,h2,[::1]:3,[::2]/my%2fm%0a/4",
	 ENDPOINT_SENTINEL, true, "h1:1 h2:26379 ::1:3 ::2:26379", "my/m\n", 4,
	 "my/m\\x0a of the Sentinels h1:1, h2:26379, [::1]:3, [::2]:26379"},
	{"valkeys-sentinel://u:p@h1,h2/m?db=2", ENDPOINT_SENTINEL, true,
	 "h1:26379 h2:26379", "m", 2, "m of the Sentinels h1:26379, h2:26379"},
	{"redis-sentinel://h1,h2,h1,H2:26379,h1:1/0", ENDPOINT_SENTINEL, false,
	 "h1:26379 h2:26379 h1:1", "0", 0,
	 "0 of the Sentinels h1:26379, h2:26379, h1:1"},
	{"redis-cluster://h", ENDPOINT_CLUSTER, false, "h:6379", "", 0,
	 "the Cluster at h:6379"},
	{"rediss-cluster://h1,h2:7/", ENDPOINT_CLUSTER, true, "h1:6379 h2:7",
	 "", 0, "the Cluster at h1:6379, h2:7"},
	{"valkey-cluster://p@[::1],[0::1]/0?db=0", ENDPOINT_CLUSTER, false,
	 "::1:6379", "", 0, "the Cluster at [::1]:6379"},
	{"valkeys-cluster://1.2.3.4,h1,h1:6379,1.2.3.4:06379", ENDPOINT_CLUSTER,
	 true, "1.2.3.4:6379 h1:6379", "", 0,
	 "the Cluster at 1.2.3.4:6379, h1:6379"},
	{"rediss://h", ENDPOINT_TCP, true, "h:6379", "", 0, "h:6379"},
	{"valkeys://h:1/2", ENDPOINT_TCP, true, "h:1", "", 2, "h:1"},
};

static void test_lists(void)
{
	for (size_t i = 0; i < COUNT(lists); i++) {
		const char *url = lists[i].url;
		char at[400] = "";
		size_t used = 0;
		struct endpoint ep;
		struct fail why = {0};

		if (!is_int(endpoint_parse(&ep, url, &why), 0, "%s is accepted",
			    url)) {
			printf("# %s\n", why.text);
			continue;
		}
		for (int k = 0; k < ep.places && used < sizeof(at); k++)
			used += (size_t)snprintf(at + used, sizeof(at) - used,
						 "%s%s:%s", k ? " " : "",
						 ep.at[k].host, ep.at[k].port);
		is_int(ep.kind, lists[i].kind, "%s: its kind", url);
		is_int(ep.tls, lists[i].tls, "%s: whether it has TLS", url);
		is_int(ep.sentinel_tls,
		       lists[i].tls && lists[i].kind == ENDPOINT_SENTINEL,
		       "%s: whether its Sentinels have TLS", url);
		is_text(at, lists[i].at, "%s: its hosts", url);
		is_text(ep.group, lists[i].group, "%s: its master", url);
		is_int(ep.db, lists[i].db, "%s: its database", url);
		is_text(ep.name, lists[i].name, "%s: its name", url);
	}
}

/* "SCHEME://h00:1,h01:1,...", as many as are allowed, each `wide` bytes. */
static void put_hosts(char *url, size_t size, const char *scheme, int wide)
{
	int used = snprintf(url, size, "%s://", scheme);

	for (int i = 0; i < PLACES_MAX; i++)
		used += snprintf(url + used, size - (size_t)used, "%s%0*d.h:1",
				 i ? "," : "", wide - 2, i);
}

static void test_many_hosts(void)
{
	static char url[8000];
	struct endpoint ep;
	struct fail why;
	size_t most = 0, n;
	int whole = 0;

	put_hosts(url, sizeof(url), "redis-cluster", 4);
	is_int(endpoint_parse(&ep, url, &why), 0, "16 hosts are accepted");
	is_int(ep.places, 16, "they are 16");
	ok(strstr(ep.name, ", 15.h:1") && !strstr(ep.name, "more"),
	   "the name has all of them");
	n = strlen(url);
	(void)snprintf(url + n, sizeof(url) - n, ",03.H:1");
	is_int(endpoint_parse(&ep, url, &why), 0,
	       "one of them once more is accepted");
	is_int(ep.places, 16, "they are still 16");
	(void)snprintf(url + n, sizeof(url) - n, ",16.h:1");
	is_int(endpoint_parse(&ep, url, &why), -1, "17 hosts are refused");
	ok(strstr(why.text, "more than 16 hosts"), "it is said why");

	for (int wide = 4; wide <= 255; wide++) {
		put_hosts(url, sizeof(url), "redis-sentinel", wide);
		n = strlen(url);
		url[n++] = '/';
		memset(url + n, 'm', 255);
		url[n + 255] = '\0';
		if (endpoint_parse(&ep, url, &why) < 0 ||
		    strncmp(ep.name, "mmmm", 4) != 0 ||
		    !strstr(ep.name, "0.h:1"))
			break;
		n = strlen(ep.name);
		if (strcmp(ep.name + n - 6, "15.h:1") != 0 &&
		    strcmp(ep.name + n - 5, " more") != 0)
			break;
		whole += ep.name[n - 1] == '1';
		most = n > most ? n : most;
	}
	if (!ok(strstr(ep.name, "0.h:1, and 15 more"),
		"a long list is cut between two hosts"))
		printf("# %s\n", ep.name);
	ok(whole > 5 && whole < 20, "%d of 252 lists are named whole", whole);
	ok(most > 370, "names of up to %zu bytes", most);
}

/* The one form of a URL, and that it means the same: the same bytes. */
static void check_form(const struct endpoint *ep, const char *form,
		       const char *what)
{
	static char url[ENDPOINT_URL_MAX];
	struct endpoint again;
	struct fail why = {0};

	memset(&again, 0xaa, sizeof(again));
	memset(url, 'x', sizeof(url));
	endpoint_url(ep, url);
	if (form && !ok(strcmp(url, form) == 0, "%s: its one form", what))
		printf("# got %.300s\n# not %.300s\n", url, form);
	if (!ok(endpoint_parse(&again, url, &why) == 0 &&
			/* NOLINTNEXTLINE(*-memory-comparison): zeroed before */
			memcmp(ep, &again, sizeof(again)) == 0,
		"%s: its one form means the same", what))
		printf("# %.300s: %s\n", url, why.text);
}

/* NULL: the URL itself. */
static const struct {
	const char *url, *form;
} canonical[] = {
	{"redis://h:6379", NULL},
	{"redis://H", "redis://h:6379"},
	{"valkey://h/0", "redis://h:6379"},
	{"valkeys://h/?db=3", "rediss://h:6379/3"},
	{"redis://w@h", "redis://:w@h:6379"},
	{"redis://@h", "redis://h:6379"},
	{"redis://:@h", "redis://h:6379"},
	{"redis://me:@h:6379", NULL},
	{"redis://:a:b#&=+!%7e@h", "redis://:a%3Ab%23%26%3D%2B%21~@h:6379"},
	{"redis://%c3%a9:%ff%0a%20@h", "redis://%C3%A9:%FF%0A%20@h:6379"},
	{"redis://[0::1]:06379", "redis://[::1]:6379"},
	{"unix:///a@b?db=0", "unix:///a%40b"},
	{"unix://me:pw@/s?db=7", NULL},
	{"unix://pw@/a%20b/c%3f?db=7", "unix://:pw@/a%20b/c%3F?db=7"},
	{"local:?idle=60", "local:"},
	{"local:?timeout=1&idle=0", "local:?idle=0ms&timeout=1000ms"},
	{"local:?idle=0&dir=/a/b%3f///", "local:?dir=/a/b%3F&idle=0ms"},
	{"local:?dir=//", "local:?dir=/"},
	{"local:?dir=/" NINETY "12345", NULL},
	{"redis://h?timeout=1.5&db=2", "redis://h:6379/2?timeout=1500ms"},
	{"redis://h?timeout=0.0001", "redis://h:6379?timeout=1ms"},
	{"redis://h?timeout=10000d", "redis://h:6379?timeout=864000000000ms"},
	{"redis://me:@h?password-file=/a%20b/c%26d",
	 "redis://me:@h:6379?password-file=/a%20b/c%26d"},
	{"redis://h?password-file=a?b=c",
	 "redis://h:6379?password-file=a%3Fb%3Dc"},
	{"rediss://h?tls-verify=full", "rediss://h:6379"},
	{"rediss://h?tls-verify=ca", "rediss://h:6379?tls-verify=ca"},
	{"rediss://h?tls-verify=none&sni=N.x&key=/k&cert=/c&cacertdir=/d"
	 "&cacert=/e&password-file=/p&timeout=2&db=1",
	 "rediss://h:6379/1?timeout=2000ms&password-file=/p&cacert=/e"
	 "&cacertdir=/d&cert=/c&key=/k&sni=N.x&tls-verify=none"},
	{"valkey-sentinel://h1,h2/m", "redis-sentinel://h1:26379,h2:26379/m"},
	{"redis-sentinel://h/m%2f%40/0", "redis-sentinel://h:26379/m%2F%40"},
	{"redis-sentinel://h:1/m/3?sentinel-tls=no",
	 "redis-sentinel://h:1/m/3"},
	{"redis-sentinel://h:1/m?sentinel-tls=yes&cacert=/c",
	 "redis-sentinel://h:1/m?cacert=/c&sentinel-tls=yes"},
	{"rediss-sentinel://h:1/m?sentinel-tls=yes", "rediss-sentinel://h:1/m"},
	{"rediss-sentinel://h:1/m?sentinel-tls=no&sni=n",
	 "rediss-sentinel://h:1/m?sni=n&sentinel-tls=no"},
	{"redis-sentinel://a:b@h:1/m/2?sentinel-password-file=/f"
	 "&sentinel-user=u%20v",
	 "redis-sentinel://a:b@h:1/m/2?sentinel-user=u%20v"
	 "&sentinel-password-file=/f"},
	{"valkeys-cluster://:p@h2,h1:1/0?sni=n",
	 "rediss-cluster://:p@h2:6379,h1:1?sni=n"},
};

static void test_one_form(void)
{
	struct endpoint ep;
	struct fail why = {0};

	for (size_t i = 0; i < COUNT(canonical); i++) {
		const char *url = canonical[i].url, *form = canonical[i].form;

		if (ok(endpoint_parse(&ep, url, &why) == 0, "%s is accepted",
		       url))
			check_form(&ep, form ? form : url, url);
		else
			printf("# %s\n", why.text);
	}
	for (size_t i = 0; i < COUNT(good); i++)
		if (endpoint_parse(&ep, good[i].url, &why) == 0)
			check_form(&ep, NULL, good[i].url);
	for (size_t i = 0; i < COUNT(lists); i++)
		if (endpoint_parse(&ep, lists[i].url, &why) == 0)
			check_form(&ep, NULL, lists[i].url);
}

/* What the command line adds stands in the URL as well. */
static void test_merged(void)
{
	static char url[ENDPOINT_URL_MAX];
	struct endpoint ep;
	struct fail why;

	(void)endpoint_parse(&ep, "rediss://:word@h", &why);
	SET(ep.secret.user, "me@");
	SET(ep.tls_conf.cacert, "/c a");
	SET(ep.tls_conf.sni, "n");
	ep.tls_conf.verify = TLS_CA;
	ep.timeout_ms = 250;
	check_form(&ep,
		   "rediss://me%40:word@h:6379?timeout=250ms&cacert=/c%20a"
		   "&sni=n&tls-verify=ca",
		   "a URL with options of the command line");
	SET(ep.secret.file, "/f");
	endpoint_url(&ep, url);
	is_text(url,
		"rediss://me%40:@h:6379?timeout=250ms&password-file=/f"
		"&cacert=/c%20a&sni=n&tls-verify=ca",
		"a password stands in the URL or in a file, not in both");
	(void)endpoint_parse(&ep, "redis://h", &why);
	SET(ep.tls_conf.cacert, "/c");
	endpoint_url(&ep, url);
	is_text(url, "redis://h:6379", "no TLS, and nothing is said about it");
}

static void fill(char *text, size_t size, char c)
{
	memset(text, c, size - 1);
	text[size - 1] = '\0';
}

/* Every field full, of bytes that take three each. */
static void test_longest(void)
{
	static char url[ENDPOINT_URL_MAX];
	struct endpoint ep;
	struct fail why;

	(void)endpoint_parse(&ep, "rediss-sentinel://h/m", &why);
	ep.places = PLACES_MAX;
	for (int i = 0; i < PLACES_MAX; i++) {
		fill(ep.at[i].host, sizeof(ep.at[i].host), 'h');
		ep.at[i].host[0] = (char)('a' + i);
		SET(ep.at[i].port, "65535");
	}
	fill(ep.group, sizeof(ep.group), '\xff');
	fill(ep.secret.user, sizeof(ep.secret.user), '\xff');
	fill(ep.secret.password, sizeof(ep.secret.password), '\xff');
	ep.secret.has_password = true;
	fill(ep.sentinel.user, sizeof(ep.sentinel.user), '\xff');
	fill(ep.sentinel.file, sizeof(ep.sentinel.file), '\xff');
	fill(ep.tls_conf.cacert, sizeof(ep.tls_conf.cacert), '\xff');
	fill(ep.tls_conf.cacertdir, sizeof(ep.tls_conf.cacertdir), '\xff');
	fill(ep.tls_conf.cert, sizeof(ep.tls_conf.cert), '\xff');
	fill(ep.tls_conf.key, sizeof(ep.tls_conf.key), '\xff');
	fill(ep.tls_conf.sni, sizeof(ep.tls_conf.sni), 'n');
	ep.tls_conf.verify = TLS_NONE;
	ep.sentinel_tls = false;
	ep.db = 1000000;
	ep.timeout_ms = 864000000000;
	endpoint_url(&ep, url);
	ok(strlen(url) > 20500, "the longest URL has %zu bytes", strlen(url));
	if (ok(endpoint_parse(&ep, url, &why) == 0, "it is accepted"))
		check_form(&ep, url, "the longest URL");
}

/* As messages show what was typed. */
static const struct {
	const char *url, *shown;
} masked[] = {
	{"redis://h:1/2?db=3", "redis://h:1/2?db=3"},
	{"redis://SECRET@h", "redis://***@h"},
	{"redis://me:SECRET@h/0", "redis://***@h/0"},
	{"redis://me:SE@CRET@h", "redis://***@h"},
	{"redis://me:SE/CRET@h", "redis://***@h"},
	{"redis://h/0?x=SECRET@y", "redis://***@y"},
	{"tcp://me:SECRET@h", "tcp://***@h"},
	{"me:SECRET@h", "***@h"},
	{"me:SE://CRET@h", "***@h"},
	{"://SECRET@h", "***@h"},
	{"redis:/me:SECRET@h", "***@h"},
	{"local:SECRET@", "***@"},
	{"", ""},
	{"@", "***@"},
	{"h", "h"},
	{"redis://me:SECRET", "redis://me:***"},
	{"redis://:SECRET", "redis://:***"},
	{"redis://me:SECRET/0", "redis://me:***"},
	{"redis://h:1,me:1SECRET,g:2/0", "redis://h:1,me:***"},
	{"redis://me:65536", "redis://me:***"},
	{"redis://[::1]:SECRET", "redis://[::1]:***"},
	{"redis://[::1]:1/0", "redis://[::1]:1/0"},
	{"me:SECRET", "me:***"},
	{"local:?idle=5s", "local:?idle=5s"},
	{"unix:///a:b", "unix:///a:b"},
	{"redis://h?password=SECRET", "redis://h?password=***"},
	{"redis://h?db=1&password=SE&CRET", "redis://h?db=1&password=***"},
	{"redis://h?PassWord=SECRET", "redis://h?PassWord=***"},
	{"redis://h?sentinel-password=SECRET",
	 "redis://h?sentinel-password=***"},
	{"redis://h?password=", "redis://h?password="},
	{"redis://me:SECRET@h?password=SECRET", "redis://***@h?password=***"},
	{"h:1,password=SECRET", "h:1,password=***"},
	{"redis://h?pasword=SECRET", "redis://h?pasword=***"},
	{"redis://h?db=1&auth=SE&db=CRET", "redis://h?db=1&auth=***"},
	{"rediss://h?password-file=/f&cacert=/c",
	 "rediss://h?password-file=/f&cacert=/c"},
	{"redis://h?db&timeout", "redis://h?db&timeout"},
	{"redis://a b\n\x1b[1m\x7f", "redis://a b\\x0a\\x1b[1m\\x7f"},
	{"redis://\xff\xc3\xa9\xc2\x9b", "redis://\\xff\xc3\xa9\\xc2\\x9b"},
};

static void test_masked(void)
{
	static char wide[3000];
	char buf[160];
	size_t n;

	for (size_t i = 0; i < COUNT(masked); i++) {
		is_text(endpoint_masked(masked[i].url, buf), masked[i].shown,
			"'%s' is shown as '%s'", masked[i].url,
			masked[i].shown);
		ok(!strstr(buf, "SE") && !strstr(buf, "CRET"),
		   "'%s': no password is shown", masked[i].url);
	}
	/* wherever the room ends */
	for (n = 0; n < 200; n++) {
		(void)snprintf(wide, sizeof(wide), "redis://%*s@%*s?x=SECRET",
			       (int)n, "SECRET", (int)n, "\x01");
		memset(buf, 'x', sizeof(buf));
		(void)endpoint_masked(wide, buf);
		if (!memchr(buf, '\0', sizeof(buf)) || strstr(buf, "SECRET"))
			break;
		(void)snprintf(wide, sizeof(wide), "%0*d://:SECRET@h", (int)n,
			       1);
		(void)endpoint_masked(wide, buf);
		if (!memchr(buf, '\0', sizeof(buf)) || strstr(buf, "SECRET"))
			break;
	}
	is_int((int64_t)n, 200, "no password is shown, however long the rest");
	ok(n == 200 && strncmp(buf, "0000", 4) == 0 &&
		   strcmp(buf + strlen(buf) - 3, "...") == 0,
	   "a long text is cut");
	SET(wide, "redis://");
	fill(wide + 8, sizeof(wide) - 8, 'h');
	(void)endpoint_masked(wide, buf);
	is_int((int64_t)strlen(buf), 159, "as much as has room is shown");
}

/* `SECRET` stands where a password would: no message may have it. */
static const struct {
	const char *url, *says;
} bad[] = {
	{"", "empty URL: write redis://host:port"},
	{"h", "write redis://h"},
	{"h:6379", "write redis://h:6379"},
	{"127.0.0.1:6379", "write redis://127.0.0.1:6379"},
	{"[::1]:6379", "write redis://[::1]:6379"},
	{"redis:6379", "write redis://redis:6379"},
	{"/run/redis.sock", "write unix:///run/redis.sock"},
	{"/run/SECRET@h", "unsupported URL: write redis://host:port"},
	{"/s?password=SECRET", "unsupported URL: write"},
	{"local", "write local:"},
	{":6379", "unsupported URL: write"},
	{"//h", "unsupported URL: write"},
	{"://h", "unsupported URL: write"},
	{"redis:", "did you mean redis://?"},
	{"redis:/h", "not a URL: write redis://h"},
	{"redis:/me:SECRET@h", "not a URL: write redis://***@h"},
	{"REDIS://h", "did you mean redis://?"},
	{"Redis-Cluster://h", "did you mean redis-cluster://?"},
	{"redsi://:SECRET@h", "did you mean redis://?"},
	{"reds://:SECRET@h", "unsupported URL; did you mean rediss://?"},
	{"reddis://h", "did you mean redis://?"},
	{"redis+sentinel://h/m", "did you mean redis-sentinel://?"},
	{"unxi:///s", "did you mean unix://?"},
	{"\"redis://:SECRET@h\"", "the URL is in quotes: leave them out"},
	{"'redis://:SECRET@h'", "the URL is in quotes: leave them out"},
	{"lcoal:", "did you mean local:?"},
	{"ftp://h", "unsupported URL: write"},
	{"htp://h", "unsupported URL: write"},
	{"memcached://:SECRET@h", "unsupported URL: write"},
	{"me:SECRET@h", "unsupported URL: write"},
	{"me:SEC://CRET@h", "unsupported URL: write"},
	{"http://h", "that is a REST address; redlock needs redis:// (TCP)"},
	{"https://:SECRET@h", "that is a REST address"},

	{" redis://h", "contains a space or a control character"},
	{"redis://h ", "contains a space or a control character"},
	{"redis://a b", "contains a space or a control character"},
	{"redis://a\n", "contains a space or a control character"},
	{"redis://a\x7f", "contains a space or a control character"},
	{"redis://:SE\tCRET@h", "contains a space or a control character"},
	{"redis://:SE CRET@h", "contains a space or a control character"},
	{"unix:///a b", "%20"},
	{"local: ", "contains a space or a control character"},

	{"redis://", "missing host"},
	{"redis:///0", "missing host"},
	{"redis://:1", "missing host"},
	{"redis://:SECRET@", "missing host"},
	{"redis://:SECRET@:1", "missing host"},
	{"redis://[]", "not an IPv6 address in the brackets"},
	{"redis://[h]", "not an IPv6 address in the brackets"},
	{"redis://[1.2.3.4]", "not an IPv6 address in the brackets"},
	{"redis://[::1::]", "not an IPv6 address in the brackets"},
	{"redis://[fe80::1%25eth0]", "not an IPv6 address in the brackets"},
	{"redis://[[::1]]", "unexpected text after ']'"},
	{"redis://[[::1]", "not an IPv6 address in the brackets"},
	{"redis://[::1", "missing ']'"},
	{"redis://[", "missing ']'"},
	{"redis://[::1]x", "unexpected text after ']'"},
	{"redis://[::1]6379", "unexpected text after ']'"},
	{"redis://:SECRET@[::1]1", "unexpected text after ']'"},
	{"redis://::1", "brackets"},
	{"redis://:SECRET@fe80::1:6379", "brackets"},
	{"redis://h:6379:6379", "more than one ':'"},
	{"redis://a%62", "the host is not valid"},
	{"redis://h\\x", "the host is not valid"},
	{"redis://\xc3\xa9", "the host is not valid"},
	{"redis://h]", "the host is not valid"},
	{"redis://h&db=1", "the host is not valid"},
	{"redis://.h", "the host is not valid"},
	{"redis://a..b", "the host is not valid"},
	{"redis://h..", "the host is not valid"},
	{"redis://.", "the host is not valid"},
	{"redis://1.2.3.4.:6379", "neither an address nor a name"},
	{"redis://1.2.3:6379", "neither an address nor a name"},
	{"redis://127.1", "neither an address nor a name"},
	{"redis://1.2.3.256", "neither an address nor a name"},
	{"redis://1.2.3.04", "neither an address nor a name"},
	{"redis://1.2.3.4.5", "neither an address nor a name"},
	{"redis://6379", "neither an address nor a name"},
	{"redis://0x7f000001", "neither an address nor a name"},
	{"redis://127.0.0.0X1", "neither an address nor a name"},
	{"redis://h1,h2", "only one host is allowed"},
	{"redis://h1,h2/3", "independent servers stand with blanks between"},
	{"redis://h1,redis://h2", "several URLs stand with blanks between"},
	{"unix:///a,unix:///b", "several URLs stand with blanks between"},
	{"redis-sentinel://a,rediss-sentinel://b/m", "or -u for each"},
	{"redis//localhost", "not a URL: write redis://localhost"},
	{"redis:/h:1/2", "not a URL: write redis://h:1/2"},
	{"rediss:///h", "missing host"},
	{"valkeys//me:SECRET@h", "not a URL: write valkeys://***@h"},
	{"redis-cluster:a,b", "not a URL: write redis-cluster://a,b"},
	{"unix:/run/a.sock", "not a URL: write unix:///run/a.sock"},
	{"redis://h1:1,h2:2/0", "only one host is allowed"},

	{"redis://h:", "port"},
	{"redis://h:/0", "port"},
	{"redis://h:0", "port"},
	{"redis://h:00000", "port"},
	{"redis://h:65536", "port"},
	{"redis://h:99999", "port"},
	{"redis://h:123456", "port"},
	{"redis://h:4294973675", "port"},
	{"redis://h:-1", "port"},
	{"redis://h:+1", "port"},
	{"redis://h:0x10", "port"},
	{"redis://h:1e3", "port"},
	{"redis://h:1x", "port"},
	{"redis://h:%31", "port"},
	{"redis://[::1]:", "port"},
	{"redis://[::1]:x", "port"},
	{"redis://:SECRET@h:x", "port"},

	{"redis://h/x", "database"},
	{"redis://h/-1", "database"},
	{"redis://h/+1", "database"},
	{"redis://h/%31", "database"},
	{"redis://h/1/", "database"},
	{"redis://h/1/2", "database"},
	{"redis://h//", "database"},
	{"redis://h/1000001", "database"},
	{"redis://h/4294967297", "database"},
	{"redis://h/18446744073709551617", "database"},
	{"redis://h?db=x", "database"},
	{"unix:///a?db=-1", "database"},
	{"redis://h/1?db=2", "the path and db= name different databases"},
	{"redis://h/0?db=2", "the path and db= name different databases"},
	{"redis://h/2?db=0", "the path and db= name different databases"},

	{"redis://:SE@CRET@h", "%40"},
	{"redis://:SE/CRET@h", "%2F"},
	{"redis://:SE?CRET@h", "%3F"},
	{"redis://:SE/CR@ET@h", "use --password-file"},
	{"redis://SE/CRET@h", "%40"},
	{"redis://me:SECRET@h/0@x", "%40"},
	{"redis://me:SECRET@h?db=0@x", "%40"},
	{"redis://:SECRET@h,:SECRET@h", "%40"},
	{"unix://:SE/CRET@/s", "%40"},
	{"unix://:SE@CRET@/s", "%40"},
	{"unix://:SE?CRET@/s", "%40"},
	{"unix://me:SECRET@/s@x", "%40"},
	{"unix:///s?db=1@", "%40"},
	{"local:/SECRET@", "%40"},
	{"redis-sentinel://SECRET@h1,SECRET@h2/m", "%40"},
	{"redis-sentinel://me:SE/CRET@h/m", "%40"},
	{"redis-cluster://:SE/CRET@h", "%40"},
	{"redis://:SECRET%@h", "%25"},
	{"redis://:SECRET%2@h", "%25"},
	{"redis://:SECRET%zz@h", "%25"},
	{"redis://:SECRET%2x@h", "%25"},
	{"redis://:SECRET%00@h", "the password: a NUL byte"},
	{"redis://m%e:SECRET@h", "the user: write % as %25"},
	{"redis://m%00:SECRET@h", "the user: a NUL byte"},
	{"redis://h#f", "write '#' as %23"},
	{"redis://:SECRET@h/0#f", "write '#' as %23"},
	{"redis://h?db=1#f", "write '#' as %23"},
	{"unix:///s#f", "write '#' as %23"},
	{"redis-sentinel://h/0#m", "write '#' as %23"},
	{"local:#", "write '#' as %23"},

	{"unix://", "unix:///full/path"},
	{"unix://s", "unix:///full/path"},
	{"unix://h/s", "unix:///full/path"},
	{"unix://:SECRET@s", "unix:///full/path"},
	{"unix://:SECRET@h/s", "unix:///full/path"},
	{"unix://:SECRET@", "unix:///full/path"},
	{"unix://?db=1", "unix:///full/path"},
	{"unix:/s", "not a URL: write unix:///s"},
	{"unix:///a%", "the path: write % as %25"},
	{"unix:///a%2", "the path: write % as %25"},
	{"unix:///a%00b", "the path: a NUL byte"},
	{"local:x", "nothing may follow"},
	{"local://", "nothing may follow"},
	{"local:/s", "nothing may follow"},
	{"local:@", "nothing may follow"},
	{"local:SECRET@", "nothing may follow"},
	{"local:me:SECRET@?idle=1", "nothing may follow"},
	{"local:?SECRET@=1", "%40"},
	{"local:6379", "nothing may follow"},

	{"redis-sentinel://h", "missing master name: add /NAME"},
	{"redis-sentinel://h/", "missing master name: add /NAME"},
	{"redis-sentinel://h//0", "missing master name: add /NAME"},
	{"redis-sentinel://:SECRET@h?db=1", "missing master name: add /NAME"},
	{"redis-sentinel://h/m/x", "database"},
	{"redis-sentinel://h/m/0/1", "database"},
	{"redis-sentinel://h/m%00", "NAME: a NUL byte"},
	{"redis-sentinel:///m", "missing host"},
	{"redis-sentinel://h1,/m", "an empty host in the list"},
	{"redis-sentinel://,h1/m", "an empty host in the list"},
	{"redis-sentinel://h1,,h2/m", "an empty host in the list"},
	{"redis-sentinel://:SECRET@,/m", "an empty host in the list"},
	{"redis-sentinel://h1,:1/m", "missing host"},
	{"redis-sentinel://h1,h2:x/m", "port"},
	{"redis-sentinel://h1,::1/m", "brackets"},
	{"redis-cluster://", "missing host"},
	{"redis-cluster://,", "an empty host in the list"},
	{"redis-cluster://h1,", "an empty host in the list"},
	{"redis-cluster://h/1", "a Cluster has only database 0"},
	{"redis-cluster://h?db=1", "a Cluster has only database 0"},
	{"redis-cluster://h/x", "database"},
	{"redis-cluster://h/0/", "database"},

	{"rediss://h?cacrt=/c",
	 "unknown option 'cacrt'; did you mean 'cacert'?"},
	{"redis://h?cacrt=/c", "did you mean 'cacert'?"},
	{"redis://h?tiemout=1", "did you mean 'timeout'?"},
	{"redis://h?DB=1", "did you mean 'db'?"},
	{"redis://h?timeot", "did you mean 'timeout'?"},
	{"redis://h?frobnicate=1",
	 "unknown option 'frobnicate' (known: db, timeout, password-file)"},
	{"rediss://h?frobnicate=1",
	 "(known: db, timeout, password-file, cacert, cacertdir, cert, key, "
	 "sni, tls-verify)"},
	{"rediss-sentinel://h/m?frobnicate=1",
	 "sni, tls-verify, sentinel-user, sentinel-password-file, "
	 "sentinel-tls)"},
	{"local:?frobnicate=1", "(known: dir, idle, timeout)"},
	{"redis://h?\xff=1", "unknown option '\\xff'"},
	{"redis://h?=1", "unknown option ''"},
	{"redis://h?%64b=1", "unknown option '%64b'"},
	{"redis://h?db", "db: missing value"},
	{"redis://h?db=", "db: missing value"},
	{"redis://h?db&timeout=1", "db: missing value"},
	{"redis://h?db=1&", "an empty option"},
	{"redis://h?&db=1", "an empty option"},
	{"redis://h?db=1&&timeout=1", "an empty option"},
	{"redis://h?&", "an empty option"},
	{"redis://h?db=3&db=3", "db: given twice"},
	{"redis://h?timeout=1&timeout=2", "timeout: given twice"},
	{"rediss://h?key=/a&cert=/b&key=/a", "key: given twice"},
	{"redis://h?timeout=0", "timeout: must be greater than 0"},
	{"redis://h?timeout=0s", "timeout: must be greater than 0"},
	{"redis://h?timeout=-1", "timeout: not a duration"},
	{"redis://h?timeout=soon", "timeout: not a duration"},
	{"local:?timeout=0", "timeout: must be greater than 0"},
	{"redis://h?idle=1s", "idle: only with local:"},
	{"unix:///a?dir=/a", "dir: only with local:"},
	{"local:?dir=", "dir: missing value"},
	{"local:?dir=a/b", "dir: not a full path (such as /run/me)"},
	{"local:?dir=~/a", "dir: not a full path"},
	{"local:?dir=/a&dir=/a", "dir: given twice"},
	{"local:?dir=/" NINETY "123456", "dir: longer than 96 bytes"},
	{"local:?dri=/a", "did you mean 'dir'?"},
	{"unix:///a?idle=1s", "idle: only with local:"},
	{"local:?db=1", "db: not with local:"},
	{"local:?password-file=/f", "password-file: not with local:"},
	{"local:?cacert=/f", "cacert: only with rediss://"},
	{"local:?idle=", "idle: missing value"},
	{"local:?idle=soon", "idle: not a duration"},
	{"local:?idle=-1s", "idle: not a duration"},
	{"local:?idle=1s&x", "(known: dir, idle, timeout)"},
	{"redis://h?cacert=/c", "cacert: only with rediss://"},
	{"valkey://h?cacertdir=/c", "cacertdir: only with rediss://"},
	{"unix:///s?cert=/c", "cert: only with rediss://"},
	{"redis://h?key=/c", "key: only with rediss://"},
	{"redis://h?sni=n", "sni: only with rediss://"},
	{"redis://h?tls-verify=none", "tls-verify: only with rediss://"},
	{"rediss://h?sni=.evil.com", "sni: not a host name"},
	{"rediss://h?sni=evil..com", "sni: not a host name"},
	{"rediss://h?sni=a%20b", "sni: not a host name"},
	{"rediss://h?sni=127.1", "sni: not a host name"},
	{"rediss://h?sni=*.com", "sni: not a host name"},
	{"redis-cluster://h?sni=n", "sni: only with rediss-cluster://"},
	{"redis-sentinel://h/m?sni=n",
	 "sni: only with rediss-sentinel:// or sentinel-tls=yes"},
	{"redis-sentinel://h/m?sni=n&sentinel-tls=no", "sni: only with"},
	{"rediss://h?cert=/c", "cert: needs key=PATH"},
	{"rediss://h?key=/k", "key: needs cert=PATH"},
	{"rediss://h?tls-verify=yes",
	 "tls-verify: must be one of full|ca|none"},
	{"rediss://h?cacert=/c%", "cacert: write % as %25"},
	{"rediss://h?cacert=/c%00", "cacert: a NUL byte"},
	{"redis://h?sentinel-user=u",
	 "sentinel-user: only with redis-sentinel://"},
	{"redis-cluster://h?sentinel-password-file=/f",
	 "sentinel-password-file: only with redis-sentinel://"},
	{"rediss://h?sentinel-tls=yes",
	 "sentinel-tls: only with redis-sentinel://"},
	{"redis-sentinel://h/m?sentinel-tls=1",
	 "sentinel-tls: must be yes or no"},
	{"redis://:SECRET@h?password-file=/f", "password and password-file"},
	{"redis://h?password=SECRET", "write password-file=PATH"},
	{"redis://h?db=1&password=SE&CRET", "write password-file=PATH"},
	{"unix://me@/s?db=0&password=SECRET", "write password-file=PATH"},
	{"unix:///s?password=", "write password-file=PATH"},
	{"redis://h?Password=SECRET", "write password-file=PATH"},
	{"redis-sentinel://h/m?sentinel-password=SECRET",
	 "write password-file=PATH"},
	{"redis://h?pasword=SECRET", "unknown option 'pasword'"},
	{"redis://h?auth=SE&CRET", "unknown option 'auth'"},
};

static void test_bad(void)
{
	char long_url[1100];
	struct endpoint ep;
	struct fail why;

	for (size_t i = 0; i < COUNT(bad); i++) {
		bool refused = endpoint_parse(&ep, bad[i].url, &why) == -1;

		if (!ok(refused && why.kind == FAIL_USAGE &&
				strstr(why.text, bad[i].says),
			"'%s' is refused: %s", bad[i].url, bad[i].says))
			printf("# said: %s\n", why.text);
		if (strstr(bad[i].url, "CRET"))
			ok(!strstr(why.text, "SE") && !strstr(why.text, "CRET"),
			   "'%s': the message shows no password", bad[i].url);
	}
	(void)snprintf(long_url, sizeof(long_url), "redis:/me:%01000d@h", 5);
	ok(endpoint_parse(&ep, long_url, &why) == -1 &&
		   strstr(why.text, ": write redis://***@h"),
	   "a password of a thousand bytes is not shown either");
}

/* A URL of `head`, n times `c`, and `tail`. */
static int parse_padded(struct endpoint *ep, const char *head, char c, size_t n,
			const char *tail)
{
	size_t size = strlen(head) + n + strlen(tail) + 1;
	char *url = malloc(size);
	struct fail why;
	int rc;

	(void)snprintf(url, size, "%s%*s%s", head, (int)n, "", tail);
	memset(url + strlen(head), c, n);
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
		{"redis://H", "", "a host but for a capital", 'h', 254},
		{"redis-cluster://a,", ":1", "a host in a list", 'h', 255},
		{"redis-sentinel://h/", "/1", "a master's name", 'm', 255},
		{"unix://", ":pw@/s", "a user of a socket", 'u', 255},
		{"redis://h?password-file=", "", "a password file", 'f', 511},
		{"rediss://h?cacert=", "", "a file of certificates", 'f', 511},
		{"rediss://h?cert=c&key=", "", "a key file", 'f', 511},
		{"rediss://h?sni=", "", "a server's name", 'n', 255},
		{"redis-sentinel://h/m?sentinel-user=", "", "a Sentinel's user",
		 'u', 255},
		{"redis://", ":pw@h", "a user", 'u', 255},
		{"redis://", "@h", "a password", 'p', PASSWORD_MAX - 1},
		{"redis://me:", "@h", "a password of a user", 'p',
		 PASSWORD_MAX - 1},
		{"unix:///", "", "a path but for its slash", 'p', 106},
		{"unix:///%41", "?db=1", "a path but for two bytes", 'p', 105},
		{"redis://%41", "@h", "a password but for a byte", 'p',
		 PASSWORD_MAX - 2},
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

/* The secret of a URL whose password is in this file. */
static struct secret *in_file(const char *path)
{
	static struct endpoint ep;
	struct fail why;

	(void)endpoint_parse(&ep, "redis://h", &why);
	(void)snprintf(ep.secret.file, sizeof(ep.secret.file), "%s", path);
	return &ep.secret;
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
		       "%s: its password can be read", forms[i].url);
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
		struct secret *s = in_file(path);
		struct fail why = {0};
		bool has = false;
		int rc;

		SET(s->password, "url");
		write_file(path, forms[i].bytes, strlen(forms[i].bytes), 0600);
		rc = secret_password(s, password, &has, &why);
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
	struct secret *s = in_file(path);
	struct fail why;
	int wrong = -1;
	bool has;

	for (int mode = 0400; mode < 01000; mode++) {
		int want = mode & 077 ? -1 : 0;

		if (!(mode & 0400))
			continue;
		write_file(path, "secret\n", 7, mode);
		if (secret_password(s, password, &has, &why) != want)
			wrong = mode;
		if (want < 0 &&
		    (why.kind != FAIL_CONFIG || !strstr(why.text, "chmod 600")))
			wrong = mode;
	}
	is_int(wrong, -1, "a file is refused if any bit of 077 is set");
}

static void test_file_nul(const char *path)
{
	char password[PASSWORD_MAX];
	struct secret *s = in_file(path);
	struct fail why;
	bool has;

	write_file(path, "sec\0ret\n", 8, 0600);
	is_int(secret_password(s, password, &has, &why), -1,
	       "a password with a NUL is refused");
	ok(strstr(why.text, "NUL"), "and why");
	write_file(path, "secret\n\0", 8, 0600);
	is_int(secret_password(s, password, &has, &why), 0,
	       "behind the first line nobody looks");
}

/* As "--password-file <(...)" and "/dev/fd/3". */
static void test_file_once(const char *path)
{
	char password[PASSWORD_MAX];
	struct secret *s = in_file(path);
	struct fail why = {0};
	int fd[2];

	if (pipe(fd) < 0)
		abort();
	(void)snprintf(s->file, sizeof(s->file), "/dev/fd/%d", fd[0]);
	is_int(write(fd[1], "secret\nmore", 11), 11, "a pipe is filled");
	is_int(secret_take(s, &why), 0, "it is read: %s", why.text);
	ok(s->has_password && s->file[0] == '\0',
	   "the password is kept, and the pipe forgotten");
	is_text(s->password, "secret", "it is its first line");
	(void)snprintf(s->file, sizeof(s->file), "/dev/fd/%d", fd[0]);
	close(fd[1]);
	is_int(secret_take(s, &why), -1, "a pipe at its end is empty");
	(void)unlink(path);
	if (mkfifo(path, 0622) < 0 || chmod(path, 0622) < 0)
		abort();
	s = in_file(path);
	is_int(secret_take(s, &why), -1,
	       "a pipe that others write to is refused");
	if (chmod(path, 0600) < 0)
		abort();
	is_int(secret_password(s, password, &(bool){false}, &why), -1,
	       "a pipe is no file to be read at each connect");
	(void)unlink(path);
	write_file(path, "secret\n", 7, 0600);
	is_int(secret_take(s, &why), 0, "a file stays a file");
	is_text(s->file, path, "which is read again");
	close(fd[0]);
}

static void test_file_afresh(const char *path)
{
	char password[PASSWORD_MAX];
	struct secret *s = in_file(path);
	struct fail why;
	bool has;

	write_file(path, "one\n", 4, 0600);
	(void)secret_password(s, password, &has, &why);
	is_text(password, "one", "the password is read from the file");
	write_file(path, "two\n", 4, 0600);
	(void)secret_password(s, password, &has, &why);
	is_text(password, "two", "it is read again each time");
	ok(has, "a file means that there is a password");
	(void)unlink(path);
	is_int(secret_password(s, password, &has, &why), -1,
	       "a file that went away is an error");
	is_int(why.kind, FAIL_CONFIG, "a missing file is configuration");
	ok(strstr(why.text, path) && strstr(why.text, "No such file"),
	   "a missing file is named, and what is wrong with it");
	(void)snprintf(s->file, sizeof(s->file), "/");
	is_int(secret_password(s, password, &has, &why), -1,
	       "a directory is no password file");
}

static void test_file_length(const char *path)
{
	char password[PASSWORD_MAX], bytes[PASSWORD_MAX + 1];
	struct secret *s = in_file(path);
	struct fail why;
	bool has;

	memset(bytes, 'p', sizeof(bytes));
	bytes[PASSWORD_MAX - 1] = '\n';
	write_file(path, bytes, PASSWORD_MAX, 0600);
	is_int(secret_password(s, password, &has, &why), 0,
	       "a long password is read");
	is_int((int64_t)strlen(password), PASSWORD_MAX - 1,
	       "a long password is read whole");
	write_file(path, bytes, PASSWORD_MAX - 1, 0600);
	is_int(secret_password(s, password, &has, &why), 0,
	       "so is one without an end of line");
	is_int((int64_t)strlen(password), PASSWORD_MAX - 1, "and whole, too");
	bytes[PASSWORD_MAX - 1] = 'p';
	bytes[PASSWORD_MAX] = '\n';
	write_file(path, bytes, PASSWORD_MAX + 1, 0600);
	is_int(secret_password(s, password, &has, &why), -1,
	       "one byte more is refused");
	ok(strstr(why.text, "longer than 16384 bytes"), "in one line: %s",
	   why.text);
}

int main(void)
{
	char dir[] = "/tmp/t-endpoint.XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 99;
	(void)snprintf(path, sizeof(path), "%s/secret", dir);
	TEST(good);
	TEST(idle);
	TEST(lists);
	TEST(many_hosts);
	TEST(one_form);
	TEST(merged);
	TEST(longest);
	TEST(masked);
	TEST(bad);
	TEST(lengths);
	TEST(name_is_safe);
	TEST(url_password);
	TEST(file_contents, path);
	TEST(file_modes, path);
	TEST(file_nul, path);
	TEST(file_once, path);
	TEST(file_afresh, path);
	TEST(file_length, path);
	(void)unlink(path);
	(void)rmdir(dir);
	return done();
}
