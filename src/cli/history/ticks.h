/* SPDX-License-Identifier: MIT */
/* Round times for an axis. */
#ifndef CLI_HISTORY_TICKS_H
#define CLI_HISTORY_TICKS_H

#include <stdint.h>

/* The time between two marks: a round one, so that few fit into the span. */
int64_t ticks_step(int64_t span_ms);

/* The time at a mark, as exact as the step is. */
void ticks_text(int64_t ms, int64_t step, char buf[40]);

#endif
