/* SPDX-License-Identifier: MIT */
/* Entries of the history. */
#include "lock/history.h"

#include <inttypes.h>
#include <stdio.h>

void story_text(const struct story *s, int64_t fence, int slot,
		char text[STORY_SIZE])
{
	char where[24] = "", how[40] = "", by[STORY_BY + 8] = "";

	if (slot >= 0)
		(void)snprintf(where, sizeof(where), "slot %d\n", slot);
	if (s->signal > 0)
		(void)snprintf(how, sizeof(how), "signal %d\n", s->signal);
	else if (s->status >= 0)
		(void)snprintf(how, sizeof(how), "exit %d\n", s->status);
	if (s->by)
		(void)snprintf(by, sizeof(by), "by %.*s\n", STORY_BY, s->by);
	(void)snprintf(text, STORY_SIZE,
		       "fence %" PRId64 "\n%s\nwaited_ms %" PRId64
		       "\nheld_ms %" PRId64 "\noutcome %.20s\n%s%s",
		       fence, where, s->waited_ms, s->held_ms, s->outcome, how,
		       by);
}
