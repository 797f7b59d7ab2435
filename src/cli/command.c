/* SPDX-License-Identifier: MIT */
/* The verbs, and what a failure ends them with. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"

const struct command *const commands[VERBS] = {
#define V(NAME, name) &cmd_##name,
	EACH_VERB(V)
#undef V
};

const struct command *command_named(const char *name)
{
	for (int i = VERB_IS_RUN + 1; i < VERBS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

int status_of_kind(enum fail_kind kind)
{
	switch (kind) {
	case FAIL_NONE:
	case FAIL_INTERNAL:
		return STATUS_INTERNAL;
	case FAIL_USAGE:
		return STATUS_USAGE;
	case FAIL_CONFIG:
		return STATUS_CONFIG;
	case FAIL_UNAVAILABLE:
		return STATUS_UNAVAILABLE;
	case FAIL_REFUSED:
		return STATUS_REFUSED;
	}
	return STATUS_INTERNAL;
}

int report_failure(const struct fail *why)
{
	log_error("failed", "%s", why->text);
	return status_of_kind(why->kind);
}

/* ---- checks for monitoring systems ---- */

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
