/* SPDX-License-Identifier: MIT */
/* The world of the simulator. Read world.h first. */
#include "world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/core/timing.h"

struct world w;

/* ---- chance, and the log ---- */

int64_t chance(int64_t range)
{
	w.random ^= w.random >> 12;
	w.random ^= w.random << 25;
	w.random ^= w.random >> 27;
	return range <= 0 ? 0
			  : (int64_t)((w.random * 0x2545f4914f6cdd1dULL >> 20) %
				      (uint64_t)range);
}

bool one_in(int64_t n)
{
	return chance(n) == 0;
}

int64_t any_rate_ppm(void)
{
	return 1000000 + chance(160000) - 80000;
}

void tell(const char *fmt, ...)
{
	va_list ap;

	if (!w.tell)
		return;
	printf("%10.3f  ", (double)w.us / 1000.0);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void violated(const char *fmt, ...)
{
	va_list ap;

	w.failed = true;
	if (w.twin != 0 && !w.tell)
		return;
	printf("seed %" PRIu64 " at %.3f ms: ", w.seed, (double)w.us / 1000.0);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* ---- the event queue: a binary heap ---- */

static bool sooner_event(const struct event *a, const struct event *b)
{
	return a->us != b->us ? a->us < b->us : a->order < b->order;
}

static void swap_events(int i, int j)
{
	struct event t = w.heap[i];

	w.heap[i] = w.heap[j];
	w.heap[j] = t;
}

void post(int64_t us, enum event_kind kind, int who, int slot, int64_t value)
{
	int i = w.n_events++;

	assert(w.n_events < EVENTS_MAX);
	w.heap[i] = (struct event){us < w.us ? w.us : us,
				   ++w.order,
				   kind,
				   who,
				   kind <= EV_OF_LIFE ? w.client[who].life : 0,
				   slot,
				   value};
	while (i > 0 && sooner_event(&w.heap[i], &w.heap[(i - 1) / 2])) {
		swap_events(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static struct event pop(void)
{
	struct event first = w.heap[0];
	int i = 0;

	w.heap[0] = w.heap[--w.n_events];
	for (;;) {
		int least = i;

		for (int k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < w.n_events &&
			    sooner_event(&w.heap[k], &w.heap[least]))
				least = k;
		if (least == i)
			return first;
		swap_events(i, least);
		i = least;
	}
}

/* ---- clocks ---- */

struct instant clock_at(const struct client *c, int64_t us)
{
	return (struct instant){us / 1000 * c->rate_ppm / 1000000 +
				c->offset_ms};
}

struct instant clock_of(const struct client *c)
{
	return clock_at(c, w.us);
}

/* When the client's clock will show t. */
static int64_t when(const struct client *c, struct instant t)
{
	int64_t ms = (t.ms - c->offset_ms) * 1000000 / c->rate_ppm;

	while (ms * c->rate_ppm / 1000000 + c->offset_ms < t.ms)
		ms++;
	return ms * 1000;
}

int64_t wall_us(int node)
{
	const struct server *s = &w.server[node];

	return EPOCH_US + w.us * s->rate_ppm / 1000000 + s->step_us;
}

double step_clock(int node)
{
	int64_t us = chance(w.T * 3000);

	if (one_in(2))
		us = -us;
	set_clock(node, us);
	return (double)us / 1000.0;
}

void set_clock(int node, int64_t us)
{
	if (us < 0) {
		w.backward_step = true;
	} else {
		w.forward_step = true;
		w.forward_us = w.us;
		w.stepped |= 1U << node;
	}
	w.server[node].step_us += us;
}

bool hangs_on_stepped(const struct client *c)
{
	int n = c->lease.conf.nodes, others = 0;

	for (int k = 0; k < n; k++)
		others += !(w.stepped & 1U << k) &&
			  node_is_ours(&c->lease.node[k]) &&
			  before(clock_of(c),
				 after(c->lease.node[k].grant.credited_at,
				       c->lease.conf.ttl_ms));
	return w.forward_step && (n == 1 || c->lease.state != LEASE_HELD ||
				  others < lease_quorum(n));
}

/* ---- the network ---- */

bool rough(void)
{
	return w.us < w.quiet_us && !w.steady;
}

bool nobodys(const struct flight *f)
{
	return f->dead || f->life != w.client[f->client].life;
}

/* Mostly quick, sometimes slow, now and then slower than any lease; in some
 * schedules often so. */
static int64_t delay(void)
{
	int64_t us = 100 + chance(900);

	if (!rough())
		return us;
	if (one_in(20))
		us += chance(w.T * 300);
	if (one_in(w.tail ? 12 : 200))
		us += chance(w.T * (w.tail ? 5000 : 3000));
	if (w.slow_us < w.us + us)
		w.slow_us = w.us + us;
	return us;
}

static int new_flight(void)
{
	for (int i = 0; i < w.n_flights; i++)
		if (!w.flight[i].used || sim_spent(&w.flight[i]))
			return i;
	assert(w.n_flights < FLIGHTS_MAX);
	return w.n_flights++;
}

/* Questions under way may still run, but their answers are lost. */
static void drop_connection(struct client *c, int node, int chan)
{
	int conn = c->conns[node][chan];

	c->conns[node][chan] = 0;
	for (int i = 0; i < w.n_flights && conn; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || f->dead || f->conn != conn)
			continue;
		f->dead = true;
		lease_failed(&c->lease, &f->ask, FAIL_UNAVAILABLE, true,
			     clock_of(c));
	}
}

static void new_connection(struct client *c, int node, int chan)
{
	drop_connection(c, node, chan);
	c->conns[node][chan] = ++w.next_conn;
	c->front[node][chan] = c->back[node][chan] = w.us;
}

static void check_listening(int who, int conn)
{
	for (int i = 0; i < w.n_flights; i++) {
		const struct flight *f = &w.flight[i];

		if (f->used && !f->dead && f->ask.verb == VERB_LISTEN &&
		    f->conn == conn)
			violated("client %d asks where it listens", who);
	}
}

/* Nothing comes back on this connection any more, and it does not break: a
 * network or a proxy has forgotten it. Deaf: nothing arrives either. */
static void go_mute(struct client *c, int node, int chan)
{
	c->mute[node][chan] = c->conns[node][chan];
	c->deaf[node][chan] = one_in(2);
}

static bool is_mute(const struct client *c, int node, int chan)
{
	return c->mute[node][chan] != 0 &&
	       c->mute[node][chan] == c->conns[node][chan];
}

bool is_cut_off(const struct client *c)
{
	bool mute = false;

	for (int i = 0; i < c->lease.conf.nodes * CHANNELS && w.mutes; i++)
		mute |= is_mute(c, i / CHANNELS, i % CHANNELS);
	return mute && (c->alive || c->guard_will);
}

/* One connection delivers in order; two do not. */
static void send_ask(int who, const struct ask *ask)
{
	struct client *c = &w.client[who];
	int64_t *front = &c->front[ask->node][ask->chan];
	int *conn = &c->conns[ask->node][ask->chan];
	bool again = rough() && one_in(w.tail ? 10 : 100);
	int copies = again && ask->verb != VERB_LISTEN ? 2 : 1;

	if (ask->fresh || *conn == 0)
		new_connection(c, ask->node, ask->chan);
	check_listening(who, *conn);
	for (int i = 0; i < copies; i++) {
		int slot = new_flight();
		int64_t at = w.us + delay();

		/* the copy may come long after */
		if (i > 0 && w.tail)
			at += chance(w.T * 5000);
		w.flight[slot] = (struct flight){
			.used = true,
			.serial = ++w.serial,
			.dead = i > 0, /* nobody waits for a copy's answer */
			.ask = *ask,
			.conf = c->lease.conf,
			.token = c->token,
			.client = who,
			.life = c->life,
			.conn = *conn};
		if (is_mute(c, ask->node, ask->chan) &&
		    c->deaf[ask->node][ask->chan]) {
			w.flight[slot].arrived = true;
			continue;
		}
		if (i == 0)
			*front = at = at > *front ? at : *front;
		post(at, EV_ARRIVE, ask->node, slot, w.serial);
	}
}

void reply(int slot)
{
	struct flight *f = &w.flight[slot];
	struct client *c = &w.client[f->client];
	int64_t at, *back = &c->back[f->ask.node][f->ask.chan];

	f->blocked = false;
	if (nobodys(f))
		return;
	if (w.mutes && rough() && one_in(30))
		go_mute(c, f->ask.node, f->ask.chan);
	if (is_mute(c, f->ask.node, f->ask.chan))
		return;
	at = w.us + delay();
	*back = at = at > *back ? at : *back;
	if (rough() && one_in(100))
		post(at, EV_BREAK, f->client,
		     f->ask.node * CHANNELS + f->ask.chan, f->conn);
	else
		post(at, EV_ANSWER, f->client, slot, f->serial);
}

void break_off(const struct flight *f)
{
	if (!nobodys(f))
		post(w.us + delay(), EV_BREAK, f->client,
		     f->ask.node * CHANNELS + f->ask.chan, f->conn);
}

void listen_on(int slot)
{
	struct flight *f = &w.flight[slot];

	f->blocked = true;
	post(w.us + f->ask.listen_ms * 1000 + chance(100000), EV_LISTENED,
	     f->ask.node, slot, f->serial);
}

void wake_listeners(int node, bool lossy)
{
	for (int i = 0; i < w.n_flights; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != node)
			continue;
		if (nobodys(f) && !(lossy && one_in(4))) {
			f->blocked = false;
			continue;
		}
		if (!sim_take_word(f))
			continue;
		f->answer = (struct answer){.said = SAID_WOKEN};
		reply(i);
	}
}

static bool is_frozen(int node)
{
	return w.server[node].frozen && w.us < w.server[node].thaw_us;
}

/* Whatever comes to a frozen server waits in line. */
static void arrive(const struct event *e)
{
	struct flight *f = &w.flight[e->slot];

	if (is_frozen(e->who)) {
		post(w.server[e->who].thaw_us, EV_ARRIVE, e->who, e->slot,
		     e->value);
		return;
	}
	f->arrived = true;
	if (w.server[e->who].down || (rough() && one_in(150))) {
		/* refused, or cut before it arrived */
		break_off(f);
		return;
	}
	/* a server forgets what it has not begun for who hung up */
	if (f->ask.verb != VERB_LISTEN || !nobodys(f))
		sim_arrived(e->who, e->slot);
}

static void listened(const struct event *e)
{
	const struct flight *f = &w.flight[e->slot];

	if (f->serial != e->value || !f->blocked)
		return;
	if (is_frozen(e->who))
		post(w.server[e->who].thaw_us, EV_LISTENED, e->who, e->slot,
		     e->value);
	else if (!w.no_poll)
		reply(e->slot);
}

static void stop_client(int who, bool for_long);

static void answer(const struct event *e)
{
	struct flight *f = &w.flight[e->slot];
	struct client *c = &w.client[e->who];

	if (f->serial != e->value || nobodys(f))
		return;
	if (c->stopped) {
		/* it lies in the socket until the process goes on */
		post(w.us + 1000, EV_ANSWER, e->who, e->slot, e->value);
		return;
	}
	f->used = false;
	if (w.late_stamp)
		f->ask.sent = clock_of(c);
	if (f->refused)
		lease_failed(&c->lease, &f->ask, FAIL_UNAVAILABLE, false,
			     clock_of(c));
	else
		lease_answer(&c->lease, &f->ask, &f->answer, clock_of(c));
	if (w.stalls && rough() && c->lease.state == LEASE_HELD &&
	    !c->running && one_in(3))
		stop_client(e->who, false);
	pump(e->who);
}

static void broken(const struct event *e)
{
	int node = e->slot / CHANNELS, chan = e->slot % CHANNELS;

	if (w.client[e->who].conns[node][chan] != e->value)
		return;
	drop_connection(&w.client[e->who], node, chan);
	pump(e->who);
}

/* ---- clients ---- */

void new_life(int who, struct lease_conf *conf)
{
	struct client *c = &w.client[who];

	c->life++;
	if (one_in(6))
		conf->wait_ms = one_in(4) ? 0 : chance(w.T * 4);
	else if (one_in(10))
		post(w.us + chance(w.T * 4000), EV_CANCEL, who, 0, 0);
	c->alive = true;
	c->stopped = c->guard_will = c->running = c->ended = c->dying = false;
	c->wake_us = INT64_MAX;
	memset(c->conns, 0, sizeof(c->conns));
	lease_init(&c->lease, conf, clock_of(c));
}

void kill_command(int who)
{
	struct client *c = &w.client[who];

	if (!c->running || c->dying)
		return;
	c->dying = true;
	post(w.us + chance(c->ttl * 20), EV_COMMAND_DEAD, who, 0, 0);
}

static void query(int who)
{
	struct client *c = &w.client[who];
	struct lease *l = &c->lease;
	struct instant at = clock_of(c), s = lease_credited_at(l);

	if (l->state == LEASE_HELD && !c->running && !c->ended) {
		if (l->stop_by.ms != NEVER.ms)
			lease_release(l, at);
		else if (before(at, timing_start(s, c->ttl))) {
			sim_start(who);
			lease_use(l);
		} else if (w.old_grant)
			lease_use(l);
		else
			lease_hurry(l, -1, at);
	}
	if (c->running && !c->dying && !before(at, l->stop_by)) {
		tell("client %d stops, as it is asked to", who);
		kill_command(who);
	}
	if (c->running && !c->dying &&
	    (l->state == LEASE_LOST || !before(at, timing_kill(s, c->ttl))))
		sim_lost(who);
	/* lost before the command could start: try anew */
	if (l->state == LEASE_LOST && !c->running && !c->ended)
		lease_again(l, at);
	else if (l->state == LEASE_LOST && !c->running)
		lease_end(l, HOW_RAN, at);
}

/* When something is to be done next. */
static struct instant next_wake(struct client *c)
{
	struct instant next = lease_wake(&c->lease);

	if (c->running && !c->dying && c->lease.state == LEASE_HELD) {
		struct instant s = lease_credited_at(&c->lease);

		next = sooner(next, timing_kill(s, c->ttl));
		next = sooner(next, c->lease.stop_by);
		c->dead_us = when(
			c, sooner(timing_dead(s, c->ttl), c->lease.stop_dead));
	}
	if (w.no_poll && c->lease.state == LEASE_WAITING &&
	    c->lease.conf.wait_ms == INT64_MAX)
		return NEVER;
	return next;
}

void pump(int who)
{
	struct client *c = &w.client[who];
	struct instant next;
	struct ask ask;
	int64_t us;

	if ((!c->alive && !c->guard_will) || c->stopped)
		return;
	do {
		if (c->alive)
			query(who);
		while (lease_next(&c->lease, clock_of(c), &ask))
			send_ask(who, &ask);
		for (int i = 0; i < c->lease.conf.nodes; i++)
			for (int k = 0; k < CHANNELS; k++)
				if (lease_hangs_up(&c->lease, i, k))
					drop_connection(c, i, k);
	} while (c->alive && c->lease.state == LEASE_LOST && !c->running);
	if (c->lease.state == LEASE_OVER) {
		sim_over(who);
		return;
	}
	next = next_wake(c);
	if (next.ms == NEVER.ms)
		return;
	us = when(c, next);
	if (us <= w.us)
		us = w.us + 1000;
	if (us < c->wake_us || c->wake_us <= w.us) {
		c->wake_us = us;
		post(us, EV_WAKE, who, 0, 0);
	}
}

void command_gone(int who)
{
	struct client *c = &w.client[who];

	c->running = false;
	c->ended = true;
	tell("client %d: its command is gone", who);
	if (c->alive && !c->stopped)
		lease_end(&c->lease, HOW_RAN, clock_of(c));
	/* redlock was killed: the guard gives back what may be held */
	if (!c->alive && c->guard_will)
		lease_inherit(&c->lease, &c->lease.conf, true, clock_of(c));
	pump(who);
}

static void kill_client(int who, const char *why)
{
	struct client *c = &w.client[who];

	if (!c->alive)
		return;
	tell("client %d: redlock is killed (%s)", who, why);
	c->alive = c->stopped = false;
	c->guard_will = true;
	c->wake_us = INT64_MAX;
	c->life++;
	memset(c->conns, 0, sizeof(c->conns));
	c->dying = false;
	if (c->running) {
		kill_command(who);
		return;
	}
	lease_inherit(&c->lease, &c->lease.conf, c->ended, clock_of(c));
	pump(who);
}

static void cancel(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive || c->stopped || c->running ||
	    c->lease.state == LEASE_HELD)
		return;
	tell("client %d gives up", who);
	lease_release(&c->lease, clock_of(c));
	pump(who);
}

static void stop_client(int who, bool for_long)
{
	struct client *c = &w.client[who];

	if (!c->alive || c->stopped)
		return;
	tell("client %d is stopped", who);
	c->stopped = true;
	if (c->running)
		post(c->dead_us, EV_DEADMAN, who, 0, 0);
	post(w.us + chance(w.T * (for_long || one_in(4) ? 10000 : 1500)),
	     EV_CONT, who, 0, 0);
}

static void continue_client(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive || !c->stopped)
		return;
	c->stopped = false;
	c->cont_us = w.us;
	if (c->ended && c->lease.state == LEASE_HELD)
		lease_end(&c->lease, HOW_RAN, clock_of(c));
	pump(who);
}

/* ---- faults ---- */

void plan_outage(void)
{
	w.steady = true;
	if (!w.calm)
		post(w.T * 1000 + chance(w.T * 3000), EV_DOWN, 0, one_in(2),
		     w.T * (300 + chance(150)));
}

void plan_deaths(int64_t span_us, int n)
{
	for (int i = (int)chance(3); i > 0; i--)
		post(chance(span_us), EV_KILL, (int)chance(n), 0, 0);
	for (int i = (int)chance(3); i > 0; i--)
		post(chance(span_us), EV_STOP, (int)chance(n), 0, 0);
	if (one_in(3))
		post(chance(span_us), EV_CRASH, (int)chance(w.n_clients), 0, 0);
}

static void go_down(const struct event *e)
{
	struct server *s = &w.server[e->who];

	s->frozen = e->slot;
	s->down = !e->slot;
	if (s->thaw_us < w.us + e->value)
		s->thaw_us = w.us + e->value;
	tell("%s is %s for %.3f ms", s->name, e->slot ? "frozen" : "down",
	     (double)e->value / 1000.0);
	post(s->thaw_us, EV_UP, e->who, 0, 0);
	for (int i = 0; i < w.n_flights && s->down; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != e->who)
			continue;
		f->blocked = false;
		break_off(f);
	}
}

static void come_back(struct server *s)
{
	if (w.us < s->thaw_us)
		return;
	s->frozen = s->down = false;
	tell("%s is back", s->name);
}

/* ---- one schedule ---- */

/* Of this life of the client. */
static void handle_client(const struct event *e)
{
	switch ((int)e->kind) {
	case EV_WAKE:
		pump(e->who);
		break;
	case EV_ANSWER:
		answer(e);
		break;
	case EV_BREAK:
		broken(e);
		break;
	case EV_DEADMAN:
		if (w.client[e->who].stopped)
			kill_client(e->who, "deadman");
		break;
	case EV_CANCEL:
		cancel(e->who);
		break;
	default:
		sim_event(e);
	}
}

static void handle(const struct event *e)
{
	switch ((int)e->kind) {
	case EV_KILL:
		kill_client(e->who, "kill -9");
		break;
	case EV_STOP:
		stop_client(e->who, e->slot);
		break;
	case EV_CONT:
		continue_client(e->who);
		break;
	case EV_ARRIVE:
		arrive(e);
		break;
	case EV_LISTENED:
		listened(e);
		break;
	case EV_DOWN:
		go_down(e);
		break;
	case EV_UP:
		come_back(&w.server[e->who]);
		break;
	case EV_FLUSH:
		/* a client that flushes waits in line like the rest */
		if (is_frozen(e->who))
			post(w.server[e->who].thaw_us + 1000, EV_FLUSH, e->who,
			     e->slot, 0);
		else
			sim_event(e);
		break;
	default:
		if (e->kind > EV_OF_LIFE)
			sim_event(e);
		else if (e->life == w.client[e->who].life)
			handle_client(e);
	}
}

void world_begin(uint64_t seed, int twin, bool aloud)
{
	static const int64_t lengths[] = {300, 1000, 3000};

	memset(&w, 0, offsetof(struct world, heap));
	w.seed = seed;
	w.random = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (int i = 0; i < 4; i++)
		(void)chance(2);
	w.twin = twin;
	w.tell = aloud;
	w.T = lengths[chance(3)];
	w.n_clients = 2 + (int)chance(TOP_MAX - 1);
	w.tail = one_in(4);
	/* (not drawn: the other schedules stay what they were) */
	w.mutes = (seed ^ seed >> 3) % 4 == 0;
}

void world_people(void)
{
	for (int i = 0; i < w.n_clients; i++) {
		struct client *c = &w.client[i];

		c->ttl = w.T * (w.unequal && one_in(4) ? 8 : one_in(4) ? 2 : 1);
		c->rate_ppm = any_rate_ppm();
		c->offset_ms = chance(1000000);
		c->todo = 1 + (int)chance(3);
		post(chance(w.T * 1000), EV_NEXT, i, 0, 0);
	}
}

bool world_step(void)
{
	struct event e;

	if (w.n_events == 0 || w.failed)
		return false;
	e = pop();
	/* (a key whose state is lost is any program's: its expiry counts, and
	 * lasts longer by as much as the clock was set back) */
	if (e.us > w.quiet_us + w.T * (w.backward_step ? 1000000 : 500000)) {
		violated("no end in sight");
		return false;
	}
	w.us = e.us;
	handle(&e);
	return true;
}

/* ---- from the command line ---- */

static int many(uint64_t from, uint64_t runs, int twin)
{
	uint64_t failed = 0;
	int overlaps = 0;

	for (uint64_t i = 0; i < runs; i++) {
		failed += !sim_run(from + i, twin, false);
		overlaps += w.overlaps;
	}
	printf("%s 1 - %" PRIu64 " schedules %s from seed %" PRIu64 ": %" PRIu64
	       " violations\n",
	       failed ? "not ok" : "ok", runs, sim_scope(), from, failed);
	printf("# outside the promise (clock set ahead, data lost unseen): %d "
	       "overlaps\n1..1\n",
	       overlaps);
	return failed > 0;
}

/* A schedule that breaks a promise without the twin proves nothing. */
static bool catches(int twin, uint64_t seed)
{
	return !sim_run(seed, twin, false) && sim_run(seed, 0, false);
}

static int try_twins(uint64_t runs, int *nodes)
{
	const char *name;
	int missed = 0, t;

	for (t = 1; (name = sim_twin(t)); t++) {
		uint64_t from = sim_twin_from(t), i = from;

		if (nodes)
			*nodes = sim_twin_nodes(t);
		while (i < from + runs && !catches(t, i))
			i++;
		missed += i == from + runs;
		printf("%s %d - the twin \"%s\" is caught",
		       i == from + runs ? "not ok" : "ok", t, name);
		printf(i == from + runs ? "\n" : " (seed %" PRIu64 ")\n", i);
	}
	printf("1..%d\n", t - 1);
	return missed > 0;
}

int world_main(int argc, char **argv, int *nodes)
{
	uint64_t runs = 0, twins = 0, from = 1;
	int twin = 0;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (strcmp(argv[i], "--runs") == 0)
			runs = strtoull(value, NULL, 10), i++;
		else if (strcmp(argv[i], "--from") == 0)
			from = strtoull(value, NULL, 10), i++;
		else if (nodes && strcmp(argv[i], "--nodes") == 0)
			*nodes = atoi(value), i++;
		else if (strcmp(argv[i], "--twin") == 0)
			twin = atoi(value), i++;
		else if (strcmp(argv[i], "--twins") == 0)
			twins = strtoull(value, NULL, 10), i++;
		else
			from = strtoull(argv[i], NULL, 10);
	}
	if (twins > 0)
		return try_twins(twins, nodes);
	return runs > 0 ? many(from, runs, twin) : !sim_run(from, twin, true);
}
