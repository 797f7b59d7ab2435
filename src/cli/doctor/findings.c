/* SPDX-License-Identifier: MIT */
/* The findings of an exam. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "cli/doctor/inside.h"

#define TEXT_MAX 2000
#define ARROW " -> " /* between what is wrong and what to do */

/* NULL: no memory */
static char *safe_copy(const char *text)
{
	char safe[TEXT_MAX];

	return strdup(format_bytes(text, strlen(text), safe, sizeof(safe)));
}

/* NULL: no memory */
static struct finding *next_finding(struct exam *e)
{
	return grow(&e->finding, e->findings, &e->room, sizeof(*e->finding))
		       ? &e->finding[e->findings]
		       : NULL;
}

/* The format is cut, not the text: what a server says may have an arrow in
 * it. */
void found(struct exam *e, enum level level, const char *about,
	   const char *check, const char *fmt, ...)
{
	struct finding *at = next_finding(e);
	const char *arrow = strstr(fmt, ARROW);
	char head[TEXT_MAX], text[TEXT_MAX];
	size_t n;
	va_list ap;

	if (!at) {
		e->incomplete = true;
		return;
	}
	(void)snprintf(head, sizeof(head), "%.*s",
		       (int)(arrow ? arrow - fmt : (int)strlen(fmt)), fmt);
	va_start(ap, fmt);
	n = (size_t)vsnprintf(text, sizeof(text), head, ap);
	va_end(ap);
	*at = (struct finding){.level = level,
			       .check = check,
			       .about = safe_copy(about),
			       .text = safe_copy(text)};
	n += strlen(ARROW);
	va_start(ap, fmt);
	if (arrow && (size_t)vsnprintf(text, sizeof(text), fmt, ap) > n)
		at->cure = safe_copy(n < sizeof(text) ? text + n : "");
	va_end(ap);
	if (at->about && at->text) {
		e->findings++;
		return;
	}
	free(at->about);
	free(at->text);
	free(at->cure);
	e->incomplete = true;
}

void findings_sort(struct exam *e)
{
	int end = 0; /* of the group that grows */

	for (int first = 0; first < e->findings; first = end) {
		end = first + 1;
		for (int i = end; i < e->findings; i++) {
			struct finding one = e->finding[i];

			if (strcmp(one.about, e->finding[first].about) != 0)
				continue;
			memmove(&e->finding[end + 1], &e->finding[end],
				(size_t)(i - end) * sizeof(one));
			e->finding[end++] = one;
		}
	}
}

bool is_well(const struct exam *e)
{
	for (int i = 0; i < e->findings; i++)
		if (e->finding[i].level == WRONG)
			return false;
	return !e->incomplete;
}

void findings_close(struct exam *e)
{
	for (int i = 0; i < e->findings; i++) {
		free(e->finding[i].about);
		free(e->finding[i].text);
		free(e->finding[i].cure);
	}
	free(e->finding);
}
