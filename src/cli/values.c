/* SPDX-License-Identifier: MIT */
/* The values of options: taken from a word, and shown as one. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "cli/mask.h"
#include "cli/optrows.h"
#include "lock/wire/keys.h"
#include "net/place.h"
#include "proc/signals.h"
#include "proc/title.h"

#define BLANKS " \t\r\n" /* between URLs */

/* A value on its way into the options, or into an endpoint. */
struct taking {
	struct opts *o;
	struct endpoint *ep; /* it stands in a URL; else NULL */
	const struct opt_row *r;
	enum source source;
	int line;
	const char *label; /* the option's name there */
	struct fail *why;
};

/* (a message about a URL shows all of it) */
static int bad_value(const struct taking *t, const char *value,
		     const char *what)
{
	char shown[160];

	if (t->ep)
		return fail(t->why, FAIL_USAGE, "%s: %s", t->label, what);
	if (t->source != FROM_TYPED &&
	    (strstr(value, " #") || strstr(value, "\t#")))
		what = COMMENT_ALONE;
	return fail(t->why, FAIL_USAGE, "%s '%.60s': %s", t->label,
		    endpoint_masked(value, shown), what);
}

/* bool, int and enum, or int64_t */
static void set_number(void *at, size_t size, int64_t n)
{
	if (size == sizeof(bool))
		*(bool *)at = n != 0;
	else if (size == sizeof(int))
		*(int *)at = (int)n;
	else
		*(int64_t *)at = n;
}

static int64_t number_in(const void *at, size_t size)
{
	if (size == sizeof(bool))
		return *(const bool *)at;
	if (size == sizeof(int))
		return *(const int *)at;
	return *(const int64_t *)at;
}

static void store(const struct taking *t, int64_t n)
{
	const struct opt_row *r = t->r;

	if (t->ep)
		set_number((char *)t->ep + r->ep_at, r->ep_size, n);
	else
		set_number((char *)t->o + r->at, r->size, n);
}

static int64_t stored(const struct opts *o, const struct opt_row *r)
{
	return number_in((const char *)o + r->at, r->size);
}

static int take_duration(const struct taking *t, char *value)
{
	int64_t ms = parse_duration(value);

	if (ms < 0)
		return bad_value(t, value,
				 t->ep ? "not a duration (such as 30s)"
				       : "not a duration (write 250ms, 30s, "
					 "5m, 1h30m; a bare number means "
					 "seconds)");
	if (ms < t->r->lo)
		return fail(t->why, FAIL_USAGE, "%s: must be greater than 0",
			    t->label);
	store(t, ms);
	return 0;
}

static int take_guard(const struct taking *t, char *value)
{
	int64_t ms = parse_duration(value);

	if (strcmp(value, "auto") == 0)
		ms = GUARD_AUTO;
	else if (strcmp(value, "off") == 0)
		ms = 0;
	else if (ms < 0)
		return bad_value(t, value,
				 "must be auto, off or a duration (30s, 5m; a "
				 "bare number means seconds)");
	store(t, ms);
	return 0;
}

static int take_signal(const struct taking *t, char *value)
{
	int sig = signal_number(value);

	if (sig < 0)
		return bad_value(t, value,
				 "not a signal (write TERM, INT, USR1, 10)");
	if (sig == SIGKILL || sig == SIGSTOP)
		return bad_value(t, value,
				 "no program can catch it; SIGKILL comes "
				 "anyway, after the time of -K");
	store(t, sig);
	return 0;
}

static int take_number(const struct taking *t, char *value)
{
	int64_t n = parse_number(value, t->r->lo, t->r->hi);
	char what[80];

	if (n < 0) {
		(void)snprintf(what, sizeof(what),
			       "must be a number from %lld to %lld",
			       (long long)t->r->lo, (long long)t->r->hi);
		return bad_value(t, value, what);
	}
	store(t, n);
	return 0;
}

/* As people write it in files and variables; -1: as nobody does. */
static int yes_or_no(const char *value)
{
	static const char *const words[][4] = {{"no", "off", "false", "0"},
					       {"yes", "on", "true", "1"}};

	for (int yes = 0; yes < 2; yes++)
		for (int i = 0; i < 4; i++)
			if (strcasecmp(value, words[yes][i]) == 0)
				return yes;
	return -1;
}

/* "no" takes back what an earlier source said with the same option. */
static int take_switch(const struct taking *t, char *value)
{
	const struct opt_row *r = t->r;
	int yes = value ? yes_or_no(value) : 1;
	char *at;

	/* (in a URL nothing else means the same) */
	if (yes < 0 ||
	    (t->ep && value && strcmp(value, yes ? "yes" : "no") != 0))
		return bad_value(t, value, "must be yes or no");
	if (t->ep) {
		store(t, yes);
		return 0;
	}
	at = (char *)t->o + r->at;
	if (!value && r->hi > 0 && opt_typed(t->o, at) &&
	    stored(t->o, r) == r->lo)
		store(t, r->hi);
	else if (yes)
		store(t, r->lo);
	else if (stored(t->o, r) == r->lo)
		memcpy(at, (const char *)&opts_default + r->at, r->size);
	return 0;
}

static int take_word(const struct taking *t, char *value)
{
	const char *words = t->r->value;
	char what[80];

	for (int i = 0;; i++) {
		size_t n = strcspn(words, "|");

		if (strlen(value) == n && memcmp(words, value, n) == 0) {
			store(t, i);
			return 0;
		}
		if (words[n] == '\0')
			break;
		words += n + 1;
	}
	(void)snprintf(what, sizeof(what), "must be one of %s", t->r->value);
	return bad_value(t, value, what);
}

/* In an endpoint is a copy. */
static int take_text(const struct taking *t, char *value)
{
	const struct opt_row *r = t->r;
	int64_t n = (int64_t)strlen(value), most = r->hi;
	const char *text = value;

	if (t->ep)
		most = (int64_t)r->ep_size - 1;
	if (n < r->lo || (most > 0 && n > most))
		return fail(t->why, FAIL_USAGE,
			    n == 0 ? "%s: empty value"
				   : "%s: longer than %lld bytes",
			    t->label, (long long)most);
	if (t->ep)
		memcpy((char *)t->ep + r->ep_at, value, (size_t)n + 1);
	else
		memcpy((char *)t->o + r->at, &text, sizeof(text));
	return 0;
}

/* A settings file applies in every directory. */
static int take_path(const struct taking *t, char *value)
{
	if (!t->ep && t->source != FROM_TYPED && value[0] != '/' &&
	    value[0] != '\0')
		return bad_value(t, value, "write the full path");
	return take_text(t, value);
}

/* The canonical form. */
static int take_dir(const struct taking *t, char *value)
{
	size_t n = strlen(value);

	if (value[0] != '/')
		return bad_value(t, value, "not a full path (such as /run/me)");
	while (n > 1 && value[n - 1] == '/')
		value[--n] = '\0';
	return take_text(t, value);
}

/* (one that was not in a URL is checked when we know that it is used) */
static int take_host(const struct taking *t, char *value)
{
	if (t->ep && !place_is_host(value))
		return bad_value(t, value, "not a host name");
	return take_text(t, value);
}

/* It may stand in the path as well. */
static int take_database(const struct taking *t, char *value)
{
	int db = (int)parse_number(value, t->r->lo, t->r->hi);

	if (db < 0)
		return fail(t->why, FAIL_USAGE,
			    "db: the database must be a number from 0 to %d",
			    (int)t->r->hi);
	if (t->ep->db >= 0 && t->ep->db != db)
		return fail(t->why, FAIL_USAGE,
			    "the path and db= name different databases");
	t->ep->db = db;
	return 0;
}

/* A copy: the guard renames itself, over its arguments. */
static int keep(char **to, const char *value, struct fail *why)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : fail_memory(why);
}

/* The guard needs it: see keep(). */
static int take_label(const struct taking *t, char *value)
{
	size_t n = strlen(value);

	if ((int64_t)n < t->r->lo || (int64_t)n > t->r->hi)
		return fail(t->why, FAIL_USAGE,
			    n == 0 ? "%s: empty value"
				   : "%s: longer than %lld bytes",
			    t->label, (long long)t->r->hi);
	for (const char *p = value; *p; p++)
		if (iscntrl((unsigned char)*p))
			return bad_value(t, value,
					 "must not have control characters");
	return keep((char **)((char *)t->o + t->r->at), value, t->why);
}

/* Else it is a list of one name. */
static bool is_number_of_slots(const char *value)
{
	return !strchr(value, ',') &&
	       (*value == '\0' || strchr(" \t+-.0123456789", *value));
}

/* One name, and no other that is the same. */
static bool is_slot_name(const char *names, const char *name, size_t n)
{
	for (const char *p = names; p < name; p += strcspn(p, ",") + 1)
		if (strcspn(p, ",") == n && memcmp(p, name, n) == 0)
			return false;
	return n > 0 && n <= SLOT_NAME_MAX;
}

/* The guard needs the names: see keep(). */
static int take_slots(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	char what[80];
	size_t last = strlen(value);
	int n = 0;

	if (is_number_of_slots(value)) {
		n = (int)parse_number(value, t->r->lo, t->r->hi);
		if (n < 0) {
			(void)snprintf(what, sizeof(what),
				       "must be a number from %lld to %lld, or "
				       "names with commas",
				       (long long)t->r->lo,
				       (long long)t->r->hi);
			return bad_value(t, value, what);
		}
		free(o->slot_names);
		o->slot_names = NULL;
		store(t, n);
		return 0;
	}
	for (const char *p = value; p; p = strchr(p, ',')) {
		p += p != value;
		/* a comma may end the list, so that "3," is one name */
		if (n > 0 && *p == '\0')
			break;
		if (n++ == t->r->hi)
			return bad_value(t, value, "too many names");
		if (!is_slot_name(value, p, strcspn(p, ",")))
			return bad_value(t, value,
					 "a name is empty, longer than 127 "
					 "bytes, or there twice");
	}
	store(t, n);
	if (keep(&o->slot_names, value, t->why) < 0)
		return -1;
	if (last > 0 && value[last - 1] == ',')
		o->slot_names[last - 1] = '\0';
	return 0;
}

static int take_key(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	size_t n = strlen(value);

	if (n < 1 || n > KEY_MAX)
		return fail(t->why, FAIL_USAGE,
			    n < 1 ? "-k: the key is empty"
				  : "-k: the key has %zu bytes; at most %d "
				    "are allowed",
			    n, KEY_MAX);
	for (int i = 0; i < o->keys; i++)
		if (strcmp(o->key[i], value) == 0)
			return 0;
	if (o->keys == LOCKS_MAX)
		return fail(t->why, FAIL_USAGE, "-k: more than %d keys",
			    LOCKS_MAX);
	return keep(&o->key[o->keys++], value, t->why);
}

/* ps(1) must not show a password. */
static void overwrite_secret(char *url)
{
	char *from = strstr(url, "://");
	char *at = strrchr(url, '@');

	from = from ? from + 3 : url;
	if (!at || from >= at)
		return;
	title_hide(from, (size_t)(at - from));
	memset(from, '*', (size_t)(at - from));
}

/* Each URL of a list begins like this. */
static bool begins_url(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz-");

	return strncmp(word + n, "://", 3) == 0 ||
	       strncmp(word, "local:", 6) == 0;
}

/* A blank may be a mistake within one URL. A message must not show half of its
 * password, so the URL stays whole and is refused. */
static bool is_list(const char *value)
{
	for (value += strspn(value, BLANKS); *value;
	     value += strspn(value, BLANKS)) {
		if (!begins_url(value))
			return false;
		value += strcspn(value, BLANKS);
	}
	return true;
}

static int add_url(const struct taking *t, const char *url, size_t n)
{
	struct opts *o = t->o;
	char *copy;

	o->more_urls = o->urls == NODES_MAX;
	if (o->more_urls)
		return 0; /* reported once we know that this list is used */
	copy = strndup(url, n);
	if (!copy)
		return fail_memory(t->why);
	free(o->url[o->urls]);
	o->url[o->urls] = copy;
	o->url_from[o->urls++] = (struct given){t->source, t->line, NULL, t->r};
	return 0;
}

/* Adds to the values of the same source, replaces those of another. */
static int take_urls(const struct taking *t, char *value)
{
	struct opts *o = t->o;
	const char *blanks = is_list(value) ? BLANKS : "";
	const char *word = value + strspn(value, blanks);
	int rc;

	if (o->urls > 0 && o->url_from[0].source != t->source)
		o->urls = 0;
	do {
		size_t n = strcspn(word, blanks);

		rc = add_url(t, word, n);
		word += n;
		word += strspn(word, blanks);
	} while (rc == 0 && *word);
	if (t->source == FROM_TYPED)
		overwrite_secret(value);
	return rc;
}

/* ---- an option ---- */

/* -n wins over a -w beside it, as in flock(1). */
static bool no_wait_stands(const struct opts *o, const struct opt_row *r,
			   enum source source)
{
	const struct given *g;

	if (strcmp(r->name, "wait") != 0)
		return false;
	g = &o->given[opt_named("no-wait", 7) - opt_rows];
	return g->source == source && strcmp(g->value, "no") != 0;
}

static int (*const take[])(const struct taking *, char *) = {
	[DURATION] = take_duration, [NUMBER] = take_number,
	[SWITCH] = take_switch,     [WORD] = take_word,
	[TEXT] = take_text,         [LABEL] = take_label,
	[PATH] = take_path,         [DIR] = take_dir,
	[HOST] = take_host,         [GUARD] = take_guard,
	[SIGNAL] = take_signal,     [SLOTS] = take_slots,
	[DATABASE] = take_database, [KEY] = take_key,
	[URL] = take_urls};

int opt_take_url(struct endpoint *ep, const struct opt_row *r, char *value,
		 struct fail *why)
{
	const struct taking t = {.ep = ep, .r = r, .label = r->url, .why = why};

	return take[r->shape](&t, value);
}

int opt_take(struct opts *o, const struct opt_row *r, char *value,
	     enum source source, int line, struct fail *why)
{
	struct given now = {source, line, value ? value : "yes", r};
	char label[40];
	int64_t was;
	const struct taking t = {o, NULL, r, source, line, label, why};

	if (source != FROM_TYPED)
		(void)snprintf(label, sizeof(label), "%s", r->name);
	else if (r->letter)
		(void)snprintf(label, sizeof(label), "-%c", r->letter);
	else
		(void)snprintf(label, sizeof(label), "--%s", r->name);
	was = o->wait_ms;
	if (take[r->shape](&t, value) < 0)
		return opt_blame(o, &now, why);
	if (r->shape == SWITCH)
		now.value = yes_or_no(now.value) ? "yes" : "no";
	if (no_wait_stands(o, r, source)) {
		o->wait_behind_ms = o->wait_ms;
		o->wait_ms = was;
		return 0;
	}
	if (r->at == offsetof(struct opts, wait_ms) && o->wait_ms == 0 &&
	    was != 0)
		o->wait_behind_ms = was;
	/* -n replaces -w; "no-wait = no" does not */
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].at == r->at && strcmp(now.value, "no") != 0)
			o->given[i] = (struct given){0};
	o->given[r - opt_rows] = now;
	return 0;
}

/* ---- a value as text ---- */

/* The word that means n. */
static void word_text(const char *words, int64_t n, char *buf, size_t size)
{
	for (; n > 0; n--)
		words += strcspn(words, "|") + 1;
	(void)snprintf(buf, size, "%.*s", (int)strcspn(words, "|"), words);
}

const char *opt_url_text(const struct endpoint *ep,
			 const struct endpoint *usual, const struct opt_row *r,
			 char buf[32])
{
	const char *at = (const char *)ep + r->ep_at;
	int64_t n;

	if (r->shape == TEXT || r->shape == PATH || r->shape == DIR ||
	    r->shape == HOST)
		return at[0] != '\0' ? at : NULL;
	n = number_in(at, r->ep_size);
	if (n == number_in((const char *)usual + r->ep_at, r->ep_size))
		return NULL;
	if (r->shape == WORD)
		word_text(r->value, n, buf, 32);
	else if (r->shape == SWITCH)
		(void)snprintf(buf, 32, "%s", n ? "yes" : "no");
	else
		(void)snprintf(buf, 32, "%lld%s", (long long)n,
			       r->shape == DURATION ? "ms" : "");
	return buf;
}

static void duration_text(const struct opt_row *r, int64_t ms, char *buf,
			  size_t size)
{
	if (ms == INT64_MAX)
		(void)snprintf(buf, size, "forever");
	else if (ms == 0 && r->lo > 0)
		(void)snprintf(buf, size, "not set");
	else
		(void)format_limit(ms, buf, size);
}

/* The value as it would be written, or "not set". */
static void default_text(const struct opts *o, const struct opt_row *r,
			 char *buf, size_t size)
{
	const char *text = NULL;
	char name[SIGNAL_TEXT];
	int64_t n;

	if (r->shape == TEXT || r->shape == LABEL || r->shape == PATH ||
	    r->shape == HOST) {
		memcpy(&text, (const char *)o + r->at, sizeof(text));
		(void)snprintf(buf, size, "%s", text ? text : "not set");
		return;
	}
	n = stored(o, r);
	if (r->shape == SWITCH)
		(void)snprintf(buf, size, "%s", n == r->lo ? "yes" : "no");
	else if (r->shape == GUARD)
		(void)snprintf(buf, size, "auto");
	else if (r->shape == DURATION)
		duration_text(r, n, buf, size);
	else if (r->shape == NUMBER && n < r->lo)
		(void)snprintf(buf, size, "not set");
	else if (r->shape == SIGNAL)
		(void)snprintf(buf, size, "%s",
			       signal_text((int)n, name) + strlen("SIG"));
	else if (r->shape == NUMBER || r->shape == SLOTS)
		(void)snprintf(buf, size, "%lld", (long long)n);
	else if (r->shape == WORD)
		word_text(r->value, n, buf, size);
}

void opt_show_defaults(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];
		bool given = r->typed || r->shape == URL;
		char text[400];

		for (int k = 0; k < opt_rows_n; k++)
			given |= opt_rows[k].at == r->at &&
				 o->given[k].source != FROM_NOWHERE;
		if (given)
			continue;
		default_text(o, r, text, sizeof(text));
		(void)fprintf(out, "%s = %s  (default)\n", r->name, text);
	}
}

static void show(const struct opts *o, const struct opt_row *r,
		 const struct given *g, const char *value, FILE *out)
{
	char shown[400], buf[200];

	(void)fprintf(out, "%s = %s  (%s)\n", r->name,
		      format_bytes(value, strlen(value), shown, sizeof(shown)),
		      opt_where(o, g, buf));
}

void opt_show(const struct opts *o, FILE *out)
{
	for (int i = 0; i < opt_rows_n; i++) {
		const struct given *g = &o->given[i];
		const struct opt_row *r = &opt_rows[i];
		char masked[160];

		if (g->source == FROM_NOWHERE ||
		    r->at == offsetof(struct opts, show) ||
		    r->at == offsetof(struct opts, config))
			continue;
		if (r->shape != URL)
			show(o, r, g, g->value, out);
		for (int k = 0; r->shape == URL && k < o->urls; k++)
			show(o, r, &o->url_from[k],
			     endpoint_masked(o->url[k], masked), out);
	}
}
