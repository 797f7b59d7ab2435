/* SPDX-License-Identifier: MIT */
/* All locks that are held or waited for, once. */
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/render.h"
#include "cli/show/locks.h"

/* `missing`: what may be missing, and why. */
static int show(struct scan *c, const struct opts *o, struct fail *missing,
		struct fail *why)
{
	const struct choice choice = {
		.held = o->held, .waiting = o->waiting, .past = o->prometheus};
	struct listing l;
	int rc = listing_make(&l, c, &choice);

	if (rc == 0 && o->prometheus) {
		rc = metrics_print(&l, c, missing, stdout);
	} else if (rc == 0 && o->json) {
		struct json j = {.f = stdout};

		json_text(&j, "schema", "redlock.list/1");
		if (missing->kind != FAIL_NONE)
			json_text(&j, "error", missing->text);
		listing_json(&l, c, &j);
		json_close(&j);
		(void)putchar('\n');
	} else if (rc == 0) {
		if (l.rows == 0 && c->hidden == 0 && missing->kind == FAIL_NONE)
			log_notice("no-locks", "%s",
				   o->pattern || o->held || o->waiting
					   ? "no matching locks"
					   : "no locks");
		rc = listing_print(&l, stdout);
	}
	listing_close(&l);
	return rc < 0 ? fail_memory(why) : 0;
}

/* Reports what may be missing. */
static int say_missing(struct scan *c, struct fail *why)
{
	const struct node_seen *down = scan_down(c);

	if (c->hidden > 0)
		log_notice("hidden", "%d lock%s cannot be read: %s", c->hidden,
			   c->hidden == 1 ? "" : "s", c->hidden_why.text);
	if (scan_verdict(c, why) < 0)
		return -1;
	if (c->known.overfull)
		return fail(why, FAIL_INTERNAL,
			    "there are more than these %d locks",
			    c->known.locks);
	query_say_replicas(c->query);
	if (down && !query_is_replica(c->query, (int)(down - c->node)))
		log_notice("incomplete",
			   "showing what the other servers report: %s",
			   down->why.text);
	return 0;
}

static int ask_all(struct scan *c, struct fail *why)
{
	scan_find(c);
	while (scan_is_finding(c) || scan_is_asking(c)) {
		if (scan_step(c) < 0)
			return fail_memory(why);
		if (scan_is_finding(c) || scan_is_asking(c))
			fanout_poll(&c->query->fanout, NULL, 0, NEVER);
	}
	return 0;
}

/* Shows the rest, but the status is that of the failure. The JSON says so, too:
 * a program may read only standard output. */
int listing_once(struct query *query, const struct opts *o, struct fail *why)
{
	struct scan c;
	struct fail missing = {0};
	int rc;

	query_once(query);
	scan_open(&c, query, o->pattern);
	c.past = o->prometheus;
	rc = ask_all(&c, why);
	if (rc == 0)
		(void)say_missing(&c, &missing);
	if (rc == 0)
		rc = show(&c, o, &missing, why);
	scan_close(&c);
	if (rc == 0 && missing.kind != FAIL_NONE) {
		*why = missing;
		rc = -1;
	}
	return rc;
}

static int list(const struct opts *o)
{
	static struct query query;
	struct fail why;
	int status = STATUS_OK;

	if (o->json && o->prometheus) {
		log_error("usage",
			  "--json and --prometheus cannot be combined");
		return STATUS_USAGE;
	}
	if (query_open(&query, o, &why) < 0 ||
	    listing_once(&query, o, &why) < 0)
		status = report_failure(&why);
	query_close(&query);
	return render_end(status);
}

const struct command cmd_list = {
	.name = "list",
	.usage = "[OPTIONS] [PATTERN]",
	.summary = "Shows the locks that are held or waited for",
	.example = {"redlock list 'deploy*'", "redlock list --held --json"},
	.by = BY_LIST,
	.operands = OPERANDS_PATTERN,
	.run = list,
};
