/* SPDX-License-Identifier: MIT */
/*
 * Prints TAP: a line for each check, and the plan last, so a program that dies
 * on the way has failed.
 *
 * The name of a check is a sentence that is true when the check passes.
 */
#ifndef UNIT_TAP_H
#define UNIT_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of an array. */
#define SET(to, text) ((void)snprintf(to, sizeof(to), "%s", text))

static int tap_ran, tap_failed;
static const char *tap_subject = "";

/* TEST(name, argument...): calls test_name(argument...). The names of its
 * checks begin with "name: ". */
#define TEST(name, ...) (tap_subject = #name ": ", test_##name(__VA_ARGS__))

/* A "#" would begin a TAP directive, and a control byte end the line. */
static inline void tap_escape(char *to, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && n + 5 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(to + n, size - n, "\\x%02x", c);
		else if (c == '#')
			n += (size_t)snprintf(to + n, size - n, "\\#");
		else
			to[n++] = *text;
	}
	to[n] = '\0';
}

/* In a name of more than 80 characters the middle is left out: it is data. */
__attribute__((format(printf, 2, 0))) static inline bool
tap_line(bool good, const char *fmt, va_list args)
{
	char raw[400], name[1600];
	size_t len = (size_t)snprintf(raw, sizeof(raw), "%s", tap_subject);

	(void)vsnprintf(raw + len, sizeof(raw) - len, fmt, args);
	tap_escape(name, sizeof(name), raw);
	len = strlen(name);
	tap_ran++;
	if (!good)
		tap_failed++;
	printf("%s %d - ", good ? "ok" : "not ok", tap_ran);
	if (len <= 80)
		printf("%s\n", name);
	else
		printf("%.30s...%s\n", name, name + len - 47);
	if (len > 80 && !good)
		printf("# %s\n", name);
	/* What is buffered is lost when the next check crashes. */
	(void)fflush(stdout);
	return good;
}

/* Each returns whether it passed. */
__attribute__((format(printf, 2, 3))) static inline bool
ok(bool good, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_line(good, fmt, args);
	va_end(args);
	return good;
}

__attribute__((format(printf, 3, 4))) static inline bool
is_int(int64_t got, int64_t want, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_line(got == want, fmt, args);
	va_end(args);
	if (got != want)
		printf("# got %" PRId64 ", wanted %" PRId64 "\n", got, want);
	return got == want;
}

static inline void tap_quote(const char *text)
{
	char shown[4000];

	if (!text) {
		printf("NULL");
		return;
	}
	tap_escape(shown, sizeof(shown), text);
	printf("'%s'", shown);
}

/* NULL equals NULL only. */
__attribute__((format(printf, 3, 4))) static inline bool
is_text(const char *got, const char *want, const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list args;

	va_start(args, fmt);
	tap_line(same, fmt, args);
	va_end(args);
	if (!same) {
		printf("# got ");
		tap_quote(got);
		printf(", wanted ");
		tap_quote(want);
		putchar('\n');
	}
	return same;
}

/* Prints the plan; returns what main() should. */
static inline int done(void)
{
	printf("1..%d\n", tap_ran);
	if (tap_failed)
		printf("# %d of %d failed\n", tap_failed, tap_ran);
	return tap_failed ? 1 : 0;
}

#endif
