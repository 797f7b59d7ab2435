/* SPDX-License-Identifier: MIT */
/*
 * Every exit status of redlock; the man page's EXIT STATUS is checked against
 * this list. Any other status is the command's own, or 128+n when signal n
 * ended it.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

enum exit_status {
	STATUS_OK = 0,
	STATUS_USAGE = 64,        /* the command line is wrong */
	STATUS_UNAVAILABLE = 69,  /* servers unreachable */
	STATUS_INTERNAL = 70,     /* this machine refused a fork or a timer */
	STATUS_BUSY = 75,         /* not acquired (-E) */
	STATUS_REFUSED = 77,      /* password or ACL refused */
	STATUS_CONFIG = 78,       /* configuration, file or key unusable */
	STATUS_MAX_HOLD = 124,    /* --max-hold or --max-renewals ended it */
	STATUS_LOST = 125,        /* the lease was lost while the command ran */
	STATUS_CANNOT_EXEC = 126, /* the command cannot be executed */
	STATUS_NOT_FOUND = 127    /* the command was not found */
};

#include "cli/opts.h"

/* Runs the command under the lock; returns the exit status, or does not return
 * when redlock must end by a signal. */
int cmd_run(const struct opts *o);

int status_of_kind(enum fail_kind kind);

#endif
