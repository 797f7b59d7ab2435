/* SPDX-License-Identifier: MIT */
/* The run form: settings in, exit status out. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "run/local.h"
#include "run/supervise.h"
#include "run/waiting.h"

extern char **environ;

#define DEFAULT_URL "redis://127.0.0.1:6379"

struct job {
	const struct opts *o;
	const char *url;
	struct endpoint endpoint;
	struct description who;
	struct drive drive;
	struct signals signals;
	char *shell_argv[4];
	char *const *argv;
	char **envp;
	char *own[4]; /* the variables that we add, malloc'ed */
	char fence[48];
	int result_fd;
	struct ending end;
};

/* ---- where the server is ---- */

static int use_url(struct job *j, struct fail *why)
{
	const char *variable = getenv("REDLOCK_URL");
	int rc;

	if (variable && variable[0] == '\0')
		variable = NULL;
	j->url = j->o->url ? j->o->url : variable ? variable : DEFAULT_URL;
	rc = endpoint_parse(&j->endpoint, j->url, why);
	if (rc < 0 && !j->o->url) {
		char text[sizeof(why->text)];

		memcpy(text, why->text, sizeof(text));
		return fail(why, FAIL_CONFIG, "REDLOCK_URL: %.300s", text);
	}
	if (rc < 0)
		return rc;
	if (!j->o->url && !variable)
		log_notice("default-url",
			   "no -u and no REDLOCK_URL: using %s; a server on "
			   "each machine is a lock on each machine",
			   DEFAULT_URL);
	if (j->endpoint.kind != ENDPOINT_LOCAL)
		return 0;
	return local_path(getenv("XDG_RUNTIME_DIR"), j->endpoint.path,
			  sizeof(j->endpoint.path), why);
}

static int use_password(struct job *j, struct fail *why)
{
	struct endpoint *ep = &j->endpoint;
	const char *variable = getenv("REDISCLI_AUTH");
	char secret[PASSWORD_MAX];
	bool has;

	if (j->o->user)
		(void)snprintf(ep->user, sizeof(ep->user), "%s", j->o->user);
	ep->password_file = j->o->password_file;
	/* the private server has none: that password is for another one */
	if (!ep->has_password && !ep->password_file && variable &&
	    variable[0] != '\0' && ep->kind != ENDPOINT_LOCAL) {
		if (strlen(variable) >= PASSWORD_MAX)
			return fail(why, FAIL_CONFIG,
				    "REDISCLI_AUTH: longer than %d bytes",
				    PASSWORD_MAX - 1);
		memcpy(ep->password, variable, strlen(variable) + 1);
		ep->has_password = true;
	}
	/* a file that cannot be read is best said before anything else */
	if (ep->password_file)
		return endpoint_password(ep, secret, &has, why);
	if (ep->user[0] != '\0' && !ep->has_password)
		return fail(why, FAIL_CONFIG,
			    "user '%s' without a password: give "
			    "--password-file or REDISCLI_AUTH",
			    ep->user);
	return 0;
}

/* ---- what the command gets ---- */

static void use_command(struct job *j)
{
	char *shell = getenv("SHELL");

	j->argv = j->o->command;
	if (!j->o->shell_command)
		return;
	j->shell_argv[0] = shell && shell[0] == '/' ? shell : "/bin/sh";
	j->shell_argv[1] = "-c";
	j->shell_argv[2] = (char *)j->o->shell_command;
	j->argv = j->shell_argv;
}

static char *variable(const char *name, const char *value)
{
	size_t n = strlen(name) + strlen(value) + 2;
	char *text = malloc(n);

	if (text)
		(void)snprintf(text, n, "%s=%s", name, value);
	return text;
}

/* The user's environment with our variables in place of older ones; the fence
 * comes last, for it is not known yet. */
static int use_environment(struct job *j, struct fail *why)
{
	static const char *const ours[] = {"REDLOCK_KEY=", "REDLOCK_TOKEN=",
					   "REDLOCK_URL=", "REDLOCK_FENCE="};
	size_t n = 0, used = 0;

	while (environ[n])
		n++;
	j->envp = malloc((n + 5) * sizeof(*j->envp));
	j->own[0] = variable("REDLOCK_KEY", j->o->key);
	j->own[1] = variable("REDLOCK_TOKEN", j->drive.token);
	j->own[2] = variable("REDLOCK_URL", j->url);
	if (!j->envp || !j->own[0] || !j->own[1] || !j->own[2])
		return fail(why, FAIL_INTERNAL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		bool old = false;

		for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++)
			old |= strncmp(environ[i], ours[k], strlen(ours[k])) ==
			       0;
		if (!old)
			j->envp[used++] = environ[i];
	}
	for (size_t k = 0; k < 3; k++)
		j->envp[used++] = j->own[k];
	(void)snprintf(j->fence, sizeof(j->fence), "REDLOCK_FENCE=");
	j->envp[used++] = j->fence;
	j->envp[used] = NULL;
	return 0;
}

/* ---- how it ended ---- */

static int status_of_kind(enum fail_kind kind)
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

static int status_of(const struct job *j)
{
	const struct ending *e = &j->end;

	switch (e->outcome) {
	case OUTCOME_RAN:
		return WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status)
					      : WEXITSTATUS(e->status);
	case OUTCOME_BUSY:
	case OUTCOME_FULL:
	case OUTCOME_SUPERSEDED:
		return j->o->conflict_status;
	case OUTCOME_GAVE_UP:
		return 128 + e->sig;
	case OUTCOME_LOST:
		return STATUS_LOST;
	case OUTCOME_CANNOT_EXEC:
		return e->status == ENOENT ? STATUS_NOT_FOUND
					   : STATUS_CANNOT_EXEC;
	case OUTCOME_UNAVAILABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_FAILED:
		break;
	}
	return status_of_kind(e->why.kind);
}

static void say_ending(const struct job *j)
{
	const struct ending *e = &j->end;
	char text[860];

	switch (e->outcome) {
	case OUTCOME_RAN:
	case OUTCOME_LOST: /* said when it happened */
		break;
	case OUTCOME_BUSY:
		log_error("not-acquired", "not acquired%s: held by %s",
			  j->o->wait_ms ? " in time" : "",
			  describe_holder(&j->drive.sight, 0, text,
					  sizeof(text)));
		break;
	case OUTCOME_FULL:
		log_error("not-acquired",
			  "not acquired: the line is full (--max-waiters "
			  "%lld)",
			  (long long)j->o->max_waiters);
		break;
	case OUTCOME_SUPERSEDED:
		log_error("superseded", "not acquired: superseded by %s",
			  describe_name(&j->drive.sight, text, sizeof(text)));
		break;
	case OUTCOME_GAVE_UP:
		log_notice("gave-up",
			   "gave up waiting (signal %d); nothing was run",
			   e->sig);
		break;
	case OUTCOME_CANNOT_EXEC:
		log_error("cannot-execute", "cannot execute '%s': %s",
			  format_bytes(j->argv[0], strlen(j->argv[0]), text,
				       sizeof(text)),
			  strerror(e->status));
		break;
	case OUTCOME_UNAVAILABLE:
		log_error("unavailable", "%s%s", e->why.text,
			  j->url != j->o->url && !getenv("REDLOCK_URL")
				  ? "; name a server with -u or REDLOCK_URL, "
				    "or use -u local: for locks on this "
				    "machine alone"
				  : "");
		break;
	case OUTCOME_REFUSED:
	case OUTCOME_FAILED:
		log_error("failed", "%s", e->why.text);
		break;
	}
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
	case OUTCOME_LOST:
		return "lost";
	case OUTCOME_CANNOT_EXEC:
	case OUTCOME_FAILED:
		return "failed";
	case OUTCOME_UNAVAILABLE:
	case OUTCOME_REFUSED:
		return "unavailable";
	}
	return "failed";
}

static int open_result(struct job *j, struct fail *why)
{
	j->result_fd = -1;
	if (!j->o->result_file)
		return 0;
	j->result_fd = open(j->o->result_file,
			    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (j->result_fd < 0)
		return fail_sys(why, FAIL_CONFIG, "--result-file '%s'",
				j->o->result_file);
	return 0;
}

static void write_result(const struct job *j, int status)
{
	char *line = NULL;
	size_t n = 0;
	struct json out = {0};

	if (j->result_fd < 0)
		return;
	out.f = open_memstream(&line, &n);
	if (!out.f)
		return;
	json_text(&out, "schema", "redlock.result/1");
	json_text(&out, "outcome", outcome_name(j, status));
	json_number(&out, "exit", status);
	json_bytes(&out, "key", j->o->key, strlen(j->o->key));
	if (j->end.fence > 0)
		json_number(&out, "fence", j->end.fence);
	json_text(&out, "token", j->drive.token);
	json_text(&out, "scope",
		  j->endpoint.kind == ENDPOINT_LOCAL ? "host" : "shared");
	json_number(&out, "waited_ms", j->end.waited_ms);
	json_number(&out, "held_ms", j->end.held_ms);
	json_close(&out);
	(void)fputc('\n', out.f);
	if (fclose(out.f) == 0) {
		(void)!ftruncate(j->result_fd, 0);
		if (write(j->result_fd, line, n) != (ssize_t)n)
			log_error("result-file", "--result-file '%s': %s",
				  j->o->result_file, strerror(errno));
	}
	free(line);
	close(j->result_fd);
}

/* ---- the job ---- */

static int prepare(struct job *j, struct fail *why)
{
	const struct opts *o = j->o;
	const struct lease_conf conf = {.nodes = 1,
					.ttl_ms = o->ttl_ms,
					.node_timeout_ms = o->node_timeout_ms,
					.wait_ms = o->wait_ms,
					.max_waiters = o->max_waiters,
					.supersede = o->supersede};

	use_command(j);
	describe(&j->who, o, j->argv[0]);
	if (use_url(j, why) < 0 || use_password(j, why) < 0 ||
	    open_result(j, why) < 0 || signals_open(&j->signals, why) < 0 ||
	    drive_init(&j->drive, &j->endpoint, o->key, strlen(o->key),
		       &j->who.holder, &conf, why) < 0 ||
	    use_environment(j, why) < 0)
		return -1;
	return 0;
}

static void inherit(void *arg, bool ran)
{
	drive_inherit(arg, ran);
}

static void run(struct job *j)
{
	const struct supervise_conf conf = {.grace_ms = j->o->grace_ms,
					    .run_anyway = j->o->run_anyway};
	struct order order = {.argv = j->argv,
			      .envp = j->envp,
			      .fence = j->fence,
			      .signals = &j->signals,
			      .group = getpgrp(),
			      .name = j->drive.shown_key,
			      .last_will = inherit,
			      .estate = &j->drive};

	supervise(&j->drive, &conf, &order, &j->signals, &j->end);
}

/* A shell that sees its child die of SIGINT knows that the user interrupted
 * it; an exit status of 130 does not say so. */
static void die_as_told(const struct job *j)
{
	const struct ending *e = &j->end;

	if (e->sig == 0)
		return;
	if (e->outcome == OUTCOME_GAVE_UP)
		signals_die(e->sig);
	if (e->outcome == OUTCOME_RAN && WIFSIGNALED(e->status) &&
	    WTERMSIG(e->status) == e->sig)
		signals_die(e->sig);
}

int cmd_run(const struct opts *o)
{
	static struct job j;
	struct fail why;
	int status;

	j.o = o;
	if (prepare(&j, &why) < 0) {
		log_error("failed", "%s", why.text);
		return status_of_kind(why.kind);
	}
	log_key(j.drive.shown_key, o->key, strlen(o->key));
	run(&j);
	status = status_of(&j);
	say_ending(&j);
	write_result(&j, status);
	die_as_told(&j);
	return status;
}
