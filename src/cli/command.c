/* SPDX-License-Identifier: MIT */
/* The verbs. */
#include "cli/command.h"

#include <string.h>

const struct command *const commands[] = {
	&cmd_lock, &cmd_unlock, &cmd_extend,  &cmd_inspect, &cmd_list, &cmd_top,
	&cmd_wait, &cmd_force,  &cmd_history, &cmd_doctor,  NULL,
};

const struct command *command_named(const char *name)
{
	for (int i = 0; commands[i]; i++)
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
