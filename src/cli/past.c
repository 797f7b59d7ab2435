/* SPDX-License-Identifier: MIT */
/* A hold of the past, in words. */
#include "cli/past.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *past_ending(const struct past *p, char buf[ENDING_SIZE])
{
	char how[40] = "";

	if (p->signal > 0)
		(void)snprintf(how, sizeof(how), " (signal %" PRId64 ")",
			       p->signal);
	else if (p->status > 0)
		(void)snprintf(how, sizeof(how), " (exit %" PRId64 ")",
			       p->status);
	(void)snprintf(buf, ENDING_SIZE, "%s%s%s%s",
		       p->outcome[0] != '\0' ? p->outcome : "unknown", how,
		       p->by[0] != '\0' ? " by " : "", p->by);
	return buf;
}
