/* SPDX-License-Identifier: MIT */
/* What doctor found. */
#include "cli/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define TEXT_MAX 1000

const char *level_name(enum level level)
{
	static const char *const names[] = {[LEVEL_OK] = "ok",
					    [LEVEL_NOTE] = "note",
					    [LEVEL_WRONG] = "wrong"};

	return names[level];
}

/* NULL: no memory */
static char *safe_copy(const char *text)
{
	char safe[TEXT_MAX];

	return strdup(format_bytes(text, strlen(text), safe, sizeof(safe)));
}

__attribute__((format(printf, 1, 0))) static char *formatted(const char *fmt,
							     va_list ap)
{
	char text[TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	return safe_copy(text);
}

/* NULL: no memory */
static struct finding *next(struct findings *f)
{
	int room = f->room * 2 + 32;
	struct finding *more;

	if (f->n == f->room) {
		more = realloc(f->at, (size_t)room * sizeof(*more));
		if (!more)
			return NULL;
		f->at = more;
		f->room = room;
	}
	return &f->at[f->n];
}

void found(struct findings *f, enum level level, const char *server,
	   const char *check, const char *fmt, ...)
{
	struct finding *at = next(f);
	va_list ap;

	if (!at) {
		f->incomplete = true;
		return;
	}
	*at = (struct finding){
		.level = level, .check = check, .server = safe_copy(server)};
	va_start(ap, fmt);
	at->text = formatted(fmt, ap);
	va_end(ap);
	if (at->server && at->text) {
		f->n++;
		return;
	}
	free(at->server);
	free(at->text);
	f->incomplete = true;
}

void cure(struct findings *f, const char *fmt, ...)
{
	va_list ap;

	if (f->incomplete || f->n == 0 || f->at[f->n - 1].cure)
		return;
	va_start(ap, fmt);
	f->at[f->n - 1].cure = formatted(fmt, ap);
	va_end(ap);
}

void findings_group(struct findings *f)
{
	int end = 0; /* of the group that grows */

	for (int first = 0; first < f->n; first = end) {
		end = first + 1;
		for (int i = end; i < f->n; i++) {
			struct finding one = f->at[i];

			if (strcmp(one.server, f->at[first].server) != 0)
				continue;
			memmove(&f->at[end + 1], &f->at[end],
				(size_t)(i - end) * sizeof(one));
			f->at[end++] = one;
		}
	}
}

bool findings_well(const struct findings *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->at[i].level == LEVEL_WRONG)
			return false;
	return !f->incomplete;
}

void findings_close(struct findings *f)
{
	for (int i = 0; i < f->n; i++) {
		free(f->at[i].server);
		free(f->at[i].text);
		free(f->at[i].cure);
	}
	free(f->at);
	*f = (struct findings){0};
}
