/* SPDX-License-Identifier: MIT */
/* The timing rules. Read timing.h first. */
#include "lock/core/timing.h"

static int64_t period(int64_t ttl)
{
	return ttl / 6 < RENEW_MOST_MS ? ttl / 6 : RENEW_MOST_MS;
}

struct instant timing_renew(struct instant s, int64_t ttl)
{
	return after(s, period(ttl));
}

struct instant timing_hand_over(struct instant s, int64_t ttl)
{
	return after(s, period(ttl) * 9 / 10);
}

struct instant timing_start(struct instant s, int64_t ttl)
{
	return after(s, ttl / 3);
}

struct instant timing_kill(struct instant s, int64_t ttl)
{
	return after(s, ttl * 80 / 100);
}

struct instant timing_dead(struct instant s, int64_t ttl)
{
	return after(s, ttl * 82 / 100);
}

int64_t timing_last(int64_t ttl)
{
	return ttl * 2 / 100;
}

struct instant timing_term(struct instant s, int64_t ttl, int64_t grace_ms)
{
	return after(s, ttl * 80 / 100 - grace_ms);
}

int64_t timing_grace(int64_t ttl)
{
	return ttl * 15 / 100;
}

/* The last renewal is a period old when the server goes away. */
int64_t timing_outage(int64_t ttl)
{
	return ttl * 80 / 100 - timing_grace(ttl) - period(ttl);
}

int64_t timing_ttl_for(int64_t outage_ms)
{
	int64_t less = outage_ms * 600 / 290;

	if (less / 6 > RENEW_MOST_MS)
		less = (outage_ms + RENEW_MOST_MS) * 100 / 65;
	while (timing_outage(less) < outage_ms)
		less++;
	return less;
}

int64_t timing_retry(int64_t ttl)
{
	int64_t ms = ttl / 30;

	return ms < 20 ? 20 : ms > 1000 ? 1000 : ms;
}

int64_t timing_hedge(int64_t srtt_ms)
{
	return 4 * srtt_ms < 50 ? 50 : 4 * srtt_ms;
}

int64_t timing_mute(int64_t node_timeout_ms)
{
	return 5 * node_timeout_ms;
}

/* ---- waiting in line ---- */

#define AFTER_END_MS 5 /* the server ends a lease up to 1 ms late */
#define APART_MS 50    /* so that waiters do not all ask at once */
#define FAR_BACK 10    /* waiters before us */

int64_t queue_delay(const struct busy *busy, int64_t jitter_ms)
{
	int64_t before_us = busy->place > 0 ? busy->place - 1 : 0;
	int64_t ms = before_us == 1 ? 1900 : 3500, end;

	if (before_us == 0 || before_us >= FAR_BACK)
		ms = HEARTBEAT_MS;
	if (busy->foreign || busy->place == 0)
		ms = (OUTSIDE_MS - jitter_ms) * (before_us + 1);
	end = busy->pttl_ms + AFTER_END_MS + APART_MS * before_us;
	if (busy->pttl_ms >= 0 && end < ms)
		ms = end;
	return ms < HEARTBEAT_MS ? ms : HEARTBEAT_MS;
}

struct instant timing_leave(struct instant limit, struct instant at)
{
	return later(after(limit, LEAVE_MS), after(at, LEAVE_LEAST_MS));
}

int64_t queue_ticket(int64_t now_us, bool high)
{
	if (!high)
		return now_us;
	return now_us > LEAD_US ? now_us - LEAD_US : 1; /* 0: none */
}
