/* SPDX-License-Identifier: MIT */
/*
 * The keeper of the private server of local:, a process that calls itself
 * lockserver, and the server, its only child. What is on disk: run/localdir.h.
 *
 * The keeper stops the server when nothing has used it for a while, and ends
 * with it. Should the keeper be killed, the kernel kills the server as well.
 * That harms nobody, for the server answers nothing that is not yet in its
 * append-only file, and whoever misses it starts it again: it is then the same
 * server, as far as any lock can tell. The file is not written to disk by
 * force, because it need not outlive the machine. Only a server that is stopped
 * because nothing uses it is forgotten.
 */
#ifndef RUN_LOCKSERVER_H
#define RUN_LOCKSERVER_H

#include <stdbool.h>
#include <stdint.h>

#define START_MS 5000 /* the server answers within 12..33 ms as a rule */

/* Whether a server answers on the socket. */
bool lockserver_answers(const char *socket);

/* Becomes the keeper, and returns when the server has ended. Writes a struct
 * fail to `ready` when the server answers (its kind is FAIL_NONE then), or does
 * not; and closes `lock`, that of localdir_lock(). Nothing else of the caller's
 * stays open. */
void lockserver_keep(const char *socket, int64_t idle_ms, int ready, int lock);

#endif
