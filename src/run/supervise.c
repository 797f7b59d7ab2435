/* SPDX-License-Identifier: MIT */
/* The loop. Read supervise.h, guard.h and watchdog.h first. */
#include "run/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "lock/timing.h"
#include "run/deadman.h"
#include "run/tree.h"
#include "run/waiting.h"
#include "run/watchdog.h"

#define RTTS_PER_LEASE 20
#define INT_TWICE_MS 2000 /* a second Ctrl-C within this kills */
#define BIRTH_MS 2        /* between looks for a command that was not born */
#define UNDEAD_MS 1000
#define RESUME_MS 5 /* between looks for a renewal after a stop */
#define LONG_MS 1000
#define LINGER_MS 1  /* out of the next one's way */
#define JOIN_MS 1500 /* the release itself gives up after 1 s */

struct supervisor {
	struct drive *drive;
	const struct supervise_conf *conf;
	const struct signals *signals;
	struct ending *end;
	struct guard guard;
	struct deadman deadman;
	struct watchdog dog;
	struct instant began, claimed, interrupted, hand_over;
	struct waiting waiting;
	struct instant undead; /* when to say that the tree does not die */
	int unborn;            /* a signal for a command that is not born yet */
	bool asked_to_end;     /* by us: TERM was sent because of the lease */
	bool killed;           /* the guard was told to */
	bool ended;            /* the command was; its status is known */
	bool done;
};

/* ---- acquiring ---- */

/* While nothing runs, a signal that would end a program ends the waiting. */
static void signals_while_waiting(struct supervisor *s)
{
	struct arrival a;

	while (signals_next(s->signals, &a)) {
		if (a.sig == SIGTSTP) {
			waiting_hide();
			(void)raise(SIGSTOP);
		}
		waiting_redraw(&s->waiting);
		if (!signal_ends(a.sig) || a.sig == SIGUSR1 || a.sig == SIGUSR2)
			continue;
		s->end->sig = a.sig;
		lease_release(&s->drive->lease, now());
	}
}

static bool may_start(const struct lease *l)
{
	return l->state == LEASE_HELD &&
	       before(now(), timing_start(lease_stamp(l), l->conf.ttl_ms));
}

/* Granted, but each answer is too old to start on. */
static void too_slow(struct supervisor *s)
{
	struct lease *l = &s->drive->lease;
	char ttl[32];

	(void)fail(&s->end->why, FAIL_UNAVAILABLE,
		   "the server answers too slowly for a lease of %s",
		   format_duration(l->conf.ttl_ms, ttl, sizeof(ttl)));
	lease_release(l, now());
}

/* Until the lease may be started on, or is over. */
static void acquire(struct supervisor *s)
{
	struct lease *l = &s->drive->lease;

	waiting_init(&s->waiting, s->drive, s->began);
	while (!may_start(l) && l->state != LEASE_OVER) {
		struct pollfd fds[] = {
			{.fd = s->signals->fd, .events = POLLIN},
			{.fd = s->guard.report, .events = POLLIN},
		};

		if (l->state == LEASE_HELD && before(now(), l->give_up))
			lease_hurry(l, now());
		else if (l->state == LEASE_HELD)
			too_slow(s);
		if (l->state == LEASE_LOST)
			lease_again(l, now());
		if (l->state == LEASE_OVER)
			break;
		drive_poll(s->drive, fds, 2, waiting_next(&s->waiting));
		if (fds[0].revents)
			signals_while_waiting(s);
		if (fds[1].revents && s->end->why.kind == FAIL_NONE) {
			(void)fail(&s->end->why, FAIL_INTERNAL,
				   "the guard process was killed");
			lease_release(l, now());
		}
		if (!may_start(l) && l->state != LEASE_OVER)
			waiting_tell(&s->waiting);
	}
	s->claimed = now();
	s->end->waited_ms = between(s->began, s->claimed);
	waiting_end(&s->waiting, s->end->waited_ms, l->state == LEASE_HELD);
}

static enum outcome outcome_of(const struct supervisor *s)
{
	if (s->end->why.kind != FAIL_NONE)
		return OUTCOME_FAILED;
	if (s->end->sig != 0)
		return OUTCOME_GAVE_UP;
	switch (s->drive->lease.end) {
	case END_FULL:
		return OUTCOME_FULL;
	case END_SUPERSEDED:
		return OUTCOME_SUPERSEDED;
	case END_UNAVAILABLE:
		return OUTCOME_UNAVAILABLE;
	case END_REFUSED:
		return OUTCOME_REFUSED;
	case END_NONE:
	case END_RELEASED:
	case END_BUSY:
		break;
	}
	return OUTCOME_BUSY;
}

static void not_acquired(struct supervisor *s)
{
	struct ending *end = s->end;

	end->outcome = outcome_of(s);
	if (end->outcome == OUTCOME_UNAVAILABLE ||
	    end->outcome == OUTCOME_REFUSED)
		end->why = *drive_why(s->drive);
}

/* ---- while the command runs ---- */

static void kill_tree(struct supervisor *s)
{
	s->killed = true;
	s->undead = after(now(), UNDEAD_MS);
	guard_kill(&s->guard);
}

/* Another user's process, or one that hangs in the kernel. */
static void tell_undead(struct supervisor *s)
{
	s->undead = NEVER;
	log_error("undead",
		  "the command was killed and does not die (see ps -ejH, "
		  "children of %d); the lock is not given back before",
		  (int)s->guard.pid);
}

static void lose(struct supervisor *s, const char *reason)
{
	if (s->killed)
		return;
	s->end->outcome = OUTCOME_LOST;
	log_error("lost", "lease lost: %s; killing the command", reason);
	kill_tree(s);
}

/* The alarm went off: has the lease really been without renewal so long? */
static void look_at_lease(struct supervisor *s)
{
	int64_t ttl = s->drive->lease.conf.ttl_ms;
	struct instant stamp = watchdog_stamp(&s->dog), at = now();
	struct instant kill = timing_kill(stamp, ttl);
	struct instant term = timing_term(stamp, ttl, s->conf->grace_ms);
	char age[32], text[96];
	uint64_t times;

	(void)!read(s->deadman.alarm, &times, sizeof(times));
	(void)format_duration(between(stamp, at), age, sizeof(age));
	if (!before(at, kill)) {
		(void)snprintf(text, sizeof(text), "not renewed for %s", age);
		lose(s, text);
		return;
	}
	if (before(at, term)) {
		alarm_set(&s->deadman, term);
		return;
	}
	if (!s->asked_to_end) {
		s->asked_to_end = true;
		log_error("ending",
			  "not renewed for %s; asking the command to end "
			  "(SIGTERM), it is killed when %s is full",
			  age,
			  format_duration(ttl * 80 / 100, text, sizeof(text)));
		(void)tree_signal(s->guard.pid, SIGTERM);
		(void)tree_signal(s->guard.pid, SIGCONT);
	}
	alarm_set(&s->deadman, kill);
}

/* From the terminal the whole group stops, without our doing. Stopped alone,
 * we stop the command first, and it goes on (with the SIGCONT that woke us)
 * only when an overdue renewal has succeeded. The deadman bounds all this. */
static void stop_with_command(struct supervisor *s, bool from_terminal)
{
	int64_t ttl = s->drive->lease.conf.ttl_ms;
	struct instant stamp = watchdog_stamp(&s->dog);

	if (!from_terminal)
		(void)tree_signal(s->guard.pid, SIGTSTP);
	(void)raise(SIGSTOP);
	while (!from_terminal && s->dog.running &&
	       watchdog_stamp(&s->dog).ms == stamp.ms &&
	       !before(now(), timing_renew(stamp, ttl)) &&
	       before(now(), timing_kill(stamp, ttl)))
		(void)poll(NULL, 0, RESUME_MS);
}

/* Before the command's birth there is nobody to take a signal: it waits. */
static void pass_on(struct supervisor *s, int sig)
{
	s->unborn = tree_signal(s->guard.pid, sig) == 0 ? sig : 0;
}

static void forward(struct supervisor *s, const struct arrival *a)
{
	struct instant at = now();

	log_detail("signal", "signal %d", a->sig);
	if (a->sig == SIGWINCH) /* the terminal tells the command, too */
		return;
	if (a->sig == SIGTSTP) {
		stop_with_command(s, a->from_terminal);
		return;
	}
	/* the terminal's own reached the command as well: it is in our group,
	 * if it is born */
	if (!a->from_terminal || tree_signal(s->guard.pid, 0) == 0)
		pass_on(s, a->sig);
	if (!signal_ends(a->sig))
		return;
	s->end->sig = a->sig;
	if (a->sig != SIGINT)
		return;
	if (before(at, after(s->interrupted, INT_TWICE_MS))) {
		log_notice("interrupted",
			   "interrupted twice; killing the command");
		kill_tree(s);
	}
	s->interrupted = at;
}

static void take_report(struct supervisor *s)
{
	struct ending *end = s->end;
	struct report r;

	guard_take(&s->guard, &r);
	if (!s->ended)
		end->status = r.value;
	s->ended = true;
	s->done = !r.left || !(s->asked_to_end || s->killed);
	switch ((enum guard_news)r.news) {
	case GUARD_ENDED:
		if (s->asked_to_end && end->outcome != OUTCOME_LOST) {
			end->outcome = OUTCOME_LOST;
			log_error("lost",
				  "lease lost: the command was asked to end, "
				  "and has ended");
		}
		if (!s->done && !s->killed)
			kill_tree(s);
		else if (s->done && r.left)
			log_notice("orphans",
				   "the command left processes running; the "
				   "lock does not cover them");
		break;
	case GUARD_CANNOT_EXEC:
		end->outcome = OUTCOME_CANNOT_EXEC;
		break;
	case GUARD_TOO_LATE:
		end->outcome = OUTCOME_LOST;
		log_error("lost",
			  "lease lost before the command could start: this "
			  "machine stood still");
		break;
	case GUARD_LOST:
		/* its orphans are ours now */
		tree_kill(0, &end->status);
		s->done = true;
		end->outcome = OUTCOME_FAILED;
		(void)fail(&end->why, FAIL_INTERNAL,
			   "the guard process was killed; the command was "
			   "ended with it");
		break;
	}
}

/* When the first renewal is near, the watchdog takes over: a command that ends
 * before costs no thread. Should no thread be had, this loop renews. */
static void hand_over(struct supervisor *s)
{
	struct fail why;

	s->hand_over = NEVER;
	if (watchdog_start(&s->dog, &why) < 0)
		log_detail("no-thread", "%s; renewing without it", why.text);
}

static void renew_here(struct supervisor *s, struct pollfd *fds, int n,
		       struct instant limit)
{
	drive_poll(s->drive, fds, n, sooner(s->hand_over, limit));
	watchdog_publish(&s->dog);
	if (s->drive->lease.state == LEASE_LOST)
		lose(s, "the server says that it is no longer ours");
	if (!before(now(), s->hand_over))
		hand_over(s);
}

static void watch(struct supervisor *s)
{
	struct arrival late;

	while (!s->done) {
		struct pollfd fds[] = {
			{.fd = s->guard.report, .events = POLLIN},
			{.fd = s->signals->fd, .events = POLLIN},
			{.fd = s->killed ? -1 : s->deadman.alarm,
			 .events = POLLIN},
			{.fd = s->killed || !s->dog.running ? -1
							    : s->dog.news[0],
			 .events = POLLIN},
		};
		struct instant limit =
			s->unborn ? after(now(), BIRTH_MS) : s->undead;
		struct arrival a;

		if (!s->dog.running && !s->end->without_lock)
			renew_here(s, fds, 3, limit);
		else if (poll(fds, 4, poll_ms(limit, now())) < 0)
			continue;
		if (!before(now(), s->undead))
			tell_undead(s);
		if (s->unborn)
			pass_on(s, s->unborn);
		if (fds[0].revents) {
			take_report(s);
			continue;
		}
		while (fds[1].revents && signals_next(s->signals, &a))
			forward(s, &a);
		if (fds[3].revents)
			lose(s, "the server says that it is no longer ours");
		if (fds[2].revents)
			look_at_lease(s);
	}
	/* a Ctrl-C may have ended the command before we looked */
	while (signals_next(s->signals, &late))
		if (signal_ends(late.sig))
			s->end->sig = late.sig;
}

/* The writers and readers of the command's pipes are its own affair: while we
 * hold copies, `redlock -- sh -c 'exec >&-; ...' | cat` would not end. */
static void let_go_of_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup3(null, STDIN_FILENO, O_CLOEXEC);
	(void)dup3(null, STDOUT_FILENO, O_CLOEXEC);
	close(null);
}

static void give_back(struct supervisor *s)
{
	struct lease *l = &s->drive->lease;
	bool stuck = false;
	char left[32];

	deadman_set(&s->deadman, NEVER); /* nothing is left to be killed */
	if (s->dog.running) {
		watchdog_release(&s->dog);
	} else {
		lease_release(l, now());
		drive_send(s->drive);
	}
	/* who neither waited nor held for long has no waiters, most likely */
	if (l->node[0].ticket == 0 && s->end->held_ms < LONG_MS)
		guard_close(&s->guard);
	if (s->dog.running)
		stuck = !watchdog_join(&s->dog, after(now(), JOIN_MS));
	while (!stuck && l->state != LEASE_OVER)
		drive_poll(s->drive, NULL, 0, NEVER);
	/* A waiter starts now, on this machine perhaps. Two processes of ours
	 * that end at the same time would take a processor from it just then:
	 * up to a fifth of a millisecond, measured with two processors. */
	if (!stuck && l->passed_on)
		(void)poll(NULL, 0, LINGER_MS);
	guard_close(&s->guard);
	if (s->end->outcome != OUTCOME_LOST && s->end->fence > 0 &&
	    (stuck || !l->freed))
		log_error("not-released",
			  "the release was not confirmed%s%s; the lock ends "
			  "by itself within %s",
			  s->drive->why.kind != FAIL_NONE ? ": " : "",
			  s->drive->why.kind != FAIL_NONE ? s->drive->why.text
							  : "",
			  format_duration(l->conf.ttl_ms, left, sizeof(left)));
}

/* A lease of a few round trips is lost at the first hiccup. */
static void warn_if_short(const struct supervisor *s)
{
	const struct lease *l = &s->drive->lease;
	int64_t least = 0;
	char ttl[32], rtt[32], enough[32];

	for (int i = 0; i < l->conf.nodes; i++)
		if (l->node[i].srtt_ms * RTTS_PER_LEASE > least)
			least = l->node[i].srtt_ms * RTTS_PER_LEASE;
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
	const struct lease *l = &s->drive->lease;
	struct instant stamp = NEVER;

	s->end->outcome = OUTCOME_RAN;
	if (!s->end->without_lock) {
		s->end->fence = l->fence;
		stamp = lease_stamp(l);
		s->hand_over = timing_hand_over(stamp, l->conf.ttl_ms);
		watchdog_init(&s->dog, s->drive, &s->deadman, s->conf->grace_ms,
			      s->guard.pid);
		watchdog_publish(&s->dog);
		warn_if_short(s);
	}
	guard_go(&s->guard, s->end->fence, timing_kill(stamp, l->conf.ttl_ms));
	let_go_of_pipes();
	watch(s);
	s->end->held_ms = between(s->claimed, now());
}

void supervise(struct drive *d, const struct supervise_conf *conf,
	       struct order *order, const struct signals *signals,
	       struct ending *end)
{
	/* static: a watchdog that is stuck outlives this function */
	static struct supervisor s;
	int shut[DRIVE_FDS_MAX + 1];

	s = (struct supervisor){.drive = d,
				.conf = conf,
				.signals = signals,
				.end = end,
				.guard = GUARD_NONE,
				.deadman = DEADMAN_NONE,
				.began = now(),
				.undead = NEVER,
				.interrupted = {INT64_MIN / 2}};

	*end = (struct ending){.outcome = OUTCOME_FAILED};
	tree_adopt(true);
	drive_send(d);
	/* while the first reply is awaited */
	order->shut = shut;
	order->n_shut = drive_sockets(d, shut);
	shut[order->n_shut++] = signals->fd;
	if (guard_start(&s.guard, order, &end->why) == 0 &&
	    deadman_make(&s.deadman, &end->why) == 0) {
		acquire(&s);
		if (d->lease.state != LEASE_HELD)
			not_acquired(&s);
		/* who has answered once has said that it is held */
		end->without_lock = conf->run_anyway &&
				    end->outcome == OUTCOME_UNAVAILABLE &&
				    !lease_reached(&d->lease);
		if (end->without_lock)
			log_error("without-lock",
				  "%s; running WITHOUT the lock",
				  end->why.text);
		if (d->lease.state == LEASE_HELD || end->without_lock)
			run_command(&s);
	}
	give_back(&s);
}
