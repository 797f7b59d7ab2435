/* SPDX-License-Identifier: MIT */
/* Redlock's side of the guard: starts it, speaks to it, reads its reports. */
#include "proc/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/deadman.h"
#include "proc/inside.h"

#define STRIKE_MS 5 /* redlock's own kill: enough for all but a large tree */

/* What guard_start() opens for the two: -1 is not open. The pipes are as
 * pipe(2) has them. */
struct opened {
	int alarm, orders[2], life[2], report[2];
};

static int open_all(struct opened *o, struct fail *why)
{
	*o = (struct opened){alarm_make(), {-1, -1}, {-1, -1}, {-1, -1}};
	if (o->alarm < 0)
		return fail_sys(why, FAIL_INTERNAL,
				"cannot create a timer for the guard");
	if (pipe2(o->orders, O_CLOEXEC) < 0 || pipe2(o->life, O_CLOEXEC) < 0 ||
	    pipe2(o->report, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	return 0;
}

static void close_all(const struct opened *o)
{
	const int all[] = {o->alarm,   o->orders[0], o->orders[1], o->life[0],
			   o->life[1], o->report[0], o->report[1]};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] >= 0)
			close(all[i]);
}

static int map_shared(struct guard *g, struct fail *why)
{
	void *shared = mmap(NULL, sizeof(*g->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return fail_sys(why, FAIL_INTERNAL,
				"cannot map memory for the guard");
	g->shared = shared;
	atomic_init(&g->shared->deadline_ms, NEVER.ms);
	atomic_init(&g->shared->command, 0);
	atomic_init(&g->shared->stop_told, 0);
	atomic_init(&g->shared->stops_too, 0);
	atomic_init(&g->shared->dismissed, 0);
	atomic_init(&g->shared->beat, 0);
	return 0;
}

/* What the shell is given for a script without #!. It is made for every
 * command, because nothing may be allocated between fork and exec. */
static char **argv_by_shell(char *const *argv, struct fail *why)
{
	static char *const shell[] = {"/bin/sh", "-c", "exec \"$0\" \"$@\""};
	const size_t before = sizeof(shell) / sizeof(shell[0]);
	size_t n = 0;
	char **made;

	while (argv && argv[n])
		n++;
	made = calloc(before + n + 1, sizeof(*made));
	if (!made) {
		(void)fail_sys(why, FAIL_INTERNAL, "cannot start the guard");
		return NULL;
	}
	memcpy(made, shell, sizeof(shell));
	if (n > 0)
		memcpy(made + before, argv, n * sizeof(*made));
	return made;
}

static pid_t fork_guard(const struct guard *g, const struct order *o,
			char *const *by_shell, const struct opened *fds)
{
	struct waker waker = {.made = 0};
	pid_t tool = getpid(), pid;
	sigset_t all, before;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0) {
		close(fds->orders[1]);
		close(fds->life[1]);
		close(fds->report[0]);
		guard_main(o, &(struct wire){fds->orders[0], fds->life[0],
					     fds->report[1], fds->alarm, tool,
					     g->shared, &waker, by_shell});
		_exit(0);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int guard_start(struct guard *g, const struct order *o, struct fail *why)
{
	char **by_shell = argv_by_shell(o->argv, why);
	struct opened fds;

	*g = GUARD_NONE;
	if (!by_shell)
		return -1;
	if (open_all(&fds, why) < 0 || map_shared(g, why) < 0) {
		close_all(&fds);
		free(by_shell);
		return -1;
	}
	g->pid = fork_guard(g, o, by_shell, &fds);
	free(by_shell); /* the guard has a copy */
	if (g->pid < 0) {
		(void)fail_sys(why, FAIL_INTERNAL, "cannot fork");
		close_all(&fds);
		(void)munmap(g->shared, sizeof(*g->shared));
		*g = GUARD_NONE;
		return -1;
	}
	/* ours from here on; the guard has its own copies of the others */
	g->orders = fds.orders[1];
	g->life = fds.life[1];
	g->report = fds.report[0];
	g->alarm = fds.alarm;
	close(fds.orders[0]);
	close(fds.life[0]);
	close(fds.report[1]);
	return 0;
}

static void say(const struct guard *g, bool go, const struct grants *given,
		struct instant start_by)
{
	struct order_message m;

	memset(&m, 0, sizeof(m)); /* the padding, too */
	m.go = go;
	m.start_by = start_by;
	m.given.n = given->n;
	memcpy(m.given.lock, given->lock,
	       sizeof(given->lock[0]) * (size_t)given->n);
	_Static_assert(sizeof(m) <= PIPE_BUF, "written at one go");
	(void)!write(g->orders, &m, sizeof(m));
}

void guard_note(struct guard *g, const struct grants *asked)
{
	say(g, false, asked, NEVER);
}

void guard_go(struct guard *g, const struct grants *given,
	      struct instant start_by)
{
	say(g, true, given, start_by);
	close(g->orders);
	g->orders = -1;
}

void guard_wake(pid_t guard)
{
	if (guard > 0)
		(void)kill(guard, SIGCONT);
}

void guard_kill(struct guard *g)
{
	(void)!write(g->life, "k", 1);
	guard_wake(g->pid);
}

void guard_strike(const struct guard *g, bool spare)
{
	tree_strike(g->pid, spare, after(now(), STRIKE_MS));
}

int guard_beat(const struct guard *g)
{
	return atomic_load(&g->shared->beat);
}

bool guard_has_tree(const struct guard *g)
{
	return tree_is_alive(g->pid);
}

void guard_signal(const struct guard *g, int sig, const struct manner *how,
		  struct reach *out)
{
	tree_signal(g->pid, sig, how, out);
}

void guard_take(struct guard *g, struct report *out)
{
	ssize_t n;

	while ((n = read(g->report, out, sizeof(*out))) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(*out))
		*out = (struct report){.news = GUARD_LOST};
}

void guard_close(struct guard *g)
{
	if (g->shared)
		atomic_store(&g->shared->dismissed, 1);
	if (g->orders >= 0)
		close(g->orders);
	if (g->life >= 0)
		close(g->life);
	if (g->report >= 0)
		close(g->report);
	if (g->alarm >= 0)
		close(g->alarm);
	guard_wake(g->pid);
	if (g->pid > 0)
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	*g = GUARD_NONE;
}
