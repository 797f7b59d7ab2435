/* SPDX-License-Identifier: MIT */
/* The watchdog thread. */
#include "run/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lock/core/timing.h"

/* Deep enough for the resolver's and the starter's buffers. */
#define STACK_BYTES ((size_t)256 * 1024)
/* time to end by itself when asked to stop at once */
#define STOP_LEAST_MS 50

void watchdog_init(struct watchdog *w, struct locks *l, struct deadman *dead,
		   int64_t grace_ms, pid_t guard)
{
	w->locks = l;
	w->deadman = dead;
	w->grace_ms = grace_ms;
	w->guard = guard;
	w->running = false;
	w->entry = (struct history_entry){0};
	atomic_init(&w->credited_ms, INT64_MIN);
	atomic_init(&w->spent, false);
	atomic_init(&w->stop_by_ms, NEVER.ms);
	w->stop_kill = w->stop_dead = NEVER;
}

/* What was renewed for the last time is to end when its TERM is due. */
static void set_deadman(struct watchdog *w, struct instant s)
{
	int64_t ttl = w->locks->ttl_ms;
	struct instant end = atomic_load(&w->spent)
				     ? timing_term(s, ttl, w->grace_ms)
				     : timing_kill(s, ttl);

	deadman_set(w->deadman, sooner(end, w->stop_kill),
		    sooner(timing_dead(s, ttl), w->stop_dead));
}

/* Arms the deadman first: others rely on what is published. */
static void publish_lease(struct watchdog *w)
{
	int64_t ttl = w->locks->ttl_ms;
	struct instant s;

	if (!locks_held(w->locks))
		return;
	s = locks_credited_at(w->locks);
	if (s.ms <= atomic_load(&w->credited_ms))
		return;
	/* The time to kill passed before this renewal came: a process that was
	 * suspended must not go on as if nothing had happened. The alarm will
	 * go off. */
	if (!before(now(), timing_kill(watchdog_credited_at(w), ttl)) &&
	    atomic_load(&w->credited_ms) != INT64_MIN)
		return;
	atomic_store(&w->spent, locks_spent(w->locks));
	set_deadman(w, s);
	atomic_store(&w->credited_ms, s.ms);
	alarm_set(w->deadman->alarm, timing_term(s, ttl, w->grace_ms));
	guard_wake(w->guard);
}

/* The same when somebody asks us to stop, or to stop sooner. */
static void publish_stop(struct watchdog *w)
{
	const struct client *d = locks_stopped(w->locks);
	int64_t known = atomic_load(&w->stop_by_ms);

	if (!d || d->lease.stop_by.ms >= known)
		return;
	if (known == NEVER.ms)
		w->asker = d->sight;
	w->stop_dead = later(d->lease.stop_dead, after(now(), STOP_LEAST_MS));
	w->stop_kill = d->lease.stop_by;
	set_deadman(w, watchdog_credited_at(w));
	atomic_store(&w->stop_by_ms, d->lease.stop_by.ms);
}

void watchdog_publish(struct watchdog *w)
{
	publish_lease(w);
	publish_stop(w);
}

static void tell(struct watchdog *w, enum watchdog_news news)
{
	const char byte = (char)news;

	(void)!write(w->news[1], &byte, 1);
}

#define LEAVE 255 /* in place of how it ended */

static void *watchdog_main(void *arg)
{
	struct watchdog *w = arg;
	struct pollfd stop = {.fd = w->stop[0], .events = POLLIN};
	unsigned char how = 0;
	bool told = false;

	while (!locks_over(w->locks)) {
		int64_t stop_by = atomic_load(&w->stop_by_ms);

		locks_poll(w->locks, &stop, 1, NEVER);
		watchdog_publish(w);
		if (atomic_load(&w->stop_by_ms) != stop_by)
			tell(w, NEWS_STOP);
		if (locks_lost(w->locks) && !told) {
			told = true;
			tell(w, locks_unlocked(w->locks) ? NEWS_UNLOCKED
							 : NEWS_LOST);
		}
		if (stop.revents) {
			(void)!read(stop.fd, &how, 1);
			if (how == LEAVE)
				break;
			locks_release(w->locks, how,
				      w->entry.outcome ? &w->entry : NULL);
			/* all are dead */
			deadman_set(w->deadman, NEVER, NEVER);
			stop.fd = -1;
			stop.revents = 0;
		}
	}
	deadman_set(w->deadman, NEVER, NEVER);
	close(w->news[1]);
	return NULL;
}

int watchdog_start(struct watchdog *w, struct fail *why)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	if (pipe2(w->stop, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	if (pipe2(w->news, O_CLOEXEC) < 0) {
		close(w->stop[0]);
		close(w->stop[1]);
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	}
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, &attr, watchdog_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	w->running = rc == 0;
	/* a holder must not wait for a swap disk; if the limit is too low, it
	 * has to. Done here, so that a short command does not pay for it. */
	(void)mlockall(MCL_CURRENT | MCL_ONFAULT);
	if (rc == 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		close(w->stop[i]);
		close(w->news[i]);
	}
	errno = rc;
	return fail_sys(why, FAIL_INTERNAL, "cannot start the watchdog thread");
}

struct instant watchdog_credited_at(struct watchdog *w)
{
	return (struct instant){atomic_load(&w->credited_ms)};
}

bool watchdog_spent(struct watchdog *w)
{
	return atomic_load(&w->spent);
}

struct instant watchdog_stop(struct watchdog *w, const struct sight **asker)
{
	*asker = &w->asker;
	return (struct instant){atomic_load(&w->stop_by_ms)};
}

void watchdog_release(struct watchdog *w, unsigned int how,
		      const struct history_entry *entry)
{
	const unsigned char byte = (unsigned char)how;

	if (entry)
		w->entry = *entry;
	(void)!write(w->stop[1], &byte, 1);
}

void watchdog_leave(struct watchdog *w)
{
	const unsigned char byte = LEAVE;

	(void)!write(w->stop[1], &byte, 1);
}

bool watchdog_join(struct watchdog *w, struct instant deadline)
{
	struct pollfd news = {.fd = w->news[0], .events = POLLIN};
	char byte;

	while (w->running) {
		if (poll(&news, 1, poll_ms(deadline, now())) == 0)
			return false;
		if (news.revents && read(w->news[0], &byte, 1) == 0) {
			(void)pthread_join(w->thread, NULL);
			w->running = false;
		}
	}
	return true;
}
