/* SPDX-License-Identifier: MIT */
/* What doctor examines, and where its findings go. */
#ifndef CLI_DOCTOR_EXAM_H
#define CLI_DOCTOR_EXAM_H

#include "cli/doctor/facts.h"
#include "cli/doctor/findings.h"
#include "cli/opts.h"

struct exam {
	const struct opts *o;
	const struct servers *servers;
	const struct facts *facts; /* what each server says of itself */
	int n;                     /* number of facts */
	unsigned int needs;        /* bits of enum right_need */
	struct findings *found;
};

#endif
