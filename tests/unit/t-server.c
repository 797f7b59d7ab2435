/* SPDX-License-Identifier: MIT */
/* What the options add to a URL, and which of them wins. */
#include "cli/servers.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/optrows.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SETTINGS_MAX 8
#define VALUE_MAX 600

/* "S ttl=5m": of the system's file; U of the user's, V: REDLOCK_URL, T: typed.
 * "E NAME=value": of the environment. =@: the file of a password. */
struct row {
	const char *setting[SETTINGS_MAX];
	const char *url; /* what becomes of it; NULL: refused */
	enum fail_kind kind;
	const char *says;
};

static const char *const variables[] = {"REDISCLI_AUTH", "SSL_CERT_FILE",
					"SSL_CERT_DIR"};
static char dir[] = "/tmp/t-server.XXXXXX";
static char secret_file[sizeof(dir) + 8], run_dir[sizeof(dir) + 8];
static char here[512];
static struct opts o;

/* ^: the file of a password; ~: the current directory; $: one for local: */
static const char *expand(const char *text)
{
	static char out[2048];
	size_t used = 0;

	for (; *text; text++) {
		char one[2] = {*text, '\0'};
		const char *with = one;

		if (*text == '^')
			with = secret_file;
		else if (*text == '~')
			with = here;
		else if (*text == '$')
			with = run_dir;
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s",
					 with);
	}
	return out;
}

static int set(const char *setting, char text[VALUE_MAX], struct fail *why)
{
	static const char letters[SOURCES + 1] = "?RSUVT";
	enum source source =
		(enum source)(strchr(letters, setting[0]) - letters);
	const char *name = setting + 2, *value = strchr(name, '=');
	size_t n = (size_t)(value - name);

	(void)snprintf(text, VALUE_MAX, "%s",
		       strcmp(value, "=@") == 0 ? secret_file
		       : strchr(value, '$')     ? expand(value + 1)
						: value + 1);
	return opt_take(&o, opt_named(name, n), text, source, 1, why);
}

static int find(struct servers *s, const struct row *row, struct fail *why)
{
	static char text[SETTINGS_MAX][VALUE_MAX];

	opts_close(&o);
	opts_init(&o);
	o.file[FROM_SYSTEM].path = strdup("/S");
	o.file[FROM_USER].path = strdup("/U");
	for (size_t i = 0; i < COUNT(variables); i++)
		(void)unsetenv(variables[i]);
	for (int i = 0; i < SETTINGS_MAX && row->setting[i]; i++) {
		if (row->setting[i][0] == 'E')
			(void)putenv((char *)row->setting[i] + 2);
		else if (set(row->setting[i], text[i], why) < 0)
			return -1;
	}
	return servers_find(s, &o, why);
}

static const char *joined(const struct row *row)
{
	static char text[300];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < SETTINGS_MAX && row->setting[i]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%.60s", i ? ", " : "",
					 row->setting[i]);
	return text;
}

#define TLS_URL "rediss://h:6379"
#define FULL "tls-verify=full"
#define NINE                                                                   \
	"redis://i redis://h redis://g redis://f redis://e redis://d "         \
	"redis://c redis://b redis://a"
#define NINE_FULL                                                              \
	"redis://a:6379 redis://b:6379 redis://c:6379 redis://d:6379 "         \
	"redis://e:6379 redis://f:6379 redis://g:6379 redis://h:6379 "         \
	"redis://i:6379"

/* clang-format off */
static const struct row rows[] = {
	/* the URL alone */
	{{NULL}, "redis://127.0.0.1:6379", 0, NULL},
	{{"T url=valkey://H/0"}, "redis://h:6379", 0, NULL},
	{{"S url=redis://a", "U url=redis://b"}, "redis://b:6379", 0, NULL},
	{{"U url=redis://b", "V url=redis://c"}, "redis://c:6379", 0, NULL},
	{{"V url=redis://c", "T url=redis://d"}, "redis://d:6379", 0, NULL},
	{{"T url=nonsense"}, NULL, FAIL_USAGE, "'nonsense'"},
	{{"V url=nonsense"}, NULL, FAIL_CONFIG, "REDLOCK_URL: 'nonsense'"},
	{{"U url=nonsense"}, NULL, FAIL_CONFIG, "/U:1: 'nonsense'"},
	{{"S url=nonsense"}, NULL, FAIL_CONFIG, "/S:1: 'nonsense'"},
	{{"S url=nonsense", "T url=redis://d"}, "redis://d:6379", 0, NULL},

	/* several, in an order of their own */
	{{"T url=redis://a", "T url=redis://b"}, "redis://a:6379 redis://b:6379", 0, NULL},
	{{"T url=redis://b", "T url=unix:///s", "T url=rediss://a"}, "unix:///s rediss://a:6379?" FULL " redis://b:6379", 0, NULL},
	{{"V url= redis://b redis://a\tredis://c "}, "redis://a:6379 redis://b:6379 redis://c:6379", 0, NULL},
	{{"U url=redis://b redis://c", "U url=redis://a"}, "redis://a:6379 redis://b:6379 redis://c:6379", 0, NULL},
	{{"S url=redis://a redis://b", "U url=redis://c"}, "redis://c:6379", 0, NULL},
	{{"U url=redis://a", "U url=redis://b", "V url=redis://c redis://d"}, "redis://c:6379 redis://d:6379", 0, NULL},
	{{"V url=redis://a redis://b", "T url=redis://c"}, "redis://c:6379", 0, NULL},
	{{"V url=" NINE " redis://10", "T url=redis://c"}, "redis://c:6379", 0, NULL},
	{{"T url=redis-cluster://a,b", "T url=redis-sentinel://a/m", "T url=redis-sentinel://a/n"}, "redis-sentinel://a:26379/m redis-sentinel://a:26379/n redis-cluster://a:6379,b:6379", 0, NULL},
	{{"T url=" NINE}, NINE_FULL, 0, NULL},
	{{"T url=" NINE, "T url=redis://c"}, NULL, FAIL_USAGE, "at most 9"},
	{{"V url=" NINE " redis://c"}, NULL, FAIL_CONFIG, "REDLOCK_URL: too many servers: at most 9"},
	{{"U url=" NINE, "U url=redis://c"}, NULL, FAIL_CONFIG, "/U:1: too many servers: at most 9"},
	{{"T url=redis://a", "T url=nonsense"}, NULL, FAIL_USAGE, "'nonsense'"},
	{{"V url=redis://a redis://b:x"}, NULL, FAIL_CONFIG, "REDLOCK_URL: 'redis://b:***'"},
	{{"V url=redis://a b"}, NULL, FAIL_CONFIG, "REDLOCK_URL: 'redis://a b': contains a space"},
	{{"V url=redis://a redis://:p w@b"}, NULL, FAIL_CONFIG, "REDLOCK_URL: 'redis://***@b': contains a space"},
	{{"T url=redis://a", "T url=redis://b", "T url=redis://A:6379"}, NULL, FAIL_USAGE, "'redis://a' and 'redis://A:6379' are the same server"},
	{{"T url=redis://a", "T url=redis://b", "T url=rediss://a/3"}, NULL, FAIL_USAGE, "'redis://a' and 'rediss://a/3' are"},
	{{"V url=redis://:x@a redis://me:y@a"}, NULL, FAIL_CONFIG, "REDLOCK_URL: 'redis://***@a' and 'redis://***@a' are"},
	{{"U url=unix:///s", "U url=unix:///%73?db=1"}, NULL, FAIL_CONFIG, "/U:1: 'unix:///s' and"},
	{{"T url=local:", "T url=redis://b"}, NULL, FAIL_USAGE, "local: cannot be one of several"},
	{{"V url=redis://b local: redis://c"}, NULL, FAIL_CONFIG, "REDLOCK_URL: local: cannot"},
	{{"T url=local: local:"}, NULL, FAIL_USAGE, "local: cannot be one of several"},

	/* user and password */
	{{"T url=redis://me:pw@h", "T user=joe"}, "redis://joe:pw@h:6379", 0, NULL},
	{{"V url=redis://me:pw@h", "T user=joe"}, "redis://joe:pw@h:6379", 0, NULL},
	{{"T url=redis://me:pw@h", "U user=joe"}, "redis://me:pw@h:6379", 0, NULL},
	{{"T url=redis://:pw@h", "U user=joe"}, "redis://:pw@h:6379", 0, NULL},
	{{"T url=redis://h", "U user=joe", "E REDISCLI_AUTH=x"}, "redis://joe:@h:6379", 0, NULL},
	{{"T url=redis://h", "E REDISCLI_AUTH=x"}, "redis://h:6379", 0, NULL},
	{{"T url=redis://h", "E REDISCLI_AUTH="}, "redis://h:6379", 0, NULL},
	{{"T url=redis://me:pw@h", "E REDISCLI_AUTH=x"}, "redis://me:pw@h:6379", 0, NULL},
	{{"T url=redis://h", "T password-file=@", "E REDISCLI_AUTH=x"}, "redis://h:6379?password-file=^", 0, NULL},
	{{"T url=redis://me:pw@h", "T password-file=@"}, "redis://me:@h:6379?password-file=^", 0, NULL},
	{{"T url=redis://me:pw@h", "U password-file=@"}, "redis://me:pw@h:6379", 0, NULL},
	{{"T url=redis://h", "U password-file=@", "S user=joe"}, "redis://joe:@h:6379?password-file=^", 0, NULL},
	{{"T url=redis://h", "U password-file=/none"}, NULL, FAIL_CONFIG, "/none"},
	{{"T url=redis://h", "T password-file=none"}, NULL, FAIL_CONFIG, "~/none"},
	{{"T url=redis://h", "T user=joe"}, NULL, FAIL_CONFIG, "user 'joe' without a password"},
	{{"T url=redis://h", "T askpass=yes", "T password-file=@"}, NULL, FAIL_USAGE, "cannot be combined"},
	{{"T url=redis://h", "U password-file=@", "U askpass=yes"}, NULL, FAIL_CONFIG, "/U:1: --askpass and"},
	{{"T url=redis://h", "S askpass=yes", "U password-file=@"}, "redis://h:6379?password-file=^", 0, NULL},
	{{"T url=redis://h", "S askpass=yes", "T password-file=@"}, "redis://h:6379?password-file=^", 0, NULL},
	{{"T url=redis://:pw@h", "U askpass=yes"}, "redis://:pw@h:6379", 0, NULL},
	{{"T url=redis://h", "S askpass=yes", "U askpass=no"}, "redis://h:6379", 0, NULL},
	{{"T url=redis://a redis://:pw@b", "E REDISCLI_AUTH=x"}, "redis://a:6379 redis://:pw@b:6379", 0, NULL},
	{{"T url=redis://a redis://me:pw@b", "T user=joe", "E REDISCLI_AUTH=x"}, "redis://joe:@a:6379 redis://joe:pw@b:6379", 0, NULL},
	{{"T url=redis://a redis://me:pw@b", "U password-file=@"}, "redis://a:6379?password-file=^ redis://me:pw@b:6379", 0, NULL},
	{{"T url=redis://me:pw@a redis://b"}, "redis://me:pw@a:6379 redis://b:6379", 0, NULL},
	{{"T url=redis://me:pw@a redis://joe@b", "T user=joe"}, "redis://joe:pw@a:6379 redis://joe:joe@b:6379", 0, NULL},
	{{"T url=redis://me:pw@a redis://b", "T user=joe"}, NULL, FAIL_CONFIG, "user 'joe' without a password"},

	/* nobody but its owner knows local: */
	{{"T url=local:", "T user=joe"}, NULL, FAIL_USAGE, "local:"},
	{{"T url=local:", "T password-file=@"}, NULL, FAIL_USAGE, "local:"},
	{{"T url=local:", "T askpass=yes"}, NULL, FAIL_USAGE, "local:"},
	{{"T url=local:?dir=$", "U user=joe", "U password-file=/none", "E REDISCLI_AUTH=x"}, "local:?dir=$", 0, NULL},
	{{"T url=local:?idle=5s&dir=$/"}, "local:?dir=$&idle=5000ms", 0, NULL},
	{{"S url=local:?dir=here"}, NULL, FAIL_CONFIG, "/S:1: 'local:?dir=here': dir: not a full path"},
	{{"T url=local:?dir=$/none/here"}, NULL, FAIL_CONFIG, "local: cannot create '$/none/here'"},

	/* TLS */
	{{"T url=rediss://h"}, TLS_URL "?" FULL, 0, NULL},
	{{"T url=rediss://h", "T cacert=ca"}, TLS_URL "?cacert=~/ca&" FULL, 0, NULL},
	{{"T url=rediss://h?cacert=ca"}, TLS_URL "?cacert=~/ca&" FULL, 0, NULL},
	{{"T url=rediss://h?cacert=/a", "U cacert=/b"}, TLS_URL "?cacert=/a&" FULL, 0, NULL},
	{{"T url=rediss://h?cacert=/a", "T cacert=/b"}, TLS_URL "?cacert=/b&" FULL, 0, NULL},
	{{"T url=rediss://h", "S cacert=/a", "U cacertdir=/d"}, TLS_URL "?cacertdir=/d&" FULL, 0, NULL},
	{{"T url=rediss://h", "U cacert=/a", "U cacertdir=/d"}, TLS_URL "?cacert=/a&cacertdir=/d&" FULL, 0, NULL},
	{{"T url=rediss://h?cacertdir=/d", "T cacert=/a"}, TLS_URL "?cacert=/a&" FULL, 0, NULL},
	{{"T url=rediss://h?cacertdir=/d", "U cacert=/a"}, TLS_URL "?cacertdir=/d&" FULL, 0, NULL},
	{{"T url=rediss://h", "E SSL_CERT_FILE=/e"}, TLS_URL "?cacert=/e&" FULL, 0, NULL},
	{{"T url=rediss://h", "E SSL_CERT_FILE=/e", "E SSL_CERT_DIR=/f"}, TLS_URL "?cacert=/e&cacertdir=/f&" FULL, 0, NULL},
	{{"T url=rediss://h", "E SSL_CERT_FILE=/e", "U cacertdir=/d"}, TLS_URL "?cacertdir=/d&" FULL, 0, NULL},
	{{"T url=rediss://h?cacert=/a", "E SSL_CERT_DIR=/f"}, TLS_URL "?cacert=/a&" FULL, 0, NULL},
	{{"T url=redis://h", "E SSL_CERT_FILE=/e"}, "redis://h:6379", 0, NULL},
	{{"T url=rediss://h", "T cert=/c", "T key-file=/k"}, TLS_URL "?cert=/c&key=/k&" FULL, 0, NULL},
	{{"T url=rediss://h?cert=/a&key=/b", "T cert=/c", "T key-file=/k"}, TLS_URL "?cert=/c&key=/k&" FULL, 0, NULL},
	{{"T url=rediss://h", "T cert=/c"}, NULL, FAIL_USAGE, "must be used together"},
	{{"T url=rediss://h", "U key-file=/k"}, NULL, FAIL_CONFIG, "/U:1: --cert and --key-file must"},
	{{"T url=rediss://h?cert=/a&key=/b", "U cert=/c"}, TLS_URL "?cert=/a&key=/b&" FULL, 0, NULL},
	{{"T url=rediss://h", "T sni=x.y"}, TLS_URL "?sni=x.y&" FULL, 0, NULL},
	{{"T url=rediss://h", "T sni=a b"}, NULL, FAIL_USAGE, "--sni: not a host name"},
	{{"T url=rediss://h", "U sni=127.1"}, NULL, FAIL_CONFIG, "/U:1: --sni: not a host name"},
	{{"T url=rediss://h?sni=a.b", "S sni=x.y"}, TLS_URL "?sni=a.b&" FULL, 0, NULL},
	{{"T url=rediss://h", "U tls-verify=ca"}, TLS_URL "?tls-verify=ca", 0, NULL},
	{{"T url=rediss://h?tls-verify=full", "U tls-verify=none"}, TLS_URL "?" FULL, 0, NULL},
	{{"T url=rediss://h?tls-verify=ca", "U tls-verify=none"}, TLS_URL "?tls-verify=ca", 0, NULL},
	{{"T url=rediss://h?tls-verify=ca", "T tls-verify=full"}, TLS_URL "?" FULL, 0, NULL},
	{{"T url=redis-sentinel://h/m?sentinel-tls=yes", "T cacert=/a"}, "redis-sentinel://h:26379/m?cacert=/a&sentinel-tls=yes&" FULL, 0, NULL},
	{{"T url=redis://h", "T cacert=/a"}, NULL, FAIL_USAGE, "--cacert: h:6379 does not use TLS; with TLS, a URL begins with rediss://"},
	{{"T url=unix:///s", "T sni=x"}, NULL, FAIL_USAGE, "--sni: /s "},
	{{"T url=local:", "T tls-verify=none"}, NULL, FAIL_USAGE, "--tls-verify: local:"},
	{{"V url=redis://h", "T key-file=/k"}, NULL, FAIL_USAGE, "--key-file"},
	{{"T url=redis://h", "U cacert=/a", "S cert=/c", "U tls-verify=none"}, "redis://h:6379", 0, NULL},
	{{"T url=redis://a redis://b", "T cacert=/a"}, NULL, FAIL_USAGE, "--cacert: a:6379 does not use TLS"},
	{{"T url=redis://a rediss://h", "T cacert=/a"}, "redis://a:6379 " TLS_URL "?cacert=/a&" FULL, 0, NULL},
	{{"T url=rediss://a rediss://h?sni=b.c", "T sni=x.y"}, "rediss://a:6379?sni=x.y&" FULL " " TLS_URL "?sni=x.y&" FULL, 0, NULL},
	{{"T url=rediss://a rediss://h?sni=b.c", "U sni=x.y"}, "rediss://a:6379?sni=x.y&" FULL " " TLS_URL "?sni=b.c&" FULL, 0, NULL},
	{{"T url=rediss://a?tls-verify=ca rediss://h", "U tls-verify=none"}, "rediss://a:6379?tls-verify=ca " TLS_URL "?tls-verify=none", 0, NULL},

	/* time */
	{{"T url=redis://h", "T node-timeout=250ms"}, "redis://h:6379?timeout=250ms", 0, NULL},
	{{"T url=redis://h?timeout=2s", "T node-timeout=250ms"}, "redis://h:6379?timeout=250ms", 0, NULL},
	{{"T url=redis://h?timeout=2s", "U node-timeout=250ms"}, "redis://h:6379?timeout=2000ms", 0, NULL},
	{{"T url=redis://h", "U node-timeout=250ms"}, "redis://h:6379?timeout=250ms", 0, NULL},
	{{"T url=redis://a?timeout=2s redis://b", "T node-timeout=250ms"}, "redis://a:6379?timeout=250ms redis://b:6379?timeout=250ms", 0, NULL},
	{{"T url=redis://a?timeout=2s redis://b", "U node-timeout=250ms"}, "redis://a:6379?timeout=2000ms redis://b:6379?timeout=250ms", 0, NULL},

	/* whom it excludes */
	{{"T url=redis://h", "T shared-scope=yes"}, "redis://h:6379", 0, NULL},
	{{"T url=redis://128.0.0.1", "T shared-scope=yes"}, "redis://128.0.0.1:6379", 0, NULL},
	{{"T url=redis://[2001:db8::1]", "T shared-scope=yes"}, "redis://[2001:db8::1]:6379", 0, NULL},
	{{"T url=redis://localhost.example", "U shared-scope=yes"}, "redis://localhost.example:6379", 0, NULL},
	{{"U shared-scope=yes"}, NULL, FAIL_CONFIG, "'127.0.0.1:6379'"},
	{{"T url=local:", "U shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=unix:///s", "U shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"V url=unix:///s", "T shared-scope=yes"}, NULL, FAIL_CONFIG, "REDLOCK_URL: '/s'"},
	{{"U url=redis://localhost", "T shared-scope=yes"}, NULL, FAIL_CONFIG, "/U:1: 'localhost:6379'"},
	{{"T url=redis://LocalHost", "T shared-scope=yes"}, NULL, FAIL_USAGE, "localhost"},
	{{"T url=redis://127.0.0.1", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://127.255.1.2", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://0.0.0.0", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://[::1]", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://[0:0::1]", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://[::]", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://[::ffff:127.0.0.1]", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=rediss://localhost", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis-sentinel://a,[::1]:5/m", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis-cluster://a,127.0.0.9", "T shared-scope=yes"}, NULL, FAIL_USAGE, "--shared-scope"},
	{{"T url=redis://a redis://localhost redis://b", "T shared-scope=yes"}, NULL, FAIL_USAGE, "'localhost:6379' covers this machine only"},
	{{"U url=redis://a", "U url=unix:///s", "T shared-scope=yes"}, NULL, FAIL_CONFIG, "/U:1: '/s' covers this machine only"},
	{{"T url=redis-cluster://a,b", "T shared-scope=yes"}, "redis-cluster://a:6379,b:6379", 0, NULL},
};
/* clang-format on */

/* A nested run gets the URL, and finds the same files. */
static bool is_stable(const struct servers *s, const struct row *row)
{
	static struct servers again;
	struct row nested = {.url = NULL};
	static char setting[NODES_MAX * ENDPOINT_URL_MAX + 8];
	struct fail why;
	int n = 0;

	for (int i = 0; i < SETTINGS_MAX && row->setting[i]; i++)
		if (!strchr("TV", row->setting[i][0]))
			nested.setting[n++] = row->setting[i];
	(void)snprintf(setting, sizeof(setting), "V url=%s", s->url);
	nested.setting[n] = setting;
	return find(&again, &nested, &why) == 0 &&
	       strcmp(again.url, s->url) == 0;
}

static void test_rows(void)
{
	static struct servers s;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *row = &rows[i];
		struct fail why = {.kind = FAIL_NONE};
		int rc = find(&s, row, &why);

		if (!row->url) {
			if (!ok(rc < 0 && why.kind == row->kind &&
					strstr(why.text, expand(row->says)),
				"[%s] is refused: %s", joined(row), row->says))
				printf("# kind %d: %s\n", why.kind, why.text);
			continue;
		}
		if (!is_int(rc, 0, "[%s] is accepted", joined(row))) {
			printf("# %s\n", why.text);
			continue;
		}
		is_text(s.url, expand(row->url), "[%s] is %s", joined(row),
			row->url);
		ok(is_stable(&s, row), "[%s] is the same again, told its URL",
		   joined(row));
	}
}

static void test_flags(void)
{
	static struct servers s;
	struct fail why;
	struct row on = {.setting = {"T url=redis://h", "S shared-scope=yes"}};
	struct row off = {.setting = {"T url=redis://h"}};
	struct row none = {.setting = {NULL}};
	struct row auth = {.setting = {"T url=redis://h", "E REDISCLI_AUTH=x"}};
	struct row local = {
		.setting = {"T url=local:?dir=$", "E REDISCLI_AUTH=x"}};

	ok(find(&s, &on, &why) == 0 && s.endpoint[0].shared_scope,
	   "--shared-scope reaches the connection");
	ok(find(&s, &off, &why) == 0 && !s.endpoint[0].shared_scope &&
		   s.asked_for,
	   "without it nothing is");
	ok(find(&s, &none, &why) == 0 && !s.asked_for,
	   "nobody asked for the default server");
	ok(find(&s, &auth, &why) == 0 && s.endpoint[0].secret.has_password,
	   "a server gets the password of REDISCLI_AUTH");
	ok(find(&s, &local, &why) == 0 && !s.endpoint[0].secret.has_password,
	   "local: is not");
}

/* What is reckoned from the servers, of a lease of 30 s or another. */
static const struct {
	struct row row;
	int64_t ttl_ms, timeout_ms, guard_ms;
	bool may_move;
} figures[] = {
#define F(ttl, timeout, guard, may_move, ...)                                  \
	{                                                                      \
		{{__VA_ARGS__}, NULL, 0, NULL}, ttl, timeout, guard, may_move  \
	}
	F(30000, 1000, 0, true, "T url=redis://h"),
	F(30000, 1000, 0, false, "T url=redis://127.0.0.1"),
	F(1000, 1000, 0, false, "T url=unix:///a"),
	F(30000, 3000, 0, false, "T url=unix:///a?timeout=3s"),
	F(30000, 250, 30000, false, "T url=unix:///a unix:///b"),
	F(30000, 250, 30000, true, "T url=unix:///a redis://h unix:///b"),
	F(30000, 250, 30000, true, "T url=redis-cluster://[::1] unix:///b"),
	F(2000, 200, 2000, false, "T url=unix:///a unix:///b unix:///c"),
	F(2000, 3000, 2000, false, "T url=unix:///a?timeout=3s unix:///b"),
	F(2000, 40, 2000, false, "T url=unix:///a?timeout=3s unix:///b",
	  "T node-timeout=40ms"),
	F(2000, 3000, 2000, false, "T url=unix:///a?timeout=3s unix:///b",
	  "U node-timeout=40ms"),
	F(2000, 200, 0, false, "T url=unix:///a unix:///b",
	  "U restart-guard=off"),
	F(2000, 200, 9000, false, "T url=unix:///a unix:///b",
	  "U restart-guard=9s"),
	F(2000, 200, 2000, false, "T url=unix:///a unix:///b",
	  "U restart-guard=1s"),
	F(2000, 200, 2000, false, "T url=unix:///a unix:///b",
	  "U restart-guard=off", "T restart-guard=auto"),
	F(2000, 1000, 9000, false, "T url=unix:///a", "T restart-guard=9s"),
};

static void test_figures(void)
{
	static struct servers s;
	struct fail why;

	for (size_t i = 0; i < COUNT(figures); i++) {
		const struct row *row = &figures[i].row;
		int64_t ttl = figures[i].ttl_ms;

		if (!is_int(find(&s, row, &why), 0, "[%s] is accepted",
			    joined(row)))
			continue;
		o.ttl_ms = ttl;
		is_int(servers_timeout(&s, ttl), figures[i].timeout_ms,
		       "a server has so long to answer");
		is_int(servers_guard(&s, &o), figures[i].guard_ms,
		       "and has no say before it is up for so long");
		is_int(servers_may_move(&s), figures[i].may_move,
		       "it %s several",
		       figures[i].may_move ? "may be" : "is not");
	}
}

static void make_files(void)
{
	FILE *f;

	if (!mkdtemp(dir) || !getcwd(here, sizeof(here)))
		exit(99);
	(void)snprintf(secret_file, sizeof(secret_file), "%s/pw", dir);
	(void)snprintf(run_dir, sizeof(run_dir), "%s/run", dir);
	(void)umask(077);
	f = fopen(secret_file, "w");
	if (!f || fputs("pw\n", f) < 0 || fclose(f) != 0)
		exit(99);
}

int main(void)
{
	const struct log_conf quiet = {.most = LOG_SAY_ERROR};

	log_init(&quiet);
	make_files();
	TEST(rows);
	TEST(flags);
	TEST(figures);
	(void)unlink(secret_file);
	(void)rmdir(run_dir);
	(void)rmdir(dir);
	return done();
}
