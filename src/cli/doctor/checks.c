/* SPDX-License-Identifier: MIT */
/* Judges each server by itself, then all of them together, and this machine. */
#include "cli/doctor/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lock/core/timing.h"
#include "proc/tree.h"

/* A machine with a synchronised clock is never that far from another one. */
#define DISTANCE_NOTE_US 500000
#define CURE_CLOCK                                                             \
	"synchronise both clocks (chrony, ntpd); slew them: a step ends "      \
	"leases early or late"

/* Who holds a lock does not depend on dates, so a difference alone breaks no
 * lock. But a clock that is this far off will be set one day, and a server's
 * leases end by its date: a step of 0.2 T ends a lease while its command still
 * runs (timing.h). So half of that is wrong, unless it is small enough to be
 * merely noted. `us`: microseconds. */
static enum level distance_level(int64_t us, int64_t ttl_ms)
{
	int64_t wrong_us = ttl_ms * 1000 / 10;

	if (us <= DISTANCE_NOTE_US)
		return LEVEL_OK;
	return us > wrong_us ? LEVEL_WRONG : LEVEL_NOTE;
}

/* "42us", "1.3ms", "2.0s"; returns buf. */
static const char *span_text(int64_t us, char *buf, size_t size)
{
	if (us >= 10000)
		return format_duration(us / 1000, buf, size);
	if (us >= 1000)
		(void)snprintf(buf, size, "%" PRId64 ".%" PRId64 "ms",
			       us / 1000, us % 1000 / 100);
	else
		(void)snprintf(buf, size, "%" PRId64 "us", us);
	return buf;
}

#define FULL_PERCENT 90 /* of memory, of connections */
#define LAG_S 10        /* what Redis itself calls a replica that lags */
#define SLOTS 16384
#define CERTIFICATE_NOTE_S ((int64_t)14 * 86400)
#define CERTIFICATE_WRONG_S 86400 /* tomorrow nobody can take a lock */

static bool knows(const struct facts *s, enum blank what)
{
	return !(s->blanks & what);
}

static void say(const struct exam *e, const struct facts *s, enum level level,
		const char *check, const char *text)
{
	found(e->found, level, s->name, check, "%s", text);
}

/* ---- is it there, and what is it ---- */

/* What a server said, without what to do; or that nobody answered. */
static const char *tell(const struct facts *s, const struct error_told *told,
			const struct fail *why, char *buf, size_t size)
{
	size_t n = strlen(s->name);
	const char *text = why->text;

	if (told->words[0] != '\0')
		return error_say(told, false, buf, size);
	if (strncmp(text, s->name, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		text += n + 2;
	return text;
}

static void check_answer(const struct exam *e, const struct facts *s)
{
	char buf[sizeof(s->why.text)];
	const char *text = tell(s, &s->told, &s->why, buf, sizeof(buf));

	say(e, s, LEVEL_WRONG, "answer", text);
	if (s->why.kind == FAIL_REFUSED)
		cure(e->found, "%s",
		     strstr(text, "TLS") || strstr(text, "certificate")
			     ? "see --cacert, --cert and --sni"
			     : "see --user, --password-file and the ACL below");
	else if (s->told.cure)
		cure(e->found, "%s", s->told.cure);
	else if (s->why.kind == FAIL_UNAVAILABLE)
		cure(e->found, "check that it is running, and its address");
}

static void check_version(const struct exam *e, const struct facts *s)
{
	bool redis = strcmp(s->software, "Redis") == 0;
	bool others = strcmp(s->software, "Valkey") == 0 ||
		      strcmp(s->software, "Redict") == 0;

	if (!knows(s, BLANK_INFO))
		return;
	if (redis && s->major < 6) {
		found(e->found, LEVEL_WRONG, s->name, "version",
		      "Redis %s; redlock needs 6.0 or later", s->version);
		cure(e->found, "upgrade it: Redis 6.0 or Valkey 7.2, or later");
	} else if (redis || others) {
		found(e->found, LEVEL_OK, s->name, "version", "%s %s",
		      s->software, s->version);
	} else if (strcmp(s->software, "KeyDB") == 0) {
		found(e->found, LEVEL_NOTE, s->name, "version",
		      "KeyDB %s; with active-replica, two servers can grant "
		      "the same lock",
		      s->version);
		cure(e->found, "active-replica no");
	} else {
		found(e->found, LEVEL_NOTE, s->name, "version",
		      "%s %s; redlock has not been tested with it",
		      s->software[0] ? s->software : "an unknown server",
		      s->version);
	}
}

static void check_role(const struct exam *e, const struct facts *s)
{
	bool member = s->in_cluster && s->ep->kind != ENDPOINT_CLUSTER;

	if (strcmp(s->role, "slave") == 0) {
		found(e->found, LEVEL_WRONG, s->name, "role",
		      "a replica of %s:%s; it cannot grant locks",
		      s->master_host, s->master_port);
		cure(e->found,
		     "use the URL of its master, or redis-sentinel://");
	} else if (s->is_sentinel) {
		say(e, s, LEVEL_WRONG, "role",
		    "a Sentinel: it keeps no locks, but tells where the "
		    "servers are");
		cure(e->found, "write redis-sentinel://%s/%s", s->name,
		     s->group[0] ? s->group : "NAME");
	} else if (s->is_active) {
		say(e, s, LEVEL_WRONG, "role",
		    "an active replica: it and its master can both grant the "
		    "same lock");
		cure(e->found, "active-replica no");
	} else if (member) {
		say(e, s, LEVEL_WRONG, "role",
		    "a member of a Cluster; most keys are on other nodes");
		cure(e->found, "write redis-cluster://, not redis://");
	} else if (s->role[0] != '\0') {
		say(e, s, LEVEL_OK, "role", s->role);
	}
}

static void check_scripts(const struct exam *e, const struct facts *s)
{
	char buf[sizeof(s->scripts.text)], name[USER_TYPED_MAX];

	if (s->is_sentinel)
		return;
	if (s->scripts.kind == FAIL_NONE) {
		say(e, s, LEVEL_OK, "scripts", "EVAL works");
		return;
	}
	found(e->found, LEVEL_WRONG, s->name, "scripts", "EVAL: %s",
	      tell(s, &s->no_scripts, &s->scripts, buf, sizeof(buf)));
	if (strncmp(s->no_scripts.words, "NOPERM", 6) == 0)
		cure(e->found, "ACL SETUSER %s +eval +evalsha",
		     user_typed(s, name));
	else
		cure(e->found, "%s",
		     s->no_scripts.cure
			     ? s->no_scripts.cure
			     : "redlock needs scripts: enable them, or use "
			       "another server");
}

static void check_blanks(const struct exam *e, const struct facts *s)
{
	char name[USER_TYPED_MAX];

	if (!knows(s, BLANK_INFO)) {
		say(e, s, LEVEL_NOTE, "info",
		    e->servers->n > 1
			    ? "INFO is refused: redlock cannot notice a "
			      "restart (--restart-guard) or two names for one "
			      "server, and cannot check memory and disk"
			    : "INFO is refused: cannot check version, memory "
			      "and disk");
		/* (nobody can grant more to the usual user of a managed
		 * server) */
		if (strcmp(user_of(s, "default"), "default") != 0)
			cure(e->found, "ACL SETUSER %s +info",
			     user_typed(s, name));
		else
			cure(e->found, "ask the provider for +info");
	}
	if (!knows(s, BLANK_CONFIG))
		say(e, s, LEVEL_NOTE, "config",
		    "CONFIG is refused, as on managed servers: cannot check "
		    "how often it writes to disk and how many replicas it "
		    "requires");
}

/* ---- what it forgets ---- */

static void check_saving(const struct exam *e, const struct facts *s)
{
	if (strcmp(s->save_status, "err") == 0 &&
	    strcmp(s->stops_writes, "no") != 0 &&
	    !(s->save_known && s->save[0] == '\0')) {
		say(e, s, LEVEL_WRONG, "saving",
		    "the last save failed; writes are refused until one "
		    "succeeds (stop-writes-on-bgsave-error)");
		cure(e->found, "see its log, or CONFIG SET "
			       "stop-writes-on-bgsave-error no");
	} else if (strcmp(s->save_status, "err") == 0) {
		say(e, s, LEVEL_NOTE, "saving", "the last save failed");
		cure(e->found, "free space on its disk; see its log");
	}
	if (strcmp(s->aof_status, "err") == 0) {
		say(e, s, LEVEL_WRONG, "saving",
		    "writing the append-only file fails, so the server refuses "
		    "writes");
		cure(e->found, "free space on its disk; see its log");
	}
	if (s->loading == 1) {
		say(e, s, LEVEL_WRONG, "saving",
		    "it is still loading its data");
		cure(e->found, "wait until it has loaded its data");
	}
}

/* What redlock makes of a server that forgot. */
static const char *after_loss(const struct exam *e)
{
	return e->servers->n > 1 ? "it then does not vote until those leases "
				   "are over (--restart-guard)"
				 : "until their holders restore them, another "
				   "client may get one";
}

static void check_persistence(const struct exam *e, const struct facts *s)
{
	const char *then = after_loss(e);

	if (s->aof < 0)
		return;
	/* (a restart of the machine ends the holders as well) */
	if (s->aof == 1 && e->servers->endpoint[0].kind == ENDPOINT_LOCAL) {
		say(e, s, LEVEL_OK, "persistence",
		    "appendonly: keeps all locks unless the machine crashes");
		return;
	}
	if (s->aof == 1 && strcmp(s->fsync, "always") == 0)
		say(e, s, LEVEL_OK, "persistence",
		    "appendonly, appendfsync always: keeps all locks");
	else if (s->aof == 1)
		found(e->found, LEVEL_NOTE, s->name, "persistence",
		      "appendonly, appendfsync %s: a crash of the machine may "
		      "forget %s; %s",
		      s->fsync[0] ? s->fsync : "unknown",
		      strcmp(s->fsync, "no") == 0 ? "half a minute of locks"
						  : "a second of locks",
		      then);
	else if (!s->save_known)
		found(e->found, LEVEL_NOTE, s->name, "persistence",
		      "no append-only file: a crash forgets locks; %s", then);
	else if (s->save[0] != '\0')
		found(e->found, LEVEL_NOTE, s->name, "persistence",
		      "snapshots only (save %s): a crash forgets the locks "
		      "since the last one; %s",
		      s->save, then);
	else
		found(e->found, LEVEL_NOTE, s->name, "persistence",
		      "nothing is saved to disk: a restart forgets all locks; "
		      "%s",
		      then);
	if (s->aof == 1 && strcmp(s->fsync, "always") != 0)
		cure(e->found, "CONFIG SET appendfsync always");
	else if (s->aof == 0)
		cure(e->found, "CONFIG SET appendonly yes");
}

static void check_eviction(const struct exam *e, const struct facts *s)
{
	bool evicts =
		s->policy[0] != '\0' && strcmp(s->policy, "noeviction") != 0;

	if (s->policy[0] == '\0' || s->memory_max < 0)
		return;
	if (evicts && s->memory_max > 0) {
		found(e->found, LEVEL_WRONG, s->name, "eviction",
		      "maxmemory-policy is %s: when memory is full, the server "
		      "deletes locks that are held (%" PRId64
		      " keys were evicted so far)",
		      s->policy, s->evicted > 0 ? s->evicted : 0);
		cure(e->found, "CONFIG SET maxmemory-policy noeviction");
	} else {
		found(e->found, LEVEL_OK, s->name, "eviction", "%s%s",
		      s->policy, evicts ? ", but maxmemory is not set" : "");
	}
}

static void check_memory(const struct exam *e, const struct facts *s)
{
	int64_t percent, more;

	if (s->memory < 0 || s->memory_max <= 0)
		return;
	percent = s->memory * 100 / s->memory_max;
	more = s->memory > s->memory_max ? s->memory : s->memory_max;
	found(e->found, percent >= FULL_PERCENT ? LEVEL_WRONG : LEVEL_OK,
	      s->name, "memory",
	      "%" PRId64 "%% of maxmemory (%" PRId64 " of %" PRId64 " MB)%s",
	      percent, s->memory / 1000000, s->memory_max / 1000000,
	      percent >= FULL_PERCENT ? ": when full, it renews and releases "
					"locks but grants none"
				      : "");
	if (percent >= FULL_PERCENT)
		cure(e->found,
		     "CONFIG SET maxmemory %" PRId64
		     "mb, or delete keys that are not needed",
		     more * 2 / 1000000 + 1);
}

/* ---- how far it is ---- */

static void check_clock(const struct exam *e, const struct facts *s)
{
	int64_t far = s->ahead_us < 0 ? -s->ahead_us : s->ahead_us;
	int64_t within = s->nearest_us / 2 + 1;
	char by[32], give[32];

	if (s->samples == 0)
		return;
	(void)span_text(far, by, sizeof(by));
	(void)span_text(within, give, sizeof(give));
	if (far <= within)
		found(e->found, LEVEL_OK, s->name, "clock",
		      "agrees with this machine's, within %s", give);
	else
		found(e->found, distance_level(far, e->o->ttl_ms), s->name,
		      "clock", "%s %s this machine's, within %s", by,
		      s->ahead_us < 0 ? "behind" : "ahead of", give);
	if (far > DISTANCE_NOTE_US)
		cure(e->found, CURE_CLOCK);
}

static void check_rtt(const struct exam *e, const struct facts *s)
{
	int64_t least_ms = (s->rtt_us * RTTS_PER_LEASE + 999) / 1000;
	char rtt[32], ttl[32], enough[32];

	if (s->samples == 0)
		return;
	(void)span_text(s->rtt_us, rtt, sizeof(rtt));
	(void)format_duration(e->o->ttl_ms, ttl, sizeof(ttl));
	if (least_ms <= e->o->ttl_ms) {
		found(e->found, LEVEL_OK, s->name, "round-trip",
		      "%s, for a lease of %s", rtt, ttl);
		return;
	}
	found(e->found, LEVEL_WRONG, s->name, "round-trip",
	      "%s: a lease of %s is less than %d round trips; one short delay "
	      "loses it",
	      rtt, ttl, RTTS_PER_LEASE);
	cure(e->found, "-t %s",
	     format_duration(least_ms, enough, sizeof(enough)));
}

/* ---- what else may fail ---- */

static void check_clients(const struct exam *e, const struct facts *s)
{
	int64_t percent;

	/* (from 7.0 on INFO has it as well, and needs no right to CONFIG) */
	if (s->clients >= 0 && s->clients_max < 0)
		found(e->found, LEVEL_NOTE, s->name, "clients",
		      "%" PRId64 " connected; the limit is unknown (the server "
		      "does not report maxclients)",
		      s->clients);
	if (s->clients < 0 || s->clients_max <= 0)
		return;
	percent = s->clients * 100 / s->clients_max;
	found(e->found, percent >= FULL_PERCENT ? LEVEL_WRONG : LEVEL_OK,
	      s->name, "clients", "%" PRId64 " of at most %" PRId64 "%s",
	      s->clients, s->clients_max,
	      percent >= FULL_PERCENT ? ": soon no more clients can connect"
				      : "");
	if (percent >= FULL_PERCENT)
		cure(e->found, "CONFIG SET maxclients %" PRId64,
		     s->clients_max * 2);
}

static void check_replicas(const struct exam *e, const struct facts *s)
{
	bool lag = s->lag_s > LAG_S || s->replicas_online < s->replicas;
	bool blocked = s->replicas_good >= 0 && s->replicas_least > 0 &&
		       s->replicas_good < s->replicas_least;
	bool few = e->o->wait_replicas > s->replicas_online;

	if (s->replicas < 0 || strcmp(s->role, "slave") == 0)
		return;
	if (blocked || few || lag || s->replicas > 0)
		found(e->found,
		      blocked || few ? LEVEL_WRONG
		      : lag          ? LEVEL_NOTE
				     : LEVEL_OK,
		      s->name, "replicas",
		      "%" PRId64 ", of which %" PRId64
		      " online, at most %" PRId64 "s behind",
		      s->replicas, s->replicas_online, s->lag_s);
	if (blocked)
		cure(e->found,
		     "CONFIG SET min-replicas-to-write %" PRId64
		     ", or repair the replicas: with fewer than %" PRId64
		     " writes are refused",
		     s->replicas_good, s->replicas_least);
	else if (few)
		cure(e->found,
		     "--wait-replicas %d cannot be met: repair the replicas, "
		     "or lower it",
		     e->o->wait_replicas);
	else if (lag)
		cure(e->found, "see the log of the replicas");
}

static void check_uptime(const struct exam *e, const struct facts *s)
{
	int64_t guard = servers_guard(e->servers, e->o);
	int64_t left = guard + 1000 - s->uptime_s * 1000;
	char up[32], wait[32];

	if (s->uptime_s < 0)
		return;
	(void)format_duration(s->uptime_s * 1000, up, sizeof(up));
	if (guard <= 0 || left <= 0) {
		found(e->found, LEVEL_OK, s->name, "uptime", "%s", up);
		return;
	}
	found(e->found, LEVEL_NOTE, s->name, "uptime",
	      "%s: it may have forgotten leases and does not vote for another "
	      "%s (--restart-guard)",
	      up, format_duration(left, wait, sizeof(wait)));
	cure(e->found, "wait");
}

static void check_cluster(const struct exam *e, const struct facts *s)
{
	bool ok = strcmp(s->cluster_state, "ok") == 0 &&
		  s->cluster_slots == SLOTS;

	if (s->ep->kind != ENDPOINT_CLUSTER || s->cluster_state[0] == '\0')
		return;
	found(e->found, ok ? LEVEL_OK : LEVEL_WRONG, s->name, "cluster",
	      "state %s, %" PRId64 " of %d slots", s->cluster_state,
	      s->cluster_slots, SLOTS);
	if (!ok)
		cure(e->found, "redis-cli --cluster check '%s', then fix",
		     s->name);
}

static void check_certificate(const struct exam *e, const struct facts *s)
{
	int64_t left = s->certificate_s;
	char text[32];

	if (!s->has_certificate)
		return;
	found(e->found,
	      left < CERTIFICATE_WRONG_S  ? LEVEL_WRONG
	      : left < CERTIFICATE_NOTE_S ? LEVEL_NOTE
					  : LEVEL_OK,
	      s->name, "tls", "its certificate %s %s",
	      left < 0 ? "has expired, since" : "is valid for another",
	      format_duration((left < 0 ? -left : left) * 1000, text,
			      sizeof(text)));
	if (left < CERTIFICATE_NOTE_S)
		cure(e->found,
		     "renew it: clients reject an expired certificate");
}

static void check_tls(const struct exam *e, const struct facts *s)
{
	check_certificate(e, s);
	if (!server_has_tls(s->ep) || s->ep->tls_conf.verify != TLS_NONE)
		return;
	say(e, s, LEVEL_NOTE, "tls",
	    "tls-verify=none: any server that answers is trusted and gets the "
	    "password");
	cure(e->found, "--tls-verify full, and --cacert FILE for its issuer");
}

/* ---- all ---- */

void check_servers(const struct exam *e)
{
	static void (*const each[])(const struct exam *,
				    const struct facts *) = {
		check_version, check_role,     check_scripts,
		check_rights,  check_blanks,   check_persistence,
		check_saving,  check_eviction, check_memory,
		check_clients, check_replicas, check_uptime,
		check_clock,   check_rtt,      check_cluster,
		check_tls};

	for (int i = 0; i < e->n; i++)
		if (!e->facts[i].answers)
			check_answer(e, &e->facts[i]);
		else
			for (size_t k = 0; k < sizeof(each) / sizeof(each[0]);
			     k++)
				each[k](e, &e->facts[i]);
}

#define ALL "all"
#define HERE "here"

static void check_number(const struct exam *e)
{
	int n = e->servers->n, answers = 0;

	for (int node = 0; node < n; node++) {
		bool any = false;

		for (int i = 0; i < e->n; i++)
			any |= e->facts[i].node == node && e->facts[i].answers;
		answers += any;
	}
	if (n > 1 && answers < lease_quorum(n))
		found(e->found, LEVEL_WRONG, ALL, "quorum",
		      "%d of %d servers answer, and %d are needed for a lock",
		      answers, n, lease_quorum(n));
	if (n % 2 == 0) {
		found(e->found, LEVEL_NOTE, ALL, "quorum",
		      "%d servers survive no more failures than %d; use an odd "
		      "number",
		      n, n - 1);
		cure(e->found, "leave one out, or add one");
	}
}

static void check_versions(const struct exam *e)
{
	const struct facts *first = NULL;

	for (int i = 0; i < e->n; i++) {
		const struct facts *s = &e->facts[i];

		if (s->version[0] == '\0')
			continue;
		first = first ? first : s;
		if (strcmp(s->software, first->software) == 0 &&
		    strcmp(s->version, first->version) == 0)
			continue;
		found(e->found, LEVEL_NOTE, ALL, "version",
		      "they differ: %s has %s %s, %s has %s %s", first->name,
		      first->software, first->version, s->name, s->software,
		      s->version);
		return;
	}
}

/* Once for each pair of servers of the list. */
static void check_twins(const struct exam *e)
{
	unsigned int told[NODES_MAX] = {0};

	for (int i = 0; i < e->n; i++)
		for (int k = i + 1; k < e->n; k++) {
			const struct facts *a = &e->facts[i], *b = &e->facts[k];

			if (a->node == b->node || a->run_id[0] == '\0' ||
			    strcmp(a->run_id, b->run_id) != 0 ||
			    told[a->node] & 1U << b->node)
				continue;
			told[a->node] |= 1U << b->node;
			found(e->found, LEVEL_WRONG, ALL, "twins",
			      "%s and %s are the same server and count once",
			      a->name, b->name);
			cure(e->found, "leave one out");
		}
}

/* The two that are farthest apart. If they agree and we do not, our clock is
 * wrong. */
static void check_clocks(const struct exam *e)
{
	const struct facts *low = NULL, *high = NULL;
	int64_t apart;
	int known = 0;
	char by[32];

	for (int i = 0; i < e->n; i++) {
		const struct facts *s = &e->facts[i];

		if (s->samples == 0)
			continue;
		known++;
		low = !low || s->ahead_us < low->ahead_us ? s : low;
		high = !high || s->ahead_us > high->ahead_us ? s : high;
	}
	if (known < 2)
		return;
	apart = high->ahead_us - low->ahead_us;
	if (distance_level(apart, e->o->ttl_ms) != LEVEL_OK) {
		found(e->found, distance_level(apart, e->o->ttl_ms), ALL,
		      "clock", "the clock of %s is %s ahead of that of %s",
		      high->name, span_text(apart, by, sizeof(by)), low->name);
		cure(e->found, CURE_CLOCK);
	} else if (low->ahead_us > DISTANCE_NOTE_US ||
		   high->ahead_us < -DISTANCE_NOTE_US) {
		found(e->found, LEVEL_NOTE, ALL, "clock",
		      "the servers agree within %s: this machine's clock is "
		      "wrong",
		      span_text(apart, by, sizeof(by)));
		cure(e->found, CURE_CLOCK);
	}
}

static void check_scope(const struct exam *e)
{
	if (e->servers->endpoint[0].kind == ENDPOINT_LOCAL)
		found(e->found, LEVEL_NOTE, ALL, "scope",
		      "local: is for the locks of one user on this machine");
	if (e->servers->asked_for)
		return;
	found(e->found, LEVEL_NOTE, ALL, "scope",
	      "no server was named: %s is a different server on each machine",
	      DEFAULT_URL);
	cure(e->found, "-u URL, REDLOCK_URL, or a configuration file");
}

void check_list(const struct exam *e)
{
	check_number(e);
	check_versions(e);
	check_twins(e);
	check_clocks(e);
	check_scope(e);
}

void check_machine(const struct exam *e)
{
	const char *trouble = tree_trouble();

	if (trouble) {
		found(e->found, LEVEL_WRONG, HERE, "processes",
		      "/proc does not show the children of a process: %s; "
		      "redlock cannot run commands",
		      trouble);
		cure(e->found, "mount -t proc proc /proc");
	} else if (tree_is_veiled()) {
		found(e->found, LEVEL_NOTE, HERE, "processes",
		      "/proc hides other users' processes (hidepid): a TERM "
		      "may miss them, and messages cannot name those that "
		      "cannot be killed");
	} else {
		found(e->found, LEVEL_OK, HERE, "processes",
		      "found through /proc");
	}
}
