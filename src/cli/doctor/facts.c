/* SPDX-License-Identifier: MIT */
/*
 * What a server says of itself, for doctor. Asks nothing that changes anything
 * there. What the server refuses to tell stays unknown.
 */
#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "lock/wire/rights.h"
#include "client/primaries.h"

#define SAMPLES 5

/* Larger numbers are not believed: 9 PB, or 290 million years. We multiply by
 * 1000. */
#define NUMBER_MAX (INT64_MAX / 1000)
/* Of a clock, in seconds since 1970, and then in us: 70,000 years. */
#define TIME_MAX (INT64_MAX / 4 / 1000000)

/* ---- INFO: lines of NAME:VALUE ---- */

static const char *line_of(const char *info, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = info; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, n) == 0 && p[n] == ':')
			return p + n + 1;
		if (*p == '\0')
			break;
	}
	return NULL;
}

static void text_of(const char *info, const char *name, char out[FACT_MAX])
{
	const char *value = line_of(info, name);

	if (value)
		(void)format_bytes(value, strcspn(value, "\r\n"), out,
				   FACT_MAX);
}

static int64_t number_of(const char *info, const char *name)
{
	char text[FACT_MAX] = "";

	text_of(info, name, text);
	return parse_number(text, 0, NUMBER_MAX);
}

/* The number at the beginning, at most NUMBER_MAX; UNKNOWN: not a digit. */
static int64_t number_at(const char *text)
{
	int64_t n = *text >= '0' && *text <= '9' ? 0 : UNKNOWN;

	for (; *text >= '0' && *text <= '9'; text++)
		n = at_most(n, NUMBER_MAX / 10 - 1) * 10 + (*text - '0');
	return n;
}

/* KeyDB and Dragonfly call themselves a version of Redis as well, and Valkey
 * does so for old clients. */
static void read_version(struct facts *f, const char *info)
{
	static const struct {
		const char *line, *software;
	} each[] = {{"redis_version", "Redis"},
		    {"valkey_version", "Valkey"},
		    {"redict_version", "Redict"},
		    {"dragonfly_version", "Dragonfly"},
		    {"garnet_version", "Garnet"},
		    {"kvrocks_version", "Kvrocks"}};
	char path[FACT_MAX] = "";

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		if (line_of(info, each[i].line)) {
			text_of(info, each[i].line, f->version);
			(void)snprintf(f->software, sizeof(f->software), "%s",
				       each[i].software);
		}
	text_of(info, "executable", path);
	if (strstr(path, "keydb") || line_of(info, "mvcc_depth"))
		(void)snprintf(f->software, sizeof(f->software), "KeyDB");
	f->major = number_at(f->version + strcspn(f->version, "0123456789"));
}

/* slave0:ip=10.0.0.7,port=6380,state=online,offset=42,lag=0 */
static void read_replicas(struct facts *f, const char *info)
{
	f->replicas = number_of(info, "connected_slaves");
	f->replicas_good = number_of(info, "min_slaves_good_slaves");
	f->replicas_online = 0;
	f->lag_s = 0;
	for (int i = 0; i < f->replicas && i < 1000; i++) {
		char name[24], line[256] = "";
		const char *lag, *value;

		(void)snprintf(name, sizeof(name), "slave%d", i);
		value = line_of(info, name);
		if (!value)
			continue;
		(void)snprintf(line, sizeof(line), "%.*s",
			       (int)strcspn(value, "\r\n"), value);
		f->replicas_online += strstr(line, "state=online") != NULL;
		lag = strstr(line, "lag=");
		if (lag && number_at(lag + 4) > f->lag_s)
			f->lag_s = number_at(lag + 4);
	}
}

static void take_info(struct facts *f, const struct reply *r)
{
	const char *info = r->bytes;

	f->blanks &= ~(unsigned int)BLANK_INFO;
	read_version(f, info);
	read_replicas(f, info);
	text_of(info, "run_id", f->run_id);
	text_of(info, "role", f->role);
	f->is_active = strcmp(f->role, "active-replica") == 0;
	text_of(info, "master_host", f->master_host);
	text_of(info, "master_port", f->master_port);
	f->in_cluster = number_of(info, "cluster_enabled") == 1 ||
			strstr(info, "_mode:cluster") != NULL;
	f->is_sentinel = strstr(info, "_mode:sentinel") != NULL;
	f->uptime_s = number_of(info, "uptime_in_seconds");
	f->clients = number_of(info, "connected_clients");
	f->clients_max = number_of(info, "maxclients");
	f->memory = number_of(info, "used_memory");
	f->memory_max = number_of(info, "maxmemory");
	f->evicted = number_of(info, "evicted_keys");
	text_of(info, "maxmemory_policy", f->policy);
	f->loading = number_of(info, "loading");
	f->aof = number_of(info, "aof_enabled");
	text_of(info, "rdb_last_bgsave_status", f->save_status);
	text_of(info, "aof_last_write_status", f->aof_status);
}

/* ---- the other answers ---- */

static void word_of(const struct reply *r, char out[FACT_MAX])
{
	(void)format_bytes(r->bytes, r->len, out, FACT_MAX);
}

static void take_role(struct facts *f, const struct reply *r)
{
	f->blanks &= ~(unsigned int)BLANK_ROLE;
	word_of(reply_item(r, 0), f->role);
	if (strcmp(f->role, "slave") == 0) {
		word_of(reply_item(r, 1), f->master_host);
		word_of(reply_item(r, 2), f->master_port);
	}
	if (strcmp(f->role, "sentinel") == 0) {
		f->is_sentinel = true;
		word_of(reply_item(reply_item(r, 1), 0), f->group);
	}
}

/* {NAME, VALUE}; empty if the server does not know the setting. */
static const struct reply *setting(struct facts *f, const struct reply *r)
{
	f->blanks &= ~(unsigned int)BLANK_CONFIG;
	return reply_item(r, 1);
}

static void take_save(struct facts *f, const struct reply *r)
{
	const struct reply *value = setting(f, r);

	f->save_known = value->kind == REPLY_TEXT;
	word_of(value, f->save);
}

static void take_fsync(struct facts *f, const struct reply *r)
{
	word_of(setting(f, r), f->fsync);
}

static void take_stops(struct facts *f, const struct reply *r)
{
	word_of(setting(f, r), f->stops_writes);
}

static void take_least(struct facts *f, const struct reply *r)
{
	f->replicas_least = reply_number(setting(f, r), UNKNOWN);
}

/* Before 7.0 INFO does not tell it. */
static void take_clients(struct facts *f, const struct reply *r)
{
	const struct reply *value = setting(f, r);

	if (f->clients_max == UNKNOWN)
		f->clients_max = reply_number(value, UNKNOWN);
}

static void take_user(struct facts *f, const struct reply *r)
{
	word_of(r, f->user);
}

static void take_cluster(struct facts *f, const struct reply *r)
{
	text_of(r->bytes, "cluster_state", f->cluster_state);
	f->cluster_slots = number_of(r->bytes, "cluster_slots_ok");
}

static void take_refused(struct facts *f, const struct reply *r)
{
	for (size_t i = 0; i < r->items; i++)
		for (int k = 0; k < rights_n; k++)
			if (strcmp(reply_item(r, i)->bytes,
				   rights[k].command) == 0)
				f->refused |= (uint64_t)1 << k;
}

static void take_writes(struct facts *f, const struct reply *r)
{
	f->blanks &= ~(unsigned int)BLANK_WRITES;
	take_refused(f, r);
}

/* ---- the questions ---- */

/* A command that is sent only to see whether it is refused has a `right`: an
 * empty script, BLPOP with a negative time. */
static const struct question {
	const char *text; /* words with blanks between; NULL: see rights.h */
	enum right_kind kind;
	const char *right;
	unsigned int need;
	bool plain; /* not of a Cluster, where a key is elsewhere */
	void (*take)(struct facts *f, const struct reply *r);
} questions[] = {
	{.text = "EVAL return(1) 0", .right = "eval"},
	{.text = "EVALSHA 0000000000000000000000000000000000000000 0",
	 .right = "evalsha"},
	/* (to learn that it answers at all, if a proxy knows nothing else) */
	{.text = "PING"},
	{.text = "INFO", .right = "info", .take = take_info},
	{.text = "ROLE", .right = "role", .take = take_role},
	{.kind = RIGHT_READ, .take = take_refused},
	{.kind = RIGHT_WRITE, .take = take_writes},
	{.text = "BLPOP redlock:{doctor}:rights -1",
	 .right = "blpop",
	 .plain = true},
	{.text = "WAIT 0 0", .right = "wait", .need = NEED_REPLICAS},
	{.text = "CLUSTER MYID", .right = "cluster|myid", .need = NEED_CLUSTER},
	{.text = "ASKING", .right = "asking", .need = NEED_CLUSTER},
	{.text = "CLUSTER SLOTS",
	 .right = "cluster|slots",
	 .need = NEED_CLUSTER},
	{.text = "CLUSTER NODES",
	 .right = "cluster|nodes",
	 .need = NEED_CLUSTER},
	{.text = "CLUSTER INFO", .need = NEED_CLUSTER, .take = take_cluster},
	{.text = "ACL WHOAMI", .take = take_user},
	{.text = "CONFIG GET save", .take = take_save},
	{.text = "CONFIG GET appendfsync", .take = take_fsync},
	{.text = "CONFIG GET stop-writes-on-bgsave-error", .take = take_stops},
	{.text = "CONFIG GET min-replicas-to-write", .take = take_least},
	{.text = "CONFIG GET maxclients", .take = take_clients},
};
#define QUESTIONS ((int)(sizeof(questions) / sizeof(questions[0])))

static int ask_question(struct query *l, const struct facts *f, int i)
{
	const struct question *q = &questions[i];
	struct rights_scratch scratch;
	char text[100], *rest = text;
	struct words w = {0};

	if (q->text) {
		(void)snprintf(text, sizeof(text), "%s", q->text);
		for (char *word; (word = strsep(&rest, " ")) != NULL;)
			words_add_text(&w, word);
	} else {
		rights_request(q->kind, &scratch, &w);
	}
	return fanout_ask(&l->fanout, f->target, &w, i);
}

static bool applies(const struct question *q, const struct facts *f,
		    unsigned int needs)
{
	bool cluster = f->ep->kind == ENDPOINT_CLUSTER;

	if (q->need == NEED_CLUSTER)
		return cluster;
	return !(q->plain && cluster) && (q->need & ~needs) == 0;
}

static bool begins(const struct reply *r, const char *text)
{
	return strncmp(r->bytes, text, strlen(text)) == 0;
}

/* The server refuses all clients, or wants another password: it will not answer
 * anything else either. */
static bool is_shut(const struct got *got)
{
	return !got->reply || begins(got->reply, "NOAUTH") ||
	       begins(got->reply, "ERR max number of clients") ||
	       begins(got->reply, "DENIED");
}

/* The command itself is refused, not only its keys. */
static bool is_forbidden(const struct reply *r)
{
	return begins(r, "NOPERM") && strstr(r->bytes, " to run ");
}

static void refuse(struct facts *f, const char *command)
{
	for (int i = 0; i < rights_n; i++)
		if (strcmp(rights[i].command, command) == 0)
			f->refused |= (uint64_t)1 << i;
}

/* The first failure says most. */
static void unwell(struct facts *f, const struct got *got)
{
	if (f->why.kind != FAIL_NONE)
		return;
	f->why = got->why;
	f->told = got->told;
}

static void no_scripts(struct facts *f, const struct got *got)
{
	f->scripts = got->why;
	f->no_scripts = got->told;
}

/* It fell silent, or was stopped: what it said before is no answer to what it
 * was still to say. */
static bool is_gone(struct facts *f, const struct got *got)
{
	if (got->reply || got->overlong || got->hung_up)
		return false;
	f->answers = false;
	f->shut = true;
	f->why = got->why;
	f->told = got->told;
	return true;
}

static void take_answer(struct facts *f, const struct got *got)
{
	const struct question *q = &questions[got->tag];
	const struct reply *r = got->reply;

	/* a proxy that does not know the command may know others */
	if (got->hung_up) {
		unwell(f, got);
		if (q == &questions[0])
			no_scripts(f, got);
		return;
	}
	if (is_gone(f, got))
		return;
	if (is_shut(got)) {
		f->shut = true;
		unwell(f, got);
		return;
	}
	if (got->why.kind == FAIL_NONE) {
		f->answers = true;
		if (q->take)
			q->take(f, r);
		return;
	}
	if (is_forbidden(r) && q->right)
		refuse(f, q->right);
	else if (!begins(r, "NOPERM"))
		f->answers = true;
	unwell(f, got);
	if (q == &questions[0])
		no_scripts(f, got);
}

/* ---- clocks ---- */

static void ask_time(struct query *l, struct facts *f, int i)
{
	struct words w = {0};

	words_add_text(&w, "TIME");
	f->sent_us = wall_microseconds();
	f->to_ask--;
	(void)fanout_ask(&l->fanout, f->target, &w, i);
}

/* The shortest round trip says most: the server's clock was read within it. (If
 * our own clock steps meanwhile, one result is nonsense.) */
static void take_time(struct facts *f, const struct got *got)
{
	int64_t came_us = wall_microseconds(), took = came_us - f->sent_us;
	int64_t s = reply_number(reply_item(got->reply, 0), UNKNOWN);
	int64_t us = reply_number(reply_item(got->reply, 1), UNKNOWN);

	if (s < 0 || s > TIME_MAX || us < 0 || us > 999999 || took < 0)
		return;
	if (f->samples == 0 || took < f->nearest_us) {
		f->nearest_us = took;
		f->ahead_us = s * 1000000 + us - (f->sent_us + took / 2);
	}
	f->rtt_us = (f->rtt_us * f->samples + took) / (f->samples + 1);
	f->samples++;
}

/* One after the other, so that none is delayed by another. */
static void sample(struct query *l, struct facts *all, int n)
{
	struct got got;

	for (int i = 0; i < n; i++) {
		all[i].to_ask = all[i].answers ? SAMPLES : 0;
		if (all[i].to_ask > 0)
			ask_time(l, &all[i], i);
	}
	while (fanout_get(&l->fanout, &got)) {
		struct facts *f = &all[got.tag];

		if (is_gone(f, &got) || got.why.kind != FAIL_NONE)
			continue;
		take_time(f, &got);
		if (f->to_ask > 0)
			ask_time(l, f, (int)got.tag);
	}
}

/* ---- all ---- */

static void init(struct facts *f, const struct query *l, int target)
{
	int node = fanout_node(&l->fanout, target);

	*f = (struct facts){.target = target,
			    .node = node,
			    .ep = &l->servers.endpoint[node],
			    .blanks = BLANK_INFO | BLANK_CONFIG | BLANK_ROLE |
				      BLANK_WRITES,
			    .uptime_s = UNKNOWN,
			    .clients = UNKNOWN,
			    .clients_max = UNKNOWN,
			    .memory = UNKNOWN,
			    .memory_max = UNKNOWN,
			    .evicted = UNKNOWN,
			    .loading = UNKNOWN,
			    .aof = UNKNOWN,
			    .replicas = UNKNOWN,
			    .replicas_good = UNKNOWN,
			    .replicas_least = UNKNOWN,
			    .cluster_slots = UNKNOWN};
}

/* By now we know where Sentinels or a Cluster led us. */
static void name(struct facts *f, const struct query *l)
{
	const char *text = fanout_name(&l->fanout, f->target);

	(void)format_bytes(text, strlen(text), f->name, sizeof(f->name));
}

static void take_all(struct query *l, struct facts *all, int n)
{
	struct got got;

	while (fanout_get(&l->fanout, &got))
		for (int i = 0; i < n; i++)
			if (all[i].target == got.target)
				take_answer(&all[i], &got);
}

/* The first question goes alone: if the server refuses us, it says why. */
static int ask_all(struct query *l, unsigned int needs, struct facts *all,
		   int n)
{
	int rc = 0;

	for (int i = 0; i < n; i++)
		rc |= ask_question(l, &all[i], 0);
	take_all(l, all, n);
	for (int i = 0; i < n; i++)
		for (int k = 1; !all[i].shut && k < QUESTIONS; k++)
			if (applies(&questions[k], &all[i], needs))
				rc |= ask_question(l, &all[i], k);
	take_all(l, all, n);
	return rc;
}

int facts_gather(struct query *l, unsigned int needs, struct facts **out,
		 struct fail *why)
{
	struct fanout *s = &l->fanout;
	struct facts *all;
	int n = 0;

	/* a silent server is asked again, and reported then */
	if (primaries_find(s, why) < 0 && why->kind == FAIL_CONFIG)
		return -1;
	*out = all = calloc((size_t)s->targets, sizeof(*all));
	if (!all)
		return fail(why, FAIL_INTERNAL, "out of memory");
	for (int t = 0; t < s->targets; t++)
		if (primaries_cover(s, t))
			init(&all[n++], l, t);
	if (ask_all(l, needs, all, n) < 0)
		return fail(why, FAIL_INTERNAL, "out of memory");
	sample(l, all, n);
	for (int i = 0; i < n; i++) {
		struct facts *f = &all[i];

		f->has_certificate =
			fanout_expiry(s, f->target, &f->certificate_s);
		name(f, l);
	}
	return n;
}
