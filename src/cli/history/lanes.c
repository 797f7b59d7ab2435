/* SPDX-License-Identifier: MIT */
/* Rows and lanes. */
#include "cli/history/lanes.h"

#include <string.h>

#define WISHED 4 /* so that waits cross no bars; more, so that bars do not */

const char *hold_host(const struct history_hold *p)
{
	return p->about[ABOUT_HOST][0] != '\0' ? p->about[ABOUT_HOST]
					       : "(anonymous)";
}

int64_t hold_came_ms(const struct history_hold *p)
{
	return p->since_ms - (p->waited_ms > 0 ? p->waited_ms : 0);
}

static int find_host(struct lanes *l, const char *name)
{
	for (int i = 0; i < l->hosts; i++)
		if (strcmp(l->host[i].name, name) == 0)
			return i;
	l->host[l->hosts] = (struct host){.name = name};
	return l->hosts++;
}

/* The first lane that is free from then on; -1: none. */
static int free_lane(const struct host *h, int64_t from_ms)
{
	for (int i = 0; i < h->lanes; i++)
		if (h->free_ms[i] <= from_ms)
			return i;
	return -1;
}

/* Simultaneous holds of a host (readers, slots) have a lane each. A wait during
 * another hold of its host gets a lane as well, unless there are many. */
static int pick_lane(struct host *h, const struct history_hold *p)
{
	int lane = free_lane(h, hold_came_ms(p)), soonest = 0;

	if (lane < 0 && h->lanes >= WISHED)
		lane = free_lane(h, p->since_ms);
	if (lane < 0 && h->lanes < LANES_MAX)
		lane = h->lanes++;
	for (int i = 0; lane < 0 && i < LANES_MAX; i++)
		if (h->free_ms[i] < h->free_ms[soonest])
			soonest = i;
	return lane < 0 ? soonest : lane;
}

void lanes_fill(struct lanes *l, const struct history *h, int64_t least_ms)
{
	for (int i = 0; i < h->holds; i++) {
		const struct history_hold *p = &h->hold[i];
		int n = find_host(l, hold_host(p));
		struct host *host = &l->host[n];
		int lane = pick_lane(host, p);

		l->at[i].host = n;
		l->at[i].lane = lane;
		host->free_ms[lane] =
			p->since_ms +
			(p->held_ms > least_ms ? p->held_ms : least_ms) +
			l->behind_ms[i];
	}
	for (int i = 0; i < l->hosts; i++)
		l->rows += l->host[i].lanes;
}
