/* SPDX-License-Identifier: MIT */
/* The kernel deadman and the alarm. */
#include "proc/deadman.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define WAKE_MS 50
#define LATER 3 /* times as late as the one before */

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

int waker_make(struct waker *w, int number)
{
	while (w->made < number &&
	       signal_timer(&w->timer[w->made], SIGCONT) == 0)
		w->made++;
	return w->made > 0 ? 0 : -1;
}

void waker_set(struct waker *w, struct instant from)
{
	int64_t later = 0, again = WAKE_MS;

	for (int i = 0; i < w->made; i++) {
		struct itimerspec at = once_at(
			from.ms == NEVER.ms ? NEVER : after(from, later));

		at.it_interval.tv_sec = (time_t)(again / 1000);
		at.it_interval.tv_nsec = (long)(again % 1000) * 1000000;
		(void)timer_settime(w->timer[i], TIMER_ABSTIME, &at, NULL);
		if (later > 0)
			again *= LATER;
		later = again;
	}
}

/* The kernel sets a signal aside for each timer, and counts these, and those
 * that wait to be delivered, for all processes of a user. */
int deadman_fail(struct fail *why)
{
	struct rlimit most = {0, 0};

	if (errno != EAGAIN)
		return fail_sys(why, FAIL_INTERNAL,
				"cannot arm the deadman timer");
	(void)getrlimit(RLIMIT_SIGPENDING, &most);
	return fail(why, FAIL_INTERNAL,
		    "cannot arm the deadman timer, and without it the command "
		    "could outlive its lease: user %d has as many signals "
		    "queued as its limit allows, %llu (ulimit -i); a process "
		    "of this user is flooded with signals, or the limit is too "
		    "low",
		    (int)getuid(), (unsigned long long)most.rlim_cur);
}

int deadman_make(struct deadman *d, _Atomic int64_t *shared, int guards,
		 int64_t after_ms, struct fail *why)
{
	d->shared = shared;
	d->guards = guards;
	d->after_ms = after_ms;
	atomic_init(&d->wake_ms, NEVER.ms);
	atomic_init(&d->bound_ms, NEVER.ms);
	d->alarm = alarm_make();
	if (d->alarm < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a timer");
	if (signal_timer(&d->timer, SIGKILL) < 0 ||
	    waker_make(&d->waker, 1) < 0)
		return deadman_fail(why);
	d->made = true;
	return 0;
}

static void set_killer(struct deadman *d)
{
	const struct instant dead = {atomic_load(d->shared)};
	const struct itimerspec at =
		once_at(atomic_load(&d->rests) || dead.ms == NEVER.ms
				? NEVER
				: after(dead, d->after_ms));

	(void)timer_settime(d->timer, TIMER_ABSTIME, &at, NULL);
}

/* Two threads may do this at the same time. Each sets the timer again until
 * neither value has changed, so the last call uses both. */
static void set_waker(struct deadman *d)
{
	int64_t wake, bound;

	do {
		wake = atomic_load(&d->wake_ms);
		bound = atomic_load(&d->bound_ms);
		waker_set(&d->waker, sooner((struct instant){wake},
					    (struct instant){bound}));
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

void deadman_woken(struct deadman *d, struct instant wake)
{
	if (!d->made)
		return;
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
