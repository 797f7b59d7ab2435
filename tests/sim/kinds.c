/* SPDX-License-Identifier: MIT */
/*
 * The simulator of the kinds of lock: --slots, --shared and --exclusive, runs
 * inside runs, --min-hold, all mixed on one key. It is to sim.c what the kinds
 * are to the plain lock, with one difference: nothing of the protocol is
 * written down twice. The scripts that script_request() sends run as they are,
 * in an embedded Lua, on a small Redis (redis.c); the lease's own bytes are
 * src/lock. One seed is one run, on one node or on several (--nodes).
 *
 *   kinds [--nodes N] [--twin N] SEED            one schedule, step by step
 *   kinds [--nodes N] --runs N [--from SEED]     many, silently
 *   kinds --twins N                  each twin, caught within N schedules
 *   kinds --twins N --parts P --from SEED   one in P of them, each seed others
 *   kinds --differ SOCKET [STEPS [SEED]]    redis.c against a server
 *   kinds --same FILE FILE    whether two scripts are compiled to the same code
 *
 * What is checked, whenever a script has run, a command starts, and at the end:
 *   - nobody runs in a slot in which somebody else runs, save readers among
 *     readers, and who was started by the holder's own command;
 *   - fences are unique, and larger than that of any command that had ended
 *     when the lock was granted;
 *   - no lease outlasts the last sign of its holders: a live reader keeps no
 *     dead one's;
 *   - --min-hold is kept;
 *   - where nothing fails, nobody is granted the lock past one who stood in
 *     line before;
 *   - an outage shorter than 0.48 T ends no command, nor does FLUSHALL, where
 *     all are readers, or all have the same slots, and no newcomer is quicker;
 *   - while the keys move from one node of a Cluster to another, a lock whose
 *     keys are together is not lost, and no key is made twice;
 *   - who is asked to stop (force-release), and can hear it, is dead before the
 *     lock is taken; nobody heals what was taken;
 *   - no slot stays free while somebody waits for it, also where several come
 *     for one at the same moment and a minority is down; everybody who waits
 *     gets it in the end, and nothing stays behind.
 * On several nodes order in line and what becomes of losses of data are less
 * certain; --min-hold is kept where a quorum knows of it; a node that was
 * restarted, and is empty, breaks nothing; fences are larger than those of
 * whoever had ended when the lock was asked for, or ever had the slot. An
 * outage below 0.48 T ends no command, though it be of all nodes.
 * A twin is a change to the text of the scripts.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lock/wire/answer.h"
#include "lock/wire/force.h"
#include "lock/wire/keys.h"
#include "lock/wire/script.h"
#include "redis.h"
#include "server.h"
#include "world.h"

#define KEY "k"
#define PART(name) KEY ":redlock:{" KEY "}:" name
#define SLOTS_MOST 4
#define TOKENS_MAX 256
#define BARE_T 6        /* see plan_bare() */
#define FREE_US 5000000 /* a few rounds and pauses; 4.2 s was seen */

/* A token on a node; times by that one's clock. */
struct stay {
	unsigned int has;       /* now; slots: bits */
	unsigned int lost;      /* with all data, and not told since; and */
	unsigned int lost_then; /* before this script */
	bool forgot;            /* the server was set back to before it came */
	bool unheard;     /* when its lock was lost, not all who share it had
			     heard of its lease */
	bool told_no;     /* it asked to join, and another one had that slot */
	int64_t owner;    /* which family's or, negative, which readers' lock */
	int64_t seen_ms;  /* last touched its lease */
	int64_t yes_us;   /* last renewed or healed it */
	int64_t rest_ms;  /* ends at: --min-hold */
	int64_t rests_ms; /* and not sooner than; 0: not told */
	int64_t start_ms; /* its command started: --min-hold counts from here */
	bool waits;       /* stands in line now, and */
	bool waited;      /* did so before this script */
	/* when it left the line by another's script, and had a slot then */
	int64_t given_ms;
	int64_t kept_ms; /* after a loss its lock may last until then */
};

/* A redlock, from when it wants the lock on: known by its token for ever. */
struct token {
	char text[40], identity[IDENTITY_SIZE];
	struct keys keys;
	struct lease_conf conf;
	int client;
	int family; /* the token of the outermost */
	int joined; /* that of whom it ever joined; 0: nobody */
	int64_t came_us;
	int64_t joined_us;  /* stood in line; -1: never */
	int64_t granted_us; /* last; -1: not yet */
	int64_t started_us; /* its command; 0: not yet */
	int64_t fence;      /* what it was told of that; 0: nothing yet */
	int64_t floor;      /* the largest of who had ended by then */
	bool ghost;         /* granted, and nobody waits for it */
	int family_then, slot_then; /* when its command started */
	bool read_then;
	struct stay at[NODES_MAX];
};

/* What else a client is. */
struct kin {
	int machine;
	int parent;   /* whose command started it; -1: nobody's that lives */
	bool lingers; /* it ended, what it started did not: --orphans wait */
	bool waits;   /* that is its choice */
};

/* One slot, as a node has it. */
struct slot {
	char name[64], value[64];
	int64_t owner;              /* see struct token: of the last grant */
	int64_t granted_ms;         /* likewise, by the node's clock */
	int64_t ends_ms;            /* before a release, by its clock */
	int64_t grant_us, freed_us; /* freed: by a release since; 0: not */
	int64_t rest_ms;            /* --min-hold lasts until */
	int64_t rest_owner;
};

/* Who comes: what the schedule is about. */
enum mix { MIX_READERS, MIX_SLOTS, MIX_RW, MIX_UNEQUAL, MIX_ALL, MIX_COUNT };

enum loss { LOSS_ALL, LOSS_RESTART, LOSS_LAST };

/* This schedule. */
struct plot {
	enum mix mix;
	int slots;
	bool nests, rests;
	bool flushes; /* nothing fails but by FLUSHALL */
	bool carried; /* nothing fails; the slot moves, all keys at once */
	bool neat;    /* nothing but kills: what is given back is gone */
	bool bare;    /* a minority is down, and later another one is */
	bool rush;    /* a minority is down, and all come for a slot at once */
	bool evicted, full, moving, cluster;
	bool spoils;   /* nothing fails but by what is kept beside the lock */
	bool rolls;    /* nothing fails but that what came last is lost */
	bool granted;  /* since the first loss somebody has been granted it */
	bool newcomer; /* since the last loss one has had the free handed out,
			  or force-release has taken what had vanished */
	bool blind;    /* a twin: see blur() */
	bool stubborn; /* another: see insist() */
	int64_t saved_us;          /* rolls: what came since may be lost */
	bool apart;                /* the nodes' clocks */
	int losses_at[LOSSES_MAX]; /* nodes */
	bool spared[LOSSES_MAX];   /* the locks were not lost */
	int restarts;
	int64_t ended_fence, idle_us, none_us, free_us;
	bool waited, wanted; /* when it was last looked at idle_us, none_us */
	int has;             /* the lock, when a slot was first seen free */
	int64_t started[SLOTS_MOST][2]; /* largest fences: writers', readers' */
	int64_t fences[TOKENS_MAX];
	int n_fences;
};

static struct plot plot;
static struct kin kin[CLIENTS_MAX];
static struct token tokens[TOKENS_MAX];

static int n_nodes = 1;
static struct node {
	struct redis *redis;
	int64_t loss_us; /* the last one; -1: none */
	struct slot slot[SLOTS_MOST];
} nodes[NODES_MAX], *here = nodes;

static int64_t wall_ms(void)
{
	return wall_us((int)(here - nodes)) / 1000;
}

/* That is what is looked at from now on. */
static void go_to(int node)
{
	here = &nodes[node];
	redis_clock(here->redis, wall_us(node));
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Here. */
static struct stay *stay_of(int token)
{
	return &tokens[token].at[here - nodes];
}

/* ---- what the server holds ---- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Of "tok-N" and whatever follows; 0: none of ours. */
static int token_of(const char *text)
{
	return begins(text, "tok-") ? atoi(text + 4) : 0;
}

static const char *sharers_name(const char *value, char name[160])
{
	(void)snprintf(name, 160, PART("sharers:%s"), value);
	return name;
}

static void note_held(int token, int n)
{
	if (token <= 0 || token > w.tokens)
		return;
	stay_of(token)->has |= 1U << n;
	stay_of(token)->lost &= ~(1U << n);
}

/* Who holds which slot here now. */
static void scan(void)
{
	const char *member;
	double ticket;

	go_to((int)(here - nodes));
	for (int i = 1; i <= w.tokens; i++) {
		struct stay *y = stay_of(i);

		y->has = 0;
		y->lost_then = y->lost;
		y->waited = y->waits;
		y->waits = false;
	}
	for (int i = 0;
	     (member = redis_member(here->redis, PART("queue"), i, &ticket));
	     i++)
		stay_of(token_of(member))->waits = true;
	for (int n = 0; n < SLOTS_MOST; n++) {
		const char *value = redis_get(here->redis, here->slot[n].name);
		char name[160];
		double ends;

		(void)snprintf(here->slot[n].value, sizeof(here->slot[n].value),
			       "%s", value ? value : "");
		if (!value)
			continue;
		if (!strchr(value, ' '))
			note_held(token_of(value), n);
		(void)sharers_name(value, name);
		for (int i = 0;
		     (member = redis_member(here->redis, name, i, &ends)); i++)
			if (member[0] == '?' && w.calm && !plot.evicted)
				violated("%s: somebody is unknown", value);
			else if (strcmp(member, "left") == 0)
				stay_of(token_of(value))->has &= ~(1U << n);
			else if ((int64_t)ends >= wall_ms())
				note_held(token_of(member), n);
	}
}

static int64_t counter_here(void)
{
	const char *c = redis_field(here->redis, PART("state"), "fence");

	return c ? strtoll(c, NULL, 10) : 0;
}

/* ---- promises ---- */

static bool has_joined(const struct client *c)
{
	return c->lease.nest == NEST_JOINED;
}

/* Data were lost after `old` was granted, and a client that had seen no counter
 * before the loss was granted since: see sim.c. */
static bool may_overlap(const struct client *old)
{
	const struct token *t = &tokens[old->token];
	/* it may be granted anew, and not know it yet */
	bool latest = has_joined(old) ? t->joined == t->family
				      : old->lease.fence == t->fence;
	int64_t since = latest ? t->granted_us : 0;

	/* a quorum may have been its before the last node was */
	if (n_nodes > 1)
		since = has_joined(old) ? 0 : t->came_us;
	else
		since = larger(since, t->at[0].yes_us);
	if ((since < w.forward_us && hangs_on_stepped(old)) || old->robbed ||
	    old->replaced)
		return true;
	for (int i = 0; i < w.losses; i++)
		if (since < w.loss_us[i] && w.exposed[i] && !plot.spared[i])
			return true;
	return false;
}

/* Whether node k may have forgotten it. */
static bool is_exposed_at(const struct client *c, int k)
{
	const struct token *t = &tokens[c->token];
	int64_t since = has_joined(c) ? 0 : t->came_us;

	if ((c->robbed | c->replaced) & 1U << k ||
	    (w.stepped & 1U << k && since < w.forward_us))
		return true;
	for (int i = 0; i < w.losses; i++)
		if (plot.losses_at[i] == k && w.exposed[i] && !plot.spared[i] &&
		    since < w.loss_us[i])
			return true;
	return false;
}

static bool counts_on(const struct client *c, int k)
{
	return node_is_ours(&c->lease.node[k]) || c->dying;
}

/* Two quorums share a node, so an overlap is excused only if a shared node may
 * have forgotten one of the two. */
static bool may_overlap_with(const struct client *a, const struct client *b)
{
	if (!may_overlap(a) && !may_overlap(b))
		return false;
	if (n_nodes == 1)
		return true;
	for (int k = 0; k < n_nodes; k++)
		if ((is_exposed_at(a, k) && counts_on(b, k)) ||
		    (is_exposed_at(b, k) && counts_on(a, k)))
			return true;
	return false;
}

static int root_of(const struct token *t)
{
	return tokens[token_of(t->conf.outer.token)].family;
}

static int64_t owner_in(int family, int n)
{
	return begins(here->slot[n].value, "shared:")
		       ? -strtoll(here->slot[n].value + 7, NULL, 10)
		       : family;
}

/* Nobody who stands in line and still asks came earlier. */
static void check_line(int token)
{
	const struct token *t = &tokens[token];
	int64_t mine = t->joined_us < 0 ? w.us : t->joined_us;
	const char *member;
	double ticket;

	for (int i = 0;
	     (member = redis_member(here->redis, PART("queue"), i, &ticket));
	     i++) {
		const struct token *o = &tokens[token_of(member)];

		const struct client *c = &w.client[o->client];
		bool asks = w.calm ||
			    (c->alive && !c->stopped && c->token == o - tokens);

		if (o != t && o->joined_us >= 0 && o->joined_us < mine && asks)
			violated("%s is granted past %s", t->text, o->text);
	}
}

static void check_rest(const struct token *t, int64_t owner,
		       const struct slot *s)
{
	if (wall_ms() < s->rest_ms && owner != s->rest_owner &&
	    !(owner < 0 && s->rest_owner < 0) && here->loss_us < 0 &&
	    n_nodes == 1 && !plot.evicted && !w.forward_step &&
	    !w.backward_step)
		violated("%s is granted %" PRId64 " ms before --min-hold is "
			 "over",
			 t->text, s->rest_ms - wall_ms());
}

/* Whom a loss of data here exposes: see note_loss(). */
static void note_newcomer(const struct client *c, bool newcomer)
{
	for (int i = 0; i < w.losses; i++)
		if (plot.losses_at[i] == here - nodes)
			w.exposed[i] |= !c->knew[i] || newcomer;
}

/* A question from before the loss hands the lock to the first in line, who is
 * not told of it (R15). */
static void note_unaware(const struct flight *f)
{
	for (int i = 0; i < w.losses; i++)
		w.exposed[i] |= f->ask.verb == VERB_ACQUIRE &&
				(!w.client[f->client].knew[i] ||
				 f->ask.seen <= w.left[i]);
}

static void expose_here(void)
{
	for (int i = 0; i < w.losses; i++)
		w.exposed[i] |= plot.losses_at[i] == here - nodes;
}

static void now_of(struct slot *s, int64_t owner)
{
	s->owner = owner;
	s->granted_ms = wall_ms();
	s->grant_us = w.us;
	s->freed_us = 0;
}

/* A late copy from a client that is gone may put it in line. */
static bool asker_lives(const struct flight *f)
{
	return f->life == w.client[f->client].life;
}

/* Whether the command of that token runs. */
static bool is_running(int token)
{
	const struct client *c = &w.client[tokens[token].client];

	return c->token == token && c->running;
}

/* The holder whose command started it is running, on the same servers. */
static bool has_outer(const struct token *t)
{
	int outer = token_of(t->conf.outer.token);

	return t->conf.outer.here && outer > 0 && is_running(outer);
}

/* A run inside a command joins the holder, so it is no newcomer, unless it was
 * told that somebody else has the holder's slot. */
static bool is_newcomer(const struct token *t)
{
	return !has_outer(t) || t->at[here - nodes].told_no;
}

/* The slot of the holder that it wants to join belongs to another client, which
 * came after the last loss or came back with older data. */
static bool other_has_slot(const struct token *t)
{
	const struct slot *s = &here->slot[t->conf.outer.slot];
	int other = token_of(s->value), outer = token_of(t->conf.outer.token);

	return other > 0 && other != outer && &tokens[other] != t &&
	       root_of(&tokens[other]) != root_of(t) &&
	       (plot.rolls || s->grant_us > here->loss_us);
}

/* By asking, or handed over. Who knew no counter at a loss is the newcomer that
 * may overlap. */
static void granted(const struct flight *f, int token, int n)
{
	struct token *t = &tokens[token];
	struct stay *y = stay_of(token);
	struct client *c = &w.client[t->client];
	struct slot *s = &here->slot[n];
	bool by_itself = c->token == token && c->running && !has_joined(c);
	/* who joins a lock that vanished sets it again, for all in it */
	bool joins = f->ask.joins && f->ask.verb == VERB_ACQUIRE &&
		     (token == f->token || t->joined > 0);
	/* so does a late question of the holder that it had joined */
	bool again = f->ask.verb == VERB_ACQUIRE && t->joined > 0 &&
		     t->joined == f->token &&
		     strcmp(s->value, tokens[f->token].text) == 0 && !by_itself;
	int family = joins || again ? root_of(t) : token;

	/* a question to join that comes late joins nobody who holds alone */
	if (joins && by_itself)
		return;
	plot.granted |= !joins && is_newcomer(t);
	plot.newcomer |= !joins && f->ask.verb == VERB_ACQUIRE &&
			 f->ask.seen == 0 && is_newcomer(t);
	if (n_nodes == 1)
		t->family = family;
	t->joined = joins ? family : t->joined;
	t->granted_us = w.us;
	if (token != f->token) /* handed over: it was not told yet */
		t->fence = 0;
	y->owner = owner_in(family, n);
	if (n_nodes == 1)
		t->floor = plot.ended_fence;
	/* R15: a hold that has ended, but the server has forgotten that */
	if (joins && plot.rolls && !is_running(family))
		note_unaware(f);
	if (joins)
		return;
	tell("%s is granted slot %d%s", t->text, n,
	     y->owner < 0 ? ", to read" : "");
	if (c->token != token)
		expose_here(); /* an earlier run's, come late */
	note_robbed(here - nodes);
	note_newcomer(c,
		      token == f->token && f->ask.seen == 0 && is_newcomer(t));
	if (plot.rolls)
		note_unaware(f);
	/* else as well as it can be done */
	if (n_nodes == 1 && w.losses == 0 && (w.gentle || plot.neat) &&
	    !t->ghost)
		check_line(token);
	check_rest(t, y->owner, s);
	now_of(s, y->owner);
}

/* One that was born again tells more than any before. On several nodes it does
 * not, if their clocks differ and one loses its data without a restart (R37).
 */
static bool counters_promised(void)
{
	return fences_promised() &&
	       (n_nodes == 1 || w.losses + plot.restarts == 0 ||
		!(w.backward_step ||
		  ((plot.apart || w.forward_step) && w.losses > 0)));
}

/* A lost lock that one of them sets again lasts for the longest lease that the
 * record knows: that of any who joined. */
static void keep_family(int token)
{
	int64_t longest = tokens[token].conf.ttl_ms;

	for (int i = 1; i <= w.tokens; i++)
		if (tokens[i].joined == token)
			longest = larger(longest, tokens[i].conf.ttl_ms);
	stay_of(token)->kept_ms = wall_ms() + longest;
}

/* What healing must never do: set a lock again that was released, or that
 * somebody else was granted in the meantime: see sim.c. */
static void healed(const struct flight *f)
{
	const struct token *t = &tokens[f->token];
	struct slot *s = &here->slot[f->ask.slot];
	/* a renewal is enough to be in there */
	int64_t owner =
		owner_in(f->ask.joins ? root_of(t) : f->token, f->ask.slot);
	bool other = s->owner != owner;
	/* the server forgot it, and then it was freed by one who shared it */
	bool forgotten =
		plot.rolls && stay_of(f->token)->lost_then & 1U << f->ask.slot;

	/* a counter born from a clock that was set back proves nothing; nor
	 * does one that trails a node whose clock was set ahead */
	if (counters_promised() &&
	    !(n_nodes > 1 && w.forward_step && w.losses + plot.restarts > 0) &&
	    !f->ask.confirm.repairs && !forgotten &&
	    ((s->freed_us && s->freed_us > here->loss_us) ||
	     (other && s->grant_us > here->loss_us)))
		violated("%s heals a lock that is no longer its own", t->text);
	else if (s->freed_us || other)
		expose_here();
	stay_of(f->token)->owner = owner;
	keep_family(f->ask.joins ? root_of(t) : f->token);
	if (f->ask.confirm.repairs) {
		s->freed_us = 0; /* it was given back here before the claim */
		if (other)       /* else its record is there still */
			now_of(s, owner);
	}
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (stay_of(w.client[i].token)->owner == owner)
			w.client[i].robbed &= ~(1U << (here - nodes));
}

/* Who has left does not shorten what it prolonged, nor is it shortened when
 * somebody takes what --min-hold kept of one: they are of one tree, and the
 * next renewal does. */
static int64_t family_ends(int token)
{
	int64_t most = stay_of(token)->kept_ms;

	for (int i = 1; i <= w.tokens; i++) {
		const struct token *t = &tokens[i];

		if (i == token || t->joined == token)
			most = larger(most,
				      stay_of(i)->seen_ms + t->conf.ttl_ms);
		if (t->joined == token)
			most = larger(most, stay_of(i)->rest_ms);
	}
	return most;
}

/* A waiter that is handed the lock has so much to answer, unless data were just
 * lost: grant_ms in Lua. */
static int64_t grant_ms(int token)
{
	int64_t half = tokens[token].conf.ttl_ms / 2;

	return half < 2000 ? half : 2000;
}

/* Nothing lasts longer than the lease of those last heard of. */
static void check_ends(int n)
{
	const struct slot *s = &here->slot[n];
	int64_t ends = redis_ends(here->redis, s->name), most = 0, may;
	int token = token_of(s->value);
	const char *member;
	char name[160];
	double score;

	/* in its last ms those who shared it are gone already */
	if (s->value[0] == '\0' || ends == wall_ms() || w.backward_step)
		return;
	if (plot.evicted) { /* P4: a forgotten client keeps it for T at most */
		for (int i = 1; i <= w.tokens; i++)
			most = larger(most, larger(tokens[i].conf.ttl_ms,
						   tokens[i].conf.min_hold_ms));
		if (ends < 0 || ends > wall_ms() + most)
			violated("slot %d: the lock lasts for another %" PRId64
				 " ms",
				 n, ends - wall_ms());
		return;
	}
	if (token > 0)
		most = strchr(s->value, ' ') ? stay_of(token)->rest_ms
					     : family_ends(token);
	(void)sharers_name(s->value, name);
	for (int i = 0; (member = redis_member(here->redis, name, i, &score));
	     i++) {
		int who = token_of(member);

		if (member[0] == '?')
			return;
		may = stay_of(who)->seen_ms + tokens[who].conf.ttl_ms;
		if (stay_of(who)->given_ms + grant_ms(who) > may)
			may = stay_of(who)->given_ms + grant_ms(who);
		if (begins(member, "rest "))
			may = stay_of(token_of(member + 5))->rest_ms;
		/* P4: T, and one poll */
		if (strcmp(member, "left") != 0 &&
		    (int64_t)score > may + tokens[who].conf.ttl_ms / 6)
			violated("slot %d: %.*s lasts %" PRId64 " ms too long",
				 n, (int)strcspn(member, "\n"), member,
				 (int64_t)score - may);
		most = may > most ? may : most;
	}
	if (ends < 0 || ends > most)
		violated("slot %d: the lock outlasts its holders by %" PRId64
			 " ms",
			 n, ends - most);
}

/* Of a release: what stays for --min-hold. It counts from the grant, here;
 * whoever shares the lock counts by its own clock, since it asked. */
static void released(const struct flight *f, int n, const struct slot *had)
{
	const struct token *t = &tokens[f->token];
	struct stay *y = stay_of(f->token);
	int64_t least = f->ask.release.least_ms, rest;

	if (f->answer.said != SAID_YES || least == 0)
		return;
	y->rest_ms = wall_ms() + least;
	if (n < 0 || t->granted_us < 0 || w.client[t->client].token != f->token)
		return;
	rest = had[n].granted_ms + least;
	if (y->owner != f->token)
		rest = wall_ms() + least - f->ask.release.held_ms * 12 / 10 -
		       between(f->ask.sent, clock_of(&w.client[f->client])) *
			       12 / 10;
	if (n == t->slot_then) /* it may have another here, too */
		y->rests_ms = rest;
	if (rest > here->slot[n].rest_ms) {
		here->slot[n].rest_ms = rest;
		here->slot[n].rest_owner = y->owner;
	}
}

static void touch(const struct flight *f)
{
	struct token *t = &tokens[f->token];
	struct client *c = &w.client[f->client];

	/* what a killed client sent last, its guard's release may overtake */
	t->ghost |= nobodys(f) && f->ask.verb == VERB_ACQUIRE && c->guard_will;
	if (f->ask.confirm.reads && f->answer.said != SAID_NO && !f->refused)
		stay_of(f->token)->owner = -f->answer.group;
	if (f->ask.verb == VERB_CONFIRM && f->ask.joins &&
	    f->answer.said != SAID_NO && !f->refused) {
		t->joined = root_of(t);
		stay_of(f->token)->owner = owner_in(t->joined, f->ask.slot);
		c->robbed &= ~(1U << (here - nodes));
	}
	if (!f->refused && f->ask.verb == VERB_ACQUIRE &&
	    f->answer.said == SAID_GRANTED)
		t->fence = f->answer.counter;
	if (!f->refused &&
	    (f->answer.said == SAID_GRANTED || f->answer.said == SAID_HEALED ||
	     (f->ask.verb == VERB_CONFIRM && f->answer.said == SAID_YES))) {
		stay_of(f->token)->seen_ms = wall_ms();
		/* a late acquire may be granted another slot */
		if (f->ask.verb == VERB_CONFIRM)
			stay_of(f->token)->yes_us = w.us;
	}
	if (f->ask.verb == VERB_ACQUIRE && f->ask.joins && !f->refused)
		stay_of(f->token)->told_no =
			f->answer.said == SAID_NO && other_has_slot(t);
	if (f->ask.verb == VERB_ACQUIRE && !f->refused && t->joined_us < 0 &&
	    f->answer.busy.place > 0)
		t->joined_us = w.us;
}

/* That slot, if it is one of these; else the first; -1: none. */
static int slot_in(unsigned int slots, int likely)
{
	int n = 0;

	if (slots & 1U << likely)
		return likely;
	while (n < SLOTS_MOST && !(slots & 1U << n))
		n++;
	return n < SLOTS_MOST ? n : -1;
}

/* Who wants one slot is told who has that one. */
static void check_told(const struct flight *f)
{
	const struct slot *s;

	if (f->ask.acquire.only == 0 || f->answer.said != SAID_BUSY)
		return;
	s = &here->slot[f->ask.acquire.only - 1];
	if (s->value[0] != '\0' &&
	    f->answer.busy.pttl_ms !=
		    redis_ends(here->redis, s->name) - wall_ms())
		violated("%s wants slot %d and is told of another",
			 tokens[f->token].text, f->ask.acquire.only - 1);
}

/* Who asks for one slot gets no other. A late copy may find another one, kept
 * by those who joined it; that is no new grant. */
static void check_wanted(const struct flight *f, int n, const struct slot *had)
{
	const char *text = tokens[f->token].text;

	if (f->ask.verb == VERB_ACQUIRE && !f->ask.joins &&
	    f->ask.acquire.only > 0 && n != f->ask.acquire.only - 1 &&
	    strcmp(had[n].value, text) != 0)
		violated("%s wants slot %d and is granted %d", text,
			 f->ask.acquire.only - 1, n);
}

/* A script has run: what has changed? */
static void node_has_run(const struct flight *f, const unsigned int *held,
			 const struct slot *had)
{
	unsigned int passed = 0; /* slots: bits */

	touch(f);
	scan();
	check_told(f);
	for (int n = 0; n < SLOTS_MOST && f->ask.verb == VERB_RELEASE; n++) {
		if (had[n].value[0] == '\0' ||
		    strcmp(had[n].value, here->slot[n].value) == 0)
			continue;
		/* the lease that it joined ends in this ms: by itself, as if
		 * the release had come too late */
		if (!f->ask.joins || had[n].ends_ms != wall_ms())
			here->slot[n].freed_us = w.us;
		passed |= 1U << n;
	}
	for (int i = 1; i <= w.tokens && f->ask.verb != VERB_CONFIRM; i++) {
		struct stay *y = stay_of(i);

		unsigned int more = y->has & (~held[i] | passed);

		if (y->has && y->waited && !y->waits && i != f->token)
			y->given_ms = wall_ms();
		/* (by its own release, if it was in line, too) */
		if (more && (i != f->token || f->ask.verb == VERB_RELEASE))
			y->seen_ms = wall_ms();
		for (int n = 0; n < SLOTS_MOST; n++) {
			if (!(more & 1U << n))
				continue;
			if (i == f->token)
				check_wanted(f, n, had);
			granted(f, i, n);
		}
	}
	if (f->answer.said == SAID_HEALED)
		healed(f);
	if (f->ask.verb != VERB_RELEASE && stay_of(f->token)->waits &&
	    asker_lives(f) && stay_of(f->token)->has & ~held[f->token])
		violated("%s holds the lock and waits for it",
			 tokens[f->token].text);
	if (f->ask.verb == VERB_RELEASE)
		released(f, slot_in(held[f->token], f->ask.slot), had);
	for (int n = 0; n < SLOTS_MOST; n++)
		check_ends(n);
}

/* ---- commands ---- */

static int family_of(const struct client *c)
{
	return has_joined(c) ? root_of(&tokens[c->token]) : c->token;
}

/* Several nodes agreed upon one. */
static int slot_of(const struct client *c)
{
	return n_nodes > 1 ? c->lease.slot : c->lease.node[0].grant.slot;
}

static bool reads(const struct client *c)
{
	return lease_group(&c->lease) > 0;
}

static bool together(const struct client *a, const struct client *b)
{
	return slot_of(a) != slot_of(b) || family_of(a) == family_of(b) ||
	       (reads(a) && reads(b));
}

/* Whoever cannot have run at the same time ran before. */
static void check_order(const struct client *c)
{
	int64_t *largest = plot.started[slot_of(c)];
	int64_t fence = c->lease.fence;
	bool read = reads(c);

	if (fence <= largest[0] || (!read && fence <= largest[1]))
		violated("fence %" PRId64 " in slot %d after %" PRId64, fence,
			 slot_of(c),
			 fence <= largest[0] ? largest[0] : largest[1]);
	if (fence > largest[read])
		largest[read] = fence;
}

static void check_fence(int who)
{
	struct client *c = &w.client[who];
	const struct token *t = &tokens[c->token];
	int64_t fence = c->lease.fence;

	if (has_joined(c)) {
		if (fence != t->conf.outer.fence)
			violated("client %d: not the outer one's fence", who);
		return;
	}
	/* several nodes: one that lost its data counts on from its clock */
	if (!fences_promised() ||
	    (n_nodes > 1 && w.backward_step && w.losses + plot.restarts > 0))
		return;
	for (int i = 0; i < plot.n_fences; i++)
		if (plot.fences[i] == fence)
			violated("client %d: fence %" PRId64 " a second time",
				 who, fence);
	plot.fences[plot.n_fences++] = fence;
	/* it does not know yet that it was granted again, after a loss of data;
	 * the fence in its hand says so. Or its lock was taken away */
	if (!counters_promised() || c->robbed || c->replaced ||
	    (n_nodes == 1 && lost_since(t->came_us) && fence != t->fence))
		return;
	if (fence <= t->floor)
		violated("client %d: fence %" PRId64 " after %" PRId64, who,
			 fence, t->floor);
	if (!may_overlap(c))
		check_order(c);
}

/* On so many nodes that it may not be anybody else's yet. */
static void check_rests(int who)
{
	const struct client *c = &w.client[who];

	for (int i = 1; i <= w.tokens && !may_overlap(c); i++) {
		const struct token *t = &tokens[i];
		int rest = 0;

		if (t->slot_then != slot_of(c) || i == c->token ||
		    t->family_then == tokens[c->token].family ||
		    t->family_then == 0 || (t->read_then && reads(c)))
			continue;
		for (int k = 0; k < n_nodes; k++)
			rest += wall_us(k) / 1000 < t->at[k].rests_ms &&
				wall_us(k) / 1000 <
					t->at[k].start_ms + t->conf.min_hold_ms;
		if (rest >= lease_quorum(n_nodes))
			violated("client %d starts before %s is over", who,
				 t->text);
	}
}

static void note_start(const struct client *c)
{
	struct token *t = &tokens[c->token];

	for (int k = 0; k < n_nodes; k++)
		t->at[k].start_ms = wall_us(k) / 1000;
	t->family = t->family_then = family_of(c);
	t->started_us = w.us;
	t->slot_then = slot_of(c);
	t->read_then = reads(c);
}

/* The run around it runs beside that one already. */
static bool inherits(int who, int other)
{
	int parent = kin[who].parent;

	return parent >= 0 && w.client[parent].running &&
	       !together(&w.client[parent], &w.client[other]);
}

void sim_start(int who)
{
	struct client *c = &w.client[who];
	int64_t us = chance(w.T * (kin[who].parent >= 0 ? 1500 : 2500)) +
		     (plot.bare ? w.T * BARE_T * 1000 : 0) +
		     (plot.rush ? FREE_US : 0);

	tell("client %d starts: slot %d, fence %" PRId64 "%s%s", who,
	     slot_of(c), c->lease.fence, reads(c) ? ", reads" : "",
	     has_joined(c) ? ", inside" : "");
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (i == who || !w.client[i].running ||
		    together(c, &w.client[i]))
			continue;
		if (plot.flushes && !plot.granted && !has_joined(c) &&
		    has_outer(&tokens[c->token]) &&
		    w.client[i].token ==
			    token_of(tokens[c->token].conf.outer.token))
			violated("client %d starts beside the run around it",
				 who);
		else if (may_overlap_with(c, &w.client[i]) || inherits(who, i))
			w.overlaps++;
		else
			violated("client %d starts while client %d runs", who,
				 i);
	}
	if (slot_of(c) > 0 && !has_joined(c) &&
	    slot_of(c) >= c->lease.conf.slots)
		violated("client %d: slot %d of %d", who, slot_of(c),
			 c->lease.conf.slots);
	/* a late join may have put its token into another family */
	note_start(c);
	if (n_nodes > 1 && !plot.evicted && !w.backward_step)
		check_rests(who);
	check_fence(who);
	if (plot.spoils && reads(c) && one_in(4))
		us = chance(w.T * 100);
	if (plot.rolls && (reads(c) || has_joined(c)) && one_in(3)) {
		us = chance(w.T * 350);
		post(w.us + chance(w.T * 100), EV_FLUSH, 0, LOSS_LAST, 0);
		if (kin[who].parent >= 0)
			post(w.us + chance(w.T * 350), EV_COMMAND_END,
			     kin[who].parent, 0, 0);
	}
	c->running = true;
	c->ended = c->dying = kin[who].lingers = false;
	kin[who].waits = one_in(2);
	post(w.us + us, EV_COMMAND_END, who, 0, 0);
	if (plot.nests && one_in(2))
		post(w.us + chance(us), EV_NEST, who, 0, 0);
	if (plot.nests && one_in(6))
		post(w.us + chance(us), EV_NEST, who, 0, 0);
}

/* ---- the server's answers ---- */

bool sim_spent(const struct flight *f)
{
	return f->arrived && !f->blocked && nobodys(f);
}

static const char *grant_list(int token)
{
	static char name[160];
	const struct keys *k = &tokens[token].keys;

	(void)snprintf(name, sizeof(name), "%.*s", (int)k->part_len[PART_GRANT],
		       k->part[PART_GRANT]);
	return name;
}

bool sim_take_word(const struct flight *f)
{
	go_to(f->ask.node);
	return redis_take(here->redis, grant_list(f->token));
}

static void listen_at(int slot)
{
	struct flight *f = &w.flight[slot];

	f->answer = (struct answer){.said = SAID_QUIET};
	if (sim_take_word(f)) {
		f->answer.said = SAID_WOKEN;
		reply(slot);
	} else {
		listen_on(slot);
	}
}

static void tell_run(const struct flight *f, const struct words *words)
{
	static const char *const verbs[] = {"?",       "acquire",   "listen",
					    "confirm", "replicate", "release"};

	if (!w.tell)
		return;
	printf("%10.3f  %s: %s%s", (double)w.us / 1000.0, tokens[f->token].text,
	       verbs[f->ask.verb], f->ask.joins ? " (joins)" : "");
	if (n_nodes > 1)
		printf(" at node %d, fence %" PRId64, f->ask.node,
		       f->ask.fence);
	printf(" (saw %" PRId64 ", slot %d, ticket %" PRId64 ") ->",
	       f->ask.seen, f->ask.slot, f->ask.acquire.ticket);
	for (int i = 0; i < words->n; i++)
		if (!memchr(words->at[i], '\n', words->len[i]))
			printf(" %.*s", (int)words->len[i], words->at[i]);
	printf("  [");
	for (int n = 0; n < SLOTS_MOST; n++)
		printf("%s%s", n ? "|" : "", here->slot[n].value);
	printf("]\n");
}

/* As somebody would read it to whom a slot is as good as another. */
static void blur(struct flight *f)
{
	const struct lease *l = &w.client[f->client].lease;

	for (int i = 0; i < n_nodes && plot.blind; i++)
		if (f->answer.said == SAID_GRANTED && node_is_ours(&l->node[i]))
			f->answer.granted.slot = l->node[i].grant.slot;
}

/* As somebody would ask who never looks beyond the slot that he tried last. */
static void insist(struct lease *l)
{
	if (plot.stubborn && l->tried > 0 && l->state != LEASE_HELD)
		l->only = l->tried;
}

/* For want of memory, or of keys. */
static bool may_fail(const char *error)
{
	return (plot.full && begins(error, "OOM")) ||
	       (plot.moving &&
		(begins(error, "TRYAGAIN") || strstr(error, "non local key")));
}

static void save(void)
{
	redis_save(here->redis);
	plot.saved_us = w.us;
}

static int outer_of(const struct flight *f)
{
	return f->ask.joins ? root_of(&tokens[f->token]) : f->token;
}

/* A guard does not know the slot of what it releases; the script finds it. */
static int slot_asked(const struct flight *f)
{
	for (int n = 0; n < SLOTS_MOST && f->ask.verb == VERB_RELEASE; n++)
		if (strcmp(here->slot[n].value, tokens[f->token].text) == 0)
			return n;
	return f->ask.slot;
}

/* Whether it joined the hold that this client has; of readers, any of them. */
static bool is_inner(int token, const struct flight *f)
{
	const struct slot *s = &here->slot[slot_asked(f)];

	return begins(s->value, "shared:")
		       ? tokens[token].joined > 0 &&
				 stay_of(token)->owner == s->owner
		       : tokens[token].joined == outer_of(f);
}

/* One of those was forgotten, and has renewed since: the server knows that
 * there may be others. */
static bool is_told(const struct flight *f)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct stay *y = stay_of(w.client[i].token);

		if (is_inner(w.client[i].token, f) && y->forgot &&
		    y->yes_us > here->loss_us)
			return true;
	}
	return false;
}

/* R17, R50: the node has lost who joined this hold, and the holder was not told
 * of them. When it renews or ends, nothing tells that they were forgotten.
 * (What came last was lost, `plot.rolls`: so do those that the node still
 * knows.) */
static bool forgets(const struct flight *f)
{
	const struct token *t = &tokens[outer_of(f)];
	int n = slot_asked(f);
	const struct slot *s = &here->slot[n];
	char name[160], field[20], start[60];
	const char *member, *record;
	bool kept = false,
	     told = f->ask.verb == VERB_CONFIRM   ? f->ask.confirm.joined
		    : f->ask.verb == VERB_RELEASE ? f->ask.release.joined
						  : true;
	double ends;

	(void)snprintf(field, sizeof(field), n ? "holder:%d" : "holder", n);
	(void)snprintf(start, sizeof(start), "token %s\n", t->text);
	record = redis_field(here->redis, PART("state"), field);
	if (strcmp(s->value, t->text) != 0 &&
	    !(plot.rolls && begins(s->value, "shared:")))
		return false;
	if (f->ask.joins && !plot.rolls)
		return false;
	(void)sharers_name(s->value, name);
	for (int i = 0; (member = redis_member(here->redis, name, i, &ends));
	     i++) {
		if (strcmp(member, "?") == 0 && plot.rolls)
			return false;
		kept |= strcmp(member, "kept") == 0;
	}
	return plot.rolls
		       ? f->ask.verb == VERB_RELEASE && (kept || !told) &&
				 !is_told(f)
		       : !kept && !told && !(record && begins(record, start));
}

/* Those who joined it may overlap with others until they renew here: of what
 * came last, once the lock is free, or of all. */
static void rob_inner(const struct flight *f)
{
	const struct slot *s = &here->slot[slot_asked(f)];
	const char *value = redis_get(here->redis, s->name);

	if (plot.rolls && value && strcmp(value, s->value) == 0)
		return;
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (w.client[i].token > 0 && is_inner(w.client[i].token, f) &&
		    (!plot.rolls || stay_of(w.client[i].token)->lost))
			w.client[i].robbed |= 1U << (here - nodes);
}

static void run_script(struct flight *f)
{
	struct token *t = &tokens[f->token];
	struct script_scratch scratch;
	struct words request, words;
	struct slot had[SLOTS_MOST];
	unsigned int held[TOKENS_MAX] = {0};
	struct sight sight;
	struct fail why;
	bool forgotten;

	scan();
	forgotten = forgets(f);
	memcpy(had, here->slot, sizeof(had));
	for (int n = 0; n < SLOTS_MOST && f->ask.verb == VERB_RELEASE; n++)
		had[n].ends_ms = redis_ends(here->redis, had[n].name);
	for (int i = 1; i <= w.tokens; i++)
		held[i] = stay_of(i)->has;
	script_request(&f->ask, &t->conf, &t->keys, t->text, t->identity,
		       plot.cluster ? REQUEST_CLUSTER : 0, &scratch, &request);
	f->refused = !redis_run(here->redis, &request, &words);
	if (f->refused && !may_fail(words.at[0]))
		violated("%s: the script fails: %s", t->text, words.at[0]);
	else if (!f->refused &&
		 answer_read(f->ask.verb, &words, &f->answer, &sight, &why) < 0)
		violated("%s: no answer: %s", t->text, why.text);
	if (forgotten && !f->refused && f->answer.said == SAID_YES)
		rob_inner(f);
	node_has_run(f, held, had);
	if (plot.rolls && one_in(8))
		save();
	blur(f);
	tell_run(f, &words);
	if (redis_twice(here->redis))
		violated("%s: both nodes have %s", t->text,
			 redis_twice(here->redis));
}

void sim_arrived(int node, int slot)
{
	struct flight *f = &w.flight[slot];

	go_to(node);
	if (f->ask.verb == VERB_LISTEN) {
		listen_at(slot);
		return;
	}
	run_script(f);
	reply(slot);
	wake_listeners(node, rough());
}

/* ---- clients ---- */

/* What kind of lock it wants. */
static void choose_kind(struct lease_conf *conf)
{
	bool some = one_in(2);

	switch (plot.mix) {
	case MIX_READERS:
		conf->shared = true;
		break;
	case MIX_SLOTS:
		conf->slots = plot.slots;
		break;
	case MIX_RW:
		conf->shared = some;
		break;
	case MIX_UNEQUAL:
		conf->slots = 1 + (int)chance(plot.slots);
		break;
	case MIX_ALL:
	case MIX_COUNT:
		conf->shared = some;
		conf->slots = some ? 1 : 1 + (int)chance(plot.slots);
		break;
	}
}

static void new_token(int who, const struct lease_conf *conf)
{
	static const struct holder nobody = {{"host", "1", "user", "sh"}};
	struct token *t = &tokens[++w.tokens];

	assert(w.tokens < TOKENS_MAX);
	*t = (struct token){.conf = *conf,
			    .client = who,
			    .family = w.tokens,
			    .came_us = w.us,
			    .joined_us = -1,
			    .granted_us = -1,
			    .floor = plot.ended_fence};
	(void)snprintf(t->text, sizeof(t->text), "tok-%d", w.tokens);
	script_identity(conf, &nobody, t->identity);
	if (keys_init(&t->keys, KEY, strlen(KEY), t->text) < 0)
		abort();
	w.client[who].token = w.tokens;
}

static void begin_as(int who, struct lease_conf *conf)
{
	const char *outer = conf->outer.token;

	new_life(who, conf);
	kin[who].lingers = false;
	new_token(who, conf);
	tell("client %d wants the lock: tok-%d, T %" PRId64
	     ", %d slots%s, min-hold %" PRId64 "%s%s",
	     who, w.tokens, conf->ttl_ms, conf->slots,
	     conf->shared ? ", shared" : "", conf->min_hold_ms,
	     *outer ? ", inside " : "", outer);
	pump(who);
}

static void spoil_key(const char *name);

/* The others do not know it until they renew. */
static void lose_readers(void)
{
	char name[160];

	plot.evicted = true;
	for (int i = 0; i < n_nodes; i++) {
		go_to(i);
		scan();
		if (begins(here->slot[0].value, "shared:"))
			spoil_key(sharers_name(here->slot[0].value, name));
	}
}

static void begin(int who, const struct lease_outer *outer)
{
	struct client *c = &w.client[who];
	struct lease_conf conf = {
		.nodes = n_nodes,
		.ttl_ms = c->ttl,
		.node_timeout_ms = w.T / (plot.rush ? 10 : 4),
		.wait_ms = INT64_MAX,
		.guard_ms = n_nodes > 1 ? c->ttl : 0,
		.ticket = n_nodes > 1 ? EPOCH_US + w.us + chance(20000) : 0,
		.max_waiters = one_in(plot.spoils ? 3 : 20) ? chance(3) : -1,
		.supersede = one_in(plot.spoils ? 2 : 20),
		.slots = 1,
		.min_hold_ms = plot.rests && one_in(3) ? chance(w.T * 3) : 0,
		.seed = (uint64_t)chance(INT64_MAX)};

	choose_kind(&conf);
	if (outer)
		conf.outer = *outer;
	/* likely, and not certain */
	if (outer && outer->group > 0 && !one_in(8))
		conf.shared = true;
	if (conf.shared)
		conf.slots = 1;
	if (plot.spoils && conf.shared && one_in(3))
		lose_readers();
	begin_as(who, &conf);
}

static bool free_client(const struct client *c)
{
	return !c->alive && !c->running && !c->guard_will;
}

/* The command of a holder starts a redlock. Who has joined readers is one of
 * them; who has joined another holder has only that one's lock to show. */
static void nest(int parent)
{
	struct client *p = &w.client[parent];
	struct lease_outer outer = {.slot = slot_of(p),
				    .group = lease_group(&p->lease),
				    .fence = p->lease.fence,
				    .ttl_ms = p->ttl,
				    .here = (w.seed + (uint64_t)parent) % 4 >
					    0};
	int who = TOP_MAX;

	while (who < CLIENTS_MAX && !free_client(&w.client[who]))
		who++;
	if (who == CLIENTS_MAX || !p->running || p->dying ||
	    kin[parent].lingers)
		return;
	if (has_joined(p) && p->lease.conf.outer.ttl_ms > outer.ttl_ms)
		outer.ttl_ms = p->lease.conf.outer.ttl_ms;
	(void)snprintf(outer.token, sizeof(outer.token), "%s",
		       has_joined(p) && outer.group == 0
			       ? p->lease.conf.outer.token
			       : tokens[p->token].text);
	kin[who].parent = parent;
	kin[who].machine = kin[parent].machine;
	w.client[who].rate_ppm = p->rate_ppm;
	w.client[who].offset_ms = p->offset_ms;
	w.client[who].ttl = w.T * (one_in(4) ? 2 : 1);
	w.client[who].todo = 1;
	begin(who, &outer);
	w.client[who].robbed |= p->robbed;
	w.client[who].replaced |= p->replaced;
}

static bool has_children(int who)
{
	for (int i = TOP_MAX; i < CLIENTS_MAX; i++)
		if (kin[i].parent == who && !free_client(&w.client[i]))
			return true;
	return false;
}

static void command_over(int who);

/* The note that it has left them may be lost. */
static bool was_joined(int token)
{
	for (int i = 1; i <= w.tokens; i++)
		if (tokens[i].joined == token)
			return true;
	return false;
}

static void finished(int who)
{
	struct client *c = &w.client[who];
	int parent = kin[who].parent;

	c->alive = c->guard_will = false;
	c->life++;
	kin[who].parent = -1;
	tell("client %d is done", who);
	scan();
	/* a minority may be freed later */
	if (n_nodes == 1 &&
	    (w.calm ||
	     (c->lease.was_held && (plot.neat || w.gentle ||
				    (plot.spoils && !was_joined(c->token))))) &&
	    c->lease.freed && tokens[c->token].at[0].has &&
	    !tokens[c->token].ghost)
		violated("client %d has left, its token has not", who);
	if (--c->todo > 0)
		post(w.us + chance(w.T * 500), EV_NEXT, who, 0, 0);
	if (parent >= 0 && kin[parent].lingers && !has_children(parent))
		command_over(parent);
}

void sim_over(int who)
{
	const struct lease *l = &w.client[who].lease;

	if (l->end == END_INSIDE &&
	    (l->conf.shared || l->conf.outer.group == 0))
		violated("client %d: refused for no reason", who);
	finished(who);
}

/* What FLUSHALL forgot of who had joined, only the outer one could tell. */
static bool left_alone(const struct client *c)
{
	return !is_running(family_of(c));
}

/* One that was excused runs beside it. */
static bool is_beside(const struct client *c)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (w.client[i].running && !together(c, &w.client[i]))
			return true;
	return false;
}

/* R60: who sets a lock again for all readers may not know of a longer lease. */
static bool is_unheard(const struct client *c)
{
	return c->lease.conf.shared && w.unequal && c->ttl > w.T * 2 &&
	       stay_of(c->token)->unheard;
}

void sim_lost(int who)
{
	struct client *c = &w.client[who];

	tell("client %d loses its lease", who);
	if (plot.carried && !may_overlap(c))
		violated("client %d: lost while the slot moved", who);
	if (w.gentle)
		violated("client %d: lost in an outage below 0.48 T", who);
	else if (plot.bare)
		violated("client %d: its bare majority stayed bare", who);
	else if (plot.flushes && !plot.newcomer && !may_overlap(c) &&
		 !is_beside(c) && !is_unheard(c) &&
		 !(has_joined(c) && left_alone(c)))
		violated("client %d: lost by FLUSHALL", who);
	else if (n_nodes == 1 && (plot.spoils || plot.neat) &&
		 !may_overlap(c) && !c->stopped &&
		 w.us - c->cont_us > w.T * 4000)
		violated("client %d: lost, and nobody took it", who);
	else if (plot.rolls && !plot.granted &&
		 nodes[0].slot[slot_of(c)].value[0] == '\0' && !is_beside(c) &&
		 !(has_joined(c) && left_alone(c)))
		violated("client %d: lost by an older counter", who);
	kill_command(who);
}

/* Killed along with the command that started it. Its guard may be quick enough
 * to give back. */
static void kill_child(int who)
{
	struct client *c = &w.client[who];
	bool ran = c->running || c->ended;

	if (free_client(c))
		return;
	tell("client %d is killed with its parent", who);
	c->running = c->alive = c->stopped = c->dying = false;
	c->lease.freed = false;
	memset(c->conns, 0, sizeof(c->conns));
	if (one_in(2)) {
		finished(who);
		return;
	}
	c->guard_will = true;
	c->life++;
	kin[who].parent = -1;
	c->wake_us = INT64_MAX;
	lease_inherit(&c->lease, &c->lease.conf, ran, clock_of(c));
	pump(who);
}

static void kill_children(int who)
{
	for (int i = TOP_MAX; i < CLIENTS_MAX; i++)
		if (kin[i].parent == who) {
			kill_children(i);
			kill_child(i);
		}
}

static void lose_children(int who);
static void orphan_children(int who)
{
	if (plot.spoils && has_children(who) && one_in(2))
		lose_children(who);
	for (int i = TOP_MAX; i < CLIENTS_MAX; i++)
		if (kin[i].parent == who)
			kin[i].parent = -1;
}

/* Of its command nothing is left, nor of what that started. */
static void command_over(int who)
{
	const struct client *c = &w.client[who];

	if (!c->running)
		return;
	if (c->dying)
		kill_children(who);
	else
		orphan_children(who);
	kin[who].lingers = false;
	if (c->lease.fence > plot.ended_fence)
		plot.ended_fence = c->lease.fence;
	command_gone(who);
}

static void command_ends(int who)
{
	if (w.client[who].dying)
		return;
	if (kin[who].waits && has_children(who)) {
		tell("client %d waits for what its command left", who);
		kin[who].lingers = true;
		return;
	}
	command_over(who);
}

/* The machine: nobody is left to give anything back. */
static void crash_machine(int machine)
{
	tell("machine %d is dead", machine);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &w.client[i];

		if (kin[i].machine != machine || free_client(c))
			continue;
		c->stopped = c->running = c->dying = kin[i].lingers = false;
		kin[i].parent = -1;
		memset(c->conns, 0, sizeof(c->conns));
		c->lease.freed = false;
		finished(i);
	}
}

/* ---- faults ---- */

/* Of all data, or of the counter. `left`: what it is now, or 0. */
static void lose_counter(int64_t left)
{
	int node = (int)(here - nodes);

	note_loss(node, left, 0);
	plot.losses_at[w.losses - 1] = node;
	here->loss_us = w.us;
	plot.newcomer = false;
	plot.granted &= w.losses > 1;
}

/* The counter and the records, but not the locks. */
static void lose_state(void)
{
	lose_counter(0);
	plot.spared[w.losses - 1] = true;
}

/* Whether all who share its lock have had an answer since it was granted. */
static bool is_heard_of(int token)
{
	int node = (int)(here - nodes);

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &w.client[i];

		if (c->token > 0 && c->token != token &&
		    stay_of(c->token)->has &&
		    stay_of(c->token)->owner == stay_of(token)->owner &&
		    !before(clock_at(c, tokens[token].granted_us),
			    c->lease.node[node].grant.credited_at))
			return false;
	}
	return true;
}

/* What the server knows of the holders is lost as well. */
static void lose_holders(void)
{
	scan();
	for (int i = 1; i <= w.tokens; i++) {
		stay_of(i)->lost |= stay_of(i)->has;
		if (stay_of(i)->has)
			stay_of(i)->unheard = !is_heard_of(i);
	}
}

static void forget_rests(void)
{
	for (int i = 1; i <= w.tokens; i++)
		stay_of(i)->rests_ms = 0;
}

/* A command may start a redlock before the next renewal. */
static void nest_soon(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (w.client[i].running && plot.nests && one_in(4))
			post(w.us + chance(5000), EV_NEST, i, 0, 0);
}

static void lose_data(int node)
{
	tell("%s loses everything", w.server[node].name);
	go_to(node);
	lose_holders();
	redis_flush(here->redis);
	forget_rests();
	lose_counter(0);
	if (plot.flushes)
		nest_soon();
}

/* As after a restart without the end of the append-only file. */
static void set_back(int node)
{
	int64_t left;

	if (w.us - plot.saved_us > 1000000)
		return;
	go_to(node);
	lose_holders();
	redis_set_back(here->redis);
	scan();
	for (int i = 1; i <= w.tokens; i++)
		stay_of(i)->forgot = stay_of(i)->lost != 0;
	left = counter_here();
	tell("%s loses its last %.3f ms: the counter is %" PRId64,
	     w.server[node].name, (double)(w.us - plot.saved_us) / 1000.0,
	     left);
	lose_counter(left);
	plot.evicted = true;
	forget_rests();
	plot.saved_us = w.us;
}

/* Another process, and empty: it does not vote for a while. */
static void restart(int node)
{
	char run_id[41];

	tell("%s is restarted, and empty", w.server[node].name);
	(void)snprintf(run_id, sizeof(run_id), "%040x",
		       (unsigned int)(node + NODES_MAX * ++plot.restarts));
	go_to(node);
	lose_holders();
	redis_start(here->redis, run_id, wall_us(node));
	forget_rests();
	here->loss_us = w.us;
	for (int i = 0; i < w.n_flights; i++) {
		struct flight *f = &w.flight[i];

		if (!f->used || !f->blocked || f->ask.node != node)
			continue;
		f->blocked = false;
		break_off(f);
	}
}

/* The server may have forgotten who has joined. */
static bool is_within(const struct client *c, int n)
{
	return c->lease.state == LEASE_HELD && slot_of(c) == n &&
	       owner_in(family_of(c), n) == stay_of(c->token)->owner &&
	       (reads(c) || token_of(here->slot[n].value) == family_of(c));
}

/* Whoever held that slot may overlap until it hears of it. */
static void rob(int n)
{
	scan();
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (w.client[i].token > 0 &&
		    (stay_of(w.client[i].token)->has & 1U << n ||
		     is_within(&w.client[i], n)))
			w.client[i].robbed |= 1U << (here - nodes);
}

/* A command that somebody types. */
static void __attribute__((sentinel)) by_hand(const char *word, ...)
{
	struct words request = {0}, out;
	va_list ap;

	va_start(ap, word);
	for (; word; word = va_arg(ap, const char *))
		words_add_text(&request, word);
	va_end(ap);
	if (!redis_run(here->redis, &request, &out))
		violated("by hand: %s", out.at[0]);
}

/* Deleted, emptied, or of any type. */
static void spoil_key(const char *name)
{
	int how = (int)chance(7);
	static const char *const words[] = {
		"vanishes",          "vanishes",        "is empty",
		"is another string", "is another list", "is another hash",
		"is another set"};

	tell("%s: %s %s", w.server[here - nodes].name, name, words[how]);
	redis_del(here->redis, name);
	if (how == 2 || how == 3)
		by_hand("SET", name, how == 2 ? "" : "x", NULL);
	else if (how == 4)
		by_hand("RPUSH", name, "x", NULL);
	else if (how == 5)
		by_hand("HSET", name, "x", "1", NULL);
	else if (how == 6)
		by_hand("ZADD", name, "1", "x", NULL);
	if (how > 1)
		by_hand("PEXPIRE", name, "60000", NULL);
	if (strcmp(name, PART("state")) == 0)
		lose_state();
}

/* Each server may lose those who joined its hold, with or without its record.
 */
static void lose_children(int who)
{
	char sharers[160];

	plot.evicted = true;
	for (int i = 0; i < n_nodes; i++) {
		go_to(i);
		if (!one_in(8))
			spoil_key(sharers_name(tokens[w.client[who].token].text,
					       sharers));
		if (one_in(2) && w.losses < LOSSES_MAX / 2)
			spoil_key(PART("state"));
	}
}

/* Any of the companion keys, or one alone; also some that are not there yet. */
static void spoil(int node)
{
	static char names[64][160];
	static const char *const known[] = {PART("queue"), PART("alive"),
					    PART("state"), PART("once")};
	const int n_known = sizeof(known) / sizeof(known[0]);
	const char *name;
	int n = 0, one;

	go_to(node);
	for (; n < n_known; n++)
		(void)snprintf(names[n], sizeof(names[0]), "%s", known[n]);
	for (int i = 0; n < 64 && (name = redis_key(here->redis, i)); i++)
		if (begins(name, PART("")) && !begins(name, PART("slot:")))
			(void)snprintf(names[n++], sizeof(names[0]), "%s",
				       name);
	one = one_in(2) ? (int)chance(n) : -1;
	for (int i = 0; i < n && !plot.moving && !plot.full; i++)
		if (one < 0 ? one_in(2) : i == one)
			spoil_key(names[i]);
}

static void evict(int node, int what)
{
	static const char *const names[] = {PART("queue"), PART("alive"),
					    PART("state")};
	int n = (int)chance(SLOTS_MOST);
	char name[160];

	plot.evicted = true;
	if (what > 11) {
		spoil(node);
		return;
	}
	go_to(node);
	if (what > 5) { /* the lock, or who shares it */
		scan();
		if (one_in(2))
			n = 0;
		if (what > 6)
			rob(n);
		redis_del(here->redis,
			  what > 6 ? here->slot[n].name
				   : sharers_name(here->slot[n].value, name));
		tell("%s: slot %d: %s vanishes", w.server[node].name, n,
		     what > 6 ? "the lock" : "the set of sharers");
		return;
	}
	what /= 2;
	tell("%s: %s vanishes", w.server[node].name, names[what]);
	redis_del(here->redis, names[what]);
	if (what == 2)
		lose_state();
}

static void step_time(int node)
{
	double ms = step_clock(node);

	tell("%s: its clock steps by %.3f ms", w.server[node].name, ms);
}

static void be_full(int node, bool full)
{
	plot.full = full;
	redis_full(nodes[node].redis, full);
	tell("%s is %s", w.server[node].name, full ? "full" : "no longer full");
}

enum move { MOVE_END, MOVE_BEGIN, MOVE_SOME, MOVE_ALL };

/* Of the keys that are there by then: what is made later, is made where the
 * script runs. */
static void move(enum move what)
{
	static const char *const words[] = {"has moved", "is on the move",
					    "moves by some of its keys",
					    "moves with all of its keys"};

	tell("the slot %s", words[what]);
	if (what <= MOVE_BEGIN) {
		plot.moving = what == MOVE_BEGIN;
		redis_move(nodes[0].redis, plot.moving);
		return;
	}
	for (int i = 0; plot.moving && redis_key(nodes[0].redis, i); i++)
		if (what == MOVE_ALL || one_in(2))
			redis_carry(nodes[0].redis, i);
}

/* It may stop on the way, for long. */
static void plan_moves(int64_t span)
{
	int64_t at = chance(span), ends = at + chance(w.T * 4000);

	plot.cluster = true;
	post(at, EV_MOVE, 0, MOVE_BEGIN, 0);
	for (int i = (int)chance(4); i > 0 && !plot.carried; i--)
		post(at + chance(ends - at), EV_MOVE, 0, MOVE_SOME, 0);
	if (plot.carried)
		post(at + chance(ends - at), EV_MOVE, 0, MOVE_ALL, 0);
	post(ends, EV_MOVE, 0, MOVE_END, 0);
}

static void plan_rolls(int64_t span)
{
	plot.rolls = w.steady = true;
	save();
	for (int i = (int)chance(6); i >= 0; i--)
		post(chance(span), EV_FLUSH, 0, LOSS_LAST, 0);
}

/* Of all nodes, or of one. */
static void flush_all(int64_t at)
{
	int one = n_nodes > 1 && one_in(2) ? (int)chance(n_nodes) : -1;

	for (int i = 0; i < n_nodes; i++)
		if (one < 0 || one == i)
			post(at, EV_FLUSH, i, LOSS_ALL, 0);
}

static void plan_flushes(int64_t span)
{
	plot.flushes = w.steady = true;
	for (int i = (int)chance(3); i >= 0; i--)
		flush_all(w.T * 500 + chance(span));
}

/* One of them. */
static int any_node(void)
{
	return n_nodes > 1 ? (int)chance(n_nodes) : 0;
}

static void plan_losses(int64_t span)
{
	if (one_in(n_nodes > 1 ? 8 : 4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_FLUSH, any_node(), LOSS_ALL, 0);
	if (n_nodes > 1 && one_in(2))
		for (int i = (int)chance(6); i >= 0; i--)
			post(chance(span), EV_FLUSH, any_node(), LOSS_RESTART,
			     0);
	if (one_in(10))
		post(chance(span), EV_STEP, any_node(), 0, 0);
	if (one_in(4))
		for (int i = (int)chance(3); i >= 0; i--)
			post(chance(span), EV_EVICT, any_node(),
			     (int)chance(24), 0);
}

static void plan_server_faults(int64_t span)
{
	int64_t from = chance(span);
	int node;

	for (int i = (int)chance(4); i > 0; i--)
		post(chance(span), EV_DOWN, any_node(), one_in(2),
		     chance(w.T * 2000));
	plan_losses(span);
	if (one_in(4) && n_nodes == 1)
		plan_moves(span);
	if (one_in(8)) {
		node = any_node();
		post(from, EV_FULL, node, 1, 0);
		post(from + chance(w.T * 4000), EV_FULL, node, 0, 0);
	}
}

/* All nodes at once: as on one. */
static void plan_blackout(void)
{
	int64_t at = w.T * 5000 + chance(w.T * 1000);
	int64_t us = w.T * (300 + chance(150));

	for (int i = 0; i < n_nodes; i++)
		post(at, EV_DOWN, i, one_in(2), us);
}

/* All the others were there when it came, or have been for long. */
static void plan_bare(void)
{
	int least = n_nodes - lease_quorum(n_nodes);

	plot.bare = w.steady = true;
	plot.mix = MIX_READERS;
	for (int i = 0; i < least; i++) {
		post(0, EV_DOWN, i, one_in(2), w.T * 3000);
		post(w.T * BARE_T * 1000, EV_DOWN, n_nodes - 1 - i, one_in(2),
		     w.T * 2000);
	}
}

/* As many as there are slots come at the same moment, or more, and wait for as
 * long as they do by default. */
static void plan_rush(void)
{
	int down = (int)chance(n_nodes - lease_quorum(n_nodes) + 1);

	plot.rush = w.steady = true;
	plot.mix = MIX_SLOTS;
	plot.nests = plot.rests = false;
	if (one_in(2) && w.n_clients > plot.slots)
		w.n_clients = plot.slots;
	for (int i = 0; i < down; i++)
		post(0, EV_DOWN, n_nodes - 1 - i, one_in(2), w.T * 100000);
}

static void plan_faults(void)
{
	int64_t span = w.T * 12000;

	w.quiet_us = span;
	/* one outage below 0.48 T and nothing else: nobody may notice */
	w.gentle = one_in(3);
	w.calm = w.gentle && !one_in(3);
	if (w.gentle) {
		plan_outage();
		if (!w.calm && n_nodes > 1 && one_in(3))
			plan_blackout();
		return;
	}
	if (n_nodes > 1 && one_in(8)) {
		plan_bare();
		return;
	}
	if (n_nodes > 1 && one_in(8)) {
		plan_rush();
		return;
	}
	if (plot.mix <= MIX_SLOTS && one_in(n_nodes == 1 ? 2 : 6)) {
		plan_flushes(w.T * 6000);
		return;
	}
	if (n_nodes == 1 && one_in(8)) {
		plot.carried = w.steady = true;
		plan_moves(w.T * 6000);
		return;
	}
	if (one_in(6)) {
		plot.spoils = w.steady = true;
		for (int i = (int)chance(12); i >= 0; i--)
			post(chance(span), EV_EVICT, any_node(), 12, 0);
		plan_deaths(span, one_in(2) ? CLIENTS_MAX : 0);
		return;
	}
	if (n_nodes == 1 && one_in(6)) {
		plan_rolls(span);
		return;
	}
	plot.neat = w.steady = one_in(5);
	if (!plot.neat)
		plan_server_faults(span);
	plan_deaths(span, CLIENTS_MAX);
}

/* ---- force-release ---- */

#define TARGETS_MAX 32

/* Whoever wants the lock away: see cmd-force.c. Its way to the servers is a
 * good one. */
static struct forcer {
	bool now; /* without asking */
	int64_t began_us, until_us;
	int targets;
	struct {
		int token, slot;
		/* nodes: bits; had: when it was aimed at */
		unsigned int had, here, gone;
		int64_t left_ms, told_us; /* first; 0: not yet */
		int64_t seen[NODES_MAX];  /* counters, where it held it */
	} target[TARGETS_MAX];
} forcer;

static bool is_out(int i)
{
	return forcer.target[i].here == 0 &&
	       __builtin_popcount(forcer.target[i].gone) >=
		       lease_quorum(n_nodes);
}

/* Its number; if it is none, that of the next one. */
static int target_of(int token)
{
	int i = 0;

	while (i < forcer.targets && forcer.target[i].token != token)
		i++;
	return i;
}

/* It had less than a lease to hear of it (R59). The state was lost, so that it
 * could not be told before it had renewed. Or its command started that late: it
 * still waited when it was aimed at, with a minority of the nodes; or it was
 * granted the lock again. */
static bool is_late(const struct token *t)
{
	int i = target_of((int)(t - tokens));
	const struct client *c = &w.client[t->client];
	int64_t last = larger(forcer.began_us, forcer.until_us - c->ttl * 1000);
	bool knew = false; /* the counter, where it held the lock */

	if (i == forcer.targets || has_joined(c))
		return false;
	for (int k = 0; k < n_nodes; k++)
		knew |= forcer.target[i].seen[k] > 0;
	return (!knew && forcer.target[i].told_us > last) ||
	       (t->started_us > last &&
		(t->granted_us > last ||
		 __builtin_popcount(forcer.target[i].had) <
			 lease_quorum(n_nodes)));
}

/* It was told in time if it could be: then of its command nothing is left. Who
 * came since is left alone, unless it joined one that is put out. */
static void put_out(int token, int n, bool reads)
{
	struct token *t = &tokens[token];
	struct client *c = &w.client[t->client];
	bool excused = forcer.now || !w.steady || plot.carried ||
		       may_overlap(c) || is_late(t);

	if (c->token != token)
		return;
	tell("%s has lost slot %d%s", t->text, n,
	     c->running ? ", and runs" : "");
	if (c->running && !excused)
		violated("%s was asked to stop, and runs when its lock is "
			 "taken",
			 t->text);
	if (c->running && (reads || !has_joined(c)) &&
	    target_of(token) == forcer.targets)
		violated("%s came later, and is put out", t->text);
	c->robbed |= 1U << (here - nodes);
}

/* --now takes the lock from those, too, whom the server does not know: they had
 * it before all data were lost and have not renewed since, or joined, and that
 * was lost. */
static void put_out_unknown(int n, int64_t owner)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &w.client[i];
		const struct stay *y = stay_of(c->token);

		if (c->token > 0 && y->owner == owner &&
		    (owner > 0 || y->lost & 1U << n))
			c->robbed |= 1U << (here - nodes);
	}
}

static void ran_force(int i, const struct words *words, bool takes)
{
	unsigned int bit = 1U << (here - nodes);
	bool yes = strcmp(words->at[0], "yes") == 0;
	int64_t left = words->n > 2 ? strtoll(words->at[2], NULL, 10) : 0;

	tell("%s is %s: %s, %" PRId64 " ms",
	     tokens[forcer.target[i].token].text,
	     takes ? "put out" : "asked to stop", words->at[0], left);
	if (strcmp(words->at[0], "no") == 0 || (yes && takes))
		forcer.target[i].gone |= bit;
	else
		forcer.target[i].here |= bit;
	if (yes && !takes && left > forcer.target[i].left_ms)
		forcer.target[i].left_ms = left;
	if (yes && !takes && forcer.target[i].told_us == 0)
		forcer.target[i].told_us = w.us;
}

static void force(int i, bool takes)
{
	int token = forcer.target[i].token, n = forcer.target[i].slot;
	int64_t left = (forcer.until_us - w.us) / 1000;
	struct token *t = &tokens[token];
	struct flight f = {.ask = {.verb = VERB_RELEASE},
			   .answer = {.said = SAID_NO},
			   .token = token,
			   .client = t->client,
			   .life = w.client[t->client].life};
	const struct force q = {.step = takes ? FORCE_TAKE : FORCE_ASK,
				.slot = n,
				.who = t->text,
				.who_len = strlen(t->text),
				.grace_ms = left > 0 ? left : 0,
				.by = "host somebody\n",
				.entry = "",
				.seen = forcer.target[i].seen[here - nodes],
				.alone = n_nodes == 1};
	struct script_scratch scratch;
	struct words request, words;
	struct slot had[SLOTS_MOST];
	unsigned int held[TOKENS_MAX] = {0};
	int64_t ends;
	int outer;

	scan();
	ends = redis_ends(here->redis, here->slot[n].name);
	outer = token_of(here->slot[n].value);
	memcpy(had, here->slot, sizeof(had));
	for (int k = 1; k <= w.tokens; k++)
		held[k] = stay_of(k)->has;
	force_request(&q, &t->keys, plot.cluster ? REQUEST_CLUSTER : 0,
		      &scratch, &request);
	if (!redis_run(here->redis, &request, &words)) {
		if (!may_fail(words.at[0]))
			violated("force: the script fails: %s", words.at[0]);
		return;
	}
	ran_force(i, &words, takes);
	plot.newcomer |= takes && had[n].value[0] == '\0';
	scan();
	for (int k = 1; k <= w.tokens && takes; k++)
		if (held[k] & ~stay_of(k)->has & 1U << n)
			put_out(k, n, begins(had[n].value, "shared:"));
	if (takes && strcmp(words.at[0], "yes") == 0) {
		if (forcer.now)
			put_out_unknown(n, here->slot[n].owner);
		forget_rests();
		here->slot[n].rest_ms = 0;
		/* the server may not know that the outer run has ended, if it
		 * lost data: its lock stays as long as it would have */
		if (outer > 0 && outer != token && here->loss_us >= 0)
			stay_of(outer)->kept_ms = ends;
	}
	node_has_run(&f, held, had);
	wake_listeners((int)(here - nodes), rough());
}

static void force_all(bool takes)
{
	for (int i = 0; i < forcer.targets; i++) {
		if (is_out(i))
			continue;
		forcer.target[i].here = forcer.target[i].gone = 0;
		forcer.target[i].left_ms = 0;
		for (int k = 0; k < n_nodes && !w.failed; k++) {
			go_to(k);
			if (!w.server[k].down && !w.server[k].frozen)
				force(i, takes);
		}
	}
}

static bool has_time(void)
{
	for (int i = 0; i < forcer.targets; i++)
		if (!is_out(i) &&
		    (forcer.target[i].here ? forcer.target[i].left_ms > 0
					   : w.us < forcer.until_us))
			return true;
	return false;
}

static void aim(void)
{
	forcer.targets = 0;
	memset(forcer.target, 0, sizeof(forcer.target));
	for (int k = 0; k < n_nodes; k++) {
		go_to(k);
		scan();
		for (int i = 1; i <= w.tokens; i++) {
			int j = target_of(i);

			if (stay_of(i)->has == 0 || j == TARGETS_MAX)
				continue;
			if (j == forcer.targets) {
				forcer.targets++;
				forcer.target[j].token = i;
				forcer.target[j].slot =
					slot_in(stay_of(i)->has, 0);
			}
			forcer.target[j].had |= 1U << k;
			forcer.target[j].seen[k] = counter_here();
		}
	}
}

enum forcing { FORCE_BEGIN, FORCE_NOW, FORCE_POLL };

static void force_step(const struct event *e)
{
	if (e->slot != FORCE_POLL) {
		tell("somebody wants the lock, in %.3f ms",
		     (double)e->value / 1000.0);
		forcer.now = e->slot == FORCE_NOW;
		forcer.began_us = w.us;
		forcer.until_us = w.us + (forcer.now ? 0 : e->value);
		aim();
	}
	if (!forcer.now)
		force_all(false);
	if (!forcer.now && has_time())
		post(w.us + w.T * 20, EV_FORCE, 0, FORCE_POLL, 0);
	else
		force_all(true);
}

/* Long enough to be heard in an outage, and for the deadman of who does not
 * hear; not so long that all commands have ended by then. One at a time. */
static void plan_forces(int64_t span)
{
	int64_t at = chance(w.T * 3000);

	for (int i = (int)chance(3); i >= 0 && at < span; i--) {
		int64_t us = w.T * (w.calm ? 1400 : 2000) + chance(w.T * 300);
		bool now = !w.steady && one_in(3);

		us *= w.unequal ? 4 : 1;
		post(at, EV_FORCE, 0, now ? FORCE_NOW : FORCE_BEGIN, us);
		at += us + w.T * 1000 + chance(w.T * 3000);
	}
}

/* ---- twins ---- */

#define EDITS_MAX 4

static const struct twin {
	const char *name;
	struct redis_edit edits[EDITS_MAX];
} twins[] = {
	{"", {{0}}},
	{"readers join past a waiting writer",
	 {{"if not lost and redis.call('exists', queue) == 1 then",
	   "if not lost and not (reads and shared(v))\n"
	   "and redis.call('exists', queue) == 1 then"}}},
	{"one of several slots is taken past those who wait",
	 {{"if not lost and redis.call('exists', queue) == 1 then",
	   "if not lost and slots == 1\n"
	   "and redis.call('exists', queue) == 1 then"}}},
	{"a live reader renews the dead one's lease",
	 {{"local ends = math.floor(at / 1000) + ttl\n",
	   "local ends = math.floor(at / 1000) + ttl\n"
	   "for _, other in ipairs(redis.call('zrange',\n"
	   "sharers_of(value), 0, -1)) do\n"
	   "redis.call('zadd', sharers_of(value), 'xx', ends, other)\n"
	   "end\n"}}},
	{"the lock of readers is never shortened",
	 {{"local ms = math.max(least,",
	   "local ms = math.max(least, redis.call('pttl', slot_key(n)),"}}},
	{"a reader's release deletes the lock",
	 {{"sharers_end(v, at) then",
	   "not reads and sharers_end(v, at) then"}}},
	{"a writer is granted what readers hold",
	 {{"or reads and shared(value))", "or shared(value))"}}},
	{"one of several slots is granted, taken or not",
	 {{"or reads and shared(value))",
	   "or slots > 1 or reads and shared(value))"}}},
	{"heal without any test",
	 {{"return not c or c == seen or lives and c < seen\n"
	   "or untouched(seen) and (lives or (born or 0) <= seen)\n",
	   "return true\n"}}},
	{"heal a slot that was somebody else's since",
	 {{"return c >= seen and (whole(last or '0') or math.huge) <= seen\n",
	   "return true\n"}}},
	{"nobody notes which slot has moved",
	 {{"add(field('moved', n), text(next))\n",
	   "redis.call('exists', lock)\n"}}},
	{"a counter born again is not told",
	 {{"return saw > 0 and (several or not v) and born and saw < born\n"
	   "and born <= (c or born)\n",
	   "return false\n"}}},
	{"a lost set of inner ones is forgotten",
	 {{"share(value, '?', at, ms)\n", "redis.call('exists', lock)\n"}}},
	{"so it is if the record is lost with it",
	 {{"local joined = told or", "local joined ="}}},
	{"the outer one's release deletes what an inner one holds",
	 {{"if shares or theirs then", "if shares then"}}},
	{"an inner one's leave releases what the outer one holds",
	 {{"shares and not shared(v)", "false and not shared(v)"}}},
	{"an inner one's renewal does not prolong the lock",
	 {{"local ms = math.max(least, last and last - math.floor(at / 1000) "
	   "or 0)",
	   "local ms = math.max(least, shared(value) and last\n"
	   "and last - math.floor(at / 1000) or 0)"}}},
	{"any token may join", {{"if v ~= value then", "if not v then"}}},
	{"--min-hold is forgotten",
	 {{"math.ceil(tonumber(ARGV[11]) -", "math.ceil(0 -"}}},
	{"on the move, a script does with what is there",
	 {{"if moving then\nredis.call('exists', lock, ...)",
	   "if false then\nredis.call('exists', lock, ...)"}}},
	{"on the move, nobody knows that an inner one has joined",
	 {{"field('holder', slot), record .. joined_line)",
	   "field('holder', slot), record)"}}},
	{"on the move, a lock is renewed only if all is there",
	 {{"if moving then\nreturn joined or not words\nend\n", ""}}},
	{"on the move, whoever is first is granted any kind of lock",
	 {{"if moving and (reads or slots > 1 or slot > 0) then",
	   "if moving and false then"}}},
	{"on the move, who gets the lock is woken by a list made anew",
	 {{"if not moving then\npcall(own, 'rpush',",
	   "if true then\npcall(own, 'rpush',"}}},
	{"asked again, the counter is told as it is",
	 {{"local next = next_fence(at or time(), alone)\nlocal words",
	   "local next = c or next_fence(at or time(), alone)\n"
	   "local words"}}},
	{"a plain claim does not see that others were granted",
	 {{"or not record_is_of(token) or number_in(record, 'fence') ~= c)",
	   "or not record_is_of(token))"}}},
	{"nothing in the record says that the holder was asked to stop",
	 {{"record_put(slot, record .. asked_line)",
	   "record_put(slot, record)"}}},
	{"who is asked to stop does not hear of it",
	 {{"local stop, by, unlocked = stop_word(token, at)\n",
	   "local stop, by, unlocked = -1, ''\n"}}},
	{"what is taken does not move the counter",
	 {{"v, record = nil, nil\n",
	   "v, record = nil, nil\nmove = function() return true end\n"}}},
	{"taking the lock from one reader takes it from all",
	 {{"if outer or sharers_end(v, at) then\nif shared(v) and not bad then",
	   "if outer then\nif shared(v) and not bad then"}}},
	{"who supersedes stops at a key of another type",
	 {{"redis.call('zrem', queue, other)\ntry('zrem', alive, who)",
	   "redis.call('zrem', queue, other)\n"
	   "redis.call('zrem', alive, who)"}}},
	{"a plain release does not move the counter",
	 {{"c = string.format('%.0f', c + 1)\n", ""}}},
	{"a plain hand-over does not move the counter",
	 {{"c = at\nredis.pcall('hset',", "redis.pcall('hset',"}}},
	{"a plain release does not see that somebody has joined",
	 {{"and not record:find('\\njoined 1\\n', 1, true)\n"
	   "and not record:find('\\nasked 1\\n', 1, true)\n"
	   "and sound(c)",
	   "and not record:find('\\nasked 1\\n', 1, true)\n"
	   "and sound(c)"}}},
	{"a plain renewal does not see that somebody has joined",
	 {{"and record:find('token ' .. token .. '\\n', 1, true) == 1\n"
	   "and not record:find('\\njoined 1\\n', 1, true)\n",
	   "and record:find('token ' .. token .. '\\n', 1, true) == 1\n"}}},
	{"who reads anew does not see that the set of readers was lost",
	 {{"if joins then\nmay_be_shared(n, value, nil, at, true)\nend\n",
	   ""}}},
	{"who was asked is a stranger once the record is lost",
	 {{"not record_is_of(value) and seen == 0\nand redis.call('exists'",
	   "not record_is_of(value)\nand redis.call('exists'"}}},
	{"an older counter ends a hold",
	 {{"return not c or c == seen or lives and c < seen\n",
	   "return not c or c == seen\n"}}},
	{"a nested run sets the lock that has vanished",
	 {{"return {'vanished', text(c)}\n",
	   "redis.call('set', lock, value, 'px', ttl)\nv = value\n"
	   "move(math.max(c or at, m))\n"}}},
	{"a young counter counts as one that was lost",
	 {{"return saw > 0 and (several or not v) and born and saw < born\n"
	   "and born <= (c or born)\n",
	   "return several and born and time() - born < 5000000\n"}}},
	/* and, seen on several nodes alone: */
	{"a restarted node votes at once",
	 {{"guarded = free and guard > 0 and young(guard)\n",
	   "guarded = false\n"}}},
	{"a reader joins nobody on a node that was down",
	 {{"value = shared(v) and v or 'shared:'", "value = 'shared:'"}}},
	{"the first in line is granted any slot, though it wants one",
	 {{"who == token and only)", "nil)"}}},
	{"who wants one slot is told of any",
	 {{"if only >= 0 then\nseek(only, only)", "if false then\n"}}},
	{"a fence counts, whoever has raised the counter to it",
	 {{"others and 1 or 0, raised,", "others and 1 or 0, 1,"}}},
	{"a late release counts",
	 {{"if (shares or v == token) and number_at(",
	   "if false and number_at("}}},
	{"where the lock has vanished, a nested run takes it for itself",
	 {{"if not v and not bad and (is_of",
	   "if not v and not bad and alone and (is_of"}}},
	/* not in the scripts: see blur() */
	{"slots of several nodes count as one, whichever they are", {{0}}},
	/* see insist() */
	{"in vain for one slot, another is not asked for", {{0}}},
};
#define TWINS ((int)(sizeof(twins) / sizeof(twins[0])))
#define OF_SEVERAL 9

/* ---- one schedule ---- */

void sim_event(const struct event *e)
{
	switch ((int)e->kind) {
	case EV_NEST:
		nest(e->who);
		break;
	case EV_COMMAND_END:
		command_ends(e->who);
		break;
	case EV_COMMAND_DEAD:
		command_over(e->who);
		break;
	case EV_NEXT:
		begin(e->who, NULL);
		break;
	case EV_CRASH:
		crash_machine(e->who);
		break;
	case EV_FLUSH:
		if (e->slot == LOSS_LAST)
			set_back(e->who);
		else if (e->slot == LOSS_RESTART)
			restart(e->who);
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
	case EV_MOVE:
		move((enum move)e->slot);
		break;
	case EV_FORCE:
		force_step(e);
		break;
	default:
		assert(!"no event of any kind");
	}
}

/* On a quorum somebody has this slot. */
static bool taken(int n)
{
	int sum = 0;

	for (int i = 0; i < n_nodes; i++) {
		go_to(i);
		sum += redis_get(here->redis, here->slot[n].name) != NULL;
	}
	return sum >= lease_quorum(n_nodes);
}

/* The longest lease that anybody wants. */
static int64_t longest_us(void)
{
	return w.T * 1000 * (w.unequal ? 8 : 2);
}

/* Where nothing fails, a free lock goes to a waiter at once or, after
 * --min-hold, at the end of the lease that the waiter was last told of. Returns
 * how long that takes at most, and a second. */
static int64_t no_fault_us(void)
{
	int64_t most = w.T * (plot.rests ? 3 : 1);

	for (int i = 0; i < CLIENTS_MAX; i++)
		most = larger(most, w.client[i].ttl);
	return 1000000 + most * 1000;
}

/* Long after the last fault, or without one: a lock that is free, and who wants
 * it. */
static void check_idle(void)
{
	bool wants = false, runs = false, waits;
	bool no_fault = w.calm && n_nodes == 1;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &w.client[i];

		runs |= c->running;

		wants |= c->alive && !c->stopped && !c->running &&
			 (c->lease.state == LEASE_WAITING ||
			  c->lease.state == LEASE_ASKING);
	}
	if (plot.moving) /* nobody can be granted what is on two nodes */
		plot.idle_us = plot.none_us = w.us;
	waits = wants;
	for (int n = 0; n < SLOTS_MOST; n++)
		waits = waits && !taken(n);
	/* nothing happened while who waits now was stopped */
	if (!waits || !plot.waited ||
	    (!no_fault && plot.idle_us < larger(w.quiet_us, w.slow_us)))
		plot.idle_us = w.us;
	plot.waited = waits;
	/* else a heartbeat, and what may have to be waited out after a loss */
	if (w.us - plot.idle_us >
	    (no_fault ? no_fault_us() : 7000000 + longest_us() * 3 / 2))
		violated("nobody has the lock, and somebody waits");
	/* tokens of which none has a quorum are somebody's, too */
	if (runs || !wants || !plot.wanted ||
	    w.us - w.quiet_us < longest_us() * 5)
		plot.none_us = w.us;
	plot.wanted = wants;
	if (w.us - plot.none_us > (n_nodes > 1
					   ? 20000000 + longest_us() * 5
					   : 7000000 + longest_us() * 5 / 2))
		violated("nobody runs, and somebody waits");
}

/* Clients that met, each in another slot on another node, must find the slot
 * that none of them got. */
static void check_free(void)
{
	int has = 0, wants = 0;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &w.client[i];
		enum lease_state state = c->lease.state;

		insist(&c->lease);
		has += (c->alive || c->guard_will) &&
		       (state == LEASE_HELD || state == LEASE_LOST ||
			state == LEASE_RELEASING);
		wants += c->alive && state <= LEASE_WAITING;
	}
	if (!wants || has >= plot.slots || has != plot.has)
		plot.free_us = w.us;
	plot.has = has;
	if (w.us - plot.free_us > FREE_US)
		violated("a slot is free, and somebody waits");
}

static const char *first_of(const char *name)
{
	const char *member;
	double score;

	member = redis_member(here->redis, name, 0, &score);
	return member ? member : "";
}

/* The state stays for a month, and so do readers whose leases ran out, until
 * the next grant: see readers.lua. */
static void check_left(int node)
{
	const char *name;

	go_to(node);
	for (int i = 0; (name = redis_key(here->redis, i)); i++)
		if (strcmp(name, PART("state")) != 0 &&
		    strcmp(name, PART("readers")) != 0)
			violated("%s stays behind at %s (%.8s)", name,
				 w.server[node].name, first_of(name));
}

static void check_end(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (w.client[i].todo > 0 || !free_client(&w.client[i]))
			violated("client %d never finished (state %d)", i,
				 (int)w.client[i].lease.state);
	if (w.backward_step)
		return;
	/* an acquire delayed on a given-up connection may leave an orphan, for
	 * T at most */
	w.us += longest_us() * 4;
	for (int i = 0; i < n_nodes; i++) {
		go_to(i);
		scan();
		for (int n = 0; n < SLOTS_MOST; n++)
			if (here->slot[n].value[0] != '\0')
				violated("slot %d stays locked by %s", n,
					 here->slot[n].value);
	}
	w.us += 70000000;
	for (int i = 0; i < n_nodes; i++)
		check_left(i);
}

static void setup_server(int node)
{
	struct server *s = &w.server[node];
	char run_id[41];

	go_to(node);
	(void)snprintf(run_id, sizeof(run_id), "%040x", (unsigned int)node);
	/* for long, each since another moment */
	redis_start(here->redis, run_id, EPOCH_US - 1000000000 - node);
	redis_full(here->redis, false);
	redis_move(here->redis, false);
	(void)snprintf(s->name, sizeof(s->name),
		       n_nodes > 1 ? "node %d" : "the server", node);
	s->rate_ppm =
		node > 0 && !plot.apart ? w.server[0].rate_ppm : any_rate_ppm();
	if (n_nodes > 1 && plot.apart)
		s->step_us = chance(w.T * 250);
	here->loss_us = -1;
	memset(here->slot, 0, sizeof(here->slot));
	for (int n = 0; n < SLOTS_MOST; n++)
		(void)snprintf(here->slot[n].name, sizeof(here->slot[n].name),
			       n == 0 ? KEY : PART("slot:%d"), n);
}

static void setup(uint64_t seed, int twin, bool aloud)
{
	for (int i = 1; i <= w.tokens; i++)
		keys_close(&tokens[i].keys);
	memset(&plot, 0, sizeof(plot));
	world_begin(seed, twin, aloud);
	w.unequal = (seed ^ seed >> 5) % 4 == 2; /* see w.mutes */
	plot.blind = twin == TWINS - 2;
	plot.stubborn = twin == TWINS - 1;
	plot.mix = (enum mix)chance(MIX_COUNT);
	plot.slots = 2 + (int)chance(SLOTS_MOST - 1);
	plot.nests = one_in(2);
	plot.rests = one_in(3);
	plot.apart = n_nodes > 1 && one_in(2);
	for (int i = 0; i < n_nodes; i++)
		setup_server(i);
	go_to(0);
	plan_faults();
	if (!plot.bare && !plot.rush && one_in(4))
		plan_forces(w.T * 8000);
	for (int i = 0; i < CLIENTS_MAX; i++)
		kin[i] = (struct kin){.machine = i, .parent = -1};
	world_people();
	for (int i = 0; i < w.n_clients && plot.rush; i++) {
		w.client[i].todo = 1;
		post(chance(2000), EV_NEXT, i, 0, 0);
	}
	if (aloud)
		printf("mix %d, %d slots, T %" PRId64 "%s%s%s%s\n",
		       (int)plot.mix, plot.slots, w.T, w.calm ? ", calm" : "",
		       w.gentle ? ", gentle" : "",
		       plot.flushes ? ", flushes" : "",
		       plot.carried ? ", carried" : "");
}

/* ---- what becomes of a twin ---- */

/* The texts of all scripts, one after the other. */
static struct words all_scripts(struct keys *keys)
{
	static const struct ask asks[] = {{.verb = VERB_ACQUIRE},
					  {.verb = VERB_ACQUIRE, .joins = true},
					  {.verb = VERB_CONFIRM},
					  {.verb = VERB_RELEASE}};
	const struct lease_conf conf = {.nodes = 1, .slots = 1};
	const struct force force = {.who = "", .by = "", .entry = ""};
	struct words all = {0}, w1;
	struct script_scratch scratch;

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		script_request(&asks[i], &conf, keys, "", "", 0, &scratch, &w1);
		words_add(&all, w1.at[1], w1.len[1]);
	}
	force_request(&force, keys, 0, &scratch, &w1);
	words_add(&all, w1.at[1], w1.len[1]);
	return all;
}

/* A rule that is no longer written like that cannot be broken like that. */
static void become(int twin)
{
	const struct redis_edit *edits = twins[twin].edits;
	int sum[EDITS_MAX] = {0};
	struct keys keys;
	struct words all;

	if (keys_init(&keys, KEY, strlen(KEY), "") < 0)
		abort();
	all = all_scripts(&keys);
	for (int i = 0; i < all.n; i++) {
		int found[EDITS_MAX] = {0};
		size_t len;

		free(redis_edited(edits, all.at[i], all.len[i], &len, found));
		for (int k = 0; k < EDITS_MAX && edits[k].from; k++) {
			sum[k] += found[k];
			if (found[k] > 1)
				sum[k] = -all.n;
		}
	}
	for (int k = 0; k < EDITS_MAX && edits[k].from; k++)
		if (sum[k] <= 0) {
			printf("Bail out! the twin \"%s\" does not fit the "
			       "scripts\n",
			       twins[twin].name);
			exit(2);
		}
	keys_close(&keys);
	for (int i = 0; i < NODES_MAX; i++)
		redis_edit(nodes[i].redis, edits);
}

bool sim_run(uint64_t seed, int twin, bool aloud)
{
	twin %= TWINS;
	if (w.twin != twin)
		become(twin);
	setup(seed, twin, aloud);
	while (world_step()) {
		if (w.us > w.quiet_us || w.calm)
			check_idle();
		if (plot.rush)
			check_free();
	}
	if (!w.failed)
		check_end();
	return !w.failed;
}

/* ---- redis.c against a server ---- */

#define STEPS 5000
#define ASKERS 9
#define PTTL_SLACK_MS 1500 /* uptime is told in whole seconds */
#define NOW_KEYS 2
#define ALL_MIX 12 /* keys that are compared */

/* The time is told to both, in two keys. */
static const struct redis_edit timeless[] = {
	{"redis.call('time')", "redis.call('mget', 'now-s', 'now-us')"},
	{NULL, NULL}};

static struct trial {
	int64_t us, ahead_us;
	uint64_t step, seen[SAID_COUNT], errors;
	bool full;
	char name[ALL_MIX][64];
} trial;

/* A lease left runs while we ask. */
static bool alike(const struct words *a, const struct words *b, int i)
{
	char x[24] = "", y[24] = "";
	int64_t p, q;
	bool by_pttl;

	if (a->len[i] == b->len[i] &&
	    memcmp(a->at[i], b->at[i], a->len[i]) == 0)
		return true;
	if (a->len[i] >= sizeof(x) || b->len[i] >= sizeof(y))
		return false;
	memcpy(x, a->at[i], a->len[i]);
	memcpy(y, b->at[i], b->len[i]);
	p = strtoll(x, NULL, 10);
	q = strtoll(y, NULL, 10);
	/* the score of "?" comes from a PTTL, too */
	by_pttl = i > 0 && a->len[i - 1] == 1 && a->at[i - 1][0] == '?';
	return p > 0 && q > 0 && (by_pttl || p < 86500000000) &&
	       llabs(p - q) < PTTL_SLACK_MS;
}

static void show(const char *who, bool fine, const struct words *words)
{
	printf("#   %s:%s", who, fine ? "" : " error:");
	for (int i = 0; i < words->n; i++)
		printf(" '%.*s'", (int)words->len[i], words->at[i]);
	printf("\n");
}

/* What a command in a script answered, which before Redis 7 stands behind "ERR
 * Error running script (call to ...): @user_script:LINE: @user_script: LINE:
 * -". An error of Lua itself is an ERR. */
static const char *bare_error(const char *text)
{
	static const char mark[] = "@user_script:";
	const char *bare = text, *at;

	if (!begins(text, "ERR Error running script") && !begins(text, mark))
		return text;
	while ((at = strstr(bare, mark))) {
		bare = at + strlen(mark);
		bare += strspn(bare, " 0123456789:-");
	}
	return begins(bare, mark + 1) ? text : bare;
}

/* Of an error only the first word counts. */
static bool same_reply(const struct words *request, const struct words *edited,
		       struct words *out)
{
	struct words mine, its;
	bool fine = redis_run(here->redis, request, &mine);
	bool good =
		server_ask(edited, &its) == fine && (!fine || mine.n == its.n);

	for (int i = 0; good && fine && i < mine.n; i++)
		good = alike(&mine, &its, i);
	if (good && !fine) {
		trial.errors += begins(mine.at[0], "OOM");
		good = mine.len[0] >= 4 &&
		       strncmp(mine.at[0], bare_error(its.at[0]), 4) == 0;
	}
	*out = fine ? mine : (struct words){0};
	if (good)
		return true;
	printf("# step %" PRIu64 ": they differ on", trial.step);
	for (int i = 0; i < request->n; i++)
		if (request->len[i] < 200)
			printf(" '%.*s'", (int)request->len[i], request->at[i]);
	printf("\n");
	show("redis.c", fine, &mine);
	show("server", !good, &its);
	return false;
}

/* A command, word by word, then NULL, for both. */
static bool __attribute__((sentinel)) both(const char *word, ...)
{
	struct words request = {0}, out;
	va_list ap;

	va_start(ap, word);
	for (; word; word = va_arg(ap, const char *))
		words_add_text(&request, word);
	va_end(ap);
	return same_reply(&request, &request, &out);
}

static const char *number(int64_t n)
{
	static char text[4][24];
	static int at;

	at = (at + 1) % 4;
	(void)snprintf(text[at], sizeof(text[at]), "%" PRId64, n);
	return text[at];
}

static bool set_time(void)
{
	int64_t us = server_us();

	trial.us = us + trial.ahead_us;
	w.server[0].step_us = us - EPOCH_US;
	redis_clock(here->redis, us);
	return both("SET", "now-s", number(trial.us / 1000000), NULL) &&
	       both("SET", "now-us", number(trial.us % 1000000), NULL);
}

static void be_full_there(bool full)
{
	struct words request = {0}, out;

	words_add_text(&request, "CONFIG");
	words_add_text(&request, "SET");
	words_add_text(&request, "maxmemory");
	words_add_text(&request, full ? "1" : "0");
	(void)server_ask(&request, &out);
	redis_full(here->redis, full);
	trial.full = full;
}

/* What is done by hand, to both. */
static bool meddle(void)
{
	const char *key = trial.name[chance(ALL_MIX)];

	switch (chance(40)) {
	case 0:
	case 1:
		return both("DEL", key, NULL);
	case 2:
		return !one_in(3) || both("FLUSHALL", NULL);
	case 3:
		return both("SET", KEY, "somebody else", "PX",
			    number(60000 + chance(600000)), NULL);
	case 4:
		return !one_in(4) || (both("DEL", KEY, NULL) &&
				      both("RPUSH", KEY, "no lock", NULL));
	case 5:
		return !one_in(4) ||
		       both("HSET", PART("state"), "fence", "x", NULL);
	case 6:
		return both("HSET", PART("state"), "fence",
			    number(chance(trial.us)), NULL);
	case 7:
	case 8:
		trial.ahead_us += chance(90000000);
		return true;
	default:
		return true;
	}
}

static int64_t number_for(void)
{
	const char *c = redis_field(here->redis, PART("state"), "fence");
	int64_t counter = c ? strtoll(c, NULL, 10) : 0;

	switch (chance(5)) {
	case 0:
		return 0;
	case 1:
		return counter + chance(3);
	case 2:
		return counter > 3 ? counter - chance(3) : 1;
	default:
		return counter;
	}
}

static int64_t group_now(void)
{
	return begins(here->slot[0].value, "shared:")
		       ? strtoll(here->slot[0].value + 7, NULL, 10)
		       : 0;
}

/* Somebody is the outer one, mostly a holder. */
static void choose_outer(struct lease_outer *outer)
{
	int n = 1 + (int)chance(w.tokens);

	for (int i = 1; i <= w.tokens && tokens[n].at[0].has == 0; i++)
		n = 1 + n % w.tokens;
	memcpy(outer->token, tokens[n].text, sizeof(outer->token));
	outer->slot = tokens[n].at[0].has ? slot_in(tokens[n].at[0].has, 0) : 0;
	outer->group = outer->slot == 0 ? group_now() : 0;
}

/* Who holds it knows its slot, mostly, and who joins knows whom. */
static struct ask invent(int token)
{
	static const enum verb verbs[] = {VERB_ACQUIRE, VERB_ACQUIRE,
					  VERB_CONFIRM, VERB_RELEASE};
	struct token *t = &tokens[token];
	struct ask ask = {
		.verb = verbs[chance(4)],
		.seen = number_for(),
		.fence = number_for(),
		.slot = one_in(4) || !t->at[0].has ? (int)chance(SLOTS_MOST)
						   : slot_in(t->at[0].has, 0),
		.acquire = {.newcomer = one_in(6),
			    .only = one_in(6) ? 1 + (int)chance(SLOTS_MOST)
					      : 0},
		.confirm = {.repairs = one_in(6),
			    .reads = one_in(6),
			    .until_ms = one_in(6) ? trial.us / 1000 +
							    chance(2000) - 1000
						  : 0},
		.release = {.withheld = one_in(6),
			    .queued = one_in(2),
			    .ran = one_in(2),
			    .joined = one_in(2),
			    .least_ms = one_in(4) ? chance(600000) : 0,
			    .held_ms = chance(300000),
			    .once_ms = one_in(20) ? chance(60000) : 0}};

	if (one_in(2))
		choose_outer(&t->conf.outer);
	ask.guard_ms = t->conf.guard_ms;
	ask.longest_ms = one_in(4) ? chance(600000) : 0;
	ask.joins = one_in(t->conf.outer.group > 0 ? 2 : 4);
	ask.acquire.ticket = one_in(4) ? -1 : one_in(3) ? 0 : t->joined_us;
	if (t->conf.shared)
		ask.confirm.group = group_now();
	return ask;
}

static void introduce(void)
{
	struct lease_conf conf = {.nodes = one_in(4) ? 3 : 1,
				  .ttl_ms = 60000 + chance(600000),
				  .max_waiters = chance(5) - 1,
				  .supersede = one_in(6),
				  .slots = 1,
				  .guard_ms = one_in(4) ? 86400000 : 0,
				  .once_ms = one_in(6)};

	plot.mix = MIX_ALL;
	choose_kind(&conf);
	new_token(0, &conf);
	tokens[w.tokens].joined_us = 0;
}

/* Of two slots, which is free first must not hang on a millisecond. */
static bool close_call(int n, int64_t ends)
{
	for (int i = 0; i < n; i++) {
		int64_t other = redis_ends(here->redis, here->slot[i].name);

		if (other > 0 && llabs(other - ends) < PTTL_SLACK_MS)
			return true;
	}
	return false;
}

/* Nothing ends by itself while we compare. */
static bool last_long(void)
{
	int64_t soon = server_us() / 1000 + 30000;

	for (int i = 0; i < ALL_MIX; i++) {
		int64_t ends = redis_ends(here->redis, trial.name[i]);

		if (ends > 0 &&
		    (ends < soon || (i < SLOTS_MOST && close_call(i, ends))) &&
		    !both("PEXPIRE", trial.name[i],
			  number(400000 + i * 9000 + chance(7000)), NULL))
			return false;
	}
	return true;
}

static void name_keys(void)
{
	static const char *const names[] = {
		KEY,           PART("slot:1"), PART("slot:2"), PART("slot:3"),
		PART("queue"), PART("alive"),  PART("state"),  PART("once")};
	const size_t n = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < n; i++)
		(void)snprintf(trial.name[i], sizeof(trial.name[i]), "%s",
			       names[i]);
	for (size_t i = 0; n + i < ALL_MIX; i++)
		(void)snprintf(trial.name[n + i], sizeof(trial.name[0]),
			       PART("sharers:%.30s"), here->slot[i].value);
}

/* What both have stored. */
static bool same_keys(void)
{
	bool same = true;

	scan();
	name_keys();
	for (int i = 0; i < ALL_MIX && same; i++) {
		const char *key = trial.name[i];

		same = both("TYPE", key, NULL) && both("PTTL", key, NULL) &&
		       (strstr(key, ":state") ||
			both("ZRANGE", key, "0", "14", "WITHSCORES", NULL));
	}
	for (int n = 0; n < SLOTS_MOST && same; n++)
		same = both("GET", here->slot[n].name, NULL);
	return same && both("HMGET", PART("state"), "fence", "born", "newest",
			    "holder", "holder:1", "holder:2", "holder:3",
			    "moved", "moved:1", "moved:2", "moved:3", NULL);
}

/* The question goes to redis.c as it is, and is edited there. It is asked
 * twice. */
static bool question(int token)
{
	struct token *t = &tokens[token];
	struct ask ask = invent(token);
	struct script_scratch scratch;
	struct words request, edited, out;
	struct answer a = {0};
	struct sight sight;
	struct fail why;
	int found[2] = {0};
	char *text;
	size_t len;
	bool same;

	script_request(&ask, &t->conf, &t->keys, t->text, t->identity, 0,
		       &scratch, &request);
	text = redis_edited(timeless, request.at[1], request.len[1], &len,
			    found);
	edited = request;
	edited.at[1] = text;
	edited.len[1] = len;
	same = same_reply(&request, &edited, &out);
	if (out.n > 0 && answer_read(ask.verb, &out, &a, &sight, &why) == 0) {
		trial.seen[a.said]++;
		if (a.busy.ticket > 0)
			t->joined_us = a.busy.ticket;
	}
	same = same && same_reply(&request, &edited, &out);
	free(text);
	return same;
}

static bool step(void)
{
	trial.step++;
	scan();
	name_keys();
	if (w.tokens + 1 < TOKENS_MAX && (w.tokens < ASKERS || one_in(80)))
		introduce();
	if (trial.full || one_in(60))
		be_full_there(!trial.full);
	if (!meddle() || !set_time())
		return false;
	scan();
	name_keys();
	return question(w.tokens -
			(int)chance(ASKERS < w.tokens ? ASKERS : w.tokens)) &&
	       last_long() && (!one_in(4) || same_keys());
}

static bool all_came_up(void)
{
	/* nobody listens */
	bool all = all_said(trial.seen, 1U << SAID_WOKEN | 1U << SAID_QUIET);

	printf(" full-of-memory %" PRIu64 "\n", trial.errors);
	return (all && trial.errors > 0) || trial.step < 3000;
}

static int differ(const char *path, uint64_t steps, uint64_t seed)
{
	bool same, all = false;
	char run_id[41];

	setup(seed, 0, false);
	plot.slots = SLOTS_MOST;
	redis_edit(nodes[0].redis, timeless);
	server_dial(path);
	server_run_id(run_id);
	redis_start(nodes[0].redis, run_id, server_us() - server_uptime_us());
	same = set_time(); /* or what is set first would be over at once */
	/* what is rare has several chances */
	for (uint64_t most = 1; same && !all && most <= 5; most++) {
		while (same && trial.step < most * steps)
			same = step();
		all = all_came_up();
	}
	be_full_there(false);
	same = same && all;
	(void)both("FLUSHALL", NULL);
	server_hang_up();
	printf("%s 1 - the small Redis answers as the server does (%" PRIu64
	       " steps, seed %" PRIu64 ")\n1..1\n",
	       same ? "ok" : "not ok", trial.step, seed);
	return !same;
}

/* ---- two texts of one script ---- */

static char *text_of(const char *path)
{
	static char text[2][65536];
	static int n;
	FILE *f = fopen(path, "r");

	n = !n;
	if (!f)
		return NULL;
	text[n][fread(text[n], 1, sizeof(text[n]) - 1, f)] = '\0';
	(void)fclose(f);
	return text[n];
}

static int same_code(const char *one, const char *other)
{
	const char *a = text_of(one), *b = text_of(other);

	return !a || !b || a[0] == '\0' ||
	       !redis_same_code(nodes[0].redis, a, b);
}

/* ---- from the command line ---- */

const char *sim_twin(int twin)
{
	return twin < TWINS ? twins[twin].name : NULL;
}

uint64_t sim_twin_from(int twin)
{
	static const struct {
		const char *name;
		uint64_t from;
	} rare[] = {
		{"taking the lock from one reader takes it from all", 6800},
		{"a restarted node votes at once", 3200},
		{"a late release counts", 50000},
	};

	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
		if (strcmp(rare[i].name, twins[twin].name) == 0)
			return rare[i].from;
	return 1;
}

int sim_twin_nodes(int twin)
{
	return twin < TWINS - OF_SEVERAL ? 1 : 3;
}

const char *sim_scope(void)
{
	static char text[48];

	(void)snprintf(text, sizeof(text), "of all kinds, on %d node%s",
		       n_nodes, n_nodes > 1 ? "s" : "");
	return text;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < NODES_MAX; i++) {
		nodes[i].redis = redis_open();
		if (!nodes[i].redis)
			abort();
	}
	if (argc > 3 && strcmp(argv[1], "--same") == 0)
		return same_code(argv[2], argv[3]);
	if (argc > 2 && strcmp(argv[1], "--differ") == 0)
		return differ(argv[2],
			      argc > 3 ? strtoull(argv[3], NULL, 10) : STEPS,
			      argc > 4 ? strtoull(argv[4], NULL, 10)
				       : (uint64_t)time(NULL));
	return world_main(argc, argv, &n_nodes);
}
