/* SPDX-License-Identifier: MIT */
/* Takes a lock away from its holder: first by asking. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/askpass.h"
#include "cli/command.h"
#include "cli/hold/inside.h"
#include "cli/query.h"
#include "cli/render.h"
#include "cli/show/block.h"
#include "lock/wire/admin.h"
#include "lock/wire/history.h"
#include "lock/wire/record.h"
#include "run/describe.h"
#include "client/client.h"
#include "client/session.h"

/* ---- the user's consent ---- */

/* Line by line on standard error, like everything except answers. */
static void show(const struct query *query, const char *shown,
		 const struct snapshot *seen)
{
	char *text = NULL, *next, *line;
	size_t n = 0, skip = strlen(shown) + 2;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	block_print(query, shown, seen, out);
	if (fclose(out) != 0)
		n = 0;
	/* the key stands before it already */
	for (line = n > skip ? text + skip : NULL; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		log_notice("holder", "%s", line);
	}
	free(text);
}

static int check_foreign(const struct opts *o, const struct view *v)
{
	for (int i = 0; i < v->holders && !o->foreign; i++) {
		const struct view_holder *h = &v->holder[i];

		if (h->how != HOLD_FOREIGN)
			continue;
		log_error("foreign",
			  "not a redlock lock (%s%s); --foreign deletes it "
			  "anyway",
			  strcmp(h->type, "string") == 0 ? "no holder record"
							 : "a ",
			  strcmp(h->type, "string") == 0 ? "" : h->type);
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

/* Whether what was typed is the key. */
static int consent_check(const char *key, const char *typed)
{
	if (strcmp(typed, key) == 0)
		return STATUS_OK;
	log_error("not-confirmed", "that is not the key; nothing was changed");
	return STATUS_USAGE;
}

#define NAMED_HOLDERS 3

/* "vm pid 12 (gpu0), vm pid 14 (gpu1) and 3 more" */
static const char *name_holders(const struct view *v, char *buf, size_t size)
{
	int64_t more = v->in_all - NAMED_HOLDERS;
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < v->holders && i < NAMED_HOLDERS && used < size;
	     i++) {
		const struct view_holder *h = &v->holder[i];
		const char *host = h->about[ABOUT_HOST];
		const char *slot = h->slot_name;

		used += (size_t)snprintf(
			buf + used, size - used, "%s%s%s%s%s%s%s",
			i > 0 ? ", " : "",
			h->how == HOLD_FOREIGN ? "another program"
			: host[0]              ? host
					       : "an anonymous holder",
			host[0] ? " pid " : "",
			host[0] ? h->about[ABOUT_PID] : "", slot[0] ? " (" : "",
			slot, slot[0] ? ")" : "");
	}
	if (more > 0 && used < size)
		(void)snprintf(buf + used, size - used, " and %lld more",
			       (long long)more);
	return buf;
}

/* "the holder", "both holders", "all 5 holders" */
static const char *count_holders(int64_t n, char buf[48])
{
	if (n > 2)
		(void)snprintf(buf, 48, "all %lld holders", (long long)n);
	else
		(void)snprintf(buf, 48, "%s",
			       n == 2 ? "both holders" : "the holder");
	return buf;
}

static int confirm(const struct opts *o, const struct view *v)
{
	char line[ASK_MAX], word[1000], text[800], who[600], many[48];
	const char *quote;
	struct fail why;

	if (o->confirm)
		return STATUS_OK; /* it was right */
	if (!isatty(STDIN_FILENO)) {
		if (!format_word(o->key[0], word, sizeof(word)))
			(void)snprintf(word, sizeof(word), "KEY");
		quote = word[0] == '\'' ? "" : "'";
		log_error("not-confirmed",
			  "to confirm, repeat the key: --confirm%c%s%s%s; "
			  "nothing was changed",
			  o->key[0][0] == '-' ? '=' : ' ', quote, word, quote);
		return STATUS_USAGE;
	}
	if (o->marks)
		(void)snprintf(text, sizeof(text),
			       "To forget these marks, type the key again: ");
	else if (v->holders == 0)
		(void)snprintf(text, sizeof(text),
			       "To confirm, type the key again: ");
	else
		(void)snprintf(text, sizeof(text),
			       "To stop %s (%s), type the key again: ",
			       count_holders(v->in_all, many),
			       name_holders(v, who, sizeof(who)));
	if (ask_line(text, line, &why) < 0)
		return report_failure(&why);
	return consent_check(o->key[0], line);
}

/* Shows who holds the lock, on standard error, and lets the user confirm that
 * it is to be taken away. Returns STATUS_OK, or the status to end with, having
 * said why. */
static int consent_get(const struct opts *o, const struct query *query,
		       const char *shown, const struct snapshot *seen)
{
	int status;

	show(query, shown, seen);
	status = check_foreign(o, &seen->view);
	return status == STATUS_OK ? confirm(o, &seen->view) : status;
}

#define POLL_MS 100  /* between checks whether it has stopped */
#define TAKE_MS 2000 /* a Cluster's slot may be on the move */

#define READERS_MAX 100 /* more than these become one target */
#define LOOKS_MAX 100

/* The holders. */
struct taken {
	const struct view_holder *h; /* as we saw it first */
	bool all_readers;            /* and all other readers of that lock */
	bool alone; /* of several that share it: this one only */
	/* what the nodes say in this round: bits */
	unsigned int here, gone;
	int64_t asked, left_ms;
	bool taken;     /* by us, as far as we know */
	bool passed_on; /* to the first in line */
	bool forgot;    /* --marks: there were some */
};

struct forcing {
	const struct opts *o;
	const char *key;
	char shown[256];
	struct query query;
	struct snapshot seen;
	struct taken *target;
	int targets;
	struct keys keys;
	char by[IDENTITY_SIZE], entry[HISTORY_BY_MAX + 8];
	bool named; /* --slot was the name of a slot when we looked */
	struct instant began, until; /* the holder must be gone by then */
	struct fail why[NODES_MAX];  /* of a node that did not answer */
};

static const struct view_most most_told = {.holders = VIEW_MOST,
					   .waiters = LISTED_MOST};

/* ---- questions ---- */

static bool is_done(const struct forcing *f, const struct taken *t)
{
	return t->here == 0 &&
	       __builtin_popcount(t->gone) >= lease_quorum(f->query.servers.n);
}

static bool all_done(const struct forcing *f)
{
	for (int i = 0; i < f->targets; i++)
		if (!is_done(f, &f->target[i]))
			return false;
	return true;
}

static int ask_one(struct forcing *f, enum force_step step, int node, int i)
{
	const struct view_holder *h = f->target[i].h;
	int64_t left = between(now(), f->until);
	struct force q = {.step = step,
			  .slot = h->slot,
			  .who = h->value,
			  .who_len = h->value_len,
			  .member = f->target[i].alone ? h->token : "",
			  .ttl_ms = h->ttl_ms,
			  .grace_ms = left > 0 ? left : 0,
			  .by = f->by,
			  .entry = f->entry,
			  .alone = f->query.servers.n == 1};
	struct request request;

	if (f->target[i].all_readers) {
		q.who = FORCE_CROWD;
		q.who_len = strlen(FORCE_CROWD);
	} else if (h->nodes & 1U << node && h->how != HOLD_FOREIGN) {
		q.seen = f->seen.view.counter_at[node];
	}
	if (h->how == HOLD_FOREIGN) {
		q.step = step == FORCE_TAKE ? FORCE_FOREIGN : step;
		q.who = strcmp(h->type, "string") == 0 ? h->value : h->type;
		q.who_len = q.who == h->value ? h->value_len : strlen(h->type);
	}
	force_request(&request, &q, &f->keys,
		      session_db(&f->query.servers.endpoint[node]));
	return fanout_call(&f->query.fanout, node, &request.words, request.sha,
			   i);
}

static void take_answer(struct forcing *f, enum force_step step,
			const struct got *got)
{
	struct taken *t = &f->target[got->tag];
	struct fail *why = &f->why[got->node];
	unsigned int bit = 1U << got->node;
	struct force_answer a = {0};

	*why = got->why;
	if (why->kind != FAIL_NONE || force_read(step, got->reply, &a, why) < 0)
		return;
	if (a.said == FORCED_NO || (a.said == FORCED_YES && step != FORCE_ASK))
		t->gone |= bit;
	else
		t->here |= bit;
	if (a.said == FORCED_FOREIGN && step != FORCE_ASK)
		(void)fail(why, FAIL_CONFIG,
			   "the lock no longer has a holder record: see "
			   "--foreign");
	t->forgot |= step == FORCE_MARKS && a.said == FORCED_YES;
	if (step != FORCE_ASK) {
		t->taken |= a.said == FORCED_YES || got->ran;
		t->passed_on |= a.said == FORCED_YES && a.ms > 0;
		return;
	}
	t->asked = a.asked > t->asked ? a.asked : t->asked;
	t->left_ms = a.ms > t->left_ms ? a.ms : t->left_ms;
}

/* Asks all nodes about all holders that are left. -1: out of memory. */
static int ask_all(struct forcing *f, enum force_step step)
{
	struct got got;

	for (int i = 0; i < f->targets; i++) {
		struct taken *t = &f->target[i];

		if (is_done(f, t))
			continue;
		t->here = t->gone = 0;
		t->asked = t->left_ms = 0;
		for (int n = 0; n < f->query.servers.n; n++)
			if (ask_one(f, step, n, i) < 0)
				return -1;
	}
	while (fanout_get(&f->query.fanout, &got))
		take_answer(f, step, &got);
	return 0;
}

static void pause_until(struct forcing *f, struct instant t)
{
	while (before(now(), t))
		fanout_poll(&f->query.fanout, NULL, 0, t);
}

/* ---- asking ---- */

static bool may_answer(const struct forcing *f)
{
	for (int i = 0; i < f->query.servers.n; i++)
		if (f->why[i].kind == FAIL_UNAVAILABLE)
			return before(now(), f->until);
	return false;
}

/* Whether a holder was asked and still has time, or no node has answered
 * yet. */
static bool is_awaited(const struct forcing *f)
{
	for (int i = 0; i < f->targets; i++) {
		const struct taken *t = &f->target[i];

		if (!is_done(f, t) &&
		    (t->here | t->gone ? t->asked > 0 && t->left_ms > 0
				       : may_answer(f)))
			return true;
	}
	return false;
}

static int64_t asked(const struct forcing *f)
{
	int64_t sum = 0;

	for (int i = 0; i < f->targets; i++)
		if (!is_done(f, &f->target[i]) && f->target[i].asked > sum)
			sum = f->target[i].asked;
	return sum;
}

/* Returns whether anybody was. */
static bool ask_holders(struct forcing *f)
{
	char text[32], who[600], many[48];
	bool told = false;

	for (;;) {
		if (ask_all(f, FORCE_ASK) < 0)
			return told;
		if (!told && asked(f) > 0) {
			told = true;
			(void)name_holders(&f->seen.view, who, sizeof(who));
			log_notice("asked",
				   "asked %s to stop%s%s; waiting up to %s",
				   count_holders(f->seen.view.in_all, many),
				   f->seen.view.in_all > 1 ? ": " : "",
				   f->seen.view.in_all > 1 ? who : "",
				   format_limit(f->o->force_grace_ms, text,
						sizeof(text)));
		}
		if (all_done(f) || !is_awaited(f))
			return told;
		pause_until(f, after(now(), POLL_MS));
	}
}

/* ---- taking ---- */

/* How long its command may still run without knowing: until its lease would
 * have ended. */
static void tell_unaware(struct forcing *f, bool told)
{
	struct snapshot again;
	struct fail why;
	int64_t most = 0;
	int n = 0;
	const char *who;
	char left[32];

	if (query_lock(&f->query, f->key, strlen(f->key), &most_told, &again,
		       &why) < 0)
		memset(&again.view, 0, sizeof(again.view));
	for (int i = 0; i < f->targets; i++) {
		const struct view_holder *h = f->target[i].h, *its;

		its = view_find(&again.view, h->token);
		if (!its || h->how >= HOLD_RESTS || its->left_ms <= 0)
			continue;
		n++;
		most = its->left_ms > most ? its->left_ms : most;
	}
	snapshot_close(&again);
	if (n == 0)
		return;
	who = n == 1 ? told ? "the holder has not stopped in time"
			    : "the holder was not asked to stop"
	      : told ? "not all holders have stopped in time"
		     : "the holders were not asked to stop";
	log_notice("unaware", "%s; %s within %s if not", who,
		   n == 1 ? "it notices within 5s if it reaches the server, "
			    "and is killed"
			  : "they notice within 5s if they reach the server, "
			    "and are killed",
		   format_duration(most, left, sizeof(left)));
}

/* Too few servers are left. */
static bool is_hopeless(const struct forcing *f)
{
	int n = f->query.servers.n, up = 0;

	for (int i = 0; i < n; i++)
		up += !fanout_is_down(&f->query.fanout, i);
	return up < lease_quorum(n);
}

static void take_lock(struct forcing *f)
{
	struct instant limit = after(now(), TAKE_MS);
	bool taken = false, passed_on = false;

	while (ask_all(f, FORCE_TAKE) == 0 && !all_done(f) && !is_hopeless(f) &&
	       before(now(), limit))
		pause_until(f, after(now(), POLL_MS));
	for (int i = 0; i < f->targets; i++) {
		taken |= f->target[i].taken;
		passed_on |= f->target[i].passed_on;
	}
	if (all_done(f) && !taken)
		log_notice("gone", "the holder had gone already; nothing was "
				   "taken away");
	else if (all_done(f))
		log_notice("taken", "the lock was taken away%s",
			   passed_on ? ", and handed to the first in line"
				     : "");
}

static int not_done(const struct forcing *f)
{
	const struct fail *why = NULL;
	int n = f->query.servers.n, good = 0;

	for (int i = 0; i < n; i++) {
		good += f->why[i].kind == FAIL_NONE;
		if (f->why[i].kind != FAIL_NONE && !why)
			why = &f->why[i];
	}
	if (n > 1)
		log_error("not-released",
			  "not taken away: " TOO_FEW_ANSWERED "%s%s", good, n,
			  lease_quorum(n), why ? "; " : "",
			  why ? why->text : "");
	else
		log_error("not-released", "not taken away%s%s", why ? ": " : "",
			  why ? why->text : "");
	return status_of_kind(why ? why->kind : FAIL_UNAVAILABLE);
}

static int force(struct forcing *f)
{
	char text[32], many[48];
	bool told = false;

	if (!f->o->now)
		told = ask_holders(f);
	if (all_done(f)) {
		log_notice("stopped", "%s stopped after %s",
			   count_holders(f->seen.view.in_all, many),
			   format_duration(between(f->began, now()), text,
					   sizeof(text)));
		return STATUS_OK;
	}
	/* a server that is silent from here on is not waited for again */
	query_once(&f->query);
	tell_unaware(f, told);
	take_lock(f);
	return all_done(f) ? STATUS_OK : not_done(f);
}

/* Nobody has it, but a server has lost data. If the holder that it may have
 * forgotten is still there, it keeps the lock until somebody else gets it. */
static int let_in(struct forcing *f)
{
	static const struct view_holder nobody = {.value = "",
						  .type = "string"};

	f->target = calloc(1, sizeof(*f->target));
	if (!f->target) {
		log_error("failed", "out of memory");
		return STATUS_INTERNAL;
	}
	f->target[0].h = &nobody;
	f->targets = 1;
	if (ask_all(f, FORCE_OPEN) < 0 || !all_done(f))
		return not_done(f);
	log_notice("open", "it is free for all now%s",
		   f->target[0].passed_on
			   ? ", and was handed to the first in line"
			   : "");
	return STATUS_OK;
}

/* ---- before anything is done ---- */

/* As the holder would name us. */
static void name_us(struct forcing *f)
{
	struct sight s = {.seen = true};
	struct record r;
	char name[HISTORY_BY_MAX];

	record_read(&r, f->by, strlen(f->by));
	memcpy(s.about, r.about, sizeof(s.about));
	(void)snprintf(f->entry, sizeof(f->entry), "by %s\n",
		       describe_name(&s, name, sizeof(name)));
}

static int aim(struct forcing *f, struct fail *why)
{
	struct description who;

	describe(&who, f->o, "");
	record_about(&who.holder, f->by);
	name_us(f);
	if (keys_init(&f->keys, f->key, strlen(f->key), "") < 0)
		return fail_memory(why);
	return 0;
}

/* The present holders. */
static int aim_at(struct forcing *f, struct fail *why)
{
	const struct view *v = &f->seen.view;
	int readers = 0;
	bool all_readers;

	for (int i = 0; i < v->holders; i++)
		readers += v->holder[i].how == HOLD_READS;
	/* readers have another family on each server */
	all_readers = readers > READERS_MAX ||
		      (readers > 0 && (v->more_on || f->query.servers.n > 1));
	all_readers = all_readers && !f->o->token;
	free(f->target);
	f->target = calloc((size_t)v->holders, sizeof(*f->target));
	if (!f->target)
		return fail_memory(why);
	f->targets = 0;
	for (int i = 0, told = 0; i < v->holders; i++) {
		bool one = all_readers && v->holder[i].how == HOLD_READS;

		if (!one || told++ == 0)
			f->target[f->targets++] = (struct taken){
				.h = &v->holder[i],
				.all_readers = one,
				.alone = f->o->token &&
					 (v->holder[i].how == HOLD_READS ||
					  v->holder[i].how == HOLD_INSIDE)};
	}
	return 0;
}

/* One holder is meant, not all. */
static bool is_choosy(const struct opts *o)
{
	return o->slot || o->token;
}

static bool in_slot_named(const struct opts *o, const struct view_holder *h)
{
	char name[SLOT_NAME_SHOWN];

	(void)format_bytes(o->slot, strlen(o->slot), name, sizeof(name));
	return h->slot_name[0] != '\0' && strcmp(h->slot_name, name) == 0;
}

/* A slot whose name is a number is chosen only by that. */
static bool in_slot_number(const struct opts *o, const struct view_holder *h)
{
	return parse_number(h->slot_name, 0, INT_MAX) < 0 &&
	       parse_number(o->slot, 0, SLOTS_MAX - 1) == h->slot;
}

static bool is_chosen(const struct forcing *f, const struct view_holder *h)
{
	const struct opts *o = f->o;

	if (o->token &&
	    (h->how == HOLD_FOREIGN || strcmp(h->token, o->token) != 0))
		return false;
	return !o->slot ||
	       (f->named ? in_slot_named(o, h) : in_slot_number(o, h));
}

/* Leaves only the holders that were chosen. */
static void choose(struct forcing *f)
{
	struct view *v = &f->seen.view;
	int n = 0;

	if (!is_choosy(f->o))
		return;
	for (int i = 0; i < v->holders && f->o->slot; i++)
		f->named |= in_slot_named(f->o, &v->holder[i]);
	for (int i = 0; i < v->holders; i++) {
		struct view_holder h = v->holder[i];

		if (!is_chosen(f, &h))
			continue;
		v->holder[i] = v->holder[n];
		v->holder[n++] = h;
	}
	for (int i = n; i < v->holders; i++)
		free(v->holder[i].value);
	v->holders = n;
	v->in_all = n;
}

static int look_again(struct forcing *f, struct fail *why)
{
	struct view_most most = most_told;
	int rc;

	snapshot_close(&f->seen);
	most.whose = f->o->token;
	rc = query_lock(&f->query, f->key, strlen(f->key), &most, &f->seen,
			why);
	choose(f);
	return rc;
}

/* One query may not have listed all holders. */
static int force_all(struct forcing *f)
{
	struct fail why;
	int status, looks = 0;
	bool more;

	f->began = now();
	f->until = after(f->began, f->o->now ? 0 : f->o->force_grace_ms);
	do {
		if (aim_at(f, &why) < 0)
			break;
		more = f->seen.view.more_on != 0;
		status = force(f);
		if (status != STATUS_OK || !more || is_choosy(f->o))
			return status;
		if (look_again(f, &why) < 0)
			break;
		if (f->seen.view.holders == 0)
			return STATUS_OK;
		(void)fail(&why, FAIL_UNAVAILABLE,
			   "not taken away: new holders keep arriving");
	} while (++looks < LOOKS_MAX);
	return report_failure(&why);
}

/* --marks. Who holds it, holds it on. */
static int forget(struct forcing *f)
{
	static const struct view_holder nobody = {.value = "",
						  .type = "string"};
	struct taken *all;
	struct fail why;
	int status;

	show(&f->query, f->shown, &f->seen);
	status = confirm(f->o, &f->seen.view);
	if (status != STATUS_OK)
		return status;
	all = f->target = calloc(1, sizeof(*f->target));
	if (!all || aim(f, &why) < 0) {
		log_error("failed", "out of memory");
		return STATUS_INTERNAL;
	}
	all->h = &nobody;
	f->targets = 1;
	if (ask_all(f, FORCE_MARKS) < 0 || !all_done(f))
		return not_done(f);
	for (int i = 0; i < f->query.servers.n; i++)
		if (f->why[i].kind != FAIL_NONE)
			log_error("not-forgotten",
				  "not forgotten there: %s; repeat this when "
				  "it answers",
				  f->why[i].text);
	if (!all->forgot) {
		log_notice("no-marks", "nothing was remembered");
		return STATUS_FREE;
	}
	log_notice("forgotten",
		   "forgotten what --once-per, --once-for and --revision "
		   "remembered");
	return STATUS_OK;
}

static int look_and_force(struct forcing *f)
{
	struct fail why;
	int status;

	if (query_open(&f->query, f->o, &why) < 0 || look_again(f, &why) < 0)
		return report_failure(&why);
	if (query_replica(&f->query)) {
		why = *query_replica(&f->query);
		why.kind = FAIL_CONFIG;
		return report_failure(&why);
	}
	query_say_replicas(&f->query);
	if (f->o->marks)
		return forget(f);
	if (f->seen.view.holders == 0 && is_choosy(f->o)) {
		log_notice("free", "nobody holds it %s%s; nothing was changed",
			   f->o->token ? "with this token" : "in slot ",
			   f->o->token ? "" : f->o->slot);
		return STATUS_FREE;
	}
	if (f->seen.view.holders == 0 && f->seen.view.shut_ms <= 0) {
		log_notice("free", "nobody holds it");
		return STATUS_FREE;
	}
	status = consent_get(f->o, &f->query, f->shown, &f->seen);
	if (status != STATUS_OK)
		return status;
	if (aim(f, &why) < 0)
		return report_failure(&why);
	return f->seen.view.holders > 0 ? force_all(f) : let_in(f);
}

static int force_release(const struct opts *o)
{
	static struct forcing f;
	int status;

	f.o = o;
	f.key = o->key[0];
	(void)format_bytes(f.key, strlen(f.key), f.shown, sizeof(f.shown));
	log_key(f.shown, f.key, strlen(f.key));
	status = o->confirm ? consent_check(f.key, o->confirm) : STATUS_OK;
	if (o->marks && (is_choosy(o) || o->now || o->foreign)) {
		log_error("usage", "--marks takes the lock from nobody: leave "
				   "out the options that say whose");
		status = STATUS_USAGE;
	}
	if (status == STATUS_OK)
		status = look_and_force(&f);
	snapshot_close(&f.seen);
	query_close(&f.query);
	keys_close(&f.keys);
	free(f.target);
	return render_end(status);
}

const struct command cmd_force = {
	.name = "force-release",
	.usage = "[OPTIONS] KEY",
	.summary = "Takes a lock away, after asking its holder to stop",
	.example = {"redlock force-release deploy --grace 1m",
		    "redlock force-release deploy --confirm deploy --now"},
	.by = BY_FORCE,
	.operands = OPERANDS_KEY,
	.run = force_release,
};
