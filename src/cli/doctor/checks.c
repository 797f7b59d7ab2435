/* SPDX-License-Identifier: MIT */
/* Judges each server by itself, then all of them together, and this machine. */
#include "cli/doctor/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lock/core/timing.h"
#include "proc/tree.h"

#define FULL_PERCENT 90 /* of memory, of connections */
#define LAG_S 10        /* what Redis itself calls a replica that lags */
#define SLOTS 16384
#define CERTIFICATE_NOTE_S ((int64_t)14 * 86400)
#define CERTIFICATE_WRONG_S 86400 /* tomorrow nobody can take a lock */
/* A machine with a synchronised clock is never that far from another one. */
#define CLOCK_NOTE_US 500000
#define CLOCK_CURE                                                             \
	"synchronise both clocks (chrony, ntpd); slew them: a step ends "      \
	"leases early or late"

static bool is(const char *fact, const char *word)
{
	return strcmp(fact, word) == 0;
}

/* ---- is it there, and what is it ---- */

/* What a server said, without what to do; or that nobody answered. */
static const char *tell(const struct facts *f, const struct refusal *no,
			char *buf, size_t size)
{
	size_t n = strlen(f->name);
	const char *text = no->why.text;

	if (no->told.words[0] != '\0')
		return error_say(&no->told, false, buf, size);
	if (strncmp(text, f->name, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		text += n + 2;
	return text;
}

static void check_answer(struct exam *e, const struct facts *f)
{
	char buf[sizeof(f->no.why.text)];
	const char *text = tell(f, &f->no, buf, sizeof(buf)), *cure = "";
	const char *renew = strstr(text, "; renew");

	if (renew) {
		found(e, WRONG, f->name, "answer", "%.*s -> %s",
		      (int)(renew - text), text, renew + 2);
		return;
	}
	if (f->no.why.kind == FAIL_REFUSED)
		cure = strstr(text, "TLS") || strstr(text, "certificate")
			       ? "see --cacert, --cert and --sni"
			       : "see --user, --password-file and the ACL "
				 "below";
	else if (f->no.told.cure)
		cure = f->no.told.cure;
	else if (f->no.why.kind == FAIL_UNAVAILABLE)
		cure = "check that it is running, and its address";
	found(e, WRONG, f->name, "answer", "%s -> %s", text, cure);
}

static void check_version(struct exam *e, const struct facts *f)
{
	bool redis = is(f->software, "Redis");

	if (!f->tells_info)
		return;
	if (redis && f->major < 6)
		found(e, WRONG, f->name, "version",
		      "Redis %s; redlock needs 6.0 or later -> upgrade it: "
		      "Redis 6.0 or Valkey 7.2, or later",
		      f->version);
	else if (redis || is(f->software, "Valkey") ||
		 is(f->software, "Redict"))
		found(e, FINE, f->name, "version", "%s %s", f->software,
		      f->version);
	else if (is(f->software, "KeyDB"))
		found(e, NOTE, f->name, "version",
		      "KeyDB %s; with active-replica, two servers can grant "
		      "the same lock -> active-replica no",
		      f->version);
	else
		found(e, NOTE, f->name, "version",
		      "%s %s; redlock has not been tested with it",
		      f->software[0] ? f->software : "an unknown server",
		      f->version);
}

static void check_role(struct exam *e, const struct facts *f)
{
	if (is(f->role, "slave"))
		found(e, WRONG, f->name, "role",
		      "a replica of %s:%s; it cannot grant locks -> use the "
		      "URL of its master, or redis-sentinel://",
		      f->master_host, f->master_port);
	else if (f->is_sentinel)
		found(e, WRONG, f->name, "role",
		      "a Sentinel: it keeps no locks, but tells where the "
		      "servers are -> write redis-sentinel://%s/%s",
		      f->name, f->group[0] ? f->group : "NAME");
	else if (f->is_active)
		found(e, WRONG, f->name, "role",
		      "an active replica: it and its master can both grant the "
		      "same lock -> active-replica no");
	else if (f->in_cluster && f->ep->kind != ENDPOINT_CLUSTER)
		found(e, WRONG, f->name, "role",
		      "a member of a Cluster; most keys are on other nodes -> "
		      "write redis-cluster://, not redis://");
	else if (f->role[0] != '\0')
		found(e, FINE, f->name, "role", "%s", f->role);
}

static void check_scripts(struct exam *e, const struct facts *f)
{
	const struct refusal *no = &f->no_eval;
	char buf[sizeof(no->why.text)], name[USER_TYPED_MAX];
	const char *text = tell(f, no, buf, sizeof(buf));

	if (f->is_sentinel)
		return;
	if (no->why.kind == FAIL_NONE)
		found(e, FINE, f->name, "scripts", "EVAL works");
	else if (strncmp(no->told.words, "NOPERM", 6) == 0)
		found(e, WRONG, f->name, "scripts",
		      "EVAL: %s -> ACL SETUSER %s +eval +evalsha", text,
		      user_typed(f, name));
	else
		found(e, WRONG, f->name, "scripts", "EVAL: %s -> %s", text,
		      no->told.cure ? no->told.cure
				    : "redlock needs scripts: enable them, or "
				      "use another server");
}

static void check_silence(struct exam *e, const struct facts *f)
{
	char name[USER_TYPED_MAX];
	const char *missing =
		e->servers->n > 1
			? "redlock cannot notice a restart (--restart-guard) "
			  "or two names for one server, and cannot check "
			  "memory and disk"
			: "cannot check version, memory and disk";

	/* (nobody can grant more to the usual user of a managed server) */
	if (!f->tells_info && is(user_of(f, "default"), "default"))
		found(e, NOTE, f->name, "info",
		      "INFO is refused: %s -> ask the provider for +info",
		      missing);
	else if (!f->tells_info)
		found(e, NOTE, f->name, "info",
		      "INFO is refused: %s -> ACL SETUSER %s +info", missing,
		      user_typed(f, name));
	if (!f->tells_config)
		found(e, NOTE, f->name, "config",
		      "CONFIG is refused, as on managed servers: cannot check "
		      "how often it writes to disk and how many replicas it "
		      "requires");
}

/* ---- what it forgets ---- */

static void check_persistence(struct exam *e, const struct facts *f)
{
	/* what redlock makes of a server that forgot */
	const char *then =
		e->servers->n > 1 ? "it then does not vote until those leases "
				    "are over (--restart-guard)"
				  : "until their holders restore them, another "
				    "client may get one";

	if (f->aof < 0)
		return;
	/* (a restart of the machine ends the holders as well) */
	if (f->aof == 1 && e->servers->endpoint[0].kind == ENDPOINT_LOCAL)
		found(e, FINE, f->name, "persistence",
		      "appendonly: keeps all locks unless the machine crashes");
	else if (f->aof == 1 && is(f->fsync, "always"))
		found(e, FINE, f->name, "persistence",
		      "appendonly, appendfsync always: keeps all locks");
	else if (f->aof == 1)
		found(e, NOTE, f->name, "persistence",
		      "appendonly, appendfsync %s: a crash of the machine may "
		      "forget %s; %s -> CONFIG SET appendfsync always",
		      f->fsync[0] ? f->fsync : "unknown",
		      is(f->fsync, "no") ? "half a minute of locks"
					 : "a second of locks",
		      then);
	else if (!f->save_known)
		found(e, NOTE, f->name, "persistence",
		      "no append-only file: a crash forgets locks; %s -> "
		      "CONFIG SET appendonly yes",
		      then);
	else if (f->save[0] != '\0')
		found(e, NOTE, f->name, "persistence",
		      "snapshots only (save %s): a crash forgets the locks "
		      "since the last one; %s -> CONFIG SET appendonly yes",
		      f->save, then);
	else
		found(e, NOTE, f->name, "persistence",
		      "nothing is saved to disk: a restart forgets all locks; "
		      "%s -> CONFIG SET appendonly yes",
		      then);
}

static void check_saving(struct exam *e, const struct facts *f)
{
	bool failed = is(f->save_status, "err");
	bool saves = !(f->save_known && f->save[0] == '\0');

	if (failed && saves && !is(f->stops_writes, "no"))
		found(e, WRONG, f->name, "saving",
		      "the last save failed; writes are refused until one "
		      "succeeds (stop-writes-on-bgsave-error) -> see its log, "
		      "or CONFIG SET stop-writes-on-bgsave-error no");
	else if (failed)
		found(e, NOTE, f->name, "saving",
		      "the last save failed -> free space on its disk; see "
		      "its log");
	if (is(f->aof_status, "err"))
		found(e, WRONG, f->name, "saving",
		      "writing the append-only file fails, so the server "
		      "refuses writes -> free space on its disk; see its log");
	if (f->loading == 1)
		found(e, WRONG, f->name, "saving",
		      "it is still loading its data -> wait until it has "
		      "loaded its data");
}

static void check_eviction(struct exam *e, const struct facts *f)
{
	bool evicts = !is(f->policy, "noeviction");

	if (f->policy[0] == '\0' || f->memory_max < 0)
		return;
	if (evicts && f->memory_max > 0)
		found(e, WRONG, f->name, "eviction",
		      "maxmemory-policy is %s: when memory is full, the server "
		      "deletes locks that are held (%" PRId64
		      " keys were evicted so far) -> CONFIG SET "
		      "maxmemory-policy noeviction",
		      f->policy, f->evicted > 0 ? f->evicted : 0);
	else
		found(e, FINE, f->name, "eviction", "%s%s", f->policy,
		      evicts ? ", but maxmemory is not set" : "");
}

static void check_memory(struct exam *e, const struct facts *f)
{
	int64_t percent, more;

	if (f->memory < 0 || f->memory_max <= 0)
		return;
	percent = f->memory * 100 / f->memory_max;
	more = f->memory > f->memory_max ? f->memory : f->memory_max;
	found(e, percent >= FULL_PERCENT ? WRONG : FINE, f->name, "memory",
	      percent >= FULL_PERCENT
		      ? "%" PRId64 "%% of maxmemory (%" PRId64 " of %" PRId64
			" MB): when full, it renews and releases locks but "
			"grants none -> CONFIG SET maxmemory %" PRId64
			"mb, or delete keys that are not needed"
		      : "%" PRId64 "%% of maxmemory (%" PRId64 " of %" PRId64
			" MB)",
	      percent, f->memory / 1000000, f->memory_max / 1000000,
	      more * 2 / 1000000 + 1);
}

/* ---- how far it is ---- */

/* Who holds a lock does not depend on dates, so a difference alone breaks no
 * lock. But a clock that is this far off will be set one day, and a server's
 * leases end by its date: a step of 0.2 T ends a lease while its command still
 * runs (timing.h). So half of that is wrong, unless it is small enough to be
 * merely noted. */
static enum level level_of_clocks(int64_t apart_us, int64_t ttl_ms)
{
	if (apart_us <= CLOCK_NOTE_US)
		return FINE;
	return apart_us > ttl_ms * 1000 / 10 ? WRONG : NOTE;
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

static void check_clock(struct exam *e, const struct facts *f)
{
	int64_t far = f->ahead_us < 0 ? -f->ahead_us : f->ahead_us;
	int64_t within = f->nearest_us / 2 + 1;
	char by[32], give[32];

	if (f->samples == 0)
		return;
	(void)span_text(far, by, sizeof(by));
	(void)span_text(within, give, sizeof(give));
	if (far <= within)
		found(e, FINE, f->name, "clock",
		      "agrees with this machine's, within %s -> %s", give,
		      far > CLOCK_NOTE_US ? CLOCK_CURE : "");
	else
		found(e, level_of_clocks(far, e->o->ttl_ms), f->name, "clock",
		      "%s %s this machine's, within %s -> %s", by,
		      f->ahead_us < 0 ? "behind" : "ahead of", give,
		      far > CLOCK_NOTE_US ? CLOCK_CURE : "");
}

static void check_rtt(struct exam *e, const struct facts *f)
{
	int64_t least_ms = (f->rtt_us * RTTS_PER_LEASE + 999) / 1000;
	char rtt[32], ttl[32], enough[32];

	if (f->samples == 0)
		return;
	(void)span_text(f->rtt_us, rtt, sizeof(rtt));
	(void)format_duration(e->o->ttl_ms, ttl, sizeof(ttl));
	if (least_ms <= e->o->ttl_ms)
		found(e, FINE, f->name, "round-trip", "%s, for a lease of %s",
		      rtt, ttl);
	else
		found(e, WRONG, f->name, "round-trip",
		      "%s: a lease of %s is less than %d round trips; one "
		      "short delay loses it -> -t %s",
		      rtt, ttl, RTTS_PER_LEASE,
		      format_duration(least_ms, enough, sizeof(enough)));
}

/* ---- what else may fail ---- */

static void check_clients(struct exam *e, const struct facts *f)
{
	int64_t percent;

	/* (from 7.0 on INFO has it as well, and needs no right to CONFIG) */
	if (f->clients >= 0 && f->clients_max < 0)
		found(e, NOTE, f->name, "clients",
		      "%" PRId64 " connected; the limit is unknown (the server "
		      "does not report maxclients)",
		      f->clients);
	if (f->clients < 0 || f->clients_max <= 0)
		return;
	percent = f->clients * 100 / f->clients_max;
	found(e, percent >= FULL_PERCENT ? WRONG : FINE, f->name, "clients",
	      percent >= FULL_PERCENT
		      ? "%" PRId64 " of at most %" PRId64
			": soon no more clients can connect -> CONFIG SET "
			"maxclients %" PRId64
		      : "%" PRId64 " of at most %" PRId64,
	      f->clients, f->clients_max, f->clients_max * 2);
}

static void check_replicas(struct exam *e, const struct facts *f)
{
	bool lag = f->lag_s > LAG_S || f->replicas_online < f->replicas;
	bool blocked = f->replicas_good >= 0 && f->replicas_least > 0 &&
		       f->replicas_good < f->replicas_least;
	bool few = e->o->wait_replicas > f->replicas_online;
	char cure[160] = "";

	if (f->replicas < 0 || is(f->role, "slave") ||
	    !(blocked || few || lag || f->replicas > 0))
		return;
	if (blocked)
		(void)snprintf(cure, sizeof(cure),
			       "CONFIG SET min-replicas-to-write %" PRId64
			       ", or repair the replicas: with fewer than "
			       "%" PRId64 " writes are refused",
			       f->replicas_good, f->replicas_least);
	else if (few)
		(void)snprintf(cure, sizeof(cure),
			       "--wait-replicas %d cannot be met: repair the "
			       "replicas, or lower it",
			       e->o->wait_replicas);
	found(e,
	      blocked || few ? WRONG
	      : lag          ? NOTE
			     : FINE,
	      f->name, "replicas",
	      "%" PRId64 ", of which %" PRId64 " online, at most %" PRId64
	      "s behind -> %s",
	      f->replicas, f->replicas_online, f->lag_s,
	      !cure[0] && lag ? "see the log of the replicas" : cure);
}

static void check_uptime(struct exam *e, const struct facts *f)
{
	int64_t guard = servers_guard(e->servers, e->o);
	int64_t left = guard + 1000 - f->uptime_s * 1000;
	char up[32], wait[32];

	if (f->uptime_s < 0)
		return;
	(void)format_duration(f->uptime_s * 1000, up, sizeof(up));
	if (guard <= 0 || left <= 0)
		found(e, FINE, f->name, "uptime", "%s", up);
	else
		found(e, NOTE, f->name, "uptime",
		      "%s: it may have forgotten leases and does not vote for "
		      "another %s (--restart-guard) -> wait",
		      up, format_duration(left, wait, sizeof(wait)));
}

static void check_cluster(struct exam *e, const struct facts *f)
{
	bool ok = is(f->cluster_state, "ok") && f->cluster_slots == SLOTS;

	if (f->ep->kind != ENDPOINT_CLUSTER || f->cluster_state[0] == '\0')
		return;
	found(e, ok ? FINE : WRONG, f->name, "cluster",
	      ok ? "state %s, %" PRId64 " of %d slots"
		 : "state %s, %" PRId64 " of %d slots -> redis-cli --cluster "
		   "check '%s', then fix",
	      f->cluster_state, f->cluster_slots, SLOTS, f->name);
}

static void check_tls(struct exam *e, const struct facts *f)
{
	int64_t left = f->certificate_s;
	char text[32];

	if (f->has_certificate)
		found(e,
		      left < CERTIFICATE_WRONG_S  ? WRONG
		      : left < CERTIFICATE_NOTE_S ? NOTE
						  : FINE,
		      f->name, "tls", "its certificate %s %s -> %s",
		      left < 0 ? "has expired, since" : "is valid for another",
		      format_duration((left < 0 ? -left : left) * 1000, text,
				      sizeof(text)),
		      left < CERTIFICATE_NOTE_S
			      ? "renew it: clients reject an expired "
				"certificate"
			      : "");
	if (server_has_tls(f->ep) && f->ep->tls_conf.verify == TLS_NONE)
		found(e, NOTE, f->name, "tls",
		      "tls-verify=none: any server that answers is trusted "
		      "and gets the password -> --tls-verify full, and "
		      "--cacert FILE for its issuer");
}

void check_servers(struct exam *e)
{
	static void (*const each[])(struct exam *, const struct facts *) = {
		check_version, check_role,     check_scripts,
		check_rights,  check_silence,  check_persistence,
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

/* ---- all of them together ---- */

static void check_number(struct exam *e)
{
	int n = e->servers->n, answers;
	unsigned int nodes = 0;

	for (int i = 0; i < e->n; i++)
		if (e->facts[i].answers)
			nodes |= 1U << e->facts[i].node;
	answers = __builtin_popcount(nodes);
	if (n > 1 && answers < lease_quorum(n))
		found(e, WRONG, "all", "quorum",
		      "%d of %d servers answer, and %d are needed for a lock",
		      answers, n, lease_quorum(n));
	if (n % 2 == 0)
		found(e, NOTE, "all", "quorum",
		      "%d servers survive no more failures than %d; use an odd "
		      "number -> leave one out, or add one",
		      n, n - 1);
}

static void check_versions(struct exam *e)
{
	const struct facts *first = NULL;

	for (int i = 0; i < e->n; i++) {
		const struct facts *f = &e->facts[i];

		if (f->version[0] == '\0')
			continue;
		first = first ? first : f;
		if (is(f->software, first->software) &&
		    is(f->version, first->version))
			continue;
		found(e, NOTE, "all", "version",
		      "they differ: %s has %s %s, %s has %s %s", first->name,
		      first->software, first->version, f->name, f->software,
		      f->version);
		return;
	}
}

/* Once for each pair of servers of the list. */
static void check_twins(struct exam *e)
{
	unsigned int told[NODES_MAX] = {0};

	for (int i = 0; i < e->n; i++)
		for (int k = i + 1; k < e->n; k++) {
			const struct facts *a = &e->facts[i], *b = &e->facts[k];

			if (a->node == b->node || a->run_id[0] == '\0' ||
			    !is(a->run_id, b->run_id) ||
			    told[a->node] & 1U << b->node)
				continue;
			told[a->node] |= 1U << b->node;
			found(e, WRONG, "all", "twins",
			      "%s and %s are the same server and count once "
			      "-> leave one out",
			      a->name, b->name);
		}
}

/* The two that are farthest apart. If they agree and we do not, our clock is
 * wrong. */
static void check_clocks(struct exam *e)
{
	const struct facts *low = NULL, *high = NULL;
	int64_t apart;
	int known = 0;
	char by[32];

	for (int i = 0; i < e->n; i++) {
		const struct facts *f = &e->facts[i];

		if (f->samples == 0)
			continue;
		known++;
		low = !low || f->ahead_us < low->ahead_us ? f : low;
		high = !high || f->ahead_us > high->ahead_us ? f : high;
	}
	if (known < 2)
		return;
	apart = high->ahead_us - low->ahead_us;
	(void)span_text(apart, by, sizeof(by));
	if (level_of_clocks(apart, e->o->ttl_ms) != FINE)
		found(e, level_of_clocks(apart, e->o->ttl_ms), "all", "clock",
		      "the clock of %s is %s ahead of that of %s -> %s",
		      high->name, by, low->name, CLOCK_CURE);
	else if (low->ahead_us > CLOCK_NOTE_US ||
		 high->ahead_us < -CLOCK_NOTE_US)
		found(e, NOTE, "all", "clock",
		      "the servers agree within %s: this machine's clock is "
		      "wrong -> %s",
		      by, CLOCK_CURE);
}

void check_list(struct exam *e)
{
	check_number(e);
	check_versions(e);
	check_twins(e);
	check_clocks(e);
	if (e->servers->endpoint[0].kind == ENDPOINT_LOCAL)
		found(e, NOTE, "all", "scope",
		      "local: is for the locks of one user on this machine");
	if (!e->servers->asked_for)
		found(e, NOTE, "all", "scope",
		      "no server was named: %s is a different server on each "
		      "machine -> -u URL, REDLOCK_URL, a configuration file, "
		      "or -u local: for this machine alone",
		      DEFAULT_URL);
}

void check_machine(struct exam *e)
{
	const char *trouble = tree_trouble();

	if (trouble)
		found(e, WRONG, "here", "processes",
		      "/proc does not show the children of a process: %s; "
		      "redlock cannot run commands -> mount -t proc proc /proc",
		      trouble);
	else if (tree_is_veiled())
		found(e, NOTE, "here", "processes",
		      "/proc hides other users' processes (hidepid): a TERM "
		      "may miss them, and messages cannot name those that "
		      "cannot be killed");
	else
		found(e, FINE, "here", "processes", "found through /proc");
}
