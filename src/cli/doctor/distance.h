/* SPDX-License-Identifier: MIT */
/* How far clocks are apart, and when that is too much. */
#ifndef CLI_DOCTOR_DISTANCE_H
#define CLI_DOCTOR_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/doctor/findings.h"

/* A machine with a synchronised clock is never that far from another one. */
#define DISTANCE_NOTE_US 500000
#define CURE_CLOCK                                                             \
	"synchronise both clocks (chrony, ntpd); slew them: a step ends "      \
	"leases early or late"

/* Who holds a lock does not depend on dates, so a difference alone breaks no
 * lock. But a clock that is this far off will be set one day, and a server's
 * leases end by its date: a step of 0.2 T ends a lease while its command still
 * runs (timing.h). So half of that is wrong, unless it is small enough to be
 * merely noted. `us`: microseconds. */
enum level distance_level(int64_t us, int64_t ttl_ms);

/* "42us", "1.3ms", "2.0s"; returns buf. */
const char *span_text(int64_t us, char *buf, size_t size);

#endif
