/* SPDX-License-Identifier: MIT */
/*
 * Doctor's own lock on a server: taken, renewed, waited for by a second client,
 * handed over to it and released, with the same questions that runs ask. What a
 * server says of itself does not tell whether that works. Nothing is left
 * behind.
 */
#ifndef CLI_DOCTOR_TRIAL_H
#define CLI_DOCTOR_TRIAL_H

#include "cli/doctor/checks.h"

/* Tries it on each server that answers. A script that ran proves that scripts
 * work: corrects what facts[] say about that. */
void check_trials(const struct exam *e, struct facts *facts);

#endif
