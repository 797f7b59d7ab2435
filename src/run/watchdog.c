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

void watchdog_init(struct watchdog *dog, struct locks *l, struct deadman *dead,
		   int64_t grace_ms, pid_t guard)
{
	dog->locks = l;
	dog->deadman = dead;
	dog->grace_ms = grace_ms;
	dog->guard = guard;
	dog->running = false;
	dog->entry = (struct history_entry){0};
	atomic_init(&dog->credited_ms, INT64_MIN);
	atomic_init(&dog->spent, false);
	atomic_init(&dog->awaited, false);
	atomic_init(&dog->early_ms, 0);
	atomic_init(&dog->stop_by_ms, NEVER.ms);
	dog->stop_kill = dog->stop_dead = NEVER;
	dog->size = 0;
	dog->machine = 0;
	dog->count = LONG_AGO;
	dog->large = 0;
	dog->told_large = false;
}

static struct instant kill_at(const struct watchdog *dog, struct instant s)
{
	return after(timing_kill(s, dog->locks->ttl_ms),
		     -atomic_load(&dog->early_ms));
}

/* TERM comes the whole grace before KILL. But not before an outage has lasted
 * as long as any command must survive, unless -K asks for it: a large tree has
 * less time then, or none. */
static struct instant term_at(const struct watchdog *dog, struct instant s)
{
	int64_t ttl = dog->locks->ttl_ms;

	return sooner(timing_term(s, ttl, dog->grace_ms),
		      later(after(kill_at(dog, s), -dog->grace_ms),
			    timing_term(s, ttl, timing_grace(ttl))));
}

/* A lease that is no longer renewed ends when its TERM is due. */
static void set_timers(struct watchdog *dog, struct instant s)
{
	int64_t ttl = dog->locks->ttl_ms;
	struct instant dead =
		after(timing_dead(s, ttl), -atomic_load(&dog->early_ms));
	bool spent = atomic_load(&dog->spent);

	deadman_set(dog->deadman,
		    sooner(spent ? term_at(dog, s) : kill_at(dog, s),
			   dog->stop_kill),
		    sooner(dead, dog->stop_dead));
}

/* Between KILL and the end of the lease, if the clocks differ as much as they
 * may: see timing.h. */
static int64_t spare(int64_t ttl)
{
	return ttl * 45 / 1000;
}

/* KILL when TERM is due by default, s + 0.65 T, at the earliest: a tree for
 * which that is too late is too large for T. */
static int64_t early_most(int64_t ttl)
{
	return timing_grace(ttl);
}

static void tell_too_large(struct watchdog *dog, int64_t need)
{
	char ttl[32], time[32], enough[32];
	int64_t least = (need / 195 + 1) * 1000; /* spare() and early_most() */

	if (dog->told_large)
		return;
	dog->told_large = true;
	log_error("large-tree",
		  "%d processes may take %s to die, too long for a lease of "
		  "%s; -t %s would be enough",
		  dog->size, format_duration(need, time, sizeof(time)),
		  format_duration(dog->locks->ttl_ms, ttl, sizeof(ttl)),
		  format_duration(least, enough, sizeof(enough)));
}

/* Whether the tree may have grown, or was not looked at for long. */
static bool must_count(struct watchdog *dog)
{
	struct sysinfo info;
	long machine = sysinfo(&info) == 0 ? (long)info.procs : dog->machine;
	bool moved = labs(machine - dog->machine) > dog->size / 8;

	if (!moved && before(now(), dog->count))
		return false;
	dog->machine = machine;
	return true;
}

/* The larger the tree, the earlier its kill. Counted right after a renewal,
 * when nothing else is due, and not up to the next one. */
static void allow_for_size(struct watchdog *dog, struct instant s)
{
	int64_t ttl = dog->locks->ttl_ms, took, need, early;
	struct instant began = now(), due = timing_renew(s, ttl), by;

	if (!must_count(dog))
		return;
	by = after(began, between(began, due) / 2);
	dog->size = tree_count(dog->guard, by);
	took = between(began, now());
	dog->count = after(now(), took * COUNT_SHARE);
	need = (int64_t)dog->size * DEATH_MOST_MS;
	if (before(now(), by) && took * COUNTS_PER_KILL < need)
		need = took * COUNTS_PER_KILL;
	early = need > spare(ttl) ? need - spare(ttl) : 0;
	if (early > early_most(ttl)) {
		early = early_most(ttl);
		/* a machine that forks is slow, and there may be more soon */
		if (dog->size <= dog->large + dog->large / 8)
			tell_too_large(dog, need);
		else
			dog->count = LONG_AGO;
		dog->large = dog->size;
	} else {
		dog->large = 0;
	}
	if (early == atomic_exchange(&dog->early_ms, early))
		return;
	set_timers(dog, s);
	alarm_set(dog->deadman->alarm, term_at(dog, s));
}

/* Arms the deadman first: others rely on what is published. */
static void publish_lease(struct watchdog *dog)
{
	bool first = atomic_load(&dog->credited_ms) == INT64_MIN;
	struct instant s;

	if (!locks_held(dog->locks))
		return;
	s = locks_credited_at(dog->locks);
	if (s.ms <= atomic_load(&dog->credited_ms))
		return;
	/* The time to kill passed before this renewal came: a process that was
	 * suspended must not go on as if nothing had happened. The alarm will
	 * go off. */
	if (!first && !before(now(), watchdog_kill(dog)))
		return;
	atomic_store(&dog->spent, locks_spent(dog->locks));
	set_timers(dog, s);
	atomic_store(&dog->credited_ms, s.ms);
	alarm_set(dog->deadman->alarm, term_at(dog, s));
	if (first)
		return;
	guard_wake(dog->guard);
	allow_for_size(dog, s);
}

/* The same when somebody asks us to stop, or to stop sooner. */
static void publish_stop(struct watchdog *dog)
{
	const struct client *d = locks_stopped(dog->locks);
	int64_t known = atomic_load(&dog->stop_by_ms);

	if (!d || d->lease.stop_by.ms >= known)
		return;
	if (known == NEVER.ms)
		dog->asker = d->sight;
	dog->stop_dead = later(d->lease.stop_dead, after(now(), STOP_LEAST_MS));
	dog->stop_kill = d->lease.stop_by;
	set_timers(dog, watchdog_credited_at(dog));
	atomic_store(&dog->stop_by_ms, d->lease.stop_by.ms);
}

void watchdog_publish(struct watchdog *dog)
{
	publish_lease(dog);
	publish_stop(dog);
}

static void tell(struct watchdog *dog, enum watchdog_news news)
{
	const char byte = (char)news;

	(void)!write(dog->news[1], &byte, 1);
}

#define LEAVE 255 /* in place of how it ended */

static void *watchdog_main(void *arg)
{
	struct watchdog *dog = arg;
	struct pollfd stop = {.fd = dog->stop[0], .events = POLLIN};
	unsigned char how = 0;
	bool told = false;

	while (!locks_over(dog->locks)) {
		int64_t stop_by = atomic_load(&dog->stop_by_ms);
		int64_t credited = atomic_load(&dog->credited_ms);

		locks_poll(dog->locks, &stop, 1, NEVER);
		watchdog_publish(dog);
		if (atomic_load(&dog->credited_ms) != credited &&
		    atomic_load(&dog->awaited))
			tell(dog, NEWS_RENEWED);
		if (atomic_load(&dog->stop_by_ms) != stop_by)
			tell(dog, NEWS_STOP);
		if (locks_lost(dog->locks) && !told) {
			told = true;
			tell(dog, locks_unlocked(dog->locks) ? NEWS_UNLOCKED
							     : NEWS_LOST);
		}
		if (stop.revents) {
			(void)!read(stop.fd, &how, 1);
			if (how == LEAVE)
				break;
			locks_release(dog->locks, how,
				      dog->entry.outcome ? &dog->entry : NULL);
			/* all are dead */
			deadman_set(dog->deadman, NEVER, NEVER);
			stop.fd = -1;
			stop.revents = 0;
		}
	}
	deadman_set(dog->deadman, NEVER, NEVER);
	close(dog->news[1]);
	return NULL;
}

int watchdog_start(struct watchdog *dog, struct fail *why)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	if (pipe2(dog->stop, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	if (pipe2(dog->news, O_CLOEXEC) < 0) {
		close(dog->stop[0]);
		close(dog->stop[1]);
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	}
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&dog->thread, &attr, watchdog_main, dog);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	dog->running = rc == 0;
	/* a holder must not wait for a swap disk; if the limit is too low, it
	 * has to. Done here, so that a short command does not pay for it. */
	(void)mlockall(MCL_CURRENT | MCL_ONFAULT);
	if (rc == 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		close(dog->stop[i]);
		close(dog->news[i]);
	}
	errno = rc;
	return fail_sys(why, FAIL_INTERNAL, "cannot start the watchdog thread");
}

struct instant watchdog_credited_at(struct watchdog *dog)
{
	return (struct instant){atomic_load(&dog->credited_ms)};
}

struct instant watchdog_term(struct watchdog *dog)
{
	return term_at(dog, watchdog_credited_at(dog));
}

struct instant watchdog_kill(struct watchdog *dog)
{
	return kill_at(dog, watchdog_credited_at(dog));
}

bool watchdog_spent(struct watchdog *dog)
{
	return atomic_load(&dog->spent);
}

void watchdog_await(struct watchdog *dog, bool awaited)
{
	atomic_store(&dog->awaited, awaited);
}

struct instant watchdog_stop(struct watchdog *dog, const struct sight **asker)
{
	*asker = &dog->asker;
	return (struct instant){atomic_load(&dog->stop_by_ms)};
}

void watchdog_release(struct watchdog *dog, unsigned int how,
		      const struct history_entry *entry)
{
	const unsigned char byte = (unsigned char)how;

	if (entry)
		dog->entry = *entry;
	(void)!write(dog->stop[1], &byte, 1);
}

void watchdog_leave(struct watchdog *dog)
{
	const unsigned char byte = LEAVE;

	(void)!write(dog->stop[1], &byte, 1);
}

bool watchdog_join(struct watchdog *dog, struct instant deadline)
{
	struct pollfd news = {.fd = dog->news[0], .events = POLLIN};
	char byte;

	while (dog->running) {
		if (poll(&news, 1, poll_ms(deadline, now())) == 0)
			return false;
		if (news.revents && read(dog->news[0], &byte, 1) == 0) {
			(void)pthread_join(dog->thread, NULL);
			dog->running = false;
		}
	}
	return true;
}
