/* SPDX-License-Identifier: MIT */
/* All or none. Read locks.h first. */
#include "client/locks.h"

#include <stdio.h>
#include <string.h>

#include "lock/core/timing.h"

#define INHERIT_MS 1000 /* with the parent's descriptors: somebody may wait */

static struct lease *lease_of(const struct locks *l, int i)
{
	return &l->client[i].lease;
}

static bool all_in(const struct locks *l, enum lease_state state)
{
	for (int i = 0; i < l->n; i++)
		if (lease_of(l, i)->state != state)
			return false;
	return true;
}

bool locks_held(const struct locks *l)
{
	return all_in(l, LEASE_HELD);
}

bool locks_over(const struct locks *l)
{
	return all_in(l, LEASE_OVER) && (l->n == 1 || l->ends);
}

enum lease_end locks_end(const struct locks *l)
{
	return l->n == 1 ? lease_of(l, 0)->end : l->end;
}

bool locks_lost(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (lease_of(l, i)->state == LEASE_LOST)
			return true;
	return false;
}

bool locks_unlocked(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (lease_of(l, i)->state == LEASE_LOST &&
		    lease_of(l, i)->unlocked)
			return true;
	return false;
}

bool locks_spent(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (lease_spent(lease_of(l, i)))
			return true;
	return false;
}

const struct client *locks_stopped(const struct locks *l)
{
	const struct client *first = NULL;

	for (int i = 0; i < l->n; i++)
		if (before(lease_of(l, i)->stop_by,
			   first ? first->lease.stop_by : NEVER))
			first = &l->client[i];
	return first;
}

bool locks_freed(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (!lease_of(l, i)->freed)
			return false;
	return true;
}

bool locks_passed_on(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (lease_of(l, i)->passed_on)
			return true;
	return false;
}

struct instant locks_credited_at(const struct locks *l)
{
	struct instant oldest = lease_credited_at(lease_of(l, 0));

	for (int i = 1; i < l->n; i++)
		oldest = sooner(oldest, lease_credited_at(lease_of(l, i)));
	return oldest;
}

static void wait_for_lead(struct locks *l);

static bool has_password(const struct client *cl)
{
	for (int i = 0; i < cl->lease.conf.nodes; i++)
		if (cl->peer[i].ep->secret.has_password ||
		    cl->peer[i].ep->secret.file[0] != '\0')
			return true;
	return false;
}

void locks_init(struct locks *l, struct client *clients, int n)
{
	const struct lease *any = &clients[0].lease;

	*l = (struct locks){.client = clients,
			    .n = n,
			    .ttl_ms = any->conf.ttl_ms,
			    .waits = any->conf.wait_ms > 0,
			    .give_up = any->give_up};
	l->asked[0] = true;
	for (int i = 0; i < n; i++)
		clients[i].start_by = l->waits ? l->give_up : NEVER;
	for (int i = 0; i < n && n > 1; i++)
		(void)snprintf(clients[i].whose, sizeof(clients[i].whose),
			       "%s: ", clients[i].shown_key);
	/* the lead waits; the others are only tried */
	for (int i = 1; i < n; i++) {
		struct lease_conf conf = clients[i].lease.conf;

		conf.wait_ms = 0;
		lease_init(&clients[i].lease, &conf, any->began);
		l->asked[i] = true;
	}
	client_connect(&clients[0]); /* the first to be asked */
	/* each client has a connection of its own, and a server that counts
	 * wrong passwords would count as many */
	if (n > 1 && has_password(clients))
		wait_for_lead(l);
}

/* ---- several ---- */

static void give_back(struct locks *l, int but)
{
	for (int i = 0; i < l->n; i++)
		if (i != but)
			lease_release(lease_of(l, i), now());
}

static bool is_reached(const struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		if (lease_reached(lease_of(l, i)))
			return true;
	return false;
}

static void start(struct locks *l, int i, bool waits)
{
	int64_t left = between(now(), l->give_up);

	if (!waits || left < 0)
		left = 0;
	l->asked[i] = true;
	l->attempts++;
	/* no limit stays no limit */
	if (waits && l->give_up.ms >= NEVER.ms)
		left = INT64_MAX;
	if (client_again(&l->client[i], left, is_reached(l)) == 0)
		return;
	(void)fail_memory(&l->client[i].why);
	l->lead = i;
	l->end = END_REFUSED;
	l->ends = true;
	give_back(l, -1);
}

/* One cannot be taken, or was lost again: release all. If it was only tried,
 * wait for it from now on. */
static void back_off(struct locks *l, int lead)
{
	const struct lease *its = lease_of(l, lead);
	bool in_time = before(now(), l->give_up);

	l->end = its->state == LEASE_LOST ? END_BUSY : its->end;
	if (l->end == END_UNAVAILABLE)
		l->ends |= lead == l->lead || !in_time;
	else
		l->ends |= l->end != END_BUSY || !in_time;
	l->lead = lead;
	l->backing = true;
	l->patient = !l->ends && ++l->overtaken >= PATIENCE;
	give_back(l, -1);
	/* those that were only tried do not know how long we wait */
	for (int i = 0; i < l->n && l->ends && l->waits; i++)
		lease_leave_by(lease_of(l, i), timing_leave(l->give_up, now()));
}

static void try_again(struct locks *l)
{
	l->backing = false;
	memset(l->asked, 0, sizeof(l->asked));
	if (l->patient)
		l->lead = 0;
	start(l, l->lead, true);
}

/* The lead stands in line: ignore what the others said or granted. */
static void wait_for_lead(struct locks *l)
{
	memset(l->asked, 0, sizeof(l->asked));
	l->asked[l->lead] = true;
	give_back(l, l->lead);
}

/* We have the lead: ask for the others. */
static void go_on(struct locks *l)
{
	if (l->patient && l->lead + 1 < l->n) {
		start(l, ++l->lead, true);
		return;
	}
	for (int i = 0; i < l->n; i++)
		if (lease_of(l, i)->state == LEASE_OVER)
			start(l, i, false);
}

/* Taking the others may last longer than we may wait before we start. */
static void refresh(struct locks *l)
{
	for (int i = 0; i < l->n; i++) {
		struct lease *its = lease_of(l, i);

		if (its->state == LEASE_HELD &&
		    !before(now(), timing_start(lease_credited_at(its),
						its->conf.ttl_ms)))
			lease_hurry(its, -1, now());
	}
}

/* A lock that ended without being held makes all end or start again. Look at
 * the lead last: we may still be waiting for it. */
static int refused(const struct locks *l)
{
	for (int k = 1; k <= l->n; k++) {
		int i = (l->lead + k) % l->n;
		const struct lease *x = lease_of(l, i);

		if (x->state == LEASE_LOST ||
		    (l->asked[i] && x->end != END_NONE &&
		     x->end != END_RELEASED))
			return i;
	}
	return -1;
}

static void tick(struct locks *l)
{
	const struct lease *lead = lease_of(l, l->lead);
	int culprit;

	if (l->n == 1 || l->in_use || l->ends || locks_held(l))
		return;
	if (l->backing) {
		if (all_in(l, LEASE_OVER))
			try_again(l);
		return;
	}
	refresh(l);
	/* in line for the lead: keep no other lock, unless we take them in
	 * order */
	if (lead->state == LEASE_WAITING && !l->patient && lease_answered(lead))
		wait_for_lead(l);
	else if ((culprit = refused(l)) >= 0)
		back_off(l, culprit);
	else if (lead->state == LEASE_HELD)
		go_on(l);
}

/* ---- both ---- */

void locks_send(struct locks *l)
{
	tick(l);
	for (int i = 0; i < l->n; i++)
		client_send(&l->client[i]);
}

void locks_poll(struct locks *l, struct pollfd *extra, int n_extra,
		struct instant limit)
{
	struct pollfd fds[EXTRA_MAX + LOCKS_MAX * CLIENT_FDS_MAX];
	int n = n_extra;

	locks_send(l);
	/* this may end all of them, and then no event would end the wait */
	if (locks_over(l))
		limit = now();
	if (n_extra > 0)
		memcpy(fds, extra, sizeof(*extra) * (size_t)n_extra);
	for (int i = 0; i < l->n; i++) {
		n += client_watch(&l->client[i], fds + n);
		limit = sooner(limit, lease_wake(lease_of(l, i)));
	}
	if (poll(fds, (nfds_t)n, poll_ms(limit, now())) <= 0)
		for (int i = 0; i < n; i++)
			fds[i].revents = 0;
	for (int i = 0; i < n_extra; i++)
		extra[i].revents = fds[i].revents;
	for (int i = 0, at = n_extra; i < l->n; i++) {
		const struct pollfd *its = fds + at;

		at += client_fds(&l->client[i]);
		client_serve(&l->client[i], its);
	}
	locks_send(l);
}

void locks_hurry(struct locks *l)
{
	for (int i = 0; i < l->n; i++)
		lease_hurry(lease_of(l, i), -1, now());
}

void locks_use(struct locks *l)
{
	l->in_use = true;
	for (int i = 0; i < l->n; i++)
		lease_use(lease_of(l, i));
	locks_may_block(l, false);
}

void locks_may_block(struct locks *l, bool may)
{
	for (int i = 0; i < l->n; i++)
		l->client[i].start_by = may ? NEVER : LONG_AGO;
}

void locks_again(struct locks *l)
{
	if (l->n == 1)
		lease_again(lease_of(l, 0), now());
}

void locks_release(struct locks *l, unsigned int how,
		   const struct history_entry *entry)
{
	l->ends = true;
	if (l->end == END_NONE)
		l->end = END_RELEASED;
	for (int i = 0; i < l->n; i++) {
		struct lease *its = lease_of(l, i);
		const struct granted hold = {.joined = its->nest == NEST_JOINED,
					     .slot = its->slot,
					     .fence = its->fence};
		bool tells = entry && client_tell(&l->client[i], entry, &hold);

		lease_end(its, how | (tells ? HOW_TOLD : 0), now());
	}
}

void locks_inherit(struct locks *l, bool ran)
{
	struct instant by;

	l->ends = true;
	for (int i = 0; i < l->n; i++)
		client_inherit(&l->client[i], ran);
	by = after(now(), INHERIT_MS);
	while (!locks_over(l) && before(now(), by))
		locks_poll(l, NULL, 0, by);
}

void locks_finish(struct locks *l)
{
	while (!locks_over(l))
		locks_poll(l, NULL, 0, NEVER);
}

bool locks_go_on(struct locks *l, int64_t *left_ms)
{
	bool any = false;

	*left_ms = 0;
	for (int i = 0; i < l->n; i++) {
		int64_t ms;

		if (!client_go_on(&l->client[i]))
			continue;
		any = true;
		ms = between(now(), lease_of(l, i)->release_by);
		*left_ms = ms > *left_ms ? ms : *left_ms;
	}
	return any;
}
