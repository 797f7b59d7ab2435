/* SPDX-License-Identifier: MIT */
/*
 * Settings from elsewhere than the command line; later ones override earlier
 * ones:
 *
 *   /etc/redlock/config
 *   $XDG_CONFIG_HOME/redlock/config, else $HOME/.config/redlock/config
 *   $REDLOCK_URL, $REDLOCK_TTL and so on: one for each long option
 *
 * A line of a file is `name = value`, where name is a long option; a switch is
 * `quiet = yes` or `no`. There is no quoting; blanks and a carriage return
 * around a value are ignored. Empty lines and lines that begin with "#" are
 * skipped.
 *
 * A file decides where locks are. So it must belong to root or to us, and
 * nobody else may be able to write to it, or it is refused. Nobody else may
 * read it if it holds a password.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/opts.h"

#define CONFIG_FILE_MAX 65536 /* bytes of a file */

/* Reads every source, even if an earlier one failed. -1: one failed; *why is
 * the first failure. */
int settings_load(struct opts *o, struct fail *why);

/* Reports variables that are not used, but whose names are nearly those of
 * options. */
void settings_report_typos(void);

#endif
