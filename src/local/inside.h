/* SPDX-License-Identifier: MIT */
/* What the files of local/ share among themselves. */
#ifndef LOCAL_INSIDE_H
#define LOCAL_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "net/endpoint.h"

/* ---- localdir.c ----
 *
 * The directory of local: and the files in it. It must belong to its user and
 * be closed to others.
 *
 *   redis.sock        the server's socket
 *   redis.new         the same, until the server is ready
 *   redis.sock.idle   the same, when the server is about to be stopped
 *   redis.sock.lock   flock()ed to start or to stop the server
 *   aof.BOOT/         where the server runs: its append-only file. BOOT names
 *                     the start of the machine. The file of an earlier start
 *                     may have lost anything, and no holder of that time is
 *                     alive
 *
 * The server itself, not its keeper, holds a flock() on the directory as long
 * as it lives. So two servers never write to one file, whatever was killed and
 * whatever the socket is called by then. The flock() also makes
 * systemd-tmpfiles(8) leave the directory alone.
 */

#define LOCAL_NEW "redis.new" /* not longer than LOCAL_SOCKET */
#define LOCAL_RENAMED LOCAL_SOCKET ".idle"

/* Makes the socket's directory if need be. */
int localdir_make(const char *socket, struct fail *why);

/* Takes the flock() for starting and stopping the server in the socket's
 * directory; waits for it until the deadline. Returns a descriptor that the
 * caller closes, or -1 with errno set. */
int localdir_lock(const char *socket, struct instant deadline);

/* Changes to the socket's directory and takes the flock() that the server is to
 * hold; waits for a server that is about to end. Returns the descriptor, which
 * is the caller's, or -1 with *why set. */
int localdir_enter(const char *socket, struct instant deadline,
		   struct fail *why);

/* ---- inside the directory ---- */

#define LOCALDIR_AOF_MAX 48

/* Names and makes the directory in which the server runs, and removes those of
 * earlier starts. Returns 1: it existed; 0: it is new; -1 with errno set. */
int localdir_aof(char name[LOCALDIR_AOF_MAX]);

/* The total length of its files, in bytes, but for the list of them. */
int64_t localdir_length(const char *name);

/* Removes it. Others see it disappear in one step. */
void localdir_forget(const char *name);

/* ---- lockserver.c ----
 *
 * The keeper of the private server of local: is a process that calls itself
 * lockserver. The server is its only child. For the files see above.
 *
 * The keeper stops the server when nothing has used it for a while, and ends
 * with it. If the keeper is killed, the kernel kills the server as well. That
 * does no harm: the server answers only after a change is in its append-only
 * file, and the next client starts it again; no lock can tell the difference.
 * The file is not synced to disk, because it need not outlive the machine. It
 * is removed only when the server is stopped for being idle.
 */

#define START_MS 5000 /* the server answers within 12..33 ms as a rule */

/* Whether a server answers on the socket. */
bool lockserver_answers(const char *socket);

/* Becomes the keeper, and returns when the server has ended. When the server
 * answers, or has failed to, writes a struct fail to `ready` (of kind FAIL_NONE
 * if it answers), then closes `ready` and `lock`, the descriptor of
 * localdir_lock(). All other descriptors of the caller are closed at once. */
void lockserver_keep(const char *socket, int64_t idle_ms, int ready, int lock);

#endif
