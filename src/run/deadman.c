/* SPDX-License-Identifier: MIT */
/* The kernel deadman and the alarm. */
#include "run/deadman.h"

#include <signal.h>
#include <sys/timerfd.h>

static struct itimerspec once_at(struct instant t)
{
	struct itimerspec at = {{0, 0}, {0, 0}};

	if (t.ms != NEVER.ms) {
		at.it_value.tv_sec = (time_t)(t.ms / 1000);
		at.it_value.tv_nsec = (long)(t.ms % 1000) * 1000000;
	}
	return at;
}

int deadman_make(struct deadman *d, struct fail *why)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = SIGKILL};

	d->alarm = timerfd_create(lease_clock, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->alarm < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot make a timer");
	if (timer_create(lease_clock, &event, &d->timer) < 0)
		return fail_sys(why, FAIL_INTERNAL,
				"cannot arm the deadman timer, and without it "
				"the command could outlive its lease "
				"(see ulimit -i)");
	d->made = 1;
	return 0;
}

void deadman_set(struct deadman *d, struct instant dead)
{
	const struct itimerspec at = once_at(dead);

	if (d->made)
		(void)timer_settime(d->timer, TIMER_ABSTIME, &at, NULL);
}

void alarm_set(struct deadman *d, struct instant look)
{
	const struct itimerspec at = once_at(look);

	if (d->alarm >= 0)
		(void)timerfd_settime(d->alarm, TFD_TIMER_ABSTIME, &at, NULL);
}
