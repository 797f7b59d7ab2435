/* SPDX-License-Identifier: MIT */
/* Where the private server is, and what to do when it is not there. */
#include "local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/inside.h"
#include "proc/tree.h"

int local_path(struct endpoint *ep, struct fail *why)
{
	if (ep->dir[0] != '\0')
		(void)snprintf(ep->path, sizeof(ep->path), "%s/%s", ep->dir,
			       LOCAL_SOCKET);
	else
		(void)snprintf(ep->path, sizeof(ep->path),
			       "/tmp/redlock-%lu/%s", (unsigned long)geteuid(),
			       LOCAL_SOCKET);
	return localdir_make(ep->path, why);
}

/* Forks twice, so that the keeper is not our descendant: it must not die with
 * our tree. */
static int start_keeper(const char *path, int64_t idle_ms, int lock,
			struct instant by, struct fail *why)
{
	struct fail said;
	struct pollfd its = {.events = POLLIN};
	ssize_t n = 0;
	int ready[2], rc;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot create a pipe");
	tree_adopt(false);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			lockserver_keep(path, idle_ms, ready[1], lock);
		_exit(0);
	}
	close(ready[1]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	/* at once: what a killed guard leaves must come to us */
	tree_adopt(true);
	its.fd = ready[0];
	do
		rc = pid > 0 ? poll(&its, 1, poll_ms(by, now())) : 0;
	while (rc < 0 && errno == EINTR);
	if (rc > 0)
		n = read(ready[0], &said, sizeof(said));
	close(ready[0]);
	if (pid < 0)
		return fail_sys(why, FAIL_INTERNAL, "cannot fork");
	if (n != sizeof(said))
		return fail(why, FAIL_UNAVAILABLE,
			    "local: the private server on '%s' did not "
			    "start%s",
			    path, rc == 0 ? " in time" : "");
	if (said.kind == FAIL_NONE)
		return 0;
	*why = said;
	return -1;
}

int local_start(const char *path, int64_t idle_ms, struct instant by,
		struct fail *why)
{
	int lock, rc = 0;

	/* it may have been removed since */
	if (localdir_make(path, why) < 0)
		return -1;
	/* another redlock may be starting it, or be suspended while it does */
	lock = localdir_lock(path, sooner(by, after(now(), START_MS)));
	if (lock < 0 && errno == EWOULDBLOCK)
		return fail(why, FAIL_UNAVAILABLE,
			    "local: the private server on '%s', which another "
			    "redlock is starting, did not start in time",
			    path);
	if (lock < 0)
		return fail_sys(why, FAIL_CONFIG,
				"local: cannot lock '%s.lock'", path);
	if (!lockserver_answers(path))
		rc = start_keeper(path, idle_ms, lock, by, why);
	close(lock);
	return rc;
}
