/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the private server of local: is a process that calls itself
 * lockserver. The server is its only child. For the files see local/localdir.h.
 *
 * The keeper stops the server when nothing has used it for a while, and ends
 * with it. If the keeper is killed, the kernel kills the server as well. That
 * does no harm: the server answers only after a change is in its append-only
 * file, and the next client starts it again; no lock can tell the difference.
 * The file is not synced to disk, because it need not outlive the machine. It
 * is removed only when the server is stopped for being idle.
 */
#ifndef LOCAL_LOCKSERVER_H
#define LOCAL_LOCKSERVER_H

#include <stdbool.h>
#include <stdint.h>

#define START_MS 5000 /* the server answers within 12..33 ms as a rule */

/* Whether a server answers on the socket. */
bool lockserver_answers(const char *socket);

/* Becomes the keeper, and returns when the server has ended. When the server
 * answers, or has failed to, writes a struct fail to `ready` (of kind FAIL_NONE
 * if it answers), then closes `ready` and `lock`, the descriptor of
 * localdir_lock(). All other descriptors of the caller are closed at once. */
void lockserver_keep(const char *socket, int64_t idle_ms, int ready, int lock);

#endif
