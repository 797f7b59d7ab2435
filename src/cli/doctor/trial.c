/* SPDX-License-Identifier: MIT */
/*
 * Doctor's own lock on a server: taken, renewed, waited for by a second client,
 * handed over to it and released, with the same questions that runs ask. What a
 * server says of itself does not tell whether that works. Nothing is left
 * behind.
 */
#include "cli/doctor/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/ident.h"
#include "lock/wire/answer.h"
#include "lock/wire/rights.h"
#include "lock/wire/request.h"
#include "client/session.h"

#define TTL_MS 10000
#define LISTEN_MS 1000
#define SENT_MS 100    /* for the last request to reach a silent server */
#define NAMED_MOST 200 /* of a named key: longer ones are cut */

/* One of the two clients, with a connection of its own. */
struct party {
	struct fanout fanout;
	struct keys keys;
	char token[TOKEN_SIZE];
	int64_t fence, ticket;
};

struct trial {
	const struct endpoint *ep;
	struct lease_conf conf;
	char identity[IDENTITY_SIZE];
	char key[NAMED_MOST + 64];
	struct party party[2];
	const char *step; /* "taking", "renewing" ... the lock */
	bool taken;       /* it was granted */
	struct fail why;
	bool silent; /* the last question had no answer */
	bool asleep; /* the lock was handed over, but the waiter was not woken
		      */
	struct error_told cause; /* of that; neither meaning nor cure: unknown
				  */
};

/* The reply as words: the items of a list, or the one word. */
static void flatten(const struct reply *r, struct words *out)
{
	*out = (struct words){0};
	if (r->kind != REPLY_LIST)
		words_add(out, r->bytes, r->len);
	for (size_t i = 0; i < r->items && i < WORDS_MAX; i++)
		words_add(out, reply_item(r, i)->bytes, reply_item(r, i)->len);
}

static int put(struct trial *t, struct party *p, struct ask ask)
{
	struct request request;

	ask.fence = ask.seen = p->fence;
	if (ask.verb == VERB_ACQUIRE)
		ask.acquire.ticket = p->ticket;
	request_ask(&request, &ask, &t->conf, &p->keys, p->token, t->identity,
		    session_db(t->ep));
	if (fanout_ask(&p->fanout, 0, &request.words, 0) == 0)
		return 0;
	return fail_memory(&t->why);
}

static int hear(struct trial *t, struct party *p, enum verb verb,
		struct answer *out)
{
	struct words words;
	struct sight sight;
	struct got got;

	if (!fanout_get(&p->fanout, &got))
		return fail(&t->why, FAIL_UNAVAILABLE, "no answer");
	t->silent = !got.reply && !got.hung_up;
	if (got.why.kind != FAIL_NONE || !got.reply) {
		t->why = got.why;
		return -1;
	}
	flatten(got.reply, &words);
	if (answer_read(verb, &words, out, &sight, &t->why) < 0)
		return -1;
	if (out->counter > 0)
		p->fence = out->counter;
	return 0;
}

/* 0: it was answered like that. */
static int step(struct trial *t, const char *name, struct party *p,
		struct ask ask, enum said expected)
{
	struct answer a = {0};

	t->step = name;
	if (put(t, p, ask) < 0 || hear(t, p, ask.verb, &a) < 0)
		return -1;
	if (a.said != expected)
		return fail(&t->why, FAIL_UNAVAILABLE, "%s",
			    expected == SAID_GRANTED
				    ? "it was not granted, though nobody else "
				      "can hold it"
			    : expected == SAID_BUSY
				    ? "it was granted to two clients"
				    : "it was gone a moment after");
	if (expected == SAID_BUSY && a.busy.place == 0)
		return fail(&t->why, FAIL_UNAVAILABLE,
			    "the waiter got no place in line");
	if (expected == SAID_BUSY)
		p->ticket = a.busy.ticket;
	return 0;
}

/* Nobody was woken. A server whose scripts may not use the list of another
 * client says so to a script that tries; as ours do, it asks Dragonfly for the
 * right. */
static void find_cause(struct trial *t)
{
	const struct keys *k = &t->party[0].keys, *other = &t->party[1].keys;
	struct words w = {0};
	struct got got;

	words_add_text(&w, "EVAL");
	words_add_text(&w, "--!df flags=allow-undeclared-keys\n"
			   "return redis.call('exists', ARGV[1])");
	words_add_text(&w, "1");
	words_add(&w, k->lock, k->lock_len);
	words_add(&w, other->part[PART_GRANT], other->part_len[PART_GRANT]);
	if (fanout_ask(&t->party[0].fanout, 0, &w, 0) < 0 ||
	    !fanout_get(&t->party[0].fanout, &got))
		return;
	if (got.reply && got.why.kind == FAIL_CONFIG)
		t->cause = got.told;
}

/* -1: not at this step, see why. */
static int try_all(struct trial *t)
{
	const struct ask acquire = {.verb = VERB_ACQUIRE};
	const struct ask confirm = {.verb = VERB_CONFIRM};
	const struct ask listen = {.verb = VERB_LISTEN, .listen_ms = LISTEN_MS};
	const struct ask release = {.verb = VERB_RELEASE,
				    .release = {.ran = true}};
	const struct ask end = {.verb = VERB_RELEASE,
				.release = {.ran = true, .queued = true}};
	struct party *one = &t->party[0], *two = &t->party[1];
	struct answer a = {.said = SAID_QUIET};

	if (step(t, "taking", one, acquire, SAID_GRANTED) < 0)
		return -1;
	t->taken = true;
	if (step(t, "renewing", one, confirm, SAID_YES) < 0 ||
	    step(t, "waiting for", two, acquire, SAID_BUSY) < 0)
		return -1;
	/* its connection blocks until the other one releases the lock */
	t->step = "being woken for";
	if (put(t, two, listen) < 0 ||
	    step(t, "releasing", one, release, SAID_YES) < 0)
		return -1;
	/* a client without BLPOP polls */
	two->fanout.timeout_ms += LISTEN_MS;
	t->asleep = hear(t, two, VERB_LISTEN, &a) < 0 || a.said != SAID_WOKEN;
	two->fanout.timeout_ms -= LISTEN_MS;
	if (t->asleep && t->why.kind == FAIL_NONE)
		find_cause(t);
	if (step(t, "taking over", two, acquire, SAID_GRANTED) < 0)
		return -1;
	return step(t, "releasing", two, end, SAID_YES);
}

/* Deletes all keys that the trial may have left. */
static void clear(struct trial *t)
{
	const struct keys *k = &t->party[0].keys;
	struct words w = {0};
	struct got got;

	words_add_text(&w, "DEL");
	words_add(&w, k->lock, k->lock_len);
	for (int i = 0; i < PART_COUNT; i++)
		words_add(&w, k->part[i], k->part_len[i]);
	k = &t->party[1].keys;
	words_add(&w, k->part[PART_GRANT], k->part_len[PART_GRANT]);
	if (fanout_ask(&t->party[0].fanout, 0, &w, 0) < 0)
		return;
	/* it reads that when it wakes */
	if (t->silent)
		fanout_limit(&t->party[0].fanout, SENT_MS);
	while (fanout_get(&t->party[0].fanout, &got))
		;
}

/* Makes a key from a named one, so that a user with rights for that prefix may
 * use it. */
static void name_key(struct trial *t, const struct opts *o)
{
	char token[TOKEN_SIZE];
	bool named = o->keys > 0 && strlen(o->key[0]) <= NAMED_MOST;

	token_generate(token);
	(void)snprintf(t->key, sizeof(t->key), "%s%sredlock:doctor:%s",
		       named ? o->key[0] : "", named ? ":" : "", token);
}

static int begin(struct trial *t, const struct exam *e, int node)
{
	const struct holder who = {.about[ABOUT_COMMAND] =
					   "redlock doctor (a trial)"};

	t->ep = &e->servers->endpoint[node];
	t->conf = (struct lease_conf){.nodes = 1,
				      .ttl_ms = TTL_MS,
				      .wait_ms = TTL_MS,
				      .max_waiters = -1,
				      .slots = 1};
	record_identity(&t->conf, &who, t->identity);
	name_key(t, e->o);
	for (int i = 0; i < 2; i++) {
		struct party *p = &t->party[i];

		token_generate(p->token);
		if (keys_init(&p->keys, t->key, strlen(t->key), p->token) < 0)
			return fail_memory(&t->why);
		if (fanout_open(&p->fanout, t->ep, 1,
				servers_timeout(e->servers, e->o->ttl_ms),
				&t->why) < 0)
			return -1;
	}
	return 0;
}

static void end(struct trial *t)
{
	for (int i = 0; i < 2; i++) {
		fanout_close(&t->party[i].fanout);
		keys_close(&t->party[i].keys);
	}
}

static void judge(struct exam *e, const struct facts *f, const struct trial *t,
		  bool failed)
{
	const char *colon = strstr(t->why.text, ": ");
	const char *text = colon ? colon + 2 : t->why.text;
	bool refused = t->why.kind == FAIL_REFUSED;

	/* the key is forbidden, not a command */
	if (failed && refused && strstr(text, "access") && strstr(text, "key"))
		found(e, NOTE, f->name, "lock",
		      "not tested: this user has no access to the key of the "
		      "test lock -> name a key whose prefix it may use: "
		      "redlock doctor KEY");
	else if (failed)
		found(e, WRONG, f->name, "lock", "%s a test lock: %s -> %s",
		      t->step, text, refused ? "see the ACL below" : "");
	else if (t->asleep && t->cause.means)
		found(e, NOTE, f->name, "lock",
		      "waiters are not woken, so a hand-over takes up to 5s: "
		      "%s -> %s",
		      t->cause.means, t->cause.cure ? t->cause.cure : "");
	else if (t->asleep)
		found(e, NOTE, f->name, "lock",
		      "can be acquired, renewed, waited for and released, but "
		      "waiters are not woken (BLPOP)%s%s",
		      t->why.kind == FAIL_NONE ? "" : ": ",
		      t->why.kind == FAIL_NONE ? "" : text);
	else
		found(e, FINE, f->name, "lock",
		      "a test lock was acquired, renewed, waited for, handed "
		      "over and released");
}

/* Another check reports the problem; a trial would only repeat it. */
static bool is_told(const struct facts *f)
{
	return !f->answers || f->is_sentinel || strcmp(f->role, "slave") == 0 ||
	       f->loading == 1 ||
	       (f->in_cluster && f->ep->kind != ENDPOINT_CLUSTER);
}

static void forgive(struct facts *f)
{
	f->no_eval.why.kind = FAIL_NONE;
	for (int i = 0; i < rights_n; i++)
		if (strcmp(rights[i].command, "eval") == 0)
			f->refused &= ~((uint64_t)1 << i);
}

void check_trials(struct exam *e)
{
	int last = -1;

	for (int i = 0; i < e->n; i++) {
		struct trial t = {.step = "taking"};
		struct facts *f = &e->facts[i];
		bool failed;

		/* of a Cluster, one */
		if (is_told(f) || f->node == last)
			continue;
		last = f->node;
		failed = begin(&t, e, f->node) < 0 || try_all(&t) < 0;
		f->shut |= failed && t.silent;
		if (t.party[0].keys.lock)
			clear(&t);
		if (t.taken && f->ep->kind != ENDPOINT_CLUSTER)
			forgive(f);
		if (!failed || f->no_eval.why.kind == FAIL_NONE)
			judge(e, f, &t, failed);
		end(&t);
	}
}
