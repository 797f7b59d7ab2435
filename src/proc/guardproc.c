/* SPDX-License-Identifier: MIT */
/* The guard process: read guard.h first. Until the tree is dead,
 * what runs in it, behind guard_main(), does not allocate, and once the command
 * runs it waits for nobody without looking for redlock's death and the
 * deadline; afterwards release() may do both. */
#include "proc/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "proc/deadman.h"
#include "proc/title.h"
#include "proc/tree.h"

#define CONTINUE_MS 20 /* between such, until redlock is seen to go on */
#define OTHERS_MS                                                              \
	1000 /* between looks for an end that we cannot bring about            \
	      */

static void on_signal(int sig)
{
	(void)sig; /* ends ppoll(), or a stop */
}

/* In the command's process: between fork and exec, or in place of exec. */
static void become_command(const struct order *o, const struct wire *w,
			   pid_t guard)
{
	/* not a guard any more: those are spared (tree_kill()) */
	(void)prctl(PR_SET_NAME, "lockcommand", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != guard)
		_exit(127);
	signals_restore(o->signals);
	for (char *const *e = o->own_pid; *e; e++)
		(void)add_number(strchr(*e, '=') + 1, getpid());
	if (o->instead)
		return;
	(void)execvpe(o->argv[0], o->argv, o->envp);
	if (errno == ENOEXEC) {
		/* A script without #! is for the shell, which looks for it in
		 * PATH again. glibc's execvpe() does this itself, musl's does
		 * not. */
		(void)execve(w->by_shell[0], w->by_shell, o->envp);
		errno = ENOEXEC;
	}
}

static struct instant deadline(const struct wire *w)
{
	return (struct instant){atomic_load(&w->shared->deadline_ms)};
}

/* Until then we need not look at it, unless we are stopped then. Redlock may be
 * moving it, and the alarm with it. */
static void await_deadline(const struct wire *w)
{
	struct instant by;

	do {
		by = deadline(w);
		alarm_set(w->alarm, by);
		waker_set(w->waker, by);
	} while (deadline(w).ms != by.ms);
}

static void title_of(const char *what, pid_t tool)
{
	char number[24];

	(void)add_number(number, tool);
	title_set(what, number);
}

static pid_t start_instead(const struct order *o, const struct wire *w)
{
	pid_t guard = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	close(w->orders);
	close(w->life);
	close(w->report);
	close(w->alarm);
	become_command(o, w, guard);
	(void)prctl(PR_SET_NAME, KEEPER, 0, 0, 0);
	title_of(KEEPER, w->tool);
	_exit(o->instead(o->arg));
}

/* Exec may hang for as long as the program's disk does, and until it returns
 * the guard, in vfork(), hears nothing. So the kernel itself kills the command
 * when redlock says "kill" or dies. It does so a moment after the guard could
 * read the word: the go, on the same pipe, could have killed what it started.
 * False: redlock has spoken already. */
static bool die_at_word(const struct wire *w)
{
	struct pollfd life = {.fd = w->life, .events = POLLIN};

	(void)fcntl(w->life, F_SETOWN, getpid());
	(void)fcntl(w->life, F_SETSIG, SIGKILL);
	(void)fcntl(w->life, F_SETFL, O_ASYNC);
	return poll(&life, 1, 0) == 0;
}

/* vfork: no page tables to copy, and the error comes back through memory.
 * Every signal is blocked, so no handler runs in the shared memory.
 * Returns the command's pid, or -1; *error: 0, or errno. */
static pid_t start_command(const struct order *o, const struct wire *w,
			   int *error)
{
	volatile int exec_error = 0;
	pid_t guard = getpid(), pid;

	if (o->instead)
		pid = start_instead(o, w);
	else
		pid = vfork(); /* NOLINT(*.vfork): why, is said above */
	if (pid == 0) {
		if (!die_at_word(w)) /* NOLINT(*.Vfork): as above */
			_exit(127);
		become_command(o, w, guard);
		exec_error = errno;
		_exit(127);
	}
	*error = pid < 0 ? errno : exec_error;
	if (*error == 0)
		atomic_store(&w->shared->command, pid);
	return pid;
}

/* From here on, whoever stops us, the kernel wakes us again and again: the
 * signal must be taken for that. Until now it was blocked, so that renewals,
 * which send it as well, do not disturb us. */
static void stay_awake(const struct wire *w)
{
	struct sigaction act = {.sa_handler = on_signal,
				.sa_flags = SA_RESTART};
	sigset_t only;

	waker_set(w->waker, now());
	(void)sigaction(SIGCONT, &act, NULL);
	sigemptyset(&only);
	sigaddset(&only, SIGCONT);
	(void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* For a run that takes longer: lock our memory, and if allowed, let the kernel
 * kill others before us when memory is short. Failure needs no message: the
 * lease is safe without it. */
static void dig_in(void)
{
	static const char score[] = "-900";
	int fd = tree_proc("/proc/self/oom_score_adj", O_WRONLY);

	(void)mlockall(MCL_CURRENT | MCL_ONFAULT);
	if (fd < 0)
		return;
	(void)!write(fd, score, sizeof(score) - 1);
	close(fd);
}

static void prepare(const struct order *o, const struct wire *w)
{
	const struct sigaction act = {.sa_handler = on_signal};

	(void)sigaction(SIGCHLD, &act, NULL);
	tree_adopt(true);
	(void)tree_open();
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* not under our own name: pkill -9 redlock must not kill both */
	(void)prctl(PR_SET_NAME, "lockguard", 0, 0, 0);
	title_of("lockguard", w->tool);
	for (int i = 0; i < o->n_shut; i++)
		close(o->shut[i]);
}

/* What became of redlock. */
enum word { WORD_KILL, WORD_DONE, WORD_DEAD };

static enum word hear(const struct wire *w)
{
	ssize_t n;
	char kill;

	while ((n = read(w->life, &kill, 1)) < 0 && errno == EINTR)
		;
	if (n == 1)
		return WORD_KILL;
	return atomic_load(&w->shared->dismissed) ? WORD_DONE : WORD_DEAD;
}

/* What is left belongs to other users and cannot be killed: report it once,
 * then wait for its end and for word from redlock. True: redlock cannot either,
 * or is dead. */
static bool wait_for_others(const struct wire *w, bool alone,
			    const struct reach *left, bool *told)
{
	struct pollfd life = {.fd = alone ? -1 : w->life, .events = POLLIN};
	struct report r = {GUARD_REFUSED, left->pid, 0, (int)left->uid};

	if (!*told && !alone)
		(void)!write(w->report, &r, sizeof(r));
	else if (!*told)
		log_error("survives",
			  "redlock (pid %d) was killed; process %d of user %d "
			  "is still running: user %d may not kill it. The lock "
			  "expires by itself",
			  (int)w->tool, (int)left->pid, (int)left->uid,
			  (int)getuid());
	*told = true;
	if (poll(&life, 1, OTHERS_MS) <= 0)
		return false;
	return hear(w) != WORD_KILL;
}

/* Kills until nothing is left. `alone`: redlock is dead. False: redlock does
 * not want to wait. */
static bool end_all(const struct wire *w, pid_t command, bool alone,
		    struct report *r)
{
	struct reach left;
	bool told = false;

	stay_awake(w);
	atomic_fetch_add(&w->shared->beat, 1);
	while (!tree_kill(command, &w->shared->beat, NEVER, &r->value, &left))
		if (wait_for_others(w, alone, &left, &told))
			return false;
	r->left = 0;
	return true;
}

/* Reads what redlock says next. True: that was its last word. It may ask us to
 * kill what the command left, and to report when that is done. A kill -9 of the
 * whole group may reach redlock after the command: then, too, we kill and
 * release the lock. */
static bool obey(const struct order *o, const struct wire *w, pid_t command,
		 struct report *r)
{
	enum word word = hear(w);

	if (word == WORD_DONE)
		return true;
	if (!end_all(w, command, word == WORD_DEAD, r))
		return true;
	if (word == WORD_KILL) {
		(void)!write(w->report, r, sizeof(*r));
		return false;
	}
	/* while standard error is still ours */
	log_error("killed",
		  "redlock (pid %d) was killed, or was stopped until its "
		  "lease ran out; %s",
		  (int)w->tool, o->if_killed);
	o->release(o->arg, true);
	return true;
}

/* Sends SIGCONT until redlock runs, reports, or is dead: it may be about to
 * stop. */
static void continue_tool(const struct wire *w)
{
	struct pollfd life = {.fd = w->life, .events = POLLIN};

	while (atomic_load(&w->shared->stops_too)) {
		(void)kill(w->tool, SIGCONT);
		if (poll(&life, 1, CONTINUE_MS) > 0)
			return;
	}
}

static void tell(const struct order *o, const struct wire *w, int news,
		 int value)
{
	struct report r = {.news = news, .value = value};

	(void)!write(w->report, &r, sizeof(r));
	continue_tool(w);
	while (!obey(o, w, 0, &r))
		;
}

/* Redlock is gone, or wants the tree dead. */
static void end_tree(const struct order *o, const struct wire *w, pid_t command)
{
	/* as waitpid() tells "killed" */
	struct report r = {.news = GUARD_ENDED, .value = SIGKILL};

	while (!obey(o, w, command, &r))
		command = 0;
}

/* The lease is over, and redlock neither killed nor died: it hangs in the
 * kernel. If it comes back, the deadman's signal is waiting for it; if there is
 * none, it must hear why the command is dead. */
static void end_overdue_tree(const struct order *o, const struct wire *w,
			     pid_t command)
{
	struct report r = {.news = GUARD_OVERDUE, .value = SIGKILL};

	if (!end_all(w, command, false, &r))
		return;
	(void)!write(w->report, &r, sizeof(r));
	while (!obey(o, w, 0, &r))
		;
}

/* What became of the command. */
struct seen {
	bool ended, stopped;
	int status; /* how it ended */
};

static void see(const struct wire *w, int status, struct seen *s)
{
	static const struct report stop = {.news = GUARD_STOPPED};

	s->stopped = WIFSTOPPED(status);
	if (s->stopped && !atomic_exchange(&w->shared->stop_told, 1))
		(void)!write(w->report, &stop, sizeof(stop));
	if (s->stopped || WIFCONTINUED(status))
		return;
	atomic_store(&w->shared->command, -1);
	s->ended = true;
	s->status = status;
}

/* Reaps all children that have ended. True: others are still alive. */
static bool reap(const struct wire *w, pid_t command, struct seen *s)
{
	pid_t pid;
	int its;

	while ((pid = waitpid(-1, &its, WNOHANG | WUNTRACED | WCONTINUED)) > 0)
		if (pid == command && !s->ended)
			see(w, its, s);
	return pid == 0 && !(s->ended && tree_is_keepers());
}

/* Waits until redlock or the command has news. The command runs again, and
 * redlock may be about to stop with it: continue redlock until it runs. */
static int wait_for_news(const struct wire *w, const struct seen *s,
			 struct pollfd fds[2], const sigset_t *waiting)
{
	static const struct timespec again = {0, CONTINUE_MS * 1000000L};
	bool late = !s->stopped && atomic_load(&w->shared->stops_too);

	if (late)
		(void)kill(w->tool, SIGCONT);
	return ppoll(fds, 2, late ? &again : NULL, waiting);
}

static void watch_command(const struct order *o, const struct wire *w,
			  pid_t command)
{
	struct pollfd fds[] = {{.fd = w->life, .events = POLLIN},
			       {.fd = w->alarm, .events = POLLIN}};
	struct seen s = {.ended = false};
	bool told = false, dug_in = false;
	sigset_t waiting;

	(void)waker_make(w->waker, WAKERS);
	await_deadline(w);
	(void)sigprocmask(SIG_SETMASK, NULL, &waiting);
	sigdelset(&waiting, SIGCHLD);
	for (;;) {
		bool left = reap(w, command, &s);

		if (s.ended && !left) {
			tell(o, w, GUARD_ENDED, s.status);
			return;
		}
		if (s.ended && !told) {
			struct report r = {GUARD_ENDED, s.status, true, 0};

			told = true;
			(void)!write(w->report, &r, sizeof(r));
		}
		if (wait_for_news(w, &s, fds, &waiting) <= 0)
			continue;
		if (fds[0].revents) {
			end_tree(o, w, s.ended ? 0 : command);
			return;
		}
		if (!before(now(), deadline(w))) {
			end_overdue_tree(o, w, s.ended ? 0 : command);
			return;
		}
		await_deadline(w); /* there was a renewal */
		if (!dug_in)
			dig_in();
		dug_in = true;
	}
}

/* Waits for the go. False: it does not come. */
static bool take_orders(const struct order *o, const struct wire *w,
			struct order_message *m)
{
	ssize_t n;

	do {
		n = read(w->orders, m, sizeof(*m));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(*m))
			return false;
		o->noted(o->arg, &m->given);
	} while (n < 0 || !m->go);
	close(w->orders);
	return true;
}

void guard_main(const struct order *o, const struct wire *w)
{
	struct order_message m;
	pid_t command;
	int error;

	prepare(o, w);
	if (!take_orders(o, w, &m)) {
		if (hear(w) == WORD_DEAD)
			o->release(o->arg, false);
		return;
	}
	o->fill_in(o->arg, &m.given);
	if (!before(now(), m.start_by)) {
		tell(o, w, GUARD_TOO_LATE, 0);
		return;
	}
	if (tree_open() < 0) {
		tell(o, w, GUARD_CANNOT_FORK, errno);
		return;
	}
	if (waker_make(w->waker, 1) < 0) {
		tell(o, w, GUARD_CANNOT_ARM, errno);
		return;
	}
	await_deadline(w);
	command = start_command(o, w, &error);
	/* Not earlier: the command must start in the job's group. Not through a
	 * group of our own either: when a child of ours ended there, the kernel
	 * would take the job for orphaned and send it a hangup. Nor later:
	 * until then a kill -9 of the job's group takes us along (HACKING,
	 * Speed). */
	(void)setsid();
	/* our copies must not keep the command's pipes open */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (error != 0) {
		tell(o, w, command < 0 ? GUARD_CANNOT_FORK : GUARD_CANNOT_EXEC,
		     error);
		return;
	}
	watch_command(o, w, command);
}
