/* SPDX-License-Identifier: MIT */
/* Locks in the text format of Prometheus, for a file that the textfile
 * collector of node_exporter reads. */
#ifndef CLI_SHOW_METRICS_H
#define CLI_SHOW_METRICS_H

#include <stdio.h>

#include "cli/show/listing.h"

/* Also reads the history of each lock. -1: out of memory. */
int metrics_print(const struct listing *l, const struct scan *c,
		  struct fail *missing, FILE *out);

#endif
