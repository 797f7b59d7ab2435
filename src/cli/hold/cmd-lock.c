/* SPDX-License-Identifier: MIT */
/*
 * lock: takes the lock for a script or a person, and prints what `unlock`
 * needs. It is the run form with a part of redlock in place of the command,
 * which prints the answer, and then waits, or does not.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/hold/inside.h"
#include "cli/query.h"
#include "cli/render.h"

#define HOLD_DRAW_MS 1000

struct lock_run {
	struct job job;
	struct keeper keeper;
};

/* ---- the answer ---- */

static void add_variables(FILE *f, char *const *envp)
{
	for (int i = 0; i < VARIABLES_N; i++) {
		size_t n = strlen(variable_names[i]);

		for (char *const *e = envp; *e; e++) {
			if (strncmp(*e, variable_names[i], n) != 0)
				continue;
			(void)fprintf(f, "export %s", variable_names[i]);
			put_quoted(f, *e + n);
			(void)putc('\n', f);
		}
	}
}

/* Printed first, before any wait, this ends the script: we may be killed, and
 * then nothing else comes. What is printed next turns it into an assignment. */
#define UNLESS "(exit 70) || exit"
#define LOCKED "_unless_locked=\n"

static bool begun;

static int begin(const struct opts *o, struct fail *why)
{
	if (!o->export)
		return 0;
	begun = true;
	if (fputs(UNLESS, stdout) < 0 || fflush(stdout) != 0)
		return fail(why, FAIL_INTERNAL,
			    "standard output: cannot write");
	return 0;
}

/* Returns the text to print, which the caller frees. NULL: out of memory. */
static char *answer_of(const struct lock_run *t)
{
	const struct job *j = &t->job;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	if (j->o->export) {
		(void)fputs(LOCKED, f);
		add_variables(f, j->variables.envp);
	} else {
		(void)fprintf(f, "%s\n", strchr(j->variables.token, '=') + 1);
	}
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* So that the rest of a script does not run without the lock, and a person's
 * shell goes on. */
static void print_refusal(int status)
{
	if (status == STATUS_OK)
		return;
	(void)printf("%sunset REDLOCK_KEY REDLOCK_TOKEN REDLOCK_FENCE "
		     "REDLOCK_SLOT REDLOCK_SLOT_NAME REDLOCK_FENCES\n"
		     "case $- in *i*) (exit %d) ;; *) exit %d ;; esac\n",
		     begun ? LOCKED : "", status, status);
	(void)fflush(stdout);
}

static int refuse(const struct opts *o, int status)
{
	if (o->export)
		print_refusal(status);
	return status;
}

static void refuse_all(char *const *argv, int status)
{
	for (; *argv; argv++)
		if (strcmp(*argv, "--export") == 0) {
			print_refusal(status);
			return;
		}
}

static int print(const char *answer)
{
	if (answer && fputs(answer, stdout) >= 0 && fflush(stdout) == 0)
		return STATUS_OK;
	log_error("stdout",
		  "standard output: cannot write; the lock is released");
	return STATUS_INTERNAL;
}

/* ---- in the command's place ---- */

/* In $(...), the shell waits for its end. */
static void let_go_of_stdout(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		(void)dup2(null, STDOUT_FILENO);
}

/* Tells a person that the lock is held, how to end that, and who wants it.
 * Ended by a signal, or when the user is gone, like keeper_hold(). */
static void hold_live(const struct lock_run *t, const struct user *user)
{
	static struct query query;
	const char *key = t->job.o->key[0];
	struct instant began = now();
	struct fail why;

	query.servers = t->job.servers;
	if (fanout_open(&query.fanout, query.servers.endpoint, query.servers.n,
			servers_timeout(&query.servers, t->job.o->ttl_ms),
			&why) < 0)
		return;
	while (!user_gone(user)) {
		struct snapshot seen = {0};
		char text[120], took[32], waiting[48] = "";

		if (log_is_live() &&
		    query_lock(&query, key, strlen(key), &(struct view_most){0},
			       &seen, &why) == 0)
			(void)snprintf(waiting, sizeof(waiting),
				       "; %lld waiting",
				       (long long)seen.view.in_line);
		snapshot_close(&seen);
		(void)snprintf(text, sizeof(text),
			       "holding %s; Ctrl-C releases it%s",
			       format_seconds(between(began, now()), took,
					      sizeof(took)),
			       waiting);
		log_live(text);
		fanout_poll(&query.fanout, NULL, 0, after(now(), HOLD_DRAW_MS));
	}
}

static int hand_out(void *arg)
{
	const struct lock_run *t = arg;
	const struct sigaction ignored = {.sa_handler = SIG_IGN};
	struct user user;
	char *answer = answer_of(t);
	int status;

	(void)sigaction(SIGPIPE, &ignored, NULL);
	if (t->job.kept) {
		status = answer && keeper_hand(t->job.kept, answer)
				 ? STATUS_OK
				 : STATUS_INTERNAL;
		free(answer);
		return status == STATUS_OK ? keeper_wait(t->job.kept) : status;
	}
	status = print(answer);
	free(answer);
	if (status != STATUS_OK || !t->job.o->hold)
		return status;
	user_open(&user);
	let_go_of_stdout();
	if (log_is_live())
		hold_live(t, &user);
	return keeper_hold(&user);
}

/* ---- lock ---- */

/* What --export prints is for sh. fish would say nothing that helps, and a
 * script would go on. */
#define FOR_FISH                                                               \
	"--export prints lines for sh, bash and zsh; in fish: set -gx "        \
	"REDLOCK_TOKEN (redlock lock KEY --keep-for $fish_pid); or exit"
#define REFUSE_FISH "status is-interactive; or exit %d;\n"

/* The name of a process; "lock" if it cannot be read. */
static void name_of(pid_t pid, char name[32])
{
	char path[40];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 32, f))
		(void)snprintf(name, 32, "lock");
	if (f)
		(void)fclose(f);
	name[strcspn(name, "\n")] = '\0';
}

/* A person has ended the hold: who has the lock now. */
static void say_released(const struct job *j)
{
	struct query query = {.servers = j->servers};
	const char *key = j->o->key[0];
	struct snapshot seen = {0};
	struct sight next = {0};
	char took[32];
	struct fail why;

	if (!locks_freed(&j->locks))
		return; /* it was said */
	if (locks_passed_on(&j->locks) &&
	    fanout_open(&query.fanout, query.servers.endpoint, query.servers.n,
			servers_timeout(&query.servers, j->o->ttl_ms),
			&why) == 0 &&
	    query_lock(&query, key, strlen(key),
		       &(struct view_most){.holders = 1}, &seen, &why) == 0)
		view_sight(&seen.view, &next);
	log_notice("released", "released after %s%s%s%s%s",
		   format_duration(j->end.held_ms, took, sizeof(took)),
		   next.about[ABOUT_HOST][0] ? "; next in line: " : "",
		   next.about[ABOUT_USER], next.about[ABOUT_USER][0] ? "@" : "",
		   next.about[ABOUT_HOST]);
	snapshot_close(&seen);
	fanout_close(&query.fanout);
}

/* Runs in the process that holds, or that takes the lock and leaves it. */
static int take_locks(struct lock_run *t, pid_t whose)
{
	struct job *j = &t->job;
	const struct opts *o = j->o;
	int64_t most = o->ttl_ms / 2;
	struct hold_conf conf = {.signal = SIGTERM,
				 .by_hand = true,
				 .leave = !o->hold && o->keep_for == 0,
				 .kept = o->keep_for ? &t->keeper : NULL,
				 .max_hold_ms = o->max_hold_ms};
	struct order order = {.instead = hand_out,
			      .if_killed = conf.kept ? t->keeper.will
						     : "the lock is released"};
	char name[32], command[64];
	struct fail why;

	if (conf.kept) { /* a hold needs no time to end */
		conf.grace_ms = o->grace_ms < most ? o->grace_ms : most;
		conf.kill_after_ms = o->grace_ms;
	}
	name_of(whose, name);
	(void)snprintf(command, sizeof(command),
		       o->hold ? "lock --hold (%s)" : "%s", name);
	j->by_hand = true;
	if (job_prepare(j, command, &why) < 0)
		return refuse(o, report_failure(&why));
	if (o->hold)
		log_beside();
	job_run(j, &conf, &order);
	log_live("");
	job_say_ending(j);
	if (o->hold && job_status(j) == 128 + SIGHUP && j->end.sig == 0)
		log_notice("hung-up",
			   "standard input and output have hung up; the lock "
			   "is released");
	else if (o->hold && j->end.outcome == OUTCOME_RAN)
		say_released(j);
	return job_status(j);
}

static int check(struct lock_run *t, struct fail *why)
{
	const struct opts *o = t->job.o;
	int sig = o->on_lost ? keeper_signal_named(o->on_lost) : SIGTERM;

	if (o->hold && o->keep_for)
		return fail(why, FAIL_USAGE,
			    "--hold and --keep-for cannot be combined");
	if (o->on_lost && !o->keep_for)
		return fail(why, FAIL_USAGE, "--on-lost needs --keep-for");
	if (!o->hold && !o->keep_for &&
	    (opt_typed(o, &o->max_hold_ms) || opt_typed(o, &o->max_renewals)))
		return fail(why, FAIL_USAGE,
			    "--max-hold and --max-renewals need --hold or "
			    "--keep-for: otherwise nothing is renewed");
	if (sig < 0)
		return fail(why, FAIL_USAGE,
			    "--on-lost '%.40s': must be one of TERM, HUP, INT, "
			    "KILL, USR1, USR2, QUIT, none",
			    o->on_lost);
	if (o->keep_for &&
	    keeper_open(&t->keeper, (pid_t)o->keep_for, sig, why) < 0)
		return -1;
	return job_find(&t->job, why);
}

static int lock(const struct opts *o)
{
	static struct lock_run t; /* most of it is never touched */
	struct fail why;
	pid_t keeper = 0;
	char *answer, parent[32];
	int status;

	t.job.o = o;
	if (o->export) {
		name_of(getppid(), parent);
		if (strcmp(parent, "fish") == 0) {
			log_error("failed", "%s", FOR_FISH);
			(void)printf(REFUSE_FISH, STATUS_USAGE);
			return STATUS_USAGE;
		}
	}
	if (begin(o, &why) < 0 || check(&t, &why) < 0)
		goto failed;
	if (o->keep_for) {
		keeper = keeper_leave(&t.keeper, &why);
		if (keeper < 0)
			goto failed;
	}
	if (keeper == 0) {
		status = take_locks(&t, o->keep_for ? o->keep_for : getppid());
		if (!o->keep_for)
			(void)refuse(o, t.job.end.given.n > 0 ? 0 : status);
		job_die(&t.job);
		return status;
	}
	answer = keeper_answer(&t.keeper, keeper, &status);
	if (!answer)
		return refuse(o, status);
	status = print(answer);
	if (status == STATUS_OK)
		keeper_thank(&t.keeper);
	free(answer);
	return status;
failed:
	return refuse(o, report_failure(&why));
}

const struct command cmd_lock = {
	.name = "lock",
	.usage = "[OPTIONS] KEY",
	.summary = "Takes a lock, and prints its token for unlock and extend",
	.example = {"redlock lock deploy --hold --reason \"looking into it\"",
		    "eval \"$(redlock lock deploy --keep-for $$ --export || "
		    "echo exit $?)\""},
	.by = BY_LOCK,
	.operands = OPERANDS_KEY,
	.run = lock,
	.refuse = refuse_all,
};
