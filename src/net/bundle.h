/* SPDX-License-Identifier: MIT */
/*
 * Several connections as one descriptor for poll(2): it is readable when one of
 * them has something to do. epoll_wait() says which.
 */
#ifndef NET_BUNDLE_H
#define NET_BUNDLE_H

#include "base/fail.h"

/* Returns the descriptor, which is the caller's; -1: see *why. */
int bundle_open(struct fail *why);

/* Call it after each step of a connection: its descriptor, or what it waits for
 * (as for poll(2)), may have changed. fd -1: nothing. `owner` is the data.ptr
 * of its events. A descriptor leaves the bundle when it is closed. */
void bundle_watch(int bundle, int fd, short events, void *owner);

#endif
