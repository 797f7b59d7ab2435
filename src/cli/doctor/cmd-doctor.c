/* SPDX-License-Identifier: MIT */
/* Whether the servers, and this machine, are fit for locks, and what to do if
 * not. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "cli/render.h"
#include "lock/wire/rights.h"

#define TEXT_MAX 1000

const char *level_name(enum level level)
{
	static const char *const names[] = {[LEVEL_OK] = "ok",
					    [LEVEL_NOTE] = "note",
					    [LEVEL_WRONG] = "wrong"};

	return names[level];
}

/* NULL: no memory */
static char *safe_copy(const char *text)
{
	char safe[TEXT_MAX];

	return strdup(format_bytes(text, strlen(text), safe, sizeof(safe)));
}

__attribute__((format(printf, 1, 0))) static char *formatted(const char *fmt,
							     va_list ap)
{
	char text[TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	return safe_copy(text);
}

/* NULL: no memory */
static struct finding *next(struct findings *f)
{
	int room = f->room * 2 + 32;
	struct finding *more;

	if (f->n == f->room) {
		more = realloc(f->at, (size_t)room * sizeof(*more));
		if (!more)
			return NULL;
		f->at = more;
		f->room = room;
	}
	return &f->at[f->n];
}

void found(struct findings *f, enum level level, const char *server,
	   const char *check, const char *fmt, ...)
{
	struct finding *at = next(f);
	va_list ap;

	if (!at) {
		f->incomplete = true;
		return;
	}
	*at = (struct finding){
		.level = level, .check = check, .server = safe_copy(server)};
	va_start(ap, fmt);
	at->text = formatted(fmt, ap);
	va_end(ap);
	if (at->server && at->text) {
		f->n++;
		return;
	}
	free(at->server);
	free(at->text);
	f->incomplete = true;
}

void cure(struct findings *f, const char *fmt, ...)
{
	va_list ap;

	if (f->incomplete || f->n == 0 || f->at[f->n - 1].cure)
		return;
	va_start(ap, fmt);
	f->at[f->n - 1].cure = formatted(fmt, ap);
	va_end(ap);
}

void findings_group(struct findings *f)
{
	int end = 0; /* of the group that grows */

	for (int first = 0; first < f->n; first = end) {
		end = first + 1;
		for (int i = end; i < f->n; i++) {
			struct finding one = f->at[i];

			if (strcmp(one.server, f->at[first].server) != 0)
				continue;
			memmove(&f->at[end + 1], &f->at[end],
				(size_t)(i - end) * sizeof(one));
			f->at[end++] = one;
		}
	}
}

bool findings_well(const struct findings *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->at[i].level == LEVEL_WRONG)
			return false;
	return !f->incomplete;
}

void findings_close(struct findings *f)
{
	for (int i = 0; i < f->n; i++) {
		free(f->at[i].server);
		free(f->at[i].text);
		free(f->at[i].cure);
	}
	free(f->at);
	*f = (struct findings){0};
}

/* ---- for people ---- */

static enum tone tone_of(const char *level)
{
	if (strcmp(level, level_name(LEVEL_WRONG)) == 0)
		return TONE_BAD;
	return strcmp(level, level_name(LEVEL_NOTE)) == 0 ? TONE_NOTE
							  : TONE_GOOD;
}

static void print_findings(const struct findings *f, bool quiet)
{
	struct table t;

	table_begin(&t, 4);
	t.tone = tone_of;
	t.wraps = true;
	t.whole = ~0U;
	for (int i = 0; i < f->n; i++) {
		const struct finding *at = &f->at[i];

		if (quiet && at->level == LEVEL_OK)
			continue;
		table_cell(&t, "%s", level_name(at->level));
		table_cell(&t, "%s", at->server);
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

static void print_acls(const struct exam *e, const char *acl,
		       const char *looking)
{
	print_acl("What a user needs, to be typed in redis-cli", acl);
	print_acl("For list, top and doctor as well", looking);
	print_acl("And at the Sentinels", acl_line_sentinel(e));
}

/* ---- for programs ---- */

static void json_known(struct json *j, const char *name, int64_t value)
{
	if (value == UNKNOWN)
		json_null(j, name);
	else
		json_number(j, name, value);
}

static void json_word_or_null(struct json *j, const char *name,
			      const char *text)
{
	if (text[0] == '\0')
		json_null(j, name);
	else
		json_text(j, name, text);
}

static void json_memory(struct json *j, const struct facts *s)
{
	json_known(j, "memory_bytes", s->memory);
	json_known(j, "memory_max_bytes", s->memory_max);
	json_word_or_null(j, "memory_policy", s->policy);
	json_known(j, "evicted", s->evicted);
	json_word_or_null(j, "appendfsync",
			  s->aof == 1   ? s->fsync
			  : s->aof == 0 ? "off"
					: "");
	if (s->save_known)
		json_text(j, "save", s->save);
	else
		json_null(j, "save");
}

static void json_server(struct json *j, const struct facts *s)
{
	json_item(j);
	json_text(j, "name", s->name);
	json_bool(j, "answers", s->answers);
	if (!s->answers)
		json_text(j, "error", s->why.text);
	json_word_or_null(j, "software", s->software);
	json_word_or_null(j, "version", s->version);
	json_word_or_null(j, "run_id", s->run_id);
	json_word_or_null(j, "role", s->role);
	json_text(j, "user", user_of(s, "default"));
	json_bool(j, "scripts", s->answers && s->scripts.kind == FAIL_NONE);
	json_known(j, "uptime_ms",
		   s->uptime_s < 0 ? UNKNOWN : s->uptime_s * 1000);
	json_known(j, "clients", s->clients);
	json_known(j, "clients_max", s->clients_max);
	json_memory(j, s);
	json_known(j, "replicas", s->replicas);
	json_known(j, "replicas_online",
		   s->replicas < 0 ? UNKNOWN : s->replicas_online);
	json_known(j, "lag_ms", s->replicas > 0 ? s->lag_s * 1000 : UNKNOWN);
	if (s->samples > 0) {
		json_number(j, "round_trip_us", s->rtt_us);
		json_number(j, "clock_ahead_us", s->ahead_us);
		json_number(j, "clock_within_us", s->nearest_us / 2 + 1);
	}
	if (s->has_certificate)
		json_number(j, "certificate_left_ms", s->certificate_s * 1000);
	json_word_or_null(j, "cluster_state", s->cluster_state);
	json_close(j);
}

static void json_findings(struct json *j, const struct findings *f)
{
	json_list(j, "findings");
	for (int i = 0; i < f->n; i++) {
		const struct finding *at = &f->at[i];

		json_item(j);
		json_text(j, "level", level_name(at->level));
		json_text(j, "server", at->server);
		json_text(j, "check", at->check);
		json_text(j, "text", at->text);
		if (at->cure)
			json_text(j, "cure", at->cure);
		else
			json_null(j, "cure");
		json_close(j);
	}
	json_end(j);
}

static void json_all(const struct exam *e, const char *acl, const char *looking)
{
	const char *sentinel = acl_line_sentinel(e);
	struct json j = {.f = stdout};

	json_text(&j, "schema", "redlock.doctor/1");
	json_bool(&j, "well", findings_well(e->found));
	json_list(&j, "servers");
	for (int i = 0; i < e->n; i++)
		json_server(&j, &e->facts[i]);
	json_end(&j);
	json_findings(&j, e->found);
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
			return findings_well(e->found) ? STATUS_OK
						       : STATUS_FREE;
	return status_of_kind(e->facts[0].why.kind);
}

static int examine(const struct exam *e, struct facts *facts,
		   struct query *query)
{
	char *acl = acl_line(e), *looking = acl_line_looking(e);
	bool quiet = e->o->loudness < 0;

	check_trials(e, facts);
	check_servers(e);
	check_sentinels(e);
	check_keys(e, query);
	check_list(e);
	check_machine(e);
	findings_group(e->found);
	if (!acl || !looking) {
		log_error("failed", "out of memory");
		free(acl);
		free(looking);
		return STATUS_INTERNAL;
	}
	if (e->o->json) {
		json_all(e, acl, looking);
	} else {
		print_findings(e->found, quiet);
		if (!quiet)
			print_acls(e, acl, looking);
	}
	free(acl);
	free(looking);
	return status_of(e);
}

static int doctor(const struct opts *o)
{
	static struct query query;
	struct findings findings = {0};
	struct facts *facts = NULL;
	struct exam e = {.o = o, .servers = &query.servers, .found = &findings};
	struct fail why;
	int status;

	if (query_open(&query, o, &why) == 0) {
		query_once(&query);
		e.needs = needs_of(&query.servers, o);
		e.n = facts_gather(&query, e.needs, &facts, &why);
		e.facts = facts;
	} else {
		e.n = -1;
	}
	if (e.n < 0) {
		log_error("failed", "%s", why.text);
		status = status_of_kind(why.kind);
	} else {
		status = examine(&e, facts, &query);
	}
	findings_close(&findings);
	free(facts);
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
