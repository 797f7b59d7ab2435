/* SPDX-License-Identifier: MIT */
/*
 * The simulator: the lease's own code (src/lock) and the scripts themselves
 * (src/lua, on the small Redis of redis.c) in a world of clients, servers,
 * networks, clocks and processes that fail in every way we could think of. One
 * seed is one schedule.
 *
 *   sim SEED [--nodes N]                      one schedule, with a log
 *   sim --runs N [--from SEED] [--nodes N]    many, without
 *   sim --twins N                             whether each broken twin is
 *                                             caught within N
 *   sim --differ SOCKET STEPS SEED            redis.c against a real server
 *   sim --plain STEPS SEED                    the short cut against the rest
 *   sim --plain-twins STEPS                   and its broken twins
 *   sim --rules FILE                          what the scripts answer: rules.h
 *   sim --same FILE FILE                      whether two scripts compile to
 *                                             the same code
 *   sim --scripts DIR ...                     the same with other scripts:
 *                                             twin.h
 * (For --differ and --plain see compare.h.)
 *
 * What is checked:
 *   - two commands run at once only if they share the lock (P1);
 *   - a fence is given once, and is larger than those of all commands that had
 *     ended before its grant (P2);
 *   - an outage shorter than 0.48 T ends no command (P6);
 *   - a holder that --replace asks to stop is dead in time, on one server;
 *   - a free slot is granted within the longest lease that lives and one poll
 *     (P4): see check_waits();
 *   - every waiter gets the lock in the end, and nothing is left;
 *   - each key but the state has an expiry, and a slot has as many entries as
 *     it says;
 *   - if nothing fails, waiters start in the order in which they came, those
 *     with --priority high as if a minute earlier; on several nodes, at most
 *     two that came later start before a waiter (P5).
 * P1 has one exception, that of "When a server loses data" in docs/protocol.md:
 * see is_excused(). A server clock that steps ends leases early: then P1 is
 * promised only as far as the other servers have the lock.
 */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/core/timing.h"
#include "lock/wire/answer.h"
#include "lock/wire/admin.h"
#include "lock/wire/request.h"
#include "compare.h"
#include "redis.h"
#include "rules.h"
#include "twin.h"
#include "world.h"

#define TOKENS_MAX 160
#define SLOTS_MOST 3
#define TTLS 3 /* T, 2 T, 8 T */
#define PASSED_MOST 2
#define KEY "job"
#define PART(name) "job:redlock:{job}:" name

/* What one node knows of a token. */
struct stay {
	int64_t asked_us;   /* the last time; 0: never */
	int64_t ticket;     /* the last it asked with */
	int64_t heard_us;   /* it had an entry, and asked: the last time */
	int64_t granted_us; /* it last heard "granted"; -1:
			       never */
	int64_t fence;      /* of its entry ... */
	int64_t made_us;    /* ... made at this time ... */
	int64_t entered_us; /* ... the last time by a grant; -1: never */
	int64_t floor;      /* ... when this was the largest that had ended */
	int64_t fence_before, floor_before; /* of the entry before that */
	int64_t claimed;                    /* the fence that it heard last */
	int64_t ends_ms; /* of its lease there, by the server's clock: the
			    latest */
	int slot;
	int64_t slot_us[SLOTS_MOST]; /* it entered each: the last time */
	bool here;                   /* it has an entry now */
	int64_t absent_us;    /* "nobody has the lock, and the counter is ... */
	int64_t absent_fence; /* ... this": told since then; 0: never */
	int64_t out_us;       /* force-release took it; -1: never */
	int64_t left_us;      /* it was released; -1: never */
	int64_t since_ms;     /* of the entry, by the server's clock */
	int64_t rest_ms; /* --min-hold keeps it until then; 0: it does not */
};

/* One attempt to take the lock: known by its token for ever. */
struct token {
	char text[24], who[24], hold[24], identity[IDENTITY_SIZE];
	struct keys keys;
	struct lease_conf conf;
	int outer;          /* the token of the run around it; 0: none */
	int64_t joined_us;  /* stands in line since; -1: it does not */
	int64_t ticket_us;  /* by the clock of the one server */
	int64_t came_us;    /* it began */
	unsigned int lines; /* nodes where it has been in line: bits */
	int64_t lined_us;   /* they are a quorum since; -1: they are not */
	int64_t stood_us;   /* it stood back: the last time; 0: never */
	int passed; /* how many that came later have started before it */
	bool taken; /* without asking, or after a loss of data */
	/* one server: it was granted the lock after a loss that nobody had
	 * noticed, in which this token was forgotten; 0: it was not */
	int64_t met_us[TOKENS_MAX];
	struct stay stay[NODES_MAX];
};

/* A loss of data that the restart guard does not cover. */
struct loss {
	int node;
	int64_t us, had, left; /* the counter before and after; 0: none */
	int64_t first;         /* the first one that it had since then */
	/* when it was noticed: a request with a larger one was answered; by
	 * somebody who knows of a T of this class, or a longer one */
	int64_t noticed_us[TTLS];
};

static const char *const slot_names[SLOTS_MOST] = {"slot:0", "slot:1",
						   "slot:2"};
static int n_nodes = 1;
static struct redis *node_redis[NODES_MAX];
static struct token tokens[TOKENS_MAX];
#define LOSSES_MAX 128 /* more than any schedule has */
static struct loss losses[LOSSES_MAX];
static int n_losses;
static int parent_of[CLIENTS_MAX]; /* the client around it; -1: none */

static struct plot {
	bool readers, slots, nests, rests, full, replaces, leads;
	bool rolled; /* an older state came back: even one that lost
			a renewal alone, which moves no counter */
	/* leases of this T lived when data were lost, or an older state shows
	 * them: they keep others out until then */
	int64_t shown_ms, shown_until_us;
	bool sparse;        /* two clients that come often, and storms */
	bool touched;       /* somebody wrote to the lock itself */
	int64_t foreign_ms; /* another program has slot 0 until then, by the
			       clock of the one server */
	bool crowd; /* several hold it at once, and data are lost often */
	int restarts;
	int64_t restarted_us[NODES_MAX]; /* the last time; 0: never */
	int64_t ended_fence;
	int64_t fence[TOKENS_MAX];
	int fences;
} plot;

/* A slot is free and somebody waits for it: since when, how many died in line
 * and the longest lease that lived meanwhile. */
static struct waiting {
	int64_t since_us, longest_ms; /* since_us -1: not now */
	int dead;
} waiting;

/* Whoever wants one slot: see cmd-force.c. Its way to the servers is a good
 * one. */
static struct forcer {
	bool now; /* without asking */
	int slot;
	char family[64];
	int64_t ttl_ms, began_us, until_us, seen[NODES_MAX];
	unsigned int gone; /* nodes: bits */
	int64_t took_us;
	unsigned int asked; /* nodes: bits; and not taken yet ... */
	int64_t asked_us;   /* ... the last time */
} forcer;

/* ---- the servers ---- */

static struct redis *redis_at(int node)
{
	redis_clock(node_redis[node], wall_us(node));
	return node_redis[node];
}

static int64_t counter_at(int node)
{
	const char *text = redis_field(redis_at(node), PART("state"), "fence");

	return text ? strtoll(text, NULL, 10) : 0;
}

/* The token of the outermost run. */
static int root_of(int token)
{
	while (tokens[token].outer > 0)
		token = tokens[token].outer;
	return token;
}

static bool kin(int a, int b)
{
	return root_of(a) == root_of(b) ||
	       (tokens[a].conf.shared && tokens[b].conf.shared);
}

static int64_t last_loss(int node)
{
	int64_t us = plot.restarted_us[node] > 0 ? plot.restarted_us[node] : -1;

	for (int i = 0; i < n_losses; i++)
		if (losses[i].node == node && losses[i].us > us)
			us = losses[i].us;
	return us;
}

/* " TOKEN", as its number; 0: no token of ours. */
static int token_of(const char *text)
{
	return strncmp(text, " tok-", 5) == 0 ? (int)strtol(text + 5, NULL, 10)
					      : 0;
}

/* The two fields of a token's entry; false: it has none. */
static bool entry_at(struct redis *r, int token, int *slot, int64_t *fence,
		     const char **hold)
{
	const char *who =
		token > 0 ? redis_field(r, PART("state"), tokens[token].who)
			  : NULL;
	char *rest;

	*hold = who ? redis_field(r, PART("state"), tokens[token].hold) : NULL;
	if (!*hold)
		return false;
	*slot = (int)strtol(who, &rest, 10);
	*fence = strtoll(rest, NULL, 10);
	return true;
}

/* Who is registered again in a slot is, unless anybody outside its family was
 * granted it since. (One of several nodes that lost its data, and whose clock
 * is behind, begins below what the holder has seen, so that its grants do not
 * show. The others have the lock.) */
static void check_nobody_since(const struct flight *f, int slot, int64_t us)
{
	int i = f->token, node = f->ask.node;

	for (int j = 1; j <= w.tokens; j++) {
		const struct stay *o = &tokens[j].stay[node];

		if (o->entered_us > us && o->entered_us >= last_loss(node) &&
		    o->slot == slot && !kin(i, j) &&
		    (n_nodes == 1 || o->fence > f->ask.seen))
			violated("%s is registered again on node %d, though %s "
				 "was granted the slot",
				 tokens[i].text, node, tokens[j].text);
	}
}

/* On a node that says "nobody has the lock", the holder enters it: nobody was
 * granted the slot there since, and a quorum of others has renewed since. (If
 * the counter is not the last that this client was told of there, the time is
 * not known.) */
static void check_repair(const struct flight *f, int slot)
{
	int node = f->ask.node, i = f->token, shown = 0;
	const struct stay *s = &tokens[i].stay[node];

	check_nobody_since(f, slot, s->absent_us);
	for (int k = 0; k < n_nodes; k++)
		shown += k != node && tokens[i].stay[k].heard_us > s->absent_us;
	if (f->ask.seen == s->absent_fence && shown < lease_quorum(n_nodes))
		violated("%s is registered again on node %d, but only %d nodes "
			 "have shown that it has the lock",
			 tokens[i].text, node, shown);
}

/* A reader joins the readers, a nested run those of its family. */
static void check_joining(const struct flight *f, int slot)
{
	int node = f->ask.node, i = f->token;
	bool any = false;

	for (int j = 1; j <= w.tokens; j++) {
		const struct stay *o = &tokens[j].stay[node];

		any |= j != i && kin(i, j) && o->here && o->slot == slot &&
		       o->ends_ms > wall_us(node) / 1000;
	}
	if (!any)
		violated("%s joins nobody in slot %d of node %d",
			 tokens[i].text, slot, node);
}

/* Who has no entry is entered again by a renewal. If the server has forgotten
 * it, its lease lasts; and if it is alone in its family, nobody was granted the
 * slot meanwhile. */
static void check_return(const struct flight *f, const struct stay *old)
{
	int node = f->ask.node, i = f->token;
	int slot = tokens[i].stay[node].slot;
	const struct client *c = &w.client[f->client];

	if (w.backward_step || w.forward_step)
		return;
	/* (a late copy of a client that is gone makes an orphan, for T) */
	if (f->ask.confirm.repairs) {
		if (c->token == i && c->running)
			check_repair(f, slot);
		return;
	}
	if (f->ask.confirm.reads) {
		check_joining(f, slot);
		return;
	}
	if (wall_us(node) / 1000 >= old->ends_ms)
		violated("%s is registered again after its lease",
			 tokens[i].text);
	/* (else it may be an orphan, for T) */
	if (old->left_us > old->made_us && last_loss(node) < 0)
		violated("%s is registered again after its release",
			 tokens[i].text);
	if (c->token == i && c->running)
		check_nobody_since(f, slot, old->made_us);
}

/* Who enters a slot may: nobody rests there, no other program has it, and
 * force-release does not ask those in it to stop. */
static void check_entry(int i, int node, int slot, bool again)
{
	int64_t now_ms = wall_us(node) / 1000;

	if (w.backward_step || w.forward_step)
		return;
	for (int j = 1; j <= w.tokens; j++) {
		const struct stay *o = &tokens[j].stay[node];

		if (o->rest_ms > now_ms && o->slot == slot && o->out_us < 0 &&
		    o->made_us > last_loss(node) && !plot.touched && !kin(i, j))
			violated("%s has slot %d, where %s rests",
				 tokens[i].text, slot, tokens[j].text);
		if (forcer.asked & 1U << node && !again &&
		    forcer.slot == slot && tokens[i].outer == 0 &&
		    forcer.began_us > last_loss(node) && j != i &&
		    o->made_us <= forcer.asked_us && o->here &&
		    o->slot == slot && o->ends_ms > now_ms)
			violated("%s has slot %d, where %s is asked to stop",
				 tokens[i].text, slot, tokens[j].text);
	}
	if (slot == 0 && n_nodes == 1 && plot.foreign_ms > now_ms)
		violated("%s has the lock of another program", tokens[i].text);
}

static int class_of(int64_t ttl)
{
	/* (who knows of what is left of a longer one knows of less) */
	return ttl >= 8 * w.T ? 2 : ttl >= 2 * w.T ? 1 : 0;
}

/* `token` is granted the lock. Notes which tokens this node has forgotten, in
 * losses that nobody has noticed. */
static void note_met(int token, int node)
{
	for (int i = 0; i < n_losses && n_nodes == 1; i++)
		for (int j = 1; j <= w.tokens; j++) {
			const struct token *t = &tokens[j];
			int64_t heard_us = t->stay[node].heard_us;

			/* (a token that never had it was not forgotten) */
			if (heard_us >= 0 && heard_us < losses[i].us &&
			    losses[i].noticed_us[class_of(t->conf.ttl_ms)] < 0)
				tokens[token].met_us[j] = w.us;
		}
}

/* Notes which clients have an entry now. `had`: the one that asked had one
 * before. */
static void note_entries(int node, const struct flight *f, bool had)
{
	struct redis *r = redis_at(node);
	bool new[TOKENS_MAX] = {false};
	struct stay old = {0};

	if (f)
		old = tokens[f->token].stay[node];

	for (int i = 1; i <= w.tokens; i++) {
		struct stay *s = &tokens[i].stay[node];
		bool asked = f && i == f->token;
		int64_t fence, ends_ms;
		const char *hold;
		int slot;

		s->here = entry_at(r, i, &slot, &fence, &hold);
		if (!s->here)
			continue;
		/* (a smaller one came back with an older state) */
		if (fence > s->fence ||
		    (fence != s->fence && w.backward_step)) {
			if (!asked || f->ask.verb != VERB_CONFIRM) {
				s->out_us = -1;
				s->entered_us = w.us;
			}
			new[i] = true;
			s->slot_us[slot] = w.us;
			s->fence_before = s->fence;
			s->floor_before = s->floor;
			s->fence = fence;
			s->made_us = w.us;
			s->floor = plot.ended_fence;
			/* (a renewal may only have raised the fence) */
			if (!asked || f->ask.verb != VERB_CONFIRM || !had)
				s->since_ms = wall_us(node) / 1000;
			s->rest_ms = 0;
		}
		ends_ms = strtoll(hold, NULL, 10);
		if (s->ends_ms < ends_ms)
			s->ends_ms = ends_ms;
		s->slot = slot;
		if (asked && f->ask.verb != VERB_RELEASE && !nobodys(f))
			s->heard_us = w.us;
	}
	if (f && new[f->token] && f->ask.verb == VERB_CONFIRM && !had)
		check_return(f, &old);
	for (int i = 1; i <= w.tokens; i++) {
		bool again = f && i == f->token && f->ask.verb == VERB_CONFIRM;

		if (new[i])
			check_entry(i, node, tokens[i].stay[node].slot, again);
		if (new[i] && !again)
			note_met(i, node);
	}
}

/* A lock that a client believes to hold is nobody else's. */
static void check_yes(const struct flight *f)
{
	int node = f->ask.node;
	const struct stay *s = &tokens[f->token].stay[node];

	if (s->out_us >= 0 && s->granted_us > last_loss(node) &&
	    f->ask.verb == VERB_CONFIRM && n_nodes == 1)
		violated("%s goes on after it was put out",
			 tokens[f->token].text);
	if (f->ask.verb == VERB_CONFIRM && s->slot != f->ask.slot)
		violated("%s goes on in slot %d, and has slot %d",
			 tokens[f->token].text, f->ask.slot, s->slot);
	for (int j = 1; j <= w.tokens; j++) {
		const struct stay *o = &tokens[j].stay[node];

		if (j != f->token && o->here && o->slot == s->slot &&
		    o->ends_ms > wall_us(node) / 1000 && !kin(f->token, j))
			violated("%s and %s have slot %d",
				 tokens[f->token].text, tokens[j].text,
				 s->slot);
	}
}

static void note_noticed(const struct flight *f)
{
	int64_t counter = counter_at(f->ask.node), seen = f->ask.seen;

	for (int i = 0; i < n_losses; i++) {
		struct loss *loss = &losses[i];
		/* (if the clock was set back, it may be a newer one) */
		bool newer = loss->first > 0 && seen >= loss->first &&
			     seen <= counter;

		if (loss->node != f->ask.node)
			continue;
		for (int k = 0; k <= class_of(f->ask.longest_ms); k++)
			if (loss->noticed_us[k] < 0 && !newer &&
			    seen > loss->left && seen <= loss->had)
				loss->noticed_us[k] = w.us;
		if (loss->first == 0 && counter != loss->left)
			loss->first = counter;
	}
}

/* The longest T of those that wait, or that asked so short a while ago that a
 * lease of theirs may live, or a loss that they noticed keeps others out. */
static int64_t longest_living(void)
{
	int64_t longest = w.us < plot.shown_until_us ? plot.shown_ms : 0;

	for (int i = 1; i <= w.tokens; i++) {
		const struct token *t = &tokens[i];
		bool lives = false;

		for (int k = 0; k < n_nodes; k++)
			lives |= t->stay[k].asked_us > 0 &&
				 w.us < t->stay[k].asked_us +
						 t->conf.ttl_ms * 1180;
		for (int k = 0; k < CLIENTS_MAX; k++)
			lives |= w.client[k].token == i && w.client[k].alive;
		if (lives && t->conf.ttl_ms > longest)
			longest = t->conf.ttl_ms;
	}
	return longest;
}

/* Data of this node are lost now. */
static void lose(int node, int64_t had, bool guarded)
{
	int64_t left = counter_at(node);
	const char *lock = redis_get(redis_at(node), KEY);

	plot.shown_ms = longest_living();
	for (int i = 1; i <= w.tokens; i++)
		if (tokens[i].conf.ttl_ms > plot.shown_ms &&
		    redis_field(redis_at(node), PART("state"), tokens[i].hold))
			plot.shown_ms = tokens[i].conf.ttl_ms;
	if (plot.shown_ms > 0)
		plot.shown_until_us =
			w.us + (HEARTBEAT_MS + plot.shown_ms) * 1180;
	/* (an older end of it may have come back) */
	plot.foreign_ms = lock && strcmp(lock, "x") == 0
				  ? redis_ends(redis_at(node), KEY)
				  : 0;
	if (!guarded && n_losses < LOSSES_MAX)
		losses[n_losses++] =
			(struct loss){node, w.us, had, left, 0, {-1, -1, -1}};
}

/* For want of memory. */
static bool may_fail(const char *error)
{
	return plot.full && strncmp(error, "OOM", 3) == 0;
}

static void tell_run(const struct flight *f, const struct words *words)
{
	static const char *const verbs[] = {"?",     "acquire",   "listen",
					    "renew", "replicate", "release"};

	if (!w.tell)
		return;
	printf("%10.3f  %s: %s at node %d (saw %" PRId64 ", fence %" PRId64
	       ", ticket %" PRId64 ") ->",
	       (double)w.us / 1000.0, tokens[f->token].text, verbs[f->ask.verb],
	       f->ask.node, f->ask.seen, f->ask.fence, f->ask.acquire.ticket);
	for (int i = 0; i < words->n; i++)
		if (!memchr(words->at[i], '\n', words->len[i]))
			printf(" %.*s", (int)words->len[i], words->at[i]);
	printf("\n");
}

/* The first time, or the first time since a loss. */
static void note_granted(struct token *t, const struct flight *f)
{
	struct stay *s = &t->stay[f->ask.node];
	bool anew = s->granted_us < 0 || s->claimed != s->fence;

	for (int i = 0; i < n_losses; i++)
		anew |= losses[i].node == f->ask.node &&
			losses[i].us >= s->granted_us;
	if (anew) {
		s->granted_us = w.us;
		s->out_us = -1;
	}
	s->claimed = s->fence;
}

/* A "no" to a renewal. */
static void note_absent(struct stay *s, const struct answer *a)
{
	if (a->confirm.pttl_ms != 0 || a->counter != s->absent_fence)
		s->absent_us = w.us;
	s->absent_fence = a->confirm.pttl_ms == 0 ? a->counter : -1;
}

static void note_left(struct token *t, const struct flight *f)
{
	struct stay *s = &t->stay[f->ask.node];

	s->left_us = w.us;
	if (f->ask.release.ran && f->ask.release.least_ms > 0)
		s->rest_ms = s->since_ms + f->ask.release.least_ms;
}

static bool joined(const struct client *c)
{
	return c->lease.nest == NEST_JOINED;
}

/* Who runs is not told "no" without need: its lease is over, somebody else was
 * granted the slot, or it was put out. (One of several nodes where it has none
 * may say so.) */
static void check_no(const struct flight *f)
{
	int node = f->ask.node, i = f->token;
	const struct client *c = &w.client[f->client];
	const struct stay *s = &tokens[i].stay[node];
	const char *value = redis_get(redis_at(node), KEY);
	const char *born = redis_field(redis_at(node), PART("state"), "born");

	/* (where clocks differ, a new state may begin below what was seen, and
	 * be raised past it: the loss does not show) */
	if (n_nodes > 1 && last_loss(node) > s->granted_us &&
	    (!born || strtoll(born, NULL, 10) <= f->ask.seen))
		return;
	/* (a state may be lost without the lock, which is then a stranger's;
	 * and a copy of its first question may have got it another slot since)
	 */
	if ((s->here && s->slot != c->lease.slot) ||
	    forcer.took_us > s->granted_us)
		return;
	if (c->lease.slot == 0 && value && strcmp(value, tokens[i].text) != 0 &&
	    !(tokens[i].conf.shared && strncmp(value, "shared:", 7) == 0))
		return;
	if (f->ask.seen == 0 || f->ask.confirm.repairs || w.backward_step ||
	    w.forward_step || plot.touched || plot.rolled || tokens[i].taken ||
	    nobodys(f) || !c->running || joined(c) || c->token != i ||
	    s->out_us >= 0 || s->left_us >= 0 ||
	    wall_us(node) / 1000 >= f->ask.confirm.until_ms)
		return;
	for (int j = 1; j <= w.tokens; j++) {
		const struct stay *o = &tokens[j].stay[node];

		if (kin(i, j))
			continue;
		/* (it may have given the slot back for another one) */
		if (o->slot_us[c->lease.slot] > 0 &&
		    o->slot_us[c->lease.slot] > s->granted_us)
			return;
		/* (or an older state came back, in which it was) */
		if (o->slot == c->lease.slot &&
		    (o->left_us > s->granted_us ||
		     (o->here && o->ends_ms > wall_us(node) / 1000)))
			return;
	}
	violated("%s hears that its lock is lost, but nobody took it",
		 tokens[i].text);
}

/* The lock has a value that the state does not know: it is waited for as that
 * of another program, until it expires. */
static bool is_foreign(int node)
{
	const char *value = redis_get(redis_at(node), KEY);
	const char *slot =
		redis_field(redis_at(node), PART("state"), slot_names[0]);

	if (!value || !slot)
		return value != NULL;
	return strlen(value) != strcspn(slot, " ") ||
	       strncmp(value, slot, strlen(value)) != 0;
}

/* Other programs see the holder of slot 0. */
static void check_face(int node)
{
	if (n_losses == 0 && plot.restarts == 0 && !plot.touched &&
	    !plot.full && is_foreign(node))
		violated("the lock shows %s, which is not in slot 0",
			 redis_get(redis_at(node), KEY));
}

/* What is left alone ends by itself: the line after a minute at most, the lock
 * with its last lease. */
static void check_expiry(int node)
{
	struct redis *r = redis_at(node);
	const char *key;

	for (int i = 0; (key = redis_key(r, i)); i++) {
		int64_t ends_ms = redis_ends(r, key);
		const char *value = redis_get(r, key);
		bool by_hand = value && strcmp(value, "x") == 0;

		if (strcmp(key, PART("state")) != 0 &&
		    strcmp(key, PART("log")) != 0 && !by_hand &&
		    (ends_ms < 0 || (!w.backward_step &&
				     ends_ms > wall_us(node) / 1000 + 61000)))
			violated("%s has no expiry", key);
	}
}

/* A slot whose last lease lives has as many entries as it says, and the entry
 * of that lease is in it. */
static void check_slots(int node)
{
	struct redis *r = redis_at(node);

	for (int n = 0; n < SLOTS_MOST; n++) {
		const char *hold, *slot;
		int64_t moved, fence;
		int count, last, of, found = 0;
		char *rest;

		slot = redis_field(r, PART("state"), slot_names[n]);
		if (!slot)
			continue;
		count = (int)strtol(slot + strcspn(slot, " "), &rest, 10);
		moved = strtoll(rest, &rest, 10);
		(void)strtoll(rest, &rest, 10);
		last = token_of(rest);
		/* (a slot that was taken after its entries is free) */
		if (count == 0 || !entry_at(r, last, &of, &fence, &hold) ||
		    fence < moved ||
		    strtoll(hold, NULL, 10) <= wall_us(node) / 1000)
			continue;
		if (of != n) /* the slot counts as free */
			continue;
		for (int i = 1; i <= w.tokens; i++)
			found += entry_at(r, i, &of, &fence, &hold) &&
				 of == n && fence >= moved;
		if (found != count)
			violated("slot %d says %d entries, and has %d", n,
				 count, found);
	}
}

/* ---- waiting ---- */

static bool waits(const struct client *c)
{
	return c->alive && !c->stopped && !c->running &&
	       (c->lease.state == LEASE_WAITING ||
		c->lease.state == LEASE_ASKING) &&
	       c->lease.conf.outer.token[0] == '\0' &&
	       tokens[c->token].joined_us >= 0;
}

/* Those in line whom nobody wakes. */
static int dead_waiters(int node)
{
	int dead = 0;
	const char *member;
	double score;

	for (int i = 0;
	     (member = redis_member(redis_at(node), PART("queue"), i, &score));
	     i++) {
		bool lives = score < 0;

		for (int k = 0; k < CLIENTS_MAX && !lives; k++) {
			const char *text = tokens[w.client[k].token].text;

			lives = waits(&w.client[k]) &&
				strncmp(member, text, strlen(text)) == 0 &&
				member[strlen(text)] == ' ';
		}
		dead += !lives;
	}
	return dead;
}

/* Somebody waits, and a slot that every waiter would take is free. (A
 * connection that has gone mute is a fault, for as long as a client uses it.)
 */
static bool slot_is_free(void)
{
	int slots = INT_MAX, taken = 0;
	bool any = false;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &w.client[i];

		if (is_cut_off(c))
			return false;
		if (!waits(c))
			continue;
		any = true;
		if (c->lease.conf.slots < slots)
			slots = c->lease.conf.slots;
	}
	for (int i = 0; i < CLIENTS_MAX; i++)
		taken += w.client[i].running && w.client[i].lease.slot < slots;
	for (int k = 0; k < n_nodes && any && taken < slots; k++) {
		int64_t now_ms = wall_us(k) / 1000;

		any = !is_foreign(k);
		for (int i = 1; i <= w.tokens; i++)
			any &= tokens[i].stay[k].rest_ms <= now_ms;
	}
	return any && taken < slots;
}

/* P4: where nothing fails, and a slot is free that every waiter would take, one
 * of them gets it within the longest lease that lives and one poll. Those that
 * died in line cost the time to claim a grant each. */
static void check_waits(void)
{
	int64_t limit_ms, longest;
	int dead = 0;

	/* (a force-release names the counter of its first look with each
	 * question: if the clock is behind that, each looks like a new loss) */
	if (w.us < w.quiet_us || w.us < w.slow_us || !slot_is_free() ||
	    (w.backward_step && n_losses > 0 && w.us < forcer.until_us)) {
		waiting = (struct waiting){.since_us = -1};
		return;
	}
	if (waiting.since_us < 0)
		waiting.since_us = w.us;
	longest = longest_living();
	for (int k = 0; k < n_nodes; k++) {
		int its = dead_waiters(k);

		dead = its > dead ? its : dead;
	}
	if (waiting.dead < dead)
		waiting.dead = dead;
	if (waiting.longest_ms < longest)
		waiting.longest_ms = longest;
	/* (a loss may be noticed one poll later, and shuts from then on; if an
	 * older state comes back after the clock was set back, its leases end T
	 * after that; of several nodes, waiters whose rounds met go back in
	 * line, to 10 s from now at most) */
	limit_ms = waiting.longest_ms + HEARTBEAT_MS +
		   (int64_t)GRANT_MS * (1 + waiting.dead) +
		   (n_nodes > 1    ? 10000
		    : n_losses > 0 ? HEARTBEAT_MS
				   : 0) +
		   (plot.rolled && w.backward_step ? waiting.longest_ms : 0);
	if (w.us - waiting.since_us > limit_ms * 1180)
		violated("a slot is free, and nobody gets it for %" PRId64
			 " ms; longest T %" PRId64 ", %d died in line",
			 (w.us - waiting.since_us) / 1000, waiting.longest_ms,
			 waiting.dead);
}

/* ---- --replace ---- */

static bool is_asked(int node)
{
	return redis_field(redis_at(node), PART("state"), "stop:0") != NULL;
}

/* This question asks those in slot 0 to stop. A client that hears it is dead by
 * then; one that is cut off, when its lease ends. */
static void note_replaced(const struct flight *f)
{
	int node = f->ask.node;

	tell("client %d replaces the holder of slot 0 on node %d", f->client,
	     node);
	if (f->answer.busy.place != 1)
		violated("client %d replaces others past those before it",
			 f->client);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &w.client[i];
		const struct stay *s = &tokens[c->token].stay[node];
		int64_t ms = tokens[f->token].conf.replace_ms;

		if (!c->running || n_nodes > 1 || !s->here || s->slot != 0)
			continue;
		post(w.us + ms * 1000 * 1000000 / w.server[node].rate_ppm,
		     EV_REPLACED, i, 1, c->lease.fence);
		ms = ms > c->ttl ? ms : c->ttl;
		post(w.us + ms * 1250, EV_REPLACED, i, 0, c->lease.fence);
	}
}

static void replaced(const struct event *e)
{
	const struct client *c = &w.client[e->who];

	if (c->running && !c->dying && c->lease.fence == e->value &&
	    n_losses == 0 && !w.forward_step && !w.backward_step &&
	    (e->slot == 0 || c->lease.stop_by.ms != NEVER.ms))
		violated("client %d was asked to stop, and runs on", e->who);
}

static void note_in_line(struct token *t, int node)
{
	if (t->joined_us < 0) {
		t->joined_us = w.us;
		t->ticket_us = queue_ticket(wall_us(node), t->conf.high);
	}
	t->lines |= 1U << node;
	if (t->lined_us < 0 &&
	    __builtin_popcount(t->lines) >= lease_quorum(n_nodes))
		t->lined_us = w.us;
}

/* Who stands back asks with a later ticket than before. */
static void note_ticket(const struct flight *f)
{
	struct token *t = &tokens[f->token];
	int64_t ticket = f->ask.acquire.ticket;
	int64_t *last = &t->stay[f->ask.node].ticket;

	if (f->ask.verb != VERB_ACQUIRE || f->ask.acquire.newcomer ||
	    ticket <= *last)
		return;
	if (*last > 0)
		t->stood_us = w.us;
	*last = ticket;
}

static void run_script(struct flight *f)
{
	struct token *t = &tokens[f->token];
	struct redis *r = redis_at(f->ask.node);
	struct ask ask = f->ask;
	struct request request;
	struct words words;
	struct sight sight;
	struct fail why;
	const char *hold;
	int64_t fence;
	int slot;
	bool asked = is_asked(ask.node), had;

	had = entry_at(r, f->token, &slot, &fence, &hold);
	if (w.rash && ask.verb == VERB_CONFIRM && ask.seen == 0 &&
	    t->stay[ask.node].absent_fence > 0) {
		ask.confirm.repairs = f->ask.confirm.repairs = true;
		ask.seen = f->ask.seen = t->stay[ask.node].absent_fence;
	}
	if (w.short_guard)
		ask.guard_ms = f->conf.guard_ms;
	request_ask(&request, &ask, &t->conf, &t->keys, t->text, t->identity,
		    0);
	f->refused = !redis_run(r, &request.words, &words);
	tell_run(f, &words);
	if (f->refused && !may_fail(words.at[0]))
		violated("%s: the script fails: %s", t->text, words.at[0]);
	else if (!f->refused &&
		 answer_read(f->ask.verb, &words, &f->answer, &sight, &why) < 0)
		violated("%s: no answer: %s", t->text, why.text);
	note_ticket(f);
	t->stay[ask.node].asked_us = w.us;
	note_entries(f->ask.node, f, had);
	if (!asked && !f->refused && f->ask.verb == VERB_ACQUIRE &&
	    is_asked(f->ask.node))
		note_replaced(f);
	if (!f->refused)
		note_noticed(f);
	check_face(f->ask.node);
	check_expiry(f->ask.node);
	check_slots(f->ask.node);
	if (!f->refused &&
	    (f->answer.said == SAID_GRANTED || f->answer.said == SAID_HEALED ||
	     (f->answer.said == SAID_YES && f->ask.verb == VERB_CONFIRM)))
		check_yes(f);
	if (!f->refused && f->ask.verb == VERB_CONFIRM &&
	    f->answer.said == SAID_NO) {
		check_no(f);
		note_absent(&t->stay[ask.node], &f->answer);
	}
	if (!f->refused && f->answer.said == SAID_GRANTED)
		note_granted(t, f);
	if (!f->refused && f->ask.verb == VERB_RELEASE &&
	    f->answer.said == SAID_YES)
		note_left(t, f);
	if (!f->refused && f->ask.verb == VERB_ACQUIRE &&
	    f->life == w.client[f->client].life && f->answer.busy.place > 0)
		note_in_line(t, f->ask.node);
	if (one_in(8)) /* appendfsync everysec */
		redis_save(r);
}

static const char *inbox(int token)
{
	static char name[160];
	const struct keys *k = &tokens[token].keys;

	(void)snprintf(name, sizeof(name), "%.*s", (int)k->part_len[PART_GRANT],
		       k->part[PART_GRANT]);
	return name;
}

bool sim_take_word(const struct flight *f)
{
	return redis_take(redis_at(f->ask.node), inbox(f->token));
}

bool sim_spent(const struct flight *f)
{
	return f->arrived && !f->blocked && nobodys(f);
}

void sim_arrived(int node, int slot)
{
	struct flight *f = &w.flight[slot];

	if (f->ask.verb == VERB_LISTEN) {
		f->answer = (struct answer){.said = SAID_QUIET};
		if (!sim_take_word(f)) {
			listen_on(slot);
			return;
		}
		f->answer.said = SAID_WOKEN;
		reply(slot);
		return;
	}
	run_script(f);
	reply(slot);
	wake_listeners(node, rough());
}

/* ---- promises ---- */

static int family_of(const struct client *c)
{
	return joined(c) ? root_of(c->token) : c->token;
}

static bool together(const struct client *a, const struct client *b)
{
	return a->lease.slot != b->lease.slot || family_of(a) == family_of(b) ||
	       (a->lease.conf.shared && b->lease.conf.shared);
}

/* Whether `b` may have been granted the lock on a node that had forgotten `a`,
 * before anybody noticed that knows how long the lease of `a` is. */
static bool forgot_by(const struct client *a, const struct token *new)
{
	const struct token *old = &tokens[a->token];

	for (int i = 0; i < n_losses; i++) {
		const struct loss *loss = &losses[i];
		const struct stay *s = &new->stay[loss->node];
		int64_t noticed_us = loss->noticed_us[class_of(a->ttl)];
		int64_t granted_us =
			s->made_us >= loss->us ? s->made_us : s->granted_us;

		/* (a copy of its first question may have got it another slot)
		 */
		if ((old->stay[loss->node].heard_us >= loss->us &&
		     old->stay[loss->node].slot == a->lease.slot) ||
		    granted_us < loss->us)
			continue;
		if (noticed_us < 0 || granted_us <= noticed_us)
			return true;
	}
	return false;
}

static bool forgot(const struct client *a, const struct client *b)
{
	return forgot_by(a, &tokens[b->token]) ||
	       forgot_by(a, &tokens[family_of(b)]);
}

/* `new` was granted the lock after a loss in which `old` was forgotten, and
 * then the server forgot `new` as well: `old` may have registered again. */
static bool both_forgotten(const struct client *old, const struct client *new)
{
	int64_t us = tokens[new->token].met_us[old->token];

	return us > 0 && last_loss(0) > us;
}

/* A server that had granted the lock to `old` was restarted after it last heard
 * of it, and then granted it to `new`, whose guard was too short, because
 * nobody could tell it how long the lease of `old` is: "one T per key". */
static bool untold(const struct client *old, const struct client *new)
{
	for (int i = 0; i < n_nodes && new->lease.guard_ms < old->ttl; i++) {
		const struct stay *o = &tokens[old->token].stay[i];

		if (n_nodes > 1 && o->granted_us >= 0 &&
		    plot.restarted_us[i] > o->heard_us &&
		    tokens[new->token].stay[i].granted_us >=
			    plot.restarted_us[i])
			return true;
	}
	return false;
}

/* Its outer run is running: the overlap of that one was judged when it began.
 */
static bool is_inside(const struct client *c)
{
	return joined(c) && w.client[parent_of[c - w.client]].running;
}

/* `a` starts, and `b` runs. */
static bool is_excused(const struct client *a, const struct client *b)
{
	return is_inside(a) || tokens[a->token].taken ||
	       tokens[b->token].taken || forgot(a, b) || forgot(b, a) ||
	       both_forgotten(b, a) || untold(b, a) ||
	       (w.forward_us > 0 &&
		(hangs_on_stepped(a) || hangs_on_stepped(b)));
}

/* The largest fence that had ended at its grant. Of several slots, one node may
 * have granted late what others keep. (Its answer may have come so late that
 * the lock was taken from it, and granted to it again.) */
static int64_t floor_of(const struct client *c)
{
	int64_t floor = -1;

	for (int i = 0; i < n_nodes; i++) {
		const struct stay *s = &tokens[c->token].stay[i];
		bool shares = plot.slots || plot.readers;

		if (n_nodes == 1 && c->lease.fence == s->fence_before)
			return s->floor_before;
		if (node_is_ours(&c->lease.node[i]) &&
		    (floor < 0 ||
		     (shares ? s->floor < floor : s->floor > floor)))
			floor = s->floor;
	}
	return floor;
}

static void check_fence(int who)
{
	const struct client *c = &w.client[who];
	int64_t fence = c->lease.fence;

	if (joined(c) || w.backward_step)
		return;
	if (fence <= floor_of(c))
		violated("client %d: fence %" PRId64 " after %" PRId64, who,
			 fence, floor_of(c));
	for (int i = 0; i < plot.fences; i++)
		if (plot.fence[i] == fence)
			violated("client %d: fence %" PRId64 " twice", who,
				 fence);
	if (plot.fences < TOKENS_MAX)
		plot.fence[plot.fences++] = fence;
}

/* If nothing fails, every client in line has a later ticket, or came after
 * the grant. */
static void check_line(int who)
{
	const struct token *t = &tokens[w.client[who].token];

	for (int i = 0; i < w.n_clients && t->joined_us >= 0; i++) {
		const struct client *o = &w.client[i];
		const struct token *other = &tokens[o->token];

		if (o->alive && !o->lease.conf.supersede &&
		    other->joined_us >= 0 &&
		    other->joined_us < t->stay[0].made_us &&
		    other->ticket_us < t->ticket_us &&
		    other->stay[0].fence == 0 &&
		    (o->lease.state == LEASE_WAITING ||
		     o->lease.state == LEASE_ASKING))
			violated("client %d starts before client %d", who, i);
	}
}

static int nodes_with(int token)
{
	int n = 0;

	for (int k = 0; k < n_nodes; k++)
		n += tokens[token].stay[k].here;
	return n;
}

/* P5 on several nodes. Each serves its own line in order, so who is in line on
 * a quorum is passed by one that came later only if they divided the nodes
 * between them, and the earlier one stood back. Then the later one goes first
 * once, not again and again. Readers pass no readers. Judged where nothing
 * fails. (Of several that a quorum has served at once, any may start first.) */
static void check_passed(int who)
{
	const struct token *t = &tokens[w.client[who].token];
	int64_t from_us = w.quiet_us > w.slow_us ? w.quiet_us : w.slow_us;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *o = &w.client[i];
		struct token *other = &tokens[o->token];

		if (i == who || !waits(o) || o->lease.conf.supersede ||
		    is_cut_off(o) || other->lined_us < 0 ||
		    (!w.gentle && other->lined_us < from_us) ||
		    t->came_us <= other->lined_us ||
		    t->came_us <= other->stood_us ||
		    t->conf.ticket <= other->conf.ticket ||
		    (t->conf.shared && other->conf.shared) ||
		    nodes_with(o->token) >= lease_quorum(n_nodes))
			continue;
		if (++other->passed > PASSED_MOST)
			violated("client %d is passed by %d that came later", i,
				 other->passed);
	}
}

void sim_start(int who)
{
	struct client *c = &w.client[who];

	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *o = &w.client[i];

		if (i == who || !o->running || together(c, o))
			continue;
		if (is_excused(c, o))
			w.overlaps++;
		else
			violated("client %d starts while client %d runs", who,
				 i);
	}
	check_fence(who);
	if (w.calm && n_nodes == 1 && !joined(c))
		check_line(who);
	if (n_nodes > 1 && !joined(c))
		check_passed(who);
	tokens[c->token].joined_us = tokens[c->token].lined_us = -1;
	tokens[c->token].lines = 0;
	c->running = true;
	c->ended = c->dying = false;
	tell("client %d starts, slot %d, fence %" PRId64, who, c->lease.slot,
	     c->lease.fence);
	if (plot.nests && who < TOP_MAX && one_in(3))
		post(w.us + chance(w.T * 500), EV_NEST, who, 0, 0);
	/* (some are to wait for more than the minute of --priority) */
	post(w.us + chance(plot.leads && w.calm ? w.T * 30000
			   : plot.sparse        ? c->ttl * 2500
						: w.T * 2500),
	     EV_COMMAND_END, who, 0, 0);
}

/* ---- clients ---- */

static void begin(int who, int parent)
{
	static const struct holder nobody = {{"host", "1", "user", "sh"}};
	struct client *c = &w.client[who];
	struct lease_conf conf = {
		.nodes = n_nodes,
		.ttl_ms = c->ttl,
		.node_timeout_ms = w.T / 4,
		.wait_ms = plot.sparse ? 3 * w.T : INT64_MAX,
		.guard_ms = n_nodes > 1 ? c->ttl : 0,
		.ticket = n_nodes > 1 ? EPOCH_US + w.us + chance(20000) : 0,
		.max_waiters = one_in(20) ? chance(3) : -1,
		.supersede = one_in(plot.replaces ? 3 : 20),
		.replace_ms = w.T * 2,
		.shared = plot.readers && one_in(2),
		.slots = !plot.slots  ? 1
			 : plot.crowd ? SLOTS_MOST
				      : 1 + (int)chance(SLOTS_MOST),
		.min_hold_ms = plot.rests && one_in(3) ? chance(w.T * 3) : 0,
		.seed = (uint64_t)chance(INT64_MAX)};
	struct token *t;

	if (parent >= 0) {
		const struct client *p = &w.client[parent];

		conf.outer =
			(struct lease_outer){.slot = p->lease.slot,
					     .reads = lease_reads(&p->lease),
					     .fence = p->lease.fence,
					     .ttl_ms = p->ttl,
					     .here = true};
		(void)snprintf(conf.outer.token, sizeof(conf.outer.token), "%s",
			       tokens[p->token].text);
		conf.shared |= p->lease.conf.shared;
		conf.supersede = false;
	}
	if (conf.shared)
		conf.slots = 1;
	conf.replaces = plot.replaces && conf.supersede && !conf.shared &&
			conf.slots == 1;
	conf.high = plot.leads && !conf.supersede && w.tokens % 3 != 0;
	if (n_nodes > 1)
		conf.ticket = queue_ticket(conf.ticket, conf.high);
	new_life(who, &conf);
	t = &tokens[++w.tokens];
	assert(w.tokens < TOKENS_MAX);
	*t = (struct token){.conf = conf,
			    .outer = parent >= 0 ? w.client[parent].token : 0,
			    .came_us = w.us,
			    .lined_us = -1,
			    .joined_us = -1};
	for (int i = 0; i < NODES_MAX; i++)
		t->stay[i] = (struct stay){.heard_us = -1,
					   .granted_us = -1,
					   .made_us = -1,
					   .entered_us = -1,
					   .out_us = -1,
					   .left_us = -1};
	(void)snprintf(t->text, sizeof(t->text), "tok-%d", w.tokens);
	(void)snprintf(t->who, sizeof(t->who), "who:tok-%d", w.tokens);
	(void)snprintf(t->hold, sizeof(t->hold), "hold:tok-%d", w.tokens);
	record_identity(&conf, &nobody, t->identity);
	if (keys_init(&t->keys, KEY, strlen(KEY), t->text) < 0)
		abort();
	c->token = w.tokens;
	parent_of[who] = parent;
	tell("client %d wants the lock: %s, T %" PRId64 ", %d slots%s%s%s%s",
	     who, t->text, conf.ttl_ms, conf.slots,
	     conf.shared ? ", shared" : "", conf.high ? ", with priority" : "",
	     conf.outer.token[0] ? ", inside " : "", conf.outer.token);
	pump(who);
}

static bool is_free(const struct client *c)
{
	return !c->alive && !c->running && !c->guard_will;
}

/* The command of a holder starts a redlock. */
static void nest(int parent)
{
	const struct client *p = &w.client[parent];
	int who = TOP_MAX;

	while (who < CLIENTS_MAX && !is_free(&w.client[who]))
		who++;
	if (who == CLIENTS_MAX || !p->running || p->dying || joined(p))
		return;
	w.client[who].rate_ppm = p->rate_ppm;
	w.client[who].offset_ms = p->offset_ms;
	w.client[who].ttl = w.T;
	w.client[who].todo = 1;
	begin(who, parent);
}

static bool has_children(int who)
{
	for (int i = TOP_MAX; i < CLIENTS_MAX; i++)
		if (parent_of[i] == who && !is_free(&w.client[i]))
			return true;
	return false;
}

void sim_over(int who)
{
	struct client *c = &w.client[who];

	c->alive = false;
	c->life++;
	tell("client %d is done", who);
	if (--c->todo > 0)
		post(w.us + chance(w.T * 500), EV_NEXT, who, 0, 0);
}

void sim_lost(int who)
{
	tell("client %d loses its lease", who);
	if (w.gentle)
		violated("client %d: lost in an outage below 0.48 T", who);
	kill_command(who);
}

/* Nobody is left to give anything back. */
static void vanish(int who)
{
	struct client *c = &w.client[who];

	if (!c->alive && !c->running && !c->guard_will)
		return;
	c->stopped = c->guard_will = c->running = c->dying = false;
	memset(c->conns, 0, sizeof(c->conns));
	c->lease.freed = false;
	sim_over(who);
}

static void crash_machine(int who)
{
	tell("client %d: its machine is dead", who);
	for (int i = TOP_MAX; i < CLIENTS_MAX; i++)
		if (parent_of[i] == who)
			vanish(i);
	vanish(who);
}

/* Of its command nothing is left. A kill takes along the runs inside, and what
 * these hold ends with their leases. */
static void command_over(int who)
{
	struct client *c = &w.client[who];

	if (!c->running)
		return;
	for (int i = TOP_MAX; c->dying && i < CLIENTS_MAX; i++)
		if (parent_of[i] == who)
			vanish(i);
	if (c->lease.fence > plot.ended_fence && !joined(c))
		plot.ended_fence = c->lease.fence;
	command_gone(who);
}

static void command_ends(int who)
{
	if (w.client[who].dying || !w.client[who].running)
		return;
	if (has_children(who)) /* the command waits for them */
		post(w.us + w.T * 50, EV_COMMAND_END, who, 0, 0);
	else
		command_over(who);
}

/* ---- faults ---- */

static void restart(int node, bool empty)
{
	int64_t had = counter_at(node);
	char id[41];

	tell("node %d is restarted, and %s", node,
	     empty ? "empty" : "set back by a little");
	(void)snprintf(id, sizeof(id), "%040x",
		       (unsigned int)(node + NODES_MAX * ++plot.restarts));
	if (empty)
		redis_start(redis_at(node), id, wall_us(node));
	else
		redis_set_back(redis_at(node));
	plot.restarted_us[node] = w.us;
	plot.rolled |= !empty;
	redis_clock(node_redis[node], wall_us(node));
	lose(node, had, n_nodes > 1);
	for (int i = 0; i < w.n_flights; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != node)
			continue;
		f->blocked = false;
		break_off(f);
	}
}

enum spoil {
	FLUSH,
	STATE_GONE,
	STATE_TYPE,
	LINE_GONE,
	LINE_TYPE,
	LOCK_GONE,
	LOCK_TAKEN,
	SPOILS
};

static void by_hand(int node, const char *word, const char *key)
{
	struct words request = {0}, reply;
	char ms[24];

	words_add_text(&request, word);
	words_add_text(&request, key);
	if (strcmp(word, "set") == 0)
		words_add_text(&request, "x");
	(void)snprintf(ms, sizeof(ms), "%" PRId64, 2 * w.T);
	if (strcmp(word, "pexpire") == 0)
		words_add_text(&request, ms);
	(void)redis_run(redis_at(node), &request, &reply);
}

static void spoil(int node, enum spoil what)
{
	static const char *const names[SPOILS] = {
		"everything is lost",           "the state is deleted",
		"the state is a string",        "the line is deleted",
		"the line is a string",         "the lock is deleted",
		"another program has the lock",
	};

	int64_t had = counter_at(node);
	const char *value;

	tell("node %d: %s", node, names[what]);
	plot.touched |= what == LOCK_GONE || what == LOCK_TAKEN;
	switch (what) {
	case FLUSH:
		redis_flush(redis_at(node));
		lose(node, had, false);
		break;
	case STATE_GONE:
	case STATE_TYPE:
		by_hand(node, what == STATE_GONE ? "del" : "set",
			PART("state"));
		lose(node, had, false);
		break;
	case LINE_GONE:
	case LINE_TYPE:
		by_hand(node, what == LINE_GONE ? "del" : "set", PART("queue"));
		break;
	case LOCK_GONE:
		by_hand(node, "del", KEY);
		plot.foreign_ms = 0;
		break;
	case LOCK_TAKEN:
		by_hand(node, "set", KEY);
		by_hand(node, "pexpire", KEY);
		/* (memory may be full) */
		value = redis_get(redis_at(node), KEY);
		if (value && strcmp(value, "x") == 0)
			plot.foreign_ms = wall_us(node) / 1000 + 2 * w.T;
		break;
	case SPOILS:
		break;
	}
}

static int any_node(void)
{
	return (int)chance(n_nodes);
}

/* Who runs with the longest T is stopped, and meanwhile servers lose their
 * data: they, or those who have seen it, must know how long its lease is. */
static void storm(void)
{
	int who = -1;

	for (int i = 0; i < w.n_clients; i++)
		if (w.client[i].running &&
		    (who < 0 || w.client[i].ttl > w.client[who].ttl))
			who = i;
	if (who >= 0)
		post(w.us, EV_STOP, who, 1, 0);
	if (n_nodes == 1)
		post(w.us + chance(w.T * 300), EV_EVICT, 0,
		     one_in(2) ? STATE_GONE : FLUSH, 0);
	for (int i = (int)chance(n_nodes); i >= 0 && n_nodes > 1; i--)
		post(w.us + chance(w.T * 1000), EV_FLUSH, any_node(), 1, 0);
}

/* ---- force-release ---- */

static const char *family_at(int node, int slot)
{
	static char text[64];
	const char *at =
		redis_field(redis_at(node), PART("state"), slot_names[slot]);

	(void)snprintf(text, sizeof(text), "%s", at ? at : "-");
	text[strcspn(text, " ")] = '\0';
	return text;
}

static bool aim(void)
{
	int first = (int)chance(SLOTS_MOST), node = any_node();

	forcer.family[0] = '\0';
	for (int i = 0; i < SLOTS_MOST; i++) {
		forcer.slot = (first + i) % SLOTS_MOST;
		if (family_at(node, forcer.slot)[0] != '-')
			break;
	}
	(void)snprintf(forcer.family, sizeof(forcer.family), "%s",
		       family_at(node, forcer.slot));
	for (int k = 0; k < n_nodes; k++)
		forcer.seen[k] =
			strcmp(family_at(k, forcer.slot), forcer.family) == 0
				? counter_at(k)
				: 0;
	if (strncmp(forcer.family, "shared:", 7) == 0)
		(void)snprintf(forcer.family, sizeof(forcer.family),
			       FORCE_CROWD);
	return forcer.family[0] != '-';
}

/* It was asked, could hear it in time, and is dead by now; unless data were
 * lost, or it came so late, as one of several, that it could not. */
static void put_out(int i, int node)
{
	struct token *t = &tokens[i];
	bool late =
		t->stay[node].made_us > forcer.until_us - t->conf.ttl_ms * 1000;

	t->stay[node].out_us = w.us;
	if (forcer.now || late || n_losses > 0 || plot.restarts > 0)
		t->taken = true;
	for (int k = 0; k < CLIENTS_MAX && !t->taken; k++)
		if (w.client[k].token == i && w.client[k].running)
			violated("%s was asked to stop, and runs as it is put "
				 "out",
				 t->text);
}

static void force(int node, enum force_step step)
{
	static struct keys keys;
	int64_t left = (forcer.until_us - w.us) / 1000;
	const struct force q = {.step = step,
				.slot = forcer.slot,
				.who = forcer.family,
				.who_len = strlen(forcer.family),
				.grace_ms = left > 0 ? left : 0,
				.by = "host somebody\n",
				.entry = "",
				.ttl_ms = forcer.ttl_ms,
				.seen = forcer.seen[node],
				.alone = n_nodes == 1};
	struct request request;
	struct words words;
	bool here[TOKENS_MAX];

	if (!keys.lock && keys_init(&keys, KEY, strlen(KEY), "force") < 0)
		abort();
	note_entries(node, NULL, false);
	for (int i = 1; i <= w.tokens; i++)
		here[i] = tokens[i].stay[node].here;
	force_request(&request, &q, &keys, 0);
	if (!redis_run(redis_at(node), &request.words, &words)) {
		if (!may_fail(words.at[0]))
			violated("force: the script fails: %s", words.at[0]);
		return;
	}
	tell("slot %d, %s at node %d, is %s: %.*s", forcer.slot, forcer.family,
	     node, step == FORCE_TAKE ? "taken" : "asked to stop",
	     (int)words.len[0], words.at[0]);
	if (step == FORCE_TAKE)
		forcer.took_us = w.us;
	forcer.asked_us = w.us;
	forcer.asked &= ~(1U << node);
	if (step == FORCE_ASK && strcmp(words.at[0], "yes") == 0 &&
	    strcmp(words.at[3], "0") != 0)
		forcer.asked |= 1U << node;
	for (int i = 1; i <= w.tokens && step == FORCE_TAKE; i++)
		if (here[i])
			tokens[i].stay[node].rest_ms = 0;
	note_entries(node, NULL, false);
	if (step == FORCE_ASK && strcmp(words.at[0], "no") == 0)
		forcer.gone |= 1U << node;
	for (int i = 1; i <= w.tokens && step == FORCE_TAKE; i++)
		if (here[i] && !tokens[i].stay[node].here)
			put_out(i, node);
	wake_listeners(node, rough());
}

static void force_step(const struct event *e)
{
	bool begins = e->slot == 0, takes;

	if (begins) {
		forcer.now = one_in(3);
		forcer.began_us = w.us;
		forcer.until_us = w.us + (forcer.now ? 0 : e->value);
		forcer.ttl_ms = w.T;
		forcer.gone = 0;
		if (!aim())
			return;
		tell("somebody wants slot %d", forcer.slot);
	}
	takes = forcer.now || w.us >= forcer.until_us;
	for (int k = 0; k < n_nodes; k++)
		if (!w.server[k].down && !w.server[k].frozen)
			force(k, takes ? FORCE_TAKE : FORCE_ASK);
	if (!takes && __builtin_popcount(forcer.gone) < lease_quorum(n_nodes))
		post(w.us + w.T * 20, EV_FORCE, 0, 1, 0);
}

/* Long enough for the deadman of a client that does not hear. One at a time. */
static void plan_forces(int64_t span)
{
	int64_t at = chance(w.T * 3000);

	for (int i = (int)chance(3); i >= 0 && at < span; i--) {
		int64_t us = w.T * (w.unequal ? 16000 : 4000);

		post(at, EV_FORCE, 0, 0, us);
		at += us + w.T * 1000 + chance(w.T * 3000);
	}
}

/* The clocks of all servers are set back, or ahead, by far more than any lease;
 * in some schedules right after one was restarted. (Not drawn: the other
 * schedules stay what they were.) */
static void plan_far_steps(int64_t span)
{
	uint64_t random = w.random;
	int64_t at, us;

	if ((w.seed ^ w.seed >> 6) % 8 == 3) {
		at = chance(span);
		us = w.T * 1000 * (50 + chance(400));
		if (one_in(2))
			post(at, EV_FLUSH, any_node(), 1, 0);
		for (int i = 0; i < n_nodes; i++)
			post(at + chance(w.T * 100), EV_STEP, i, 1,
			     w.seed % 5 == 0 ? us : -us);
	}
	w.random = random;
}

/* Of several servers, up to a minute behind or ahead. (Not drawn.) */
static void plan_clocks(void)
{
	for (int i = 0; i < n_nodes && n_nodes > 1 && w.seed % 3 == 0; i++)
		w.server[i].step_us =
			w.server[i].step_us * 480000 / w.T - 60000000;
}

static void plan_faults(void)
{
	int64_t span = w.T * 12000;

	w.quiet_us = span;
	w.gentle = one_in(4);
	w.calm = w.gentle && one_in(2);
	if (w.gentle) {
		plan_clocks();
		plan_outage();
		return;
	}
	for (int i = (int)chance(4); i > 0; i--)
		post(chance(span), EV_DOWN, any_node(), one_in(2),
		     chance(w.T * 2000));
	if (one_in(3)) /* (several servers promise nothing if two lose data) */
		for (int i = n_nodes > 1 ? 0 : (int)chance(3); i >= 0; i--)
			post(chance(span), EV_EVICT, any_node(),
			     (int)chance(SPOILS), 0);
	if (plot.crowd)
		for (int i = 2 + (int)chance(6); i >= 0; i--)
			post(chance(span), one_in(2) ? EV_FLUSH : EV_EVICT, 0,
			     one_in(4) ? STATE_GONE : FLUSH, 0);
	else if (n_nodes == 1 && one_in(4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_FLUSH, 0, 2, 0);
	if (n_nodes > 1 && one_in(2))
		for (int i = (int)chance(6); i >= 0; i--)
			post(chance(span), EV_FLUSH, any_node(), 1, 0);
	if (one_in(8))
		post(chance(span), EV_STEP, any_node(), 0, 0);
	if (one_in(8)) {
		int64_t from = chance(span), node = any_node();

		post(from, EV_FULL, (int)node, 1, 0);
		post(from + chance(w.T * 4000), EV_FULL, (int)node, 0, 0);
	}
	for (int i = plot.sparse                   ? 6
		     : one_in(n_nodes > 1 ? 3 : 8) ? (int)chance(4)
						   : 0;
	     i > 0; i--)
		post(chance(span), EV_STORM, 0, 0, 0);
	if (one_in(4))
		plan_forces(span);
	plan_deaths(span, w.n_clients);
	plan_far_steps(span);
}

/* ---- one schedule ---- */

void sim_event(const struct event *e)
{
	switch ((int)e->kind) {
	case EV_NEXT:
		begin(e->who, -1);
		break;
	case EV_NEST:
		nest(e->who);
		break;
	case EV_COMMAND_END:
		command_ends(e->who);
		break;
	case EV_COMMAND_DEAD:
		command_over(e->who);
		break;
	case EV_CRASH:
		crash_machine(e->who);
		break;
	case EV_FLUSH:
		restart(e->who, e->slot == 1);
		break;
	case EV_STEP:
		if (e->slot) {
			tell("node %d: its clock steps by %" PRId64 " ms",
			     e->who, e->value / 1000);
			set_clock(e->who, e->value);
			break;
		}
		tell("node %d: its clock steps by %.3f ms", e->who,
		     step_clock(e->who));
		break;
	case EV_STORM:
		storm();
		break;
	case EV_FORCE:
		force_step(e);
		break;
	case EV_REPLACED:
		replaced(e);
		break;
	case EV_EVICT:
		spoil(e->who, (enum spoil)e->slot);
		break;
	case EV_FULL:
		plot.full = true;
		redis_full(redis_at(e->who), e->slot);
		break;
	default:
		assert(!"no such event here");
	}
}

static void check_end(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if ((i < w.n_clients && w.client[i].todo > 0) ||
		    w.client[i].alive || w.client[i].running)
			violated("client %d never finished (state %d)", i,
				 w.client[i].lease.state);
	/* an acquire that was late may have left an orphan, for T at most */
	w.us += w.T * 40000;
	for (int i = 0; i < n_nodes; i++)
		if (redis_ends(redis_at(i), KEY) != 0 && !w.backward_step)
			violated("a lock is left on node %d", i);
}

enum {
	TWIN_STAMP_AT_REPLY = 1,
	TWIN_NO_POLL,
	TWIN_OLD_GRANT,
	TWIN_SHORT_GUARD,
	TWIN_RASH,
	TWIN_SCRIPTS
};

/* A rule left out each time. Where two rules guard the same thing, one alone is
 * not missed, and both are left out in one twin:
 *   - a counter that is behind has always lost values that the trail had, too,
 *     unless somebody wrote to the counter alone;
 *   - who was swept out by force-release has no entry, and one that is left is
 *     from before the slot's family;
 *   - another program's lock is seen before the grant, and SET NX respects it.
 * `from`: of the rare ones, a seed just below the one that shows it, so that
 * every run can try all. After a change of the schedules: `sim --twins` says
 * the new one. */
static const struct twin {
	const char *name;
	int nodes;
	struct redis_edit edits[TWIN_EDITS + 1];
	uint64_t from;
} twins[] = {
	{"", 1, {{0}}, 0},
	{"validity counted from the reply", 1, {{0}}, 620},
	{"no poll", 1, {{0}}, 0},
	{"a command starts on a grant that was renewed", 1, {{0}}, 7570},
	{"the guard covers only our own T", 3, {{0}}, 0},
	{"a node is repaired before others have shown who has the lock",
	 3,
	 {{0}},
	 31},
	{"nothing is shut after a loss of data",
	 1,
	 {{"L.shut=max(L.shut,since+ms)", ""}},
	 0},
	{"it is shut only for our own T",
	 1,
	 {{"shut(L,L.longest,since)",
	   "shut(L,num(match(L.identity,'^%d+')),since)"}},
	 813},
	{"neither an older counter nor a hole in the trail is noticed",
	 1,
	 {{"or c and c>seen and seen>=born(L)", "or c and seen>=born(L)"},
	  {"and(L.trail==''or seen<num(match(L.trail,'%d+'))or "
	   "L.trail:find(ARGV[3],1,true))then",
	   "then"}},
	 485},
	{"a hole in the trail is not noticed",
	 1,
	 {{"and(L.trail==''or seen<num(match(L.trail,'%d+'))or "
	   "L.trail:find(ARGV[3],1,true))then",
	   "then"}},
	 271127003131},
	{"born is not checked",
	 1,
	 {{"and c>seen and seen>=born(L)", "and c>seen"}},
	 0},
	{"a lone client registers again though others were granted since",
	 1,
	 {{"and moved<=L.seen", ""}},
	 0},
	{"one of several registers again though nothing was lost",
	 1,
	 {{"(lost or alone and L.seen>0)", "(lost or L.seen>0)"}},
	 0},
	{"a client registers again however late",
	 1,
	 {{"return L.now<ARGV[12]+0", "return true"}},
	 0},
	{"nobody registers again",
	 1,
	 {{"elseif L.number>0 and returns()then", "elseif false then"}},
	 0},
	{"a client fits any family",
	 1,
	 {{"return not lives or same", "return true"}},
	 0},
	{"a release frees the slot though others are in it",
	 1,
	 {{"s.count=s.count-1 if", "s.count=0 if"}},
	 0},
	{"a release does not move the family's counter",
	 1,
	 {{"if s.family==L.token or L.now>=L.shut then mark_moved(L,s)end",
	   ""}},
	 138},
	{"a late release counts",
	 3,
	 {{"if e and(L.number<e.number or e.flag=='r')",
	   "if e and e.flag=='r'"}},
	 783},
	{"a client registers again on one of several nodes however late",
	 3,
	 {{"return L.now<ARGV[12]+0", "return true"}},
	 0},
	{"nobody registers again on one of several nodes",
	 3,
	 {{"elseif L.number>0 and returns()then", "elseif false then"}},
	 0},
	{"--min-hold keeps nothing on several nodes",
	 3,
	 {{"if rest>0 and still then", "if false then"}},
	 0},
	{"the last in line is served first",
	 3,
	 {{"line('zrangebyscore',0,'+inf','withscores','limit',0,1)",
	   "line('zrevrange',0,0,'withscores')"}},
	 0},
	{"a reader or a nested run joins an empty slot of several nodes",
	 3,
	 {{"return s.ends>L.now and stop_of(L,s,L.token)<0", "return true"}},
	 0},
	{"--min-hold keeps nothing",
	 1,
	 {{"if rest>0 and still then", "if false then"}},
	 0},
	{"a free slot is taken before the waiters",
	 1,
	 {{"local left,_,ours=serve(L,only)", "local left,ours=false,nil"}},
	 119},
	{"a client that finds the line full drops what was handed to it",
	 1,
	 {{"return answer('full',n)", "return{'full',L.c or 0,n}"}},
	 1451},
	{"no restart guard",
	 3,
	 {{"local rest=young_for(L,ARGV[18]+0)", "local rest=0"}},
	 76},
	{"an earlier grant begins though it is shut",
	 1,
	 {{"if L.now>=L.shut or ARGV[11]~='' then", "if true then"}},
	 271120117851},
	{"a counter that was set back goes on by 1",
	 1,
	 {{"if not L.c or L.alone or rolled_back(L)then", "if not L.c then"}},
	 0},
	{"a renewal goes on in another slot",
	 1,
	 {{"and(L.number==0 or e.n==ARGV[10]+0)then", "then"}},
	 184},
	{"a forced client goes on, and its entry stays",
	 1,
	 {{"s.family~='-' and e.fence>=s.moved and e", "e"},
	  {"sweep(L,s,nil,'forced\\n'..ARGV[13])", ""}},
	 0},
	{"readers enter though those there are asked to stop",
	 1,
	 {{"and(s.ends<=L.now or(n==0 and not L.stop)or "
	   "call('hexists',S,'stop:'..n)==0)then",
	   "then"}},
	 104},
	{"a holder that is asked to stop does not hear it",
	 1,
	 {{"local stop,by=stop_of(L,s,L.token)", "local stop,by=-1,''"}},
	 0},
	{"--replace asks though others are before it",
	 1,
	 {{"and place==0 and lives", "and place>=0 and lives"}},
	 0},
	{"--priority high passes those that came more than a minute ago",
	 1,
	 {{"(high and LEAD or 0)", "(high and 2*LEAD or 0)"}},
	 1082},
	{"another program's lock is overlooked",
	 1,
	 {{"if s.n==0 and look(L)and L.value~=s.family then return",
	   "if false then return"},
	  {"set=call('set',K,family,'nx','px',str(ms))",
	   "set=call('set',K,family,'px',str(ms))"}},
	 0},
	{"a lease outlives a clock that was set back",
	 1,
	 {{"ends=min(ends+0,latest)", "ends=ends+0"}},
	 751},
	{"a key is shut for longer if the clock was set back",
	 1,
	 {{"if lost>L.now then", "if false then"}},
	 0},
	{"a reader returns though a writer was there meanwhile",
	 1,
	 {{"family=='shared:'and quiet_since(L,s)or s.moved",
	   "family=='shared:'and 0 or s.moved"}},
	 813},
	{"who comes late is counted twice",
	 1,
	 {{"drop(L,L.token)leave(L,s,L.token)put_slot(L,s)", ""}},
	 0},
	{"a line has no expiry at first",
	 1,
	 {{"if line('zadd',ticket,member)==1 then",
	   "if line('zadd',ticket,member)==2 then"}},
	 0},
	{"a holder goes on though another program took the lock",
	 1,
	 {{"return e.n>0 or not look(L)or L.value==slot(L,0).family",
	   "return true"}},
	 0},
};
#define TWINS ((int)(sizeof(twins) / sizeof(twins[0])))

/* All servers run the scripts of this twin from now on. */
static void become(int twin)
{
	static int now = -1;

	if (twin == now)
		return;
	now = twin;
	twin_must_fit(twins[twin].name, twins[twin].edits);
	for (int i = 0; i < NODES_MAX; i++) {
		if (!node_redis[i])
			node_redis[i] = redis_open();
		if (!node_redis[i])
			abort();
		redis_edit(node_redis[i], twins[twin].edits);
	}
}

static void setup(uint64_t seed, int twin, bool aloud)
{
	for (int i = 1; i <= w.tokens; i++)
		keys_close(&tokens[i].keys);
	plot = (struct plot){0};
	n_losses = 0;
	forcer = (struct forcer){0};
	waiting = (struct waiting){.since_us = -1};
	become(twin);
	world_begin(seed, twin, aloud);
	w.late_stamp = twin == TWIN_STAMP_AT_REPLY;
	w.no_poll = twin == TWIN_NO_POLL;
	w.old_grant = twin == TWIN_OLD_GRANT;
	w.short_guard = twin == TWIN_SHORT_GUARD;
	w.rash = twin == TWIN_RASH;
	plot.readers = one_in(3);
	plot.slots = one_in(3);
	plot.nests = one_in(3);
	plot.rests = one_in(4);
	plot.replaces = (seed ^ seed >> 4) % 4 == 1;
	plot.leads = (seed ^ seed >> 5) % 4 == 2;
	w.unequal = one_in(4);
	w.stalls = one_in(8);
	plot.crowd = n_nodes == 1 && one_in(6);
	plot.sparse = !plot.crowd && one_in(8);
	if (plot.sparse) {
		w.n_clients = 2;
		w.unequal = true;
	}
	plot.readers |= plot.crowd && one_in(2);
	plot.slots |= plot.crowd && !plot.readers;
	for (int i = 0; i < CLIENTS_MAX; i++)
		parent_of[i] = -1;
	for (int i = 0; i < n_nodes; i++) {
		struct server *s = &w.server[i];
		char id[41];

		(void)snprintf(s->name, sizeof(s->name), "node %d", i);
		(void)snprintf(id, sizeof(id), "%040x", (unsigned int)i);
		redis_clock(node_redis[i], EPOCH_US);
		/* up for long, each since another moment */
		redis_start(node_redis[i], id, EPOCH_US - 1000000000 - i);
		redis_full(node_redis[i], false);
		redis_save(node_redis[i]);
		s->rate_ppm = any_rate_ppm();
		if (n_nodes > 1)
			s->step_us = chance(w.T * 250);
	}
	plan_faults();
	world_people();
	for (int i = 0; i < w.n_clients && plot.sparse; i++)
		w.client[i].todo = 12;
}

bool sim_run(uint64_t seed, int twin, bool aloud)
{
	setup(seed, twin, aloud);
	while (world_step())
		check_waits();
	if (!w.failed)
		check_end();
	return !w.failed;
}

/* ---- from the command line ---- */

const char *sim_twin(int twin)
{
	if (twin >= TWINS)
		return NULL;
	twin_must_fit(twins[twin].name, twins[twin].edits);
	return twins[twin].name;
}

uint64_t sim_twin_from(int twin)
{
	return twins[twin].from ? twins[twin].from : 1;
}

int sim_twin_nodes(int twin)
{
	return twins[twin].nodes;
}

const char *sim_scope(void)
{
	static char text[32];

	(void)snprintf(text, sizeof(text), "on %d node%s", n_nodes,
		       n_nodes > 1 ? "s" : "");
	return text;
}

/* ---- two texts of one script ---- */

static int same_code(const char *one, const char *other)
{
	char *a = twin_text(one), *b = twin_text(other);
	struct redis *r = redis_open();
	bool same = a && b && r && redis_same_code(r, a, b);

	redis_close(r);
	free(a);
	free(b);
	return !same;
}

int main(int argc, char **argv)
{
	const char *what;
	uint64_t n[5] = {0};

	if (argc > 3 && strcmp(argv[1], "--scripts") == 0) {
		twin_use(argv[2]);
		argv += 2;
		argc -= 2;
	}
	what = argc > 3 ? argv[1] : "";
	for (int i = 2; i < argc && i < 5; i++)
		n[i] = strtoull(argv[i], NULL, 10);
	if (argc == 3 && strcmp(argv[1], "--rules") == 0)
		return rules_check(argv[2]);
	if (strcmp(what, "--same") == 0)
		return same_code(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "--plain-twins") == 0)
		return compare_plain_twins(n[2]);
	if (strcmp(what, "--plain") == 0)
		return compare_plain(n[2], n[3]);
	if (argc > 4 && strcmp(what, "--differ") == 0)
		return compare_server(argv[2], n[3], n[4]);
	return world_main(argc, argv, &n_nodes);
}
