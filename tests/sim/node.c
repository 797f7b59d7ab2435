/* SPDX-License-Identifier: MIT */
/* The scripts, simulated. */
#include "node.h"

#include <assert.h>
#include <string.h>

/* What is plain knows a counter by its sixteen digits: see src/lua/keys.lua. */
#define PLAIN_LEAST INT64_C(1000000000000000)
#define KEPT_MS 60000 /* kept_ms in Lua */
#define HEARTBEAT_US ((int64_t)5000000)
#define LOST_NOW (-1)

void node_flush(struct node *n)
{
	const struct node was = *n;

	memset(n, 0, sizeof(*n));
	n->counter = -1;
	n->twin = was.twin;
	n->full = was.full;
	n->up_us = was.up_us;
	n->boots = was.boots;
}

void node_restart(struct node *n, const struct node *then, int64_t us)
{
	const struct node was = *n;

	*n = *then;
	n->up_us = us;
	n->boots = was.boots + 1;
	n->full = was.full;
}

/* As INFO tells it: whole seconds, of which one may have just begun. */
static int64_t young(const struct node *n, int64_t guard_ms, int64_t us)
{
	int64_t up = (us - n->lag_us) / 1000000 - n->up_us / 1000000;
	int64_t rest = guard_ms + 1000 - up * 1000;

	return guard_ms > 0 && rest > 0 && n->twin != TWIN_NO_GUARD ? rest : 0;
}

/* Redis deletes when now > when, in ms of its own clock. */
bool node_locked(struct node *n, int64_t us)
{
	if (n->token != 0 && us / 1000 > n->expires_ms)
		n->token = 0;
	return n->token != 0;
}

/* Every start gives it another name; no two nodes begin at one microsecond. */
static uint64_t server_of(const struct node *n)
{
	return (uint64_t)n->up_us * 1000 + (uint64_t)n->boots + 1;
}

/* `ours`: for a grant or a release. */
static void move(struct node *n, int64_t next, bool ours)
{
	if (n->counter < 0)
		n->born = next;
	if (ours)
		n->moved = next;
	if (n->distrusted)
		n->writer = server_of(n);
	n->counter = next;
}

static bool untouched(const struct node *n, int64_t seen)
{
	return n->counter >= 0 && n->counter >= seen && n->moved <= seen;
}

/* The counter may be an older one. */
static bool is_rolled_back(struct node *n)
{
	n->distrusted =
		n->writer != server_of(n) && n->twin != TWIN_ROLLED_BACK;
	return n->distrusted;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void set(struct node *n, int64_t token, int64_t ms, int64_t us)
{
	n->token = token;
	n->expires_ms = us / 1000 + ms;
}

/* ---- the line ---- */

int node_place(const struct node *n, int64_t token)
{
	for (int i = 0; i < n->waiters; i++)
		if (n->line[i].token == token)
			return i;
	return -1;
}

static void forget_sign(struct node *n, int64_t token)
{
	if (n->sign[token % SIGNS_KEPT].token == token)
		n->sign[token % SIGNS_KEPT].us = 0;
}

static int64_t sign_of(const struct node *n, int64_t token)
{
	int at = (int)(token % SIGNS_KEPT);

	return n->sign[at].token == token ? n->sign[at].us : 0;
}

/* The scripts leave its sign of life there, unless they say so. */
static void leave(struct node *n, int i)
{
	const struct waiter *w = &n->line[i];

	n->sign[w->token % SIGNS_KEPT].token = w->token;
	n->sign[w->token % SIGNS_KEPT].us = w->sign;
	n->waiters--;
	memmove(&n->line[i], &n->line[i + 1],
		sizeof(n->line[0]) * (size_t)(n->waiters - i));
}

/* As members of a sorted set: by their bytes, where tickets are the same. */
static bool is_behind(const struct waiter *a, const struct waiter *b)
{
	return a->ticket != b->ticket ? a->ticket > b->ticket
				      : a->token > b->token;
}

static void stand(struct node *n, const struct waiter *w)
{
	int i = n->waiters;

	assert(n->waiters < LINE_MAX);
	for (; i > 0 && is_behind(&n->line[i - 1], w); i--)
		n->line[i] = n->line[i - 1];
	n->line[i] = *w;
	n->waiters++;
}

static bool gone(const struct waiter *w, int64_t us)
{
	return us - w->ticket > 3 * HEARTBEAT_US &&
	       us - w->sign > 3 * HEARTBEAT_US;
}

static void wake(struct node *n, int64_t token, enum word_kind kind, int64_t ms,
		 int64_t us)
{
	struct word *free = NULL;

	for (int i = 0; i < WORDS_KEPT; i++) {
		struct word *w = &n->words[i];

		if (us / 1000 > w->expires_ms)
			w->token = 0;
		if (w->token == token) /* one list, one end */
			w->expires_ms = us / 1000 + ms;
		if (w->token == 0)
			free = w;
	}
	assert(free);
	*free = (struct word){token, us / 1000 + ms, kind, ++n->said};
}

/* The first in the list. */
static struct word *word_of(struct node *n, int64_t token, int64_t us)
{
	struct word *first = NULL;

	for (int i = 0; i < WORDS_KEPT; i++) {
		struct word *w = &n->words[i];

		if (w->token == token && us / 1000 <= w->expires_ms &&
		    (!first || w->order < first->order))
			first = w;
	}
	return first;
}

/* Whether the last in the list is that the client has left. */
static bool unlocked(const struct node *n, int64_t token, int64_t us)
{
	const struct word *last = NULL;

	for (int i = 0; i < WORDS_KEPT; i++) {
		const struct word *w = &n->words[i];

		if (w->token == token && us / 1000 <= w->expires_ms &&
		    (!last || w->order > last->order))
			last = w;
	}
	return last && last->kind == WORD_UNLOCKED;
}

bool node_heard(struct node *n, int64_t token, int64_t us)
{
	struct word *w = word_of(n, token, us);

	if (w)
		w->token = 0;
	return w;
}

static void grant(struct node *n, const struct waiter *to, int64_t ms,
		  bool alone, int64_t lost, bool asked, int64_t us)
{
	if (n->counter < 0)
		move(n, us, true);
	else
		move(n, alone ? larger(n->counter + 1, us) : n->counter + 1,
		     true);
	n->lost = lost == LOST_NOW ? n->counter : lost;
	set(n, to->token, ms, us);
	n->record = to->token;
	n->asked = asked;
	n->given = n->counter;
	n->holder_ttl = to->ttl;
	n->holder_ticket = to->came;
	n->since_us = us;
}

/* gives_up: self gives the lock up, and a place that it still has is void. */
static bool hand_over(struct node *n, int64_t self, bool gives_up, bool alone,
		      int64_t lost, int64_t us)
{
	while (n->waiters > 0) {
		struct waiter head = n->line[0];
		int64_t ms = lost == LOST_NOW      ? head.ttl
			     : head.ttl / 2 < 2000 ? head.ttl / 2
						   : 2000;

		leave(n, 0);
		if (us - head.ticket > HEARTBEAT_US)
			forget_sign(n, head.token);
		if (gone(&head, us) || (gives_up && head.token == self))
			continue;
		if (n->twin == TWIN_GRANT_FOREVER)
			ms = INT64_MAX / 4;
		grant(n, &head, ms, alone, lost,
		      head.token == self && word_of(n, self, us), us);
		if (head.token != self)
			wake(n, head.token, WORD_HANDED, ms, us);
		return true;
	}
	return false;
}

/* Of a question, or a release; 0: it is not compared. */
static uint64_t number_of(const struct ask *ask, int nodes)
{
	return nodes == 1 || ask->since == 0
		       ? 0
		       : ask->since + (ask->verb != VERB_RELEASE);
}

static void note_number(struct node *n, int64_t token, const struct ask *ask,
			const struct lease_conf *conf)
{
	uint64_t number = number_of(ask, conf->nodes);

	if (number <= (n->numbered == token ? n->number : 0))
		return;
	n->numbered = token;
	n->number = number;
}

/* ---- acquire ---- */

/* The record says that a counter was missing, and this client saw it before. */
static bool told(const struct node *n, const struct ask *ask)
{
	return ask->seen > 0 && (n->token == 0 || n->record == n->token) &&
	       ask->seen < n->lost && n->twin != TWIN_LOSS_UNTOLD;
}

static bool reborn(const struct node *n, const struct ask *ask)
{
	return ask->seen > 0 && ask->seen < n->born &&
	       (n->counter < 0 || n->born <= n->counter);
}

static bool superseded(struct node *n, const struct ask *ask, int64_t token,
		       int64_t us)
{
	const struct word *w = word_of(n, token, us);

	return ask->acquire.ticket > 0 ? n->newest > ask->acquire.ticket
				       : ask->acquire.ticket == 0 && w &&
						 w->kind == WORD_SUPERSEDED;
}

static int living(struct node *n, int64_t us)
{
	for (int i = n->waiters - 1; i >= 0; i--)
		if (gone(&n->line[i], us)) {
			int64_t token = n->line[i].token;

			leave(n, i);
			forget_sign(n, token);
		}
	return n->waiters;
}

static void supersede(struct node *n, int64_t token, int64_t ticket, int64_t us)
{
	if (n->newest >= ticket)
		return;
	n->newest = ticket;
	for (int i = node_place(n, token) - 1; i >= 0; i--) {
		int64_t other = n->line[i].token;

		if (!n->line[i].marked || other == token)
			continue;
		leave(n, i);
		forget_sign(n, other);
		wake(n, other, WORD_SUPERSEDED, 6000, us);
	}
}

/* The place is then node_place()'s. */
static int64_t join(struct node *n, const struct ask *ask, int64_t token,
		    const struct lease_conf *conf, int64_t us)
{
	struct waiter w = {.token = token,
			   .ticket = ask->acquire.ticket,
			   .ttl = conf->ttl_ms,
			   .came = conf->ticket,
			   .marked = conf->supersede};
	int at = node_place(n, token);

	if (ask->acquire.ticket == 0) {
		w.ticket = us;
		if (n->counter > us && n->waiters > 0)
			w.ticket =
				larger(us, n->line[n->waiters - 1].ticket + 1);
		if (conf->supersede)
			w.ticket = larger(w.ticket, n->newest + 1);
	}
	if (at >= 0 && (ask->acquire.ticket == 0 || ask->acquire.newcomer))
		w.ticket = n->line[at].ticket;
	w.sign = at >= 0 ? n->line[at].sign : sign_of(n, token);
	if (at >= 0)
		leave(n, at);
	stand(n, &w);
	at = node_place(n, token);
	/* the ticket is sign enough for a heartbeat */
	if (us - w.ticket > HEARTBEAT_US)
		n->line[at].sign = us;
	return w.ticket;
}

/* Not ours: a place in line, and who has it. */
static struct answer wait_for(struct node *n, const struct ask *ask,
			      int64_t token, const struct lease_conf *conf,
			      int64_t us)
{
	bool newcomer = ask->acquire.ticket == 0 ||
			(ask->acquire.ticket > 0 && ask->acquire.newcomer);
	int64_t rest = young(n, ask->guard_ms, us);
	struct answer a = {.said = n->token ? SAID_BUSY
				   : rest   ? SAID_GUARDED
					    : SAID_LOSS,
			   .counter = larger(n->counter, 0),
			   .busy = {.age_ms = -1}};

	if (newcomer && conf->max_waiters >= 0 && node_place(n, token) < 0 &&
	    living(n, us) >= conf->max_waiters) {
		a.said = SAID_FULL;
		a.busy.pttl_ms = n->waiters;
		return a;
	}
	if (ask->acquire.ticket >= 0) {
		a.busy.ticket = join(n, ask, token, conf, us);
		if (conf->supersede)
			supersede(n, token, a.busy.ticket, us);
		a.busy.place = node_place(n, token) + 1;
	}
	if (a.said != SAID_BUSY) {
		a.busy.pttl_ms = rest;
		a.lost = reborn(n, ask);
		return a;
	}
	a.busy.pttl_ms = n->expires_ms - us / 1000;
	a.busy.foreign = n->record != n->token;
	a.lost = told(n, ask);
	a.busy.holder_ttl_ms = a.busy.foreign ? 0 : n->holder_ttl;
	a.busy.holder = (uint64_t)n->token;
	a.busy.holder_ticket = a.busy.foreign ? 0 : n->holder_ticket;
	if (!a.busy.foreign && (conf->nodes > 1 || conf->guard_ms > 0))
		a.busy.age_ms = larger(us / 1000 - n->since_us / 1000, 0);
	return a;
}

static struct answer acquire(struct node *n, struct ask *ask, int64_t token,
			     const struct lease_conf *conf, int64_t us)
{
	bool alone = conf->nodes == 1, looks = !alone || conf->guard_ms > 0;
	bool by_time = alone || is_rolled_back(n);
	struct answer granted = {.said = SAID_GRANTED,
				 .granted.server = looks ? server_of(n) : 0,
				 .at_ms = us / 1000};
	struct waiter me = {
		.token = token, .ttl = conf->ttl_ms, .came = conf->ticket};

	int64_t rest = young(n, ask->guard_ms, us);

	if (node_locked(n, us) && n->token == token && rest > 0)
		return (struct answer){.said = SAID_GUARDED,
				       .counter = larger(n->counter, 0),
				       .busy.pttl_ms = rest};
	if (node_locked(n, us) && n->token == token) {
		int64_t before = n->counter;

		set(n, token, conf->ttl_ms, us);
		if (before < 0)
			move(n, us, true);
		else if (n->record != token || n->given != n->counter)
			move(n, by_time ? larger(before + 1, us) : before + 1,
			     true);
		if (n->record == token)
			n->given = n->counter;
		note_number(n, token, ask, conf);
		granted.counter = n->counter;
		granted.lost = told(n, ask);
		return granted;
	}
	if (ask->acquire.newcomer && ask->acquire.ticket > 0)
		ask->acquire.ticket = ask->acquire.ticket < us - 1000000
					      ? us - 1000000
				      : ask->acquire.ticket > us + 1000000
					      ? us + 1000000
					      : ask->acquire.ticket;
	if (conf->supersede && superseded(n, ask, token, us))
		return (struct answer){.said = SAID_SUPERSEDED,
				       .counter = larger(n->counter, 0)};
	if (n->token == 0 && !ask->acquire.embargo && !reborn(n, ask) &&
	    rest == 0 && !(ask->seen > 0 && n->counter < ask->seen)) {
		int64_t before = n->lost;
		int64_t lost = n->counter < 0 ? LOST_NOW : before;

		/* who was skipped has its place still */
		if (ask->acquire.ticket > 0 && !ask->acquire.newcomer)
			(void)join(n, ask, token, conf, us);
		if (!hand_over(n, token, false, by_time, lost, us))
			grant(n, &me, conf->ttl_ms, by_time, before,
			      word_of(n, token, us), us);
		if (n->token == token) {
			set(n, token, conf->ttl_ms, us);
			note_number(n, token, ask, conf);
			granted.counter = n->counter;
			granted.lost = told(n, ask);
			return granted;
		}
	}
	return wait_for(n, ask, token, conf, us);
}

/* ---- the rest ---- */

static bool heals(const struct node *n, const struct ask *ask,
		  const struct lease_conf *conf, int64_t us)
{
	bool same = n->counter == ask->seen || n->twin == TWIN_HEAL_ANY;
	bool lives = us < ask->confirm.until_ms * 1000;

	if (ask->confirm.repairs)
		return (larger(n->counter, 0) == ask->seen || same ||
			untouched(n, ask->seen)) &&
		       young(n, ask->guard_ms, us) == 0;
	if (ask->seen == 0 || ask->confirm.until_ms < 0 ||
	    (ask->confirm.until_ms > 0 && !lives &&
	     (conf->nodes > 1 || n->counter < 0)))
		return false;
	if (lives && n->counter < ask->seen && n->twin != TWIN_BACK_IS_LOST)
		return true;
	return same || n->counter < 0 ||
	       (untouched(n, ask->seen) && (lives || n->born <= ask->seen));
}

static struct answer confirm(struct node *n, const struct ask *ask,
			     int64_t token, const struct lease_conf *conf,
			     int64_t us)
{
	struct answer a = {.said = SAID_YES, .at_ms = us / 1000};
	bool locked = node_locked(n, us), back = false;
	int64_t before = n->counter, higher;
	int place = node_place(n, token);

	/* what is plain does not look for a word */
	if (unlocked(n, token, us) &&
	    !(locked && n->token == token && n->record == token && !n->asked &&
	      n->counter >= PLAIN_LEAST && n->counter >= ask->fence))
		return (struct answer){.said = SAID_NO,
				       .counter = larger(n->counter, 0),
				       .confirm.pttl_ms = 1};
	if (locked && n->token == token) {
		a.confirm.pttl_ms = n->expires_ms - us / 1000;
	} else if (!locked && heals(n, ask, conf, us)) {
		a.said = SAID_HEALED;
		back = before >= 0 && before < ask->seen;
		if (place >= 0)
			leave(n, place);
	} else {
		return (struct answer){.said = SAID_NO,
				       .counter = larger(n->counter, 0),
				       .confirm.pttl_ms = locked};
	}
	set(n, token, conf->ttl_ms, us);
	if (n->record != token) {
		n->lost = n->given = 0;
		n->asked = false;
		n->holder_ticket = conf->ticket;
		n->since_us = us;
	}
	note_number(n, token, ask, conf);
	n->record = token;
	n->holder_ttl = conf->ttl_ms;
	if (before < 0 || before < ask->fence || back) {
		higher = larger(before < 0 ? us : before, ask->fence);
		if (back || (conf->nodes > 1 && before != ask->seen &&
			     is_rolled_back(n)))
			higher = larger(higher, us);
		if (conf->nodes == 1 && (before < 0 || back) &&
		    larger(ask->seen, ask->fence) >= higher)
			higher = larger(ask->seen, ask->fence) +
				 conf->ttl_ms * 1000;
		move(n, higher, a.said == SAID_HEALED || before < 0);
		if (back)
			n->born = higher;
	}
	a.counter = n->counter;
	a.confirm.raised = a.counter != before && a.counter == ask->fence;
	return a;
}

static struct answer release(struct node *n, const struct ask *ask,
			     int64_t token, bool alone, int64_t us)
{
	int at = node_place(n, token);
	int64_t before = n->counter, least, lost;
	bool passed;

	if (!alone && ask->since > 0 && node_locked(n, us) &&
	    n->token == token && n->numbered == token &&
	    n->number > number_of(ask, 3) && n->twin != TWIN_NUMBER)
		return (struct answer){.said = SAID_NO,
				       .counter = larger(n->counter, 0)};
	if (ask->release.queued && at >= 0)
		leave(n, at);
	if (ask->release.queued)
		forget_sign(n, token);
	while (node_heard(n, token, us))
		;
	if (((!node_locked(n, us) || n->token != token) &&
	     n->twin != TWIN_RELEASE_ANY) ||
	    (ask->release.queued && n->twin == TWIN_CANCEL_KEEPS)) {
		if (ask->release.ran)
			wake(n, token, WORD_UNLOCKED, KEPT_MS, us);
		return (struct answer){.said = SAID_NO,
				       .counter = larger(n->counter, 0)};
	}
	least = before < 0 || (!alone && is_rolled_back(n)) ? us : 0;
	least = larger(larger(before, least), larger(ask->fence, ask->seen));
	if (before < 0)
		move(n, least, true);
	if (n->twin != TWIN_RELEASE_STILL)
		n->counter = least;
	lost = ask->release.ran || n->record != token ? 0 : n->lost;
	passed = !ask->release.withheld &&
		 hand_over(n, token, true, alone, lost, us);
	if (!passed) {
		n->token = 0;
		n->record = 0;
		n->lost = lost;
		if (n->twin != TWIN_RELEASE_STILL)
			move(n, n->counter + 1, true);
	}
	if (n->twin == TWIN_DEL_AFTER)
		n->token = 0;
	return (struct answer){.said = SAID_YES,
			       .counter = n->counter,
			       .handed_ms =
				       passed ? n->expires_ms - us / 1000 : 0};
}

static struct answer run(struct node *n, struct ask *ask, int64_t token,
			 const struct lease_conf *conf, int64_t us)
{
	if (ask->verb == VERB_ACQUIRE)
		return acquire(n, ask, token, conf, us);
	if (ask->verb == VERB_CONFIRM)
		return confirm(n, ask, token, conf, us);
	if (ask->verb == VERB_RELEASE)
		return release(n, ask, token, conf->nodes == 1, us);
	return (struct answer){.said = node_heard(n, token, us) ? SAID_WOKEN
								: SAID_QUIET};
}

struct answer node_run(struct node *n, const struct ask *ask, int64_t token,
		       const struct lease_conf *conf, int64_t us)
{
	struct ask its = *ask;

	n->distrusted = false;
	return run(n, &its, token, conf, us);
}
