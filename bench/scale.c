/* SPDX-License-Identifier: MIT */
/*
 * Thousands of redlocks in one process: each has its own lease and its own
 * connections, as in the program. No command is run. See scale.sh.
 *
 *   scale URL KEYS EACH T_MS HOLD_MS SECONDS
 *
 * EACH clients want each of KEYS locks. A client that gets one holds it for
 * HOLD_MS (0: for ever), releases it and wants it again. Once every client
 * holds its lock or waits for it, the figures of the next SECONDS are printed,
 * one per line: NAME VALUE.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "cli/url.h"
#include "client/client.h"

#define SAMPLES_MAX 4000000
#define EVENTS_MAX 512

struct one {
	struct client client;
	int key;
	char name[32];
	struct instant wake, until; /* holds until then */
	struct instant credited;    /* the last renewal seen */
	bool settled;               /* was seen to hold or to wait */
};

struct samples { /* of microseconds */
	int64_t *at;
	size_t n;
};

static struct one *ones;
static int n_ones, poller, settled;
static int64_t ttl_ms, hold_ms, *freed_us; /* of each key; 0: not free */
static struct samples renewals, handovers;
static long lost, ended, asked_again;
static bool counting;

static int64_t us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void die(const char *what)
{
	(void)fprintf(stderr, "scale: %s\n", what);
	exit(1);
}

static void note(struct samples *s, int64_t value)
{
	if (counting && s->n < SAMPLES_MAX)
		s->at[s->n++] = value;
}

/* The descriptors of a client change when it connects again; a new one may have
 * the old one's number. */
static void watch(struct one *o)
{
	struct pollfd fds[CLIENT_FDS_MAX];
	int n = client_watch(&o->client, fds);

	for (int i = 0; i < n; i++) {
		struct epoll_event event = {.events = (uint32_t)fds[i].events,
					    .data.ptr = o};

		if (fds[i].fd >= 0 &&
		    epoll_ctl(poller, EPOLL_CTL_MOD, fds[i].fd, &event) < 0 &&
		    epoll_ctl(poller, EPOLL_CTL_ADD, fds[i].fd, &event) < 0)
			die("epoll_ctl");
	}
	o->wake = sooner(lease_wake(&o->client.lease), o->until);
}

static void settle(struct one *o)
{
	settled += !o->settled;
	o->settled = true;
}

/* What the program does between events: see client/locks.c and supervise.c. */
static void go_on(struct one *o, struct instant at)
{
	struct lease *l = &o->client.lease;

	switch (l->state) {
	case LEASE_HELD:
		settle(o);
		if (!l->in_use) {
			if (freed_us[o->key] > 0)
				note(&handovers, us() - freed_us[o->key]);
			freed_us[o->key] = 0;
			lease_use(l);
			o->credited = lease_credited_at(l);
			if (hold_ms > 0)
				o->until = after(at, hold_ms);
		}
		if (before(o->credited, lease_credited_at(l))) {
			o->credited = lease_credited_at(l);
			note(&renewals, between(o->credited, at) * 1000);
		}
		if (!before(at, o->until)) {
			o->until = NEVER;
			lease_end(l, HOW_RAN | HOW_DONE, at);
			freed_us[o->key] = us();
		}
		break;
	case LEASE_WAITING:
		if (lease_answered(l))
			settle(o);
		break;
	case LEASE_LOST:
		lost++;
		lease_release(l, at);
		break;
	case LEASE_OVER:
		ended += l->end != END_RELEASED;
		asked_again++;
		if (client_again(&o->client, INT64_MAX, true) < 0)
			die("out of memory");
		break;
	case LEASE_ASKING:
	case LEASE_CLAIMING:
	case LEASE_REPLICATING:
	case LEASE_RELEASING:
		break;
	}
}

static void run_one(struct one *o)
{
	enum lease_state was;

	do {
		was = o->client.lease.state;
		client_send(&o->client);
		go_on(o, now());
	} while (o->client.lease.state != was);
	client_send(&o->client);
	watch(o);
}

static void serve(struct one *o)
{
	struct pollfd fds[CLIENT_FDS_MAX];
	int n = client_watch(&o->client, fds);

	if (poll(fds, (nfds_t)n, 0) > 0)
		client_serve(&o->client, fds);
	run_one(o);
}

static void turn(void)
{
	struct epoll_event event[EVENTS_MAX];
	struct instant at = now();
	int n = epoll_wait(poller, event, EVENTS_MAX, 1);

	for (int i = 0; i < n; i++)
		serve(event[i].data.ptr);
	for (int i = 0; i < n_ones; i++)
		if (!before(at, ones[i].wake))
			run_one(&ones[i]);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void tell(const char *name, struct samples *s)
{
	qsort(s->at, s->n, sizeof(*s->at), by_size);
	printf("%s %zu\n", name, s->n);
	if (s->n > 0)
		printf("%s_p50_us %lld\n%s_p99_us %lld\n", name,
		       (long long)s->at[s->n / 2], name,
		       (long long)s->at[s->n - 1 - s->n / 100]);
}

static void start(const struct endpoint *ep, int keys, int each)
{
	const struct holder who = {.about[0] = "bench"};
	struct lease_conf conf = {.nodes = 1,
				  .ttl_ms = ttl_ms,
				  .node_timeout_ms = ttl_ms / 6,
				  .wait_ms = INT64_MAX,
				  .max_waiters = -1,
				  .slots = 1};
	struct fail why;
	int all = keys * each;

	ones = calloc((size_t)all, sizeof(*ones));
	freed_us = calloc((size_t)keys, sizeof(*freed_us));
	if (!ones || !freed_us)
		die("out of memory");
	for (int i = 0; i < all; i++) {
		int n = snprintf(ones[i].name, sizeof(ones[i].name), "scale-%d",
				 i % keys);

		ones[i].key = i % keys;
		ones[i].until = ones[i].wake = NEVER;
		if (client_init(&ones[i].client, ep, ones[i].name, (size_t)n,
				&conf, &why) < 0)
			die("out of memory");
		client_describe(&ones[i].client, &who);
		n_ones++;
		run_one(&ones[i]);
		while (settled < n_ones - 64) /* its backlog is short */
			turn();
	}
	while (settled < n_ones)
		turn();
}

static void more_files(void)
{
	struct rlimit most = {200000, 200000};

	(void)setrlimit(RLIMIT_NOFILE, &most);
}

int main(int argc, char **argv)
{
	static struct endpoint ep;
	struct instant end;
	struct fail why;

	if (argc != 7)
		die("usage: scale URL KEYS EACH T_MS HOLD_MS SECONDS");
	if (endpoint_parse(&ep, argv[1], &why) < 0)
		die(why.text);
	more_files();
	ttl_ms = atoll(argv[4]);
	hold_ms = atoll(argv[5]);
	poller = epoll_create1(EPOLL_CLOEXEC);
	renewals.at = malloc(SAMPLES_MAX * sizeof(int64_t));
	handovers.at = malloc(SAMPLES_MAX * sizeof(int64_t));
	if (poller < 0 || !renewals.at || !handovers.at)
		die("out of memory");
	start(&ep, atoi(argv[2]), atoi(argv[3]));
	/* the renewals of those that came together are spread by now */
	for (end = after(now(), ttl_ms / 6); before(now(), end);)
		turn();
	puts("settled 1");
	(void)fflush(stdout);
	counting = true;
	for (end = after(now(), atoll(argv[6]) * 1000); before(now(), end);)
		turn();
	puts("counted 1");
	tell("renewals", &renewals);
	tell("handovers", &handovers);
	printf("lost %ld\nended %ld\nagain %ld\n", lost, ended, asked_again);
	return 0;
}
