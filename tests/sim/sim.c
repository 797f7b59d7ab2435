/* SPDX-License-Identifier: MIT */
/*
 * The simulator: the lease's own bytes (src/lock) in a simulated world of
 * clients, nodes, networks, clocks and processes that fail in every way we
 * could think of. One seed is one run.
 *
 *   sim SEED             one schedule, told step by step
 *   sim --runs N [--from SEED] [--nodes N]    many, silently
 *   sim --twins N        each broken twin must be caught within N schedules
 *
 * What is checked, at every start of a command and at the end:
 *   - no two commands run at once (P1);
 *   - fences grow from start to start (P2);
 *   - an outage shorter than 0.48 T ends no command (P6);
 *   - everybody who waits gets the lock in the end, and no lock stays;
 *   - where nothing fails, those who stand in line start in the order in which
 *     they came (P5), and who has left is in no place.
 * The first two hold under the assumptions of P1 and P2 alone, so a schedule
 * with server clock steps or data loss checks what is still promised then:
 * see may_overlap() and fences_promised().
 */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lease.h"
#include "lock/timing.h"
#include "node.h"

#define CLIENTS_MAX 6
#define EVENTS_MAX 4096
#define LOSSES_MAX 8
#define FLIGHT_MAX 64
#define TOKENS_MAX 128
/* servers' wall clock at 0 */
#define EPOCH_US ((int64_t)1700000000 * 1000000)

enum event_kind {
	EV_WAKE,     /* client: timers */
	EV_ARRIVE,   /* a question reaches a node */
	EV_ANSWER,   /* its answer reaches the client */
	EV_BREAK,    /* a connection breaks */
	EV_LISTENED, /* a node has kept a listener for as long as it wanted */
	EV_COMMAND_END,
	EV_COMMAND_DEAD, /* killed, and now really gone */
	EV_NODE_DOWN,
	EV_NODE_UP,
	EV_NODE_FLUSH,
	EV_NODE_STEP,
	EV_NODE_EVICT, /* the lock key alone vanishes, or the counter as well */
	EV_NODE_FULL,  /* of memory, or no longer */
	EV_DEADMAN,    /* a stopped redlock meets its kernel timer */
	EV_KILL,       /* SIGKILL of the client's redlock */
	EV_STOP,
	EV_CONT,
	EV_CRASH,  /* of the client's whole machine */
	EV_CANCEL, /* a signal while waiting */
	EV_NEXT    /* the client wants the lock again */
};

struct event {
	int64_t us;
	uint64_t order; /* among equals: first in, first out */
	enum event_kind kind;
	int who, life; /* client or node; a later life ignores older events */
	int slot;
	int64_t value;
};

/* A question under way. */
struct flight {
	bool used, dead; /* dead: nobody takes the answer */
	bool arrived;    /* no more than the answer can come of it */
	bool blocked;    /* listens */
	int64_t serial;  /* slots are used again */
	struct ask ask;
	struct answer answer;
	int64_t token;
	struct lease_conf conf;
	int client, life, conn;
};

struct client {
	struct lease lease;
	int64_t token, ttl, rate_ppm, offset_ms;
	int life;                        /* redlock processes so far */
	bool alive, stopped, guard_will; /* guard_will: it gives back */
	bool running; /* the command, or what is left of it */
	bool dying;
	bool ended;            /* the command ended by itself */
	bool robbed;           /* its key vanished, and it does not know yet */
	int64_t dead_us;       /* deadman: dead at, unless moved on */
	bool knew[LOSSES_MAX]; /* a counter, when data were lost */
	int64_t wake_us, granted_us; /* last; -1: not yet */
	int64_t granted_fence;
	int64_t joined_us; /* stands in line since; -1: it does not */
	int todo, conns[NODES_MAX][CHANNELS];
	int64_t front[NODES_MAX][CHANNELS]; /* FIFO of each connection */
	int64_t back[NODES_MAX][CHANNELS];
};

struct server {
	struct node node;
	bool down;   /* refuses */
	bool frozen; /* accepts, does not answer */
	int64_t thaw_us, rate_ppm, step_us;
};

struct world {
	uint64_t random, seed, order;
	int64_t us, quiet_us; /* no more faults from then on */
	int n_nodes, n_clients, n_events, next_conn, losses, overlaps;
	bool exposed[LOSSES_MAX];
	int64_t loss_us[LOSSES_MAX], last_fence, last_grant, T;
	int64_t granted_token, grant_us, released_us[TOKENS_MAX]; /* one node */
	/* gentle: no faults but one short outage; calm: not even that */
	bool forward_step, backward_step, gentle, calm, tell, failed;
	enum twin twin;
	int64_t tokens, serial;
	struct server server[NODES_MAX];
	struct client client[CLIENTS_MAX];
	struct event heap[EVENTS_MAX];
	struct flight flight[FLIGHT_MAX * CLIENTS_MAX];
};

static struct world w;

/* ---- chance ---- */

static int64_t chance(int64_t range)
{
	w.random ^= w.random >> 12;
	w.random ^= w.random << 25;
	w.random ^= w.random >> 27;
	return range <= 0 ? 0
			  : (int64_t)((w.random * 0x2545f4914f6cdd1dULL >> 20) %
				      (uint64_t)range);
}

static bool one_in(int64_t n)
{
	return chance(n) == 0;
}

static void __attribute__((format(printf, 1, 2))) tell(const char *fmt, ...)
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

static void __attribute__((format(printf, 1, 2))) violated(const char *fmt, ...)
{
	va_list ap;

	w.failed = true;
	if (w.twin != TWIN_NONE && !w.tell)
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

static void post(int64_t us, enum event_kind kind, int who, int slot,
		 int64_t value)
{
	int i = w.n_events++;
	int life =
		kind == EV_NODE_DOWN || kind == EV_NODE_UP ||
				kind == EV_NODE_FLUSH || kind == EV_NODE_STEP ||
				kind == EV_NODE_EVICT || kind == EV_NODE_FULL ||
				kind == EV_ARRIVE || kind == EV_LISTENED
			? 0
			: w.client[who].life;

	assert(w.n_events < EVENTS_MAX);
	w.heap[i] = (struct event){
		us < w.us ? w.us : us, ++w.order, kind, who, life, slot, value};
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

static struct instant clock_of(const struct client *c)
{
	return (struct instant){w.us / 1000 * c->rate_ppm / 1000000 +
				c->offset_ms};
}

/* When the client's clock will show t. */
static int64_t when(const struct client *c, struct instant t)
{
	int64_t ms = (t.ms - c->offset_ms) * 1000000 / c->rate_ppm;

	while (ms * c->rate_ppm / 1000000 + c->offset_ms < t.ms)
		ms++;
	return ms * 1000;
}

static int64_t wall_of(const struct server *s)
{
	return EPOCH_US + w.us * s->rate_ppm / 1000000 + s->step_us;
}

/* ---- promises ---- */

/* Data were lost after `old` was granted, and a client that had seen no counter
 * before the loss was granted since: the one exposure of a single node without
 * persistence. A lock key that vanishes alone (by hand, evicted) overlaps until
 * its holder hears of it. And a server clock that jumps ahead ends leases
 * early: only the fence is promised then. */
static bool may_overlap(const struct client *old)
{
	if (w.forward_step || old->robbed)
		return true;
	for (int i = 0; i < w.losses; i++)
		if (old->granted_us < w.loss_us[i] && w.exposed[i])
			return true;
	return false;
}

static bool fences_promised(void)
{
	return !(w.backward_step && w.losses > 0);
}

/* A grant: who knew no counter at a loss is the newcomer that may overlap; and
 * on one node grants are in order of fences. */
static void granted(struct client *c, bool newcomer, int64_t counter)
{
	c->granted_us = w.us;
	c->granted_fence = counter;
	for (int i = 0; i < w.losses; i++)
		w.exposed[i] |= !c->knew[i] || newcomer;
	if (w.n_nodes == 1 && counter <= w.last_grant && fences_promised())
		violated("granted %" PRId64 " after %" PRId64, counter,
			 w.last_grant);
	w.last_grant = counter;
}

static void expose(void)
{
	for (int i = 0; i < w.losses; i++)
		w.exposed[i] = true;
}

/* What healing must never do: set a lock again that was released, or that
 * somebody else was granted in the meantime. Only a loss of data in between can
 * hide that, and then it counts as a newcomer's overlap. */
static void healed(struct client *c, const struct flight *f)
{
	int64_t loss_us = w.losses > 0 ? w.loss_us[w.losses - 1] : -1;
	int64_t released = w.released_us[f->token];
	bool other = w.granted_token != f->token;

	if (w.n_nodes > 1)
		return;
	if ((released && released > loss_us) || (other && w.grant_us > loss_us))
		violated("client %d: heals a lock that is no longer its own",
			 f->client);
	else if (released || other)
		expose();
	if (c->token == f->token)
		c->robbed = false;
}

/* By asking, or handed over. */
static void node_has_granted(const struct flight *f, const struct node *n)
{
	struct client *to = NULL;

	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].token == n->token)
			to = &w.client[i];
	w.granted_token = n->token;
	w.grant_us = w.us;
	if (!to) /* an earlier run's, come late: it knew nothing */
		expose();
	else
		granted(to, n->token == f->token && f->ask.seen == 0,
			n->counter);
}

static void node_has_run(const struct flight *f, const struct node *n,
			 int64_t had)
{
	struct client *c = &w.client[f->client];

	if (f->answer.said == SAID_HEALED)
		healed(c, f);
	else if (n->token != 0 && n->token != had)
		node_has_granted(f, n);
	if (f->ask.verb == VERB_RELEASE && had == f->token)
		w.released_us[f->token] = w.us;
	if (f->ask.verb == VERB_ACQUIRE && c->token == f->token &&
	    f->life == c->life && c->joined_us < 0 && f->answer.place >= 0)
		c->joined_us = w.us;
}

static void command_starts(int who)
{
	struct client *c = &w.client[who];

	for (int i = 0; i < w.n_clients; i++)
		if (i != who && w.client[i].running) {
			if (may_overlap(c) || may_overlap(&w.client[i]))
				w.overlaps++;
			else
				violated("client %d starts while client %d "
					 "runs",
					 who, i);
		}
	/* on one node: it does not know yet that it was granted again, after a
	 * loss of data; the fence in its hand says so */
	if (c->lease.fence <= w.last_fence && fences_promised() &&
	    !may_overlap(c) &&
	    (w.n_nodes > 1 || c->lease.fence == c->granted_fence))
		violated("client %d: fence %" PRId64 " after %" PRId64, who,
			 c->lease.fence, w.last_fence);
	for (int i = 0; i < w.n_clients && w.calm; i++) {
		const struct client *o = &w.client[i];

		if (o->alive && !o->lease.conf.supersede && o->joined_us >= 0 &&
		    c->joined_us >= 0 && o->joined_us < c->joined_us &&
		    (o->lease.state == LEASE_WAITING ||
		     o->lease.state == LEASE_ASKING))
			violated("client %d starts before client %d", who, i);
	}
	w.last_fence = c->lease.fence;
	c->joined_us = -1;
	c->running = true;
	c->ended = c->dying = false;
	tell("client %d starts, fence %" PRId64, who, c->lease.fence);
	post(w.us + chance(w.T * 2500), EV_COMMAND_END, who, 0, 0);
}

/* ---- network ---- */

/* Mostly quick, sometimes slow, now and then slower than any lease. */
static int64_t delay(void)
{
	int64_t us = 100 + chance(900);

	if (w.us >= w.quiet_us || w.gentle)
		return us;
	if (one_in(20))
		us += chance(w.T * 300);
	if (one_in(200))
		us += chance(w.T * 3000);
	return us;
}

static int new_flight(void)
{
	for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX; i++) {
		const struct flight *f = &w.flight[i];

		if (!f->used ||
		    (f->arrived &&
		     (f->dead || f->life != w.client[f->client].life)))
			return i;
	}
	assert(!"too many questions under way");
	return -1;
}

/* One connection delivers in order; two do not. */
static void send_ask(int who, const struct ask *ask)
{
	struct client *c = &w.client[who];
	int64_t *front = &c->front[ask->node][ask->chan];
	int copies = w.us < w.quiet_us && !w.gentle && one_in(100) &&
				     ask->verb != VERB_LISTEN
			     ? 2
			     : 1;

	if (ask->fresh || c->conns[ask->node][ask->chan] == 0) {
		for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX; i++)
			if (w.flight[i].conn == c->conns[ask->node][ask->chan])
				w.flight[i].dead = true;
		c->conns[ask->node][ask->chan] = ++w.next_conn;
		*front = c->back[ask->node][ask->chan] = w.us;
	}
	for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX; i++) {
		const struct flight *f = &w.flight[i];

		if (f->used && !f->dead && f->ask.verb == VERB_LISTEN &&
		    f->conn == c->conns[ask->node][ask->chan])
			violated("client %d asks where it listens", who);
	}
	for (int i = 0; i < copies; i++) {
		int slot = new_flight();
		int64_t at = w.us + delay();

		w.flight[slot] = (struct flight){
			.used = true,
			.serial = ++w.serial,
			.dead = i > 0, /* nobody waits for a copy's answer */
			.ask = *ask,
			.token = c->token,
			.conf = c->lease.conf,
			.client = who,
			.life = c->life,
			.conn = c->conns[ask->node][ask->chan]};
		if (i == 0)
			*front = at = at > *front ? at : *front;
		post(at, EV_ARRIVE, ask->node, slot, w.serial);
	}
}

static void connection_lost(int who, int node, int chan, bool ran)
{
	struct client *c = &w.client[who];
	int conn = c->conns[node][chan];

	c->conns[node][chan] = 0;
	for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX && conn; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || f->dead || f->conn != conn)
			continue;
		f->dead = true;
		lease_failed(&c->lease, &f->ask, FAIL_UNAVAILABLE, ran,
			     clock_of(c));
	}
}

static void pump(int who);

/* What a node has to say goes back on the same connection. */
static void reply(int slot)
{
	struct flight *f = &w.flight[slot];
	struct client *c = &w.client[f->client];
	int64_t at, *back = &c->back[f->ask.node][f->ask.chan];

	f->blocked = false;
	if (f->dead || f->life != c->life)
		return;
	at = w.us + delay();
	*back = at = at > *back ? at : *back;
	if (w.us < w.quiet_us && !w.gentle && one_in(100))
		post(at, EV_BREAK, f->client,
		     f->ask.node * CHANNELS + f->ask.chan, f->conn);
	else
		post(at, EV_ANSWER, f->client, slot, f->serial);
}

/* A word was put into a grant list: whoever listens takes it. A connection that
 * the client gave up may swallow it, should the server not know yet. */
static void wake_listeners(int node)
{
	struct server *s = &w.server[node];

	for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != node)
			continue;
		if ((f->dead || f->life != w.client[f->client].life) &&
		    (w.gentle || !one_in(4))) {
			f->blocked = false;
			continue;
		}
		if (!node_heard(&s->node, f->token, wall_of(s)))
			continue;
		f->answer = (struct answer){.said = SAID_WOKEN, .place = -1};
		reply(i);
	}
}

static void listened(int node, int slot, int64_t serial)
{
	struct flight *f = &w.flight[slot];
	struct server *s = &w.server[node];

	if (f->serial != serial || !f->blocked)
		return;
	if (s->frozen && w.us < s->thaw_us)
		post(s->thaw_us, EV_LISTENED, node, slot, serial);
	else if (w.twin != TWIN_NO_POLL)
		reply(slot);
}

/* A full node cannot set a lock, unless it has taken something away first. */
static bool refuses(struct server *s, const struct flight *f)
{
	return s->node.full && f->ask.verb == VERB_ACQUIRE &&
	       !node_locked(&s->node, wall_of(s)) && s->node.waiters == 0;
}

static void break_off(const struct flight *f)
{
	if (!f->dead && f->life == w.client[f->client].life)
		post(w.us + delay(), EV_BREAK, f->client,
		     f->ask.node * CHANNELS + f->ask.chan, f->conn);
}

static void arrive(int node, int slot, int64_t serial)
{
	struct flight *f = &w.flight[slot];
	struct server *s = &w.server[node];
	int64_t had;

	if (s->frozen && w.us < s->thaw_us) {
		post(s->thaw_us, EV_ARRIVE, node, slot, serial);
		return;
	}
	f->arrived = true;
	if (s->down || (w.us < w.quiet_us && !w.gentle && one_in(150)) ||
	    refuses(s, f)) {
		/* refused, or cut before it arrived */
		break_off(f);
		return;
	}
	/* a server forgets what it has not begun for who hung up */
	if (f->ask.verb == VERB_LISTEN &&
	    (f->dead || f->life != w.client[f->client].life))
		return;
	had = node_locked(&s->node, wall_of(s)) ? s->node.token : 0;
	f->answer = node_run(&s->node, &f->ask, f->token, &f->conf, wall_of(s));
	tell("node %d runs verb %d of client %d (token %" PRId64 "): said %d, "
	     "counter %" PRId64 " (knew %" PRId64
	     "), place %d, lock of %" PRId64 "%s",
	     node, f->ask.verb, f->client, f->token, f->answer.said,
	     f->answer.counter, f->ask.seen, f->answer.place, s->node.token,
	     f->answer.lost ? ", told of a loss" : "");
	node_has_run(f, &s->node, had);
	if (f->answer.said == SAID_QUIET) {
		f->blocked = true;
		post(w.us + f->ask.listen_ms * 1000 + chance(100000),
		     EV_LISTENED, node, slot, serial);
		return;
	}
	reply(slot);
	wake_listeners(node);
}

static void answer(int who, int slot, int64_t serial)
{
	struct flight *f = &w.flight[slot];
	struct client *c = &w.client[who];

	if (f->serial != serial || f->dead || f->life != c->life)
		return;
	if (c->stopped) {
		/* it lies in the socket until the process goes on */
		post(w.us + 1000, EV_ANSWER, who, slot, serial);
		return;
	}
	f->used = false;
	if (w.twin == TWIN_STAMP_AT_REPLY)
		f->ask.sent = clock_of(c);
	lease_answer(&c->lease, &f->ask, &f->answer, clock_of(c));
	pump(who);
}

/* ---- clients ---- */

static void begin(int who)
{
	struct client *c = &w.client[who];
	struct lease_conf conf = {.nodes = w.n_nodes,
				  .ttl_ms = c->ttl,
				  .node_timeout_ms = w.T / 4,
				  .wait_ms = INT64_MAX,
				  .max_waiters = one_in(20) ? chance(3) : -1,
				  .supersede = one_in(20),
				  .seed = (uint64_t)chance(INT64_MAX)};

	c->life++;
	if (one_in(6))
		conf.wait_ms = one_in(4) ? 0 : chance(w.T * 4);
	else if (one_in(10))
		post(w.us + chance(w.T * 4000), EV_CANCEL, who, 0, 0);
	c->alive = true;
	c->stopped = c->guard_will = c->running = c->ended = c->dying = false;
	c->robbed = false;
	c->token = ++w.tokens;
	assert(c->token < TOKENS_MAX);
	c->granted_us = c->joined_us = -1;
	memset(c->knew, 0, sizeof(c->knew));
	c->wake_us = INT64_MAX;
	memset(c->conns, 0, sizeof(c->conns));
	lease_init(&c->lease, &conf, clock_of(c));
	tell("client %d wants the lock (token %" PRId64 ", T %" PRId64 ")", who,
	     c->token, c->ttl);
	pump(who);
}

static void finished(int who)
{
	struct client *c = &w.client[who];

	c->alive = false;
	c->life++;
	tell("client %d is done", who);
	if (w.calm && c->lease.freed && w.n_nodes == 1 &&
	    (w.server[0].node.token == c->token ||
	     node_place(&w.server[0].node, c->token) >= 0))
		violated("client %d has left, its token has not", who);
	if (--c->todo > 0)
		post(w.us + chance(w.T * 500), EV_NEXT, who, 0, 0);
}

/* The decision to kill; the tree takes up to 2 % of T to die. */
static void kill_command(int who)
{
	struct client *c = &w.client[who];

	if (!c->running || c->dying)
		return;
	c->dying = true;
	post(w.us + chance(c->ttl * 20), EV_COMMAND_DEAD, who, 0, 0);
}

static void look(int who)
{
	struct client *c = &w.client[who];
	struct lease *l = &c->lease;
	struct instant at = clock_of(c), s = lease_stamp(l);

	if (l->state == LEASE_HELD && !c->running && !c->ended) {
		if (before(at, timing_start(s, c->ttl)))
			command_starts(who);
		else
			lease_hurry(l, at);
	}
	if (c->running && !c->dying &&
	    (l->state == LEASE_LOST || !before(at, timing_kill(s, c->ttl)))) {
		tell("client %d loses its lease", who);
		if (w.gentle)
			violated("client %d: lost in an outage below 0.48 T",
				 who);
		kill_command(who);
	}
	/* lost before the command could start: try anew */
	if (l->state == LEASE_LOST && !c->running && !c->ended)
		lease_again(l, at);
	else if (l->state == LEASE_LOST && !c->running)
		lease_release(l, at);
}

static void pump(int who)
{
	struct client *c = &w.client[who];
	struct instant next;
	struct ask ask;
	int64_t us;

	if ((!c->alive && !c->guard_will) || c->stopped)
		return;
	do {
		if (c->alive)
			look(who);
		while (lease_next(&c->lease, clock_of(c), &ask))
			send_ask(who, &ask);
	} while (c->alive && c->lease.state == LEASE_LOST && !c->running);
	if (c->lease.state == LEASE_OVER) {
		finished(who);
		return;
	}
	next = lease_wake(&c->lease);
	if (c->running && !c->dying && c->lease.state == LEASE_HELD) {
		struct instant s = lease_stamp(&c->lease);

		next = sooner(next, timing_kill(s, c->ttl));
		c->dead_us = when(c, timing_dead(s, c->ttl));
	}
	if (next.ms == NEVER.ms)
		return;
	if (w.twin == TWIN_NO_POLL && c->lease.state == LEASE_WAITING &&
	    c->lease.conf.wait_ms == INT64_MAX)
		return;
	us = when(c, next);
	if (us <= w.us)
		us = w.us + 1000;
	if (us < c->wake_us || c->wake_us <= w.us) {
		c->wake_us = us;
		post(us, EV_WAKE, who, 0, 0);
	}
}

static void command_gone(int who)
{
	struct client *c = &w.client[who];

	if (!c->running)
		return;
	c->running = false;
	c->ended = true;
	tell("client %d: its command is gone", who);
	if (c->alive && !c->stopped)
		lease_release(&c->lease, clock_of(c));
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

/* The machine: nobody is left to give anything back. */
static void crash_client(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive)
		return;
	tell("client %d: its machine is dead", who);
	c->stopped = c->guard_will = c->running = c->dying = false;
	memset(c->conns, 0, sizeof(c->conns));
	c->lease.freed = false;
	finished(who);
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

static void stop_client(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive || c->stopped)
		return;
	tell("client %d is stopped", who);
	c->stopped = true;
	if (c->running)
		post(c->dead_us, EV_DEADMAN, who, 0, 0);
	post(w.us + chance(w.T * (one_in(4) ? 10000 : 1500)), EV_CONT, who, 0,
	     0);
}

static void continue_client(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive || !c->stopped)
		return;
	c->stopped = false;
	if (c->ended && c->lease.state == LEASE_HELD)
		lease_release(&c->lease, clock_of(c));
	pump(who);
}

/* ---- faults ---- */

static void step_clock(int node)
{
	int64_t us = chance(w.T * 3000);

	if (one_in(2)) {
		us = -us;
		w.backward_step = true;
	} else {
		w.forward_step = true;
	}
	tell("node %d: its clock steps by %.3f ms", node, (double)us / 1000.0);
	w.server[node].step_us += us;
}

/* A waiter knows of a holder by the counter it saw. How long to wait for it,
 * when the data are gone, it knows if its own lease, or that of the holder it
 * saw last, is no shorter. */
static void note_loss(int node)
{
	int64_t longest = 0;

	if (w.losses == LOSSES_MAX)
		return;
	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].lease.state == LEASE_HELD &&
		    w.client[i].ttl > longest)
			longest = w.client[i].ttl;
	for (int i = 0; i < w.n_clients; i++) {
		struct client *c = &w.client[i];
		const struct lease_node *n = &c->lease.node[node];

		c->knew[w.losses] =
			c->alive && n->counter > 0 &&
			(c->ttl >= longest || n->holder_ttl_ms >= longest);
	}
	w.loss_us[w.losses++] = w.us;
}

static void lose_data(int node)
{
	tell("node %d loses everything", node);
	node_flush(&w.server[node].node);
	note_loss(node);
}

static void evict(int node, bool counter)
{
	struct server *s = &w.server[node];

	if (!node_locked(&s->node, wall_of(s)))
		return;
	tell("node %d: the lock key vanishes%s", node,
	     counter ? ", and the counter" : "");
	s->node.token = 0;
	if (counter) {
		s->node.counter = -1;
		note_loss(node);
		return;
	}
	for (int i = 0; i < w.n_clients; i++)
		w.client[i].robbed |= w.client[i].token == s->node.record;
}

static void go_down(const struct event *e)
{
	struct server *s = &w.server[e->who];

	s->frozen = e->slot;
	s->down = !e->slot;
	if (s->thaw_us < w.us + e->value)
		s->thaw_us = w.us + e->value;
	tell("node %d is %s for %.3f ms", e->who, e->slot ? "frozen" : "down",
	     (double)e->value / 1000.0);
	post(s->thaw_us, EV_NODE_UP, e->who, 0, 0);
	for (int i = 0; i < FLIGHT_MAX * CLIENTS_MAX && s->down; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != e->who)
			continue;
		f->blocked = false;
		break_off(f);
	}
}

static void node_event(const struct event *e)
{
	struct server *s = &w.server[e->who];

	switch (e->kind) {
	case EV_NODE_DOWN:
		go_down(e);
		break;
	case EV_NODE_UP:
		if (w.us < s->thaw_us)
			break;
		s->frozen = s->down = false;
		tell("node %d is back", e->who);
		break;
	case EV_NODE_FLUSH:
		/* whoever flushes a frozen node waits in line like the rest */
		if (s->frozen && w.us < s->thaw_us)
			post(s->thaw_us + 1000, EV_NODE_FLUSH, e->who, 0, 0);
		else
			lose_data(e->who);
		break;
	case EV_NODE_STEP:
		step_clock(e->who);
		break;
	case EV_NODE_EVICT:
		evict(e->who, e->slot);
		break;
	case EV_NODE_FULL:
		s->node.full = e->slot;
		tell("node %d is %s", e->who,
		     e->slot ? "full" : "no longer full");
		break;
	case EV_WAKE:
	case EV_ARRIVE:
	case EV_ANSWER:
	case EV_BREAK:
	case EV_LISTENED:
	case EV_COMMAND_END:
	case EV_COMMAND_DEAD:
	case EV_DEADMAN:
	case EV_KILL:
	case EV_STOP:
	case EV_CONT:
	case EV_CRASH:
	case EV_CANCEL:
	case EV_NEXT:
		assert(!"no event of a node");
	}
}

static void plan_faults(void)
{
	int64_t span = w.T * 12000;

	w.quiet_us = span;
	/* one outage below 0.48 T and nothing else: nobody may notice */
	w.gentle = one_in(4);
	w.calm = w.gentle && one_in(2);
	if (w.calm)
		return;
	if (w.gentle) {
		post(w.T * 1000 + chance(w.T * 3000), EV_NODE_DOWN, 0,
		     one_in(2), w.T * (300 + chance(150)));
		return;
	}
	for (int i = (int)chance(4); i > 0; i--)
		post(chance(span), EV_NODE_DOWN, (int)chance(w.n_nodes),
		     one_in(2), chance(w.T * 2000));
	if (one_in(4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_NODE_FLUSH,
			     (int)chance(w.n_nodes), 0, 0);
	if (one_in(8))
		post(chance(span), EV_NODE_STEP, (int)chance(w.n_nodes), 0, 0);
	if (one_in(4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_NODE_EVICT,
			     (int)chance(w.n_nodes), one_in(3), 0);
	if (one_in(8)) {
		int64_t from = chance(span), node = chance(w.n_nodes);

		post(from, EV_NODE_FULL, (int)node, 1, 0);
		post(from + chance(w.T * 4000), EV_NODE_FULL, (int)node, 0, 0);
	}
	for (int i = (int)chance(3); i > 0; i--)
		post(chance(span), EV_KILL, (int)chance(w.n_clients), 0, 0);
	for (int i = (int)chance(3); i > 0; i--)
		post(chance(span), EV_STOP, (int)chance(w.n_clients), 0, 0);
	if (one_in(3))
		post(chance(span), EV_CRASH, (int)chance(w.n_clients), 0, 0);
}

/* ---- one schedule ---- */

static void handle(const struct event *e)
{
	bool stale = e->life != 0 && e->life != w.client[e->who].life;

	switch (e->kind) {
	case EV_WAKE:
		if (!stale)
			pump(e->who);
		break;
	case EV_ARRIVE:
		arrive(e->who, e->slot, e->value);
		break;
	case EV_ANSWER:
		answer(e->who, e->slot, e->value);
		break;
	case EV_BREAK:
		if (stale ||
		    w.client[e->who].conns[e->slot / CHANNELS]
					  [e->slot % CHANNELS] != e->value)
			break;
		connection_lost(e->who, e->slot / CHANNELS, e->slot % CHANNELS,
				true);
		pump(e->who);
		break;
	case EV_COMMAND_END:
		if (!stale && !w.client[e->who].dying)
			command_gone(e->who);
		break;
	case EV_COMMAND_DEAD:
		if (!stale)
			command_gone(e->who);
		break;
	case EV_DEADMAN:
		if (!stale && w.client[e->who].stopped)
			kill_client(e->who, "deadman");
		break;
	case EV_KILL:
		kill_client(e->who, "kill -9");
		break;
	case EV_STOP:
		stop_client(e->who);
		break;
	case EV_CONT:
		continue_client(e->who);
		break;
	case EV_CRASH:
		crash_client(e->who);
		break;
	case EV_CANCEL:
		if (!stale)
			cancel(e->who);
		break;
	case EV_LISTENED:
		listened(e->who, e->slot, e->value);
		break;
	case EV_NEXT:
		begin(e->who);
		break;
	case EV_NODE_DOWN:
	case EV_NODE_UP:
	case EV_NODE_FLUSH:
	case EV_NODE_STEP:
	case EV_NODE_EVICT:
	case EV_NODE_FULL:
		node_event(e);
		break;
	}
}

static void check_end(void)
{
	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].todo > 0 || w.client[i].alive ||
		    w.client[i].running)
			violated("client %d never finished (state %d)", i,
				 w.client[i].lease.state);
	for (int i = 0; i < w.n_nodes; i++) {
		/* an acquire delayed on a given-up connection may leave an
		 * orphan, for T at most */
		w.us += w.T * 8000;
		if (node_locked(&w.server[i].node, wall_of(&w.server[i])) &&
		    !w.backward_step)
			violated("a lock is left on node %d", i);
	}
}

static void setup(uint64_t seed, int nodes, enum twin twin, bool aloud)
{
	static const int64_t lengths[] = {300, 1000, 3000};

	memset(&w, 0, offsetof(struct world, heap));
	memset(w.flight, 0, sizeof(w.flight));
	w.seed = seed;
	w.random = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (int i = 0; i < 4; i++)
		(void)chance(2);
	w.twin = twin;
	w.tell = aloud;
	w.T = lengths[chance(3)];
	w.n_nodes = nodes;
	w.n_clients = 2 + (int)chance(CLIENTS_MAX - 1);
	for (int i = 0; i < nodes; i++) {
		node_flush(&w.server[i].node);
		w.server[i].node.twin = twin;
		w.server[i].rate_ppm = 1000000 + chance(160000) - 80000;
	}
	plan_faults();
	for (int i = 0; i < w.n_clients; i++) {
		struct client *c = &w.client[i];

		c->ttl = w.T * (one_in(4) ? 2 : 1);
		/* with the servers' at most 1.174 : 1 */
		c->rate_ppm = 1000000 + chance(160000) - 80000;
		c->offset_ms = chance(1000000);
		c->todo = 1 + (int)chance(3);
		post(chance(w.T * 1000), EV_NEXT, i, 0, 0);
	}
}

static bool run(uint64_t seed, int nodes, enum twin twin, bool aloud)
{
	setup(seed, nodes, twin, aloud);
	while (w.n_events > 0 && !w.failed) {
		struct event e = pop();

		if (e.us > w.quiet_us + w.T * 200000) {
			violated("no end in sight");
			break;
		}
		w.us = e.us;
		handle(&e);
	}
	if (!w.failed)
		check_end();
	return !w.failed;
}

/* ---- from the command line ---- */

static const char *const twin_names[TWIN_COUNT] = {
	[TWIN_STAMP_AT_REPLY] = "validity counted from the reply",
	[TWIN_RELEASE_ANY] = "release without compare",
	[TWIN_HEAL_ANY] = "heal without the counter test",
	[TWIN_RELEASE_STILL] = "release without moving the counter",
	[TWIN_NO_POLL] = "no poll",
	[TWIN_GRANT_FOREVER] = "a lock handed over without expiry",
	[TWIN_CANCEL_KEEPS] = "who leaves the line keeps a grant",
	[TWIN_DEL_AFTER] = "the release deletes what it handed over",
	[TWIN_LOSS_UNTOLD] = "a grant does not tell of a lost counter",
};

static int many(uint64_t from, uint64_t runs, int nodes)
{
	uint64_t failed = 0;
	int overlaps = 0;

	for (uint64_t i = 0; i < runs; i++) {
		failed += !run(from + i, nodes, TWIN_NONE, false);
		overlaps += w.overlaps;
	}
	printf("%s 1 - %" PRIu64 " schedules on %d node%s from seed %" PRIu64
	       ": %" PRIu64 " violations\n",
	       failed ? "not ok" : "ok", runs, nodes, nodes > 1 ? "s" : "",
	       from, failed);
	printf("# outside the promise (clock set ahead, data lost unseen): %d "
	       "overlaps\n1..1\n",
	       overlaps);
	return failed > 0;
}

static int twins(uint64_t runs)
{
	int missed = 0;

	for (int t = TWIN_NONE + 1; t < TWIN_COUNT; t++) {
		uint64_t i = 1;

		while (i <= runs && run(i, 1, (enum twin)t, false))
			i++;
		missed += i > runs;
		printf("%s %d - the twin \"%s\" is caught",
		       i > runs ? "not ok" : "ok", t, twin_names[t]);
		printf(i > runs ? "\n" : " (seed %" PRIu64 ")\n", i);
	}
	printf("1..%d\n", TWIN_COUNT - 1);
	return missed > 0;
}

int main(int argc, char **argv)
{
	uint64_t runs = 0, from = 1;
	int nodes = 1, twin = 0;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (strcmp(argv[i], "--runs") == 0)
			runs = strtoull(value, NULL, 10), i++;
		else if (strcmp(argv[i], "--from") == 0)
			from = strtoull(value, NULL, 10), i++;
		else if (strcmp(argv[i], "--nodes") == 0)
			nodes = atoi(value), i++;
		else if (strcmp(argv[i], "--twin") == 0)
			twin = atoi(value), i++;
		else if (strcmp(argv[i], "--twins") == 0)
			return twins(strtoull(value, NULL, 10));
		else
			from = strtoull(argv[i], NULL, 10);
	}
	if (runs > 0)
		return many(from, runs, nodes);
	return !run(from, nodes, (enum twin)twin, true);
}
