/* SPDX-License-Identifier: MIT */
/* What a server says of itself. Asks nothing that changes anything there. */
#include "cli/doctor/inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "client/fanout.h"
#include "lock/wire/rights.h"

#define SAMPLES 5

/* Larger numbers are not believed: 9 PB, or 290 million years. We multiply by
 * 1000. */
#define NUMBER_MAX (INT64_MAX / 1000)
/* Of a clock, in seconds since 1970, and then in us: 70,000 years. */
#define TIME_MAX (INT64_MAX / 4 / 1000000)

/* A fact that INFO tells, or CONFIG GET; if both do, INFO counts. */
static const struct {
	const char *info, *setting;
	size_t at;
	bool text; /* else a number */
} rows[] = {
#define NUMBER(field) offsetof(struct facts, field), false
#define TEXT(field) offsetof(struct facts, field), true
	{"run_id", NULL, TEXT(run_id)},
	{"role", NULL, TEXT(role)},
	{"master_host", NULL, TEXT(master_host)},
	{"master_port", NULL, TEXT(master_port)},
	{"uptime_in_seconds", NULL, NUMBER(uptime_s)},
	{"connected_clients", NULL, NUMBER(clients)},
	{"maxclients", "maxclients", NUMBER(clients_max)}, /* from 7.0 on */
	{"used_memory", NULL, NUMBER(memory)},
	{"maxmemory", NULL, NUMBER(memory_max)},
	{"maxmemory_policy", NULL, TEXT(policy)},
	{"evicted_keys", NULL, NUMBER(evicted)},
	{"loading", NULL, NUMBER(loading)},
	{"aof_enabled", NULL, NUMBER(aof)},
	{"rdb_last_bgsave_status", NULL, TEXT(save_status)},
	{"aof_last_write_status", NULL, TEXT(aof_status)},
	{"connected_slaves", NULL, NUMBER(replicas)},
	{"min_slaves_good_slaves", NULL, NUMBER(replicas_good)},
	{NULL, "min-replicas-to-write", NUMBER(replicas_least)},
	{NULL, "save", TEXT(save)},
	{NULL, "appendfsync", TEXT(fsync)},
	{NULL, "stop-writes-on-bgsave-error", TEXT(stops_writes)},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static char *text_at(struct facts *f, size_t row)
{
	return (char *)f + rows[row].at;
}

static int64_t *number_at(struct facts *f, size_t row)
{
	return (int64_t *)(void *)((char *)f + rows[row].at);
}

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
static int64_t leading_number(const char *text)
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
	f->major =
		leading_number(f->version + strcspn(f->version, "0123456789"));
}

/* slave0:ip=10.0.0.7,port=6380,state=online,offset=42,lag=0 */
static void read_replicas(struct facts *f, const char *info)
{
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
		if (lag && leading_number(lag + 4) > f->lag_s)
			f->lag_s = leading_number(lag + 4);
	}
}

static void take_info(struct facts *f, const struct reply *r)
{
	const char *info = r->bytes;

	f->tells_info = true;
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].info && rows[i].text)
			text_of(info, rows[i].info, text_at(f, i));
		else if (rows[i].info)
			*number_at(f, i) = number_of(info, rows[i].info);
	read_version(f, info);
	read_replicas(f, info);
	f->is_active = strcmp(f->role, "active-replica") == 0;
	f->in_cluster = number_of(info, "cluster_enabled") == 1 ||
			strstr(info, "_mode:cluster") != NULL;
	f->is_sentinel = strstr(info, "_mode:sentinel") != NULL;
}

/* ---- the other answers ---- */

static void word_of(const struct reply *r, char out[FACT_MAX])
{
	(void)format_bytes(r->bytes, r->len, out, FACT_MAX);
}

static void take_role(struct facts *f, const struct reply *r)
{
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
static void take_setting(struct facts *f, const struct reply *r)
{
	const struct reply *name = reply_item(r, 0), *value = reply_item(r, 1);

	f->tells_config = true;
	for (size_t i = 0; i < ROWS; i++) {
		if (!rows[i].setting ||
		    strcmp(rows[i].setting, name->bytes) != 0)
			continue;
		if (rows[i].text)
			word_of(value, text_at(f, i));
		else if (*number_at(f, i) == UNKNOWN)
			*number_at(f, i) = reply_number(value, UNKNOWN);
		f->save_known |= strcmp(name->bytes, "save") == 0 &&
				 value->kind == REPLY_TEXT;
	}
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

static void refuse(struct facts *f, const char *command)
{
	for (int i = 0; i < rights_n; i++)
		if (strcmp(rights[i].command, command) == 0)
			f->refused |= (uint64_t)1 << i;
}

static void take_refused(struct facts *f, const struct reply *r)
{
	for (size_t i = 0; i < r->items; i++)
		refuse(f, reply_item(r, i)->bytes);
}

static void take_writes(struct facts *f, const struct reply *r)
{
	f->tells_writes = true;
	take_refused(f, r);
}

/* ---- the questions ---- */

/* A command that is sent only to see whether it is refused has a `right`: an
 * empty script, BLPOP with a negative time. */
/* clang-format off */
static const struct inquiry {
	const char *text; /* words with blanks between; NULL: see rights.h */
	enum right_kind kind;
	const char *right;
	unsigned int need;
	bool plain; /* not of a Cluster, where a key is elsewhere */
	void (*take)(struct facts *f, const struct reply *r);
} inquiries[] = {
	{.text = "EVAL return(1) 0", .right = "eval"},
	{.text = "EVALSHA 0000000000000000000000000000000000000000 0", .right = "evalsha"},
	/* (to learn that it answers at all, if a proxy knows nothing else) */
	{.text = "PING"},
	{.text = "INFO", .right = "info", .take = take_info},
	{.text = "ROLE", .right = "role", .take = take_role},
	{.kind = RIGHT_READ, .take = take_refused},
	{.kind = RIGHT_WRITE, .take = take_writes},
	{.text = "BLPOP redlock:{doctor}:rights -1", .right = "blpop", .plain = true},
	{.text = "WAIT 0 0", .right = "wait", .need = NEED_REPLICAS},
	{.text = "CLUSTER MYID", .right = "cluster|myid", .need = NEED_CLUSTER},
	{.text = "ASKING", .right = "asking", .need = NEED_CLUSTER},
	{.text = "CLUSTER SLOTS", .right = "cluster|slots", .need = NEED_CLUSTER},
	{.text = "CLUSTER NODES", .right = "cluster|nodes", .need = NEED_CLUSTER},
	{.text = "CLUSTER INFO", .need = NEED_CLUSTER, .take = take_cluster},
	{.text = "ACL WHOAMI", .take = take_user},
	{.text = "CONFIG GET save", .take = take_setting},
	{.text = "CONFIG GET appendfsync", .take = take_setting},
	{.text = "CONFIG GET stop-writes-on-bgsave-error", .take = take_setting},
	{.text = "CONFIG GET min-replicas-to-write", .take = take_setting},
	{.text = "CONFIG GET maxclients", .take = take_setting},
};
/* clang-format on */
#define INQUIRIES ((int)(sizeof(inquiries) / sizeof(inquiries[0])))

static int ask(struct query *query, const struct facts *f, int i)
{
	const struct inquiry *q = &inquiries[i];
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
	return fanout_ask(&query->fanout, f->target, &w, i);
}

static bool applies(const struct inquiry *q, const struct facts *f,
		    unsigned int needs)
{
	bool cluster;

	assert(f->ep); /* init() */
	cluster = f->ep->kind == ENDPOINT_CLUSTER;
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

/* It fell silent, or was stopped: its earlier answers say nothing about the
 * missing ones. */
static bool is_gone(struct facts *f, const struct got *got)
{
	if (got->reply || got->overlong || got->hung_up)
		return false;
	f->answers = false;
	f->shut = true;
	f->no = (struct refusal){got->why, got->told};
	return true;
}

static void take_answer(struct facts *f, const struct got *got)
{
	const struct inquiry *q = &inquiries[got->tag];
	const struct reply *r = got->reply;

	if (is_gone(f, got))
		return;
	if (got->why.kind == FAIL_NONE) {
		f->answers = true;
		if (q->take)
			q->take(f, r);
		return;
	}
	/* the first failure says most */
	if (f->no.why.kind == FAIL_NONE)
		f->no = (struct refusal){got->why, got->told};
	/* a proxy that does not know the command may know others */
	if (!got->hung_up && is_shut(got)) {
		f->shut = true;
		return;
	}
	if (q == &inquiries[0])
		f->no_eval = (struct refusal){got->why, got->told};
	if (got->hung_up)
		return;
	/* the command itself is refused, not only its keys */
	if (begins(r, "NOPERM") && strstr(r->bytes, " to run ") && q->right)
		refuse(f, q->right);
	else if (!begins(r, "NOPERM"))
		f->answers = true;
}

/* ---- clocks ---- */

static void ask_time(struct query *query, struct facts *f, int i)
{
	struct words w = {0};

	words_add_text(&w, "TIME");
	f->sent_us = wall_microseconds();
	f->to_ask--;
	(void)fanout_ask(&query->fanout, f->target, &w, i);
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
static void sample_clocks(struct exam *e, struct query *query)
{
	struct got got;

	for (int i = 0; i < e->n; i++) {
		e->facts[i].to_ask = e->facts[i].answers ? SAMPLES : 0;
		if (e->facts[i].to_ask > 0)
			ask_time(query, &e->facts[i], i);
	}
	while (fanout_get(&query->fanout, &got)) {
		struct facts *f = &e->facts[got.tag];

		if (is_gone(f, &got) || got.why.kind != FAIL_NONE)
			continue;
		take_time(f, &got);
		if (f->to_ask > 0)
			ask_time(query, f, (int)got.tag);
	}
}

/* ---- all ---- */

static void take_all(struct exam *e, struct query *query)
{
	struct got got;

	while (fanout_get(&query->fanout, &got))
		for (int i = 0; i < e->n; i++)
			if (e->facts[i].target == got.target)
				take_answer(&e->facts[i], &got);
}

/* The first question goes alone: if the server refuses us, it says why. */
static int ask_all(struct exam *e, struct query *query)
{
	int rc = 0;

	for (int i = 0; i < e->n; i++)
		rc |= ask(query, &e->facts[i], 0);
	take_all(e, query);
	for (int i = 0; i < e->n; i++)
		for (int k = 1; !e->facts[i].shut && k < INQUIRIES; k++)
			if (applies(&inquiries[k], &e->facts[i], e->needs))
				rc |= ask(query, &e->facts[i], k);
	take_all(e, query);
	return rc;
}

static void init(struct facts *f, const struct query *query, int target)
{
	int node = fanout_node(&query->fanout, target);

	*f = (struct facts){.target = target,
			    .node = node,
			    .ep = &query->servers.endpoint[node],
			    .cluster_slots = UNKNOWN};
	for (size_t i = 0; i < ROWS; i++)
		if (!rows[i].text)
			*number_at(f, i) = UNKNOWN;
}

int facts_gather(struct exam *e, struct query *query, struct fail *why)
{
	struct fanout *s = &query->fanout;

	/* a silent server is asked again, and reported then */
	if (primaries_find(s, why) < 0 && why->kind == FAIL_CONFIG)
		return -1;
	e->facts = calloc((size_t)s->targets, sizeof(*e->facts));
	if (!e->facts)
		return fail_memory(why);
	for (int t = 0; t < s->targets; t++)
		if (primaries_cover(s, t))
			init(&e->facts[e->n++], query, t);
	if (ask_all(e, query) < 0)
		return fail_memory(why);
	sample_clocks(e, query);
	for (int i = 0; i < e->n; i++) {
		struct facts *f = &e->facts[i];
		const char *name = fanout_name(s, f->target);

		/* by now we know where Sentinels or a Cluster led us */
		(void)format_bytes(name, strlen(name), f->name,
				   sizeof(f->name));
		f->has_certificate =
			fanout_expiry(s, f->target, &f->certificate_s);
	}
	return 0;
}
