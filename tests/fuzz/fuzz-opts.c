/* SPDX-License-Identifier: MIT */
/* Any words as a command line, one a line: refused with a printable reason, or
 * within bounds.
 *
 * After an empty line comes a configuration file, which is read first. */
#include "cli/optrows.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "fuzz.h"

const char fuzz_name[] = "opts";

#define TEXT_MAX 8000
#define WORDS 200

static char home[64], file[128];
static bool written; /* the file is there */

static void must(bool holds, const char *what, const char *text)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s: %s\n", what, text);
	abort();
}

static void clean_up(void)
{
	char path[80];

	(void)unlink(file);
	(void)snprintf(path, sizeof(path), "%s/redlock", home);
	(void)rmdir(path);
	(void)rmdir(home);
}

/* Where settings_load() looks. */
static void make_home(void)
{
	char path[80];

	bool shm = access("/dev/shm", W_OK) == 0; /* no disk */

	(void)snprintf(home, sizeof(home), "%s/fuzz-opts.XXXXXX",
		       shm ? "/dev/shm" : "/tmp");
	must(mkdtemp(home) != NULL, "there is a directory", home);
	(void)snprintf(path, sizeof(path), "%s/redlock", home);
	must(mkdir(path, 0700) == 0, "there is a directory", path);
	(void)snprintf(file, sizeof(file), "%s/config", path);
	must(clearenv() == 0 && setenv("XDG_CONFIG_HOME", home, 1) == 0,
	     "there is an environment", home);
	(void)atexit(clean_up);
}

static void write_file(const char *text, size_t n)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, text, n) == (ssize_t)n && close(fd) == 0,
	     "there is a file", file);
}

static void check_refusal(const struct fail *why)
{
	size_t n = strlen(why->text);

	must(why->kind == FAIL_USAGE || why->kind == FAIL_CONFIG,
	     "a refusal is one", why->text);
	must(n > 5 && n < sizeof(why->text), "a refusal says why", why->text);
	/* (it may be cut within a letter, which the log then escapes) */
	for (size_t i = 0; i < n; i++)
		must((unsigned char)why->text[i] >= ' ' && why->text[i] != 0x7f,
		     "a refusal can be shown", why->text);
}

static void check(const struct opts *o)
{
	must(o->verb != NULL, "there is a verb", "");
	must(o->keys >= 0 && o->keys <= LOCKS_MAX, "so many keys", "");
	for (int i = 0; i < o->keys; i++) {
		must(o->key[i][0] != '\0', "a key has a byte", "");
		for (int k = 0; k < i; k++)
			must(strcmp(o->key[i], o->key[k]) != 0,
			     "a key is there once", o->key[i]);
	}
	must(o->wait_ms >= 0 && o->grace_ms >= -1, "times", "");
	/* (a file's are not judged by verbs that take no lease) */
	if (o->verb->by & (BY_TAKING | BY_EXTEND | BY_DOCTOR)) {
		must(o->ttl_ms >= 200 &&
			     (o->ttl_ms <= 86400000 || o->allow_long_ttl),
		     "a lease has its length", "");
		must(o->slots == 1 || !o->shared, "slots", "");
	}
	must(o->slots >= 1, "slots", "");
	must(o->conflict_status >= 0 && o->conflict_status <= 255, "a status",
	     "");
	must(o->urls >= 0 && o->urls <= NODES_MAX, "so many servers", "");
	must(o->max_hold_ms >= 0 && o->min_hold_ms >= 0 && o->once_ms >= 0 &&
		     o->node_timeout_ms >= 0,
	     "times", "");
	must(o->wait_replicas >= 0 && o->max_waiters >= -1 &&
		     o->max_renewals >= -1,
	     "numbers", "");
}

static int cut(char *text, char **argv)
{
	int n = 0;

	argv[n++] = text;
	while (n < WORDS) {
		text = strchr(text, '\n');
		if (!text)
			break;
		*text++ = '\0';
		argv[n++] = text;
	}
	argv[n] = NULL;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[TEXT_MAX + 10];
	char *argv[WORDS + 1];
	struct fail why = {0};
	const uint8_t *empty;
	struct opts o;
	size_t n;

	if (size >= TEXT_MAX)
		return 0;
	if (home[0] == '\0')
		make_home();
	empty = memmem(data, size, "\n\n", 2);
	n = empty ? (size_t)(empty - data) : size;
	(void)snprintf(text, sizeof(text), "redlock%s", n > 0 ? "\n" : "");
	memcpy(text + strlen(text), data, n);
	text[n + (n > 0 ? 8 : 7)] = '\0';
	if (empty)
		write_file((const char *)empty + 2, size - n - 2);
	else if (written)
		(void)unlink(file);
	written = empty != NULL;
	opts_init(&o);
	optind = 0; /* it is called again */
	if (settings_load(&o, &why) < 0 ||
	    cmdline_parse(&o, cut(text, argv), argv, &why) < 0) {
		check_refusal(&why);
	} else if (o.show == SHOW_NOTHING) {
		check(&o);
	}
	opts_close(&o);
	return 0;
}
