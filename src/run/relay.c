/* SPDX-License-Identifier: MIT */
/* Signals, on their way to the command. Read inside.h, signals.h and
 * recorder.h first. */
#include "run/inside.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "lock/core/timing.h"
#include "proc/terminal.h"

#define INT_THRICE_MS 2000 /* the third Ctrl-C within this kills */
#define BIRTH_MS 2 /* between checks for a command that has not started */
#define ALONE_MS 5 /* a stop of the whole job reaches us within */
#define STOP_MS 20 /* for the command to stop by itself at a Ctrl-Z */
#define MATE_MS 20 /* a command shorter than this costs no third process */

void relay_refused(struct relay *y, int sig, const struct reach *r)
{
	if (r->refused == 0 || y->refused)
		return;
	y->refused = true;
	log_error("refused",
		  "cannot send signal %d to process %d of user %d: not "
		  "permitted for user %d. Run redlock as that user: sudo "
		  "redlock ... -- COMMAND",
		  sig, (int)r->pid, (int)r->uid, (int)getuid());
}

static int command_of(const struct relay *y)
{
	return atomic_load(&y->guard->shared->command);
}

/* When the caller must act at the latest. */
static struct instant must_act(const struct relay *y)
{
	/* a tree may be large, and a walk through it long */
	return y->end->without_lock ? y->bound
				    : sooner(y->bound, watchdog_kill(y->dog));
}

/* Passes it to the command, or to all its processes: see signal_is_for_all().
 * `group`: those in our process group have it already. Before the command
 * starts, the signal has to wait. */
static void pass_on(struct relay *y, int sig, bool group)
{
	pid_t ours = group ? getpgrp() : 0;
	const struct manner how = {.spared = ours, .by = must_act(y)};
	struct reach r = {0};
	int command = command_of(y);

	if (signal_is_for_all(sig)) {
		guard_signal(y->guard, sig, &how, &r);
	} else if (command > 0 && group && getpgid(command) == ours) {
		return;
	} else if (command > 0 && kill(command, sig) < 0 && errno == EPERM) {
		r = (struct reach){1, 1, command, tree_owner(command)};
	}
	if (command == 0 && r.met == 0)
		sigaddset(&y->early, sig);
	else
		sigdelset(&y->early, sig);
	relay_refused(y, sig, &r);
}

/* Those that came before the command was born. */
static void pass_early_on(struct relay *y)
{
	if (sigisemptyset(&y->early))
		return;
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&y->early, sig))
			pass_on(y, sig, false);
}

/* The group that the command has made for itself, as timeout(1) does; 0: it has
 * made none, or has left our session. */
static pid_t group_apart(const struct relay *y)
{
	int command = command_of(y);
	pid_t its = command > 0 && getsid(command) == getsid(0)
			    ? getpgid(command)
			    : 0;

	return its > 0 && its != getpgrp() ? its : 0;
}

/* A key of the terminal reaches our group. Without us, a command's own group
 * would be in front, and get it. */
static void pass_key_on(pid_t apart, int sig)
{
	if (apart > 0 && (sig == SIGINT || sig == SIGQUIT || sig == SIGWINCH))
		(void)kill(-apart, sig);
}

/* The command's own group was told to stop. */
static bool is_stopping(const struct relay *y)
{
	return y->apart_due.ms != NEVER.ms;
}

/* Whether no renewal is overdue, or none will come in time. */
static bool may_go_on(struct relay *y)
{
	return !y->dog->running || watchdog_spent(y->dog) ||
	       watchdog_credited_at(y->dog).ms != y->before_stop.ms ||
	       before(now(), timing_renew(y->before_stop, y->ttl_ms)) ||
	       !before(now(), must_act(y));
}

static void go_on(struct relay *y)
{
	y->holds_back = false;
	y->stopped = NEVER; /* that was our doing */
	watchdog_await(y->dog, false);
	if (y->apart > 0)
		(void)kill(-y->apart, SIGCONT);
	y->apart = 0;
}

/* `own`: the kernel will not continue the command together with us. */
static void stop_self(struct relay *y, bool own)
{
	signals_stop();
	y->stopped = NEVER;
	if (!own)
		return;
	y->holds_back = true;
	watchdog_await(y->dog, true);
	if (may_go_on(y))
		go_on(y);
}

/* The kernel stops a whole group without us. If only we get the signal, or the
 * command has a group of its own, we stop the command first, and hold back
 * signals that would continue it. The deadman limits the time. */
static void stop_with_command(struct relay *y, bool group, pid_t apart)
{
	const struct manner all = {.by = must_act(y)};
	struct reach r;

	y->before_stop = watchdog_credited_at(y->dog);
	if (apart > 0) {
		(void)kill(-apart, SIGTSTP);
		y->apart = apart;
		y->apart_due = after(now(), STOP_MS);
		return;
	}
	if (!group)
		guard_signal(y->guard, SIGTSTP, &all, &r);
	stop_self(y, !group);
}

/* That group is orphaned, because the guard is in another session, and there
 * the kernel ignores SIGTSTP: only a command that handles it has stopped. */
static void stop_after_group(struct relay *y)
{
	y->apart_due = NEVER;
	if (!tree_is_stopped(command_of(y)))
		(void)kill(-y->apart, SIGSTOP);
	stop_self(y, true);
}

/* Two are for the command: to many programs they mean "at once". */
static bool is_third(struct relay *y, struct instant at)
{
	bool third = before(at, after(y->interrupted[1], INT_THRICE_MS));

	y->interrupted[1] = y->interrupted[0];
	y->interrupted[0] = at;
	return third;
}

static void note(struct relay *y, int sig)
{
	y->end->sig = sig;
	sigaddset(&y->end->sigs, sig);
}

static void forward(struct relay *y, const struct arrival *a)
{
	pid_t apart;
	bool group;

	if (a->from_timer) /* the waker; the alarm goes off as well */
		return;
	if (a->sig == SIGCONT && a->pid == y->guard->pid)
		return; /* the command runs again already */
	group = a->by_kill && recorder_got(&y->recorder, a->sig, a->pid);
	apart = a->from_terminal ? group_apart(y) : 0;
	if (a->sig == SIGTSTP && !signal_waits(y->signals, a->sig)) {
		stop_with_command(y, a->from_terminal || group, apart);
		return;
	}
	pass_key_on(apart, a->sig);
	/* the terminal's own reached the command as well: the command is in
	 * our group, once it exists */
	if (!a->from_terminal || command_of(y) == 0)
		pass_on(y, a->sig, group);
	log_detail("signal", "signal %d%s", a->sig,
		   group ? ", sent to the process group" : "");
	if (!signal_ends(a->sig))
		return;
	note(y, a->sig);
	y->insists |= a->sig == SIGINT && a->from_terminal &&
		      !signal_waits(y->signals, a->sig) && is_third(y, now());
}

/* The command has stopped, and we have not: stop as well, so that the shell
 * notices. Without a terminal there may be nobody to continue us, and without a
 * shell the kernel does not let us stop: then we keep the lease until the
 * command is continued. If it had the terminal to itself, it gets it back when
 * we go on. */
static void stop_like_command(struct relay *y, bool may)
{
	int command = command_of(y);
	pid_t front = terminal_foreground();
	struct arrival a;

	y->stopped = NEVER;
	if (front < 0 || !may || y->insists || command <= 0)
		return;
	atomic_store(&y->guard->shared->stops_too, 1);
	if (tree_is_stopped(command)) {
		log_detail("stopped", "the command has stopped");
		signals_stop();
		if (front == getpgid(command))
			terminal_hand_to(front);
		/* ignore a Ctrl-Z that came just before the stop */
		for (int i = 0; i < SIGNALS_TURN && !y->holds_back &&
				signals_next(y->signals, &a);
		     i++)
			if (a.sig != SIGTSTP)
				forward(y, &a);
	}
	atomic_store(&y->guard->shared->stops_too, 0);
}

/* Not before the command is born: see recorder.h. */
static void look_at_mate(struct relay *y)
{
	if (before(now(), y->mate_due))
		return;
	y->mate_due = NEVER;
	if (command_of(y) > 0)
		recorder_start(&y->recorder);
	else if (command_of(y) == 0)
		y->mate_due = after(now(), MATE_MS);
}

void relay_start(struct relay *y)
{
	y->mate_due = after(now(), MATE_MS);
}

void relay_stopped(struct relay *y)
{
	if (is_stopping(y))
		y->apart_due = now();
	else
		y->stopped = after(now(), ALONE_MS);
}

int relay_fd(const struct relay *y)
{
	return y->holds_back || is_stopping(y) ? -1 : y->signals->fd;
}

struct instant relay_due(const struct relay *y)
{
	struct instant due = sooner(y->stopped, y->mate_due);

	if (is_stopping(y))
		return y->apart_due;
	if (y->holds_back)
		return must_act(y);
	return sigisemptyset(&y->early) ? due
					: sooner(due, after(now(), BIRTH_MS));
}

void relay_step(struct relay *y, bool readable, bool may_stop)
{
	struct arrival a;

	if (is_stopping(y)) {
		if (before(now(), y->apart_due))
			return;
		stop_after_group(y);
	}
	if (y->holds_back) {
		if (!may_go_on(y))
			return;
		go_on(y);
		readable = true; /* it may well be, and nobody looked */
	}
	look_at_mate(y);
	pass_early_on(y);
	for (int i = 0; readable && i < SIGNALS_TURN && !y->holds_back &&
			!is_stopping(y) && signals_next(y->signals, &a);
	     i++)
		forward(y, &a);
	if (!before(now(), y->stopped))
		stop_like_command(y, may_stop);
}

void relay_close(struct relay *y)
{
	struct arrival late;

	if (y->holds_back || is_stopping(y))
		go_on(y);
	recorder_end(&y->recorder);
	/* a Ctrl-C may have ended the command before we read it */
	for (int i = 0; i < SIGNALS_TURN && signals_next(y->signals, &late);
	     i++)
		if (signal_ends(late.sig))
			note(y, late.sig);
}
