/* SPDX-License-Identifier: MIT */
/* Whether the servers, and this machine, are fit for locks, and what to do if
 * not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/doctor/inside.h"
#include "cli/render.h"
#include "lock/wire/rights.h"

static const char *const level_names[] = {
	[FINE] = "ok", [NOTE] = "note", [WRONG] = "wrong"};

/* ---- for people ---- */

static enum tone tone_of(const char *level)
{
	return strcmp(level, level_names[WRONG]) == 0  ? TONE_BAD
	       : strcmp(level, level_names[NOTE]) == 0 ? TONE_NOTE
						       : TONE_GOOD;
}

static void print_findings(const struct exam *e, bool quiet)
{
	struct table t;

	table_begin(&t, 4);
	t.tone = tone_of;
	t.wraps = true;
	t.whole = ~0U;
	for (int i = 0; i < e->findings; i++) {
		const struct finding *at = &e->finding[i];

		if (quiet && at->level == FINE)
			continue;
		table_cell(&t, "%s", level_names[at->level]);
		table_cell(&t, "%s", at->about);
		table_cell(&t, "%s", at->check);
		table_cell(&t, "%s%s%s", at->text, at->cure ? "  -> " : "",
			   at->cure ? at->cure : "");
	}
	(void)table_print(&t, "", stdout);
}

static void print_acl(const char *whose, const char *line)
{
	if (line)
		(void)printf("\n%s:\n%s\n", whose, line);
}

/* ---- for programs ---- */

static void json_known(struct json *j, const char *name, int64_t value)
{
	if (value == UNKNOWN)
		json_null(j, name);
	else
		json_number(j, name, value);
}

static void json_said(struct json *j, const char *name, const char *text)
{
	if (!text || text[0] == '\0')
		json_null(j, name);
	else
		json_text(j, name, text);
}

static void json_server(struct json *j, const struct facts *f)
{
	bool replicas = f->replicas >= 0;

	json_item(j);
	json_text(j, "name", f->name);
	json_bool(j, "answers", f->answers);
	if (!f->answers)
		json_text(j, "error", f->no.why.text);
	json_said(j, "software", f->software);
	json_said(j, "version", f->version);
	json_said(j, "run_id", f->run_id);
	json_said(j, "role", f->role);
	json_text(j, "user", user_of(f, "default"));
	json_bool(j, "scripts", f->answers && f->no_eval.why.kind == FAIL_NONE);
	json_known(j, "uptime_ms",
		   f->uptime_s < 0 ? UNKNOWN : f->uptime_s * 1000);
	json_known(j, "clients", f->clients);
	json_known(j, "clients_max", f->clients_max);
	json_known(j, "memory_bytes", f->memory);
	json_known(j, "memory_max_bytes", f->memory_max);
	json_said(j, "memory_policy", f->policy);
	json_known(j, "evicted", f->evicted);
	json_said(j, "appendfsync",
		  f->aof == 1   ? f->fsync
		  : f->aof == 0 ? "off"
				: NULL);
	if (f->save_known)
		json_text(j, "save", f->save);
	else
		json_null(j, "save");
	json_known(j, "replicas", f->replicas);
	json_known(j, "replicas_online",
		   replicas ? f->replicas_online : UNKNOWN);
	json_known(j, "lag_ms", f->replicas > 0 ? f->lag_s * 1000 : UNKNOWN);
	if (f->samples > 0) {
		json_number(j, "round_trip_us", f->rtt_us);
		json_number(j, "clock_ahead_us", f->ahead_us);
		json_number(j, "clock_within_us", f->nearest_us / 2 + 1);
	}
	if (f->has_certificate)
		json_number(j, "certificate_left_ms", f->certificate_s * 1000);
	json_said(j, "cluster_state", f->cluster_state);
	json_close(j);
}

static void json_all(const struct exam *e, const char *acl, const char *looking)
{
	const char *sentinel = acl_line_sentinel(e);
	struct json j = {.f = stdout};

	json_text(&j, "schema", "redlock.doctor/1");
	json_bool(&j, "well", is_well(e));
	json_list(&j, "servers");
	for (int i = 0; i < e->n; i++)
		json_server(&j, &e->facts[i]);
	json_end(&j);
	json_list(&j, "findings");
	for (int i = 0; i < e->findings; i++) {
		const struct finding *at = &e->finding[i];

		json_item(&j);
		json_text(&j, "level", level_names[at->level]);
		json_text(&j, "server", at->about);
		json_text(&j, "check", at->check);
		json_text(&j, "text", at->text);
		json_said(&j, "cure", at->cure);
		json_close(&j);
	}
	json_end(&j);
	json_text(&j, "acl", acl);
	json_text(&j, "acl_looking", looking);
	if (sentinel)
		json_text(&j, "acl_sentinel", sentinel);
	json_close(&j);
	(void)putchar('\n');
}

/* ---- all ---- */

static unsigned int needs_of(const struct servers *s, const struct opts *o)
{
	unsigned int needs = 0;

	if (s->n > 1 || servers_guard(s, o) > 0)
		needs |= NEED_GUARD;
	if (o->wait_replicas > 0)
		needs |= NEED_REPLICAS;
	for (int i = 0; i < s->n; i++) {
		if (s->endpoint[i].kind == ENDPOINT_SENTINEL)
			needs |= NEED_SENTINEL;
		if (s->endpoint[i].kind == ENDPOINT_CLUSTER)
			needs |= NEED_CLUSTER;
	}
	return needs;
}

/* A problem is 1, unless no server answers at all. */
static int status_of(const struct exam *e)
{
	for (int i = 0; i < e->n; i++)
		if (e->facts[i].answers)
			return is_well(e) ? STATUS_OK : STATUS_FREE;
	return status_of_kind(e->facts[0].no.why.kind);
}

static int print_all(const struct exam *e)
{
	char *acl = acl_line(e), *looking = acl_line_looking(e);
	bool quiet = e->o->loudness < 0, memory = acl && looking;

	if (!memory) {
		log_error("failed", "out of memory");
	} else if (e->o->json) {
		json_all(e, acl, looking);
	} else {
		print_findings(e, quiet);
		if (!quiet) {
			print_acl("What a user needs, to be typed in redis-cli",
				  acl);
			print_acl("For list, top and doctor as well", looking);
			print_acl("And at the Sentinels", acl_line_sentinel(e));
		}
	}
	free(acl);
	free(looking);
	return memory ? status_of(e) : STATUS_INTERNAL;
}

static int doctor(const struct opts *o)
{
	static struct query query;
	struct exam e = {.o = o, .servers = &query.servers};
	struct fail why;
	int status, rc = query_open(&query, o, &why);

	if (rc == 0) {
		query_once(&query);
		e.needs = needs_of(&query.servers, o);
		rc = facts_gather(&e, &query, &why);
	}
	if (rc < 0) {
		status = report_failure(&why);
	} else {
		check_trials(&e);
		check_servers(&e);
		check_sentinels(&e);
		check_keys(&e, &query);
		check_list(&e);
		check_machine(&e);
		findings_sort(&e);
		status = print_all(&e);
	}
	findings_close(&e);
	free(e.facts);
	query_close(&query);
	return render_end(status);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "[OPTIONS] [KEY]...",
	.summary = "Checks whether servers are suitable, and "
		   "says what to do",
	.example =
		{"redlock doctor deploy",
		 "redlock doctor -u redis://db1 -u redis://db2 -u redis://db3"},
	.by = BY_DOCTOR,
	.operands = OPERANDS_ANY_KEYS,
	.run = doctor,
};
