/* SPDX-License-Identifier: MIT */
/* Which process a descendant knows again. */
#include "proc/process.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static char ours[PROCESS_ID_SIZE];

/* Forks `depth` times, each process from the one before, and waits for them.
 * Returns what the last one finds. */
static bool knows_below(int depth, const char *id)
{
	int status = 0;
	pid_t pid;

	if (depth == 0)
		return process_is_ancestor(id);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(knows_below(depth - 1, id) ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* The id of a child that has ended. */
static void id_of_the_dead(char id[PROCESS_ID_SIZE])
{
	int line[2];
	pid_t pid;

	id[0] = '\0';
	if (pipe(line) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		char its[PROCESS_ID_SIZE];

		process_id(its);
		_exit(write(line[1], its, sizeof(its)) < 0);
	}
	if (read(line[0], id, PROCESS_ID_SIZE) < 0)
		id[0] = '\0';
	(void)waitpid(pid, NULL, 0);
	close(line[0]);
	close(line[1]);
}

/* An orphan is not below the process that was between. */
static bool orphan_knows(void)
{
	char between[PROCESS_ID_SIZE], answer = '?';
	int line[2], dead[2];
	pid_t pid;

	if (pipe(line) < 0 || pipe(dead) < 0)
		return true;
	pid = fork();
	if (pid == 0) {
		process_id(between);
		if (fork() == 0) {
			char end;

			close(line[0]);
			close(dead[1]);
			/* until the one between has ended */
			(void)!read(dead[0], &end, 1);
			answer = process_is_ancestor(between) ? 'y' : 'n';
			_exit(write(line[1], &answer, 1) != 1);
		}
		_exit(0);
	}
	close(line[1]);
	(void)waitpid(pid, NULL, 0);
	close(dead[1]);
	(void)!read(line[0], &answer, 1);
	close(line[0]);
	close(dead[0]);
	return answer != 'n';
}

int main(void)
{
	char again[PROCESS_ID_SIZE], dead[PROCESS_ID_SIZE], other[] = "0";

	process_id(ours);
	process_id(again);
	ok(strlen(ours) == PROCESS_ID_SIZE - 1 && strcmp(ours, again) == 0,
	   "a process has one id");
	id_of_the_dead(dead);
	ok(strlen(dead) == PROCESS_ID_SIZE - 1 && strcmp(dead, ours) != 0,
	   "another process has another id");
	ok(!process_is_ancestor(ours), "a process is not its own ancestor");
	ok(knows_below(1, ours), "a parent is an ancestor");
	ok(knows_below(3, ours), "so is a parent three generations up");
	ok(!knows_below(1, dead),
	   "a process that has ended is not an ancestor");
	ok(!orphan_knows(), "an orphan has lost its ancestors");
	ok(!knows_below(1, other) && !knows_below(1, ""),
	   "a malformed id is not an ancestor's");
	return done();
}
