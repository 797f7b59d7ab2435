/* SPDX-License-Identifier: MIT */
/* Waiting in line. */
#include "lock/core/queue.h"

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

int64_t queue_ticket(int64_t now_us, bool high)
{
	if (!high)
		return now_us;
	return now_us > LEAD_US ? now_us - LEAD_US : 1; /* 0: none */
}
