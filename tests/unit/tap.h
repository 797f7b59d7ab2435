/* SPDX-License-Identifier: MIT */
/*
 * What a test program prints: TAP, one line for each check, the plan last. A
 * program that dies on the way has printed no plan, and so has failed.
 *
 * The name of a check is a sentence that is true when it passes.
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

/* A "#" would begin a TAP directive, and a control byte end the line. */
static inline void tap_text(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			printf("\\x%02x", c);
		else if (c == '#')
			printf("\\#");
		else
			putchar(c);
	}
}

__attribute__((format(printf, 2, 0))) static inline bool
tap_line(bool good, const char *fmt, va_list args)
{
	char name[400];

	(void)vsnprintf(name, sizeof(name), fmt, args);
	tap_ran++;
	if (!good)
		tap_failed++;
	printf("%s %d - ", good ? "ok" : "not ok", tap_ran);
	tap_text(name);
	putchar('\n');
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
	if (!text) {
		printf("NULL");
		return;
	}
	putchar('\'');
	tap_text(text);
	putchar('\'');
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
