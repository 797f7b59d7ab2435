/* SPDX-License-Identifier: MIT */
/* What a client says about its nodes. */
#include "client/inside.h"

#include <stdio.h>

#include "base/log.h"
#include "base/units.h"
#include "lock/core/timing.h"

/* "; the command is killed in 22s unless the server answers" */
static const char *tell_stake(const struct client *cl, char *buf, size_t size)
{
	const struct lease *l = &cl->lease;
	struct instant kill = timing_kill(lease_credited_at(l), l->conf.ttl_ms);
	int64_t ms = between(now(), kill);
	char left[32];

	buf[0] = '\0';
	if (cl->stake && ms > 0)
		(void)snprintf(
			buf, size, "; %s in %s unless %s answers", cl->stake,
			ms < 10000 ? format_duration(ms, left, sizeof(left))
				   : format_seconds(ms, left, sizeof(left)),
			l->conf.nodes > 1 ? "a majority" : "the server");
	return buf;
}

/* While we hold the lock, the first failure and the recovery get a line
 * each. */
void report_trouble(struct client *cl, int node)
{
	const struct lease *l = &cl->lease;
	char others[64] = "", stake[96] = "";
	int good = 0;

	if (l->state != LEASE_HELD || cl->troubled[node]) {
		log_detail("trouble", "%s", cl->why.text);
		return;
	}
	cl->troubled[node] = true;
	for (int i = 0; i < l->conf.nodes; i++)
		good += i != node && node_is_ours(&l->node[i]) &&
			!cl->troubled[i];
	if (l->conf.nodes > 1)
		(void)snprintf(others, sizeof(others),
			       "; %d of %d other servers hold the lock", good,
			       l->conf.nodes - 1);
	if (good < lease_quorum(l->conf.nodes))
		(void)tell_stake(cl, stake, sizeof(stake));
	log_notice("not-renewed", "%scannot renew: %s%s; retrying%s", cl->whose,
		   cl->why.text, others, stake);
}

void report_renewal(struct client *cl, int node)
{
	const struct lease *l = &cl->lease;
	bool several = l->conf.nodes > 1;

	if (l->state == LEASE_HELD && !cl->troubled[node] &&
	    before(cl->renewed, lease_credited_at(l))) {
		if (cl->renewed.ms > 0)
			log_detail("renewal", "%srenewed", cl->whose);
		cl->renewed = lease_credited_at(l);
	}
	if (cl->troubled[node] && l->state == LEASE_HELD &&
	    node_is_ours(&l->node[node])) {
		log_notice("renewed", "%srenewed again%s%s", cl->whose,
			   several ? ": " : "",
			   several ? cl->peer[node].name : "");
		cl->troubled[node] = false;
	}
	if (l->healed != cl->healed)
		log_notice("healed",
			   "%sthe lock was missing%s%s and was restored: "
			   "deleted by hand, evicted (see maxmemory-policy), "
			   "flushed, or lost in a restart; nobody else held it",
			   cl->whose, several ? " from " : "",
			   several ? cl->peer[node].name : "");
	if (l->stepped != cl->stepped)
		log_notice("clock-step",
			   "the lease was shorter than requested: the server's "
			   "clock was set forward; renewing four times as "
			   "often for an hour");
	cl->healed = l->healed;
	cl->stepped = l->stepped;
}

/* A question without an answer does not fail, so look for silence. */
void report_silence(struct client *cl, int node)
{
	const struct lease *l = &cl->lease;
	const struct lease_node *n = &l->node[node];
	struct instant at = now();
	struct instant credited_at =
		node_is_ours(n) ? n->grant.credited_at : l->held_from;
	struct fail sentinels;
	char age[32];

	if (l->state != LEASE_HELD || cl->troubled[node] ||
	    cl->asked[node].ms == NEVER.ms ||
	    before(at, timing_start(credited_at, l->conf.ttl_ms)) ||
	    before(at, timing_renew(cl->asked[node], l->conf.ttl_ms)))
		return;
	(void)fail(&cl->why, FAIL_UNAVAILABLE, "%s: %s for %s",
		   cl->peer[node].name,
		   proof_is_open(cl, node, &sentinels) ? sentinels.text
						       : "no answer",
		   format_duration(between(credited_at, at), age, sizeof(age)));
	report_trouble(cl, node);
}

void report_twins(struct client *cl)
{
	const int *twin = cl->lease.twin;

	if (twin[1] == 0 || cl->told_twins)
		return;
	cl->told_twins = true;
	(void)fail(&cl->why, FAIL_CONFIG,
		   "%s and %s are the same server and would count twice; name "
		   "each server once",
		   cl->peer[twin[0]].name, cl->peer[twin[1]].name);
	if (cl->lease.end != END_REFUSED)
		log_error("twins", "%s", cl->why.text);
}

static void say_awaited(const struct client *cl, int node, char *buf,
			size_t size)
{
	struct fail sentinels;
	char limit[32];
	const struct lease *l = &cl->lease;
	const struct conn *c = &cl->session[node][l->node[node].link.good].conn;
	bool unproven = proof_is_open(cl, node, &sentinels);
	int64_t ms = l->conf.node_timeout_ms;
	bool cut = l->conf.wait_ms > 0 && l->conf.wait_ms < ms;

	(void)snprintf(buf, size, "%s: %s within %s%s%s", cl->peer[node].name,
		       unproven ? sentinels.text : conn_awaits(c),
		       format_duration(cut ? l->conf.wait_ms : ms, limit,
				       sizeof(limit)),
		       cut ? "" : " (--node-timeout)",
		       unproven ? "" : conn_suspects(c));
}

/* Says how many servers answered, and what is wrong with the others. */
static void say_missing(struct client *cl)
{
	const struct lease *l = &cl->lease;
	char text[sizeof(cl->why.text)], one[600];
	size_t used = 0;
	int good = 0, open = lease_votes(l, VOTE_OPEN);
	enum fail_kind kind =
		l->refusal != FAIL_NONE ? l->refusal : FAIL_UNAVAILABLE;

	for (int i = 0; i < l->conf.nodes; i++)
		good += lease_heard(l, i);
	/* even with those that we did not wait for, there would be too few */
	used = (size_t)snprintf(text, sizeof(text), "%s%s" TOO_FEW_ANSWERED,
				cl->whose, open ? "at most " : "", good + open,
				l->conf.nodes, lease_quorum(l->conf.nodes));
	for (int i = 0; i < l->conf.nodes && used < sizeof(text); i++) {
		if (lease_heard(l, i) || l->node[i].vote == VOTE_OPEN)
			continue;
		say_awaited(cl, i, one, sizeof(one));
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "; %s",
			cl->node_why[i][0] ? cl->node_why[i] : one);
		/* and has been one for as long as we asked */
		if (cl->replica[i] && kind == FAIL_UNAVAILABLE)
			kind = FAIL_CONFIG;
	}
	(void)fail(&cl->why, kind, "%s", text);
}

const struct fail *client_why(struct client *cl)
{
	const struct lease *l = &cl->lease;
	char text[600];

	/* too few replicas */
	if (l->end == END_REFUSED && l->refusal == FAIL_UNAVAILABLE &&
	    cl->why.kind != FAIL_NONE)
		return &cl->why;
	if (l->conf.nodes > 1 && !cl->told_twins &&
	    (l->refusal != FAIL_CONFIG || cl->why.kind != FAIL_CONFIG)) {
		say_missing(cl);
	} else if (cl->why.kind == FAIL_NONE) {
		say_awaited(cl, 0, text, sizeof(text));
		(void)fail(&cl->why, FAIL_UNAVAILABLE, "%s", text);
	}
	if (l->conf.nodes == 1 && cl->replica[0] &&
	    cl->why.kind == FAIL_UNAVAILABLE)
		cl->why.kind = FAIL_CONFIG;
	return &cl->why;
}
