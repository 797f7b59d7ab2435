/* SPDX-License-Identifier: MIT */
/* Leases, messages, statuses. */
#include "cli/hold/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/url.h"
#include "cli/servers.h"
#include "lock/core/timing.h"
#include "lock/wire/record.h"
#include "run/describe.h"

#define SPENT_MS 20 /* less of -w is not worth a crooked number in messages */

/* ---- what the command gets ---- */

const struct lease_outer *job_outer(const struct client *d)
{
	return &d->lease.conf.outer;
}

/* Runs in the guard, which releases for us. */
static void take_tokens(void *arg, const struct grants *given)
{
	struct job *j = arg;

	for (int i = 0; i < given->n; i++)
		memcpy(j->client[i].token, given->lock[i].token, TOKEN_SIZE);
}

/* Runs in the guard, which must not allocate: fills in what is known only now.
 */
static void fill_in(void *arg, const struct grants *given)
{
	struct job *j = arg;
	const struct granted *first =
		given->n > 0 ? &given->lock[j->at[0]] : NULL;
	const struct lease_outer *outer = job_outer(&j->client[j->at[0]]);

	j->end.given = *given;
	j->ran_at = now();
	if (j->kept)
		keeper_quiet(j->kept);
	for (int i = 0; i < given->n; i++) {
		const struct client *of = &j->client[j->at[i]];

		variables_add(&j->variables, &given->lock[j->at[i]],
			      job_outer(of),
			      j->leave ? 0 : of->lease.conf.ttl_ms, of->key,
			      j->servers.url);
	}
	variables_end(&j->variables, first,
		      !first       ? ""
		      : j->by_hand ? first->token
				   : held_token(first, outer));
}

/* ---- how it ended ---- */

int job_status(const struct job *j)
{
	const struct ending *e = &j->end;

	switch (e->outcome) {
	case OUTCOME_RAN:
		return WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status)
					      : WEXITSTATUS(e->status);
	case OUTCOME_BUSY:
	case OUTCOME_FULL:
	case OUTCOME_SUPERSEDED:
	case OUTCOME_OLDER:
		return j->o->conflict_status;
	case OUTCOME_GAVE_UP:
		return 128 + e->sig;
	case OUTCOME_ALREADY:
		return STATUS_OK;
	case OUTCOME_INSIDE:
	case OUTCOME_OWN:
		return STATUS_USAGE;
	case OUTCOME_MAX_HOLD:
		return STATUS_MAX_HOLD;
	case OUTCOME_UNLOCKED:
		return STATUS_OK;
	case OUTCOME_LOST:
	case OUTCOME_FORCED:
		return STATUS_LOST;
	case OUTCOME_CANNOT_EXEC:
		return !j->argv              ? STATUS_INTERNAL
		       : e->status == ENOENT ? STATUS_NOT_FOUND
					     : STATUS_CANNOT_EXEC;
	case OUTCOME_UNAVAILABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_FAILED:
		break;
	}
	return status_of_kind(e->why.kind);
}

/* The lock that caused the end. */
static const struct client *seen(const struct job *j)
{
	return &j->client[j->locks.lead];
}

/* With -E 0 a conflict is no failure, so -q silences it. */
static enum log_level conflict_level(const struct job *j)
{
	return j->o->conflict_status == 0 ? LOG_SAY_NOTICE : LOG_SAY_ERROR;
}

static void say_busy(const struct job *j)
{
	const struct client *d = seen(j);
	bool several = j->o->keys > 1;
	char *more = log_is_json() ? describe_members(d, -1) : NULL;
	char text[860], limit[32] = "", next[COMMAND_MAX];

	if (j->o->wait_ms > 0)
		(void)format_limit(j->o->wait_ms, limit, sizeof(limit));
	log_at(conflict_level(j), "not-acquired", more ? more : "",
	       "not acquired%s%s: %s%s%s%s%s", limit[0] ? " within " : "",
	       limit, several ? d->shown_key : "", several ? " is " : "",
	       j->o->slots > 1 ? "all slots are taken, one " : "",
	       describe_holder(&d->sight, 0, text, sizeof(text)),
	       describe_next(d->key, next));
	free(more);
}

static void say_full(const struct job *j)
{
	const struct client *d = seen(j);
	char waiting[64] = "it is held, and nobody may wait", next[200];
	int most = j->o->max_waiters;

	if (most > 0)
		(void)snprintf(waiting, sizeof(waiting), "%d %s already", most,
			       most == 1 ? "waits" : "wait");
	log_at(conflict_level(j), "not-acquired", "",
	       "not acquired: %s%s (--max-waiters %d)%s", d->whose, waiting,
	       most, describe_next(d->key, next));
}

static void say_label_done(const struct job *j)
{
	const char *mark = seen(j)->mark ? seen(j)->mark : "";
	char failure[RECORD_FAILURE_SIZE], when[48], forget[COMMAND_MAX];
	char label[4 * LABEL_MAX + 1];
	struct record by;

	/* (what we saw last may be who holds it on another server) */
	record_read(&by, mark, strlen(mark));
	log_notice("already-ran", "%salready ran for %s on %s at %s%s%s",
		   seen(j)->whose,
		   format_bytes(j->o->once_for, strlen(j->o->once_for), label,
				sizeof(label)),
		   by.about[ABOUT_HOST][0] ? by.about[ABOUT_HOST]
					   : "an anonymous host",
		   wall_zoned(by.since_ms / 1000, when, sizeof(when)),
		   record_failure(&by.end, failure),
		   describe_command("; to run it again: ", "force-release",
				    seen(j)->key, " --marks", forget));
}

static void say_already_ran(const struct job *j)
{
	const struct sight *s = &seen(j)->sight;
	char failure[RECORD_FAILURE_SIZE], forget[COMMAND_MAX];
	char when[48], left[32];

	if (seen(j)->lease.done_label) {
		say_label_done(j);
		return;
	}
	log_notice("already-ran",
		   "%salready ran on %s at %s%s; not again for %s "
		   "(--once-per); without --once-per it runs%s",
		   seen(j)->whose,
		   s->about[ABOUT_HOST][0] ? s->about[ABOUT_HOST]
					   : "an anonymous host",
		   wall_zoned(s->since, when, sizeof(when)),
		   record_failure(&s->end, failure),
		   format_duration(s->pttl_ms > 1000 ? s->pttl_ms / 1000 * 1000
						     : s->pttl_ms,
				   left, sizeof(left)),
		   describe_command("; to forget it: ", "force-release",
				    seen(j)->key, " --marks", forget));
}

static void say_older(const struct job *j)
{
	const struct sight *s = &seen(j)->sight;
	char failure[RECORD_FAILURE_SIZE], when[48], forget[COMMAND_MAX];

	log_at(conflict_level(j), "older", "",
	       "%snot run: revision %lld is older than %lld, which ran on %s "
	       "at %s%s%s",
	       seen(j)->whose, (long long)j->o->revision,
	       (long long)seen(j)->lease.newest,
	       s->about[ABOUT_HOST][0] ? s->about[ABOUT_HOST]
				       : "an anonymous host",
	       wall_zoned(s->since, when, sizeof(when)),
	       record_failure(&s->end, failure),
	       describe_command(
		       "; if that number was a mistake: ", "force-release",
		       seen(j)->key, " --marks", forget));
}

/* The REDLOCK_TOKEN in our environment holds the lock, or an ancestor of this
 * process does. */
static void say_own(const struct client *d)
{
	char text[860];

	if (!describe_is_own(d)) {
		log_error("inside",
			  "deadlock: the run around this one has the lock: %s; "
			  "keep REDLOCK_HELD in the environment (sudo "
			  "--preserve-env=REDLOCK_HELD), and this run shares "
			  "it",
			  describe_holder(&d->sight, 0, text, sizeof(text)));
		return;
	}

	log_error(
		"inside",
		"deadlock: %s, with our own REDLOCK_TOKEN; unlock it first, or "
		"take it with 'lock --export', so that this run can share it",
		describe_holder(&d->sight, 0, text, sizeof(text)));
}

static void say_unavailable(const struct job *j)
{
	char took[32];

	(void)format_duration(j->end.waited_ms, took, sizeof(took));
	log_error("unavailable", "%s%s%s%s%s",
		  j->o->wait_ms > 0 ? "gave up after " : "",
		  j->o->wait_ms > 0 ? took : "", j->o->wait_ms > 0 ? ": " : "",
		  j->end.why.text, j->servers.asked_for ? "" : NAME_A_SERVER);
}

void job_say_ending(const struct job *j)
{
	const struct ending *e = &j->end;
	char text[860];

	switch (e->outcome) {
	case OUTCOME_RAN:
	case OUTCOME_UNLOCKED:
	case OUTCOME_LOST: /* reported when it happened */
	case OUTCOME_FORCED:
	case OUTCOME_MAX_HOLD:
		break;
	case OUTCOME_ALREADY:
		say_already_ran(j);
		break;
	case OUTCOME_OLDER:
		say_older(j);
		break;
	case OUTCOME_INSIDE:
		log_error("inside", "deadlock: already held shared (-s) by the "
				    "command that runs this");
		break;
	case OUTCOME_OWN:
		say_own(seen(j));
		break;
	case OUTCOME_BUSY:
		say_busy(j);
		break;
	case OUTCOME_FULL:
		say_full(j);
		break;
	case OUTCOME_SUPERSEDED:
		log_at(conflict_level(j), "superseded", "",
		       "not acquired: %ssuperseded by %s", seen(j)->whose,
		       describe_name(&seen(j)->sight, text, sizeof(text)));
		break;
	case OUTCOME_GAVE_UP:
		/* the caller of a keeper knows why it ended */
		if (!j->kept)
			log_notice("gave-up", "gave up waiting (signal %d)%s",
				   e->sig,
				   j->by_hand ? "" : "; nothing was run");
		break;
	case OUTCOME_CANNOT_EXEC:
		if (j->argv)
			missing_say(j->argv, e->status, j->o->key[0]);
		else
			log_error("failed", "cannot fork: %s",
				  strerror(e->status));
		break;
	case OUTCOME_UNAVAILABLE:
		say_unavailable(j);
		break;
	case OUTCOME_REFUSED:
	case OUTCOME_FAILED:
		log_error("failed", "%s", e->why.text);
		break;
	}
}

const char *job_outcome(const struct job *j, int status)
{
	switch (j->end.outcome) {
	case OUTCOME_RAN:
		return j->end.without_lock ? "ran-unlocked"
		       : status == 0       ? "ran"
					   : "failed";
	case OUTCOME_FULL:
		return "busy";
	case OUTCOME_SUPERSEDED:
		return "superseded";
	case OUTCOME_BUSY:
	case OUTCOME_GAVE_UP:
		return j->o->wait_ms == 0 ? "busy" : "timeout";
	case OUTCOME_ALREADY:
		return "already-ran";
	case OUTCOME_OLDER:
		return "older";
	case OUTCOME_MAX_HOLD:
		return j->end.without_lock ? "ran-unlocked" : "max-hold";
	case OUTCOME_UNLOCKED:
		return "ran";
	case OUTCOME_LOST:
		return "lost";
	case OUTCOME_FORCED:
		return "forced";
	case OUTCOME_INSIDE:
	case OUTCOME_OWN:
	case OUTCOME_CANNOT_EXEC:
	case OUTCOME_FAILED:
		return "failed";
	case OUTCOME_UNAVAILABLE:
	case OUTCOME_REFUSED:
		return "unavailable";
	}
	return "failed";
}

/* Held by hand: how the work went is not known. NULL: it did not end so. */
static const char *outcome_by_hand(const struct job *j, int status)
{
	bool ran = j->end.outcome == OUTCOME_RAN;
	bool well = ran && (status == STATUS_OK || status == 128 + SIGHUP ||
			    (!j->kept && j->end.sig));

	if (!j->by_hand || (!well && j->end.outcome != OUTCOME_UNLOCKED))
		return NULL;
	return ran && j->kept ? "ended" : "released";
}

/* For the history: see struct hold_conf. */
static void fill_entry(void *arg, const struct ending *e,
		       struct history_entry *out)
{
	const struct job *j = arg;
	int status = job_status(j);
	const char *hand = outcome_by_hand(j, status);
	bool cut = e->ended && WIFSIGNALED(e->status);

	*out = (struct history_entry){.outcome = job_outcome(j, status),
				      .status = -1,
				      .signal = cut ? WTERMSIG(e->status) : 0,
				      .waited_ms = e->waited_ms,
				      .held_ms = e->held_ms,
				      .by = e->by[0] ? e->by : NULL};
	if (hand) {
		out->outcome = hand;
		out->signal = 0;
	} else if (e->ended && !cut) {
		out->status = WEXITSTATUS(e->status);
	} else if (e->outcome == OUTCOME_CANNOT_EXEC) {
		out->status = status;
	}
}

/* ---- the locks ---- */

/* Makes the clients, in the order of the keys' bytes: the same order for
 * everybody. */
static int use_locks(struct job *j, struct fail *why)
{
	const struct opts *o = j->o;
	const struct servers *s = &j->servers;
	struct lease_conf conf = {
		.nodes = s->n,
		.ttl_ms = o->ttl_ms,
		.node_timeout_ms = servers_timeout(s, o->ttl_ms),
		.wait_ms = o->wait_ms,
		.max_waiters = o->max_waiters,
		.supersede = o->supersede || o->replace,
		.replaces = o->replace,
		.replace_ms = o->force_grace_ms,
		.shared = o->shared,
		.high = o->high,
		.unrecorded = o->no_history,
		.slots = o->slots,
		.slot_names = o->slot_names,
		.replicas = o->wait_replicas,
		.may_move = servers_may_move(s),
		.max_leases = (int64_t)o->max_renewals + 1,
		.min_hold_ms = j->by_hand ? 0 : o->min_hold_ms,
		.once_ms = j->by_hand ? 0 : o->once_ms,
		.once_any = o->once_any,
		.revision = j->by_hand ? 0 : o->revision + 1,
		.label = j->by_hand ? NULL : o->once_for,
		.guard_ms = servers_guard(s, o),
		.ticket = s->n > 1 ? queue_ticket(wall_microseconds(), o->high)
				   : 0,
	};

	/* a password command has taken its part */
	if (s->limit.ms != NEVER.ms && between(s->began, now()) > SPENT_MS)
		conf.wait_ms = later(s->limit, after(now(), 1)).ms - now().ms;
	j->client = calloc((size_t)o->keys, sizeof(j->client[0]));
	if (!j->client)
		return fail_memory(why);
	for (int i = 0; i < o->keys; i++) {
		const char *key = o->key[i];

		for (int k = 0; k < o->keys; k++)
			j->at[i] += strcmp(o->key[k], key) < 0;
		held_find(getenv("REDLOCK_HELD"), key, s->url, &conf.outer);
		if (client_init(&j->client[j->at[i]], s->endpoint, key,
				strlen(key), &conf, why) < 0)
			return -1;
		j->client[j->at[i]].own = getenv("REDLOCK_TOKEN");
	}
	locks_init(&j->locks, j->client, o->keys);
	return 0;
}

/* Runs in the guard: redlock died. */
static void tell_of_death(struct job *j)
{
	struct ending *e = &j->end;
	struct history_entry entry;

	e->outcome = OUTCOME_LOST;
	e->waited_ms = between(j->client[0].lease.began, j->ran_at);
	e->held_ms = between(j->ran_at, now());
	fill_entry(j, e, &entry);
	for (int i = 0; i < e->given.n; i++)
		(void)client_tell(&j->client[i], &entry, &e->given.lock[i]);
}

/* A person or script that was told of the loss may go on for as long as the
 * lease would have lasted. */
static void inherit(void *arg, bool ran)
{
	struct job *j = arg;
	const struct keeper *kept = j->kept;
	int64_t left_ms;

	tell_of_death(j);
	if (kept && ran)
		keeper_tell(kept);
	if (kept && ran && !keeper_gone(kept, after(now(), j->o->ttl_ms)))
		return;
	/* still as the guard, which no signal ends, nor an outer redlock that
	 * kills: a server that answers has the lock back at once */
	locks_inherit(&j->locks, ran);
	if (!locks_go_on(&j->locks, &left_ms))
		return;
	process_let_go();
	locks_finish(&j->locks);
}

/* All keys, for messages. */
static void name_keys(struct job *j)
{
	size_t used = 0;

	for (int i = 0; i < j->o->keys && used < sizeof(j->shown_keys) - 1; i++)
		used += (size_t)snprintf(j->shown_keys + used,
					 sizeof(j->shown_keys) - used,
					 "%s%.127s", i ? ", " : "",
					 j->client[j->at[i]].shown_key);
	log_key(j->shown_keys, j->o->key[0], strlen(j->o->key[0]));
}

int job_find(struct job *j, struct fail *why)
{
	return servers_find(&j->servers, j->o, why);
}

int job_prepare(struct job *j, const char *command, struct fail *why)
{
	/* the servers accept our connections while we see to the rest */
	if (use_locks(j, why) < 0 || signals_open(&j->signals, why) < 0 ||
	    variables_init(&j->variables, j->o->key[0], j->servers.url,
			   j->o->slot_names, why) < 0)
		return -1;
	describe(&j->who, j->o, command);
	for (int i = 0; i < j->o->keys; i++)
		client_describe(&j->client[i], &j->who.holder);
	notify_use(getenv("NOTIFY_SOCKET"));
	name_keys(j);
	return 0;
}

void job_run(struct job *j, struct hold_conf *conf, struct order *order)
{
	conf->entry = fill_entry;
	conf->teller = j;
	j->kept = conf->kept;
	j->leave = conf->leave;
	for (int i = 0; i < j->o->keys; i++)
		j->client[i].stake = conf->by_hand ? "the hold ends"
						   : "the command is killed";
	order->envp = j->variables.envp;
	for (int i = 0; i < j->variables.own_pids; i++)
		order->own_pid[i] = j->variables.own_pid[i];
	order->signals = &j->signals;
	order->noted = take_tokens;
	order->fill_in = fill_in;
	order->release = inherit;
	order->arg = j;
	supervise(&j->locks, conf, order, &j->signals, &j->end);
}

void job_die(const struct job *j)
{
	const struct ending *e = &j->end;

	if (e->sig == 0)
		return;
	if (e->outcome == OUTCOME_GAVE_UP)
		signals_die(e->sig);
	if (e->outcome == OUTCOME_RAN && WIFSIGNALED(e->status) &&
	    sigismember(&e->sigs, WTERMSIG(e->status)))
		signals_die(WTERMSIG(e->status));
}
