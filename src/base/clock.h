/* SPDX-License-Identifier: MIT */
/*
 * Instants and deadlines on the lease clock.
 *
 * The lease clock is CLOCK_BOOTTIME: it goes on while a machine is suspended,
 * as the server's clock does, and no administrator can set it. A deadline is a
 * point in time that is passed down unchanged; only poll_ms() subtracts.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds since the machine started, rounded down. */
struct instant {
	int64_t ms;
};

/* Sorts after every real instant: "no deadline". */
#define NEVER ((struct instant){INT64_MAX})
/* Sorts before every real instant, also with a day added: "not yet". */
#define LONG_AGO ((struct instant){INT64_MIN / 2})

extern const clockid_t lease_clock;

struct instant now(void);
struct instant after(struct instant t, int64_t ms); /* saturates at NEVER */
struct instant sooner(struct instant a, struct instant b);
struct instant later(struct instant a, struct instant b);
bool before(struct instant a, struct instant b);

/* a - b in ms. */
int64_t between(struct instant b, struct instant a);

/* The time-out for poll(2) from `at` until t: -1 for NEVER, else 0..INT_MAX. */
int poll_ms(struct instant t, struct instant at);

/* Wall clock, for people: no decision reads it. Seconds since 1970. */
int64_t wall_seconds(void);
/* Only for the order of clients that wait at several servers. Who holds a lock,
 * and for how long, does not depend on it. */
int64_t wall_microseconds(void);
/* RFC 3339, UTC, with milliseconds. */
const char *wall_text(char *buf, size_t size);
/* The same for `ms` since 1970. */
const char *wall_stamp(int64_t ms, char *buf, size_t size);
/* The local date and time: "2026-11-21 03:00:12". */
const char *wall_date(int64_t seconds, char *buf, size_t size);
/* The same with its zone: "2026-11-21 03:00:12 UTC". */
const char *wall_zoned(int64_t seconds, char *buf, size_t size);
/* "03:00 UTC" today, else "2026-11-21 03:00 UTC". */
const char *wall_since(int64_t seconds, char *buf, size_t size);
/* By how many seconds local time is ahead of UTC at that moment. */
int64_t wall_offset(int64_t seconds);

#endif
