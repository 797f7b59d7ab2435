/* SPDX-License-Identifier: MIT */
/*
 * local: the embedded default for one machine. A private redis-server (or
 * valkey-server) on a unix socket in a directory that only this user can
 * enter: $XDG_RUNTIME_DIR/redlock, else /tmp/redlock-UID.
 *
 * Started on demand by whoever finds nobody serving the socket, exactly one
 * however many come at once: redis.sock.lock is flock()ed from before the
 * second look until the server answers. A keeper process is the server's
 * parent; when no client is connected and no lock is held for `idle`, it
 * renames the socket away, looks again, and stops the server, all under the
 * same flock.
 */
#ifndef RUN_LOCAL_H
#define RUN_LOCAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* The socket's path; makes the directory. `runtime_dir` is XDG_RUNTIME_DIR or
 * NULL. Refuses a directory that others own or can enter. */
int local_path(const char *runtime_dir, char *path, size_t size,
	       struct fail *why);

/* Returns when a server answers on the socket, ours or another's. */
int local_start(const char *path, int64_t idle_ms, struct fail *why);

#endif
