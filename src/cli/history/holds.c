/* SPDX-License-Identifier: MIT */
/* Asks for past holds, and puts them into words. */
#include "cli/history/holds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *hold_ending(const struct history_hold *p, char buf[ENDING_SIZE])
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

int history_read(struct query *l, const char *key, size_t len,
		 int64_t within_ms, struct history *h, struct fail *why)
{
	struct fail node_why[NODES_MAX] = {{0}};
	struct got got;

	for (int i = 0; i < l->servers.n; i++)
		if (query_ask_history(l, i, key, len) < 0)
			return fail(why, FAIL_INTERNAL, "out of memory");
	while (fanout_get(&l->fanout, &got)) {
		struct fail *its = &node_why[got.node];

		*its = got.why;
		if (its->kind == FAIL_NONE)
			(void)history_add(h, got.reply, got.node, its);
	}
	history_finish(h, within_ms);
	return query_enough(l, h->answers, node_why, why);
}
