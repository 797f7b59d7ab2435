/* SPDX-License-Identifier: MIT */
/*
 * A lock of doctor's own on a server: taken, renewed, waited for by a second
 * client, handed over to it and given back, with the questions that the runs
 * ask. What a server says of itself does not tell whether that works. Nothing
 * stays behind.
 */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli/checks.h"

/* On each server that answers. A script that ran is proof that scripts do: what
 * facts[] say of that is put right. */
void check_trials(const struct exam *e, struct facts *facts);

#endif
