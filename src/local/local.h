/* SPDX-License-Identifier: MIT */
/*
 * local: the embedded default for one machine. A private redis-server (or
 * valkey-server, or redict-server) on a unix socket in a directory that only
 * this user can enter: /tmp/redlock-UID, where UID is the effective one, or the
 * one that ?dir= names. It depends on no environment variable, so a cron job, a
 * service and a shell share one server.
 *
 * It is started on demand by a client that finds nobody serving the socket. If
 * many come at once, exactly one starts it: redis.sock.lock is flock()ed from
 * before the second look until the server answers. A keeper process
 * (local/lockserver.c) is the server's parent. When no client is connected and
 * no lock is held for `idle`, it renames the socket away, looks again, and
 * stops the server, all under the same flock.
 */
#ifndef LOCAL_LOCAL_H
#define LOCAL_LOCAL_H

#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "net/endpoint.h"

/* Fills in the socket's path and makes the directory. Refuses a directory that
 * others own or can enter. */
int local_path(struct endpoint *ep, struct fail *why);

/* Returns 0 when a server answers on the socket, ours or another's. Blocks
 * until then, or until `by`. (The keeper gives up after five seconds, and a
 * start by another client is awaited for as long.) */
int local_start(const char *path, int64_t idle_ms, struct instant by,
		struct fail *why);

#endif
