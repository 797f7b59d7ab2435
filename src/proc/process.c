/* SPDX-License-Identifier: MIT */
/* Process numbers are used again, and each PID namespace has its own: only with
 * its start time and its namespace is a process the same one. */
#include "proc/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/ident.h"
#include "proc/title.h"
#include "proc/tree.h"

/* The machine as this namespace sees it. */
struct pid_space {
	char boot[BOOT_ID_SIZE], space[40];
};

static int find_pid_space(struct pid_space *p)
{
	ssize_t n =
		readlink("/proc/self/ns/pid", p->space, sizeof(p->space) - 1);

	p->space[n > 0 ? n : 0] = '\0';
	return n > 0 ? boot_id(p->boot) : -1;
}

/* -1: it is gone, or hidden. */
static int name_process(const struct pid_space *p, pid_t pid, pid_t *parent,
			char id[PROCESS_ID_SIZE])
{
	char text[160];
	unsigned long started;
	int n;

	if (tree_birth(pid, parent, &started) < 0)
		return -1;
	n = snprintf(text, sizeof(text), "%s %s %ld %lu", p->boot, p->space,
		     (long)pid, started);
	(void)snprintf(id, PROCESS_ID_SIZE, "%016" PRIx64,
		       hash_bytes(text, (size_t)n));
	return 0;
}

void process_id(char id[PROCESS_ID_SIZE])
{
	struct pid_space space;
	pid_t parent;

	id[0] = '\0';
	if (find_pid_space(&space) == 0)
		(void)name_process(&space, getpid(), &parent, id);
}

/* A waiter asks again and again about the same holder. A process that is no
 * ancestor never becomes one, so the last of those is remembered; but not for a
 * child of ours, nor if the walk did not come to its end. */
bool process_is_ancestor(const char *id)
{
	static char strange[PROCESS_ID_SIZE];
	static pid_t to;
	struct pid_space space;
	pid_t pid;
	char found[PROCESS_ID_SIZE];

	if (to == getpid() && strcmp(id, strange) == 0)
		return false;
	/* a /proc of another namespace has other numbers */
	if (id[0] == '\0' || tree_trouble() || find_pid_space(&space) < 0 ||
	    name_process(&space, getpid(), &pid, found) < 0)
		return false;
	while (pid > 0) {
		if (name_process(&space, pid, &pid, found) < 0)
			return false;
		if (strcmp(found, id) == 0)
			return true;
	}
	to = getpid();
	(void)snprintf(strange, sizeof(strange), "%s", id);
	return false;
}

/* ---- a process that outlives us ---- */

void process_let_go(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	const struct timespec at_once = {0, 0};
	char tool[16];
	sigset_t none, all;
	int null;

	(void)prctl(PR_SET_NAME, KEEPER, 0, 0, 0);
	(void)snprintf(tool, sizeof(tool), "%d", (int)getpid());
	title_set(KEEPER, tool);
	(void)setsid();
	(void)!chdir("/");
	descriptors_close(3, ~0U);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
	/* a service that stops must not have to wait for us; but what came
	 * while the command ran was not meant for this */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	while (sigtimedwait(&all, NULL, &at_once) > 0)
		;
	(void)sigaction(SIGTERM, &usual, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t process_leave(void)
{
	pid_t pid = fork();

	if (pid == 0)
		process_let_go();
	return pid;
}
