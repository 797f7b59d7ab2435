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
#include "run/watchdog.h"

#define TELL_MS 100          /* shorter waits are nobody's business */
#define TELL_SILENCE_MS 1000 /* nor is a server that comes back at once */
#define TELL_GRANT_MS 1000
#define RTTS_PER_LEASE 20
#define INT_TWICE_MS 2000 /* a second Ctrl-C within this kills */
#define BIRTH_MS 2        /* between looks for a command that was not born */
#define UNDEAD_MS 1000
#define RESUME_MS 5  /* between looks for a renewal after a stop */
#define JOIN_MS 1500 /* the release itself gives up after 1 s */

enum told { TOLD_NOTHING, TOLD_HOLDER, TOLD_SILENCE };

struct supervisor {
	struct drive *drive;
	const struct supervise_conf *conf;
	const struct signals *signals;
	struct ending *end;
	struct guard guard;
	struct deadman deadman;
	struct watchdog dog;
	struct instant began, claimed, interrupted, hand_over;
	struct instant silent; /* waiting: the server is, since */
	struct instant undead; /* when to say that the tree does not die */
	int unborn;            /* a signal for a command that is not born yet */
	bool asked_to_end;     /* by us: TERM was sent because of the lease */
	bool killed;           /* the guard was told to */
	bool ended;            /* the command was; its status is known */
	bool done;
};

const char *describe_holder(const struct sight *s, char *buf, size_t size)
{
	char held[32] = "", left[32];
	size_t used;

	if (!s->seen) {
		(void)snprintf(buf, size, "an unknown holder");
		return buf;
	}
	if (!s->foreign && s->about[ABOUT_HOST][0] == '\0')
		(void)snprintf(buf, size,
			       "a holder that does not say who it is");
	else if (s->type[0] != '\0')
		(void)snprintf(buf, size, "another program (its lock is a %s)",
			       s->type);
	else if (s->foreign)
		(void)snprintf(buf, size, "another program (token %s)",
			       s->token);
	else
		(void)snprintf(buf, size, "%s (pid %s, user %s%s%s%s%s)",
			       s->about[ABOUT_HOST], s->about[ABOUT_PID],
			       s->about[ABOUT_USER],
			       s->about[ABOUT_COMMAND][0] ? ", " : "",
			       s->about[ABOUT_COMMAND],
			       s->about[ABOUT_REASON][0] ? ": " : "",
			       s->about[ABOUT_REASON]);
	used = strlen(buf);
	if (s->since > 0 && wall_seconds() >= s->since)
		(void)format_duration((wall_seconds() - s->since) * 1000, held,
				      sizeof(held));
	if (s->pttl_ms < 0)
		(void)snprintf(left, sizeof(left), "without expiry");
	else
		(void)format_duration(s->pttl_ms, left, sizeof(left));
	(void)snprintf(buf + used, size - used, "%s%s, %s%s",
		       held[0] ? ", held for " : "", held,
		       s->pttl_ms < 0 ? "" : "lease left ", left);
	return buf;
}

/* ---- acquiring ---- */

static void tell_waiting(struct supervisor *s, enum told *told)
{
	const struct lease *l = &s->drive->lease;
	struct instant at = now();
	char who[640];

	if (l->state != LEASE_WAITING)
		return;
	if (lease_answered(l))
		s->silent = NEVER;
	else if (s->silent.ms == NEVER.ms)
		s->silent = *told == TOLD_NOTHING ? s->began : at;
	if (s->silent.ms == NEVER.ms && *told != TOLD_HOLDER &&
	    s->drive->sight.seen && !before(at, after(s->began, TELL_MS))) {
		log_notice("%s: %swaiting for %s", s->drive->shown_key,
			   *told == TOLD_SILENCE ? "the server answers again; "
						 : "",
			   describe_holder(&s->drive->sight, who, sizeof(who)));
		*told = TOLD_HOLDER;
	}
	if (s->silent.ms != NEVER.ms && *told != TOLD_SILENCE &&
	    !before(at, after(s->silent, TELL_SILENCE_MS))) {
		log_notice("%s: waiting: %s", s->drive->shown_key,
			   drive_why(s->drive)->text);
		*told = TOLD_SILENCE;
	}
}

/* While nothing runs, a signal that would end a program ends the waiting. */
static void signals_while_waiting(struct supervisor *s)
{
	struct arrival a;

	while (signals_next(s->signals, &a)) {
		if (a.sig == SIGTSTP) {
			(void)raise(SIGSTOP);
			continue;
		}
		if (a.sig == SIGCONT || a.sig == SIGUSR1 || a.sig == SIGUSR2)
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

/* To wake up for: a moment when something may have to be said. */
static struct instant next_tell(const struct supervisor *s)
{
	struct instant at = now();

	if (before(at, after(s->began, TELL_MS)))
		return after(s->began, TELL_MS);
	if (before(at, after(s->began, TELL_SILENCE_MS)))
		return after(s->began, TELL_SILENCE_MS);
	return NEVER;
}

/* Granted, but each answer is too old to start on. */
static void too_slow(struct supervisor *s)
{
	struct lease *l = &s->drive->lease;
	char ttl[32];

	(void)fail(&s->end->why, FAIL_UNAVAILABLE,
		   "%s: the server answers too slowly for a lease of %s",
		   s->drive->shown_key,
		   format_duration(l->conf.ttl_ms, ttl, sizeof(ttl)));
	lease_release(l, now());
}

/* Until the lease may be started on, or is over. */
static void acquire(struct supervisor *s)
{
	struct lease *l = &s->drive->lease;
	enum told told = TOLD_NOTHING;

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
		drive_poll(s->drive, fds, 2, next_tell(s));
		if (fds[0].revents)
			signals_while_waiting(s);
		if (fds[1].revents && s->end->why.kind == FAIL_NONE) {
			(void)fail(&s->end->why, FAIL_INTERNAL,
				   "%s: the guard process was killed",
				   s->drive->shown_key);
			lease_release(l, now());
		}
		tell_waiting(s, &told);
	}
	s->claimed = now();
	s->end->waited_ms = between(s->began, s->claimed);
	if (told != TOLD_NOTHING && l->state == LEASE_HELD &&
	    s->end->waited_ms >= TELL_GRANT_MS) {
		char took[32];

		log_notice(
			"%s: got it after %s", s->drive->shown_key,
			format_duration(s->end->waited_ms, took, sizeof(took)));
	}
}

static void not_acquired(struct supervisor *s)
{
	const struct lease *l = &s->drive->lease;
	struct ending *end = s->end;

	if (end->why.kind != FAIL_NONE)
		end->outcome = OUTCOME_FAILED;
	else if (end->sig != 0)
		end->outcome = OUTCOME_GAVE_UP;
	else if (l->end == END_UNAVAILABLE)
		end->outcome = OUTCOME_UNAVAILABLE;
	else if (l->end == END_REFUSED)
		end->outcome = OUTCOME_REFUSED;
	else
		end->outcome = OUTCOME_BUSY;
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
	log_error("%s: the command was killed and does not die (see ps -ejH, "
		  "children of %d); the lock is not given back before",
		  s->drive->shown_key, (int)s->guard.pid);
}

static void lose(struct supervisor *s, const char *reason)
{
	if (s->killed)
		return;
	s->end->outcome = OUTCOME_LOST;
	log_error("%s: lease lost: %s; killing the command",
		  s->drive->shown_key, reason);
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
		log_error("%s: not renewed for %s; asking the command to end "
			  "(SIGTERM), it is killed when %s is full",
			  s->drive->shown_key, age,
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

	log_detail("%s: signal %d", s->drive->shown_key, a->sig);
	if (a->sig == SIGTSTP) {
		stop_with_command(s, a->from_terminal);
		return;
	}
	/* the terminal's own reached the command as well: it is in our group,
	 * if it is born */
	if (!a->from_terminal || tree_signal(s->guard.pid, 0) == 0)
		pass_on(s, a->sig);
	if (a->sig == SIGCONT)
		return;
	s->end->sig = a->sig;
	if (a->sig != SIGINT)
		return;
	if (before(at, after(s->interrupted, INT_TWICE_MS))) {
		log_notice("%s: interrupted twice; killing the command",
			   s->drive->shown_key);
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
			log_error("%s: lease lost: the command was asked to "
				  "end, and has ended",
				  s->drive->shown_key);
		}
		if (!s->done && !s->killed)
			kill_tree(s);
		else if (s->done && r.left)
			log_notice("%s: the command left processes running; "
				   "the lock does not cover them",
				   s->drive->shown_key);
		break;
	case GUARD_CANNOT_EXEC:
		end->outcome = OUTCOME_CANNOT_EXEC;
		break;
	case GUARD_TOO_LATE:
		end->outcome = OUTCOME_LOST;
		log_error("%s: lease lost before the command could start: "
			  "this machine stood still",
			  s->drive->shown_key);
		break;
	case GUARD_LOST:
		/* its orphans are ours now */
		tree_kill(0, &end->status);
		s->done = true;
		end->outcome = OUTCOME_FAILED;
		(void)fail(&end->why, FAIL_INTERNAL,
			   "%s: the guard process was killed; the command was "
			   "ended with it",
			   s->drive->shown_key);
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
		log_detail("%s: %s; renewing without it", s->drive->shown_key,
			   why.text);
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
		if (late.sig != SIGTSTP && late.sig != SIGCONT)
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
		drive_send(s->drive); /* while the guard ends */
	}
	guard_close(&s->guard);
	if (s->dog.running)
		stuck = !watchdog_join(&s->dog, after(now(), JOIN_MS));
	while (!stuck && l->state != LEASE_OVER)
		drive_poll(s->drive, NULL, 0, NEVER);
	if (s->end->outcome != OUTCOME_LOST && s->end->fence > 0 &&
	    (stuck || !l->freed))
		log_error("%s: the release was not confirmed; the lock ends "
			  "by itself within %s",
			  s->drive->shown_key,
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
	log_notice("%s: a lease of %s is short for a server that takes %s to "
		   "answer; -t %s would be enough",
		   s->drive->shown_key,
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
				.silent = NEVER,
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
		end->without_lock =
			conf->run_anyway && end->outcome == OUTCOME_UNAVAILABLE;
		if (end->without_lock)
			log_error("%s: %s; running WITHOUT the lock",
				  d->shown_key, end->why.text);
		if (d->lease.state == LEASE_HELD || end->without_lock)
			run_command(&s);
	}
	give_back(&s);
}
