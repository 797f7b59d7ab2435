/* SPDX-License-Identifier: MIT */
/* Whether the Sentinels of a group are fit for use. */
#ifndef CLI_DOCTOR_SENTINELS_H
#define CLI_DOCTOR_SENTINELS_H

#include "cli/doctor/checks.h"

/* Asks all Sentinels of each group in the list. */
void check_sentinels(const struct exam *e);

#endif
