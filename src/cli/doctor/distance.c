/* SPDX-License-Identifier: MIT */
/* How far clocks are apart. */
#include "cli/doctor/distance.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"

enum level distance_level(int64_t us, int64_t ttl_ms)
{
	int64_t wrong_us = ttl_ms * 1000 / 10;

	if (us <= DISTANCE_NOTE_US)
		return LEVEL_OK;
	return us > wrong_us ? LEVEL_WRONG : LEVEL_NOTE;
}

const char *span_text(int64_t us, char *buf, size_t size)
{
	if (us >= 10000)
		return format_duration(us / 1000, buf, size);
	if (us >= 1000)
		(void)snprintf(buf, size, "%" PRId64 ".%" PRId64 "ms",
			       us / 1000, us % 1000 / 100);
	else
		(void)snprintf(buf, size, "%" PRId64 "us", us);
	return buf;
}
