/* SPDX-License-Identifier: MIT */
/*
 * Moves the wall clock of one server while it runs.
 *
 * As a shared object (-shared -fPIC) in LD_PRELOAD: gettimeofday() and
 * clock_gettime(CLOCK_REALTIME) are off by the microseconds in the file
 * $WALLCLOCK, one int64_t, which is mapped, so that a change counts at once.
 * As a program, `wallclock FILE MS` writes that file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic(int64_t) *offset;

__attribute__((constructor)) static void map_offset(void)
{
	const char *name = getenv("WALLCLOCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		offset = at;
}

/* Not through libc: the allocator asks for the time before dlsym() works. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t us;

	if (syscall(SYS_clock_gettime, clock, t) != 0)
		return -1;
	if (!offset ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return 0;
	us = t->tv_nsec / 1000 + atomic_load(offset);
	t->tv_sec += us / 1000000;
	us %= 1000000;
	if (us < 0) {
		us += 1000000;
		t->tv_sec--;
	}
	t->tv_nsec = us * 1000 + t->tv_nsec % 1000;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t) != 0)
		return -1;
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

int main(int argc, char **argv)
{
	int64_t us;
	int fd;

	if (argc != 3)
		return 64;
	us = atoll(argv[2]) * 1000;
	/* in place: the server has this very file mapped */
	fd = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 || pwrite(fd, &us, sizeof(us), 0) != sizeof(us);
}
