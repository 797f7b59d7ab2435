/* SPDX-License-Identifier: MIT */
/* All locks that are held or waited for, again and again. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/top/inside.h"
#include "cli/command.h"
#include "cli/render.h"
#include "cli/show/locks.h"
#include "proc/signals.h"

#define ROUND_MS 1000
/* A scan occupies a server for 0.8 s per million keys, a round for 0.05 s per
 * thousand locks: each may take a tenth of the time at most. */
#define SHARE 10

struct top {
	const struct opts *o;
	struct query query;
	struct scan scan;
	struct signals signals;
	struct screen screen;
	struct board board;
	struct instant next_round, next_find;
	bool stale; /* what is shown */
	bool whole; /* all keys were scanned once */
	bool over;
	int sig;
};

/* ---- asking ---- */

/* Waiting for a server that is down occupied nobody. */
static struct instant next_after(const struct scan *c, struct instant began,
				 int64_t took_ms)
{
	int64_t ms = scan_down(c) ? 0 : took_ms * SHARE;

	return after(began, ms > ROUND_MS ? ms : ROUND_MS);
}

/* NEVER: it is under way. */
static void plan(struct top *t)
{
	const struct scan *c = &t->scan;

	if (t->next_find.ms == NEVER.ms && !scan_is_finding(c))
		t->next_find = next_after(c, c->scan_began, c->scan_took_ms);
	if (t->next_round.ms == NEVER.ms && !scan_is_asking(c))
		t->next_round = next_after(c, c->round_began, c->round_took_ms);
}

static void ask_servers(struct top *t)
{
	struct instant at = now();

	if (t->board.paused)
		return;
	plan(t);
	if (!before(at, t->next_find)) {
		scan_find(&t->scan);
		t->next_find = NEVER;
	}
	if (!before(at, t->next_round)) {
		scan_ask(&t->scan);
		t->next_round = NEVER;
	}
}

/* -1: no memory. */
static int step(struct top *t)
{
	bool asked = scan_is_asking(&t->scan),
	     scanned = scan_is_finding(&t->scan);
	int rc = scan_step(&t->scan);

	t->stale |= asked != scan_is_asking(&t->scan) ||
		    scanned != scan_is_finding(&t->scan);
	return rc;
}

/* Reports that no server answers before anything is drawn. */
static int begin(struct top *t, struct fail *why)
{
	struct scan *c = &t->scan;

	ask_servers(t);
	while (c->pings > 0) {
		if (scan_step(c) < 0)
			return fail_memory(why);
		if (c->pings > 0)
			fanout_poll(&t->query.fanout, NULL, 0, NEVER);
	}
	return scan_verdict(c, why);
}

/* ---- waiting ---- */

static void take_signals(struct top *t)
{
	struct arrival a;

	for (int i = 0; i < SIGNALS_TURN && signals_next(&t->signals, &a);
	     i++) {
		if (a.sig == SIGTSTP) {
			screen_leave(&t->screen);
			signals_stop();
		}
		if (a.sig == SIGCONT || a.sig == SIGTSTP)
			screen_enter(&t->screen);
		if (a.sig == SIGWINCH)
			screen_measure(&t->screen);
		t->stale = true;
		if (signal_ends(a.sig) && a.sig != SIGUSR1 &&
		    a.sig != SIGUSR2) {
			t->over = true;
			t->sig = a.sig;
		}
	}
}

static struct instant next_event(struct top *t)
{
	plan(t);
	return t->board.paused ? NEVER : sooner(t->next_find, t->next_round);
}

/* ---- on a screen ---- */

/* With its zone. */
static const char *time_of_day(char *buf, size_t size)
{
	const char *blank = strchr(wall_zoned(wall_seconds(), buf, size), ' ');

	return blank ? blank + 1 : buf;
}

static void take_keys(struct top *t)
{
	int key;

	while (!t->over && (key = screen_key(&t->screen)) != KEY_NONE) {
		t->over = !keyboard_take(&t->board, key);
		t->stale = true;
	}
}

static void wait_on_screen(struct top *t)
{
	struct pollfd fds[1 + SCREEN_FDS] = {
		{.fd = t->signals.fd, .events = POLLIN}};
	int n = 1 + screen_watch(&t->screen, fds + 1);

	fanout_poll(&t->query.fanout, fds, n,
		    sooner(sooner(next_event(t), screen_wake(&t->screen)),
			   after(now(), ROUND_MS)));
	if (fds[0].revents)
		take_signals(t);
	screen_serve(&t->screen, fds + 1);
	take_keys(t);
}

static int on_screen(struct top *t, struct fail *why)
{
	struct instant drawn = LONG_AGO;
	int rc = screen_open(&t->screen, colors_are_wanted(t->o), why);

	while (rc == 0 && !t->over) {
		ask_servers(t);
		if (step(t) < 0)
			rc = fail_memory(why);
		if (t->stale || !before(now(), after(drawn, ROUND_MS))) {
			t->stale = false;
			drawn = now();
			if (board_draw(&t->board, &t->screen) < 0)
				rc = fail_memory(why);
		}
		if (rc == 0)
			wait_on_screen(t);
	}
	screen_close(&t->screen);
	return rc;
}

/* ---- as a stream ---- */

/* One document. */
static int write_json(struct top *t, struct fail *why)
{
	struct json j = {.f = stdout};
	struct listing l;
	char when[40];

	if (listing_make(&l, &t->scan, &t->board.choice) < 0)
		return fail_memory(why);
	json_text(&j, "schema", "redlock.top/1");
	json_text(&j, "time", wall_text(when, sizeof(when)));
	listing_json(&l, &t->scan, &j);
	json_close(&j);
	(void)putchar('\n');
	listing_close(&l);
	if (fflush(stdout) < 0) {
		t->over = true;
		if (errno == EPIPE) /* the reader has gone: that is fine */
			__fpurge(stdout), clearerr(stdout);
	}
	return 0;
}

/* After each round, once all keys were scanned. */
static int as_stream(struct top *t, struct fail *why)
{
	int rc = 0;

	while (rc == 0 && !t->over) {
		struct pollfd fds[] = {{.fd = t->signals.fd, .events = POLLIN},
				       {.fd = STDOUT_FILENO, .events = 0}};
		bool asked;

		ask_servers(t);
		asked = t->scan.asking;
		if (step(t) < 0)
			rc = fail_memory(why);
		t->whole |= !scan_is_finding(&t->scan);
		if (rc == 0 && asked && !t->scan.asking && t->whole)
			rc = write_json(t, why);
		if (rc < 0 || t->over)
			break;
		fanout_poll(&t->query.fanout, fds, 2, next_event(t));
		if (fds[0].revents)
			take_signals(t);
		t->over |= (fds[1].revents & (POLLERR | POLLHUP)) != 0;
	}
	return rc;
}

/* ---- the verb ---- */

static bool has_screen(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       terminal_is_able();
}

static int watch(struct top *t, struct fail *why)
{
	const struct opts *o = t->o;

	if (query_open(&t->query, o, why) < 0)
		return -1;
	if (!o->json && !has_screen())
		return listing_once(&t->query, o, why);
	if (signals_open(&t->signals, why) < 0)
		return -1;
	scan_open(&t->scan, &t->query, o->pattern);
	t->board.scan = &t->scan;
	t->board.choice =
		(struct choice){.held = o->held, .waiting = o->waiting};
	if (begin(t, why) < 0)
		return -1;
	return o->json ? as_stream(t, why) : on_screen(t, why);
}

static int top(const struct opts *o)
{
	static struct top t;
	struct fail why;
	int status = STATUS_OK;

	t = (struct top){.o = o, .board = {.clock = time_of_day}};
	(void)setlocale(LC_CTYPE, "");
	t.board.blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (watch(&t, &why) < 0)
		status = report_failure(&why);
	scan_close(&t.scan);
	query_close(&t.query);
	if (t.sig != 0)
		signals_die(t.sig);
	return render_end(status);
}

const struct command cmd_top = {
	.name = "top",
	.usage = "[OPTIONS] [PATTERN]",
	.summary = "Shows the locks live, on the whole screen",
	.example = {"redlock top --held", "redlock top 'deploy*' --json"},
	.by = BY_TOP,
	.operands = OPERANDS_PATTERN,
	.run = top,
};
