/* SPDX-License-Identifier: MIT */
/* While the command runs. Read inside.h and guard.h first. */
#include "run/inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "run/describe.h"

#define SURVIVES_MS 1000
#define START_MS 20 /* most guards start the command much sooner */
#define AGAIN_MS 50 /* from one strike to the next */
#define GUARD_MS 30 /* a guard that has done nothing for so long is stuck */
#define DEATH_MS 20 /* most trees are dead by then */

/* The guard kills, and so do we: neither waits for the other. */
static void kill_tree(struct watch *w)
{
	w->killed = true;
	w->stop_by = NEVER;
	guard_kill(w->guard);
	deadman_rest(w->deadman, true);
	guard_strike(w->guard, true);
	if (w->conf->kept && w->end->outcome != OUTCOME_UNLOCKED)
		keeper_tell(w->conf->kept);
	w->survives = after(now(), SURVIVES_MS);
	w->guard_due = after(now(), GUARD_MS);
	w->again = after(now(), AGAIN_MS);
	w->beat = guard_beat(w->guard);
}

/* As long as the guard has not reported. It may be stopped, or be unable to run
 * or to die, and one strike does not kill a large tree. */
static void strike_again(struct watch *w)
{
	bool told = w->survives.ms == NEVER.ms;

	if (before(now(), w->again))
		return;
	guard_wake(w->guard->pid);
	guard_strike(w->guard, !told);
	w->again = after(now(), AGAIN_MS);
}

/* Not earlier: most commands start at once, and many have ended by then. */
static void look_at_start(struct watch *w)
{
	if (before(now(), w->start_due))
		return;
	w->start_due = NEVER;
	if (atomic_load(&w->guard->shared->command) == 0)
		guard_wake(w->guard->pid);
}

/* A guard that does not kill (it hangs in exec, in a debugger, in a frozen
 * cgroup) must die: then the command dies with it, and the rest of the tree is
 * ours to kill. */
static void look_at_guard(struct watch *w)
{
	int beat;

	if (before(now(), w->guard_due))
		return;
	beat = guard_beat(w->guard);
	w->guard_due = NEVER;
	if (beat == w->beat)
		(void)kill(w->guard->pid, SIGKILL);
	else
		w->guard_due = after(now(), GUARD_MS);
	w->beat = beat;
}

/* The next news of the thread, whose end is the worst. */
static char next_news(const struct watchdog *dog)
{
	char news;

	if (read(dog->news[0], &news, 1) != 1)
		news = NEWS_LOST;
	return news;
}

static bool is_loss(char news)
{
	return news == NEWS_LOST || news == NEWS_UNLOCKED;
}

/* Once the tree was killed, nobody else reads these news. */
static bool heard_of_loss(const struct watchdog *dog)
{
	struct pollfd fd = {.fd = dog->news[0], .events = POLLIN};

	while (poll(&fd, 1, 0) > 0)
		if (is_loss(next_news(dog)))
			return true;
	return false;
}

/* Whether another may get the lock before the tree is dead. */
static bool is_lost(const struct watch *w)
{
	enum outcome how = w->end->outcome;

	return how == OUTCOME_LOST || how == OUTCOME_UNLOCKED ||
	       how == OUTCOME_FORCED || watchdog_spent(w->dog) ||
	       !before(now(),
		       after(watchdog_credited_at(w->dog), w->relay.ttl_ms)) ||
	       (w->dog->running ? heard_of_loss(w->dog) : locks_lost(w->locks));
}

/* For messages: what becomes of the lock. `renews`: it is renewed meanwhile. */
static const char *lock_of_survivors(const struct watch *w, bool renews)
{
	return w->end->without_lock ? "it runs without the lock"
	       : renews && !is_lost(w)
		       ? "the lock stays held until it ends"
		       : "another may get the lock before it ends";
}

/* Another user's process, or one that hangs in the kernel. */
static void tell_survivors(struct watch *w, bool renews)
{
	w->survives = NEVER;
	log_error("survives",
		  "the command was killed but has not ended (see ps -ejH, "
		  "below process %d); %s",
		  (int)getpid(), lock_of_survivors(w, renews));
}

static const char *whom(const struct watch *w)
{
	return w->conf->kept ? w->conf->kept->whom : "the command";
}

/* For messages: what we do about it; `command`: what we do to a command. */
static const char *done(const struct watch *w, const char *command)
{
	return w->conf->kept      ? w->conf->kept->will
	       : w->conf->by_hand ? "the hold ends"
				  : command;
}

static void lose(struct watch *w, const char *reason)
{
	if (w->killed)
		return;
	if (w->end->outcome != OUTCOME_FORCED)
		w->end->outcome = OUTCOME_LOST;
	kill_tree(w);
	log_error("lost", "lease lost: %s; %s", reason,
		  done(w, "killing the command"));
}

/* The server says that the lease is lost. `unlocked`: somebody released it with
 * our token, which is allowed for a lock held by hand. */
static void lose_to(struct watch *w, bool unlocked)
{
	if (w->killed)
		return;
	w->end->taken = !unlocked;
	if (!unlocked || !w->conf->by_hand) {
		lose(w, unlocked
				? "it was released (unlock)"
				: "the server says the lock is no longer ours");
		return;
	}
	w->end->outcome = OUTCOME_UNLOCKED;
	kill_tree(w);
	log_detail("unlocked", "released (unlock)");
}

/* The guard had to do what we did not. */
static void lose_overdue(struct watch *w)
{
	struct instant since = watchdog_credited_at(w->dog);
	char age[32], text[96];

	(void)snprintf(
		text, sizeof(text), "not renewed for %s",
		format_duration(between(since, now()), age, sizeof(age)));
	lose(w, text);
}

/* Sends TERM, or the signal of --signal, and SIGCONT to stopped processes.
 * `kill`: when the KILL is due. This must neither delay the KILL nor use up the
 * time that TERM should give. */
static void ask_to_end(struct watch *w, struct instant kill)
{
	struct instant at = now();
	const struct manner how = {.wake = true,
				   .ends = true,
				   .by = after(at, between(at, kill) / 2)};
	struct reach r;

	w->asked_to_end = true;
	guard_signal(w->guard, w->conf->signal, &how, &r);
	relay_refused(&w->relay, w->conf->signal, &r);
}

/* Whether the TERM that we sent still stands. One for an overdue lease does not
 * once the lease is renewed. */
static bool is_ending(const struct watch *w)
{
	return w->asked_to_end &&
	       (w->end->outcome != OUTCOME_RAN ||
		w->overdue.ms == watchdog_credited_at(w->dog).ms);
}

/* For messages: what we do to the command then. */
static const char *asks(const struct watch *w, int64_t kill_ms, char text[80])
{
	char left[32], name[SIGNAL_TEXT];

	(void)snprintf(text, 80, "sent %s; SIGKILL in %s",
		       signal_text(w->conf->signal, name),
		       format_duration(kill_ms, left, sizeof(left)));
	return text;
}

/* --max-hold, --max-renewals: a signal first, then KILL. `at`: now. */
static void end_hold(struct watch *w, const char *reason, struct instant at,
		     struct instant kill)
{
	char text[80];

	/* it is already ending, and the reason was reported */
	if (w->killed || w->end->outcome == OUTCOME_LOST ||
	    w->end->outcome == OUTCOME_FORCED ||
	    (is_ending(w) && w->end->outcome == OUTCOME_RAN))
		return;
	if (w->end->outcome == OUTCOME_MAX_HOLD) {
		kill_tree(w);
		return;
	}
	w->end->outcome = OUTCOME_MAX_HOLD;
	ask_to_end(w, kill);
	log_error("max-hold", "%s; %s", reason,
		  done(w, asks(w, between(at, kill), text)));
}

static void look_at_limit(struct watch *w)
{
	struct instant at = now();
	char held[32], text[64];

	if (before(at, w->limit))
		return;
	w->limit = w->killed || w->end->outcome == OUTCOME_MAX_HOLD
			   ? NEVER
			   : after(at, w->conf->kill_after_ms);
	(void)snprintf(
		text, sizeof(text), "held for %s (--max-hold)",
		format_duration(w->conf->max_hold_ms, held, sizeof(held)));
	end_hold(w, text, at, w->limit);
}

/* Somebody wants the lock: see stop_of() in state.lua. `at`: now. */
static void tell_asker(struct watch *w, const struct sight *asker, bool taken,
		       struct instant at)
{
	char *name = w->end->by, text[80];

	(void)describe_asker(asker, name, sizeof(w->end->by));
	log_error("forced", "%s by %s; %s",
		  asker->replaces ? "replaced"
		  : taken         ? "the lock was taken away (force-release)"
				  : "asked to stop (force-release)",
		  name,
		  done(w, taken ? "killing the command"
				: asks(w, between(at, w->stop_by), text)));
}

static void look_at_stop(struct watch *w)
{
	const struct sight *asker;
	struct instant by, at = now();
	bool news;

	if (w->killed || w->end->without_lock)
		return;
	by = watchdog_stop(w->dog, &asker);
	if (by.ms == NEVER.ms)
		return;
	/* a process that we cannot kill gets all the time there is */
	if (w->stop_by.ms == NEVER.ms && !w->conf->kept)
		w->stop_by = after(at, w->conf->kill_after_ms);
	w->stop_by = sooner(w->stop_by, by);
	news = !is_ending(w);
	if (news) {
		w->end->outcome = OUTCOME_FORCED;
		if (before(at, w->stop_by))
			ask_to_end(w, w->stop_by);
		w->asked_to_end = true;
	}
	if (!before(now(), w->stop_by))
		kill_tree(w);
	if (news)
		tell_asker(w, asker, !before(at, by), at);
}

/* The alarm went off: check that the lease really was not renewed. */
static void look_at_lease(struct watch *w)
{
	struct instant credited_at = watchdog_credited_at(w->dog), at = now();
	struct instant kill = watchdog_kill(w->dog);
	struct instant term = watchdog_term(w->dog);
	char age[32], text[96];
	uint64_t times;

	(void)!read(w->deadman->alarm, &times, sizeof(times));
	(void)format_duration(between(credited_at, at), age, sizeof(age));
	/* it reached its last renewal */
	if (watchdog_spent(w->dog) && !before(at, term) &&
	    w->end->outcome != OUTCOME_FORCED) {
		alarm_set(w->deadman->alarm, kill);
		deadman_woken(w->deadman, kill);
		end_hold(w, "renewed as often as --max-renewals allows", at,
			 kill);
		if (w->end->outcome == OUTCOME_MAX_HOLD)
			w->limit = sooner(w->limit, kill);
		return;
	}
	if (!before(at, kill)) {
		(void)snprintf(text, sizeof(text), "not renewed for %s", age);
		lose(w, text);
		return;
	}
	if (before(at, term)) {
		alarm_set(w->deadman->alarm, term);
		return;
	}
	alarm_set(w->deadman->alarm, kill);
	if (is_ending(w))
		return;
	w->overdue = credited_at;
	ask_to_end(w, kill);
	log_error("ending", "not renewed for %s; %s", age,
		  done(w, asks(w, between(at, kill), text)));
}

/* Whether we passed on a signal that means "end", which goes to the whole tree.
 */
static bool were_told(const struct ending *end)
{
	return sigismember(&end->sigs, SIGTERM) ||
	       sigismember(&end->sigs, SIGINT) ||
	       sigismember(&end->sigs, SIGQUIT);
}

/* Decides what becomes of processes that outlive the command. */
static void see_to_orphans(struct watch *w)
{
	const struct ending *end = w->end;
	/* a signal that we did not send: it ran out of memory, or crashed. What
	 * it left must not run beside the next holder */
	bool crashed = WIFSIGNALED(end->status) &&
		       !sigismember(&end->sigs, WTERMSIG(end->status));

	if (!crashed && w->conf->orphans != ORPHANS_WAIT && were_told(end) &&
	    w->orphans_due.ms == NEVER.ms) {
		w->orphans_due = after(now(), w->conf->kill_after_ms);
		return;
	}
	w->orphans_due = NEVER;
	switch (crashed ? ORPHANS_KILL : w->conf->orphans) {
	case ORPHANS_LEAVE:
		if (guard_has_tree(w->guard))
			log_notice("orphans",
				   "the command left processes running; the "
				   "lock does not cover them");
		w->done = true;
		break;
	case ORPHANS_WAIT:
		log_detail("orphans", "the command left processes running; "
				      "waiting for them to end");
		break;
	case ORPHANS_KILL:
		kill_tree(w);
		log_detail("orphans", "killing what the command left running");
		break;
	}
}

static void command_ended(struct watch *w, bool left)
{
	struct ending *end = w->end;
	char name[SIGNAL_TEXT];
	int sig = w->conf->kept ? w->conf->kept->sig : w->conf->signal;
	/* what got a signal did not end by itself, even if the lease went on */
	bool lost = w->asked_to_end && end->outcome == OUTCOME_RAN &&
		    (sig > 0 || is_ending(w));

	if (lost)
		end->outcome = OUTCOME_LOST;
	/* redlock itself, by a kill -9 */
	if (w->conf->kept && WIFSIGNALED(end->status))
		lose(w, "its keeper was killed");
	if (!left)
		w->done = true;
	else if (!w->asked_to_end && !w->killed)
		see_to_orphans(w);
	/* its orphans get the rest of that time */
	else if (!w->killed && end->outcome != OUTCOME_MAX_HOLD &&
		 end->outcome != OUTCOME_FORCED)
		kill_tree(w);
	if (lost)
		log_error("lost", "lease lost: %s ended%s%s", whom(w),
			  sig > 0 ? " after " : "",
			  sig > 0 ? signal_text(sig, name) : "");
}

/* Another user's process. If the lease is lost, we can only say so and go: our
 * own deadman leaves no time to wait. If we still have the lease, we keep it
 * until that process ends. */
static void take_refusal(struct watch *w, const struct report *r)
{
	const char *kept = lock_of_survivors(w, true);

	w->survives = NEVER;
	w->guard_due = NEVER;
	w->again = NEVER;
	w->abandoned = w->end->outcome == OUTCOME_LOST || w->end->taken;
	w->done = w->abandoned;
	/* nobody will ever kill it: we may still lose the lease */
	if (!w->abandoned)
		deadman_rest(w->deadman, false);
	if (w->abandoned) {
		deadman_set(w->deadman, NEVER, NEVER);
		kept = "it continues WITHOUT the lock";
	}
	log_error(
		"survives",
		"process %d of user %d is still running: user %d may not kill "
		"it; %s. Run redlock as that user: sudo redlock ... -- COMMAND",
		r->value, r->uid, (int)getuid(), kept);
}

/* Before T/6 is over, the watchdog thread takes over: a shorter command needs
 * no thread. Until then, or if no thread can be started, this loop renews. */
static void hand_over(struct watch *w)
{
	struct fail why;

	w->hand_over = NEVER;
	locks_may_block(w->locks, true);
	if (watchdog_start(w->dog, &why) < 0) {
		locks_may_block(w->locks, false);
		log_detail("no-thread", "%s; renewing without it", why.text);
	}
}

/* Its orphans are our children now; if we died, nobody would kill them. Killing
 * blocks, so the lock of a tree that does not die is renewed by the thread. */
static void inherit_tree(struct watch *w)
{
	struct ending *end = w->end;
	struct reach left;
	bool dead;

	deadman_rest(w->deadman, true);
	recorder_kill(&w->relay.recorder);
	if (!w->killed)
		w->survives = after(now(), SURVIVES_MS);
	dead = tree_kill(0, NULL, after(now(), DEATH_MS), &end->status, &left);
	if (!dead && !w->dog->running && !end->without_lock)
		hand_over(w);
	while (!dead && left.refused == 0) {
		if (!before(now(), w->survives))
			tell_survivors(w, w->dog->running);
		dead = tree_kill(0, NULL, w->survives, &end->status, &left);
	}
	w->survives = NEVER;
	w->abandoned = !dead;
	if (w->killed && !w->abandoned) {
		/* it was stuck, and we killed it: see look_at_guard() */
		end->ended = true;
		return;
	}
	end->outcome = OUTCOME_FAILED;
	(void)fail(&end->why, FAIL_INTERNAL, "the guard process was killed; %s",
		   w->abandoned ? "processes of another user are still running"
				: done(w, "the command was killed"));
	if (w->conf->kept)
		keeper_tell(w->conf->kept);
}

static void take_report(struct watch *w)
{
	struct ending *end = w->end;
	struct report r;

	guard_take(w->guard, &r);
	if (r.news == GUARD_REFUSED) {
		take_refusal(w, &r);
		return;
	}
	if (r.news == GUARD_STOPPED) {
		atomic_store(&w->guard->shared->stop_told, 0);
		relay_stopped(&w->relay);
		return;
	}
	if (r.news == GUARD_OVERDUE)
		lose_overdue(w);
	if (!w->ended)
		end->status = r.news == GUARD_LOST ? SIGKILL : r.value;
	w->ended = true;
	switch ((enum guard_news)r.news) {
	case GUARD_OVERDUE:
	case GUARD_ENDED:
		end->ended = true;
		command_ended(w, r.left);
		return;
	case GUARD_CANNOT_EXEC:
		end->outcome = OUTCOME_CANNOT_EXEC;
		break;
	case GUARD_CANNOT_FORK:
		end->outcome = OUTCOME_FAILED;
		errno = r.value;
		(void)fail_sys(&end->why, FAIL_INTERNAL,
			       "cannot start the command");
		break;
	case GUARD_CANNOT_ARM:
		end->outcome = OUTCOME_FAILED;
		errno = r.value;
		(void)deadman_fail(&end->why);
		break;
	case GUARD_TOO_LATE:
		end->outcome = OUTCOME_LOST;
		log_error("lost", "lease lost before the command could start: "
				  "this machine was suspended");
		break;
	case GUARD_REFUSED:
	case GUARD_STOPPED:
	case GUARD_LOST:
		inherit_tree(w);
		break;
	}
	w->done = true;
}

static void take_news(struct watch *w)
{
	char news = next_news(w->dog);

	if (is_loss(news))
		lose_to(w, news == NEWS_UNLOCKED);
}

static void renew_here(struct watch *w, struct pollfd *fds, int n,
		       struct instant limit)
{
	locks_poll(w->locks, fds, n, sooner(w->hand_over, limit));
	watchdog_publish(w->dog);
	look_at_stop(w);
	if (locks_lost(w->locks))
		lose_to(w, locks_unlocked(w->locks));
	if (!before(now(), w->hand_over))
		hand_over(w);
}

/* Whether we may stop because the command has. */
static bool may_stop(const struct watch *w)
{
	return !w->killed && !w->ended && !is_ending(w) && !w->conf->by_hand;
}

/* The user has pressed Ctrl-C for the third time. */
static void kill_at_once(struct watch *w)
{
	w->relay.insists = false;
	kill_tree(w);
	log_notice("interrupted",
		   "interrupted three times; killing the command");
}

/* When we must act, whatever becomes of the lease. */
static struct instant bound(const struct watch *w)
{
	return w->killed ? NEVER
			 : sooner(sooner(w->limit, w->stop_by), w->orphans_due);
}

/* The kernel wakes us then, should we be stopped. */
static void keep_bound(struct watch *w)
{
	struct instant next = bound(w);

	if (next.ms == w->relay.bound.ms)
		return;
	w->relay.bound = next;
	deadman_bound(w->deadman, next);
}

void watch_run(struct watch *w)
{
	w->start_due = after(now(), START_MS);
	if (!w->conf->kept && !w->conf->by_hand)
		relay_start(&w->relay);
	while (!w->done) {
		struct pollfd fds[] = {
			{.fd = w->guard->report, .events = POLLIN},
			{.fd = relay_fd(&w->relay), .events = POLLIN},
			{.fd = w->killed ? -1 : w->deadman->alarm,
			 .events = POLLIN},
			{.fd = w->killed || !w->dog->running ? -1
							     : w->dog->news[0],
			 .events = POLLIN},
		};
		struct instant limit =
			sooner(sooner(bound(w), sooner(w->survives, w->again)),
			       sooner(sooner(w->start_due, w->guard_due),
				      relay_due(&w->relay)));

		keep_bound(w);
		if (!w->dog->running && !w->end->without_lock)
			renew_here(w, fds, 3, limit);
		else if (poll(fds, 4, poll_ms(limit, now())) < 0)
			continue;
		look_at_start(w);
		look_at_guard(w);
		strike_again(w);
		if (!before(now(), w->survives))
			tell_survivors(w, true);
		look_at_limit(w);
		if (!w->killed && !before(now(), w->orphans_due))
			see_to_orphans(w);
		look_at_stop(w);
		/* read the signals before the ends that they may have caused */
		relay_step(&w->relay, fds[1].revents != 0, may_stop(w));
		if (w->relay.insists)
			kill_at_once(w);
		if (fds[0].revents) {
			take_report(w);
			continue;
		}
		if (fds[3].revents)
			take_news(w);
		if (fds[2].revents)
			look_at_lease(w);
	}
	relay_close(&w->relay);
	/* it had no time to do so, or did not expect to be ended */
	if (w->killed || w->asked_to_end || w->end->outcome == OUTCOME_FAILED)
		terminal_restore(&w->terminal);
}
