/* SPDX-License-Identifier: MIT */
/* How the verbs that look see the servers. */
#include "cli/query.h"

#include <stdio.h>
#include <string.h>

int look_open(struct look *l, const struct opts *o, struct fail *why)
{
	if (servers_find(&l->servers, o, why) < 0)
		return -1;
	return survey_open(&l->survey, l->servers.endpoint, l->servers.n,
			   servers_timeout(&l->servers, o->ttl_ms), why);
}

void look_close(struct look *l)
{
	survey_close(&l->survey);
}

bool look_is_host_only(const struct look *l)
{
	return l->servers.endpoint[0].kind == ENDPOINT_LOCAL;
}

int look_ask(struct look *l, int target, const char *key, size_t len,
	     const struct view_most *most, int64_t tag)
{
	const struct endpoint *ep =
		&l->servers.endpoint[survey_node(&l->survey, target)];
	struct script_scratch scratch = {0};
	struct words request;
	struct keys keys;
	int rc;

	if (keys_init(&keys, key, len, "") < 0)
		return -1;
	view_request(&keys, most, ep->db, &scratch, &request);
	rc = survey_call(&l->survey, target, &request, view_sha(), tag);
	keys_close(&keys);
	return rc;
}

void look_take(struct sighting *s, const struct got *got)
{
	struct fail *why = &s->why[got->node];

	*why = got->why;
	if (why->kind == FAIL_NONE)
		(void)view_add(&s->view, got->reply, got->node, why);
}

static void say_missing(const struct look *l, int good,
			const struct fail node_why[NODES_MAX], struct fail *why)
{
	int n = l->servers.n;
	size_t used =
		(size_t)snprintf(why->text, sizeof(why->text),
				 "%d of %d servers answered, %d are needed",
				 good, n, lease_quorum(n));

	why->kind = FAIL_UNAVAILABLE;
	for (int i = 0; i < n && used < sizeof(why->text); i++) {
		if (node_why[i].kind == FAIL_NONE)
			continue;
		if (why->kind == FAIL_UNAVAILABLE)
			why->kind = node_why[i].kind;
		used += (size_t)snprintf(why->text + used,
					 sizeof(why->text) - used, "; %.150s",
					 node_why[i].text);
	}
}

int look_enough(const struct look *l, unsigned int answers,
		const struct fail node_why[NODES_MAX], struct fail *why)
{
	int n = l->servers.n, good = __builtin_popcount(answers);

	if (good >= lease_quorum(n))
		return 0;
	if (n > 1)
		say_missing(l, good, node_why, why);
	else
		*why = node_why[0];
	if (why->kind == FAIL_UNAVAILABLE && !l->servers.asked_for) {
		size_t used = strlen(why->text);

		(void)snprintf(why->text + used, sizeof(why->text) - used, "%s",
			       NAME_A_SERVER);
	}
	return -1;
}

int look_done(struct look *l, struct sighting *s, struct fail *why)
{
	view_finish(&s->view, l->servers.n);
	return look_enough(l, s->view.answers, s->why, why);
}

int look_at(struct look *l, const char *key, size_t len,
	    const struct view_most *most, struct sighting *out,
	    struct fail *why)
{
	struct got got;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < l->servers.n; i++)
		if (look_ask(l, i, key, len, most, i) < 0)
			return fail(why, FAIL_INTERNAL, "out of memory");
	while (survey_get(&l->survey, &got))
		look_take(out, &got);
	return look_done(l, out, why);
}

void look_away(struct sighting *s)
{
	view_close(&s->view);
}

const char *look_cure(const struct fail *why)
{
	return why->kind == FAIL_REFUSED && strstr(why->text, "NOPERM") &&
			       (strstr(why->text, "'scan'") ||
				strstr(why->text, "'info'"))
		       ? "; to allow it: ACL SETUSER NAME +scan +info"
		       : "";
}
