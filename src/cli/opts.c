/* SPDX-License-Identifier: MIT */
/* The settings of one call: the defaults, and what is freed. */
#include "cli/opts.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/command.h"

const struct opts opts_default = {.ttl_ms = 30000,
				  .wait_ms = INT64_MAX,
				  .grace_ms = -1,
				  .max_waiters = -1,
				  .max_renewals = -1,
				  .revision = -1,
				  .slots = 1,
				  .signal = SIGTERM,
				  .guard_ms = GUARD_AUTO,
				  .force_grace_ms = 10000,
				  .conflict_status = STATUS_BUSY};

void opts_init(struct opts *o)
{
	*o = opts_default;
}

void opts_close(struct opts *o)
{
	free(o->slot_names);
	for (int i = 0; i < o->keys; i++)
		free(o->key[i]);
	for (int i = 0; i < NODES_MAX; i++)
		free(o->url[i]);
	for (int i = 0; i < SOURCES; i++) {
		free(o->file[i].path);
		free(o->file[i].text);
	}
}
