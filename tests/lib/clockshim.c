/* SPDX-License-Identifier: MIT */
/*
 * Clocks that can be set live: cc -shared -fPIC, LD_PRELOAD.
 *
 * CLOCKSHIM names a file of two numbers, "BOOT REAL": milliseconds to be added
 * to CLOCK_BOOTTIME and to CLOCK_REALTIME. Nothing else moves, as when a
 * machine is suspended (BOOT), or its date is set (REAL). The kernel's timers
 * on CLOCK_BOOTTIME are set anew when BOOT changes, so that those which came
 * due in the jump go off at once, as they do at a resume.
 *
 * "stand" instead of numbers stops CLOCK_BOOTTIME and its timers, as when a
 * virtual machine is paused, until there are numbers again.
 *
 * Works in the program CLOCKSHIM_IN (default: redlock), not in its command.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 16
#define LOOK_NS 2000000

struct armed {
	int used, is_fd, fd;
	timer_t timer;
	struct itimerspec at; /* as the program said it; all 0: disarmed */
};

static const char *file;
/* In memory that a fork shares: its clock is this one's. */
static struct {
	_Atomic long long boot_ms, real_ms;
	_Atomic long long stands_at, stood_ms; /* 0: it runs; in all, before */
} * shared;
#define boot_ms (shared->boot_ms)
#define real_ms (shared->real_ms)
#define stands_at (shared->stands_at)
#define stood_ms (shared->stood_ms)
static struct armed armed[TIMERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __typeof__(&clock_gettime) real_gettime;
static __typeof__(&timer_settime) real_settime;
static __typeof__(&timerfd_settime) real_fd_settime;

static long long ms_of(struct timespec t)
{
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void stand(int yes)
{
	struct timespec t;
	long long none = 0, since;

	(void)real_gettime(CLOCK_BOOTTIME, &t);
	if (yes) {
		(void)atomic_compare_exchange_strong(&stands_at, &none,
						     ms_of(t));
		return;
	}
	since = atomic_exchange(&stands_at, 0);
	if (since != 0)
		atomic_fetch_add(&stood_ms, ms_of(t) - since);
}

/* While the file is being written, the last known values hold. */
static void look(void)
{
	char text[64];
	long long boot, wall;
	int saved = errno;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0 && text[n - 1] == '\n') {
		text[n] = '\0';
		if (strncmp(text, "stand", 5) == 0) {
			stand(1);
		} else if (sscanf(text, "%lld %lld", &boot, &wall) == 2) {
			atomic_store(&boot_ms, boot);
			atomic_store(&real_ms, wall);
			stand(0);
		}
	}
	errno = saved;
}

static struct timespec shifted(struct timespec t, long long ms)
{
	long long ns = t.tv_nsec + ms % 1000 * 1000000;

	t.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
	ns %= 1000000000;
	if (ns < 0) {
		ns += 1000000000;
		t.tv_sec--;
	}
	t.tv_nsec = (long)ns;
	return t;
}

/* What is to be added to CLOCK_BOOTTIME, which is t. */
static long long offset_at(struct timespec t)
{
	long long since = atomic_load(&stands_at);

	return atomic_load(&boot_ms) - atomic_load(&stood_ms) -
	       (since != 0 ? ms_of(t) - since : 0);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc;

	if (!real_gettime)
		real_gettime = (__typeof__(real_gettime))dlsym(RTLD_NEXT,
							       "clock_gettime");
	rc = real_gettime(clock, t);
	if (rc < 0 || !file)
		return rc;
	look();
	if (clock == CLOCK_BOOTTIME)
		*t = shifted(*t, offset_at(*t));
	if (clock == CLOCK_REALTIME)
		*t = shifted(*t, atomic_load(&real_ms));
	return rc;
}

/* In the kernel's time. What is past already goes off at once. */
static void set(const struct armed *a)
{
	struct itimerspec at = a->at;

	if (atomic_load(&stands_at) != 0) {
		at = (struct itimerspec){{0, 0}, {0, 0}};
	} else if (at.it_value.tv_sec != 0 || at.it_value.tv_nsec != 0) {
		at.it_value =
			shifted(at.it_value,
				atomic_load(&stood_ms) - atomic_load(&boot_ms));
		if (at.it_value.tv_sec < 0)
			at.it_value = (struct timespec){0, 1};
	}
	if (a->is_fd)
		(void)real_fd_settime(a->fd, TFD_TIMER_ABSTIME, &at, NULL);
	else
		(void)real_settime(a->timer, TIMER_ABSTIME, &at, NULL);
}

static void remember(int is_fd, int fd, timer_t timer,
		     const struct itimerspec *at)
{
	struct armed *a = armed;

	pthread_mutex_lock(&lock);
	while (a < armed + TIMERS - 1 && a->used &&
	       (a->is_fd != is_fd || (is_fd ? a->fd != fd : a->timer != timer)))
		a++;
	*a = (struct armed){1, is_fd, fd, timer, *at};
	set(a);
	pthread_mutex_unlock(&lock);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *at,
		  struct itimerspec *old)
{
	if (!file || !(flags & TIMER_ABSTIME))
		return real_settime(timer, flags, at, old);
	remember(0, -1, timer, at);
	return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at,
		    struct itimerspec *old)
{
	if (!file || !(flags & TFD_TIMER_ABSTIME))
		return real_fd_settime(fd, flags, at, old);
	remember(1, fd, 0, at);
	return 0;
}

static void *follow(void *arg)
{
	const struct timespec step = {0, LOOK_NS};
	long long before = 0, seen;

	(void)arg;
	for (;;) {
		(void)nanosleep(&step, NULL);
		look();
		/* a stopped clock differs from each that runs */
		seen = atomic_load(&stands_at);
		if (seen == 0)
			seen = atomic_load(&stood_ms) - atomic_load(&boot_ms);
		if (seen == before)
			continue;
		before = seen;
		pthread_mutex_lock(&lock);
		for (int i = 0; i < TIMERS; i++)
			if (armed[i].used)
				set(&armed[i]);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	const char *in = getenv("CLOCKSHIM_IN");
	pthread_t thread;
	sigset_t all, old;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		_exit(96);
	real_gettime =
		(__typeof__(real_gettime))dlsym(RTLD_NEXT, "clock_gettime");
	real_settime =
		(__typeof__(real_settime))dlsym(RTLD_NEXT, "timer_settime");
	real_fd_settime = (__typeof__(real_fd_settime))dlsym(RTLD_NEXT,
							     "timerfd_settime");
	if (strcmp(program_invocation_short_name, in ? in : "redlock") != 0)
		return;
	file = getenv("CLOCKSHIM");
	if (!file)
		return;
	look();
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	(void)pthread_create(&thread, NULL, follow, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}
