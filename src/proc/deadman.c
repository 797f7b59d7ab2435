/* SPDX-License-Identifier: MIT */
/* The kernel deadman and the alarm. */
#include "proc/deadman.h"

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

static int signal_timer(timer_t *timer, int sig)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = sig};

	return timer_create(lease_clock, &event, timer);
}

int deadman_make(struct deadman *d, _Atomic int64_t *shared, int guards,
		 struct fail *why)
{
	d->shared = shared;
	d->guards = guards;
	atomic_init(&d->wake_ms, NEVER.ms);
	atomic_init(&d->bound_ms, NEVER.ms);
	d->alarm = alarm_make();
	if (d->alarm < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a timer");
	if (signal_timer(&d->timer, SIGKILL) < 0 ||
	    signal_timer(&d->waker, SIGCONT) < 0)
		return fail_sys(why, FAIL_INTERNAL,
				"cannot arm the deadman timer, and without it "
				"the command could outlive its lease "
				"(see ulimit -i)");
	d->made = 1;
	return 0;
}

static void set_killer(struct deadman *d)
{
	const struct instant dead = {atomic_load(d->shared)};
	const struct itimerspec at =
		once_at(atomic_load(&d->rests) ? NEVER : dead);

	(void)timer_settime(d->timer, TIMER_ABSTIME, &at, NULL);
}

/* Two threads may do this at the same time. Each sets the timer again until
 * neither value has changed, so the last call uses both. */
static void set_waker(struct deadman *d)
{
	int64_t wake, bound;

	do {
		struct itimerspec at;

		wake = atomic_load(&d->wake_ms);
		bound = atomic_load(&d->bound_ms);
		at = once_at(sooner((struct instant){wake},
				    (struct instant){bound}));
		(void)timer_settime(d->waker, TIMER_ABSTIME, &at, NULL);
	} while (atomic_load(&d->wake_ms) != wake ||
		 atomic_load(&d->bound_ms) != bound);
}

void deadman_set(struct deadman *d, struct instant wake, struct instant dead)
{
	int64_t known;

	if (!d->made)
		return;
	known = atomic_exchange(d->shared, dead.ms);
	set_killer(d);
	if (known != NEVER.ms && dead.ms < known)
		alarm_set(d->guards, dead);
	atomic_store(&d->wake_ms, wake.ms);
	set_waker(d);
}

void deadman_bound(struct deadman *d, struct instant bound)
{
	if (!d->made)
		return;
	atomic_store(&d->bound_ms, bound.ms);
	set_waker(d);
}

void deadman_rest(struct deadman *d, bool rest)
{
	if (!d->made)
		return;
	atomic_store(&d->rests, rest);
	set_killer(d);
}

int alarm_make(void)
{
	return timerfd_create(lease_clock, TFD_CLOEXEC | TFD_NONBLOCK);
}

void alarm_set(int alarm, struct instant look)
{
	const struct itimerspec at = once_at(look);

	if (alarm >= 0)
		(void)timerfd_settime(alarm, TFD_TIMER_ABSTIME, &at, NULL);
}
