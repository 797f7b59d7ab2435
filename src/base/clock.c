/* SPDX-License-Identifier: MIT */
/* The lease clock. The only file that asks the kernel for the time. */
#include "base/clock.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

#define SPINS_MAX 10000

#ifdef CLOCK_BOOTTIME
const clockid_t lease_clock = CLOCK_BOOTTIME;
#else
const clockid_t lease_clock = CLOCK_MONOTONIC;
#endif

struct instant now(void)
{
	struct timespec ts;

	clock_gettime(lease_clock, &ts);
	return (struct instant){(int64_t)ts.tv_sec * 1000 +
				ts.tv_nsec / 1000000};
}

struct instant after(struct instant t, int64_t ms)
{
	if (t.ms == INT64_MAX || (t.ms > 0 && ms > INT64_MAX - t.ms))
		return NEVER;
	return (struct instant){t.ms + ms};
}

struct instant sooner(struct instant a, struct instant b)
{
	return a.ms < b.ms ? a : b;
}

struct instant later(struct instant a, struct instant b)
{
	return before(a, b) ? b : a;
}

bool before(struct instant a, struct instant b)
{
	return a.ms < b.ms;
}

int64_t between(struct instant b, struct instant a)
{
	return a.ms - b.ms;
}

/* Sanitizer builds stop a loop that keeps polling for a time in the past. */
static void watch_spin(bool passed)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	static _Thread_local int spins;

	spins = passed ? spins + 1 : 0;
	assert(spins < SPINS_MAX);
#else
	(void)passed;
#endif
}

int poll_ms(struct instant t, struct instant at)
{
	watch_spin(t.ms <= at.ms);
	if (t.ms == INT64_MAX)
		return -1;
	if (t.ms <= at.ms)
		return 0;
	return t.ms - at.ms > INT_MAX ? INT_MAX : (int)(t.ms - at.ms);
}

int64_t wall_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

int64_t wall_microseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

const char *wall_stamp(int64_t ms, char *buf, size_t size)
{
	time_t t = (time_t)(ms / 1000);
	char day[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf, size, "%s.%03dZ", day, (int)(ms % 1000));
	return buf;
}

const char *wall_text(char *buf, size_t size)
{
	return wall_stamp(wall_microseconds() / 1000, buf, size);
}

static const char *local_time(int64_t seconds, bool zone, char *buf,
			      size_t size)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    strftime(buf, size,
		     zone ? "%Y-%m-%d %H:%M:%S %Z" : "%Y-%m-%d %H:%M:%S",
		     &tm) == 0)
		buf[0] = '\0';
	return buf;
}

const char *wall_date(int64_t seconds, char *buf, size_t size)
{
	return local_time(seconds, false, buf, size);
}

const char *wall_zoned(int64_t seconds, char *buf, size_t size)
{
	return local_time(seconds, true, buf, size);
}

const char *wall_since(int64_t seconds, char *buf, size_t size)
{
	time_t t = (time_t)seconds, at = (time_t)wall_seconds();
	struct tm tm, today;
	bool same;

	buf[0] = '\0';
	if (!localtime_r(&t, &tm) || !localtime_r(&at, &today))
		return buf;
	same = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
	if (strftime(buf, size, same ? "%H:%M %Z" : "%Y-%m-%d %H:%M %Z", &tm) ==
	    0)
		buf[0] = '\0';
	return buf;
}

int64_t wall_offset(int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}
