/* SPDX-License-Identifier: MIT */
/* Locks as Prometheus reads them: its text format, for a file that the textfile
 * collector of node_exporter reads. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include <stdio.h>

#include "cli/listing.h"

/* Reads the history of each lock. -1: no memory. */
int metrics_print(const struct listing *l, const struct census *c, FILE *out);

#endif
