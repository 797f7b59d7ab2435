/* SPDX-License-Identifier: MIT */
/* The loop. Read supervise.h, inside.h and guard.h first. */
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/page.h"
#include "base/units.h"
#include "lock/core/timing.h"
#include "proc/deadman.h"
#include "proc/init.h"
#include "proc/process.h"
#include "proc/tree.h"
#include "run/describe.h"
#include "run/inside.h"

#define LONG_MS 1000
#define LINGER_MS 1
#define JOIN_MS 1500 /* the release itself gives up after 1 s */

struct supervisor {
	struct locks *locks;
	const struct hold_conf *conf;
	const struct signals *signals;
	struct ending *end;
	struct guard guard;
	struct deadman deadman;
	struct watchdog dog;
	struct watch watch;
	struct instant began, claimed;
	struct waiting waiting;
	int noted; /* attempts that the guard knows of */
	bool late; /* granted too late to start on, and asked again */
};

/* ---- acquiring ---- */

/* While nothing runs, a signal that would end a program ends the wait. */
static void signals_while_waiting(struct supervisor *s)
{
	struct arrival a;

	for (int i = 0; i < SIGNALS_TURN && signals_next(s->signals, &a); i++) {
		if (a.sig == SIGTSTP) {
			waiting_hide();
			signals_stop();
		}
		waiting_redraw(&s->waiting);
		if (!signal_ends(a.sig) || a.sig == SIGUSR1 || a.sig == SIGUSR2)
			continue;
		s->end->sig = a.sig;
		locks_release(s->locks, 0, NULL);
	}
}

/* For what all leases have in common. */
static const struct lease *any_lease(const struct supervisor *s)
{
	return &s->locks->client->lease;
}

static bool may_start(const struct supervisor *s)
{
	return locks_held(s->locks) && !locks_stopped(s->locks) &&
	       before(now(), timing_start(locks_credited_at(s->locks),
					  s->locks->ttl_ms));
}

/* Granted, but each answer is too old to start on. */
static void say_slow(struct supervisor *s)
{
	char ttl[32];

	(void)fail(&s->end->why, FAIL_UNAVAILABLE,
		   "the server answers too slowly for a lease of %s",
		   format_duration(s->locks->ttl_ms, ttl, sizeof(ttl)));
}

static void too_slow(struct supervisor *s)
{
	say_slow(s);
	locks_release(s->locks, 0, NULL);
}

static void hurry(struct supervisor *s)
{
	s->late = true;
	locks_hurry(s->locks);
}

static void list_grants(const struct locks *l, struct grants *g)
{
	for (g->n = 0; g->n < l->n; g->n++) {
		const struct client *d = &l->client[g->n];
		struct granted *to = &g->lock[g->n];

		memcpy(to->token, d->token, TOKEN_SIZE);
		to->joined = d->lease.nest == NEST_JOINED;
		to->slot = d->lease.slot;
		to->reads = lease_reads(&d->lease);
		to->fence = d->lease.fence;
	}
}

/* The guard knows by which tokens to give back. */
static void note_attempt(struct supervisor *s)
{
	struct grants asked = {0};

	if (s->noted == s->locks->attempts)
		return;
	s->noted = s->locks->attempts;
	list_grants(s->locks, &asked);
	guard_note(&s->guard, &asked);
}

/* Held, but somebody wants the lock by force: do not start. */
static void give_way(struct supervisor *s, const struct client *stopped)
{
	char *by = s->end->by;

	(void)describe_asker(&stopped->sight, by, sizeof(s->end->by));
	locks_release(s->locks, 0, NULL);
	log_error("forced", "%s by %s; nothing was run",
		  stopped->sight.replaces ? "replaced"
					  : "asked to stop (force-release)",
		  by);
}

/* Nobody wants the lock any more: the process that asked for it is gone, or the
 * one that it was for. */
static void give_up(struct supervisor *s)
{
	s->end->sig = SIGHUP;
	locks_release(s->locks, 0, NULL);
}

/* The holder is this run, or one around it. */
static bool is_held_by_us(const struct supervisor *s)
{
	const struct client *lead = &s->locks->client[s->locks->lead];

	return describe_is_own(lead) || describe_is_around(lead);
}

/* A wait for a lock that we hold ourselves would not end. With several
 * servers, the first answers may not be those of most. */
static bool waits_for_itself(const struct supervisor *s)
{
	return is_held_by_us(s) && (any_lease(s)->conf.nodes == 1 ||
				    !before(now(), after(s->began, PACE_MS)));
}

/* Waits until the command may start, or the locks are over. */
static void acquire(struct supervisor *s)
{
	struct locks *l = s->locks;

	waiting_init(&s->waiting, l, s->began);
	while (!may_start(s) && !locks_over(l)) {
		const struct keeper *kept = s->end->sig ? NULL : s->conf->kept;
		struct pollfd fds[] = {
			{.fd = s->signals->fd, .events = POLLIN},
			{.fd = s->guard.report, .events = POLLIN},
			{.fd = kept ? kept->line : -1},
			{.fd = kept ? kept->fd : -1, .events = POLLIN},
		};

		if (locks_held(l) && locks_stopped(l))
			give_way(s, locks_stopped(l));
		else if (locks_held(l) && before(now(), l->give_up))
			hurry(s);
		else if (locks_held(l))
			too_slow(s);
		if (any_lease(s)->state == LEASE_WAITING)
			s->late = false;
		if (locks_lost(l))
			locks_again(l);
		if (locks_over(l))
			break;
		locks_poll(l, fds, 4, waiting_next(&s->waiting));
		note_attempt(s);
		if (fds[0].revents)
			signals_while_waiting(s);
		if (fds[1].revents && s->end->why.kind == FAIL_NONE) {
			(void)fail(&s->end->why, FAIL_INTERNAL,
				   "the guard process was killed");
			locks_release(l, 0, NULL);
		}
		if (fds[2].revents || fds[3].revents)
			give_up(s);
		if (!locks_held(l) && !locks_over(l) && waits_for_itself(s))
			locks_release(l, 0, NULL);
		if (!may_start(s) && !locks_over(l))
			waiting_tell(&s->waiting);
	}
	s->claimed = now();
	s->end->waited_ms = between(s->began, s->claimed);
	waiting_end(&s->waiting, s->end->waited_ms, locks_held(l));
}

static enum outcome outcome_of(const struct supervisor *s)
{
	static const enum outcome outcomes[] = {
		[END_NONE] = OUTCOME_BUSY,
		[END_RELEASED] = OUTCOME_BUSY,
		[END_BUSY] = OUTCOME_BUSY,
		[END_FULL] = OUTCOME_FULL,
		[END_SUPERSEDED] = OUTCOME_SUPERSEDED,
		[END_DONE] = OUTCOME_ALREADY,
		[END_OLDER] = OUTCOME_OLDER,
		[END_INSIDE] = OUTCOME_INSIDE,
		[END_UNAVAILABLE] = OUTCOME_UNAVAILABLE,
		[END_REFUSED] = OUTCOME_REFUSED,
	};

	if (s->end->why.kind != FAIL_NONE)
		return OUTCOME_FAILED;
	if (s->end->sig != 0)
		return OUTCOME_GAVE_UP;
	if (s->end->by[0] != '\0')
		return OUTCOME_FORCED;
	if (outcomes[locks_end(s->locks)] == OUTCOME_BUSY && is_held_by_us(s))
		return OUTCOME_OWN;
	return outcomes[locks_end(s->locks)];
}

static void not_acquired(struct supervisor *s)
{
	struct ending *end = s->end;

	end->outcome = outcome_of(s);
	/* the time for the wait was over before the next answer */
	if (end->outcome == OUTCOME_UNAVAILABLE && s->late)
		say_slow(s);
	else if (end->outcome == OUTCOME_UNAVAILABLE ||
		 end->outcome == OUTCOME_REFUSED)
		end->why = *client_why(&s->locks->client[s->locks->lead]);
}

/* Our copies must not keep the command's pipes open: `redlock -- sh -c 'exec
 * >&-; ...' | cat` would not end. */
static void let_go_of_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup3(null, STDIN_FILENO, O_CLOEXEC);
	(void)dup3(null, STDOUT_FILENO, O_CLOEXEC);
	close(null);
}

/* The argument of the release: see lease_end(). */
static unsigned int how_it_ended(const struct supervisor *s)
{
	const struct ending *end = s->end;
	bool any = any_lease(s)->conf.once_any;
	bool begun = end->given.n > 0 && end->outcome != OUTCOME_CANNOT_EXEC;
	unsigned int how = any && begun ? HOW_DONE : 0;

	if (end->outcome == OUTCOME_MAX_HOLD ||
	    (end->outcome == OUTCOME_FAILED && end->given.n > 0))
		return how | HOW_RAN;
	if (end->outcome != OUTCOME_RAN)
		return how;
	return end->status == 0 ? HOW_RAN | HOW_DONE : how | HOW_RAN;
}

/* A run that neither waited nor held for long most likely has no waiters. */
static bool was_short(const struct supervisor *s)
{
	return s->locks->n == 1 && any_lease(s)->node[0].line.ticket == 0 &&
	       s->end->held_ms < LONG_MS;
}

/* `stuck`: the watchdog thread hangs, for example on a password file of a file
 * server that does not answer. Its data must not be read then, except what
 * never changes. */
static void tell_kept(const struct supervisor *s, bool stuck, int64_t on_ms)
{
	unsigned int how = how_it_ended(s);
	const struct fail *why =
		stuck ? NULL : &s->locks->client[s->locks->lead].why;
	const struct lease_conf *conf = &s->locks->client[0].lease.conf;
	bool known = why && why->kind != FAIL_NONE;
	int64_t most = conf->ttl_ms; /* NOLINT(*.NullDereference): a member */
	char left[32];

	if (how & HOW_RAN && conf->min_hold_ms > most)
		most = conf->min_hold_ms;
	log_error("not-released", "the release was not confirmed%s%s; %s %s%s",
		  known ? ": " : "", known ? why->text : "",
		  on_ms > 0 ? "its guard goes on releasing for up to"
			    : "the lock expires within",
		  format_duration(on_ms > 0 ? on_ms : most, left, sizeof(left)),
		  !(how & HOW_DONE) ? ""
		  : conf->once_ms > s->end->held_ms
			  ? ", and --once-per may not know of this run"
		  : conf->label ? ", and --once-for may not know of this run"
		  : conf->revision > 0
			  ? ", and --revision may not know of this run"
			  : "");
}

/* A person or script that heard of the loss may go on for a while; the lease
 * allows for that. Until then, neither release nor renew. false: stuck. */
static bool outlast(struct supervisor *s)
{
	const struct ending *end = s->end;
	int64_t ttl = s->locks->ttl_ms;

	if (!s->conf->kept || end->given.n == 0 || end->taken ||
	    end->outcome == OUTCOME_RAN || end->outcome == OUTCOME_UNLOCKED)
		return true;
	if (s->dog.running) {
		watchdog_leave(&s->dog);
		if (!watchdog_join(&s->dog, after(now(), JOIN_MS)))
			return false;
	}
	(void)keeper_gone(s->conf->kept,
			  after(watchdog_credited_at(&s->dog), ttl));
	return true;
}

/* The lease stays with the process it was given to. */
static bool stays(const struct supervisor *s)
{
	const struct ending *end = s->end;

	return s->conf->leave && end->given.n > 0 &&
	       end->outcome == OUTCOME_RAN && end->status == 0;
}

/* The release was not confirmed. A process of its own goes on with it, until
 * the lease is over. Returns how long that may take; 0: there is none. */
static int64_t go_on_releasing(struct supervisor *s)
{
	int64_t left_ms;
	pid_t pid;

	if (init_is_above() || !locks_go_on(s->locks, &left_ms))
		return 0;
	pid = process_leave();
	if (pid == 0) {
		locks_finish(s->locks);
		_exit(0);
	}
	return pid > 0 ? left_ms : 0;
}

static void give_back(struct supervisor *s)
{
	unsigned int how = how_it_ended(s);
	bool stuck = false, brief = was_short(s);
	int64_t on_ms = 0;
	char held[32];
	struct history_entry entry, *its = NULL;

	if (s->end->given.n > 0) {
		its = &entry;
		s->conf->entry(s->conf->teller, s->end, its);
	}
	/* nothing is left to be killed */
	deadman_set(&s->deadman, NEVER, NEVER);
	if (!outlast(s) || stays(s) || s->watch.abandoned) {
		guard_close(&s->guard);
		return;
	}
	if (s->dog.running) {
		watchdog_release(&s->dog, how, its);
	} else {
		locks_may_block(s->locks, !s->end->without_lock);
		locks_release(s->locks, how, its);
		locks_send(s->locks);
	}
	if (brief)
		guard_close(&s->guard);
	if (s->dog.running)
		stuck = !watchdog_join(&s->dog, after(now(), JOIN_MS));
	while (!stuck && !locks_over(s->locks))
		locks_poll(s->locks, NULL, 0, NEVER);
	/* A waiter starts now, perhaps on this machine. If our two processes
	 * ended at the same time, they would take a processor from it: up to
	 * 0.2 ms, measured with two processors. */
	if (!stuck && locks_passed_on(s->locks))
		(void)poll(NULL, 0, LINGER_MS);
	guard_close(&s->guard);
	log_attach();
	if (!stuck && !locks_freed(s->locks))
		on_ms = go_on_releasing(s);
	if (s->end->outcome == OUTCOME_LOST || s->end->given.n == 0)
		return;
	if (stuck || !locks_freed(s->locks))
		tell_kept(s, stuck, on_ms);
	else
		log_detail(
			"released", "released, held for %s",
			format_duration(s->end->held_ms, held, sizeof(held)));
}

static void warn_if_short(const struct supervisor *s)
{
	const struct lease *l = any_lease(s);
	int64_t least = 0;
	char ttl[32], rtt[32], enough[32];

	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].link.srtt_ms * RTTS_PER_LEASE > least)
			least = l->node[i].link.srtt_ms * RTTS_PER_LEASE;
	if (l->conf.ttl_ms >= least)
		return;
	log_notice("short-lease",
		   "a lease of %s is short for a server that takes %s to "
		   "answer; -t %s would be enough",
		   format_duration(l->conf.ttl_ms, ttl, sizeof(ttl)),
		   format_duration(least / RTTS_PER_LEASE, rtt, sizeof(rtt)),
		   format_duration(least, enough, sizeof(enough)));
}

static void run_command(struct supervisor *s)
{
	int64_t ttl = s->locks->ttl_ms;
	struct instant credited_at = NEVER;

	s->end->outcome = OUTCOME_RAN;
	s->watch = (struct watch){.locks = s->locks,
				  .conf = s->conf,
				  .end = s->end,
				  .guard = &s->guard,
				  .deadman = &s->deadman,
				  .dog = &s->dog,
				  .hand_over = NEVER,
				  .relay = {.signals = s->signals,
					    .guard = &s->guard,
					    .dog = &s->dog,
					    .ttl_ms = ttl,
					    .end = s->end,
					    .interrupted = {LONG_AGO, LONG_AGO},
					    .mate_due = NEVER,
					    .apart_due = NEVER,
					    .bound = NEVER,
					    .stopped = NEVER},
				  .limit = NEVER,
				  .stop_by = NEVER,
				  .survives = NEVER,
				  .guard_due = NEVER,
				  .again = NEVER,
				  .orphans_due = NEVER};
	locks_use(s->locks);
	if (!s->end->without_lock) {
		list_grants(s->locks, &s->end->given);
		credited_at = locks_credited_at(s->locks);
		s->watch.hand_over = timing_hand_over(credited_at, ttl);
		watchdog_init(&s->dog, s->locks, &s->deadman, s->conf->grace_ms,
			      s->guard.pid);
		watchdog_publish(&s->dog);
		warn_if_short(s);
	}
	if (s->conf->max_hold_ms > 0)
		s->watch.limit = after(now(), s->conf->max_hold_ms);
	terminal_save(&s->watch.terminal);
	log_detach();
	signals_for_command(s->signals);
	guard_go(&s->guard, &s->end->given, timing_kill(credited_at, ttl));
	let_go_of_pipes();
	if (s->conf->kept) {
		/* the guard's child hands out; with a low ulimit -n, we need
		 * the number */
		close(s->conf->kept->line);
		keeper_quiet(s->conf->kept);
	}
	watch_run(&s->watch);
	s->end->held_ms = between(s->claimed, now());
}

/* Without /proc we could not find the processes to kill. */
static int check_proc(struct fail *why)
{
	const char *trouble;

	if (tree_open() == 0)
		return 0;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return fail_sys(why, FAIL_INTERNAL, "cannot open /proc");
	trouble = tree_trouble();
	if (!trouble)
		trouble = "it cannot be opened";
	return fail(why, FAIL_INTERNAL,
		    "/proc does not show the children of a process: %s; "
		    "without that the command could outlive its lease",
		    trouble);
}

void supervise(struct locks *l, const struct hold_conf *conf,
	       struct order *order, const struct signals *signals,
	       struct ending *end)
{
	/* static: a stuck watchdog thread outlives this function. On one page,
	 * so that fork() copies one; most of `shut` is never touched */
	static struct {
		PAGE_ALIGNED struct supervisor s;
		int shut[LOCKS_MAX * CLIENT_SOCKETS_MAX + 1];
	} own;
	struct supervisor *s = &own.s;

	*s = (struct supervisor){.locks = l,
				 .conf = conf,
				 .signals = signals,
				 .end = end,
				 .guard = GUARD_NONE,
				 .deadman = DEADMAN_NONE,
				 .began = now()};

	*end = (struct ending){.outcome = OUTCOME_FAILED};
	sigemptyset(&end->sigs);
	tree_adopt(true);
	locks_send(l);
	/* while the first reply is awaited */
	order->shut = own.shut;
	for (int i = 0; i < l->n; i++)
		order->n_shut +=
			client_sockets(&l->client[i], own.shut + order->n_shut);
	own.shut[order->n_shut++] = signals->fd;
	if (check_proc(&end->why) == 0 &&
	    guard_start(&s->guard, order, &end->why) == 0 &&
	    deadman_make(&s->deadman, &s->guard.shared->deadline_ms,
			 s->guard.alarm, timing_last(l->ttl_ms),
			 &end->why) == 0) {
		acquire(s);
		if (!locks_held(l))
			not_acquired(s);
		/* a server that answered has said that the lock is held */
		end->without_lock = conf->run_anyway &&
				    end->outcome == OUTCOME_UNAVAILABLE &&
				    !l->client[l->lead].refused &&
				    !lease_reached(&l->client[l->lead].lease);
		if (end->without_lock)
			log_error("without-lock",
				  "%s; running WITHOUT the lock",
				  end->why.text);
		if (locks_held(l) || end->without_lock)
			run_command(s);
	}
	give_back(s);
	log_attach();
}
