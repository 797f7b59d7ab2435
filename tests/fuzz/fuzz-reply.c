/* SPDX-License-Identifier: MIT */
/* Any bytes as replies of a server, for all code that reads replies. The
 * results are printable and within bounds.
 *
 * The first byte says which node, and whether replies are read whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/history/history.h"
#include "fuzz.h"
#include "lock/wire/answer.h"
#include "lock/wire/admin.h"
#include "lock/wire/history.h"
#include "lock/wire/record.h"
#include "lock/wire/view.h"
#include "net/errors.h"
#include "net/member.h"
#include "net/peer.h"
#include "net/resp.h"
#include "client/fanout.h"
#include "cli/url.h"

const char fuzz_name[] = "reply";

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

/* A terminal may see it. */
static void must_show(const char *text, size_t size, const char *what)
{
	size_t n = strnlen(text, size), len;

	must(n < size, what);
	for (size_t i = 0; i < n; i += len) {
		len = utf8_length(text + i, n - i);
		must(len > 0 && (unsigned char)text[i] >= ' ' &&
			     text[i] != 0x7f,
		     what);
	}
}

static void must_show_about(const char (*about)[ABOUT_MAX])
{
	for (int i = 0; i < ABOUT_COUNT; i++)
		must_show(about[i], ABOUT_MAX, "what is read can be shown");
}

/* ---- short ones ---- */

static void read_answers(const struct words *w)
{
	static const enum verb verbs[] = {VERB_ACQUIRE, VERB_LISTEN,
					  VERB_CONFIRM, VERB_REPLICATE,
					  VERB_RELEASE};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct answer a = {.said = SAID_NO};
		struct sight s = {.seen = false};
		struct fail why = {0};

		if (answer_read(verbs[i], w, &a, &s, &why) < 0) {
			must_show(why.text, sizeof(why.text), "why");
			must(why.kind != FAIL_NONE, "a failure has a kind");
			continue;
		}
		must(a.counter >= 0, "a counter is one");
		must(a.busy.pttl_ms >= -1 && a.busy.pttl_ms <= AGES_MS &&
			     a.confirm.pttl_ms >= -1 &&
			     a.confirm.pttl_ms <= AGES_MS &&
			     a.handed_ms >= -1 && a.handed_ms <= AGES_MS &&
			     a.busy.holder_ttl_ms >= 0 &&
			     a.busy.holder_ttl_ms <= AGES_MS,
		     "times are bounded");
		must(a.busy.place >= 0, "a place is one");
		must(a.granted.slot >= 0 && a.granted.slot < 10000,
		     "a slot is one");
		must_show(s.token, sizeof(s.token), "a token can be shown");
		must_show(s.type, sizeof(s.type), "a type can be shown");
		must_show_about(s.about);
	}
}

static void read_error(const struct words *w)
{
	static struct endpoint ep;
	struct peer peer = {0};
	struct error_told told;
	char text[200], said[sizeof(text) + 400];
	struct place to;
	struct fail why;
	size_t skip;
	bool ask;

	if (ep.places == 0)
		(void)endpoint_parse(&ep, "redis-cluster://10.0.0.1", &why);
	skip = error_wrap(w->at[0], w->len[0]);
	must(skip <= w->len[0], "what is wrapped is within");
	(void)format_bytes(w->at[0] + skip, w->len[0] - skip, text,
			   sizeof(text));
	for (int from = 1; from <= ERROR_FROM_SENTINEL; from *= 2) {
		error_explain(&told, text, (enum error_from)from);
		must(told.kind != FAIL_NONE, "an error is a failure");
		must(strstr(text, told.words) == text ||
			     strcmp(told.words + strlen(told.words) - 3,
				    "...") == 0,
		     "its words are how it begins");
		must(strstr(error_say(&told, true, said, sizeof(said)),
			    told.words) != NULL,
		     "they are read");
	}
	(void)error_begun(text);
	(void)error_missing(text);
	(void)error_waits(text);
	peer_init(&peer, &ep);
	if (peer_redirected(&peer, text, &ask, &to)) {
		must_show(to.host, sizeof(to.host), "a host can be shown");
		must(to.host[0] != '\0' && atoi(to.port) > 0, "a place is one");
		peer_move(&peer, &to);
		must(peer_is_known(&peer) ==
			     (strcmp(to.host, "10.0.0.1") == 0 &&
			      strcmp(to.port, "6379") == 0),
		     "only the node of the URL is known");
	}
	(void)peer_not_followed(&peer, text);
}

static void read_master(const struct words *w)
{
	struct place p;

	if (member_master(&p, w) < 0)
		return;
	must_show(p.host, sizeof(p.host), "a host can be shown");
	must(p.host[0] != '\0' && atoi(p.port) > 0 && atoi(p.port) < 65536,
	     "a place is one");
}

/* ---- whole ones ---- */

static void read_records(const struct reply *r)
{
	struct record one;

	for (size_t i = 0; i < r->items; i++)
		read_records(&r->item[i]);
	record_read(&one, r->bytes, r->len);
	must_show_about(one.about);
	must(one.since_ms >= 0 && one.ticket >= 0,
	     "a record's numbers are bounded");
	(void)record_read_member(&one, r->bytes, r->len);
	must_show_about(one.about);
	must(one.ttl_ms >= 0 && one.slots > 0 && one.token_len <= r->len,
	     "a member's numbers are bounded");
}

static void read_members(const struct reply *r)
{
	const struct place wanted = {"10.0.0.7", "6381"};
	static struct endpoint ep;
	struct got got = {.reply = r};
	struct fail why = {0};
	struct fanout s;

	(void)member_in_nodes(r, &wanted);
	(void)member_in_slots(r, "10.0.0.7", &wanted);
	if (r->kind != REPLY_LIST)
		return;
	if (ep.places == 0)
		(void)endpoint_parse(&ep, "redis-cluster://10.0.0.1", &why);
	if (fanout_open(&s, &ep, 1, 1000, &why) < 0)
		return;
	if (primaries_take(&s, &got, &why) < 0)
		must_show(why.text, sizeof(why.text), "why");
	must(s.targets <= 1002, "the primaries are bounded");
	for (uint32_t slot = 0; slot < 16384; slot += 257) {
		int home = primaries_home(&s, 0, (uint16_t)slot);

		must(home >= 0 && home < s.targets, "a slot is somewhere");
	}
	fanout_close(&s);
}

static void read_sentinels(const struct reply *r)
{
	uint64_t id[MEMBER_SENTINELS];
	struct place at[MEMBER_SENTINELS];
	int n = member_sentinels(r, id, at);

	must(n >= -1, "their number is one");
	for (int i = 0; i < n && i < MEMBER_SENTINELS; i++) {
		must_show(at[i].host, sizeof(at[i].host),
			  "a host can be shown");
		must(at[i].host[0] == '\0' || atoi(at[i].port) > 0,
		     "a place is one");
	}
}

/* What is said of another client's lock. */
static void read_forced(const struct reply *r)
{
	static const enum force_step steps[] = {FORCE_ASK, FORCE_TAKE,
						FORCE_FOREIGN};
	struct fail said = {0};
	bool was = false;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct force_answer a = {.ms = 0};
		struct fail why = {0};

		if (force_read(steps[i], r, &a, &why) < 0) {
			must_show(why.text, sizeof(why.text), "why");
			continue;
		}
		must(a.ms >= 0 && a.ms <= AGES_MS && a.asked >= 0,
		     "numbers are bounded");
	}
	if (token_op_read(r, &was, &said) < 0)
		must_show(said.text, sizeof(said.text), "why");
}

static void check_view(struct view *v, int nodes)
{
	struct sight s;

	view_finish(v, nodes);
	for (int i = 0; i < v->holders; i++) {
		const struct view_holder *h = &v->holder[i];

		must_show_about(h->about);
		must_show(h->token, sizeof(h->token), "a token can be shown");
		must_show(h->type, sizeof(h->type), "a type can be shown");
		must(h->value_len <= 4096 && h->left_ms >= -1 &&
			     h->left_ms <= AGES_MS && h->ttl_ms >= 0 &&
			     h->ttl_ms <= AGES_MS && h->since_ms >= 0,
		     "a holder's numbers are bounded");
		(void)view_nodes_of(v, h);
		(void)view_hold_name(h->how);
	}
	for (int i = 0; i < v->waiters; i++) {
		const struct view_waiter *w = &v->waiter[i];

		must_show_about(w->about);
		must_show(w->token, sizeof(w->token), "a token can be shown");
		must(w->silent_ms >= 0 && w->silent_ms <= AGES_MS &&
			     w->slots >= 0,
		     "a waiter's numbers are bounded");
	}
	must(v->in_all >= 0 && v->in_line >= 0 && v->once.number >= -1 &&
		     v->once.number <= AGES_MS && v->shut_ms >= 0 &&
		     v->shut_ms <= AGES_MS,
	     "numbers are bounded");
	(void)view_state_name(view_state(v, nodes));
	(void)view_is_free(v, nodes);
	view_sight(v, &s);
	view_close(v);
}

static void check_history(struct history *h)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f;

	history_finish(h, 0);
	must(h->holds <= HISTORY_MAX, "so many holds at most");
	for (int i = 0; i < h->holds; i++) {
		must_show_about(h->hold[i].about);
		must_show(h->hold[i].by, sizeof(h->hold[i].by), "by");
		must_show(h->hold[i].outcome, sizeof(h->hold[i].outcome),
			  "an outcome can be shown");
	}
	f = h->holds > 0 ? open_memstream(&text, &n) : NULL;
	if (f) {
		timeline_draw(h, "job", f);
		(void)fclose(f);
		for (size_t i = 0; i < n; i++)
			must((unsigned char)text[i] >= ' ' || text[i] == '\n',
			     "a picture is text");
		free(text);
	}
	history_close(h);
}

struct reading {
	struct view view;
	struct history history;
	int nodes;
};

static void read_whole(struct reading *g, struct resp *r)
{
	const struct reply *whole = resp_whole(r);
	int node = g->nodes < NODES_MAX ? g->nodes : NODES_MAX - 1;
	struct fail why = {0};

	if (!whole)
		return;
	read_records(whole);
	read_members(whole);
	read_sentinels(whole);
	read_forced(whole);
	if (view_add(&g->view, whole, node, &why) < 0)
		must_show(why.text, sizeof(why.text), "why");
	if (history_add(&g->history, whole, node, &why) < 0)
		must_show(why.text, sizeof(why.text), "why");
	g->nodes++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading g = {.nodes = 0};
	struct words w;
	struct resp *r;
	bool whole;

	if (size < 1)
		return 0;
	whole = data[0] & 1;
	r = resp_open(whole);
	must(r && resp_feed(r, (const char *)data + 1, size - 1) == 0,
	     "there is memory");
	for (;;) {
		enum resp_got got = resp_next(r, &w);

		if (got != RESP_REPLY && got != RESP_ERROR)
			break;
		must(w.n <= WORDS_MAX, "there are not too many words");
		if (got == RESP_ERROR && w.n == 1)
			read_error(&w);
		read_answers(&w);
		read_master(&w);
		if (whole)
			read_whole(&g, r);
	}
	resp_close(r);
	check_view(&g.view,
		   g.nodes > 0 && g.nodes < NODES_MAX ? g.nodes : NODES_MAX);
	check_history(&g.history);
	return 0;
}
