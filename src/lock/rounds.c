/* SPDX-License-Identifier: MIT */
/* Acquiring. Read lease.h first. */
#include "lock/rounds.h"

#include "lock/queue.h"
#include "lock/timing.h"

#define POLL_MS 100         /* between looks, where data were lost */
#define BACKOFF_LEAST_MS 10 /* between rounds that nobody answered */
#define BACKOFF_MOST_MS 500
#define UNREACHED_MS 5000  /* then nobody ever answered: give up */
#define LISTEN_LEAST_MS 20 /* not worth a question */
#define CUT_OFF_MOST 2
#define BROKEN_MS 100 /* who listens comes back within, not all at once */
#define KEEP_MS 1000  /* for so long a minority is kept */
#define CLAIMS_MOST 5 /* of those whose counters others move, too */

static int votes(const struct lease *l, enum vote vote)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].vote == vote;
	return sum;
}

bool lease_answered(const struct lease *l)
{
	return votes(l, VOTE_NO) + votes(l, VOTE_YES) >=
	       lease_quorum(l->conf.nodes);
}

bool lease_reached(const struct lease *l)
{
	int sum = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		sum += l->node[i].answered;
	return l->conf.reached || sum >= lease_quorum(l->conf.nodes);
}

int lease_place(const struct lease *l)
{
	int place = -1;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		if (n->vote == VOTE_NO && n->busy.place > place)
			place = n->busy.place;
	}
	return l->conf.wait_ms > 0 ? place : -1;
}

/* When a lock that is not to be had is given up. */
static struct instant limit_of(const struct lease *l)
{
	return lease_reached(l)
		       ? l->give_up
		       : sooner(l->give_up, after(l->began, UNREACHED_MS));
}

/* A release of ours may be under way, or come late: what is granted there now
 * it would free. */
static bool to_be_left(const struct lease_node *n)
{
	bool owed = n->want == VERB_RELEASE;

	for (int c = 0; c < CHANNELS; c++)
		owed |= n->chan[c].release ||
			n->chan[c].ask.verb == VERB_RELEASE;
	return owed || n->spoiled;
}

static void ask_node(struct lease *l, int i, struct instant at)
{
	struct lease_node *n = &l->node[i];

	n->woken = false;
	n->vote = VOTE_OPEN;
	lease_want(n, VERB_ACQUIRE, at);
}

static void ask_from(struct lease *l, struct instant at)
{
	l->state = LEASE_ASKING;
	l->replicating = false;
	l->claims = 0;
	l->round_by = after(at, l->conf.node_timeout_ms);
	l->last_look = false;
}

static void round_check(struct lease *l, struct instant at);

void rounds_begin(struct lease *l, struct instant at)
{
	int64_t look = 0;

	ask_from(l, at);
	l->whole = true;
	/* what was not so may be so again: its hold was lost, and healed */
	l->joining = l->conf.outer.token[0] != '\0';
	if (l->backoff_ms == 0)
		l->backoff_ms = BACKOFF_LEAST_MS;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		if (to_be_left(n))
			n->vote = VOTE_DOWN;
		else
			ask_node(l, i, at);
		if (timing_hedge(n->srtt_ms) > look)
			look = timing_hedge(n->srtt_ms);
	}
	/* the first one has its time, also for -n; the last look is a short one
	 */
	if (before(l->began, at))
		l->round_by = sooner(l->round_by,
				     after(later(limit_of(l), at), look));
	l->last_look = before(l->round_by, after(at, l->conf.node_timeout_ms));
}

/* Woken on this node: the others have said nothing new. */
static void ask_again(struct lease *l, int i, struct instant at)
{
	if (l->conf.nodes == 1) {
		rounds_begin(l, at);
		return;
	}
	if (l->state == LEASE_WAITING) {
		ask_from(l, at);
		l->whole = false;
	}
	if (!to_be_left(&l->node[i]))
		ask_node(l, i, at);
}

/* How long until another look. Where data were lost, often: the holder may heal
 * its lock, and they may be lost again, and only who saw the lock in between
 * knows that it has to wait anew. */
static int64_t pause_of(struct lease *l, struct instant at)
{
	int64_t less = lease_jitter(l, POLL_MS / 5), ms = HEARTBEAT_MS;

	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];
		struct answer busy = n->busy;
		int64_t look = ms, rest = between(at, n->embargo);

		busy.foreign |= before(at, n->deaf_until);
		if (n->vote == VOTE_NO)
			look = queue_delay(&busy, less);
		if (rest > 0 && look > POLL_MS - less)
			look = POLL_MS - less;
		if (rest > 0 && look > rest)
			look = rest;
		if (look < ms)
			ms = look;
	}
	return ms;
}

/* A word should have come long ago, or be asked for again. */
static bool listens(struct lease_node *n, struct instant at)
{
	for (int c = 0; c < CHANNELS; c++) {
		const struct ask *a = &n->chan[c].ask;

		if (a->verb == VERB_LISTEN &&
		    before(at, after(a->sent, LISTEN_MS + HEARTBEAT_MS)))
			return true;
	}
	lease_deaf(n);
	return false;
}

/* Until the next round, a node where we are in line is listened to. (The first
 * in line behind another program's lock is woken by nobody.) */
static void listen(struct lease *l, struct lease_node *n, struct instant at)
{
	int place =
		l->conf.wait_ms > 0 && n->vote == VOTE_NO ? n->busy.place : -1;

	if (to_be_left(n))
		return;
	if (place >= 0 && !before(at, n->deaf_until) &&
	    !(place == 0 && n->busy.foreign) &&
	    between(at, l->next_round) >= LISTEN_LEAST_MS && !listens(n, at))
		lease_want(n, VERB_LISTEN, at);
	else
		n->want = VERB_NONE;
}

static void give_up(struct lease *l, bool busy, struct instant at)
{
	/* too short a look proves nothing */
	busy |= l->last_look && l->was_busy;
	lease_finish(l, busy ? END_BUSY : END_UNAVAILABLE, at);
}

/* ---- several nodes: a minority ---- */

static int64_t keep_ms(const struct lease *l)
{
	return l->conf.ttl_ms / 4 < KEEP_MS ? l->conf.ttl_ms / 4 : KEEP_MS;
}

/* Whoever has it there may not have a quorum, and give it back. */
static bool is_recent(const struct lease *l, const struct lease_node *n)
{
	return n->vote == VOTE_NO && n->busy.said == SAID_BUSY &&
	       n->busy.age_ms >= 0 && n->busy.age_ms < keep_ms(l);
}

/* Others want it at this moment, and nobody has it yet. */
static bool is_split(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes; i++)
		if (is_recent(l, &l->node[i]))
			return true;
	return false;
}

static bool is_taken(const struct lease_node *n)
{
	return n->vote == VOTE_NO && n->busy.said == SAID_BUSY &&
	       n->busy.holder != 0;
}

/* Somebody has a quorum, as this round has shown. */
static bool is_lost(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes && l->whole; i++) {
		int same = 0;

		for (int j = 0; j < l->conf.nodes && is_taken(&l->node[i]); j++)
			same += is_taken(&l->node[j]) &&
				l->node[j].busy.holder ==
					l->node[i].busy.holder;
		if (same >= lease_quorum(l->conf.nodes))
			return true;
	}
	return false;
}

/* Or is about to, and came before us. Who is granted here and there for longer
 * than one would wait is not about to. */
static bool is_outranked(const struct lease *l)
{
	for (int i = 0; i < l->conf.nodes && l->whole; i++) {
		const struct lease_node *n = &l->node[i];

		if (is_recent(l, n) && n->busy.holder_ticket > 0 &&
		    n->busy.holder_ticket < l->conf.ticket)
			return true;
	}
	return false;
}

/* Behind whatever may be granted still. */
static void give_back(struct lease_node *n, struct instant at)
{
	lease_want_release(n, at);
	n->gave_back = at;
	n->mine = false;
	n->vote = VOTE_DOWN;
}

static void give_all_back(struct lease *l, struct instant at)
{
	bool any = false;

	l->keep_until = NEVER;
	for (int i = 0; i < l->conf.nodes && l->conf.nodes > 1; i++) {
		if (!l->node[i].mine)
			continue;
		give_back(&l->node[i], at);
		any = true;
	}
	if (!any)
		return;
	if (l->split_ms == 0)
		l->split_ms = BACKOFF_LEAST_MS;
	l->pause_until =
		after(at, l->split_ms / 2 + lease_jitter(l, l->split_ms));
	l->split_ms = 2 * l->split_ms < BACKOFF_MOST_MS ? 2 * l->split_ms
							: BACKOFF_MOST_MS;
}

/* A minority is ours, and for a moment it is worth keeping: the other nodes'
 * grants may be on their way, and whoever came later gives theirs back. */
static bool keeps(struct lease *l, struct instant at)
{
	bool any = false;

	for (int i = 0; i < l->conf.nodes; i++)
		any |= l->node[i].mine;
	if (!any || l->conf.nodes == 1)
		return false;
	if (l->keep_until.ms == NEVER.ms)
		l->keep_until = after(at, keep_ms(l));
	return before(at, l->keep_until) && !is_lost(l) && !is_outranked(l);
}

/* What somebody with a quorum does not have is not taken from it, for as long
 * as it has that. True: it has not any more. */
static bool stand_off(struct lease *l)
{
	bool lost = is_lost(l), freed = false;

	for (int i = 0; i < l->conf.nodes && l->whole; i++) {
		struct lease_node *n = &l->node[i];

		freed |= n->off && !lost;
		n->off = lost && (n->off || n->mine) && !is_taken(n);
	}
	return freed;
}

/* When to look what became of the others. */
static struct instant next_look(const struct lease *l, struct instant at)
{
	int64_t look = 0;

	for (int i = 0; i < l->conf.nodes; i++)
		if (timing_hedge(l->node[i].srtt_ms) > look)
			look = timing_hedge(l->node[i].srtt_ms);
	/* nobody wakes whoever is not in line */
	if (l->conf.wait_ms <= 0)
		return sooner(l->keep_until, after(at, look / 5));
	return l->whole ? l->keep_until : after(at, look);
}

/* What time will not change. */
static enum lease_end hopeless(struct lease *l)
{
	int spoiled = 0, refused = 0, most;

	most = l->conf.nodes - lease_quorum(l->conf.nodes);
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		spoiled += n->spoiled;
		refused += n->vote == VOTE_DOWN && n->refused;
		if (n->vote == VOTE_NO && n->busy.said == SAID_FULL)
			return END_FULL;
	}
	if (refused > most)
		l->refusal = FAIL_REFUSED;
	return refused > most   ? END_REFUSED
	       : spoiled > most ? END_STALE
				: END_NONE;
}

/* Too few hold what the outer one has: then it is not held, or not any more. */
static bool joins_in_vain(struct lease *l, struct instant at)
{
	int may = 0, spoiled = 0;

	if (!l->joining || l->conf.nodes == 1 || votes(l, VOTE_NO) == 0)
		return false;
	for (int i = 0; i < l->conf.nodes; i++) {
		may += l->node[i].mine || l->node[i].spoiled;
		spoiled += l->node[i].spoiled;
	}
	/* with those that we may not ask it would be a quorum */
	if (spoiled > 0 && may >= lease_quorum(l->conf.nodes)) {
		lease_finish(l, END_STALE, at);
		return true;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].mine)
			give_back(&l->node[i], at);
	rounds_begin(l, at);
	l->joining = l->joined = false;
	return true;
}

static void round_fail(struct lease *l, struct instant at)
{
	bool busy = lease_answered(l), woken = false, keep, freed;
	struct instant limit = limit_of(l);
	enum lease_end end = hopeless(l);

	if (joins_in_vain(l, at))
		return;
	if (end != END_NONE) {
		lease_finish(l, end, at);
		return;
	}
	freed = stand_off(l);
	keep = keeps(l, at);
	if (!before(at, limit) && !(keep && is_split(l))) {
		give_up(l, busy, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		woken |= l->node[i].woken;
	l->was_busy = busy;
	l->state = LEASE_WAITING;
	if (busy) {
		l->backoff_ms = BACKOFF_LEAST_MS;
		l->next_round =
			woken || freed ? at : after(at, pause_of(l, at));
	} else {
		l->next_round = after(
			at, l->backoff_ms / 2 + lease_jitter(l, l->backoff_ms));
		l->backoff_ms = l->backoff_ms * 2 < BACKOFF_MOST_MS
					? l->backoff_ms * 2
					: BACKOFF_MOST_MS;
	}
	l->next_round = sooner(l->next_round, keep ? next_look(l, at) : limit);
	if (!keep)
		give_all_back(l, at);
	for (int i = 0; i < l->conf.nodes; i++) {
		/* a server that does not answer is not heard either */
		if (l->node[i].vote == VOTE_DOWN)
			lease_deaf(&l->node[i]);
		listen(l, &l->node[i], at);
	}
}

static void held(struct lease *l, struct instant at)
{
	l->state = LEASE_HELD;
	l->held = true;
	l->keep_until = NEVER;
	l->split_ms = BACKOFF_LEAST_MS;
	l->only = 0;
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];

		lease_deaf(n);
		n->off = false;
		/* of another slot */
		if (n->mine && n->slot != l->slot)
			give_back(n, at);
		else if (!to_be_left(n))
			lease_want(n, VERB_CONFIRM,
				   timing_renew(n->mine ? n->stamp : l->began,
						l->conf.ttl_ms));
	}
	l->held_from = lease_stamp(l);
}

/* With one fence. Replicas are asked for once that is settled. */
static void agreed(struct lease *l, struct instant at)
{
	if (l->conf.replicas == 0 || l->replicating) {
		held(l, at);
		return;
	}
	l->replicating = true;
	l->state = LEASE_CLAIMING;
	/* the server answers at the end of its own time-out */
	l->round_by = after(at, 2 * l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		if (to_be_left(n))
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		lease_want(n, yes ? VERB_REPLICATE : VERB_NONE, at);
	}
}

/* A slot is a lock of its own, and a quorum must be of the same. Each node gave
 * the first that was free there: a lower one is not free on all. False: it is
 * to be asked for. */
static bool one_slot(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes), highest = 0;

	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].slot == l->node[i].slot;
		if (l->node[i].vote == VOTE_YES && same >= q) {
			l->slot = l->node[i].slot;
			return true;
		}
		if (l->node[i].vote == VOTE_YES && l->node[i].slot > highest)
			highest = l->node[i].slot;
	}
	if (l->only == highest + 1)
		highest = (highest + 1) % l->conf.slots;
	l->only = highest + 1;
	l->pause_until = at;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].mine && l->node[i].slot != highest)
			give_back(&l->node[i], at);
	return false;
}

/* The largest counter becomes the fence when a quorum has stored it under our
 * token: see rounds_claimed(). */
static void store(struct lease *l, int64_t most, struct instant at)
{
	l->fence = most;
	l->state = LEASE_CLAIMING;
	l->round_by = after(at, l->conf.node_timeout_ms);
	for (int i = 0; i < l->conf.nodes; i++) {
		struct lease_node *n = &l->node[i];
		bool yes = n->vote == VOTE_YES;

		if (to_be_left(n))
			continue;
		n->vote = yes ? VOTE_OPEN : VOTE_DOWN;
		lease_want(n, yes ? VERB_CONFIRM : VERB_NONE, at);
	}
}

/* A quorum granted. One value from q nodes is a fence at once. */
static void claim(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int64_t most = 0;

	if (!one_slot(l, at)) {
		round_fail(l, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_YES && l->node[i].slot != l->slot)
			l->node[i].vote = VOTE_DOWN;
	if (l->joined) {
		agreed(l, at);
		return;
	}
	for (int i = 0; i < l->conf.nodes; i++) {
		int same = 0;

		if (l->node[i].vote != VOTE_YES)
			continue;
		for (int j = 0; j < l->conf.nodes; j++)
			same += l->node[j].vote == VOTE_YES &&
				l->node[j].counter == l->node[i].counter;
		if (same >= q) {
			l->fence = l->node[i].counter;
			agreed(l, at);
			return;
		}
		if (l->node[i].counter > most)
			most = l->node[i].counter;
	}
	store(l, most, at);
}

static bool is_ours(const struct lease *l, const struct lease_node *n)
{
	return n->mine && n->slot == l->slot;
}

/* A quorum is ours still, but the counters have moved: a larger one. */
static bool claims_again(struct lease *l, struct instant at)
{
	int64_t most = l->fence;
	int mine = 0;

	if (l->state != LEASE_CLAIMING || l->replicating ||
	    ++l->claims > CLAIMS_MOST)
		return false;
	for (int i = 0; i < l->conf.nodes; i++) {
		const struct lease_node *n = &l->node[i];

		mine += is_ours(l, n);
		if (is_ours(l, n) && n->counter > most)
			most = n->counter;
	}
	if (mine < lease_quorum(l->conf.nodes))
		return false;
	for (int i = 0; i < l->conf.nodes; i++)
		l->node[i].vote =
			is_ours(l, &l->node[i]) ? VOTE_YES : VOTE_DOWN;
	store(l, most + 1, at);
	return true;
}

/* A quorum cannot be had, and whether because it is held is known, too. */
static bool is_decided(const struct lease *l)
{
	int q = lease_quorum(l->conf.nodes), open = votes(l, VOTE_OPEN);
	int yes = votes(l, VOTE_YES), said = yes + votes(l, VOTE_NO);

	return yes + open < q && (said >= q || said + open < q);
}

static void round_check(struct lease *l, struct instant at)
{
	int q = lease_quorum(l->conf.nodes);
	int yes = votes(l, VOTE_YES);

	if (yes >= q && l->state == LEASE_ASKING)
		claim(l, at);
	else if (yes >= q)
		agreed(l, at);
	else if (is_decided(l) && !claims_again(l, at))
		round_fail(l, at);
}

/* ---- answers ---- */

/* The node may be asked again. */
void rounds_gave_back(struct lease *l, struct lease_node *n, struct instant at)
{
	if (to_be_left(n))
		return;
	if (l->state == LEASE_WAITING)
		l->next_round =
			sooner(l->next_round, later(at, l->pause_until));
	else if (l->state == LEASE_HELD)
		lease_want(n, VERB_CONFIRM, timing_renew(at, l->conf.ttl_ms));
}

/* Data were lost: an unaware holder may have renewed until this answer. */
static void wait_out(struct lease *l, struct lease_node *n, struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (n->holder_ttl_ms > ttl)
		ttl = n->holder_ttl_ms;
	n->embargo = after(at, ttl);
}

/* A waiter's memory: a counter that is behind what it saw proves a loss. */
static void remember(struct lease *l, struct lease_node *n,
		     const struct answer *a, struct instant at)
{
	if (a->counter < n->counter || a->lost)
		wait_out(l, n, at);
	n->counter = a->counter;
	/* a foreign holder has at most what is left */
	if (a->said == SAID_BUSY &&
	    (a->foreign ? a->pttl_ms : a->holder_ttl_ms) > 0)
		n->holder_ttl_ms = a->foreign ? a->pttl_ms : a->holder_ttl_ms;
	n->busy = *a;
	if (a->said != SAID_BUSY && a->said != SAID_GUARDED)
		n->busy.pttl_ms = -1;
}

/* Two names of one server would count twice. */
static bool is_twin(struct lease *l, struct lease_node *n,
		    const struct answer *a, struct instant at)
{
	int me = (int)(n - l->node);

	n->server = a->server;
	for (int i = 0; i < l->conf.nodes; i++)
		if (i != me && a->server != 0 &&
		    l->node[i].server == a->server) {
			l->twin[0] = i < me ? i : me;
			l->twin[1] = i < me ? me : i;
			n->mine = false;
			n->want = VERB_NONE;
			if (l->in_use)
				return true;
			l->refusal = FAIL_CONFIG;
			lease_finish(l, END_REFUSED, at);
			return true;
		}
	return false;
}

/* The outer one's hold is no part of ours, nor ours of that: a counter that was
 * told with it is nobody's fence. */
static void decline(const struct lease *l, struct lease_node *n,
		    const struct ask *asked, struct instant at)
{
	if (n->mine || l->state == LEASE_CLAIMING)
		return;
	n->joins |= asked->joins;
	n->mine = true;
	give_back(n, at);
}

static void granted(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	int64_t ttl = l->conf.ttl_ms;

	if (l->state == LEASE_RELEASING) {
		/* it may have run after our release */
		lease_want(n, VERB_RELEASE, at);
		return;
	}
	if (l->state == LEASE_LOST || l->state == LEASE_OVER)
		return;
	/* it was given back behind this, or is about to be */
	if (l->conf.nodes > 1 &&
	    (to_be_left(n) || !before(n->gave_back, asked->sent)))
		return;
	if (a->lost || a->counter < n->counter)
		wait_out(l, n, at);
	/* the other question of this round, come late */
	if (l->state == LEASE_HELD && asked->joins != l->joined)
		return;
	if (l->conf.nodes > 1 && asked->joins != l->joining) {
		decline(l, n, asked, at);
		return;
	}
	if (is_twin(l, n, a, at))
		return;
	n->joins = asked->joins;
	if (l->state != LEASE_CLAIMING)
		l->joining = l->joined = asked->joins;
	if (l->joined)
		l->fence = l->conf.outer.fence;
	/* an earlier grant, come late, is not the one that stands */
	if (!n->mine || !before(asked->sent, n->stamp)) {
		n->slot = a->slot;
		n->group = a->group;
	}
	lease_credit(l, n, asked, a);
	n->queued = false;
	/* late, and ours all the same: it counts from its own question */
	if (l->state == LEASE_WAITING)
		ask_again(l, (int)(n - l->node), at);
	l->joining = l->joined;
	if (l->state == LEASE_HELD && n->slot != l->slot)
		give_back(n, at);
	else if (l->state == LEASE_HELD && n->want == VERB_NONE &&
		 !lease_spent(l))
		lease_want(n, VERB_CONFIRM,
			   timing_renew(n->stamp, l->conf.ttl_ms));
	if (l->state != LEASE_ASKING)
		return;
	n->vote = VOTE_YES;
	n->want = VERB_NONE;
	/* too soon after a loss: keep what it gave, for nobody else may have
	 * it, but do not start yet */
	if (before(at, n->embargo)) {
		n->vote = VOTE_NO;
		n->busy = (struct answer){
			.said = SAID_BUSY, .pttl_ms = ttl / 6, .place = -1};
	}
	round_check(l, at);
}

/* An answer after which there is nothing to wait for. */
static const enum lease_end ending_of[SAID_NO + 1] = {
	[SAID_SUPERSEDED] = END_SUPERSEDED,
	[SAID_DONE] = END_DONE,
	[SAID_INSIDE] = END_INSIDE,
};

/* By this round; or, of several nodes, it was quicker than this one. */
static bool is_awaited(const struct lease *l, const struct lease_node *n,
		       const struct ask *asked)
{
	if (l->conf.nodes == 1)
		return l->state == LEASE_ASKING && n->vote == VOTE_OPEN;
	if (asked->joins != l->joining || to_be_left(n))
		return false;
	return n->vote == VOTE_OPEN
		       ? l->state == LEASE_ASKING || l->state == LEASE_WAITING
		       : n->vote == VOTE_DOWN && l->state == LEASE_WAITING;
}

void rounds_answer(struct lease *l, struct lease_node *n,
		   const struct ask *asked, const struct answer *a,
		   struct instant at)
{
	enum lease_end end = ending_of[a->said];

	if (a->said == SAID_GRANTED) {
		granted(l, n, asked, a, at);
		return;
	}
	/* whoever started us does not hold it, or not any more */
	if (asked->joins && a->said == SAID_NO && l->conf.nodes == 1) {
		if (l->state != LEASE_ASKING || n->vote != VOTE_OPEN)
			return;
		lease_want(n, VERB_ACQUIRE, at);
		l->joining = l->joined = false;
		return;
	}
	/* also when the answer comes late: we are in line, and must leave it */
	n->queued |= a->place >= 0;
	if (a->ticket > n->ticket)
		n->ticket = a->ticket;
	if (!is_awaited(l, n, asked))
		return;
	n->mine = false;
	n->want = VERB_NONE;
	n->vote = VOTE_NO;
	if (end != END_NONE) {
		/* a lock handed over meanwhile is to be passed on */
		n->queued &= end == END_DONE;
		n->unsure |= n->queued;
		lease_finish(l, end, at);
		return;
	}
	if (a->said == SAID_FULL)
		n->queued = false;
	if (a->said == SAID_NO || a->said == SAID_FULL)
		n->busy = *a;
	else
		remember(l, n, a, at);
	if (l->state == LEASE_WAITING) {
		listen(l, n, at);
		return;
	}
	if (n->woken && a->said == SAID_BUSY)
		ask_node(l, asked->node, at);
	round_check(l, at);
}

void rounds_claimed(struct lease *l, struct lease_node *n,
		    const struct ask *asked, const struct answer *a,
		    struct instant at)
{
	bool mine = a->said != SAID_NO, ours;

	if (asked->fence != l->fence)
		return;
	/* More than the fence is not what we know of: it was granted to us
	 * anew, and others may have been before; or they hold as well, and move
	 * the counter, too. So it must have become the fence by us, or have
	 * been granted to us as such. */
	ours = a->counter == l->fence && (a->raised || n->counter == l->fence);
	if (mine)
		lease_credit(l, n, asked, a);
	else
		n->mine = false;
	n->vote = mine && ours ? VOTE_YES : VOTE_NO;
	n->busy = (struct answer){.pttl_ms = -1, .place = -1};
	n->want = VERB_NONE;
	round_check(l, at);
}

/* Too few of them are no matter of time. */
void rounds_replicated(struct lease *l, struct lease_node *n,
		       const struct answer *a, struct instant at)
{
	if (l->state != LEASE_CLAIMING || !l->replicating)
		return;
	n->want = VERB_NONE;
	n->vote = a->counter < l->conf.replicas ? VOTE_NO : VOTE_YES;
	if (votes(l, VOTE_YES) + votes(l, VOTE_OPEN) <
	    lease_quorum(l->conf.nodes)) {
		l->refusal = FAIL_UNAVAILABLE;
		lease_finish(l, END_REFUSED, at);
		return;
	}
	round_check(l, at);
}

void rounds_heard(struct lease *l, const struct ask *asked, bool woken,
		  struct instant at)
{
	struct lease_node *n = &l->node[asked->node];

	n->woken |= woken;
	if (woken && (l->state == LEASE_WAITING ||
		      (l->state == LEASE_ASKING && n->vote == VOTE_NO)))
		ask_again(l, asked->node, at);
	/* a server that will not wait is not asked to before the next round */
	else if (l->state == LEASE_WAITING &&
		 between(asked->sent, at) >= LISTEN_MS / 2)
		listen(l, n, at);
}

/* Cut off: back at once, but not all at once. Refused, or cut off as soon as it
 * began (a proxy that knows no BLPOP): then we look, as outsiders do. */
void rounds_unheard(struct lease *l, const struct ask *asked, bool cut_off,
		    struct instant at)
{
	struct lease_node *n = &l->node[asked->node];
	int64_t jitter = lease_jitter(l, BROKEN_MS);

	if (between(asked->sent, at) >= OUTSIDE_MS)
		n->cut_off = 0;
	if (!cut_off || ++n->cut_off > CUT_OFF_MOST) {
		n->deaf_until = after(at, LISTEN_MS);
		jitter = OUTSIDE_MS - jitter;
	}
	l->next_round = sooner(l->next_round, after(at, jitter));
}

void rounds_failed(struct lease *l, struct lease_node *n, enum fail_kind kind,
		   struct instant at)
{
	/* one of several may be refused as it may be down: whoever set it up
	 * wrongly has set up a quorum rightly */
	n->refused = kind == FAIL_REFUSED;
	if (kind != FAIL_UNAVAILABLE &&
	    (l->conf.nodes == 1 || kind != FAIL_REFUSED)) {
		l->refusal = kind;
		lease_finish(l, END_REFUSED, at);
		return;
	}
	/* asked twice: the other answer may come */
	for (int c = 0; c < CHANNELS && l->state == LEASE_ASKING; c++)
		if (n->chan[c].ask.verb == VERB_ACQUIRE)
			return;
	if (n->vote != VOTE_OPEN)
		return;
	n->vote = VOTE_DOWN;
	if (l->state == LEASE_WAITING)
		return;
	n->want = VERB_NONE;
	round_check(l, at);
}

/* ---- time ---- */

void rounds_tick(struct lease *l, struct instant at)
{
	if (l->state == LEASE_WAITING && !before(at, l->next_round))
		rounds_begin(l, at);
	if ((l->state != LEASE_ASKING && l->state != LEASE_CLAIMING) ||
	    before(at, l->round_by))
		return;
	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].vote == VOTE_OPEN)
			l->node[i].vote = VOTE_DOWN;
	round_check(l, at);
}

struct instant rounds_wake(const struct lease *l)
{
	if (l->state == LEASE_WAITING)
		return l->next_round;
	if (l->state == LEASE_ASKING || l->state == LEASE_CLAIMING)
		return l->round_by;
	return NEVER;
}
