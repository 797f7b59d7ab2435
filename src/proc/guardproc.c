/* SPDX-License-Identifier: MIT */
/* The guard process: read guard.h first. Until the tree is dead,
 * what runs in it, behind guard_main(), does not allocate, and once the command
 * runs it waits for nobody without looking for redlock's death and the
 * deadline; afterwards release() may do both. */
#include "proc/inside.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/deadman.h"
#include "proc/title.h"
#include "proc/tree.h"

#define WAKE_NS 50000000
#define CONTINUE_MS 20 /* between such, until redlock is seen to go on */
#define OTHERS_MS                                                              \
	1000 /* between looks for an end that we cannot bring about            \
	      */

static void on_signal(int sig)
{
	(void)sig; /* ends ppoll(), or a stop */
}

/* A script without #! is for the shell. glibc's execvpe() does this itself,
 * musl's does not. The shell looks for the file in PATH again. */
static void exec_by_shell(const struct order *o)
{
	static char *const shell[] = {"/bin/sh", "-c", "exec \"$0\" \"$@\""};
	size_t n = 0;
	char **argv;

	while (o->argv[n])
		n++;
	argv = alloca(sizeof(shell) + (n + 1) * sizeof(*argv));
	memcpy(argv, shell, sizeof(shell));
	memcpy((char *)argv + sizeof(shell), o->argv, (n + 1) * sizeof(*argv));
	(void)execve(shell[0], argv, o->envp);
	errno = ENOEXEC;
}

/* In the command's process: between fork and exec, or in place of exec. */
static void become_command(const struct order *o, pid_t guard)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != guard)
		_exit(127);
	signals_restore(o->signals);
	for (char *const *e = o->own_pid; *e; e++)
		(void)snprintf(strchr(*e, '=') + 1, 12, "%d", (int)getpid());
	if (o->instead)
		return;
	(void)execvpe(o->argv[0], o->argv, o->envp);
	if (errno == ENOEXEC)
		exec_by_shell(o);
}

static struct instant deadline(const struct wire *w)
{
	return (struct instant){atomic_load(&w->shared->deadline_ms)};
}

/* Until then we need not look at it. Redlock may be moving it, and the alarm
 * with it. */
static void await_deadline(const struct wire *w)
{
	struct instant by;

	do {
		by = deadline(w);
		alarm_set(w->alarm, by);
	} while (deadline(w).ms != by.ms);
}

static void title_of(const char *what, pid_t tool)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", (int)tool);
	title_set(what, number);
}

/* A copy of the guard that must not be taken for the guard. */
static pid_t start_instead(const struct order *o, const struct wire *w)
{
	pid_t guard = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	close(w->life);
	close(w->report);
	close(w->alarm);
	(void)prctl(PR_SET_NAME, KEEPER, 0, 0, 0);
	title_of(KEEPER, w->tool);
	become_command(o, guard);
	_exit(o->instead(o->arg));
}

/* Exec may hang for as long as the program's disk does, and until it returns
 * the guard, in vfork(), hears nothing. So the kernel itself kills the command
 * when redlock says something, which can only be "kill", or dies. False: it has
 * already. */
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
		become_command(o, guard);
		exec_error = errno;
		_exit(127);
	}
	*error = pid < 0 ? errno : exec_error;
	if (*error == 0)
		atomic_store(&w->shared->command, pid);
	return pid;
}

/* From here on only the kernel would wake a suspended guard: it does so again
 * and again. The signal must be caught: since Linux 6.13, a timer whose
 * signal is ignored goes off only once. */
static void stay_awake(void)
{
	struct sigaction act = {.sa_handler = on_signal,
				.sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = SIGCONT};
	const struct itimerspec at = {{0, WAKE_NS}, {0, WAKE_NS}};
	timer_t timer;

	(void)sigaction(SIGCONT, &act, NULL);
	if (timer_create(lease_clock, &event, &timer) == 0)
		(void)timer_settime(timer, 0, &at, NULL);
}

/* For a run that takes longer: lock our memory, and if allowed, let the kernel
 * kill others before us when memory is short. Failure needs no message: the
 * lease is safe without it. */
static void dig_in(void)
{
	static const char score[] = "-900";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)mlockall(MCL_CURRENT | MCL_ONFAULT);
	if (fd < 0)
		return;
	(void)!write(fd, score, sizeof(score) - 1);
	close(fd);
}

static void prepare(const struct order *o, const struct wire *w)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t most;

	(void)sigaction(SIGCONT, &act, NULL);
	act.sa_handler = on_signal;
	(void)sigaction(SIGCHLD, &act, NULL);
	sigfillset(&most);
	sigdelset(&most, SIGCONT);
	(void)sigprocmask(SIG_SETMASK, &most, NULL);
	tree_adopt(true);
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* not under our own name: pkill -9 redlock must not kill both */
	(void)prctl(PR_SET_NAME, "lockguard", 0, 0, 0);
	title_of("lockguard", w->tool);
	for (int i = 0; i < o->n_shut; i++)
		close(o->shut[i]);
}

/* False: redlock died. */
static bool read_all(const struct wire *w, void *to, size_t size)
{
	ssize_t n;

	while ((n = read(w->life, to, size)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)size;
}

static bool hear(const struct wire *w, struct message *m)
{
	return read_all(w, m, sizeof(*m));
}

/* What is left belongs to other users and cannot be killed: report it once,
 * then wait for its end and for word from redlock. True: redlock cannot either,
 * or is dead. */
static bool wait_for_others(const struct wire *w, bool alone,
			    const struct reach *left, bool *told)
{
	struct pollfd life = {.fd = alone ? -1 : w->life, .events = POLLIN};
	struct report r = {GUARD_REFUSED, left->pid, 0, (int)left->uid};
	struct message m;

	if (!*told && !alone)
		(void)!write(w->report, &r, sizeof(r));
	else if (!*told)
		log_error("undead",
			  "redlock (pid %d) was killed; process %d of user %d "
			  "is still running: user %d may not kill it. The lock "
			  "expires by itself",
			  (int)w->tool, (int)left->pid, (int)left->uid,
			  (int)getuid());
	*told = true;
	if (poll(&life, 1, OTHERS_MS) <= 0)
		return false;
	return !hear(w, &m) || m.what == MESSAGE_DONE;
}

/* Kills until nothing is left. `alone`: redlock is dead. False: redlock does
 * not want to wait. */
static bool end_all(const struct wire *w, pid_t command, bool alone,
		    struct report *r)
{
	struct reach left;
	bool told = false;

	stay_awake();
	atomic_fetch_add(&w->shared->beat, 1);
	while (!tree_kill(command, &w->shared->beat, &r->value, &left))
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
	struct message m;
	bool heard = hear(w, &m);

	if (heard && m.what == MESSAGE_DONE)
		return true;
	if (!end_all(w, command, !heard, r))
		return true;
	if (heard) {
		(void)!write(w->report, r, sizeof(*r));
		return false;
	}
	o->release(o->arg, true);
	log_error("killed",
		  "redlock (pid %d) was killed, or was stopped until its "
		  "lease ran out; %s",
		  (int)w->tool, o->if_killed);
	return true;
}

/* Redlock must no longer stop. It may be about to, so continue it again and
 * again, until it runs, or speaks, or is dead. */
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

static void watch(const struct order *o, const struct wire *w, pid_t command)
{
	struct pollfd fds[] = {{.fd = w->life, .events = POLLIN},
			       {.fd = w->alarm, .events = POLLIN}};
	struct seen s = {.ended = false};
	bool told = false, dug_in = false;
	sigset_t waiting;

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

void guard_main(const struct order *o, const struct wire *w)
{
	struct message m;
	struct grants given;
	pid_t command;
	int error;

	prepare(o, w);
	do {
		if (!hear(w, &m)) {
			o->release(o->arg, false);
			return;
		}
		if (m.what > MESSAGE_GO || !read_all(w, &given, sizeof(given)))
			return;
		o->noted(o->arg, &given);
	} while (m.what != MESSAGE_GO);
	o->given(o->arg, &given);
	if (!before(now(), m.start_by)) {
		tell(o, w, GUARD_TOO_LATE, 0);
		return;
	}
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
	watch(o, w, command);
}
