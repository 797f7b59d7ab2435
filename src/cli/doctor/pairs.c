/* SPDX-License-Identifier: MIT */
/* Judges the servers together, and this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/checks.h"
#include "cli/doctor/distance.h"
#include "proc/tree.h"

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
