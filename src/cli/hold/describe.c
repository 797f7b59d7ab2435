/* SPDX-License-Identifier: MIT */
/* The holder record. */
#include "cli/hold/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* From the environment, else the number: the name is for people, and looking
 * it up costs a tenth of a short run. */
static void user_name(char *buf, size_t size)
{
	const char *name = getenv("LOGNAME");

	if (!name)
		name = getenv("USER");
	if (name)
		(void)snprintf(buf, size, "%s", name);
	else if (getuid() == 0)
		(void)snprintf(buf, size, "root");
	else
		(void)snprintf(buf, size, "%ld", (long)getuid());
}

/* GitLab, Jenkins, Buildkite and CircleCI name the job's page; GitHub gives its
 * parts. Everybody can read it, so mask a password in it. */
static void ci_link(char *buf, size_t size)
{
	static const char *const names[] = {"CI_JOB_URL", "BUILD_URL",
					    "BUILDKITE_BUILD_URL",
					    "CIRCLE_BUILD_URL"};
	const char *server = getenv("GITHUB_SERVER_URL");
	const char *repository = getenv("GITHUB_REPOSITORY");
	const char *run = getenv("GITHUB_RUN_ID");
	char masked[128];

	buf[0] = '\0';
	if (server && repository && run)
		(void)snprintf(buf, size, "%s/%s/actions/runs/%s",
			       mask_link(server, masked, sizeof(masked)),
			       repository, run);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (buf[0] == '\0' && getenv(names[i]))
			(void)mask_link(getenv(names[i]), buf, size);
}

void describe(struct description *d, const struct opts *o, const char *command)
{
	const char *slash = strrchr(command, '/');

	memset(d, 0, sizeof(*d));
	process_id(d->process);
	d->holder.about[ABOUT_PROCESS] = d->process;
	if (o->no_describe)
		return;
	host_name(d->host);
	(void)snprintf(d->pid, sizeof(d->pid), "%ld", (long)getpid());
	user_name(d->user, sizeof(d->user));
	(void)snprintf(d->command, sizeof(d->command), "%s",
		       slash ? slash + 1 : command);
	ci_link(d->ci_url, sizeof(d->ci_url));
	d->holder = (struct holder){{
		[ABOUT_HOST] = d->host,
		[ABOUT_PID] = d->pid,
		[ABOUT_USER] = d->user,
		[ABOUT_COMMAND] = d->command,
		[ABOUT_REASON] = o->reason,
		[ABOUT_CI] = d->ci_url,
		[ABOUT_PROCESS] = d->process,
	}};
}
