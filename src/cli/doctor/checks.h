/* SPDX-License-Identifier: MIT */
/* Doctor's judgement on what the servers say of themselves. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "cli/doctor/exam.h"

/* Checks each server by itself. */
void check_servers(const struct exam *e);
/* Checks all of them together. */
void check_list(const struct exam *e);
/* Checks this machine. */
void check_machine(const struct exam *e);

#endif
