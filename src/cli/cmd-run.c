/* SPDX-License-Identifier: MIT */
/* The run form: settings in, exit status out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/held.h"
#include "cli/job.h"
#include "cli/result.h"

struct run {
	struct job job;
	char *shell_argv[4];
	int result_fd;
};

static void use_command(struct run *r)
{
	char *shell = getenv("SHELL");

	r->job.argv = r->job.o->command;
	if (!r->job.o->shell_command)
		return;
	r->shell_argv[0] = shell && shell[0] == '/' ? shell : "/bin/sh";
	r->shell_argv[1] = "-c";
	r->shell_argv[2] = (char *)r->job.o->shell_command;
	r->job.argv = r->shell_argv;
}

int status_of_kind(enum fail_kind kind)
{
	switch (kind) {
	case FAIL_NONE:
	case FAIL_INTERNAL:
		return STATUS_INTERNAL;
	case FAIL_USAGE:
		return STATUS_USAGE;
	case FAIL_CONFIG:
		return STATUS_CONFIG;
	case FAIL_UNAVAILABLE:
		return STATUS_UNAVAILABLE;
	case FAIL_REFUSED:
		return STATUS_REFUSED;
	}
	return STATUS_INTERNAL;
}

static const char *outcome_name(const struct job *j, int status)
{
	switch (j->end.outcome) {
	case OUTCOME_RAN:
		return status == 0 ? "ran" : "failed";
	case OUTCOME_FULL:
		return "busy";
	case OUTCOME_SUPERSEDED:
		return "superseded";
	case OUTCOME_BUSY:
	case OUTCOME_GAVE_UP:
		return j->o->wait_ms == 0 ? "busy" : "timeout";
	case OUTCOME_ALREADY:
		return "already-ran";
	case OUTCOME_MAX_HOLD:
		return "max-hold";
	case OUTCOME_LOST:
		return "lost";
	case OUTCOME_INSIDE:
	case OUTCOME_CANNOT_EXEC:
	case OUTCOME_FAILED:
		return "failed";
	case OUTCOME_UNAVAILABLE:
	case OUTCOME_REFUSED:
		return "unavailable";
	}
	return "failed";
}

static void write_result(const struct run *r, int status)
{
	const struct job *j = &r->job;
	const struct grants *given = &j->end.given;
	int at = j->at[0];
	const struct granted *g = given->n > 0 ? &given->lock[at] : NULL;
	const struct result result = {
		.outcome = outcome_name(j, status),
		.status = status,
		.key = j->o->key[0],
		.fence = g ? g->fence : -1,
		.slot = g && j->o->slots > 1 ? g->slot : -1,
		.token = g ? held_token(g, job_outer(&j->drive[at]))
			   : j->drive[at].token,
		.servers = j->servers.n,
		.host_only = j->servers.endpoint[0].kind == ENDPOINT_LOCAL,
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
	const struct supervise_conf conf = {.grace_ms = grace,
					    .kill_after_ms = o->grace_ms,
					    .max_hold_ms = o->max_hold_ms,
					    .orphans = o->orphans,
					    .run_anyway = o->run_anyway};
	struct order order = {.argv = j->argv,
			      .epitaph = "no process of its command is left"};

	job_run(j, &conf, &order);
}

int cmd_run(const struct opts *o)
{
	static struct run r; /* most of it is never touched */
	struct fail why;
	int status;

	r.job.o = o;
	if (prepare(&r, &why) < 0) {
		log_error("failed", "%s", why.text);
		r.job.end.outcome = OUTCOME_FAILED;
		status = status_of_kind(why.kind);
		write_result(&r, status);
		return status;
	}
	run(&r.job);
	status = job_status(&r.job);
	job_say_ending(&r.job);
	write_result(&r, status);
	job_die(&r.job);
	return status;
}
