/* SPDX-License-Identifier: MIT */
/*
 * Two names of one server in a list of servers: it would have two votes. Equal
 * addresses and ports, or one socket under two paths, show it before anything
 * is asked. What else there is (a server that listens at several addresses)
 * its run_id shows, see lock/vote.
 */
#ifndef CLI_TWINS_H
#define CLI_TWINS_H

#include "cli/servers.h"

/* Looks names up, for a second at most: what is not known by then is left to
 * the run_id. */
int twins_refuse(const struct servers *s, struct fail *why);

#endif
