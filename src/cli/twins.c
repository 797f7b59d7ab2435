/* SPDX-License-Identifier: MIT */
/* One server, named twice. */
#include "cli/twins.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "net/address.h"

#define LIMIT_MS 1000
#define ALL_MAX ((size_t)NODES_MAX * PLACES_MAX)

/* A server of the list, one of its Sentinels, or a node of its Cluster. */
struct spot {
	const struct endpoint *ep;
	const struct place *at;
	struct address address; /* n == 0: not known */
	struct lookup *lookup;
};

static void find(struct spot *spot)
{
	if (!address_fixed(&spot->address, spot->ep, spot->at))
		spot->lookup = lookup_start(spot->at);
}

static int find_all(const struct servers *s, struct spot all[ALL_MAX])
{
	int n = 0;

	for (int i = 0; i < s->n; i++) {
		const struct endpoint *ep = &s->endpoint[i];
		int places = ep->places > 0 ? ep->places : 1;

		for (int k = 0; k < places; k++, n++) {
			all[n] = (struct spot){.ep = ep, .at = &ep->at[k]};
			find(&all[n]);
		}
	}
	return n;
}

static void take_found(struct spot *spot, bool ready)
{
	struct fail why;

	if (!spot->lookup || !ready)
		return;
	/* (a name that cannot be resolved cannot be asked, either) */
	(void)lookup_take(spot->lookup, &spot->address, &why);
	spot->lookup = NULL;
}

static void await_all(struct spot *all, int n)
{
	struct instant limit = after(now(), LIMIT_MS);
	struct pollfd fds[ALL_MAX];
	bool open = true;

	while (open && before(now(), limit)) {
		open = false;
		for (int i = 0; i < n; i++) {
			fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
			if (all[i].lookup)
				fds[i].fd = lookup_fd(all[i].lookup);
			open |= all[i].lookup != NULL;
		}
		if (!open || poll(fds, (nfds_t)n, poll_ms(limit, now())) < 0)
			continue;
		for (int i = 0; i < n; i++)
			take_found(&all[i], fds[i].revents != 0);
	}
	for (int i = 0; i < n; i++)
		lookup_abandon(all[i].lookup);
}

static bool is_one_socket(const struct endpoint *a, const struct endpoint *b)
{
	struct stat x, y;

	return stat(a->path, &x) == 0 && stat(b->path, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_one(const struct spot *a, const struct spot *b)
{
	bool sockets = a->ep->kind == ENDPOINT_UNIX;

	/* (Sentinels may watch several groups) */
	if (sockets != (b->ep->kind == ENDPOINT_UNIX) ||
	    strcmp(a->ep->group, b->ep->group) != 0)
		return false;
	if (sockets)
		return is_one_socket(a->ep, b->ep);
	return a->address.n > 0 && b->address.n > 0 &&
	       !address_left(&a->address, &b->address);
}

int twins_refuse(const struct servers *s, struct fail *why)
{
	struct spot *all;
	int n, rc = 0;

	if (s->n < 2)
		return 0;
	all = calloc(ALL_MAX, sizeof(*all));
	if (!all)
		return fail(why, FAIL_INTERNAL, "out of memory");
	n = find_all(s, all);
	await_all(all, n);
	for (int i = 0; rc == 0 && i < n; i++)
		for (int k = 0; rc == 0 && k < i; k++)
			if (all[i].ep != all[k].ep && is_one(&all[k], &all[i]))
				rc = fail(why, FAIL_CONFIG,
					  "%.250s and %.250s are the same "
					  "server and would count twice; "
					  "name each server once",
					  all[k].ep->name, all[i].ep->name);
	free(all);
	return rc;
}
