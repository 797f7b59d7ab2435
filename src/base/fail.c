/* SPDX-License-Identifier: MIT */
/* Failures as values. */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(struct fail *f, enum fail_kind kind, const char *fmt, ...)
{
	va_list ap;

	f->kind = kind;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return -1;
}

int fail_sys(struct fail *f, enum fail_kind kind, const char *fmt, ...)
{
	int saved = errno;
	size_t used;
	va_list ap;

	f->kind = kind;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	used = strlen(f->text);
	(void)snprintf(f->text + used, sizeof(f->text) - used, ": %s",
		       strerror(saved));
	errno = saved;
	return -1;
}

int fail_memory(struct fail *f)
{
	return fail(f, FAIL_INTERNAL, "out of memory");
}
