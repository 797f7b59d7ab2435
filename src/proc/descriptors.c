/* SPDX-License-Identifier: MIT */
/* The open files of this process. */
#include "proc/title.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range /* headers before Linux 5.9 */
#define SYS_close_range 436
#endif

void descriptors_close(unsigned int first, unsigned int last)
{
	long most = sysconf(_SC_OPEN_MAX);

	/* glibc before 2.34, and kernels before 5.9, do not have it */
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && fd < (unsigned long)most;
	     fd++)
		(void)close((int)fd);
}
