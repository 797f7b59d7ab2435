/* SPDX-License-Identifier: MIT */
/* Waits until nobody holds a lock. Takes nothing and stands in no line, so it
 * has to poll. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/process.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/query.h"
#include "cli/render.h"
#include "lock/core/timing.h"
#include "run/describe.h"
#include "proc/signals.h"

#define AFTER_END_MS 5 /* the server ends a lease up to 1 ms late */
/* with more holders, the lock is certainly not free */
#define HOLDERS 20

enum wait_end {
	STILL_WAITING,
	WAS_FREE,
	OUT_OF_TIME,
	OUT_OF_REACH,
	WAITS_FOR_ITSELF,
	HAS_FAILED,
	INTERRUPTED
};

struct wait {
	const struct opts *o;
	struct query query;
	struct signals signals;
	const char *key;
	char shown[256];
	enum wait_end end;
	int sig;
	struct instant give_up, next;
	/* the present query, or the last one */
	struct snapshot seen;
	int owed;
	struct fail why;
	/* what was seen */
	bool answered; /* ever */
	struct sight sight;
	struct view_holder holder;
	struct instant seen_at;
	struct pace pace; /* and said */
};

#define NO_PLACE (-1) /* we are in no line */

/* ---- telling ---- */

static const char *describe_seen(const struct wait *w, char *buf, size_t size)
{
	return describe_holder(&w->sight, between(w->seen_at, now()), buf,
			       size);
}

static int64_t limit_of(const struct wait *w)
{
	return query_limit(w->o, w->answered);
}

static void draw(struct wait *w)
{
	char text[1000], how[80], who[860];
	struct instant at = now();

	w->pace.drawn = at;
	(void)describe_waiting(w->answered, between(w->pace.began, at),
			       limit_of(w), how);
	(void)snprintf(text, sizeof(text), "%s: %s", how,
		       w->pace.silent.ms != NEVER.ms
			       ? w->why.text
			       : describe_brief(&w->sight,
						between(w->seen_at, at), who,
						sizeof(who)));
	log_live(text);
}

/* What the next line would be about: the holder, or why the server is silent.
 */
static const char *topic(const struct wait *w)
{
	return w->pace.silent.ms != NEVER.ms ? w->why.text : w->sight.token;
}

static void tell_line(struct wait *w, enum pace_says what)
{
	char how[120], who[860], next[COMMAND_MAX];

	w->pace.reached = w->answered;
	(void)pace_opening(&w->pace, what, limit_of(w), how, sizeof(how));
	if (what == TOLD_SILENCE)
		log_notice("silence", "%s: %s", how, w->why.text);
	else
		log_notice("waiting", "%s: %s%s", how,
			   describe_seen(w, who, sizeof(who)),
			   describe_next(w->key, next));
	pace_told(&w->pace, what, topic(w), NO_PLACE);
}

static void tell(struct wait *w)
{
	enum pace_says what;

	if (!w->answered && w->pace.silent.ms == NEVER.ms)
		return;
	if (log_is_live()) {
		if (pace_draws(&w->pace))
			draw(w);
		return;
	}
	what = pace_due(&w->pace, w->answered, topic(w), NO_PLACE);
	if (what != TOLD_NOTHING)
		tell_line(w, what);
}

/* When tell() has something to report without an event. */
static struct instant tell_at(const struct wait *w)
{
	if (!w->answered && w->pace.silent.ms == NEVER.ms)
		return NEVER;
	return pace_next(&w->pace, log_is_live(), topic(w), NO_PLACE);
}

/* ---- looking ---- */

static void ask_servers(struct wait *w)
{
	const struct view_most most = {.holders = HOLDERS};
	size_t len = strlen(w->key);

	snapshot_close(&w->seen);
	memset(&w->seen, 0, sizeof(w->seen));
	query_try(&w->query, limit_of(w));
	for (int i = 0; i < w->query.servers.n; i++) {
		if (query_ask(&w->query, i, w->key, len, &most, 0) < 0) {
			w->end = HAS_FAILED;
			(void)fail_memory(&w->why);
			return;
		}
		w->owed++;
	}
}

static int64_t pause_ms(void)
{
	return OUTSIDE_MS - random() % (OUTSIDE_MS / 5);
}

/* A live holder renews; a dead one does not. */
static void look_again(struct wait *w)
{
	const struct view *v = &w->seen.view;
	int64_t ms = pause_ms(), left = v->holders ? v->holder[0].left_ms : -1;

	if (left >= 0 && left + AFTER_END_MS < ms)
		ms = left + AFTER_END_MS;
	w->next = after(now(), ms);
}

static void see(struct wait *w)
{
	const struct view *v = &w->seen.view;

	w->answered = true;
	w->pace.silent = NEVER;
	if (view_is_free(v, w->query.servers.n)) {
		w->end = WAS_FREE;
		return;
	}
	if (v->holders > 0) {
		view_sight(v, &w->sight);
		w->holder = v->holder[0];
		w->seen_at = now();
	}
	for (int i = 0; i < v->holders; i++)
		if (process_is_ancestor(v->holder[i].about[ABOUT_PROCESS]))
			w->end = WAITS_FOR_ITSELF;
	look_again(w);
}

/* Waits if waiting may help. Who was answered before is no longer let in:
 * perhaps a password is being replaced. */
static void miss(struct wait *w)
{
	struct instant at = now();

	if (w->pace.silent.ms == NEVER.ms)
		w->pace.silent = w->answered ? at : w->pace.began;
	w->next = after(at, pause_ms());
	if (w->answered)
		return;
	if (w->why.kind != FAIL_UNAVAILABLE)
		w->end = HAS_FAILED;
	else if (!before(at, after(w->pace.began, limit_of(w))))
		w->end = OUT_OF_REACH;
}

static void take_answers(struct wait *w)
{
	struct got got;

	while (w->owed > 0 && fanout_next(&w->query.fanout, &got)) {
		snapshot_take(&w->query, &w->seen, &got);
		if (--w->owed > 0)
			continue;
		if (query_done(&w->query, &w->seen, &w->why) < 0) {
			miss(w);
		} else if (query_replica(&w->query)) {
			w->why = *query_replica(&w->query);
			miss(w);
		} else {
			query_say_replicas(&w->query);
			see(w);
		}
	}
}

/* ---- waiting ---- */

static void take_signals(struct wait *w)
{
	struct arrival a;

	for (int i = 0; i < SIGNALS_TURN && signals_next(&w->signals, &a);
	     i++) {
		if (a.sig == SIGTSTP) {
			log_live("");
			signals_stop();
		}
		pace_redraw(&w->pace);
		if (signal_ends(a.sig) && a.sig != SIGUSR1 &&
		    a.sig != SIGUSR2) {
			w->end = INTERRUPTED;
			w->sig = a.sig;
		}
	}
}

/* (The first look ends by itself: see query_try().) */
static struct instant deadline_of(const struct wait *w)
{
	return w->owed > 0 && !w->answered ? NEVER : w->give_up;
}

static void wait_for_it(struct wait *w)
{
	w->next = now();
	pace_begin(&w->pace, w->query.servers.began);
	w->give_up = after(w->pace.began, w->o->wait_ms);
	while (w->end == STILL_WAITING) {
		struct pollfd fd = {.fd = w->signals.fd, .events = POLLIN};
		struct instant limit = sooner(deadline_of(w), tell_at(w));

		if (w->owed == 0 && !before(now(), w->next))
			ask_servers(w);
		fanout_poll(&w->query.fanout, &fd, 1,
			    w->owed > 0 ? limit : sooner(limit, w->next));
		if (fd.revents)
			take_signals(w);
		take_answers(w);
		if (w->end == STILL_WAITING && !before(now(), deadline_of(w)))
			w->end = w->answered ? OUT_OF_TIME : OUT_OF_REACH;
		if (w->end == STILL_WAITING)
			tell(w);
	}
	log_live("");
}

static void say_held(const struct wait *w)
{
	char limit[32], who[860], next[COMMAND_MAX];

	log_at(w->o->conflict_status == 0 ? LOG_SAY_NOTICE : LOG_SAY_ERROR,
	       "timeout", "", "not free within %s: %s%s",
	       format_limit(w->o->wait_ms, limit, sizeof(limit)),
	       describe_seen(w, who, sizeof(who)), describe_next(w->key, next));
}

/* A holder runs this command, and ends only when we end. */
static void say_around(const struct wait *w)
{
	char who[860];

	log_error("inside",
		  "deadlock: the run around this one has the lock: %s",
		  describe_seen(w, who, sizeof(who)));
}

static void say_json(const struct wait *w)
{
	struct json j = {.f = stdout};

	json_text(&j, "schema", "redlock.wait/1");
	json_bytes(&j, "key", w->key, strlen(w->key));
	json_text(&j, "outcome", w->end == WAS_FREE ? "free" : "timeout");
	json_number(&j, "waited_ms", between(w->pace.began, now()));
	if (w->end != WAS_FREE)
		json_hold(&j, &w->holder);
	json_close(&j);
	(void)putchar('\n');
}

static int finish(struct wait *w)
{
	if (query_replica(&w->query)) /* and was one all the time */
		w->why.kind = FAIL_CONFIG;
	switch (w->end) {
	case STILL_WAITING:
	case WAS_FREE:
	case OUT_OF_TIME:
		break;
	case INTERRUPTED:
		signals_die(w->sig);
		return 128 + w->sig;
	case WAITS_FOR_ITSELF:
		say_around(w);
		return STATUS_USAGE;
	case OUT_OF_REACH:
		return query_gave_up(&w->query, w->o, &w->why);
	case HAS_FAILED:
		return report_failure(&w->why);
	}
	if (w->o->json)
		say_json(w);
	if (w->end == OUT_OF_TIME)
		say_held(w);
	return render_end(w->end == WAS_FREE ? STATUS_OK
					     : w->o->conflict_status);
}

static int wait_verb(const struct opts *o)
{
	static struct wait w;
	int status;

	w = (struct wait){.o = o, .key = o->key[0], .signals = {.fd = -1}};
	(void)format_bytes(w.key, strlen(w.key), w.shown, sizeof(w.shown));
	log_key(w.shown, w.key, strlen(w.key));
	srandom((unsigned int)getpid() ^ (unsigned int)now().ms);
	if (query_open(&w.query, o, &w.why) < 0 ||
	    signals_open(&w.signals, &w.why) < 0)
		w.end = HAS_FAILED;
	else
		wait_for_it(&w);
	status = finish(&w);
	snapshot_close(&w.seen);
	query_close(&w.query);
	return status;
}

const struct command cmd_wait = {
	.name = "wait",
	.usage = "[OPTIONS] KEY",
	.summary = "Waits until nobody holds a lock, without taking it",
	.example = {"redlock wait deploy && ./notify.sh",
		    "redlock wait deploy -w 10m"},
	.by = BY_WAIT,
	.operands = OPERANDS_KEY,
	.run = wait_verb,
};
