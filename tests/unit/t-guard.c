/* SPDX-License-Identifier: MIT */
/* Who owns the descriptors of a guard, also of one that cannot be started. */
#include "proc/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define FDS_MOST 64

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < FDS_MOST; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void note(void *arg, const struct grants *g)
{
	(void)arg, (void)g;
}

static void release(void *arg, bool ran)
{
	(void)arg, (void)ran;
}

static char *const argv[] = {"true", NULL};
static char *envp[] = {"PATH=/usr/bin:/bin", NULL};
static struct signals signals;
static const struct order order = {.argv = argv,
				   .envp = envp,
				   .signals = &signals,
				   .if_killed = "",
				   .noted = note,
				   .fill_in = note,
				   .release = release};

static void limit_fds(rlim_t most)
{
	struct rlimit r;

	(void)getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = most;
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

static bool is_none(const struct guard *g)
{
	return g->pid == 0 && g->orders == -1 && g->life == -1 &&
	       g->report == -1 && !g->shared;
}

/* With room for 0, 1, 2... descriptors more, until it can be started. */
static int test_failures(void)
{
	int before = open_fds(), room = 0;

	for (; room < FDS_MOST - before; room++) {
		struct guard g = GUARD_NONE;
		struct fail why = {.kind = FAIL_NONE};
		int rc;

		limit_fds((rlim_t)before + (rlim_t)room);
		rc = guard_start(&g, &order, &why);
		limit_fds(FDS_MOST);
		if (rc == 0) {
			guard_close(&g);
			break;
		}
		ok(open_fds() == before,
		   "room for %d: no descriptor is left open", room);
		ok(is_none(&g), "room for %d: there is no guard", room);
		ok(why.kind == FAIL_INTERNAL, "room for %d: the cause is given",
		   room);
		ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
		   "room for %d: no process is left", room);
	}
	return room;
}

int main(void)
{
	int before, needed;
	struct guard g;
	struct fail why;

	for (int fd = 3; fd < FDS_MOST; fd++)
		(void)close(fd);
	before = open_fds();
	sigemptyset(&signals.before);
	signals.fd = -1;
	needed = test_failures();
	ok(needed == 7, "a guard is started by seven descriptors: %d", needed);
	ok(open_fds() == before,
	   "a guard that was started and closed leaves no descriptor");
	limit_fds(FDS_MOST);
	ok(guard_start(&g, &order, &why) == 0, "a guard starts");
	ok(open_fds() == before + 4, "four descriptors are ours");
	guard_close(&g);
	ok(open_fds() == before && is_none(&g),
	   "guard_close() closes all four");
	return done();
}
