/* SPDX-License-Identifier: MIT */
/* Several connections as one descriptor. */
#include "net/bundle.h"

#include <errno.h>
#include <sys/epoll.h>

int bundle_open(struct fail *why)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	return fd >= 0 ? fd
		       : fail_sys(why, FAIL_INTERNAL,
				  "cannot create an epoll instance");
}

void bundle_watch(int bundle, int fd, short events, void *owner)
{
	struct epoll_event e = {.events = (uint32_t)events, .data.ptr = owner};

	if (fd >= 0 && epoll_ctl(bundle, EPOLL_CTL_MOD, fd, &e) < 0 &&
	    errno == ENOENT)
		(void)epoll_ctl(bundle, EPOLL_CTL_ADD, fd, &e);
}
