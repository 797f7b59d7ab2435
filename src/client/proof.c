/* SPDX-License-Identifier: MIT */
/* Whether the server that said yes is still the master. */
#include "client/inside.h"

#include "net/place.h"

#define BEHIND_MS 500 /* how far a Sentinel that runs may be behind */

/* Whether the server has answered, but too few of its Sentinels have. */
bool proof_is_open(const struct client *cl, int node, struct fail *why)
{
	struct place other;

	for (int c = 0; c < CHANNELS; c++)
		if (cl->unproven[node][c].ask.verb != VERB_NONE) {
			(void)sentinels_say(cl->sentinels[node],
					    &cl->peer[node].place,
					    cl->vouched[node], &other, why);
			return true;
		}
	return false;
}

/* Called before the server is asked, so that both run at the same time. */
void proof_ask(struct client *cl, const struct ask *ask)
{
	const struct endpoint *ep = cl->peer[ask->node].ep;
	struct sentinels **s = &cl->sentinels[ask->node];
	int64_t patience = cl->lease.conf.ttl_ms / 6;

	/* (REPLICATE follows a grant, for which the Sentinels were asked) */
	if (ep->kind != ENDPOINT_SENTINEL || ask->verb == VERB_REPLICATE)
		return;
	if (!*s)
		*s = sentinels_open(ep, &cl->why);
	if (!*s)
		return;
	cl->vouched[ask->node] = ask->sent;
	sentinels_ask(*s, ask->sent, patience);
}

/* Gives up on proof. A heal happens only once, so it is remembered for the next
 * yes. */
struct ask proof_forget(struct client *cl, int node, int chan)
{
	struct unproven *u = &cl->unproven[node][chan];
	struct ask asked = u->ask;

	if (asked.verb != VERB_NONE)
		cl->healed_once[node] |= u->answer.said == SAID_HEALED;
	u->ask.verb = VERB_NONE;
	return asked;
}

/* We believed the first Sentinel that knew of a new master, and the others may
 * be a moment behind: go back to the old one only if they insist. */
static bool is_behind(struct client *cl, int node, const struct place *master)
{
	const struct peer *p = &cl->peer[node];
	int64_t patience = cl->lease.conf.ttl_ms / 6;

	if (cl->arrived[node] != p->moves) {
		cl->arrived[node] = p->moves;
		cl->arrived_at[node] = now();
	}
	if (patience > BEHIND_MS)
		patience = BEHIND_MS;
	return place_same(master, &p->doubted) &&
	       before(cl->vouched[node], after(cl->arrived_at[node], patience));
}

enum proof_says proof_next(struct client *cl, int node, struct proof *out)
{
	const struct place *at = &cl->peer[node].place;
	const struct sentinels *s = cl->sentinels[node];
	struct fail why;
	bool other = s && at->host[0] != '\0' &&
		     sentinels_say(s, at, cl->vouched[node], &out->master,
				   &why) == SENTINELS_OTHER;

	if (other && !is_behind(cl, node, &out->master))
		return PROOF_OTHER;
	for (int c = 0; c < CHANNELS; c++) {
		struct unproven *u = &cl->unproven[node][c];

		if (u->ask.verb == VERB_NONE)
			continue;
		if (!s || other) {
			(void)fail(&out->why, FAIL_UNAVAILABLE, "%s",
				   s ? "the new master, but not all of its "
				       "Sentinels know that yet"
				     : "cannot ask the Sentinels");
			return PROOF_FAILED;
		}
		/* a search has found another master since: what the Sentinels
		 * say now is not said of the one that answered */
		if (u->moves != cl->peer[node].moves) {
			(void)fail(&out->why, FAIL_UNAVAILABLE,
				   "the answer came from its former master");
			return PROOF_FAILED;
		}
		switch (sentinels_say(s, at, u->ask.sent, &out->master,
				      &out->why)) {
		case SENTINELS_OPEN:
		case SENTINELS_OTHER: /* at that time; the Sentinels were asked
				      again since */
			break;
		case SENTINELS_SAME:
			out->yes = *u;
			u->ask.verb = VERB_NONE;
			return PROOF_COUNTS;
		case SENTINELS_UNSURE:
			return PROOF_FAILED;
		}
	}
	return PROOF_OPEN;
}
