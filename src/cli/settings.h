/* SPDX-License-Identifier: MIT */
/*
 * What is set elsewhere than on the command line, the later over the earlier:
 *
 *   /etc/redlock/config
 *   $XDG_CONFIG_HOME/redlock/config, else $HOME/.config/redlock/config
 *   $REDLOCK_URL
 *
 * A line of a file is `name = value`, named like a long option; a switch is
 * `quiet = yes` or `no`. Nothing is quoted; blanks around a value, a carriage
 * return too, do not count. Lines that begin with "#", and empty ones, are
 * skipped.
 *
 * A file decides where locks are, so one that somebody else may have written is
 * refused: it must belong to root or to us, and nobody else may write to it.
 * Nobody else may read it if it holds a password.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/opts.h"

#define CONFIG_FILE_MAX 65536 /* bytes of a file */

/* Every source is read, even if an earlier one has failed; -1: one has, and
 * *why is the first of these failures. */
int settings_load(struct opts *o, struct fail *why);

#endif
