/* SPDX-License-Identifier: MIT */
/*
 * The simulator: the lease's own bytes (src/lock) in a simulated world of
 * clients, nodes, networks, clocks and processes that fail in every way we
 * could think of. One seed is one run.
 *
 *   sim SEED             one schedule, told step by step
 *   sim --runs N [--from SEED] [--nodes N]    many, silently
 *   sim --twins N        each broken twin must be caught within N schedules
 *   sim --twins N --parts P --from SEED   one in P of them, another with each
 * seed
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
#include <stdio.h>
#include <string.h>

#include "node.h"
#include "world.h"

#define TOKENS_MAX 128

/* A redlock, from when it wants the lock on: known by its token for ever. */
struct token {
	int64_t came_us;
	int64_t first_us;   /* granted; -1: not yet */
	int64_t granted_us; /* the last time */
	int64_t granted_fence;
	int64_t joined_us; /* stands in line since; -1: it does not */
	int64_t released_us;
	bool blindly; /* released by one that did not tell what it had seen */
};

static int n_nodes = 1;
static struct node nodes[NODES_MAX], saved[NODES_MAX]; /* on disk */
static struct token tokens[TOKENS_MAX];
static int restarts; /* with the loss of all data */
static bool rolls;   /* nothing fails but that the server is set back */
static bool was_set_back;
/* on one node: who claimed the lock that it has, and as it is on disk */
static int64_t claimed, saved_claimed;
/* when that was set back: whose claim it forgot, and was not heard of since;
 * and to whom it has last handed the lock, as far as it knows */
static int64_t unheard, handed;
static bool clocks_apart;  /* the nodes' */
static int64_t last_fence; /* of a command that started */
/* on one node: the last grant */
static int64_t last_grant, granted_token, grant_us;

/* ---- promises ---- */

/* Data were lost after `old` was granted, and a client that had seen no counter
 * before the loss was granted since: the one exposure of a single node without
 * persistence. A lock key that vanishes alone (by hand, evicted) overlaps until
 * its holder hears of it. And a server clock that jumps ahead ends leases
 * early: only the fence is promised then, unless enough other servers have the
 * lock. */
static bool may_overlap(const struct client *old)
{
	const struct token *t = &tokens[old->token];
	/* It may be granted anew, by a question that came late or from a line
	 * that was restored with old data, and not know it; and on several
	 * nodes it may have had a quorum before it had the last node. */
	bool latest = old->lease.fence == t->granted_fence;
	int64_t since = n_nodes > 1 ? t->came_us
			: latest    ? t->granted_us
				    : t->first_us;

	if ((since < w.forward_us && hangs_on_stepped(old)) || old->robbed ||
	    old->replaced)
		return true;
	for (int i = 0; i < w.losses; i++)
		if (since < w.loss_us[i] && w.exposed[i])
			return true;
	return false;
}

/* A grant: who knew no counter at a loss is the newcomer that may overlap; and
 * on one node grants are in order of fences. */
static void granted(struct client *c, bool newcomer, int64_t counter)
{
	if (!c->running) /* else it is not told: it runs by an earlier one */
		tokens[c->token].granted_us = w.us;
	if (tokens[c->token].first_us < 0)
		tokens[c->token].first_us = w.us;
	tokens[c->token].granted_fence = counter;
	for (int i = 0; i < w.losses; i++)
		w.exposed[i] |= !c->knew[i] || newcomer;
	if (n_nodes == 1 && counter <= last_grant && fences_promised())
		violated("granted %" PRId64 " after %" PRId64, counter,
			 last_grant);
	last_grant = counter;
}

/* What healing must never do: set a lock again that was released, or that
 * somebody else was granted in the meantime. Only a loss of data in between can
 * hide that, and then it counts as a newcomer's overlap. */
static void healed(struct client *c, const struct flight *f)
{
	int64_t loss_us = w.losses > 0 ? w.loss_us[w.losses - 1] : -1;
	int64_t released = tokens[f->token].released_us;
	bool other = granted_token != f->token;

	if (c->token == f->token)
		c->robbed &= ~(1U << f->ask.node);
	if (n_nodes > 1)
		return;
	/* a renewal that comes late, when the counter was set back behind what
	 * it saw, and the guard, which does not know that, has released the
	 * lock: nobody runs under it, and it stays for T (R16) */
	if (was_set_back && released && tokens[f->token].blindly && !other)
		return;
	/* a counter born from a clock that was set back proves nothing */
	if (fences_promised() &&
	    ((released && released > loss_us) || (other && grant_us > loss_us)))
		violated("client %d: heals a lock that is no longer its own",
			 f->client);
	else if (released || other)
		expose();
}

/* The server does not know that this client claimed the lock, and hands it on.
 * The renewal that would tell it is late, or the command starts late (R21). */
static void note_unheard(struct client *c)
{
	bool late = c->stopped || (c->lease.state == LEASE_HELD && !c->running);

	for (int i = 0; i < w.n_flights; i++) {
		const struct flight *f = &w.flight[i];

		late |= f->used && !f->arrived && f->token == c->token &&
			f->ask.verb == VERB_CONFIRM;
	}
	c->robbed |= late ? 1U : 0;
}

/* By asking, or handed over. */
static void node_has_granted(const struct flight *f, const struct node *n)
{
	struct client *to = NULL;

	for (int i = 0; i < w.n_clients; i++) {
		if (w.client[i].token == n->token)
			to = &w.client[i];
		else if (unheard != 0 && unheard == handed &&
			 w.client[i].token == unheard)
			note_unheard(&w.client[i]);
	}
	granted_token = n->token;
	grant_us = w.us;
	note_robbed(f->ask.node);
	handed = n->token;
	/* A newcomer's question hands the lock to the first in line, who is
	 * not told of the loss. So does a question from before it (R15). */
	for (int i = 0; i < w.losses && was_set_back; i++)
		w.exposed[i] |= f->ask.verb == VERB_ACQUIRE &&
				(!w.client[f->client].knew[i] ||
				 f->ask.seen <= w.left[i]);
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
	struct token *t = &tokens[f->token];

	if (f->token == unheard)
		unheard = 0;
	if (f->answer.said == SAID_HEALED)
		healed(c, f);
	else if (n->token != 0 && n->token != had)
		node_has_granted(f, n);
	if (f->ask.verb == VERB_RELEASE && had == f->token) {
		t->released_us = w.us;
		t->blindly = f->ask.seen == 0;
	}
	if (f->ask.verb == VERB_ACQUIRE && f->life == c->life &&
	    t->joined_us < 0 && f->answer.busy.place > 0)
		t->joined_us = w.us;
}

/* A counter that is born again is larger than those before if the clocks of
 * several nodes agree (R37), and none was set back. */
static bool fences_kept(void)
{
	if (n_nodes > 1 &&
	    (((clocks_apart || w.forward_step) && w.losses > 0) ||
	     (w.backward_step && restarts + w.losses > 0)))
		return false;
	return fences_promised();
}

static void check_fence(int who)
{
	const struct client *c = &w.client[who];
	int64_t fence = c->lease.fence;

	/* after a loss of data, on one node: it does not know yet that it was
	 * granted again; the fence in its hand says so */
	if (fence <= last_fence && fences_kept() && !may_overlap(c) &&
	    (n_nodes > 1 || !lost_since(tokens[c->token].came_us) ||
	     fence == tokens[c->token].granted_fence))
		violated("client %d: fence %" PRId64 " after %" PRId64, who,
			 fence, last_fence);
	last_fence = fence;
}

/* Where nothing fails, whoever stands in line came later. */
static void check_line(int who)
{
	int64_t mine = tokens[w.client[who].token].joined_us;

	for (int i = 0; i < w.n_clients && mine >= 0; i++) {
		const struct client *o = &w.client[i];
		int64_t joined_us = tokens[o->token].joined_us;

		if (o->alive && !o->lease.conf.supersede && joined_us >= 0 &&
		    joined_us < mine &&
		    (o->lease.state == LEASE_WAITING ||
		     o->lease.state == LEASE_ASKING))
			violated("client %d starts before client %d", who, i);
	}
}

void sim_start(int who)
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
	check_fence(who);
	if (w.calm && n_nodes == 1) /* else as well as it can be done */
		check_line(who);
	tokens[c->token].joined_us = -1;
	c->running = true;
	c->ended = c->dying = false;
	tell("client %d starts, fence %" PRId64, who, c->lease.fence);
	post(w.us + chance(w.T * 2500), EV_COMMAND_END, who, 0, 0);
}

/* ---- the nodes' answers ---- */

/* A full node cannot set a lock, unless it has taken something away first. */
static bool refuses(struct node *n, const struct flight *f)
{
	return n->full && f->ask.verb == VERB_ACQUIRE &&
	       !node_locked(n, wall_us(f->ask.node)) && n->waiters == 0;
}

void sim_arrived(int node, int slot)
{
	struct flight *f = &w.flight[slot];
	struct node *n = &nodes[node];
	struct ask ask = f->ask;
	int64_t had;

	if (w.short_guard)
		ask.guard_ms = f->conf.guard_ms;
	if (refuses(n, f)) {
		break_off(f);
		return;
	}
	had = node_locked(n, wall_us(node)) ? n->token : 0;
	f->answer = node_run(n, &ask, f->token, &f->conf, wall_us(node));
	if (f->ask.verb == VERB_ACQUIRE && f->answer.said == SAID_GRANTED)
		claimed = f->token;
	if (one_in(8)) { /* appendfsync everysec */
		saved[node] = *n;
		saved_claimed = claimed;
	}
	tell("node %d runs verb %d of client %d (token %d): said %d, "
	     "counter %" PRId64 " (knew %" PRId64
	     "), place %d, lock of %" PRId64 "%s",
	     node, f->ask.verb, f->client, f->token, f->answer.said,
	     f->answer.counter, f->ask.seen, f->answer.busy.place, n->token,
	     f->answer.lost ? ", told of a loss" : "");
	node_has_run(f, n, had);
	if (f->answer.said == SAID_QUIET) {
		listen_on(slot);
		return;
	}
	reply(slot);
	wake_listeners(node, !w.gentle);
}

bool sim_take_word(const struct flight *f)
{
	return node_heard(&nodes[f->ask.node], f->token, wall_us(f->ask.node));
}

bool sim_spent(const struct flight *f)
{
	return f->arrived && nobodys(f);
}

/* ---- clients ---- */

static void begin(int who)
{
	struct client *c = &w.client[who];
	struct lease_conf conf = {.nodes = n_nodes,
				  .ttl_ms = c->ttl,
				  .node_timeout_ms = w.T / 4,
				  .wait_ms = INT64_MAX,
				  .guard_ms = n_nodes > 1 ? c->ttl : 0,
				  .ticket = EPOCH_US + w.us + chance(20000),
				  .max_waiters = one_in(20) ? chance(3) : -1,
				  .supersede = one_in(20),
				  .seed = (uint64_t)chance(INT64_MAX)};

	new_life(who, &conf);
	c->token = ++w.tokens;
	assert(c->token < TOKENS_MAX);
	tokens[c->token] = (struct token){.came_us = w.us,
					  .granted_us = -1,
					  .first_us = -1,
					  .joined_us = -1};
	tell("client %d wants the lock (token %d, T %" PRId64 ")", who,
	     c->token, c->ttl);
	pump(who);
}

void sim_over(int who)
{
	struct client *c = &w.client[who];

	c->alive = false;
	c->life++;
	tell("client %d is done", who);
	if (w.calm && c->lease.freed && n_nodes == 1 &&
	    (nodes[0].token == c->token ||
	     node_place(&nodes[0], c->token) >= 0))
		violated("client %d has left, its token has not", who);
	if (--c->todo > 0)
		post(w.us + chance(w.T * 500), EV_NEXT, who, 0, 0);
}

void sim_lost(int who)
{
	tell("client %d loses its lease", who);
	if (w.gentle)
		violated("client %d: lost in an outage below 0.48 T", who);
	else if (rolls && !may_overlap(&w.client[who]))
		violated("client %d: lost by an older counter", who);
	kill_command(who);
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
	sim_over(who);
}

/* ---- faults ---- */

/* The one server has lost what came last. A lock that had been released may be
 * there again: its holder is dead, and others lose theirs to it. */
static void set_back(struct node *n, int64_t holder)
{
	bool free = !node_locked(n, wall_us(0));

	was_set_back = true;
	note_loss(0, n->counter > 0 ? n->counter : 0, holder);
	if (!free)
		expose();
}

/* Who has the lock at most nodes is safe: the node does not vote for a while.
 */
static void restart(int node, bool empty)
{
	int64_t holder = nodes[node].token;

	tell("node %d is restarted, and %s", node,
	     empty ? "empty" : "set back by a little");
	if (empty)
		node_flush(&nodes[node]);
	node_restart(&nodes[node], empty ? &nodes[node] : &saved[node],
		     wall_us(node));
	saved[node] = nodes[node];
	if (n_nodes == 1 && claimed == holder && saved_claimed != holder)
		unheard = holder;
	claimed = saved_claimed = empty ? 0 : saved_claimed;
	handed = nodes[node].token;
	restarts++;
	if (n_nodes == 1)
		set_back(&nodes[node], holder);
	for (int i = 0; i < w.n_flights; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != node)
			continue;
		f->blocked = false;
		break_off(f);
	}
}

static void lose_data(int node)
{
	tell("node %d loses everything", node);
	note_loss(node, 0, nodes[node].token);
	node_flush(&nodes[node]);
}

static void evict(int node, bool counter)
{
	struct node *n = &nodes[node];

	if (!node_locked(n, wall_us(node)))
		return;
	tell("node %d: the lock key vanishes%s", node,
	     counter ? ", and the counter" : "");
	if (counter)
		note_loss(node, 0, n->token);
	n->token = 0;
	if (counter) {
		n->counter = -1;
		return;
	}
	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].token == n->record)
			w.client[i].robbed |= 1U << node;
}

static void step_time(int node)
{
	double ms = step_clock(node);

	tell("node %d: its clock steps by %.3f ms", node, ms);
}

static void be_full(int node, bool full)
{
	nodes[node].full = full;
	tell("node %d is %s", node, full ? "full" : "no longer full");
}

static void plan_faults(void)
{
	int64_t span = w.T * 12000;

	w.quiet_us = span;
	/* one outage below 0.48 T and nothing else: nobody may notice */
	w.gentle = one_in(4);
	w.calm = w.gentle && one_in(2);
	if (w.gentle) {
		plan_outage();
		return;
	}
	rolls = n_nodes == 1 && one_in(6);
	if (n_nodes == 1 && (rolls || one_in(4)))
		for (int i = (int)chance(3); i >= 0; i--)
			post(w.T * 500 + chance(span / 2), EV_FLUSH, 0, 2, 0);
	w.steady = rolls;
	if (rolls)
		return;
	for (int i = (int)chance(4); i > 0; i--)
		post(chance(span), EV_DOWN, (int)chance(n_nodes), one_in(2),
		     chance(w.T * 2000));
	if (one_in(n_nodes > 1 ? 8 : 4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_FLUSH, (int)chance(n_nodes), 0,
			     0);
	if (n_nodes > 1 && one_in(2))
		for (int i = (int)chance(6); i >= 0; i--)
			post(chance(span), EV_FLUSH, (int)chance(n_nodes),
			     1 + (int)chance(2), 0);
	if (one_in(8))
		post(chance(span), EV_STEP, (int)chance(n_nodes), 0, 0);
	if (one_in(4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_EVICT, (int)chance(n_nodes),
			     one_in(3), 0);
	if (one_in(8)) {
		int64_t from = chance(span), node = chance(n_nodes);

		post(from, EV_FULL, (int)node, 1, 0);
		post(from + chance(w.T * 4000), EV_FULL, (int)node, 0, 0);
	}
	plan_deaths(span, w.n_clients);
}

/* ---- one schedule ---- */

void sim_event(const struct event *e)
{
	const struct client *c = &w.client[e->who];

	switch ((int)e->kind) {
	case EV_NEXT:
		begin(e->who);
		break;
	case EV_COMMAND_END:
		if (c->running && !c->dying)
			command_gone(e->who);
		break;
	case EV_COMMAND_DEAD:
		if (c->running)
			command_gone(e->who);
		break;
	case EV_CRASH:
		crash_client(e->who);
		break;
	case EV_FLUSH:
		if (e->slot)
			restart(e->who, e->slot == 1);
		else
			lose_data(e->who);
		break;
	case EV_STEP:
		step_time(e->who);
		break;
	case EV_EVICT:
		evict(e->who, e->slot);
		break;
	case EV_FULL:
		be_full(e->who, e->slot);
		break;
	default:
		assert(!"no event of a plain lock");
	}
}

static void check_end(void)
{
	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].todo > 0 || w.client[i].alive ||
		    w.client[i].running)
			violated("client %d never finished (state %d)", i,
				 w.client[i].lease.state);
	for (int i = 0; i < n_nodes; i++) {
		/* an acquire delayed on a given-up connection may leave an
		 * orphan, for T at most */
		w.us += w.T * 20000;
		if (node_locked(&nodes[i], wall_us(i)) && !w.backward_step)
			violated("a lock is left on node %d", i);
	}
}

static void setup(uint64_t seed, int twin, bool aloud)
{
	world_begin(seed, twin, aloud);
	w.late_stamp = twin == TWIN_STAMP_AT_REPLY;
	w.no_poll = twin == TWIN_NO_POLL;
	w.old_grant = twin == TWIN_OLD_GRANT;
	w.short_guard = twin == TWIN_SHORT_GUARD;
	last_fence = last_grant = granted_token = grant_us = 0;
	restarts = 0;
	rolls = was_set_back = false;
	claimed = saved_claimed = unheard = handed = 0;
	clocks_apart = one_in(n_nodes > 1 ? 2 : 1);
	for (int i = 0; i < n_nodes; i++) {
		struct server *s = &w.server[i];

		nodes[i] = (struct node){.twin = (enum twin)twin};
		node_flush(&nodes[i]);
		(void)snprintf(s->name, sizeof(s->name), "node %d", i);
		s->rate_ppm = i > 0 && !clocks_apart ? w.server[0].rate_ppm
						     : any_rate_ppm();
		/* up for long, each since another moment */
		nodes[i].up_us = EPOCH_US - 1000000000 - i;
		saved[i] = nodes[i];
		if (n_nodes > 1 && clocks_apart)
			s->step_us = chance(w.T * 250);
	}
	plan_faults();
	w.unequal = true;
	world_people();
}

bool sim_run(uint64_t seed, int twin, bool aloud)
{
	setup(seed, twin, aloud);
	while (world_step())
		;
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
	[TWIN_BACK_IS_LOST] = "an older counter ends a hold",
	[TWIN_OLD_GRANT] = "a renewal counts as a new grant",
	[TWIN_NO_GUARD] = "no restart guard",
	[TWIN_SHORT_GUARD] = "a guard of our own T alone",
	[TWIN_ROLLED_BACK] = "a counter that was set back goes on by 1",
	[TWIN_NUMBER] = "a late release counts",
};

const char *sim_twin(int twin)
{
	return twin < TWIN_COUNT ? twin_names[twin] : NULL;
}

uint64_t sim_twin_from(int twin)
{
	return twin == TWIN_SHORT_GUARD ? 256000 : 1;
}

int sim_twin_nodes(int twin)
{
	return twin >= TWIN_NO_GUARD ? 3 : 1;
}

const char *sim_scope(void)
{
	static char text[32];

	(void)snprintf(text, sizeof(text), "on %d node%s", n_nodes,
		       n_nodes > 1 ? "s" : "");
	return text;
}

int main(int argc, char **argv)
{
	return world_main(argc, argv, &n_nodes);
}
