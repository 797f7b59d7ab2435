/* SPDX-License-Identifier: MIT */
/*
 * What systemd shows as the status of the service: STATUS= to the socket of
 * NOTIFY_SOCKET. Only what is said is new; READY= and the rest are the
 * command's.
 */
#ifndef RUN_NOTIFY_H
#define RUN_NOTIFY_H

#include "client/locks.h"

/* The value of NOTIFY_SOCKET, borrowed; NULL or what is no socket of this
 * machine: nothing will be said. */
void notify_use(const char *path);

/* These never wait, and a fault is nobody's concern. place 0: not known. The
 * same place is said once. */
void notify_waiting(const struct locks *l);
void notify_holding(const struct locks *l);

#endif
