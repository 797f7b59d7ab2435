/* SPDX-License-Identifier: MIT */
/* Round times for an axis. */
#include "cli/history/ticks.h"

#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"

#define TICKS_MAX 8

#define S INT64_C(1000)
#define M (60 * S)
#define H (60 * M)
#define D (24 * H)

int64_t ticks_step(int64_t span_ms)
{
	static const int64_t steps[] = {
		1,     2,      5,      10,     20,     50,     100,    200,
		500,   S,      2 * S,  5 * S,  10 * S, 15 * S, 30 * S, M,
		2 * M, 5 * M,  10 * M, 15 * M, 30 * M, H,      2 * H,  3 * H,
		6 * H, 12 * H, D,      2 * D,  7 * D,  14 * D};
	int64_t step = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		step = steps[i];
		if (span_ms / step <= TICKS_MAX)
			return step;
	}
	while (span_ms / step > TICKS_MAX)
		step *= 2;
	return step;
}

void ticks_text(int64_t ms, int64_t step, char buf[40])
{
	char date[40];

	(void)wall_date(ms / 1000, date, sizeof(date));
	if (step >= 86400000)
		(void)snprintf(buf, 40, "%.10s", date);
	else if (step >= 60000)
		(void)snprintf(buf, 40, "%.5s", date + 11);
	else if (step >= 1000)
		(void)snprintf(buf, 40, "%.8s", date + 11);
	else
		(void)snprintf(buf, 40, "%.8s.%03d", date + 11,
			       (int)(ms % 1000));
}
