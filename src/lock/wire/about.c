/* SPDX-License-Identifier: MIT */
/* Who holds or waits. */
#include "lock/wire/about.h"

static const char *const about_names[ABOUT_COUNT] = {
	[ABOUT_HOST] = "host",       [ABOUT_PID] = "pid",
	[ABOUT_USER] = "user",       [ABOUT_COMMAND] = "command",
	[ABOUT_REASON] = "reason",   [ABOUT_CI] = "ci_url",
	[ABOUT_PROCESS] = "process",
};

const char *about_name(enum about field)
{
	return about_names[field];
}
