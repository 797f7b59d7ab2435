/* SPDX-License-Identifier: MIT */
/* Checks for monitoring systems. */
#include "cli/check.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"

static bool is_option(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) == 0 &&
	       (word[n] == '\0' || word[n] == '=');
}

bool check_is(const struct opts *o, char *const *argv)
{
	if (o->verb && o->verb->by != BY_INSPECT && o->verb->by != BY_HISTORY)
		return false;
	if (o->max_age_ms > 0 || o->last_success_ms > 0)
		return true;
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (is_option(*argv, "--max-age") ||
		    is_option(*argv, "--last-success"))
			return true;
	return false;
}

int check_unknown(const char *shown, const char *text)
{
	char safe[1000];

	(void)printf("UNKNOWN: %s%s%s\n", shown, shown[0] ? ": " : "",
		     format_bytes(text, strlen(text), safe, sizeof(safe)));
	(void)fflush(stdout);
	return STATUS_UNKNOWN;
}

int check_worse(int a, int b)
{
	static const int rank[] = {[STATUS_OK] = 0,
				   [STATUS_FREE] = 1,
				   [STATUS_UNKNOWN] = 2,
				   [STATUS_CRITICAL] = 3};

	return rank[a] > rank[b] ? a : b;
}
