/* SPDX-License-Identifier: MIT */
/*
 * Joins the lease (which decides) to the connections (which talk): sends the
 * lease's questions and brings it the nodes' answers. Belongs to one thread at
 * a time: the main thread until the command runs, then the watchdog.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <poll.h>

#include "client/report.h"
#include "client/state.h"

/* Asks nothing yet. *cl must be all zero (to clear it here would touch pages
 * that a single node never needs). It sets the seed in conf itself. `eps` and
 * `key` are borrowed. *cl lasts as long as the process. Returns -1 when out of
 * memory. */
int client_init(struct client *cl, const struct endpoint *eps, const char *key,
		size_t key_len, const struct holder *who,
		const struct lease_conf *conf, struct fail *why);

/* After the lease is over: starts again under a new token and waits up to
 * wait_ms. -1: out of memory. */
int client_again(struct client *cl, int64_t wait_ms);

/* Sets what the release adds to the history about the hold with this fence and
 * slot. */
void client_tell(struct client *cl, const struct history_entry *entry,
		 int64_t fence, int slot);

/* Sends every question that is due. Never waits. */
void client_send(struct client *cl);

/* For poll(2): client_watch() fills in the descriptors and returns their
 * number, client_fds() returns only the number, client_serve() handles the
 * events. */
int client_watch(const struct client *cl, struct pollfd fds[CLIENT_FDS_MAX]);
int client_fds(const struct client *cl);
void client_serve(struct client *cl, const struct pollfd fds[CLIENT_FDS_MAX]);

/* For a forked process whose parent has died: starts to release, over
 * connections of its own, what the parent may have held. `ran`: the command may
 * have run. */
void client_inherit(struct client *cl, bool ran);

/* Lists the descriptors that a forked process must close; returns their number.
 * They stay the client's. */
int client_sockets(const struct client *cl, int fds[CLIENT_SOCKETS_MAX]);

#endif
