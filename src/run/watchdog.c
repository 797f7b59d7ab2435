/* SPDX-License-Identifier: MIT */
/* The watchdog thread. */
#include "run/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "lock/timing.h"

/* Deep enough for the resolver's and the starter's buffers. */
#define STACK_BYTES ((size_t)256 * 1024)

void watchdog_init(struct watchdog *w, struct drive *d, struct deadman *dead,
		   int64_t grace_ms, pid_t guard)
{
	w->drive = d;
	w->deadman = dead;
	w->grace_ms = grace_ms;
	w->guard = guard;
	w->running = false;
	atomic_init(&w->stamp_ms, INT64_MIN);
}

/* The deadman first: what is published may be relied upon. */
void watchdog_publish(struct watchdog *w)
{
	const struct lease *l = &w->drive->lease;
	struct instant s;

	if (l->state != LEASE_HELD)
		return;
	s = lease_stamp(l);
	if (s.ms <= atomic_load(&w->stamp_ms))
		return;
	deadman_set(w->deadman, timing_dead(s, l->conf.ttl_ms));
	atomic_store(&w->stamp_ms, s.ms);
	alarm_set(w->deadman, timing_term(s, l->conf.ttl_ms, w->grace_ms));
	guard_wake(w->guard);
}

static void *watchdog_main(void *arg)
{
	struct watchdog *w = arg;
	struct lease *l = &w->drive->lease;
	struct pollfd stop = {.fd = w->stop[0], .events = POLLIN};
	bool told = false;

	while (l->state != LEASE_OVER) {
		drive_poll(w->drive, &stop, 1, NEVER);
		watchdog_publish(w);
		if (l->state == LEASE_LOST && !told) {
			told = true;
			(void)!write(w->news[1], "", 1);
		}
		if (stop.revents) {
			lease_release(l, now());
			deadman_set(w->deadman, NEVER); /* all are dead */
			stop.fd = -1;
			stop.revents = 0;
		}
	}
	close(w->news[1]);
	return NULL;
}

int watchdog_start(struct watchdog *w, struct fail *why)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rc;

	if (pipe2(w->stop, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot make a pipe");
	if (pipe2(w->news, O_CLOEXEC) < 0) {
		close(w->stop[0]);
		close(w->stop[1]);
		return fail_sys(why, FAIL_INTERNAL, "cannot make a pipe");
	}
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, &attr, watchdog_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	w->running = rc == 0;
	if (rc == 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		close(w->stop[i]);
		close(w->news[i]);
	}
	errno = rc;
	return fail_sys(why, FAIL_INTERNAL, "cannot start the watchdog thread");
}

struct instant watchdog_stamp(struct watchdog *w)
{
	return (struct instant){atomic_load(&w->stamp_ms)};
}

void watchdog_release(struct watchdog *w)
{
	(void)!write(w->stop[1], "", 1);
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
