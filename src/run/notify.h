/* SPDX-License-Identifier: MIT */
/*
 * The status of a systemd service: sends STATUS= to NOTIFY_SOCKET. READY= and
 * all else is left to the command.
 */
#ifndef RUN_NOTIFY_H
#define RUN_NOTIFY_H

#include "client/locks.h"

/* The value of NOTIFY_SOCKET, borrowed. With NULL, or an address that is not on
 * this machine, nothing is sent. */
void notify_use(const char *path);

/* These never wait, and ignore errors. The same place in line is sent once. */
void notify_waiting(const struct locks *l);
void notify_holding(const struct locks *l);

#endif
