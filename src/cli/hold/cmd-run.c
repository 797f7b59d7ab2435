/* SPDX-License-Identifier: MIT */
/* The run form: settings in, exit status out. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json.h"
#include "base/log.h"
#include "base/page.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/hold/inside.h"

/* ---- --result-file: the outcome as one line of JSON ---- */

struct result {
	const char *outcome;
	int status;
	const char *key, *token;
	int64_t fence; /* -1: none */
	int slot;      /* -1: none */
	const char *slot_names;
	int servers;
	bool host_only;
	int64_t waited_ms, held_ms;
};

/* Called before anything is done, to report early that the file cannot be
 * written. The file keeps its contents until result_write(). path NULL: no file
 * is wanted, *fd is -1. */
static int result_open(int *fd, const char *path, struct fail *why)
{
	*fd = -1;
	if (!path)
		return 0;
	*fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		   0600); /* the token is the right to unlock */
	if (*fd < 0)
		return fail_sys(why, FAIL_CONFIG, "--result-file '%s'", path);
	return 0;
}

static void result_print(FILE *f, const struct result *r)
{
	struct json out = {.f = f};
	char shown[SLOT_NAME_SHOWN];
	size_t len;
	const char *name = slot_name(r->slot_names, r->slot, &len);

	json_text(&out, "schema", "redlock.result/1");
	json_text(&out, "outcome", r->outcome);
	json_number(&out, "exit", r->status);
	json_bytes(&out, "key", r->key, strlen(r->key));
	if (r->fence >= 0)
		json_number(&out, "fence", r->fence);
	if (r->slot >= 0)
		json_number(&out, "slot", r->slot);
	if (name && r->slot >= 0)
		json_text(&out, "slot_name",
			  format_bytes(name, len, shown, sizeof(shown)));
	if (r->token[0] != '\0')
		json_text(&out, "token", r->token);
	json_text(&out, "scope", r->host_only ? "host" : "shared");
	if (r->servers > 1)
		json_number(&out, "servers", r->servers);
	json_number(&out, "waited_ms", r->waited_ms);
	json_number(&out, "held_ms", r->held_ms);
	json_close(&out);
	(void)fputc('\n', f);
}

static void result_write(int fd, const char *path, const struct result *r)
{
	char *line = NULL;
	size_t n = 0;
	FILE *f;

	if (fd < 0)
		return;
	f = open_memstream(&line, &n);
	if (!f)
		return;
	result_print(f, r);
	if (fclose(f) == 0) {
		(void)!ftruncate(fd, 0);
		if (write(fd, line, n) != (ssize_t)n)
			log_error("result-file", "--result-file '%s': %s", path,
				  strerror(errno));
	}
	free(line);
	close(fd);
}

/* ---- the run ---- */

struct run {
	int result_fd;
	char *shell_argv[4];
	struct job job; /* the guard's end lies far ahead */
};

/* sudo and su set SHELL to that of the account, which for a service is a
 * program that keeps people out. */
static bool is_shell(const char *path)
{
	static const char *const none[] = {"nologin",  "false",    "true",
					   "sync",     "shutdown", "halt",
					   "git-shell"};
	const char *name = path ? strrchr(path, '/') : NULL;
	struct stat st;

	if (!name || path[0] != '/')
		return false;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (strcmp(name + 1, none[i]) == 0)
			return false;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

static void use_command(struct run *r)
{
	char *shell = getenv("SHELL");

	r->job.argv = r->job.o->command;
	if (!r->job.o->shell_command)
		return;
	r->shell_argv[0] = is_shell(shell) ? shell : "/bin/sh";
	r->shell_argv[1] = "-c";
	r->shell_argv[2] = (char *)r->job.o->shell_command;
	r->job.argv = r->shell_argv;
}

static void write_result(const struct run *r, int status)
{
	const struct job *j = &r->job;
	const struct grants *given = &j->end.given;
	int at = j->at[0];
	const struct granted *g = given->n > 0 ? &given->lock[at] : NULL;
	const struct result result = {
		.outcome = job_outcome(j, status),
		.status = status,
		.key = j->o->key[0],
		.fence = g ? g->fence : -1,
		.slot = g && (j->o->slots > 1 || j->o->slot_names) ? g->slot
								   : -1,
		.slot_names = j->o->slot_names,
		.token = g ? held_token(g, job_outer(&j->client[at]))
			 : j->client && !j->end.without_lock
				 ? j->client[at].token
				 : "",
		.servers = j->servers.n,
		.host_only = j->servers.endpoint &&
			     j->servers.endpoint[0].kind == ENDPOINT_LOCAL,
		.waited_ms = j->end.waited_ms,
		.held_ms = j->end.held_ms};

	result_write(r->result_fd, j->o->result_file, &result);
}

static int prepare(struct run *r, struct fail *why)
{
	use_command(r);
	if (result_open(&r->result_fd, r->job.o->result_file, why) < 0 ||
	    job_find(&r->job, why) < 0 ||
	    job_prepare(&r->job, r->job.argv[0], why) < 0)
		return -1;
	return 0;
}

static void run(struct job *j)
{
	const struct opts *o = j->o;
	int64_t grace =
		o->grace_ms < o->ttl_ms / 2 ? o->grace_ms : o->ttl_ms / 2;
	struct hold_conf conf = {.signal = o->signal,
				 .grace_ms = grace,
				 .kill_after_ms = o->grace_ms,
				 .max_hold_ms = o->max_hold_ms,
				 .orphans = o->orphans,
				 .run_anyway = o->run_anyway};
	struct order order = {.argv = j->argv, .if_killed = "command killed"};

	job_run(j, &conf, &order);
}

static int run_form(const struct opts *o)
{
	static PAGE_ALIGNED struct run r; /* most of it is never touched */
	struct fail why;
	int status;

	r.job.o = o;
	if (prepare(&r, &why) < 0) {
		status = report_failure(&why);
		r.job.end.outcome = OUTCOME_FAILED;
		write_result(&r, status);
		return status;
	}
	run(&r.job);
	status = job_status(&r.job);
	job_say_ending(&r.job);
	write_result(&r, status);
	job_die(&r.job);
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks in exit(3) */
	/* standard output was the command's alone; exit(3) would touch eight
	 * pages to find that out */
	_exit(status);
#endif
	return status;
}

const struct command cmd_run = {
	.name = "",
	.usage = "[OPTIONS] -k KEY [--] COMMAND [ARG]...",
	.summary = "Runs COMMAND while holding the lock KEY in Redis, on one "
		   "machine or many.",
	.example = {"redlock -k backup -- ./backup.sh",
		    "redlock -k deploy -w 10m --reason v42 -- ./deploy.sh v42"},
	.by = BY_RUN,
	.operands = OPERANDS_COMMAND,
	.run = run_form,
};
