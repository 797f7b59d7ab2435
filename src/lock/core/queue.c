/* SPDX-License-Identifier: MIT */
/* Waiting in line. */
#include "lock/core/queue.h"

#define AFTER_END_MS 5 /* the server ends a lease up to 1 ms late */
#define APART_MS 50    /* so that waiters do not all ask at once */
#define FAR_BACK 10    /* waiters before us */

int64_t queue_delay(const struct answer *busy, int64_t jitter_ms)
{
	int64_t place = busy->ahead > 0 ? busy->ahead : 0;
	int64_t ms = place == 1 ? 1900 : 3500, end;

	if (place == 0 || place >= FAR_BACK)
		ms = HEARTBEAT_MS;
	if (busy->foreign || busy->ahead < 0)
		ms = (OUTSIDE_MS - jitter_ms) * (place + 1);
	end = busy->pttl_ms + AFTER_END_MS + APART_MS * place;
	if (busy->pttl_ms >= 0 && end < ms)
		ms = end;
	return ms < HEARTBEAT_MS ? ms : HEARTBEAT_MS;
}
