/* SPDX-License-Identifier: MIT */
/* --help. */
#include "cli/optrows.h"

#include <string.h>

#include "cli/command.h"

#define TEXT_AT 36 /* the column where the texts begin */

/* What an option means to a verb, where that differs from the run form. */
static const struct {
	unsigned int by;
	const char *name, *text;
} own[] = {
	{BY_RUN, "key", "the lock; repeat it to take several at once"},
	{BY_FORCE, "reason", "text for the holder and for the history"},
	{BY_LOCK, "max-hold", "release it after DUR, status 124"},
	{BY_LOCK, "max-renewals", "same, after N renewals"},
	{BY_LOCK, "kill-after", "--keep-for: signal this long before a loss"},
	{BY_EXTEND, "ttl", "lease length from now on (as before)"},
	{BY_UNLOCK | BY_EXTEND, "wait", "try silent servers for DUR (5s)"},
	{BY_DOCTOR, "key", "also check this lock"},
	{BY_DOCTOR, "ttl", "the lease length to check against (30s)"},
	{BY_DOCTOR, "restart-guard", "the setting to check (auto)"},
	{BY_DOCTOR, "wait-replicas", "the setting to check (0)"},
	{BY_WAIT, "conflict-exit-code",
	 "status when it is not free in time (75)"},
};

static const char *text_of(const struct command *verb, const struct opt_row *r)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].by & verb->by && strcmp(own[i].name, r->name) == 0)
			return own[i].text;
	return r->help;
}

/* The verb's own options come first, those for servers and messages last. */
enum group { GROUP_OWN, GROUP_LOCK, GROUP_SERVER, GROUP_OUTPUT };

static enum group group_of(const struct opt_row *r)
{
	static const char *const output[] = {
		"quiet", "verbose", "color", "log-format", "help", "version"};

	for (size_t i = 0; i < sizeof(output) / sizeof(output[0]); i++)
		if (strcmp(r->name, output[i]) == 0)
			return GROUP_OUTPUT;
	if (r->takes == BY_ALL)
		return GROUP_SERVER;
	return r->takes & BY_RUN ? GROUP_LOCK : GROUP_OWN;
}

static void help_row(const struct command *verb, const struct opt_row *r,
		     FILE *out)
{
	char left[64];
	int n = snprintf(left, sizeof(left), "  %c%c%s --%s %s",
			 r->letter ? '-' : ' ', r->letter ? r->letter : ' ',
			 r->letter ? "," : " ", r->name,
			 r->value ? r->value : "");

	(void)fprintf(out, "%s%*s%s\n", left, n < TEXT_AT ? TEXT_AT - n : 1, "",
		      text_of(verb, r));
}

static void help_group(const struct command *verb, enum group group,
		       const char *title, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];

		if (!(r->takes & verb->by) || group_of(r) != group)
			continue;
		if (title)
			(void)fprintf(out, "\n%s\n", title);
		title = NULL;
		help_row(verb, r, out);
	}
}

void help_print(const struct command *verb, FILE *out)
{
	bool runs = verb->name[0] == '\0';

	(void)fprintf(out, "usage: redlock %s%s%s\n", verb->name,
		      runs ? "" : " ", verb->usage);
	if (runs)
		(void)fputs("       redlock [OPTIONS] -k KEY -c 'SHELL "
			    "COMMAND'\n       redlock VERB [OPTIONS] "
			    "[KEY]...\n",
			    out);
	(void)fprintf(out, "\n%s%s\n\nExamples:\n  %s\n  %s\n", verb->summary,
		      runs ? "" : ".", verb->example[0], verb->example[1]);
	(void)fputs("\nOptions:\n", out);
	help_group(verb, GROUP_OWN, NULL, out);
	help_group(verb, GROUP_LOCK, NULL, out);
	help_group(verb, GROUP_SERVER, "Servers:", out);
	help_group(verb, GROUP_OUTPUT, "Messages:", out);
	if (runs)
		(void)fputs(
			"\nBy hand, and in scripts (redlock VERB --help):\n",
			out);
	for (int i = VERB_IS_RUN + 1; runs && i < VERBS; i++)
		(void)fprintf(out, "  %-15s%s\n", commands[i]->name,
			      commands[i]->summary);
	(void)fputs("\nDurations: 250ms 30s 5m 1h30m 1d; a bare number means "
		    "seconds.\nServer: -u, else $REDLOCK_URL, these files, "
		    "$REDIS_URL, redis://127.0.0.1:6379.\nDefaults: "
		    "~/.config/redlock/config, /etc/redlock/config.\n",
		    out);
	if (runs)
		(void)fputs("Exit status: COMMAND's own; 75 not acquired; 125 "
			    "lease lost; see redlock(1).\n",
			    out);
	else
		(void)fputs("Exit status: see redlock(1).\n", out);
}
