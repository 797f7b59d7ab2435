/* SPDX-License-Identifier: MIT */
/* The watchdog thread. */
#include "run/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "lock/core/timing.h"
#include "proc/tree.h"

/* Room for the buffers of requests and replies, and of what starts the server
 * of local:. */
#define STACK_BYTES ((size_t)256 * 1024)
/* time to end by itself when asked to stop at once */
#define STOP_LEAST_MS 50

/* 1000 to 16000 processes died in 4 to 6 times the time that it took to count
 * them; beside eight busy ones, in 2 to 10 times. They never took 1 ms each. */
#define COUNTS_PER_KILL 6
#define DEATH_MOST_MS 1
#define COUNT_SHARE 100 /* counting takes at most this part of the time */

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
	atomic_init(&w->awaited, false);
	atomic_init(&w->early_ms, 0);
	atomic_init(&w->stop_by_ms, NEVER.ms);
	w->stop_kill = w->stop_dead = NEVER;
	w->size = 0;
	w->machine = 0;
	w->count = LONG_AGO;
	w->large = 0;
	w->told_large = false;
}

static struct instant kill_at(const struct watchdog *w, struct instant s)
{
	return after(timing_kill(s, w->locks->ttl_ms),
		     -atomic_load(&w->early_ms));
}

/* TERM comes the whole grace before KILL, but not before a renewal had its
 * chance. */
static struct instant term_at(const struct watchdog *w, struct instant s)
{
	int64_t ttl = w->locks->ttl_ms;

	return sooner(timing_term(s, ttl, w->grace_ms),
		      later(after(kill_at(w, s), -w->grace_ms),
			    timing_start(s, ttl)));
}

/* A lease that is no longer renewed ends when its TERM is due. */
static void set_timers(struct watchdog *w, struct instant s)
{
	int64_t ttl = w->locks->ttl_ms;
	struct instant dead =
		after(timing_dead(s, ttl), -atomic_load(&w->early_ms));
	bool spent = atomic_load(&w->spent);

	deadman_set(w->deadman,
		    sooner(spent ? term_at(w, s) : kill_at(w, s), w->stop_kill),
		    sooner(dead, w->stop_dead));
}

/* Between KILL and the end of the lease, if the clocks differ as much as they
 * may: see timing.h. */
static int64_t spare(int64_t ttl)
{
	return ttl * 45 / 1000;
}

/* KILL at s + 0.60 T at the earliest: a tree for which that is too late is too
 * large for T. */
static int64_t early_most(int64_t ttl)
{
	return ttl / 5;
}

static void tell_too_large(struct watchdog *w, int64_t need)
{
	char ttl[32], time[32], enough[32];
	int64_t least = (need / 245 + 1) * 1000; /* spare() and early_most() */

	if (w->told_large)
		return;
	w->told_large = true;
	log_error("large-tree",
		  "%d processes may take %s to die, too long for a lease of "
		  "%s; -t %s would be enough",
		  w->size, format_duration(need, time, sizeof(time)),
		  format_duration(w->locks->ttl_ms, ttl, sizeof(ttl)),
		  format_duration(least, enough, sizeof(enough)));
}

/* Whether the tree may have grown, or was not looked at for long. */
static bool must_count(struct watchdog *w)
{
	struct sysinfo info;
	long machine = sysinfo(&info) == 0 ? (long)info.procs : w->machine;
	bool moved = labs(machine - w->machine) > w->size / 8;

	if (!moved && before(now(), w->count))
		return false;
	w->machine = machine;
	return true;
}

/* The larger the tree, the earlier its kill. Counted right after a renewal,
 * when nothing else is due, and not up to the next one. */
static void allow_for_size(struct watchdog *w, struct instant s)
{
	int64_t ttl = w->locks->ttl_ms, took, need, early;
	struct instant began = now(), due = timing_renew(s, ttl), by;

	if (!must_count(w))
		return;
	by = after(began, between(began, due) / 2);
	w->size = tree_count(w->guard, by);
	took = between(began, now());
	w->count = after(now(), took * COUNT_SHARE);
	need = (int64_t)w->size * DEATH_MOST_MS;
	if (before(now(), by) && took * COUNTS_PER_KILL < need)
		need = took * COUNTS_PER_KILL;
	early = need > spare(ttl) ? need - spare(ttl) : 0;
	if (early > early_most(ttl)) {
		early = early_most(ttl);
		/* a machine that forks is slow, and there may be more soon */
		if (w->size <= w->large + w->large / 8)
			tell_too_large(w, need);
		else
			w->count = LONG_AGO;
		w->large = w->size;
	} else {
		w->large = 0;
	}
	if (early == atomic_exchange(&w->early_ms, early))
		return;
	set_timers(w, s);
	alarm_set(w->deadman->alarm, term_at(w, s));
}

/* Arms the deadman first: others rely on what is published. */
static void publish_lease(struct watchdog *w)
{
	bool first = atomic_load(&w->credited_ms) == INT64_MIN;
	struct instant s;

	if (!locks_held(w->locks))
		return;
	s = locks_credited_at(w->locks);
	if (s.ms <= atomic_load(&w->credited_ms))
		return;
	/* The time to kill passed before this renewal came: a process that was
	 * suspended must not go on as if nothing had happened. The alarm will
	 * go off. */
	if (!first && !before(now(), watchdog_kill(w)))
		return;
	atomic_store(&w->spent, locks_spent(w->locks));
	set_timers(w, s);
	atomic_store(&w->credited_ms, s.ms);
	alarm_set(w->deadman->alarm, term_at(w, s));
	guard_wake(w->guard);
	if (!first)
		allow_for_size(w, s);
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
	set_timers(w, watchdog_credited_at(w));
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
		int64_t credited = atomic_load(&w->credited_ms);

		locks_poll(w->locks, &stop, 1, NEVER);
		watchdog_publish(w);
		if (atomic_load(&w->credited_ms) != credited &&
		    atomic_load(&w->awaited))
			tell(w, NEWS_RENEWED);
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

struct instant watchdog_term(struct watchdog *w)
{
	return term_at(w, watchdog_credited_at(w));
}

struct instant watchdog_kill(struct watchdog *w)
{
	return kill_at(w, watchdog_credited_at(w));
}

bool watchdog_spent(struct watchdog *w)
{
	return atomic_load(&w->spent);
}

void watchdog_await(struct watchdog *w, bool awaited)
{
	atomic_store(&w->awaited, awaited);
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
