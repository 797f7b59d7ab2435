/* SPDX-License-Identifier: MIT */
/* The command line. */
#include "cli/optrows.h"
#include "cli/mask.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/command.h"
#include "lock/core/timing.h"

#define LONG_ONLY 256 /* getopt's value of a row without a letter */

/* In the run form, everything after the command is the command's. A verb takes
 * options after its key, too: there getopt returns each operand as option 1. */
#define OPERAND 1

/* flock(1)'s names for them. */
static const struct {
	const char *name, *ours;
} aliases[] = {{"timeout", "wait"}, {"nonblock", "no-wait"}, {"nb", "no-wait"}};
#define ALIASES (int)(sizeof(aliases) / sizeof(aliases[0]))
#define ALIAS_LETTER 'e' /* -x */
#define LONGS_MAX (OPTIONS_MAX + ALIASES + 1)
#define LETTERS_MAX (2 * OPTIONS_MAX + 4)

static void getopt_tables(const struct command *verb, char letters[LETTERS_MAX],
			  struct option longs[LONGS_MAX])
{
	int n = 0;
	char *p = letters;

	*p++ = verb->operands == OPERANDS_COMMAND ? '+' : '-';
	*p++ = ':';
	for (int i = 0; i < opt_rows_n; i++) {
		const struct opt_row *r = &opt_rows[i];

		if (!r->name)
			continue;
		longs[n++] = (struct option){r->name, r->value != NULL, NULL,
					     LONG_ONLY + i};
		if (r->letter) {
			*p++ = (char)r->letter;
			if (r->value)
				*p++ = ':';
		}
	}
	*p++ = ALIAS_LETTER;
	*p = '\0';
	for (int i = 0; i < ALIASES; i++) {
		const struct opt_row *r =
			opt_named(aliases[i].ours, strlen(aliases[i].ours));

		longs[n++] = (struct option){aliases[i].name, r->value != NULL,
					     NULL, LONG_ONLY + OPTIONS_MAX + i};
	}
	longs[n] = (struct option){0};
}

/* Abbreviations are refused: they break scripts when an option is added. */
static const struct opt_row *row_of(int found, const char *word)
{
	size_t n = strcspn(word, "=");

	if (found >= LONG_ONLY + OPTIONS_MAX) {
		const char *name =
			aliases[found - LONG_ONLY - OPTIONS_MAX].name;
		const char *ours =
			aliases[found - LONG_ONLY - OPTIONS_MAX].ours;

		return n == strlen(name) + 2 ? opt_named(ours, strlen(ours))
					     : NULL;
	}
	if (found == ALIAS_LETTER)
		found = 'x';
	if (found >= LONG_ONLY) {
		const struct opt_row *r = &opt_rows[found - LONG_ONLY];

		return n == strlen(r->name) + 2 ? r : NULL;
	}
	for (int i = 0; i < opt_rows_n; i++)
		if (opt_rows[i].letter == found)
			return &opt_rows[i];
	return NULL;
}

/* "redlock", or with a verb "redlock list". */
static const char *form_of(const struct opts *o, char buf[40])
{
	bool runs = o->verb->name[0] == '\0';

	(void)snprintf(buf, 40, "redlock%s%s", runs ? "" : " ", o->verb->name);
	return buf;
}

static int unknown_option(const struct opts *o, const char *word,
			  const char *shown, struct fail *why)
{
	char form[40];
	const char *guess =
		word ? opt_suggest(word + 2, strcspn(word, "=") - 2) : NULL;

	if (guess)
		return fail(why, FAIL_USAGE,
			    "unknown option '%s': did you mean '--%s'? (long "
			    "options are not abbreviated)",
			    shown, guess);
	return fail(why, FAIL_USAGE, "unknown option '%s'; see %s --help",
		    shown, form_of(o, form));
}

static int bad_option(const struct opts *o, int found, const char *word,
		      struct fail *why)
{
	char dash[3] = {'-', (char)optopt, '\0'};
	bool is_long = strncmp(word, "--", 2) == 0;
	char shown[80], form[40];

	(void)format_bytes(is_long ? word : dash,
			   is_long ? strspn(word, NAME_LETTERS) : 2, shown,
			   sizeof(shown));
	if (found == ':')
		return fail(why, FAIL_USAGE,
			    "option '%s' needs a value; see %s --help", shown,
			    form_of(o, form));
	if (is_long && optopt >= LONG_ONLY)
		return fail(why, FAIL_USAGE, "option '%s' takes no value",
			    shown);
	return unknown_option(o, is_long ? word : NULL, shown, why);
}

static int not_of_verb(const struct opts *o, const struct opt_row *r,
		       struct fail *why)
{
	char form[40];

	(void)form_of(o, form);
	return fail(why, FAIL_USAGE, "'%s' has no option '--%s'; see %s --help",
		    form, r->name, form);
}

static int take_operand(struct opts *o, char *text, struct fail *why)
{
	if (o->verb->operands != OPERANDS_PATTERN)
		return opt_take(o, opt_named("key", 3), text, FROM_TYPED, 0,
				why);
	if (o->pattern)
		return fail(why, FAIL_USAGE,
			    "more than one pattern; quote it, or the shell "
			    "expands it to file names");
	o->pattern = text;
	return 0;
}

/* ---- values that were not meant ---- */

static bool is_shell_command(const struct opt_row *r)
{
	return r->at == offsetof(struct opts, shell_command);
}

/* A shell drops an empty variable that is not quoted, and then the next word is
 * the value. Texts may begin with a dash. */
static bool is_next_option(const struct opt_row *r, const char *value)
{
	if (value[0] != '-')
		return false;
	if (r->shape == KEY || strcmp(value, "--") == 0)
		return true;
	return (r->shape != TEXT || is_shell_command(r)) &&
	       (value[1] == '-' || isalpha((unsigned char)value[1]));
}

static int not_meant(const struct opt_row *r, const char *what,
		     const char *value, bool equals, struct fail *why)
{
	char label[40], shown[160], rest[160], very[120] = "";
	bool any = r->shape == KEY || r->shape == TEXT || r->shape == LABEL ||
		   r->shape == PATH;
	const char *meant = value + 1;

	if (r->letter)
		(void)snprintf(label, sizeof(label), "-%c", r->letter);
	else
		(void)snprintf(label, sizeof(label), "--%s", r->name);
	(void)endpoint_masked(value, shown);
	if (equals) {
		meant = r->shape == URL || *meant == '\0'
				? r->value
				: endpoint_masked(meant, rest);
		return fail(why, FAIL_USAGE,
			    "%s: the %s is '%.60s': write %s %.60s or "
			    "--%s=%.60s",
			    label, what, shown, label, meant, r->name, meant);
	}
	if (any)
		(void)snprintf(very, sizeof(very),
			       "; for this very %s write --%s=%.60s", what,
			       r->name, shown);
	return fail(why, FAIL_USAGE,
		    "%s: the %s is '%.60s': is a variable empty?%s%s", label,
		    what, shown,
		    r->shape == KEY ? " quote it: -k \"$KEY\"" : "", very);
}

/* What "=" joins to a long option is always meant. With another lock than was
 * meant, a command would exclude nobody. `last`: the value's word. */
static int check_meant(const struct opt_row *r, const char *last,
		       const char *value, bool is_long, struct fail *why)
{
	bool apart = value == last, key = r->shape == KEY;
	const char *what = key                   ? "key"
			   : is_shell_command(r) ? "command"
						 : "value";

	if (!value || (is_long && !apart))
		return 0;
	if (value[0] == '=' && (!is_long || key))
		return not_meant(r, what, value, true, why);
	if (is_next_option(r, value) && (apart || key))
		return not_meant(r, what, value, false, why);
	return 0;
}

static int parse_options(struct opts *o, int argc, char **argv,
			 struct fail *why)
{
	struct option longs[LONGS_MAX];
	char letters[LETTERS_MAX];

	getopt_tables(o->verb, letters, longs);
	opterr = 0;
	for (;;) {
		const char *word = argv[optind ? optind : 1];
		int found = getopt_long(argc, argv, letters, longs, NULL);
		const struct opt_row *r;

		if (found == -1)
			return 0;
		if (found == OPERAND) {
			if (take_operand(o, optarg, why) < 0)
				return -1;
			continue;
		}
		r = found == '?' || found == ':' ? NULL : row_of(found, word);
		if (!r)
			return bad_option(o, found, word, why);
		if (!(r->takes & o->verb->by))
			return not_of_verb(o, r, why);
		if (check_meant(r, argv[optind - 1], optarg,
				strncmp(word, "--", 2) == 0, why) < 0)
			return -1;
		if (opt_take(o, r, optarg, FROM_TYPED, 0, why) < 0)
			return -1;
	}
}

/* Checks what does not go together: blames the later one, and says where the
 * other is. */
__attribute__((format(printf, 5, 6))) static int
clash(const struct opts *o, const void *a, const void *b, struct fail *why,
      const char *fmt, ...)
{
	const struct given *last = opt_given(o, a), *other = opt_given(o, b);
	char text[200], place[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!last || (other && other->source > last->source)) {
		const struct given *swap = last;

		last = other;
		other = swap;
	}
	if (other && other->source != FROM_TYPED && other != last)
		(void)fail(why, FAIL_USAGE, "%s; see %s", text,
			   opt_where(o, other, place));
	else
		(void)fail(why, FAIL_USAGE, "%s", text);
	return opt_blame(o, last, why);
}

static int check_ttl(const struct opts *o, struct fail *why)
{
	if (o->ttl_ms < TTL_MIN_MS)
		return clash(o, &o->ttl_ms, &o->ttl_ms, why,
			     "-t: must be at least 200ms");
	if (o->ttl_ms > TTL_MAX_MS && !o->allow_long_ttl)
		return clash(o, &o->ttl_ms, &o->ttl_ms, why,
			     "-t: over 24h needs --allow-long-ttl: a crash "
			     "would block the key for that long, and redlock "
			     "renews a short lease anyway");
	return 0;
}

static int check_hold(const struct opts *o, struct fail *why)
{
	char half[32];

	/* after a loss there is no more time */
	if (o->grace_ms > o->ttl_ms / 2 && o->max_hold_ms == 0)
		return clash(o, &o->grace_ms, &o->ttl_ms, why,
			     "-K: must be at most half of -t (%s)",
			     format_limit(o->ttl_ms / 2, half, sizeof(half)));
	if (o->min_hold_ms > TTL_MAX_MS && !o->allow_long_ttl)
		return clash(o, &o->min_hold_ms, &o->min_hold_ms, why,
			     "--min-hold: over 24h needs --allow-long-ttl");
	if (o->max_hold_ms > 0 && o->min_hold_ms > o->max_hold_ms)
		return clash(o, &o->min_hold_ms, &o->max_hold_ms, why,
			     "--min-hold is longer than --max-hold");
	if (o->shared && (o->slots > 1 || o->slot_names))
		return clash(o, &o->shared, &o->slots, why,
			     "-s and -N cannot be combined: readers are not "
			     "counted");
	return 0;
}

/* It waits for the holder that is asked to stop. */
static int check_replace(const struct opts *o, struct fail *why)
{
	if (!o->replace)
		return 0;
	if (o->wait_ms == 0)
		return clash(o, &o->replace, &o->wait_ms, why,
			     "--replace has to wait for the holder to stop: "
			     "not with -n or -w 0");
	if (o->slots > 1)
		return clash(o, &o->replace, &o->slots, why,
			     "--replace and -N cannot be combined: of several "
			     "holders, none is the one to replace");
	if (o->shared)
		return clash(o, &o->replace, &o->shared, why,
			     "--replace and -s cannot be combined");
	return 0;
}

/* They compare tickets, and assume that the later one came later. */
static int check_priority(const struct opts *o, struct fail *why)
{
	if (o->high && o->supersede)
		return clash(o, &o->high, &o->supersede, why,
			     "--priority high and --supersede cannot be "
			     "combined");
	if (o->high && o->replace)
		return clash(o, &o->high, &o->replace, why,
			     "--priority high and --replace cannot be "
			     "combined");
	return 0;
}

static int check_command(struct opts *o, int argc, char **argv,
			 struct fail *why)
{
	char shown[160];

	o->command = optind < argc ? argv + optind : NULL;
	if (o->keys == 0)
		return fail(why, FAIL_USAGE,
			    "no key; usage: redlock -k KEY -- COMMAND (see "
			    "redlock --help)");
	if (o->shell_command &&
	    o->shell_command[strspn(o->shell_command, " \t\r\n")] == '\0')
		return fail(why, FAIL_USAGE, "-c: the command is empty");
	if (o->command && o->command[0][0] == '\0')
		return fail(why, FAIL_USAGE,
			    "the command is an empty word: is a variable "
			    "empty?");
	if (o->shell_command && o->command)
		return fail(why, FAIL_USAGE,
			    "-c and a command ('%.60s') cannot be combined",
			    endpoint_masked(o->command[0], shown));
	/* and the password in it would be shown to waiters */
	if (o->command && strstr(o->command[0], "://"))
		return fail(why, FAIL_USAGE,
			    "'%.150s' is a URL, not a command; is -u missing?",
			    endpoint_masked(o->command[0], shown));
	if (!o->shell_command && !o->command)
		return fail(why, FAIL_USAGE,
			    "no command; usage: redlock -k KEY -- COMMAND (see "
			    "redlock --help)");
	return 0;
}

/* Who writes "lock KEY -- COMMAND" means the run form. */
static int no_command(const struct opts *o, const char *command,
		      struct fail *why)
{
	char key[120], word[160];

	return fail(why, FAIL_USAGE,
		    "'redlock %s' takes one key and runs no command; to run "
		    "one under the lock: redlock -k %s -- %.100s",
		    o->verb->name,
		    o->key[0][0] != '-' &&
				    format_word(o->key[0], key, sizeof(key))
			    ? key
			    : "KEY",
		    endpoint_masked(command, word));
}

/* After "--" there are only operands. */
static int check_operands(struct opts *o, int argc, char **argv,
			  struct fail *why)
{
	enum operands takes = o->verb->operands;
	int most = takes == OPERANDS_KEY ? 1 : LOCKS_MAX;

	if (takes == OPERANDS_KEY && o->keys > 0 && optind < argc)
		return no_command(o, argv[optind], why);
	for (; optind < argc; optind++)
		if (take_operand(o, argv[optind], why) < 0)
			return -1;
	/* in the environment of a run, its own lock */
	if (o->keys == 0 && takes == OPERANDS_KEYS && getenv("REDLOCK_KEY") &&
	    take_operand(o, getenv("REDLOCK_KEY"), why) < 0)
		return -1;
	if (o->keys == 0 && (takes == OPERANDS_KEY || takes == OPERANDS_KEYS))
		return fail(
			why, FAIL_USAGE,
			"no key; usage: redlock %s %s (see redlock %s --help)",
			o->verb->name, o->verb->usage, o->verb->name);
	if (o->keys <= most)
		return 0;
	if (o->verb->by == BY_LOCK)
		return no_command(o, "COMMAND", why);
	return fail(why, FAIL_USAGE,
		    "more than one key: 'redlock %s' takes one", o->verb->name);
}

/* The name in other tools; "": the message helps without it. */
static const char *meant_by(const char *word)
{
	static const struct {
		const char *word, *meant;
	} others[] = {{"ls", "list"},
		      {"ps", "list"},
		      {"status", "inspect"},
		      {"show", "inspect"},
		      {"release", "unlock"},
		      {"acquire", "lock"},
		      {"force-unlock", "force-release"},
		      {"config", "doctor --config"},
		      {"check", "doctor"},
		      {"run", ""},
		      {"help", "--help"},
		      {"version", "--version"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(others[i].word, word) == 0)
			return others[i].meant;
	return NULL;
}

static int find_verb(struct opts *o, const char *word, struct fail *why)
{
	const char *names[VERBS], *guess = meant_by(word);
	char shown[160];
	int n = 0;

	o->verb = command_named(word);
	if (o->verb)
		return 0;
	for (int i = VERB_IS_RUN + 1; i < VERBS; i++)
		names[n++] = commands[i]->name;
	if (!guess)
		guess = suggest(word, strlen(word), names, n);
	if (guess && guess[0] == '\0')
		guess = NULL;
	return fail(why, FAIL_USAGE,
		    "unknown verb '%.60s'%s%s%s; to run a command: redlock -k "
		    "KEY -- COMMAND",
		    endpoint_masked(word, shown),
		    guess ? " (did you mean '" : "", guess ? guess : "",
		    guess ? "'?)" : "");
}

/* Options may precede the verb. After -k or -c, or "--", a word like a verb is
 * a command of that name. Returns the index of the verb; 0: none. */
static int verb_behind(int argc, char **argv)
{
	struct option longs[LONGS_MAX];
	char letters[LETTERS_MAX];
	int found;

	getopt_tables(&cmd_run, letters, longs);
	opterr = 0;
	do {
		const char *word = argv[optind];
		const struct opt_row *r;

		found = getopt_long(argc, argv, letters, longs, NULL);
		r = found == -1 || found == '?' || found == ':'
			    ? NULL
			    : row_of(found, word);
		if (found != -1 &&
		    (!r || r->shape == KEY ||
		     r->at == offsetof(struct opts, shell_command)))
			return 0;
	} while (found != -1);
	return optind < argc && strcmp(argv[optind - 1], "--") != 0 &&
			       command_named(argv[optind])
		       ? optind
		       : 0;
}

/* The verb becomes argv[1]. */
static void put_verb_first(char **argv, int at)
{
	char *verb = argv[at];

	for (; at > 1; at--)
		argv[at] = argv[at - 1];
	argv[1] = verb;
}

/* -n of a file or a variable is not for verbs that wait, but have no -n. */
static void drop_no_wait(struct opts *o)
{
	const struct given *g = opt_given(o, &o->wait_ms);

	if (!g || g->row->takes & o->verb->by ||
	    !(o->verb->by & (BY_WAIT | BY_UNLOCK | BY_EXTEND)))
		return;
	o->wait_ms = o->wait_behind_ms;
	o->given[g->row - opt_rows] = (struct given){0};
}

int cmdline_parse(struct opts *o, int argc, char **argv, struct fail *why)
{
	o->verb = &cmd_run;
	if (argc < 2)
		return fail(why, FAIL_USAGE,
			    "no key and no command; see redlock --help");
	if (argv[1][0] == '-') {
		int at = verb_behind(argc, argv);

		if (at > 0)
			put_verb_first(argv, at);
		optind = 0; /* starts again */
	}
	if (argv[1][0] != '-') {
		if (find_verb(o, argv[1], why) < 0)
			return -1;
		argc--;
		argv++;
		drop_no_wait(o);
	}
	if (parse_options(o, argc, argv, why) < 0)
		return -1;
	if (o->show != SHOW_NOTHING)
		return 0;
	if (o->grace_ms < 0)
		o->grace_ms = timing_grace(o->ttl_ms);
	if (o->verb->operands != OPERANDS_COMMAND) {
		if (check_operands(o, argc, argv, why) < 0)
			return -1;
	} else if (check_command(o, argc, argv, why) < 0) {
		return -1;
	}
	/* a file's lease is only for verbs that take one, or judge its
	 * length */
	if (o->verb->by & (BY_TAKING | BY_EXTEND | BY_DOCTOR) &&
	    check_ttl(o, why) < 0)
		return -1;
	if (!(o->verb->by & BY_TAKING))
		return 0;
	if (check_hold(o, why) < 0 || check_replace(o, why) < 0)
		return -1;
	return check_priority(o, why);
}
