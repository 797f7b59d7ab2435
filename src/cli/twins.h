/* SPDX-License-Identifier: MIT */
/*
 * Finds one server under two names in a list of servers: it would have two
 * votes. Equal addresses and ports, or one socket under two paths, are found
 * before anything is asked. Other cases (a server that listens at several
 * addresses) are found by its run_id: see lock/core/vote.
 */
#ifndef CLI_TWINS_H
#define CLI_TWINS_H

#include "cli/servers.h"

/* Looks names up, for at most a second. The run_id decides on names not known
 * by then. */
int twins_refuse(const struct servers *s, struct fail *why);

#endif
