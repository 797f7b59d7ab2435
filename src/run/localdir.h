/* SPDX-License-Identifier: MIT */
/*
 * The directory of local:, and what lies in it. It must be its user's own, and
 * closed to others.
 *
 *   redis.sock        the server's socket
 *   redis.new         the same, while the server is not ready yet
 *   redis.sock.idle   the same, while it is about to be stopped
 *   redis.sock.lock   flock()ed by who starts the server, or stops it
 *   aof.BOOT/         where the server runs: its append-only file. BOOT names
 *                     the start of the machine: what an earlier one has left
 *                     may have lost anything, and nobody who held a lock then
 *                     is alive
 *
 * The server itself holds a flock() on the directory for as long as it lives,
 * and not its keeper: so two servers never write one file, whatever was killed
 * and however the socket is called by then. It also tells systemd-tmpfiles(8)
 * to leave all this alone.
 */
#ifndef RUN_LOCALDIR_H
#define RUN_LOCALDIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "net/endpoint.h"

#define LOCAL_NEW "redis.new" /* not longer than LOCAL_SOCKET */
#define LOCAL_ASIDE LOCAL_SOCKET ".idle"
#define LOCAL_LOCK LOCAL_SOCKET ".lock"

/* Makes the directory that the socket is to be in, if need be. */
int localdir_make(const char *socket, struct fail *why);

/* Takes the lock of those who start and stop the server, of the directory that
 * the socket is in. Returns a descriptor to be closed, or -1 with errno. */
int localdir_lock(const char *socket, struct instant deadline);

/* Changes to the directory that the socket is in, and takes the lock that the
 * server is to hold: waits until a server that is about to end has ended.
 * Returns the descriptor. */
int localdir_enter(const char *socket, struct instant deadline,
		   struct fail *why);

/* ---- from within ---- */

#define LOCALDIR_AOF_MAX 48

/* Where the server is to run. Makes it, and removes what others have left. 1:
 * it was there already; -1: cannot make it, see errno. */
int localdir_aof(char name[LOCALDIR_AOF_MAX]);

/* How long its files are, together. */
int64_t localdir_length(const char *name);

/* Removes it, in one step for who finds it. */
void localdir_forget(const char *name);

#endif
